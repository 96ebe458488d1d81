"""The histogram against exact values, against itself in other orders, and against hdrhistogram."""

from __future__ import annotations

from array import array
from collections import Counter

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from benchwright.records import Histogram
from benchwright.stats import histogram

nanoseconds = st.one_of(st.integers(0, 5000), st.integers(0, 10**9), st.integers(0, 2**62))
some = st.lists(nanoseconds, min_size=1, max_size=200)
widths = st.integers(min_value=1, max_value=14)


@given(some, widths, st.floats(min_value=0.001, max_value=0.999))
def test_quantiles_are_within_the_stated_error(values: list[int], bits: int, q: float) -> None:
    h = histogram.fold(values, bits=bits)
    exact = int(np.quantile(np.array(values, dtype=np.int64), q, method="inverted_cdf"))
    assert abs(histogram.quantile(h, q) - exact) <= histogram.error_bound(h) * exact
    assert histogram.error_bound(h) == 2.0**-bits


@given(some, widths)
def test_totals_are_exact(values: list[int], bits: int) -> None:
    h = histogram.fold(values, bits=bits)
    assert (h.total, h.sum, h.minimum, h.maximum) == (len(values), sum(values), min(values), max(values))
    assert histogram.mean(h) == sum(values) / len(values)
    assert sum(h.counts.values()) == h.total and min(h.counts.values()) > 0


@given(nanoseconds, widths)
def test_a_bucket_holds_its_value_and_its_neighbours_adjoin(value: int, bits: int) -> None:
    index = histogram.bucket(value, bits)
    low, high = histogram.edges(index, bits)
    assert low <= value <= high
    assert histogram.edges(index + 1, bits)[0] == high + 1
    assert (high - low) / 2 <= 2.0**-bits * low


@given(some, some, widths)
def test_merging_is_folding_together(a: list[int], b: list[int], bits: int) -> None:
    merged = histogram.merge(histogram.fold(a, bits=bits), histogram.fold(b, bits=bits))
    assert merged == histogram.fold(b, histogram.fold(a, bits=bits)) == histogram.fold(a + b, bits=bits)


@given(some, some)
def test_merging_different_widths_gives_the_coarser(a: list[int], b: list[int]) -> None:
    merged = histogram.merge(histogram.fold(a, bits=12), histogram.fold(b, bits=6))
    assert merged == histogram.fold(a + b, bits=6)


@given(st.lists(st.integers(-(10**6), 10**10), max_size=100), widths, st.sampled_from([1, 2, 8, 1024]))
def test_scaling_is_folding_scaled_values(values: list[int], bits: int, factor: int) -> None:
    h = histogram.fold(values, bits=bits)
    assert histogram.scale_values(h, factor) == histogram.fold([v * factor for v in values], bits=bits)


def test_only_powers_of_two_scale_without_loss() -> None:
    for factor in (0, 3, -2):
        with pytest.raises(ValueError, match="power of two"):
            histogram.scale_values(histogram.fold([1]), factor)


@given(some)
def test_counting_first_changes_nothing(values: list[int]) -> None:
    assert histogram.fold_counts(Counter(values)) == histogram.fold(array("q", values)) == histogram.fold(iter(values))


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=50))
def test_a_clock_set_back_does_no_harm(values: list[int]) -> None:
    h = histogram.fold(values)
    exact = sorted(values)[(len(values) + 1) // 2 - 1]
    assert abs(histogram.quantile(h, 0.5) - exact) <= histogram.error_bound(h) * abs(exact)


def test_more_values_than_one_chunk_are_all_counted() -> None:
    values = array("q", range(200_000))
    assert histogram.fold(values).total == 200_000
    assert histogram.fold(values) == histogram.fold_counts(dict.fromkeys(values, 1))


def test_numpy_integers_are_taken_as_integers() -> None:
    h = histogram.fold(np.array([5, 3_000_000_000], dtype=np.int64))
    assert h == histogram.fold([5, 3_000_000_000])
    assert all(type(number) is int for number in (h.sum, h.minimum, h.maximum, *h.counts))


def test_memory_depends_on_the_spread_not_on_the_number_of_calls() -> None:
    rng = np.random.default_rng(1)
    h = histogram.fold(rng.lognormal(15, 0.5, 300_000).astype(np.int64).tolist())
    assert len(h.counts) < 5000


def test_an_empty_histogram_merges_and_says_when_it_has_no_answer() -> None:
    nothing, something = histogram.empty(), histogram.fold([4, 9])
    assert histogram.merge(nothing, something) == histogram.merge(something, nothing) == something
    assert histogram.fold([], something) == something
    assert histogram.fold([]) == nothing and list(histogram.buckets(nothing)) == []
    with pytest.raises(ValueError, match="no mean"):
        histogram.mean(nothing)
    with pytest.raises(ValueError, match="no rank"):
        histogram.quantile(nothing, 0.5)


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one bit"):
        histogram.empty(0)
    with pytest.raises(ValueError, match="has no 11"):
        histogram.coarsen(histogram.fold([1]), 11)
    broken = Histogram(bits=10, counts={1: 1}, total=5, minimum=1, maximum=1, sum=1)
    with pytest.raises(ValueError, match="add up"):
        histogram.edges_at(broken, 3)


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=100))
def test_eleven_bits_are_hdrhistograms_three_digits(values: list[int]) -> None:
    theirs = HdrHistogram(1, 2**40, 3)
    for value in values:
        theirs.record_value(value)
    ours = histogram.fold(values, bits=11)
    recorded = {i: theirs.counts[i] for i in range(theirs.counts_len) if theirs.counts[i]}
    assert recorded == ours.counts
    for percent in (50, 90, 99):
        rank = max(1, int(percent / 100 * len(values) + 0.5))  # theirs is rounded, ours rounded up
        low, _ = histogram.edges_at(ours, rank)
        assert histogram.bucket(theirs.get_value_at_percentile(percent), 11) == histogram.bucket(low, 11)


def test_buckets_ascend_and_hold_every_count() -> None:
    values = np.random.default_rng(2).lognormal(12, 1, 5000).astype(int).tolist()
    pairs = list(histogram.buckets(histogram.fold(values)))
    assert [middle for middle, _ in pairs] == sorted(middle for middle, _ in pairs)
    assert sum(count for _, count in pairs) == 5000
    assert sum(middle * count for middle, count in pairs) == pytest.approx(sum(values), rel=1e-3)
