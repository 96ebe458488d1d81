"""Speed-up and efficiency by the number of processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchwright.analysis.rows import rows
from benchwright.analysis.speedup import (
    SpeedUp,
    advise_processes,
    find_speedups,
    speedup_advice,
    steps_of,
    warn_of_speedup,
)
from benchwright.errors import OptionError
from benchwright.records import Better, Estimate, Metric, Result, Run, Scalar, Value
from benchwright.report.markdown import run_markdown
from benchwright.report.notebook import html_table
from benchwright.report.speedup_plot import speedup_plots
from benchwright.report.speedup_text import speedup_json, speedup_text

NOISE = (0.99, 1.0, 1.01)
RATES = {1: 100.0, 2: 180.0, 4: 200.0}  # a second: 90 %, then 50 % efficiency


def _result(like: Result, processes: Scalar, metric: Metric, number: int, said: str) -> Result:
    params = {"runtime": "task", "processes": processes}
    case = replace(like.case, name="tasks.toml::train", params=params, target=replace(like.case.target, runtime="task"))
    log: dict[str, Value] = {metric.name: {"hits": 3, "whole": False}}
    details: dict[str, Value] = {"log": log, **({"scaling": said} if said else {})}
    key = f"{like.id}-{processes}-{number}"
    return replace(like, id=key, case=case, round=number, metrics=(metric,), details=details, warnings=())


def _run(run: Run, values: dict[int, float], *, better: Better = Better.HIGHER, said: str = "strong") -> Run:
    """A task of three rounds for each number of processes; each process gives one value."""
    name, unit = ("speed", "samples/s") if better is Better.HIGHER else ("epoch_time", "s")
    found = []
    for processes, value in values.items():
        for number, factor in enumerate(NOISE):
            estimate = Estimate(point=value * factor, low=None, high=None)
            metric = Metric(name=name, unit=unit, better=better, estimate=estimate)
            found.append(_result(run.results[0], processes, metric, number, said))
    return replace(run, results=tuple(found))


def _only(run: Run, **asked: str) -> SpeedUp:
    (found,) = find_speedups(rows(run), **asked)
    return found


def _points(speedup: SpeedUp) -> list[tuple[int, float, float]]:
    return [
        (p.processes, round(p.speedup.point, 6), round(p.efficiency.point, 6))
        for p in speedup.points
        if p.speedup and p.efficiency
    ]


def test_a_rate_gives_speedup_and_efficiency_with_intervals(run: Run) -> None:
    found = _only(_run(run, RATES))
    assert found.title == "Speed-up of tasks.toml::train by speed, against 1 process, strong scaling"
    assert _points(found) == [(1, 1.0, 1.0), (2, 1.8, 0.9), (4, 2.0, 0.5)]
    two = found.points[1]
    assert two.speedup and two.efficiency and two.speedup.low and two.speedup.high
    assert two.speedup.low < 1.8 < two.speedup.high < 2.0  # the noise of 1 % is in it
    assert two.efficiency.low == pytest.approx(two.speedup.low / 2)


def test_a_time_is_the_same_as_a_rate_with_strong_scaling_and_not_with_weak(run: Run) -> None:
    """Strong: the same work in half the time is twice as fast. Weak: twice the work in the same time is."""
    strong = _run(run, {n: 1 / rate for n, rate in RATES.items()}, better=Better.LOWER)
    assert _points(_only(strong)) == _points(_only(_run(run, RATES)))
    weak = _run(run, {n: n / rate for n, rate in RATES.items()}, better=Better.LOWER, said="weak")
    assert _points(_only(weak)) == _points(_only(_run(run, RATES, said="weak")))
    assert _points(_only(weak, kind="strong")) != _points(_only(weak))
    assert [line for line in advise_processes(_only(weak)) if line.startswith("Fastest")] == []


def test_without_one_process_the_fewest_stand_in_its_place(run: Run) -> None:
    found = _only(_run(run, {4: 200.0, 2: 180.0}))
    assert found.base == 2 and _points(found)[1] == (4, pytest.approx(200 / 180), pytest.approx(100 / 180))
    assert any("No case has one process" in line for line in warn_of_speedup(found))


def test_the_advice_ends_where_a_step_gains_too_little(run: Run) -> None:
    found = _only(_run(run, RATES))
    assert [step.is_worth_it for step in steps_of(found)] == [True, False]
    fastest, worth = advise_processes(found)
    assert fastest.startswith("Fastest: 4 processes (2×") and worth.startswith("Worth it: 2 processes;")
    none = _only(_run(run, {1: 100.0, 2: 60.0}))
    assert advise_processes(none) == [
        "Fastest: 1 process (1×)",
        "Worth it: 1 process; more gain less than 50% of what they could",
    ]


def test_what_the_rounds_do_not_tell_is_said(run: Run) -> None:
    found = _only(_run(run, {1: 100.0, 2: 150.0, 4: 151.0}))  # exactly half of what could be gained
    assert [step.is_worth_it for step in steps_of(found)] == [None, False]
    fastest, worth = advise_processes(found)
    assert fastest == "Fastest: 4 processes, which cannot be told from 2"
    assert worth.startswith("Worth it: 1 process; whether 2 are, the rounds do not tell")


def test_a_time_of_unknown_kind_and_a_single_round_are_cautions(run: Run) -> None:
    whole = _run(run, {1: 1.0, 2: 0.6}, better=Better.LOWER, said="")
    once = replace(whole, results=tuple(result for result in whole.results if result.round == 0))
    said = " ".join(warn_of_speedup(_only(once)))
    assert "Counted as strong scaling" in said and "one round" in said
    assert "Counted" not in " ".join(warn_of_speedup(_only(whole, kind="weak")))


def test_cases_that_differ_in_more_are_groups_of_their_own(run: Run) -> None:
    whole = _run(run, RATES)
    other = [
        replace(r, id=f"{r.id}-b", case=replace(r.case, params={**r.case.params, "lr": 0.1})) for r in whole.results
    ]
    found = find_speedups(rows(replace(whole, results=(*whole.results, *other))))
    assert [one.label for one in found] == ["tasks.toml::train", "tasks.toml::train lr=0.1"]
    assert find_speedups(rows(run)) == [] and speedup_advice(rows(run)) == []


def test_a_metric_that_there_is_not_is_refused_and_zero_has_no_speedup(run: Run) -> None:
    with pytest.raises(OptionError, match="neither run has a metric 'speeed'"):
        find_speedups(rows(_run(run, RATES)), metric="speeed")
    found = _only(_run(run, {1: 100.0, 2: 0.0}))
    assert found.points[1].speedup is None and "-" in speedup_text([found])
    assert advise_processes(found) == []


def test_text_json_and_plot_show_the_same(run: Run) -> None:
    table = rows(_run(run, RATES))
    found = find_speedups(table)
    text = speedup_text(found, 100)
    assert "1.8× [" in text and "90 % [" in text and "│ = nothing lost" in text
    (told,) = speedup_json(found)
    assert [point["speedup"]["point"] for point in told["points"]] == pytest.approx([1.0, 1.8, 2.0])
    assert told["steps"][1]["worth_it"] is False and told["points"][0]["communication"] is None
    (plot,) = speedup_plots(table)
    assert "nothing lost" in plot.body and "efficiency 90 %" in plot.body
    assert "1.8×" in run_markdown(_run(run, RATES)) and "1.8×" in html_table(_run(run, RATES))
