"""Which case to choose, with the others that the intervals do not tell from it."""

from __future__ import annotations

from collections import Counter

import pytest

from benchwright.errors import OptionError
from benchwright.records import Better, Case, Estimate, Metric, Objective, Status, Target
from benchwright.report.advice import advice
from benchwright.report.rows import Row


def _estimate(point: float, half: float) -> Estimate:
    return Estimate(point=point, low=point - half, high=point + half)


def _row(name: str, latency: float, throughput: float, *, p99: float = 0.0, half: float = 0.01) -> Row:
    times = {"latency_p50": latency, "latency_p99": p99 or 2 * latency}
    metrics = {
        key: Metric(name=key, unit="s", better=Better.LOWER, estimate=_estimate(value, half * value))
        for key, value in times.items()
    }
    estimate = _estimate(throughput, half * throughput)
    metrics["throughput"] = Metric(name="throughput", unit="/s", better=Better.HIGHER, estimate=estimate)
    case = Case(name=name, target=Target(runtime="fake", uri=name))
    return Row(key=name, case=case, params={}, metrics=metrics, statuses=Counter({Status.OK: 1}), results=())


SMALL, MIDDLE, LARGE = _row("small", 1e-3, 900.0), _row("middle", 4e-3, 2000.0), _row("large", 30e-3, 2600.0)


def test_the_extremes_are_named_with_their_numbers() -> None:
    fastest, most = advice([LARGE, SMALL, MIDDLE])
    assert str(fastest) == "Lowest latency: small (median latency 1.00 ms, throughput 900/s)"
    assert str(most) == "Highest throughput: large (median latency 30.0 ms, throughput 2.60 k/s)"


def test_cases_that_intervals_do_not_tell_apart_are_named_too() -> None:
    close = _row("close", 1.01e-3, 800.0)
    fastest, _ = advice([SMALL, close, LARGE])
    assert str(fastest).endswith("; not told apart from it: close")
    assert [row.name for row in fastest.rivals] == ["close"]


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        (
            Objective(metric="latency_p99", relation="<", bound=10e-3),
            "Highest throughput with p99 < 10.0 ms: middle (median latency 4.00 ms, p99 8.00 ms, throughput 2.00 k/s)",
        ),
        (
            Objective(metric="latency_p99", relation="<", bound=1e-3),
            "Highest throughput with p99 < 1.00 ms: no case; closest is small with p99 2.00 ms",
        ),
        (
            Objective(metric="throughput", relation=">", bound=9000.0),
            "Highest throughput with throughput > 9.00 k/s: no case; closest is large with throughput 2.60 k/s",
        ),
    ],
)
def test_a_bound_is_kept_by_the_whole_interval_or_by_none(objective: Objective, said: str) -> None:
    assert str(advice([SMALL, MIDDLE, LARGE], objective)[-1]) == said


def test_an_interval_that_reaches_over_the_bound_does_not_keep_it() -> None:
    unsure = _row("unsure", 4e-3, 5000.0, p99=9.99e-3)
    chosen = advice([SMALL, unsure], Objective(metric="latency_p99", relation="<", bound=10e-3))[-1]
    assert chosen.row is SMALL


def test_a_metric_that_nobody_measured_is_refused_with_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"no case has 'latency_p9'\n  did you mean 'latency_p99'"):
        advice([SMALL, LARGE], Objective(metric="latency_p9", relation="<", bound=1.0))


def test_one_case_leaves_nothing_to_choose() -> None:
    assert advice([SMALL]) == []
