"""Which series of a store a person means by a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchwright.errors import OptionError, TargetError, did_you_mean
from benchwright.schema.parsing import json_mapping
from benchwright.store import Miss, Series, Store

Directions = Mapping[str, str | None]  # by metric: which direction is better
_ROUNDS = 50  # as many as a run is expected to have at most


def look_up(
    store: Store, target: str, *, metrics: Sequence[str], runs: int, usual: Callable[[Directions], list[str]]
) -> tuple[list[Series], list[Miss]]:
    """The series that a person means by `target`, with points enough for `runs` runs, and their gaps.

    A target is a case's name, a pattern, a path that ends in a name, or a file of callables. Without `metrics`, those
    that `usual` picks from the directions of all that a case has.
    """
    for name in names_of(target):
        if series := store.history(name, limit=(runs + 1) * _ROUNDS):
            return _choose_series(series, target, metrics, usual), store.misses(name)
        if misses := store.misses(name):
            return [], misses
    known = store.case_names()
    raise TargetError(
        f"no results for {target!r} in this store",
        remedy=did_you_mean(Path(target).name, known) or "benchwright run TARGET makes some",
    )


def names_of(target: str) -> list[str]:
    """What a case may be called that a person names so.

    As it is, as a served model without the scheme of its address, by the end of a path, or as one of a file's.
    """
    last = Path(target).name
    return list(dict.fromkeys([target, target.rpartition("://")[2], last, f"{last}::*"]))


def _choose_series(
    series: list[Series], target: str, metrics: Sequence[str], usual: Callable[[Directions], list[str]]
) -> list[Series]:
    there = {one.metric for one in series}
    if unknown := [metric for metric in metrics if metric not in there]:
        raise OptionError(f"{target!r} has no metric {unknown[0]!r}", remedy=did_you_mean(unknown[0], there))
    known: dict[tuple[str, str], dict[str, str]] = {}
    for one in series:
        # What another tool measured may lack the direction that the same case has here.
        directions = known.setdefault((one.case, one.params), {})
        directions[one.metric] = one.better or directions.get(one.metric, one.better)
    wanted = {name: list(metrics) or usual(directions) for name, directions in known.items()}
    chosen = [one for one in series if one.metric in wanted[one.case, one.params]]
    return sorted(chosen, key=lambda one: _sort_key(one, wanted[one.case, one.params]))


def _sort_key(series: Series, metrics: Sequence[str]) -> tuple[Any, ...]:
    """Returns a key that sorts series by case, then by params with numbers as numbers, then by metric as asked for."""
    values = json_mapping(series.params).values()
    params = [(0, value, "") if isinstance(value, int | float) else (1, 0, str(value)) for value in values]
    return series.case, params, series.machine, metrics.index(series.metric)
