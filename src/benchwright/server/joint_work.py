"""Work that many requests ask for at the same moment, done together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class JointWork(Generic[K, V]):
    """Does in one go, in a thread, what was asked for while the work before was under way. Nobody waits for company.

    What is asked for is begun after the question came, so an answer is never older than its question.
    """

    def __init__(self, do: Callable[[Sequence[K]], Mapping[K, V]], *, most: int = 100) -> None:
        self._do, self._most = do, most
        self._waiting: list[tuple[K, asyncio.Future[V | None]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def __call__(self, key: K) -> V | None:
        """Returns what came of it; None where nothing did."""
        answer: asyncio.Future[V | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                try:
                    found = await run_in_threadpool(self._do, [*dict.fromkeys(key for key, _ in asked)])
                except Exception as error:  # each of those who asked raises it
                    for _, answer in asked:
                        if not answer.done():
                            answer.set_exception(error)
                else:
                    for key, answer in asked:
                        if not answer.done():  # who asked may have gone meanwhile
                            answer.set_result(found.get(key))
        finally:
            self._worker = None
