"""Lines of a file made ready by a second process, so that reading them and keeping them take a core each.

The process is a copy of this one that does nothing else. It gives up at the first line that it cannot read. Whoever
asked goes on from there by itself, also where the process was ended, and says what is wrong as it always did.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from typing import Generic, TypeVar

T = TypeVar("T")
WORTH = 4 << 20  # bytes of a file: a smaller one is read before another process could begin
_PIPE = 1 << 20  # bytes that may wait in the pipe
_F_SETPIPE_SZ = 1031


def can_help() -> bool:
    """Whether there is a core for a second process, and a copy of this one can be made: no other thread may run."""
    return hasattr(os, "fork") and (os.cpu_count() or 1) > 1 and threading.active_count() == 1


class SecondReader(Generic[T]):
    """What `make` gives, made by another process: several at a time, in order, as far as that comes."""

    def __init__(self, make: Callable[[], Iterable[T]], *, together: int) -> None:
        self.is_whole = False  # whether all has come
        reading, writing = os.pipe()
        with suppress(OSError, ImportError):
            import fcntl

            fcntl.fcntl(writing, _F_SETPIPE_SZ, _PIPE)
        self._child = os.fork()
        if self._child == 0:
            _work(make, together, reading, writing)
        os.close(writing)
        self._words = os.fdopen(reading, "rb")

    def __iter__(self) -> Iterator[T]:
        with suppress(EOFError, pickle.UnpicklingError):  # it ended, in the middle of a word or not
            while (some := pickle.load(self._words)) is not None:  # noqa: S301 - what a copy of this process made
                yield from some
            self.is_whole = True

    def close(self) -> None:
        """Ends the other process."""
        self._words.close()
        os.waitpid(self._child, 0)


def _work(make: Callable[[], Iterable[T]], together: int, reading: int, writing: int) -> None:
    """In the copy: hands over what is made until something goes wrong, or nobody wants more; never returns."""
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as file:
            some: list[T] = []
            try:
                for one in make():
                    some.append(one)
                    if len(some) >= together:
                        pickle.dump(some, file, pickle.HIGHEST_PROTOCOL)
                        some = []
            finally:
                pickle.dump(some, file, pickle.HIGHEST_PROTOCOL)
            pickle.dump(None, file)
    except BaseException:
        os._exit(1)  # whoever asked meets it as well
    os._exit(0)  # nothing that this process had open is ended for it


def read_with_help(
    make_there: Callable[[], Iterable[T]], make_here: Callable[[int], Iterable[T]], *, together: int
) -> Generator[T, None, None]:
    """What `make_there` gives, made by another process; where that ended early, the rest by `make_here` in this."""
    count = 0
    with closing(SecondReader(make_there, together=together)) as reader:
        for one in reader:
            count += 1
            yield one
    if not reader.is_whole:
        yield from make_here(count)
