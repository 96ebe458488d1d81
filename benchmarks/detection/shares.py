"""Shares of simulated or replayed comparisons, in percent, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchwright.stats.distributions import normal_quantile
from harness import Spread


def share(truths: Sequence[bool]) -> Spread:
    """In percent, with Wilson's interval at 95 %."""
    count, point, z = len(truths), sum(truths) / len(truths), normal_quantile(0.975)
    centre = (point + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(point * (1 - point) / count + (z / (2 * count)) ** 2)
    return Spread(point=100 * point, low=100 * max(0.0, centre - half), high=100 * min(1.0, centre + half))
