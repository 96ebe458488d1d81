"""Searches that were simulated, one line of JSON for each: a long benchmark goes on where it was ended, or is split."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from race.machines import Chosen


@dataclass(frozen=True, slots=True)
class Searched:
    """Which search this is: of what surface, on what machine, by whom, and the number of the race."""

    surface: str
    machine: str
    search: str
    race: int


class Searches:
    """What all searches came to, by what they are, and a file that gets each as soon as it is known."""

    def __init__(self, file: TextIO | None = None) -> None:
        self.found: dict[Searched, Chosen | None] = {}
        self._file = file

    def add(self, which: Searched, chosen: Chosen | None) -> None:
        """Takes what a search came to; None: there was nothing to tell, as the race was decided before it was ended."""
        self.found[which] = chosen
        if self._file is not None:
            row = {"which": asdict(which), "chosen": None if chosen is None else asdict(chosen)}
            self._file.write(json.dumps(row) + "\n")  # in one piece, so that parts may write at the same time
            self._file.flush()

    def of(self, search: str, surface: str | None = None, machine: str | None = None) -> list[Chosen]:
        """What searches of a kind came to, of one surface and machine or of all, in the order of races."""
        asked = [
            which
            for which in self.found
            if which.search == search and surface in (None, which.surface) and machine in (None, which.machine)
        ]
        asked.sort(key=lambda which: (which.surface, which.machine, which.race))
        return [chosen for which in asked if (chosen := self.found[which]) is not None]


@contextmanager
def open_searches(path: Path | None) -> Iterator[Searches]:
    """Searches that are kept in a file, those that it holds already among them; without a file in memory."""
    if path is None:
        yield Searches()
        return
    held = path.read_text(encoding="utf-8") if path.exists() else ""
    with path.open("a", encoding="utf-8") as file:
        if held and not held.endswith("\n"):
            file.write("\n")  # somebody ended it in the middle of a line
        searches = Searches(file)
        for line in held.splitlines():
            with suppress(ValueError, KeyError, TypeError):  # a torn line: that search is simulated again
                row = json.loads(line)
                chosen = None if row["chosen"] is None else Chosen(**row["chosen"])
                searches.found[Searched(**row["which"])] = chosen
        yield searches
