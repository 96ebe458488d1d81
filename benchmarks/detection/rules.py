"""How others decide whether B differs from A, on rows of logarithms of latencies. Each answers with one truth per row.

All but the last two are made for A-then-B: every process of the control before every one of the treatment.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from detection.pairs_simulator import Array
from scipy import stats

Truths = npt.NDArray[np.bool_]
_RESAMPLES = 400
_SPREAD_WITHIN = 0.05  # how far the 90th percentile of a run lies above its median


def welch(a: Array, b: Array) -> Truths:
    """Welch's t at 5 %."""
    return np.asarray(stats.ttest_ind(np.exp(a), np.exp(b), axis=1, equal_var=False).pvalue < 0.05)


def google_benchmark(a: Array, b: Array) -> Truths:
    """The two-sided Mann-Whitney U test at 5 % of google-benchmark's compare.py."""
    return np.asarray(stats.mannwhitneyu(a, b, axis=1, alternative="two-sided").pvalue < 0.05)


def pyperf(a: Array, b: Array) -> Truths:
    """Student's t with pooled variance at 5 %."""
    return np.asarray(stats.ttest_ind(np.exp(a), np.exp(b), axis=1).pvalue < 0.05)


def criterion(a: Array, b: Array, rng: np.random.Generator) -> Truths:
    """Criterion's: a t statistic rare among resamples of both sides mixed (5 %), and a bootstrap interval (95 %) of the
    relative change of means that lies beyond ±1 %."""
    called = [_criterion(np.exp(one), np.exp(other), rng) for one, other in zip(a, b, strict=True)]
    return np.array(called)


def history(a: Array, b: Array) -> Truths:
    """The older rule: the median of the last two runs above the largest of ten runs' 90th percentiles before them, by
    more than a tenth of their range. Slower only."""
    p90 = np.exp(a[:, -10:]) * (1.0 + _SPREAD_WITHIN)
    limit = p90.max(axis=1) + np.ptp(p90, axis=1) / 10
    return np.asarray((np.exp(b[:, :2]) > limit[:, None]).all(axis=1))


def signed_ranks(a: Array, b: Array) -> Truths:
    """Over pairs: Wilcoxon's signed ranks at 1 %, which is the test of the Hodges-Lehmann location."""
    return np.asarray(stats.wilcoxon(b - a, axis=1, method="exact").pvalue < 0.01)


def _criterion(a: Array, b: Array, rng: np.random.Generator) -> bool:
    both = np.concatenate((a, b))
    mixed = both[rng.integers(len(both), size=(_RESAMPLES, len(both)))]
    seen = _t(a, b)
    p_value = np.mean(np.abs(_t(mixed[:, : len(a)], mixed[:, len(a) :])) >= abs(seen))
    means_a = a[rng.integers(len(a), size=(_RESAMPLES, len(a)))].mean(axis=1)
    means_b = b[rng.integers(len(b), size=(_RESAMPLES, len(b)))].mean(axis=1)
    low, high = np.quantile(means_b / means_a - 1.0, (0.025, 0.975))
    return bool(p_value < 0.05 and (low > 0.01 or high < -0.01))


def _t(a: Array, b: Array) -> Array:
    spread = np.sqrt(a.var(axis=-1, ddof=1) / a.shape[-1] + b.var(axis=-1, ddof=1) / b.shape[-1])
    return np.asarray((b.mean(axis=-1) - a.mean(axis=-1)) / spread)
