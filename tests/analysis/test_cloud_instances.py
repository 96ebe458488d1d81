"""Instances of one shape that shared rounds out: the instance is the unit of repetition, and its spread is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchwright.analysis import instances
from benchwright.analysis.comparison import compare_runs
from benchwright.analysis.instances import OTHER_INSTANCES
from benchwright.analysis.leases import describe_leases, leased_machines
from benchwright.analysis.machine_columns import describe_instances, instance_columns, part_of
from benchwright.analysis.rows import rows
from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Metric,
    Result,
    Run,
    Status,
    Target,
    Value,
)
from benchwright.report.html import html_page
from benchwright.report.markdown import run_markdown
from benchwright.report.table import run_text

CASE = Case(name="encode", target=Target(runtime="fake", uri="fake:constant"))


def result(number: int, instance: str, seconds: float, **details: object) -> Result:
    near = Estimate(point=seconds, low=seconds * 0.999, high=seconds * 1.001)
    told: dict[str, Value] = {"host": {"name": "cloud:aws/c7i.large@eu"}}
    known: dict[str, Value] = (
        {"instance": {"id": instance, "shape": "c7i.large", "provider": "aws"}} if instance else {}
    )
    return Result(
        id=f"r-{number}",
        case=CASE,
        round=number,
        status=Status.OK,
        environment=Environment(machine={"cpu": "x"}, system={**told, **known}),
        started_at="2026-11-17T10:00:00+00:00",
        duration=1.0,
        metrics=(Metric(name="latency_p50", unit="s", better=Better.LOWER, estimate=near),),
        details=details,  # type: ignore[arg-type]
    )


def run_of(*rounds: tuple[str, float], run: str = "a") -> Run:
    results = tuple(result(number, instance, seconds) for number, (instance, seconds) in enumerate(rounds))
    return Run(id=run, started_at="2026-11-17T10:00:00+00:00", harness="1", results=results)


APART = (("i-1", 1.00), ("i-2", 1.10), ("i-3", 1.21), ("i-1", 1.001), ("i-2", 1.101), ("i-3", 1.211))


def test_the_interval_is_of_the_instances_where_several_measured() -> None:
    [row] = rows(run_of(*APART))
    [alone] = rows(run_of(*(("i-1", seconds) for _, seconds in APART)))
    whole, single = row.metrics["latency_p50"].estimate, alone.metrics["latency_p50"].estimate
    assert whole.point == pytest.approx(single.point)
    assert whole.low is not None and whole.high is not None and single.low is not None and single.high is not None
    assert whole.high - whole.low > 2 * (single.high - single.low), "three instances, not six rounds"
    assert len(instances.repeated_estimates(row.ok, "latency_p50")) == 3


def test_instances_that_differ_are_warned_of_and_shown_in_columns() -> None:
    run = run_of(*APART)
    [row] = rows(run)
    [warning] = [one for one in row.warnings if one.code == instances.CODE]
    assert "3 instances of c7i.large differ by up to 21.0% in latency_p50" in warning.seen
    assert "standard deviation between instances, 0.1% within one" in warning.seen
    [columns] = instance_columns([row])
    assert columns.machines == ("i-1", "i-2", "i-3")
    assert [metric and round(metric.estimate.point, 4) for metric in columns.lines[0].metrics] == [
        1.0005,
        1.1005,
        1.2105,
    ]
    for shown in (run_text(run), run_markdown(run), html_page([run])):
        assert all(text in shown for text in ("i-1", "i-3", "instances-differ"))
    assert [one.round for one in part_of(run, "i-2").results] == [1, 4]


def test_instances_that_do_not_differ_are_told_of_without_a_warning() -> None:
    [row] = rows(run_of(("i-1", 1.0), ("i-2", 1.02), ("i-1", 1.03), ("i-2", 0.99)))
    assert [one for one in row.warnings if one.code == instances.CODE] == []
    [said] = describe_instances([row])
    assert "no more than rounds on one of them explain" in said
    [once] = describe_instances(rows(run_of(("i-1", 1.0), ("i-2", 1.5))))
    assert "nothing tells instances from rounds" in once
    assert describe_instances(rows(run_of(("i-1", 1.0), ("i-1", 1.5)))) == []


def test_two_runs_on_one_instance_each_say_that_it_may_be_the_host() -> None:
    before, same = run_of(("i-1", 1.0), ("i-1", 1.01)), run_of(("i-1", 1.2), ("i-1", 1.21), run="b")
    other = run_of(("i-2", 1.2), ("i-2", 1.21), run="c")
    assert OTHER_INSTANCES in compare_runs(before, other)[0].notes
    assert OTHER_INSTANCES not in compare_runs(before, same)[0].notes
    several = run_of(("i-2", 1.2), ("i-3", 1.21), run="d")
    assert OTHER_INSTANCES not in compare_runs(before, several)[0].notes


def test_what_the_machines_cost_is_told_once_for_each() -> None:
    def lease(token: str, instance: str, seconds: float, cost: float | None) -> dict[str, object]:
        told = {"token": token, "machine": "aws/c7i.large@eu", "instance": instance, "zone": "eu-a"}
        return {**told, "seconds": seconds, "cost": cost, "currency": "USD" if cost else ""}

    given = [lease("t1", "i-1", 60, 0.1), lease("t1", "i-1", 600, 1.0), lease("t2", "i-2", 300, 0.5)]
    results = [replace(result(number, "i-1", 1.0), details={"lease": one}) for number, one in enumerate(given)]  # type: ignore[dict-item]
    assert [one.cost for one in leased_machines(results)] == [1.0, 0.5]
    first, *each = describe_leases(results)
    assert first == "2 machines were leased: 1.5 USD until the last result"
    assert each[0].strip() == "aws/c7i.large@eu (i-1, eu-a) 10.0 min, 1 USD"
    unknown = replace(results[0], details={"lease": lease("t3", "i-3", 60, None)})  # type: ignore[dict-item]
    assert describe_leases([unknown])[0] == "1 machine was leased: 1 without a known price"
    assert describe_leases([result(0, "", 1.0)]) == []
    assert describe_leases([replace(results[0], details={"lease": "nonsense"})]) == []
