"""Multi-stream: a query is several calls at once, done when the last of them is."""

from __future__ import annotations

import threading
import time

import pytest

from benchwright.records import Load, Mode
from benchwright.worker.engine.engine import prepare
from benchwright.worker.engine.streams import FanOut
from benchwright.worker.engine.subject import Subject

MS = 1_000_000


def test_a_query_lasts_as_long_as_its_slowest_call() -> None:
    naps = {0: 0.0, 1: 0.0, 2: 0.03}
    subject = Subject(call=lambda index: time.sleep(naps[index]), arguments=[(0,), (1,), (2,)])
    load = Load(mode=Mode.MULTISTREAM, streams=3, samples=3, warmup=0)
    prepared = prepare(subject, load)
    samples = prepared.run(prepared.clock.now()).samples
    assert samples.calls == 3
    assert all(latency >= 30 * MS for latency in samples.columns["latency"])


def test_the_calls_of_a_query_overlap() -> None:
    meeting = threading.Barrier(4, timeout=20)  # breaks unless all four calls are inside at once
    with FanOut(Subject(call=meeting.wait), 4) as fan:
        for _ in range(5):
            fan.subject.call()


def test_what_a_call_raises_comes_out_and_the_threads_end() -> None:
    def call(value: int) -> None:
        if value == 2:
            raise LookupError("stream 2")

    before = threading.active_count()
    subject = Subject(call=call, arguments=[(1,), (2,)])
    with pytest.raises(LookupError, match="stream 2"), FanOut(subject, 2) as fan:
        fan.subject.call()
    assert threading.active_count() == before


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    prepared = prepare(Subject(call=tuple), Load(mode=Mode.MULTISTREAM, streams=8, samples=20, warmup=0))
    prepared.run(prepared.clock.now())
    assert threading.active_count() == before
