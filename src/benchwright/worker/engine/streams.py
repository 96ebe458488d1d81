"""Multi-stream: each query is N calls at once, done when the last of them is."""

from __future__ import annotations

import threading
from itertools import islice, starmap
from types import TracebackType
from typing import Any

from benchwright.worker.engine.subject import Subject


def gather_streams(subject: Subject, streams: int) -> Subject:
    """A query of `streams` awaitables at once, for asynchronous callables: tasks instead of threads."""
    import asyncio  # 30 ms that only asynchronous callables need

    arguments = [list(islice(subject.argument_stream(offset=i), streams)) for i in range(len(subject.arguments))]

    async def query(*given: tuple[Any, ...]) -> None:
        await asyncio.gather(*starmap(subject.call, given))

    return Subject(call=query, arguments=[tuple(group) for group in arguments], event_loop=subject.event_loop)


class FanOut:
    """A query of `streams` simultaneous calls on as many threads; `subject` is what the closed loop then times."""

    def __init__(self, subject: Subject, streams: int) -> None:
        self._inner = subject
        self._begin = threading.Barrier(streams + 1)
        self._end = threading.Barrier(streams + 1)
        self._failure: BaseException | None = None
        self._open = True
        self._threads = [
            threading.Thread(target=self._serve, args=(i,), name=f"stream-{i}", daemon=True) for i in range(streams)
        ]
        self.subject = Subject(call=self._query)

    def __enter__(self) -> FanOut:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        self._begin.wait()
        for thread in self._threads:
            thread.join()

    def _query(self) -> Any:
        self._begin.wait()
        self._end.wait()
        if self._failure is not None:
            raise self._failure

    def _serve(self, index: int) -> None:
        stream = self._inner.argument_stream(offset=index)
        while True:
            self._begin.wait()
            if not self._open:
                return
            try:
                self._inner.call(*next(stream))
            except BaseException as failure:  # a thread is a border: the query raises it again
                self._failure = failure
            self._end.wait()
