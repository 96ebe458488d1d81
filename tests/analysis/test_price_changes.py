"""Costs on two sides: judged at one price; of another price only what is told apart from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

import sample_runs as samples
from benchwright.analysis.comparison import ComparedMetric, ComparedRow, compare_runs, notes_of, worst
from benchwright.analysis.gate import ComparedSides, check, parse_condition
from benchwright.analysis.price_changes import compare_prices, describe_bases
from benchwright.analysis.rows import rows
from benchwright.analysis.several_sides import judge_columns
from benchwright.analysis.trend import JudgementContext, trend_steps
from benchwright.records import Better, Estimate, Run, Status, Verdict
from benchwright.records.findings import FindingRules
from benchwright.records.prices import Price
from benchwright.report.comparison_text import comparison_markdown
from priced_runs import ON_DEMAND, RESERVED, price_run


@dataclass(frozen=True, kw_only=True)
class Round:
    run: str
    estimate: Estimate
    result: str
    started_at: str = "2026-01-01T00:00:00Z"
    status: Status = Status.OK
    revision: str = ""


def _costs(compared: list[ComparedRow]) -> list[ComparedMetric]:
    return [metric for row in compared for metric in row.metrics if metric.name == "cost_per_million"]


def _run(name: str, price: Price, **more: float) -> Run:
    return price_run(samples.make_run(name, failing=False, **more), price)  # type: ignore[arg-type]


def test_at_one_price_a_cost_has_the_verdict_of_the_work() -> None:
    compared = compare_runs(_run("a", ON_DEMAND), _run("b", ON_DEMAND, slower=1.2, seed=8))
    assert [metric.verdict for metric in _costs(compared)] == [Verdict.WORSE] * 4
    assert not any("prices" in note for note in notes_of(compared))
    markdown = comparison_markdown(compared, _run("a", ON_DEMAND), _run("b", ON_DEMAND), smallest=0.01)
    assert "cost\\_per\\_million" in markdown and "USD" in markdown


def test_half_the_price_for_the_same_work_is_no_improvement_of_the_code() -> None:
    """As on a vendor's pages: the column went from prices on demand to reserved ones, and all costs were halved."""
    compared = compare_runs(_run("a", ON_DEMAND), _run("b", RESERVED))
    for metric in _costs(compared):
        assert metric.verdict is Verdict.UNCLEAR and metric.ratio and metric.ratio.point == pytest.approx(0.5)
        assert "the price is 50 % lower" in metric.sentence and "at the first price same" in metric.sentence
    (note,) = [note for note in notes_of(compared) if "different prices" in note]
    assert "on-demand, 2026-04-01" in note and "reserved-3y, 2026-09-01" in note and "0.228 USD/h" in note
    assert worst(compared) is not Verdict.WORSE
    assert not any(metric.verdict in (Verdict.BETTER, Verdict.WORSE) for row in compared for metric in row.metrics)


def test_a_slower_program_at_half_the_price_is_told_as_slower() -> None:
    compared = compare_runs(_run("a", ON_DEMAND), _run("b", RESERVED, slower=1.2, seed=8))
    assert all("at the first price worse: " in metric.sentence for metric in _costs(compared))
    assert worst(compared) is Verdict.WORSE  # by the latency, which no price touches


def test_two_currencies_are_not_held_against_each_other() -> None:
    compared = compare_runs(_run("a", ON_DEMAND), _run("b", replace(ON_DEMAND, currency="EUR")))
    assert _costs(compared) == []
    assert any("different prices" in note for note in notes_of(compared))


def test_the_same_amount_of_another_day_is_told_and_judged() -> None:
    compared = compare_runs(_run("a", ON_DEMAND), _run("b", replace(ON_DEMAND, fetched_at="2026-06-01")))
    assert [metric.verdict for metric in _costs(compared)] == [Verdict.SAME] * 4
    assert any("the same amount" in note for note in notes_of(compared))


def test_a_gate_counts_a_cost_only_where_it_is_named() -> None:
    before, after = _run("a", ON_DEMAND), _run("b", ON_DEMAND, slower=1.2, seed=8)
    sides = ComparedSides(before=before, after=after, measured=after, against="a")

    def names(*texts: str, of: ComparedSides = sides) -> set[str]:
        found = check(of, [parse_condition(text) for text in texts], smallest=0.01, rules=FindingRules())
        return {breach.metric for breach in found.breaches}

    assert "cost_per_million" not in names("worse") and "throughput" in names("worse")
    assert names("cost>5%") == {"cost_per_million"} and names("cost_per_million>30%") == set()
    dearer = _run("c", replace(ON_DEMAND, amount=0.5))
    repriced = ComparedSides(before=before, after=dearer, measured=dearer, against="a")
    assert names("cost>5%", "worse", of=repriced) == set()


def test_prices_are_no_part_of_geometric_means_and_stand_below_a_table() -> None:
    (column,) = judge_columns(_run("a", ON_DEMAND), [_run("b", RESERVED)])
    assert "throughput" in {mean.metric for mean in column.means}
    assert "cost_per_million" not in {mean.metric for mean in column.means}
    assert describe_bases(rows(_run("a", ON_DEMAND))) == (
        "Costs rest on aws/inf1.xlarge in us-east-1, on-demand, 2026-04-01: 0.228 USD/h, price list"
    )


def test_history_tells_the_price_from_the_speed() -> None:
    runs = [_run("a", ON_DEMAND), _run("b", RESERVED, slower=1.1, seed=8), _run("c", RESERVED, slower=1.1, seed=9)]
    rounds = [
        Round(run=run.id, estimate=metric.estimate, result=result.id)
        for run in runs
        for result in run.results
        if result.case == run.results[0].case and (metric := result.metric("cost_per_million"))
    ]
    known = {run.id: run.results for run in runs}
    judging = JudgementContext(metric="cost_per_million", better=Better.LOWER, results=known.__getitem__, unit="USD")
    first, second, third = trend_steps(rounds, judging, most=20)
    assert "on-demand" in first.price and first.price_change is None
    assert second.verdict is Verdict.UNCLEAR and second.price_change == pytest.approx(-0.5)
    assert second.change == pytest.approx(-0.45, abs=0.01) and second.change_at_one_price == pytest.approx(
        0.1, abs=0.01
    )
    assert third.price_change is None and "reserved-3y" in third.price


def test_prices_that_nobody_knows_do_not_differ() -> None:
    assert compare_prices([None], [ON_DEMAND]) is None and compare_prices([ON_DEMAND], [ON_DEMAND, None]) is None
