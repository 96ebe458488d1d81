"""What may still be said of a change when the instrument calls a side unreliable.

Noise of the machine explains a change of some size, not every change: what is five times as slow is slower. Memory is
no matter of who else used the CPU.
"""

from __future__ import annotations

from benchwright.records import Estimate, Verdict

ALLOWANCE = 0.25  # a change up to this may be the noise of an unreliable side
UNTOUCHED = frozenset(["rss_peak"])  # a busy CPU does not change these


def withstands(metric: str, verdict: Verdict, ratio: Estimate | None) -> bool:
    """Whether a verdict holds although a side is unreliable.

    Better and worse need a ratio beyond 1 + `ALLOWANCE`, or below its inverse, and an interval that lies wholly beyond
    half of that; the inverse, so that swapping the sides changes nothing. Sameness cannot be shown at all.
    """
    if metric in UNTOUCHED:
        return True
    if verdict not in (Verdict.BETTER, Verdict.WORSE) or ratio is None or ratio.low is None or ratio.high is None:
        return False
    far, near = 1 + ALLOWANCE, 1 + ALLOWANCE / 2
    return (ratio.point > far and ratio.low > near) or (ratio.point < 1 / far and ratio.high < 1 / near)
