"""Environments that jobs ask for: each is made once on a machine, in a cell that may write it and nothing else.

Jobs see theirs where it was made, and cannot change it; what tells that it is there is not in their reach.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from benchwright import schema
from benchwright.errors import BenchwrightError
from benchwright.execution.outposts.installer import KEPT_DAYS, key_of
from benchwright.execution.outposts.orders import EnvironmentOrder, MadeEnvironment
from benchwright.execution.venvs import environments
from benchwright.schema import quick_json
from benchwright.schema.parsing import json_value
from benchwright.system import whole_files

AGAIN = 600.0  # seconds after which one that could not be made is tried again
MOST = 1 << 20  # bytes that tell of an environment


class EnvironmentShelf:
    """The environments of an agent, below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed: dict[str, tuple[float, MadeEnvironment]] = {}
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def find(self, order: EnvironmentOrder) -> MadeEnvironment | None:
        """The environment, or why it could not be made a short while ago; None where somebody has to make it."""
        key = key_of(order)
        at, failed = self._failed.get(key, (0.0, None))
        if failed is not None and time.monotonic() - at < AGAIN:
            return failed
        try:
            with self._mark(key).open("rb") as file:
                made = schema.decode(MadeEnvironment, json_value(file.read(MOST)), where=file.name)
            Path(made.python).stat()
            os.utime(self._mark(key))
        except (OSError, ValueError, BenchwrightError):  # spoilt, or somebody removed it: it is made again
            return None
        return made

    def place_of(self, order: EnvironmentOrder | None, made: MadeEnvironment | None) -> Path | None:
        """The folder of an environment that was made here; None where there is none."""
        if order is None or made is None or made.failure is not None:
            return None
        return self._place(key_of(order))

    def clear(self, order: EnvironmentOrder) -> Path:
        """The folder of an environment that is to be made; what was left there by one that was cut off is gone."""
        self._forget_old()
        key = key_of(order)
        self._mark(key).unlink(missing_ok=True)
        place = self._place(key)
        environments.remove(place)
        place.mkdir(mode=0o700)
        return place

    def keep(self, order: EnvironmentOrder, made: MadeEnvironment) -> None:
        """Remembers what came of an order."""
        key = key_of(order)
        if made.failure is not None:
            self._failed[key] = (time.monotonic(), made)
            environments.remove(self._place(key))
            return
        whole_files.write_bytes(self._mark(key), quick_json.dumps(schema.encode(made)), mode=0o600, durable=True)

    def _place(self, key: str) -> Path:
        return self._folder.resolve() / key

    def _mark(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _forget_old(self) -> None:
        """Removes what nobody has asked for in a month."""
        limit = time.time() - KEPT_DAYS * 86400
        for mark in self._folder.glob("*.json"):
            with contextlib.suppress(OSError):
                if mark.stat().st_mtime < limit:
                    mark.unlink()
                    environments.remove(mark.with_suffix(""))
