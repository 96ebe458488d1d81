"""Configurations by two metrics at once: which of them no other beats, and which are beaten for sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchwright.analysis.best import FRONT, UNCLEAR, Standing, find_standings
from benchwright.analysis.judged_metrics import judged_metrics
from benchwright.errors import OptionError, StoreError, did_you_mean
from benchwright.pages import at_once
from benchwright.pages.matrix import (
    CASE,
    MACHINE,
    Place,
    alternative_of,
    dimensions_of,
    doubted_results,
    held_places,
    offered,
    places_of,
    respect_of,
)
from benchwright.pages.price_marks import prices_of
from benchwright.pages.shapes import Pareto, ParetoPoint
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive

USUAL = ("latency_p50", "throughput")
MOST = 300  # points: each is compared with the front
EVERY = "*"  # of a dimension: not narrowed


@at_once
def pareto(archive: Archive, *, x: str = "", y: str = "", chosen: Mapping[str, str] | None = None) -> Pareto:
    """The newest values of two metrics. `chosen` narrows dimensions; without a case, the one with most points.

    A metric or a dimension that is not known, or a metric of which neither direction is better, is a `StoreError`.
    """
    metrics = _directed_metrics(archive)
    x = _check_metric(archive, x, metrics) or _usual(metrics, USUAL[0], other=y)
    y = _check_metric(archive, y, metrics) or _usual(metrics, USUAL[1], other=x)
    if x and x == y:
        raise OptionError(f"both axes are {x!r}", remedy="choose two metrics")
    if not x or not y:
        return _empty(x, y, metrics)
    both, lonely = _configurations(archive, x, y)
    dimensions = dimensions_of([one.first for one in both])
    # A case that has one of the metrics is known: it is left out, and the page says so.
    fixed = _narrow(both, dimensions_of([*(one.first for one in both), *lonely]), chosen or {})
    fitting = [one for one in both if _fits(one.first, fixed)]
    alone = sum(_fits(place, fixed) for place in lonely)
    points = _points(archive, fitting[:MOST], dimensions)
    first = both[0] if both else None
    return Pareto(
        x=x,
        y=y,
        x_unit=first.first.rounds[0].unit if first else "",
        y_unit=first.second.rounds[0].unit if first else "",
        x_better=first.first.rounds[0].better if first else "",
        y_better=first.second.rounds[0].better if first else "",
        points=points,
        metrics=list(metrics),
        chosen=fixed,
        choices={name: offered(values, fixed.get(name, "")) for name, values in dimensions.items() if len(values) > 1},
        left_out=alone + max(0, len(fitting) - MOST),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Configuration:
    """A case with its params on one machine, which has both metrics."""

    first: Place
    second: Place


def _directed_metrics(archive: Archive) -> Sequence[str]:
    """The metrics that say which direction is better, of most interest first."""
    directions = archive.metric_directions()
    judged = judged_metrics(directions)
    return [*judged, *sorted(name for name, better in directions.items() if better and name not in judged)]


def _check_metric(archive: Archive, name: str, metrics: Sequence[str]) -> str:
    if name and name not in metrics:
        if name in archive.metric_names():
            raise StoreError(f"neither direction of {name!r} is better", remedy=f"choose one of {', '.join(metrics)}")
        raise StoreError(f"no metric {name!r} here", remedy=did_you_mean(name, metrics))
    return name


def _usual(metrics: Sequence[str], usual: str, *, other: str) -> str:
    """The usual metric where there is one, else the first that is not taken."""
    return next((name for name in (usual, *metrics) if name in metrics and name != other), "")


def _configurations(archive: Archive, x: str, y: str) -> tuple[list[_Configuration], list[Place]]:
    """Those that have both metrics, and the places of those that have one alone."""
    first, second = ({_name(place): place for place in places_of(archive, metric)} for metric in (x, y))
    names = [name for name in first if name in second]
    alone = [place for side, other in ((first, second), (second, first)) for n, place in side.items() if n not in other]
    return [_Configuration(first=first[name], second=second[name]) for name in names], alone


def _fits(place: Place, fixed: Mapping[str, str]) -> bool:
    return all(place.where.get(name) == value for name, value in fixed.items())


def _name(place: Place) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(place.where.items()))


def _narrow(
    both: Sequence[_Configuration], dimensions: Mapping[str, Sequence[str]], given: Mapping[str, str]
) -> dict[str, str]:
    for name, value in given.items():
        if name not in dimensions:
            raise StoreError(f"no dimension {name!r} here", remedy=did_you_mean(name, dimensions))
        if value != EVERY and value not in dimensions[name]:
            raise StoreError(f"no {name} {value!r} here", remedy=did_you_mean(value, dimensions[name]))
    fixed = {name: value for name, value in given.items() if value != EVERY}
    if CASE not in given and both:
        fits = [one for one in both if _fits(one.first, fixed)] or both
        fixed[CASE] = Counter(one.first.where[CASE] for one in fits).most_common(1)[0][0]
    return fixed


def _points(
    archive: Archive, shown: Sequence[_Configuration], dimensions: Mapping[str, Sequence[str]]
) -> list[ParetoPoint]:
    if not shown:
        return []
    standings = _standings(archive, shown)
    telling = [name for name in dimensions if len({one.first.where.get(name) for one in shown}) > 1]
    order = sorted(range(len(shown)), key=lambda i: (_state(standings.get(i)) != FRONT, shown[i].first.estimate.point))
    place: dict[int | None, int] = {old: new for new, old in enumerate(order)}
    metrics = (shown[0].first.rounds[0].metric, shown[0].second.rounds[0].metric)
    prices = prices_of(archive, metrics, (one.first.rounds[0].run for one in shown))
    points = [_point(shown[i], standings.get(i), place, telling) for i in order]
    return [replace(point, price=prices.get(point.result, "")) for point in points]


def _standings(archive: Archive, shown: Sequence[_Configuration]) -> dict[int, Standing]:
    """How those stand that were not measured in quarantine, by their place; `by` is a place as well."""
    places = {(i, side): place for i, one in enumerate(shown) for side, place in enumerate((one.first, one.second))}
    held = {i for i, _ in held_places(archive, places)}
    judged = [i for i in range(len(shown)) if i not in held]
    doubted = doubted_results(archive, places.values())
    respects = respect_of(shown[0].first), respect_of(shown[0].second)
    assert respects[0] is not None and respects[1] is not None  # metrics without a direction were refused
    found = find_standings(
        [alternative_of(shown[i].first, doubted) for i in judged],
        [alternative_of(shown[i].second, doubted) for i in judged],
        (respects[0], respects[1]),
    )
    return {
        i: Standing(one.state, None if one.by is None else judged[one.by]) for i, one in zip(judged, found, strict=True)
    }


def _state(standing: Standing | None) -> str:
    return standing.state if standing else UNCLEAR


def _point(
    one: _Configuration, standing: Standing | None, place: Mapping[int | None, int], telling: Sequence[str]
) -> ParetoPoint:
    """A configuration as the page shows it; one without a standing was measured in quarantine."""
    first, second = one.first.rounds[0], one.second.rounds[0]
    where = one.first.where
    words = [where[name] if name in (CASE, MACHINE) else f"{name}={where[name]}" for name in telling if name in where]
    return ParetoPoint(
        label=" ".join(words) or where[CASE],
        case=where[CASE],
        params=json_mapping(first.params),
        machine=where[MACHINE],
        x=one.first.estimate,
        y=one.second.estimate,
        standing=_state(standing),
        beaten_by=place.get(standing.by) if standing else None,
        series=[first.series, second.series],
        result=first.result,
        run=first.run,
        is_held=standing is None,
    )


def _empty(x: str, y: str, metrics: Sequence[str]) -> Pareto:
    return Pareto(
        x=x,
        y=y,
        x_unit="",
        y_unit="",
        x_better="",
        y_better="",
        points=[],
        metrics=list(metrics),
        chosen={},
        choices={},
    )
