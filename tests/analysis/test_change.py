"""The levels of a finding: their intervals hold what they say, however few the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from benchwright.analysis.step_findings import _level


def test_six_runs_give_an_interval_of_the_stated_confidence() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        logs = rng.normal(0.0, 0.02, size=6)
        level = _level(float(np.exp(logs.mean())), np.exp(logs).tolist())
        assert level.low is not None and level.high is not None and level.confidence == 0.95
        held += level.low <= 1.0 <= level.high
    assert scipy.stats.binomtest(held, 400, 0.95).pvalue > 0.001
    wanted = scipy.stats.t.interval(0.95, 5, loc=logs.mean(), scale=scipy.stats.sem(logs))
    assert (math.log(level.low), math.log(level.high)) == pytest.approx(wanted)  # type: ignore[arg-type]
    assert level.method == "t on logarithms over 6 runs"


def test_one_run_has_no_interval_and_values_that_are_not_positive_have_one() -> None:
    assert (_level(3.0, [3.0]).low, _level(3.0, [3.0]).method) == (None, "one run")
    level = _level(0.0, [-1.0, 1.0])
    assert level.low == pytest.approx(-12.706, abs=0.001) and level.high == pytest.approx(12.706, abs=0.001)
    wild = _level(1.0, [1e-300, 1e300])
    assert wild.low is not None and wild.high is not None and 0.0 < wild.low < wild.high < math.inf
