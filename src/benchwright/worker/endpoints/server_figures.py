"""The server's own figures beside a load: asked for by a process of their own, and turned into timelines.

Whatever is wrong with them costs a warning at most, never a result.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchwright.records import ResultWarning, Timeline, Value
from benchwright.system.lent_package import code_for
from benchwright.system.masking import mask_url
from benchwright.worker.endpoints.exposition import KNOWN

PREFIX = "server:"  # begins the name of every timeline of these
CODE = "server-figures"
MOST_TIMELINES = 64
PATIENCE = 5.0  # seconds for the answer of the process that asked
EDGE = 100_000_000  # ns around the timed phase in which a look still belongs to it
CLOSE = 250_000_000  # ns: of two looks that lie so close, a rate between them says little
_START = "from benchwright.worker.endpoints.scraper import main; main()"
_UNITS = (
    (re.compile(r"llamacpp:\w+_tokens_seconds$"), "/s"),  # tokens a second, in spite of its name
    (re.compile(r"_seconds$"), "s"),
    (re.compile(r"_bytes$"), "B"),
)
_LAST = re.compile(r"process_")  # of less use than what the server tells of its own work


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureReport:
    """What was learned of the server's figures."""

    timelines: tuple[Timeline, ...] = ()
    warnings: tuple[ResultWarning, ...] = ()
    details: Mapping[str, Value] | None = None  # None: the server tells no figures


class FigureReader:
    """Starts the process that asks; `look` asks for a look now, `finish` for all that was seen."""

    def __init__(self, address: str, *, named: bool, headers: Mapping[str, str], insecure: bool) -> None:
        self._shown, self._named = mask_url(address), named
        # Without site packages: it needs none, and is there at once.
        code = code_for(_START, first=True)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        order = {"address": address, "named": named, "headers": dict(headers), "insecure": insecure}
        self._write(json.dumps(order).encode() + b"\n")  # not among the arguments: a key may be among the headers

    def look(self) -> None:
        """Asks for a look now; costs a byte."""
        self._write(b"!")

    def finish(self, zero: int, end: int) -> FigureReport:
        """What was seen between two instants."""
        try:
            answer, _ = self._process.communicate(timeout=PATIENCE)
            told = json.loads(answer)
        except (subprocess.TimeoutExpired, OSError, ValueError) as error:
            self.close()
            why = f"no word from it in {PATIENCE:g} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
            return FigureReport(warnings=(self._warning(f"they could not be read: {why[:200]}"),))
        return self._report(told, zero, end)

    def close(self) -> None:
        """Ends the process."""
        if self._process.poll() is None:
            self._process.kill()
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._process.communicate(timeout=PATIENCE)

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has gone: `finish` says so
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def _report(self, told: Mapping[str, Any], zero: int, end: int) -> FigureReport:
        looks = len(told["instants"])
        if not looks:
            if not self._named:  # nobody said that there are any
                return FigureReport()
            return FigureReport(warnings=(self._warning(f"there were none: {told['first_failure']}"),))
        warnings = []
        if told["failures"]:
            seen = f"{told['failures']} of {told['failures'] + looks} looks failed, the first: {told['first_failure']}"
            warnings.append(self._warning(seen))
        timelines, more = timelines_of(told["instants"], told["series"], zero, end)
        details = {"address": self._shown, "looks": looks, "left_out": told["left_out"] + more}
        return FigureReport(timelines=timelines, warnings=tuple(warnings), details=details)

    def _warning(self, what: str) -> ResultWarning:
        remedy = "the result is whole without them; --option metrics=off leaves them out, metrics=ADDRESS names others"
        return ResultWarning(code=CODE, seen=f"the server's own figures at {self._shown}: {what}", remedy=remedy)


def timelines_of(
    instants: Sequence[int], series: Sequence[tuple[str, str, Sequence[float | None]]], zero: int, end: int
) -> tuple[tuple[Timeline, ...], int]:
    """The series between two instants as timelines, and how many more there would have been.

    Counters become rates, the sum and count of a histogram the mean of what came between two looks. What did not change
    is left out, unless its use is known.
    """
    chosen = _choose_looks(instants, zero, end)
    seconds = [max(0.0, (instants[look] - zero) / 1e9) for look in chosen]
    values = {name: (kind, [column[look] for look in chosen]) for name, kind, column in series}
    found: list[Timeline] = []
    for name, (kind, column) in values.items():
        bare, labels = name.partition("{")[0], name[len(name.partition("{")[0]) :]
        if kind == "gauge":
            made = _gauge(name, column, seconds)
        elif kind == "counter":
            made = _rate(name, column, seconds)
        elif bare.endswith("_sum") and (count := values.get(f"{bare.removesuffix('_sum')}_count{labels}")):
            made = _mean(bare.removesuffix("_sum") + labels, column, count[1], seconds)
        else:
            continue
        if made is not None and (
            KNOWN.match(name) or len(set(made.values)) > 1 or (kind != "gauge" and any(made.values))
        ):
            found.append(made)
    found.sort(key=_rank)
    return tuple(found[:MOST_TIMELINES]), max(0, len(found) - MOST_TIMELINES)


def _choose_looks(instants: Sequence[int], zero: int, end: int) -> list[int]:
    """The looks of the timed phase. The one before the last goes where the two lie close together."""
    chosen = [look for look, at in enumerate(instants) if zero - EDGE <= at <= end + EDGE]
    if len(chosen) > 2 and instants[chosen[-1]] - instants[chosen[-2]] < CLOSE:
        del chosen[-2]
    return chosen


def _gauge(name: str, column: Sequence[float | None], seconds: Sequence[float]) -> Timeline | None:
    points = [(at, value) for at, value in zip(seconds, column, strict=True) if value is not None]
    return _timeline(name, _unit(name), points)


def _rate(name: str, column: Sequence[float | None], seconds: Sequence[float]) -> Timeline | None:
    points, before = [], None
    for at, value in zip(seconds, column, strict=True):
        if value is None:
            continue
        if before is not None and at > before[0]:
            grown = value - before[1] if value >= before[1] else value  # it began anew
            points.append((at, grown / (at - before[0])))
        before = at, value
    return _timeline(name, "/s", points)


def _mean(
    name: str, sums: Sequence[float | None], counts: Sequence[float | None], seconds: Sequence[float]
) -> Timeline | None:
    points, before = [], None
    for at, total, count in zip(seconds, sums, counts, strict=True):
        if total is None or count is None:
            continue
        if before is not None and count > before[1]:
            points.append((at, (total - before[0]) / (count - before[1])))
        before = total, count
    return _timeline(name, _unit(name), points)


def _timeline(name: str, unit: str, points: Sequence[tuple[float, float]]) -> Timeline | None:
    if not points:
        return None
    seconds, values = zip(*points, strict=True)
    return Timeline(name=PREFIX + name, unit=unit, seconds=seconds, values=values)


def _unit(name: str) -> str:
    bare = name.partition("{")[0]
    return next((unit for pattern, unit in _UNITS if pattern.search(bare)), "1")


def _rank(made: Timeline) -> int:
    name = made.name.removeprefix(PREFIX)
    return 0 if KNOWN.match(name) else 2 if _LAST.match(name) else 1
