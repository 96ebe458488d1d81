"""The recorder: eight bytes a call, a histogram beyond the limit, instants put together again."""

from __future__ import annotations

import tracemalloc
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import MeasureError
from benchwright.stats import histogram
from benchwright.worker.engine import engine
from benchwright.worker.engine.recorder import ANCHOR_EVERY, BLOCK, DISTINCT, LatencyRecorder, zeros

_CHUNK = st.tuples(st.integers(0, 10**6), st.lists(st.integers(0, 10**9), min_size=1, max_size=12))


def _fill(recorder: LatencyRecorder, chunks: list[tuple[int, list[int]]], begin: int = 0) -> list[int]:
    """Adds chunks of latencies, each after a gap; returns the instants at which the calls really ended."""
    now, ends = begin, []
    for gap, latencies in chunks:
        start = now + gap
        ticks = list(accumulate(latencies, initial=start))[1:]
        recorder.add(start, ticks)
        ends += ticks
        now = ticks[-1]
    return ends


@given(st.lists(_CHUNK, max_size=20), st.integers(1, 100))
def test_every_call_is_kept_raw_up_to_the_limit_and_counted_beyond(
    chunks: list[tuple[int, list[int]]], limit: int
) -> None:
    recorder = LatencyRecorder(limit=limit)
    _fill(recorder, chunks)
    flat = [latency for _, latencies in chunks for latency in latencies]
    assert recorder.calls == len(flat)
    assert list(recorder.latencies) == flat[:limit]
    assert recorder.active == sum(flat)
    folded = recorder.histogram()
    if len(flat) <= limit:
        assert folded is None
    else:
        assert folded == histogram.fold(flat)


@given(st.lists(st.lists(st.integers(0, 10**9), min_size=1, max_size=600), max_size=6), st.integers(0, 10**12))
def test_ends_are_exact_when_chunks_follow_each_other(chunks: list[list[int]], begin: int) -> None:
    recorder = LatencyRecorder()
    ends = _fill(recorder, [(0, latencies) for latencies in chunks], begin)
    assert list(recorder.ends(begin)) == [end - begin for end in ends]


def test_gaps_between_chunks_show_in_the_ends_at_every_anchor() -> None:
    recorder = LatencyRecorder()
    ends = _fill(recorder, [(1000, [10] * ANCHOR_EVERY) for _ in range(8)])
    assert list(recorder.ends(0)) == ends


def test_ends_never_run_ahead_and_lag_by_less_than_the_gaps_of_one_anchor() -> None:
    recorder = LatencyRecorder()
    ends = _fill(recorder, [(7, [10] * 5) for _ in range(500)])
    lags = [true - told for true, told in zip(ends, recorder.ends(0), strict=True)]
    assert min(lags) == 0
    assert max(lags) <= 7 * (ANCHOR_EVERY // 5 + 1)
    assert all(a <= b for a, b in pairwise(recorder.ends(0)))


def test_a_clock_that_goes_back_is_refused() -> None:
    with pytest.raises(MeasureError, match="went back by 5 ns"):
        LatencyRecorder().add(100, [110, 105, 120])


def test_an_empty_chunk_is_nothing() -> None:
    recorder = LatencyRecorder()
    recorder.add(100, [])
    assert (recorder.calls, recorder.active, list(recorder.ends(0))) == (0, 0, [])


def test_a_recorded_call_takes_eight_bytes_and_one_beyond_the_limit_none() -> None:
    limit, chunk = 4 * BLOCK, [1000 + i for i in range(BLOCK)]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        recorder, now = LatencyRecorder(limit=limit), 0
        for _ in range(limit // len(chunk)):
            now = _add(recorder, now, chunk)
        at_limit = tracemalloc.get_traced_memory()[0] - before
        assert at_limit / recorder.calls <= 8.2  # the latency, and an anchor of two words for every 256 calls or more
        for _ in range(2):
            now = _add(recorder, now, chunk)
        assert recorder.histogram() is not None
        counted = tracemalloc.get_traced_memory()[0]
        for _ in range(16):
            now = _add(recorder, now, chunk)
        assert recorder.histogram() is not None
        assert tracemalloc.get_traced_memory()[0] - counted < 100_000  # a byte a call or less: none is kept
    finally:
        tracemalloc.stop()


@pytest.mark.soak
def test_what_is_counted_beyond_the_limit_needs_bounded_memory_even_when_all_values_differ() -> None:
    tracemalloc.start()
    try:
        recorder, now = LatencyRecorder(limit=BLOCK), 0
        for i in range(2 * DISTINCT // BLOCK + 2):
            now = _add(recorder, now, [(i * BLOCK + k) * 1000 for k in range(BLOCK)])
        # a counter of some DISTINCT values, 150 bytes each, and a few thousand buckets
        assert tracemalloc.get_traced_memory()[1] < 150 * (DISTINCT + BLOCK) + 5_000_000
    finally:
        tracemalloc.stop()


def _add(recorder: LatencyRecorder, start: int, latencies: list[int]) -> int:
    ticks = list(accumulate(latencies, initial=start))
    recorder.add(start, ticks[1:])
    return ticks[-1]


def test_two_workers_fill_the_same_columns_one_after_the_other() -> None:
    first, second = LatencyRecorder(), LatencyRecorder()
    ends = [*_fill(first, [(0, [10] * 3)], 100), *_fill(second, [(5, [20] * 2)], 100)]
    latency, end = zeros(5), zeros(5)
    first.fill(latency, end, 0, 100)
    second.fill(latency, end, 3, 100)
    assert list(latency) == [10, 10, 10, 20, 20]
    assert list(end) == [instant - 100 for instant in ends]


def test_the_answer_takes_its_own_sixteen_bytes_a_call_and_no_more() -> None:
    recorder = LatencyRecorder()
    ticks = list(range(10, 4000, 10))
    calls = 0
    while calls < 200_000:
        recorder.add(0, ticks)
        calls += len(ticks)
    tracemalloc.start()
    try:
        samples = engine.samples_of([recorder], copy=0, loops=1, zero=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(samples.columns["end"]) == calls
    assert peak < 16.5 * calls  # two columns of eight bytes each
