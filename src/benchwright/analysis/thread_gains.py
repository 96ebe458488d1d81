"""What several threads gain over one, where a run measured both: said of all rounds, as the table shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchwright.records import Better, Case, Estimate, Mode, Result, ResultWarning
from benchwright.stats.compare import compare

WORTH_IT = 1.1  # what several threads must gain over one to be worth it


def thread_warnings(case: Case, rounds: Sequence[Result], run: Sequence[Result]) -> list[ResultWarning]:
    """That threads gain next to nothing over one, where the same run measured the same case with one.

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
    gain = _mean(many) / _mean(one)
    ratio = compare(one, many, better=Better.HIGHER).ratio
    if gain >= WORTH_IT or ratio is None or ratio.low is None or ratio.high is None or ratio.high >= workers:
        return []
    span = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
    seen = f"{workers} threads reach {gain:.2f} times the throughput of one ({span}), as measured in this run"
    remedy = f"use processes instead: --copies {workers} --workers 1"
    return [ResultWarning(code="threads-hurt", seen=seen, remedy=remedy)]


def _throughputs(results: Sequence[Result]) -> list[Estimate]:
    return [metric.estimate for result in results if (metric := result.metric("throughput"))]


def _mean(rounds: Sequence[Estimate]) -> float:
    return sum(estimate.point for estimate in rounds) / len(rounds)


def _with_one_worker(case: Case) -> Case:
    params = {**case.params, "workers": 1} if "workers" in case.params else case.params
    return replace(case, params=params, load=replace(case.load, workers=1))
