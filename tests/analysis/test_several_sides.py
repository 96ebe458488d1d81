"""Three and more runs against one: the same verdicts as of two, but all of them judged together."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

import sample_runs
from benchwright.analysis.comparison import FALSE_RATE, compare_runs
from benchwright.analysis.several_sides import align, describe_control, judge_columns
from benchwright.errors import OptionError
from benchwright.records import Better, Estimate, Metric, Result, Run, Verdict


def _run(name: str, slower: float, seed: int) -> Run:
    made: Run = sample_runs.make_run(name, calls=50, failing=False, slower=slower, seed=seed)
    return replace(made, results=tuple(replace(one, samples=(), timelines=()) for one in made.results))


def test_one_column_is_what_compare_says_and_ratios_do_not_depend_on_other_columns() -> None:
    a, b, c = _run("a", 1.0, 1), _run("b", 1.3, 2), _run("c", 1.0, 3)
    [alone] = judge_columns(a, [b])
    assert list(alone.rows) == compare_runs(a, b)
    columns = judge_columns(a, [b, c])
    both = [[m.ratio for row in rows for m in row.metrics] for rows in (alone.rows, columns[0].rows)]
    assert both[0] == both[1]


def test_lines_align_by_case_and_metric_and_show_what_a_column_lacks() -> None:
    a, b, c = _run("a", 1.0, 1), _run("b", 1.3, 2), _run("c", 1.0, 3)
    fewer = tuple(one for one in b.results if one.case.params["batch_size"] == 1)
    lines = align(judge_columns(a, [replace(b, results=fewer), c]))
    assert len(lines) == 16
    assert all(line.columns[1] is not None for line in lines)
    lacking = {line.case for line in lines if line.columns[0] is None}
    assert len(lacking) == 2 and all("batch_size=8" in case for case in lacking)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(OptionError, match="did you mean"):
        judge_columns(_run("a", 1.0, 1), [_run("b", 1.0, 2)], metrics=["latency_p5"])


def test_means_count_what_they_leave_out() -> None:
    a, b = _run("a", 1.0, 1), _run("b", 1.3, 2)
    fewer = tuple(one for one in b.results if one.case.params["batch_size"] == 1)
    [column] = judge_columns(a, [replace(b, results=fewer)], metrics=["latency_p50"])
    [mean] = column.means
    assert (mean.cases, mean.left_out) == (2, 2)
    assert mean.ratio is not None and mean.ratio.point == pytest.approx(1.3, rel=0.05)


def test_the_sentence_says_over_what_chance_is_controlled() -> None:
    assert "in all 2 columns together (32 comparisons)" in describe_control(32, 2)
    assert "in this comparison (1 comparison)" in describe_control(1, 1)


@pytest.mark.parametrize("repeats", [15, pytest.param(60, marks=pytest.mark.soak)])
def test_of_the_changes_named_in_all_columns_at_most_5_percent_are_false(repeats: int) -> None:
    """Four columns against one baseline, 40 cases each, 8 of them slower by 12 % in two columns."""
    rng = random.Random(4)
    template = _run("a", 1.0, 1).results[0]
    shares = []
    for _ in range(repeats):
        baseline = _made("a", [1.0] * 40, template, rng)
        factors = [[1.12 if column < 2 and case < 8 else 1.0 for case in range(40)] for column in range(4)]
        columns = judge_columns(baseline, [_made(f"b{i}", one, template, rng) for i, one in enumerate(factors)])
        called = [
            factors[i][case] != 1.0
            for i, column in enumerate(columns)
            for case, row in enumerate(column.rows)
            for m in row.metrics
            if m.verdict in (Verdict.BETTER, Verdict.WORSE)
        ]
        shares.append(1 - sum(called) / len(called) if called else 0.0)
    assert sum(shares) / len(shares) <= FALSE_RATE
    assert any(share > 0 for share in shares)  # the simulation does produce false changes to be controlled


def _made(name: str, factors: list[float], template: Result, rng: random.Random) -> Run:
    results = []
    for place, factor in enumerate(factors):
        case = replace(
            template.case, name=f"case{place:02}.py", target=replace(template.case.target, uri=f"case{place}")
        )
        for number in range(5):
            point = factor * math.exp(rng.gauss(0, 0.03))
            metric = Metric(
                name="latency_p50", unit="s", better=Better.LOWER, estimate=Estimate(point=point, low=None, high=None)
            )
            results.append(replace(template, id=f"{name}-{place}-{number}", case=case, round=number, metrics=(metric,)))
    return replace(_run(name, 1.0, 1), results=tuple(results))
