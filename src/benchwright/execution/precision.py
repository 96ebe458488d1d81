"""Whether a case is known as well as was asked, over all of its rounds, and the cheapest way to get there.

A process is the unit of repetition. What one more of them is worth depends on how far processes lie apart (b, a
standard deviation of logarithms), on how well one of them knows itself after T seconds (its variance is v/T), and on
what it costs to start one (F seconds). The mean of n processes is then known to within t · sqrt((b² + v/T) / n), where
t is Student's quantile, after n · (F + T) seconds. So the first process measures until it knows itself as well as one
of so many must, and after each one the length T and the number n are chosen anew that reach the precision soonest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchwright.events import ExpectedTime
from benchwright.records import Case, Load, Mode, Result, ResultWarning

PILOT = 3.0  # seconds that the first process measures at most, where several are to be measured
LONGEST = 60.0  # seconds that any process measures at most
SHORTEST = 0.02
CALLS = 20  # of a process at least: an interval of its own takes some
_START = 1.0  # seconds that a process takes to start and to warm up, as long as nobody knows
_EASE = 0.7  # of what each of several processes must know, so that all together know enough
_GUESS = 0.4  # of the precision: how far processes lie apart, as long as nobody knows; it counts like one process
_PATIENCE = 2  # times the rounds, before it is given up
_LENGTHS = 12  # that are tried, each twice as long as the one before


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionForecast:
    """The processes and the time that a case needs to reach its precision, judged by its processes so far."""

    processes: int  # in all
    length: float  # seconds that the next one measures
    seconds: float  # that the missing ones take, starting them included
    reached: bool  # whether so many are expected to be enough


def is_wanting(case: Case, results: Sequence[Result]) -> bool:
    """Whether more rounds may help: a precision was asked for, every round is ok, and they differ too much."""
    if case.load.precision is None:
        return False
    width = half_width(case, results)
    return width is not None and width > case.load.precision


def is_last(case: Case, results: Sequence[Result], measured: int, rounds: int, most: int) -> bool:
    """Whether no further round of the case is measured although the precision may not be reached.

    Twice the rounds are always tried; more of them, up to `most`, where they are expected to be enough.
    """
    if measured < _PATIENCE * rounds:
        return False
    ahead = outlook(case, results, rounds, most)
    return measured >= most or ahead is None or not ahead.reached


def missed_warnings(case: Case, results: Sequence[Result]) -> Iterator[ResultWarning]:
    """A warning when the rounds together do not reach the precision that was asked for."""
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


# ---- how long a process, and how many ----


def next_load(case: Case, results: Sequence[Result], rounds: int, most: int) -> Load:
    """The load of the next process of the case: as asked, but for how long it measures, where several are to be."""
    load = case.load
    if not _is_chosen(load, rounds):
        return load
    assert load.precision is not None
    if ahead := outlook(case, results, rounds, most):
        return replace(load, precision=None, duration=ahead.length)
    enough = min(0.5, max(1.0, _EASE * math.sqrt(rounds)) * load.precision)
    return replace(load, precision=enough, duration=min(PILOT, load.duration or PILOT))


def guess(cases: Sequence[Case], rounds: int) -> ExpectedTime | None:
    """What the processes take before any of them has shown how long it must be; None where their length is given."""
    loads = [case.load for case in cases if _is_chosen(case.load, rounds)]
    if not loads:
        return None
    lengths = [min(PILOT, load.duration or PILOT) for load in loads]
    return ExpectedTime(
        seconds=rounds * sum(length + _START for length in lengths),
        processes=rounds * len(cases),
        length=max(lengths),
        reached=True,
        guessed=True,
    )


def outlook(case: Case, results: Sequence[Result], rounds: int, most: int) -> PrecisionForecast | None:
    """What is ahead, when at least `rounds` and at most `most` processes are measured; None while nobody knows."""
    load, shown = case.load, list(_shown(case, results))
    if not shown or not _is_chosen(load, rounds):
        return None
    import statistics  # here: few runs ask for a precision, and each of them waits for this module's imports

    assert load.precision is not None
    cost = statistics.median(one.overhead for one in shown)
    within = statistics.median(one.error**2 * one.seconds for one in shown)
    between = _variance_between(shown, load.precision)
    longest = min(LONGEST, load.duration or LONGEST)
    shortest = min(longest, max(SHORTEST, CALLS * statistics.median(one.call for one in shown)))
    done, found = len(shown), []
    least = max(rounds, done + is_wanting(case, results))  # at least one more, where all of them do not know it yet
    worse = _inflation(half_width(case, results), between + statistics.mean(one.error**2 for one in shown), done)
    for length in (min(longest, shortest * 2**i) for i in range(_LENGTHS)):
        variance = worse * (between + within / length)
        count = next((n for n in range(least, most + 1) if _half_width(variance, n) <= load.precision), None)
        seconds = (max((count or most) - done, 0)) * (cost + length)
        found.append((count is None, _half_width(variance, most) if count is None else 0.0, seconds, length, count))
    # Where no length is enough, the shortest that comes within a tenth of the best that there is.
    best = min(found)
    if best[0]:
        best = next(one for one in found if one[1] <= 1.1 * best[1])
    return PrecisionForecast(processes=best[4] or max(most, done), length=best[3], seconds=best[2], reached=not best[0])


def _is_chosen(load: Load, rounds: int) -> bool:
    """Whether the request leaves the length of a process open."""
    closed = load.mode in (Mode.CLOSED, Mode.MULTISTREAM)
    return load.precision is not None and rounds > 1 and closed and not load.once and load.samples is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProcessValues:
    """The values of one process, and how long it took."""

    point: float
    error: float  # relative standard error, by its own interval
    seconds: float  # that it measured
    overhead: float  # seconds that the rest of it took
    call: float


def _shown(case: Case, results: Sequence[Result]) -> Iterator[_ProcessValues]:
    from benchwright.stats.distributions import reach_of_interval

    for result in results:
        metric = result.metric(f"latency_p{case.load.precision_of:g}")
        if result.case != case or metric is None:
            continue
        known = metric.estimate
        if known.low is None or known.high is None or known.point <= 0 or known.confidence <= 0:
            continue  # what promises nothing tells nothing of its error
        seconds = max((one.elapsed / 1e9 for one in result.samples), default=metric.count * known.point)
        seconds = max(seconds, known.point)
        calls = max((one.calls for one in result.samples), default=metric.count)
        yield _ProcessValues(
            point=known.point,
            error=(known.high - known.low) / 2 / known.point / reach_of_interval(known.confidence),
            seconds=seconds,
            overhead=max(0.0, result.duration - seconds),
            call=seconds / max(1, calls),
        )


def _variance_between(shown: Sequence[_ProcessValues], precision: float) -> float:
    """The variance between processes, of logarithms, without what each does not know of itself."""
    guess, others = (_GUESS * precision) ** 2, len(shown) - 1
    if not others:
        return guess
    import statistics

    seen = statistics.variance(math.log(one.point) for one in shown) - statistics.mean(one.error**2 for one in shown)
    return (guess + others * max(0.0, seen)) / (1 + others)


def _inflation(seen: float | None, variance: float, count: int) -> float:
    """How many times larger a variance explains the interval that so many processes have together; 1 at least.

    It may be wider than their scatter says: where they fall into two groups, or lean to one side.
    """
    expected = _half_width(variance, count)
    return 1.0 if seen is None or not 0.0 < expected < math.inf else max(1.0, (seen / expected) ** 2)


def _half_width(variance: float, count: int) -> float:
    from benchwright.stats.distributions import student_quantile

    return student_quantile(0.975, count - 1) * math.sqrt(variance / count) if count > 1 else math.inf
