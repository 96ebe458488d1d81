"""Whether a case is known as well as was asked, over all of its rounds: a process is the unit of repetition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchwright.records import Case, Result, ResultWarning


def is_wanting(case: Case, results: Sequence[Result]) -> bool:
    """Whether more rounds may help: a precision was asked for, every round is ok, and they differ too much."""
    if case.load.precision is None:
        return False
    width = half_width(case, results)
    return width is not None and width > case.load.precision


def missed(case: Case, results: Sequence[Result]) -> Iterator[ResultWarning]:
    """A warning when the rounds together do not reach the precision, although each of them did."""
    if is_wanting(case, results):
        seen = f"asked for ±{case.load.precision:.2%}, but the rounds together give ±{half_width(case, results):.2%}"
        yield ResultWarning(code="precision-missed", seen=seen, remedy="give more --rounds, or a quieter machine")


def half_width(case: Case, results: Sequence[Result]) -> float | None:
    """Half the interval of the percentile asked for, relative to it; None when there is none."""
    from benchwright.stats import summary

    name = f"latency_p{case.load.precision_of:g}"
    metrics = [result.metric(name) for result in results if result.case == case]
    known = [metric.estimate for metric in metrics if metric is not None]
    if not known or len(known) < len(metrics):
        return None
    whole = summary.combine(known)
    if whole.low is None or whole.high is None or whole.point <= 0:
        return None
    return (whole.high - whole.low) / 2 / whole.point
