"""How a machine is, run by run: its noise, and what others took from it; and whether that is out of its usual.

A value is out of the usual when it is above all of these: the least that ever matters, twice the median of the runs
before it, and that median plus five robust standard deviations. One such run is an accident; three in a row mean that
the machine itself has changed, whatever was measured on it. The values are of the machine and not of the code: a
regression, however large, does not make a machine noisy.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchwright.analysis.judged_metrics import SPEED
from benchwright.execution.instrument import OTHERS_NOISY, STEAL_NOISY
from benchwright.records import Estimate
from benchwright.stats.summary import combine
from benchwright.store.archive import Valued

NOISE = "noise"
IN_A_ROW = 3  # runs out of the usual before a machine is
_WINDOW = 40  # runs before one, which say what is usual
_FEWEST = 8  # of them, below which nothing is unusual
_TIMES = 2.0  # the median
_DEVIATIONS = 5.0  # above the median
_ROBUST = 1.4826  # standard deviations of normal values in their median absolute deviation


@dataclass(frozen=True, slots=True)
class HealthSignal:
    """One thing that tells how a machine is, in per cent; more is worse."""

    name: str  # "noise", or the metric that results have
    title: str
    least: float  # per cent, up to which nothing is unusual


SIGNALS = (
    HealthSignal(NOISE, "Noise", 2.0),
    HealthSignal("cpu_others", "CPU used by other processes", OTHERS_NOISY),
    HealthSignal("steal", "CPU taken by the hypervisor", STEAL_NOISY),
    HealthSignal("psi_cpu", "Waiting for a CPU", 10.0),
    HealthSignal("psi_memory", "Waiting for memory", 5.0),
    HealthSignal("psi_io", "Waiting for I/O", 10.0),
)
METRICS = (*SPEED, *(signal.name for signal in SIGNALS[1:]))  # what health is made of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHealth:
    """What one run tells of the machine it ran on."""

    run: str
    at: int  # microseconds since 1970
    values: Mapping[str, float]  # by the signal's name, in per cent
    is_held: bool = False  # the machine was in quarantine, so that the run does not say what is usual


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSeries:
    """One signal of a machine, oldest run first, and which of the values are out of the usual."""

    signal: HealthSignal
    runs: Sequence[str]
    at: Sequence[int]
    values: Sequence[float]
    limits: Sequence[float | None]  # above which a value is unusual; None while too little is known

    @property
    def is_out(self) -> list[bool]:
        """Of each value, whether it is out of the usual."""
        pairs = zip(self.values, self.limits, strict=True)
        return [limit is not None and value > limit for value, limit in pairs]


def health_of_runs(
    values: Sequence[Valued], machine: str, *, is_held: Callable[[int], bool] = lambda at: False
) -> list[RunHealth]:
    """What the runs tell of a machine, oldest first, made of their `METRICS`."""
    runs: dict[str, list[Valued]] = {}
    for value in values:
        if value.machine == machine:
            runs.setdefault(value.run, []).append(value)
    found = []
    for run, several in runs.items():
        at = min(one.at for one in several)
        told = _signals(several)
        if told:
            found.append(RunHealth(run=run, at=at, values=told, is_held=is_held(at)))
    return sorted(found, key=lambda one: one.at)


def health_series(runs: Sequence[RunHealth]) -> list[HealthSeries]:
    """Each signal that any of the runs has, in the order of `SIGNALS`."""
    found = []
    for signal in SIGNALS:
        known = [(one, one.values[signal.name]) for one in runs if signal.name in one.values]
        if not known:
            continue
        limits = [_limit(signal, [v for other, v in known[:i] if not other.is_held]) for i in range(len(known))]
        found.append(
            HealthSeries(
                signal=signal,
                runs=[one.run for one, _ in known],
                at=[one.at for one, _ in known],
                values=[value for _, value in known],
                limits=limits,
            )
        )
    return found


def unusual_signals(series: Sequence[HealthSeries]) -> list[HealthSeries]:
    """The signals that the newest runs show out of the usual, each of them."""
    return [one for one in series if len(one.values) >= IN_A_ROW and all(one.is_out[-IN_A_ROW:])]


def describe_trouble(series: Sequence[HealthSeries]) -> str:
    """What is out of the usual, in words; "" when nothing is."""
    return "; ".join(_describe(one) for one in unusual_signals(series))


def is_well(series: Sequence[HealthSeries]) -> bool:
    """Whether the newest runs, as many as it takes to be unusual, are all within the usual."""
    return bool(series) and all(len(one.values) < IN_A_ROW or not any(one.is_out[-IN_A_ROW:]) for one in series)


def _describe(one: HealthSeries) -> str:
    sign = "± " if one.signal.name == NOISE else ""
    now = statistics.median(one.values[-IN_A_ROW:])
    usual = statistics.median(one.values[:-IN_A_ROW] or one.values)
    return f"{one.signal.title} {sign}{now:.3g} % in the last {IN_A_ROW} runs, usually {sign}{usual:.2g} %"


def _limit(signal: HealthSignal, before: Sequence[float]) -> float | None:
    window = before[-_WINDOW:]
    if len(window) < _FEWEST:
        return None
    middle = statistics.median(window)
    deviation = _ROBUST * statistics.median(abs(value - middle) for value in window)
    return max(signal.least, _TIMES * middle, middle + _DEVIATIONS * deviation)


def _signals(values: Sequence[Valued]) -> dict[str, float]:
    found = {}
    if widths := noise_widths(values):
        found[NOISE] = 100 * statistics.median(widths)
    for signal in SIGNALS[1:]:
        points = [one.estimate.point for one in values if one.metric == signal.name]
        if points:
            found[signal.name] = statistics.median(points)
    return found


def noise_widths(values: Sequence[Valued]) -> list[float]:
    """Half the width of the interval of each case of a run, all rounds together, as a share of its point.

    Of the first metric of speed that there is.
    """
    series: dict[str, list[Valued]] = {}
    for value in values:
        series.setdefault(value.series, []).append(value)
    for metric in SPEED:
        found = [
            combine([one.estimate for one in several]) for several in series.values() if several[0].metric == metric
        ]
        if widths := [width for one in found if (width := _width(one)) is not None]:
            return widths
    return []


def _width(estimate: Estimate) -> float | None:
    if estimate.low is None or estimate.high is None or not estimate.point:
        return None
    return (estimate.high - estimate.low) / 2 / abs(estimate.point)
