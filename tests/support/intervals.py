"""What tests ask of intervals."""

from __future__ import annotations

from benchwright.records import Estimate


def holds(estimate: Estimate, truth: float) -> bool:
    """True when the truth lies in the interval."""
    assert estimate.low is not None and estimate.high is not None
    return estimate.low <= truth <= estimate.high
