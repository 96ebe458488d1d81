"""What autocorrelation costs: by how much it inflates the variance of a mean. Standard library only.

Calls that follow each other resemble each other, so n of them say less than n independent ones: their mean varies as
if there were only n / inflation. Ignoring it is the commonest way to print an interval that is too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_LARGEST = 0.97  # a lag-1 correlation above it is a drift, for which no interval holds


def batch_length(count: int) -> int:
    """How many consecutive values should form one batch.

    Long batches leave little correlation between them, many batches make the estimate precise; both grow with the
    count: 50 batches of 2 for 100 values, 217 of 46 for 10 000. Chosen by simulating coverage.
    """
    return max(1, int(count ** (2 / 3) / 10))


def inflation(means: Sequence[float], length: int, variance: float | None = None) -> float:
    """The variance of the whole mean over what independence would give, never below 1.

    `means` are the means of consecutive batches of `length` values whose own variance is `variance` (None: that of the
    means, which for batches of one it is). Batch means (Law & Carson 1979) catch correlation shorter than a batch; what
    is left between batches is taken to be first-order autoregressive, its coefficient corrected for the bias of short
    series (Marriott & Pope 1954). With one value per batch, as in samples too small for batching, the second part does
    all the work.
    """
    count = len(means)
    if count < 4:
        return 1.0
    centre = math.fsum(means) / count
    deviations = [mean - centre for mean in means]
    squares = math.fsum(d * d for d in deviations)
    if squares == 0.0 or variance == 0.0:
        return 1.0
    lagged = math.fsum(d * e for d, e in pairwise(deviations)) / squares
    correlation = min(max(lagged + (1.0 + 3.0 * lagged) / count, 0.0), _LARGEST)
    within = 1.0 if variance is None else length * squares / (count - 1) / variance
    return max(1.0, within * (1.0 + correlation) / (1.0 - correlation))
