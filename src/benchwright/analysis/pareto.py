"""Which points no other beats."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other beats, by ascending first value (lower and higher are better)."""
    front: list[int] = []
    best = -math.inf
    for i in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        if points[i][1] > best:
            front.append(i)
            best = points[i][1]
    return front
