"""Costs on pages: with what they rest on, and a change of the price told from one of the measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import sample_runs as samples
from benchwright.pages.compare import compare
from benchwright.pages.matrix import matrix
from benchwright.pages.pareto import pareto
from benchwright.pages.runs import run_view
from benchwright.pages.series import series_view
from benchwright.pages.shapes import RunView
from benchwright.pages.site import publish
from benchwright.pages.site.answers import _pareto_queries
from benchwright.records import Result, Run, Value, Verdict
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore
from priced_runs import ON_DEMAND, RESERVED, price_run

COST = "cost_per_million"


@pytest.fixture
def store(kept: Callable[[Sequence[Run]], SqlStore]) -> SqlStore:
    runs = [
        replace(price_run(samples.make_run(name, failing=False, seed=i), price), started_at=f"2026-11-0{i}T09:00:00Z")
        for i, (name, price) in enumerate((("a", ON_DEMAND), ("b", ON_DEMAND), ("c", RESERVED)), start=1)
    ]
    return kept(
        [replace(run, results=tuple(replace(one, started_at=run.started_at) for one in run.results)) for run in runs]
    )


def test_a_run_and_its_cells_say_what_their_costs_rest_on(store: SqlStore) -> None:
    view = run_view(store, "a")
    assert len(view.prices) == 1 and "on-demand, 2026-04-01: 0.228 USD/h" in view.prices[0]
    assert COST in view.metrics
    cells = matrix(store, metric=COST).cells
    assert cells and all("reserved-3y" in cell.price for cell in cells)  # the newest
    assert not any(cell.price for cell in matrix(store, metric="latency_p50").cells)


def test_a_front_has_a_cost_on_an_axis_also_where_it_is_published(store: SqlStore) -> None:
    view = pareto(store, x="latency_p50", y=COST)
    assert (view.y_unit, view.y_better) == ("USD", "lower")
    assert view.points and all("reserved-3y" in point.price for point in view.points)
    assert {"x": "latency_p50", "y": COST} in list(_pareto_queries(store))


def test_a_store_with_priced_and_other_cases_is_published(
    kept: Callable[[Sequence[Run]], SqlStore], tmp_path: Path
) -> None:
    """Two of four cases have a price: the front of a cost has nothing of the others, and no page fails for that."""
    run = samples.make_run("mixed", failing=False, seed=1)
    priced = {result.id for result in price_run(run, ON_DEMAND).results if result.case == run.results[0].case}
    mixed = [
        one if one.id in priced else two
        for one, two in zip(price_run(run, ON_DEMAND).results, run.results, strict=True)
    ]
    other = [replace(r, id=f"o{r.id}", case=replace(r.case, name="other.onnx")) for r in run.results]
    store = kept([replace(run, results=(*mixed, *other))])
    view = pareto(store, x="latency_p50", y=COST, chosen={"case": "other.onnx"})
    assert view.points == [] and view.left_out > 0
    assert publish(store, tmp_path / "site", runs=5).written > 10


def test_a_series_says_where_its_price_changed(store: SqlStore) -> None:
    listed = store.series(SeriesFilter(metric=COST))[0].series
    first, second = series_view(store, listed.key).prices
    assert (first.run, first.factor) == ("a", None) and "on-demand" in first.price
    assert (second.run, second.factor) == ("c", 0.5) and second.at > first.at
    timed = store.series(SeriesFilter(metric="latency_p50"))[0].series
    assert series_view(store, timed.key).prices == []


def test_a_comparison_names_both_prices_and_judges_neither(store: SqlStore) -> None:
    view = compare(store, "run:b", "run:c", metrics=[COST])
    assert view.lines and {line.verdict for line in view.lines} == {Verdict.UNCLEAR}
    assert all("the price is 50 % lower; at the first price" in line.sentence for line in view.lines)
    assert any("the costs rest on different prices" in note for note in view.notes)
    assert COST not in {mean.metric for mean in view.means}
    usual = compare(store, "run:a", "run:b")
    assert COST in usual.judged and not any("prices" in note for note in usual.notes)


def test_a_run_names_the_machines_that_were_leased_for_it(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    run = samples.make_run("leased", failing=False)

    def on(result: Result, number: int) -> Result:
        instance = f"i-{result.round % 2}"
        lease: dict[str, Value] = {
            "token": instance,
            "machine": "aws/c7i.large@eu",
            "instance": instance,
            "zone": "eu-a",
        }
        told = {**lease, "seconds": 60.0 + number, "cost": 0.5, "currency": "USD"}
        known: dict[str, Value] = {**result.environment.system, "instance": {"id": instance, "shape": "c7i.large"}}
        environment = replace(result.environment, system=known)
        return replace(result, environment=environment, details={**result.details, "lease": told})

    view = run_view(kept([replace(run, results=tuple(map(on, run.results, range(len(run.results)))))]), "leased")
    assert [line.instance for line in view.leases] == ["i-0", "i-1"]
    assert {line.cost for line in view.leases} == {0.5} and view.leases[0].seconds > 60
    assert view.instances and all("instances of c7i.large differ by up to" in said for said in view.instances)
    assert view_of_none(kept).leases == []


def view_of_none(kept: Callable[[Sequence[Run]], SqlStore]) -> RunView:
    return run_view(kept([samples.make_run("own", failing=False)]), "own")
