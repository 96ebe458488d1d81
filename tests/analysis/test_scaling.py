"""Which case to choose, with the others that the intervals do not tell from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from benchwright.analysis.rows import Row
from benchwright.analysis.scaling import advice, cautions
from benchwright.errors import OptionError
from benchwright.records import Better, Case, Estimate, Metric, Objective, Run, Status, Target, Value

MODEL = "model.onnx"


def _estimate(point: float, half: float) -> Estimate:
    return Estimate(point=point, low=point - half, high=point + half)


def _row(
    name: str, latency: float, throughput: float, *, p99: float = 0.0, half: float = 0.01, model: str = MODEL
) -> Row:
    times = {"latency_p50": latency, "latency_p99": p99 or 2 * latency}
    metrics = {
        key: Metric(name=key, unit="s", better=Better.LOWER, estimate=_estimate(value, half * value))
        for key, value in times.items()
    }
    estimate = _estimate(throughput, half * throughput)
    metrics["throughput"] = Metric(name="throughput", unit="/s", better=Better.HIGHER, estimate=estimate)
    case = Case(name=model, target=Target(runtime="fake", uri=name))
    return Row(
        key=name,
        case=case,
        params={"c": name},
        metrics=metrics,
        statuses=Counter({Status.OK: 1}),
        results=(),
        only_name=model == MODEL,
    )


SMALL, MIDDLE, LARGE = _row("small", 1e-3, 900.0), _row("middle", 4e-3, 2000.0), _row("large", 30e-3, 2600.0)


def test_the_extremes_are_named_with_their_numbers() -> None:
    fastest, most = advice([LARGE, SMALL, MIDDLE])
    assert str(fastest) == "Lowest latency: c=small (median latency 1.00 ms, throughput 900/s)"
    assert str(most) == "Highest throughput: c=large (median latency 30.0 ms, throughput 2.60 k/s)"


def test_only_configurations_of_one_model_are_a_choice() -> None:
    other = [_row(name, latency, 100.0, model="tiny.onnx") for name, latency in (("x", 1e-6), ("y", 2e-6))]
    alone = _row("z", 1e-9, 1e9, model="alone.onnx")
    said = [str(one) for one in advice([SMALL, LARGE, *other, alone])]
    assert said[0] == "model.onnx: Lowest latency: c=small (median latency 1.00 ms, throughput 900/s)"
    assert [one.partition(": ")[0] for one in said] == ["model.onnx"] * 2 + ["tiny.onnx"] * 2
    assert said[2].startswith("tiny.onnx: Lowest latency: c=x (")  # the model is not said again
    assert advice([SMALL, alone]) == []


def test_what_was_measured_in_quarantine_is_not_chosen() -> None:
    table = [replace(SMALL, is_held=True), MIDDLE, LARGE]
    assert advice(table)[0].row is MIDDLE and "1 of 3 cases were measured in quarantine" in cautions(table)[0]


def test_cases_that_intervals_do_not_tell_apart_are_named_too() -> None:
    close = _row("close", 1.01e-3, 800.0)
    fastest, _ = advice([SMALL, close, LARGE])
    said = "Lowest latency: one of 2 that cannot be told apart by median latency: c=small (1.00 ms), c=close (1.01 ms)"
    assert str(fastest) == said
    assert [row.params["c"] for row in fastest.rivals] == ["close"]


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        (
            Objective(metric="latency_p99", relation="<", bound=10e-3),
            "Highest throughput with p99 < 10.0 ms: c=middle (median latency 4.00 ms, p99 8.00 ms, "
            "throughput 2.00 k/s)",
        ),
        (
            Objective(metric="latency_p99", relation="<", bound=1e-3),
            "Highest throughput with p99 < 1.00 ms: no case; closest is c=small with p99 2.00 ms (1.98 ms to 2.02 ms)",
        ),
        (
            Objective(metric="throughput", relation=">", bound=9000.0),
            "Highest throughput with throughput > 9.00 k/s: no case; closest is c=large with throughput 2.60 k/s "
            "(2.57 k/s to 2.63 k/s)",
        ),
    ],
)
def test_a_bound_is_kept_by_the_whole_interval_or_by_none(objective: Objective, said: str) -> None:
    assert str(advice([SMALL, MIDDLE, LARGE], [objective])[-1]) == said


def test_an_interval_that_reaches_over_the_bound_does_not_keep_it() -> None:
    unsure = _row("unsure", 4e-3, 5000.0, p99=9.99e-3)
    chosen = advice([SMALL, unsure], [Objective(metric="latency_p99", relation="<", bound=10e-3)])[-1]
    assert chosen.row is SMALL


def test_a_metric_that_nobody_measured_is_refused_with_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"no case has 'latency_p9'\n  did you mean 'latency_p99'"):
        advice([SMALL, LARGE], [Objective(metric="latency_p9", relation="<", bound=1.0)])


def test_unreliable_results_name_a_set_and_say_so(run: Run) -> None:
    """Rounds of 1.00 and of 1.15 ms, known to 1 %: told apart on a quiet machine, not where others used it."""
    quiet: dict[str, Any]
    busy: dict[str, Any]
    quiet, busy = ({"verdict": "trustworthy"}, {"verdict": "unreliable: others took 160 % of a core"})
    for instrument, alike in ((quiet, 0), (busy, 1)):
        table = [_measured(run, "a", 1.00e-3, instrument, rounds=5), _measured(run, "b", 1.15e-3, instrument, rounds=5)]
        fastest, most = advice(table)
        assert (len(fastest.rivals), len(most.rivals)) == (alike, alike)
        assert len(cautions(table)) == alike
    assert "calls all 2 cases unreliable" in cautions(table)[0] and "above 25%" in cautions(table)[0]
    assert "one of 2 that cannot be told apart" in str(fastest)


def test_one_round_each_names_no_winner_within_what_processes_may_differ_by(run: Run) -> None:
    quiet: dict[str, Any] = {"verdict": "trustworthy"}
    table = [_measured(run, name, at, quiet, rounds=1) for name, at in (("a", 1e-3), ("b", 1.08e-3), ("c", 1.5e-3))]
    fastest, _ = advice(table)
    assert [row.params["c"] for row in fastest.rivals] == ["b"]
    assert cautions(table) == [
        "Each case was measured in one round, which says nothing about the next process: only differences above 10% "
        "are told apart. Give more --rounds."
    ]


def _measured(run: Run, name: str, latency: float, instrument: dict[str, Value], rounds: int) -> Row:
    row = _row(name, latency, 1 / latency)
    metrics = tuple(
        replace(m, estimate=_estimate(m.estimate.point, 0.01 * m.estimate.point)) for m in row.metrics.values()
    )
    results = [replace(run.results[0], round=i, metrics=metrics, instrument=instrument) for i in range(rounds)]
    return replace(row, results=tuple(results))


def test_one_case_leaves_nothing_to_choose() -> None:
    assert advice([SMALL]) == []
