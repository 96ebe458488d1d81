"""Where more load stops paying."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchwright.analysis.knee import Sweep, SweepPoint, describe_knee, find_knee, sweeps
from benchwright.analysis.rows import Row, rows
from benchwright.records import Better, Estimate, Metric, Mode, Run


def _metric(name: str, unit: str, point: float, spread: float) -> Metric:
    estimate = Estimate(point=point, low=point * (1 - spread), high=point * (1 + spread))
    return Metric(name=name, unit=unit, better=Better.LOWER, estimate=estimate)


def _sweep(like: Row, points: dict[float, tuple[float, float]], spread: float = 0.01) -> Sweep:
    """A sweep of users: throughput and latency by how many they are."""
    return Sweep(
        label="",
        kind="users",
        points=tuple(
            SweepPoint(
                load=load,
                place=place,
                row=replace(
                    like,
                    metrics={
                        "throughput": _metric("throughput", "/s", up, spread),
                        "latency_p50": _metric("latency_p50", "s", across, spread),
                    },
                ),
            )
            for place, (load, (up, across)) in enumerate(points.items())
        ),
    )


def _mm1(load: float) -> tuple[float, float]:
    """A server of one request a second, at a load below one: its throughput, and its mean latency."""
    return load, 1 / (1 - load)


def test_the_knee_of_a_queue_is_where_theory_has_it(served_sweep: Run) -> None:
    """Kleinrock: the power of M/M/1 is largest at half of what the server can do."""
    like = rows(served_sweep)[0]
    found = find_knee(_sweep(like, {load: _mm1(load) for load in (0.1, 0.3, 0.5, 0.7, 0.9)}))
    assert found.point.load == 0.5 and found.inside and found.rivals == ()


def test_what_intervals_do_not_tell_apart_is_said(served_sweep: Run) -> None:
    like = rows(served_sweep)[0]
    sweep = _sweep(like, {load: _mm1(load) for load in (0.1, 0.45, 0.5, 0.9)}, spread=0.05)
    assert [point.load for point in find_knee(sweep).rivals] == [0.45]
    assert describe_knee(sweep).endswith("not told apart from 0.45 users")


@pytest.mark.parametrize(("loads", "where"), [((0.1, 0.2, 0.3), "more load"), ((0.6, 0.7, 0.9), "less load")])
def test_a_knee_at_an_end_may_lie_beyond_it(served_sweep: Run, loads: tuple[float, ...], where: str) -> None:
    sweep = _sweep(rows(served_sweep)[0], {load: _mm1(load) for load in loads})
    assert not find_knee(sweep).inside and f"{where} was not tried" in describe_knee(sweep)


def test_a_sweep_of_users_is_found_in_order_and_its_knee_is_not_the_most_crowded(served_sweep: Run) -> None:
    (sweep,) = sweeps(rows(replace(served_sweep, results=served_sweep.results[::-1])))
    assert [point.load for point in sweep.points] == [1, 2, 3, 4, 8] and sweep.kind == "users"
    assert find_knee(sweep).point.load < 8  # the server serves three at a time: eight wait for one another


def test_a_sweep_of_rates_is_found(served_rates: Run) -> None:
    (sweep,) = sweeps(rows(served_rates))
    assert [point.load for point in sweep.points] == [20.0, 45.0, 160.0] and sweep.kind == "rate"


def test_other_params_make_other_sweeps_and_few_points_make_none(served_sweep: Run) -> None:
    table = rows(served_sweep)
    other = [replace(row, params={**row.params, "model": "b"}) for row in table]
    assert [sweep.label for sweep in sweeps([*table, *other])] == [table[0].name, f"{table[0].name} model=b"]
    assert sweeps(table[:2]) == []


def test_what_is_no_served_model_has_no_knee(run: Run, served_sweep: Run) -> None:
    assert sweeps(rows(run)) == []
    first = rows(served_sweep)[0]
    single = replace(first, case=replace(first.case, load=replace(first.case.load, mode=Mode.OFFLINE)))
    assert sweeps([single, *rows(served_sweep)[1:3]]) == []
