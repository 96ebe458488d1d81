from array import array
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.records import Run, Samples
from benchwright.report.calls import calls, over_time, thin
from benchwright.stats.histogram import fold


def test_every_call_of_every_copy_and_round_is_there(run: Run) -> None:
    copies = [r for r in run.results if len(r.samples) == 2]
    found = calls(copies)
    assert found is not None and found.total == 3 * 2 * 2000


def test_quantiles_invert_the_distribution(run: Run) -> None:
    found = calls(run.results[:1])
    assert found is not None
    values = np.sort(np.frombuffer(run.results[0].samples[0].columns["latency"], np.int64)) / 1e9
    levels = np.array([0.0, 0.25, 0.5, 0.99, 1.0])
    assert found.quantiles(levels).tolist() == np.quantile(values, levels, method="inverted_cdf").tolist()


def test_folded_calls_count_and_keep_their_extremes(run: Run) -> None:
    raw = Samples(copy=0, calls=3, loops=1, elapsed=10, columns={"latency": array("q", [5, 7, 9])})
    folded = replace(raw, columns={}, histograms={"latency": fold([1_000_003, 2, 1_000_003])})
    found = calls([replace(run.results[0], samples=(raw, folded))])
    assert found is not None and found.total == 6
    assert (found.shortest, found.longest) == (2e-9, 1_000_003e-9)
    assert found.quantiles(np.array([0.9]))[0] == pytest.approx(1_000_003e-9, rel=2**-10)


def test_no_samples_are_none(run: Run) -> None:
    assert calls([replace(run.results[0], samples=())]) is None
    assert over_time(replace(run.results[0], samples=()), 10) is None


@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=300), st.integers(1, 50))
def test_thinning_is_bounded_and_keeps_the_extremes(values: list[float], slots: int) -> None:
    moments = np.arange(len(values), dtype=np.float64)
    track = thin(moments, np.array(values), slots)
    assert len(track.seconds) <= slots
    assert track.low.min() == min(values) and track.high.max() == max(values)
    assert track.points == len(values)
    assert (track.low <= track.middle).all() and (track.middle <= track.high).all()
    assert (np.diff(track.seconds) > 0).all()


def test_binning_loses_no_call(run: Run) -> None:
    found = calls(run.results[:1])
    assert found is not None
    edges = np.linspace(found.shortest, found.longest, 20)
    assert found.binned(edges).sum() == found.total
