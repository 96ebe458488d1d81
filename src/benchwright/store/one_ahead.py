"""Work that is done in a thread while the next is made ready."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class OneAhead:
    """Does one job at a time in a thread, while the next is made ready. What a job raises, the next `begin` raises."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._under_way: Future[None] | None = None

    def __enter__(self) -> OneAhead:
        return self

    def begin(self, job: Callable[[], None]) -> None:
        """Waits for the job before, and begins this one."""
        if self._under_way is not None:
            self._under_way.result()
        self._under_way = self._thread.submit(job)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._thread:
            if self._under_way is not None and (error := self._under_way.exception()) and kind is None:
                raise error
