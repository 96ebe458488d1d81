"""Memory that the processes of one server share: how often somebody may ask, a bell, what was removed.

It is a file without a name that all of them have mapped. Rows are changed under a lock of the kernel's on that file,
which ends with whoever holds it, however that ends. The clock is the same in all processes.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import mmap

from benchwright.server.traffic import Buckets
from benchwright.system.locks import hold_byte

MOST_PROCESSES = 64
_COUNTERS = ("lab", "removals")  # what was changed how often, for all processes together
_TABLES = ("asked", "failed", "refused", "told", "signing_in")
_NUMBER = struct.Struct("=q")
_ROW = struct.Struct("=Qdd")  # of a key: its digest, permits left, and when
_SECRET = 16  # bytes: nobody can choose keys whose digests are the same
_AHEAD = _SECRET + (len(_COUNTERS) + MOST_PROCESSES) * _NUMBER.size
_TOGETHER = 8  # rows that a key may stand in
_SETS = 2048
_TABLE = _SETS * _TOGETHER * _ROW.size
_TURN = 1000  # the byte whose lock is the turn to write


class SharedState:
    """The memory of one server. `create` makes it; `SharedState(handle)` opens it in another process."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._memory = mmap(handle, _AHEAD + len(_TABLES) * _TABLE)
        self._threads = threading.Lock()  # the kernel's lock is between processes, and lets all threads of one in

    @classmethod
    def create(cls) -> SharedState:
        """Makes memory that is all zeros, for this process and those that it hands `handle` to."""
        with tempfile.TemporaryFile(prefix="benchwright-shared-") as file:
            file.truncate(_AHEAD + len(_TABLES) * _TABLE)
            file.write(os.urandom(_SECRET))
            file.flush()
            return cls(os.dup(file.fileno()))

    def close(self) -> None:
        """Lets go of the memory in this process."""
        self._memory.close()
        os.close(self.handle)

    def counter(self, name: str) -> SharedCounter:
        """Returns one of the counters that all processes add to."""
        return SharedCounter(self, _SECRET + _COUNTERS.index(name) * _NUMBER.size)

    def ended_connections(self, process: int) -> SharedCounter:
        """Returns the counter of the connections that one of the processes had and that are closed."""
        return SharedCounter(self, _SECRET + (len(_COUNTERS) + process) * _NUMBER.size)

    def buckets(self, name: str, *, rate: float, burst: float) -> SharedBuckets:
        """Returns permits that are counted over all processes."""
        return SharedBuckets(self, _TABLES.index(name), rate=rate, burst=burst)

    def read(self, form: struct.Struct, place: int) -> tuple[float, ...]:
        """Returns the numbers at a place."""
        return form.unpack_from(self._memory, place)

    def write(self, form: struct.Struct, place: int, *values: float) -> None:
        """Replaces the numbers at a place."""
        form.pack_into(self._memory, place, *values)

    @contextmanager
    def hold(self, part: int) -> Iterator[None]:
        """Keeps other threads and processes from changing that part meanwhile."""
        with self._threads, hold_byte(self.handle, part):
            yield

    @contextmanager
    def take_turn(self) -> Iterator[None]:
        """Lets one process after the other write: SQLite's own way to wait is to sleep and look again. The caller sees
        to it that one thread of this process does so at a time.
        """
        with hold_byte(self.handle, _TURN):
            yield

    def digest(self, key: str) -> int:
        """Returns a number for a key, never 0."""
        secret = self._memory[:_SECRET]
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8, key=secret).digest()) or 1


class SharedCounter:
    """A number that every process can read and change."""

    def __init__(self, state: SharedState, place: int) -> None:
        self._state, self._place = state, place

    @property
    def value(self) -> int:
        """The number now."""
        return int(self._state.read(_NUMBER, self._place)[0])

    def set(self, value: int) -> None:
        """Replaces the number: for one that a single process changes."""
        self._state.write(_NUMBER, self._place, value)

    def add(self) -> None:
        """Adds one."""
        with self._state.hold(0):
            self.set(self.value + 1)


class SharedBuckets(Buckets):
    """Permits by key, as `Buckets`, of which all processes take. Of eight keys the one asked longest ago is forgotten.

    A key has a set of rows by its digest: what is looked at is bounded, and about 10,000 keys are remembered.
    """

    def __init__(
        self,
        state: SharedState,
        table: int,
        *,
        rate: float,
        burst: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(rate=rate, burst=burst, clock=clock)
        self._state, self._table = state, table

    def take(self, key: str) -> float:
        """Takes a permit and returns 0, or returns the seconds until there is one."""
        digest = self._state.digest(key)
        first = _AHEAD + self._table * _TABLE + digest % _SETS * _TOGETHER * _ROW.size
        places = range(first, first + _TOGETHER * _ROW.size, _ROW.size)
        with self._state.hold(1 + self._table):
            rows = {place: self._state.read(_ROW, place) for place in places}
            own = next((place for place, row in rows.items() if row[0] == digest), None)
            place = min(rows, key=lambda place: rows[place][2]) if own is None else own
            now = self._clock()
            wait, left = self._draw(rows[place][1:] if own is not None else (self._burst, now), now)
            self._state.write(_ROW, place, digest, left, now)
        return wait
