"""Warnings that take more than one process to see: what all rounds of a case, or several cases of a run, show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchwright.records import Better, Case, Estimate, Mode, Result, ResultWarning
from benchwright.stats.compare import compare
from benchwright.stats.summary import groups
from benchwright.units import format_value

_WORTH_IT = 1.1  # what several threads must gain over one to be worth it


def of_two_speeds(rounds: Sequence[Result]) -> Iterator[ResultWarning]:
    """A warning where the rounds of a case fall into two groups: no process has the mean that lies between them."""
    medians = [metric.estimate for result in rounds if (metric := result.metric("latency_p50"))]
    if two := groups(medians):
        lower, higher = (format_value(sum(group) / len(group), "s") for group in two)
        seen = f"two speeds seen: {lower} in {len(two[0])} and {higher} in {len(two[1])} of {len(medians)} processes"
        remedy = "measure more rounds: each process takes one of the two speeds when it starts"
        yield ResultWarning(code="two-speeds", seen=seen, remedy=remedy)


def of_threads(case: Case, rounds: Sequence[Result], run: Sequence[Result]) -> list[ResultWarning]:
    """A warning where several threads gain next to nothing over one, if the same run measured the case with one.

    `rounds` are those of the case that have numbers, `run` all results that have. Nothing is claimed without one
    thread to compare with (what a warm-up tells of it is not what a measurement would), nor where the interval of the
    gain reaches as many times as there are threads.
    """
    workers = case.load.workers
    if workers == 1 or case.load.mode not in (Mode.CLOSED, Mode.OFFLINE):
        return []
    single = _with_one_worker(case)
    many, one = _throughputs(rounds), _throughputs([result for result in run if result.case == single])
    if not many or not one or min(e.point for e in (*many, *one)) <= 0:
        return []
    gain = _mean_point(many) / _mean_point(one)
    ratio = compare(one, many, better=Better.HIGHER).ratio
    if gain >= _WORTH_IT or ratio is None or ratio.low is None or ratio.high is None or ratio.high >= workers:
        return []
    span = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
    seen = f"{workers} threads reach {gain:.2f} times the throughput of one ({span}), as measured in this run"
    remedy = f"use processes instead: --copies {workers} --workers 1"
    return [ResultWarning(code="threads-hurt", seen=seen, remedy=remedy)]


def _throughputs(results: Sequence[Result]) -> list[Estimate]:
    return [metric.estimate for result in results if (metric := result.metric("throughput"))]


def _mean_point(rounds: Sequence[Estimate]) -> float:
    return sum(estimate.point for estimate in rounds) / len(rounds)


def _with_one_worker(case: Case) -> Case:
    params = {**case.params, "workers": 1} if "workers" in case.params else case.params
    return replace(case, params=params, load=replace(case.load, workers=1))
