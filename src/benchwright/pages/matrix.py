"""Newest values by two dimensions: models against runtimes, batch sizes against machines, whatever there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchwright.analysis.judged_metrics import in_order
from benchwright.analysis.rows import combine_estimates, show_scalar
from benchwright.errors import StoreError, did_you_mean
from benchwright.pages import at_once
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import Cell, Matrix, Missing
from benchwright.records import Estimate, Status
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive, ResultOutcome, Valued

CASE, MACHINE = "case", "machine"
ABSENT = "-"  # where a case does not have the dimension
_RECENT_RUNS = 20  # among them failures are looked for
_LOOKED_INTO = 4  # of those that had any: every result of them is read
_COLUMNS = ("runtime", "device", MACHINE, "precision", "batch_size")  # the first that varies is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The newest rounds of one series, and where they stand in every dimension."""

    where: Mapping[str, str]
    rounds: Sequence[Valued]

    @property
    def at(self) -> int:
        """Returns when the series was measured last."""
        return max(value.at for value in self.rounds)


@at_once
def matrix(
    archive: Archive,
    *,
    metric: str = "",
    rows: str = "",
    columns: str = "",
    baseline: str = "",
    chosen: Mapping[str, str] | None = None,
) -> Matrix:
    """The newest values of a metric. What is not said is chosen so that most can be seen.

    `chosen` fixes other dimensions; where it does not, the value with most cells is taken. A word that is not known is
    a `StoreError` with the nearest one.
    """
    known = archive.metric_names()
    metric = _check_name("metric", metric, known) if metric else _usual_metric(known)
    places = _places(archive, metric)
    varying = _dimensions(places)
    row = _check_name("dimension", rows, varying) if rows else CASE
    column = _check_name("dimension", columns, varying) if columns else _usual_column(varying, row)
    others = {name: values for name, values in varying.items() if name not in (row, column)}
    given = {name: value for name, value in (chosen or {}).items() if name not in (row, column)}
    fixed, choices = _fix_dimensions(places, others, given)
    shown = _newest(places, fixed, row, column)
    missed = _find_missed(archive, shown, fixed, row, column)
    names = [_sort_names({key[i] for key in (*shown, *missed)}) for i in (0, 1)]
    if baseline:
        _check_name(column, baseline, names[1])
    sample = next(iter(shown.values())).rounds[0] if shown else None
    return Matrix(
        metric=metric,
        unit=sample.unit if sample else "",
        better=sample.better if sample else "",
        rows=names[0],
        columns=names[1],
        cells=_cells(shown, names[0], names[1], baseline),
        baseline=baseline,
        metrics=known,
        dimensions=list(varying),
        row_dimension=row,
        column_dimension=column,
        chosen=fixed,
        choices=choices,
        missing=_missing(missed, names[0], names[1]),
    )


def _check_name(what: str, word: str, known: Iterable[str]) -> str:
    names = list(known)
    if word not in names:
        raise StoreError(f"no {what} {word!r} here", remedy=did_you_mean(word, names))
    return word


def _usual_metric(known: Sequence[str]) -> str:
    return next(iter(in_order(known)), "")


def _usual_column(varying: Mapping[str, Sequence[str]], row: str) -> str:
    """The first of the usual ones that varies, else any that does, else the machine."""
    names = [*_COLUMNS, *varying]
    found = (name for name in names if name != row and len(varying.get(name, ())) > 1)
    return next(found, MACHINE if row != MACHINE else CASE)


# ---- dimensions ----


def _places(archive: Archive, metric: str) -> list[_Place]:
    """Every series of the metric in the unit that most of them have."""
    values = archive.newest_values(metrics=[metric]) if metric else []
    units = Counter(value.unit for value in values)
    unit = units.most_common(1)[0][0] if units else ""
    names = machine_names(archive)
    rounds: dict[str, list[Valued]] = {}
    for value in values:
        if value.unit == unit:
            rounds.setdefault(value.series, []).append(value)
    return [_Place(where=_where(several[0], names), rounds=several) for several in rounds.values()]


def _where(value: Valued | ResultOutcome, names: Mapping[str, str]) -> dict[str, str]:
    params = {name: show_scalar(one) for name, one in json_mapping(value.params).items()}
    return {**params, CASE: value.case, MACHINE: names.get(value.machine) or value.machine}


def _dimensions(places: Sequence[_Place]) -> dict[str, list[str]]:
    """The values of each dimension, cases and machines first."""
    found: dict[str, set[str]] = {CASE: set(), MACHINE: set()}
    for place in places:
        for name, value in place.where.items():
            found.setdefault(name, set()).add(value)
    return {name: _sort_names(values) for name, values in found.items()}


def _fix_dimensions(
    places: Sequence[_Place], others: Mapping[str, Sequence[str]], given: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Sequence[str]]]:
    """What is chosen of every other dimension that varies, and what could be."""
    for name in given:
        _check_name("dimension to choose", name, others)
    choices = {name: values for name, values in others.items() if len(values) > 1 or name in given}
    fixed = {name: _check_name(name, given[name], values) for name, values in choices.items() if name in given}
    for name in choices:
        if name not in fixed:
            counts = Counter(place.where[name] for place in places if name in place.where and _fits(place, fixed))
            fixed[name] = counts.most_common(1)[0][0] if counts else choices[name][0]
    return fixed, choices


def _fits(place: _Place, fixed: Mapping[str, str]) -> bool:
    """Whether a place has the chosen value in every dimension that it has."""
    return all(place.where.get(name, value) == value for name, value in fixed.items())


def _sort_names(values: Iterable[str]) -> list[str]:
    """Numbers by size, then words by the alphabet, then what lacks the dimension."""

    def place(text: str) -> tuple[int, float, str]:
        number = _number(text)
        return (2 if text == ABSENT else 1, 0.0, text) if number is None else (0, number, text)

    return sorted(values, key=place)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# ---- cells ----


def _newest(places: Sequence[_Place], fixed: Mapping[str, str], row: str, column: str) -> dict[tuple[str, str], _Place]:
    """Returns the newest values of each cell."""
    shown: dict[tuple[str, str], _Place] = {}
    for place in places:
        if _fits(place, fixed):
            key = place.where.get(row, ABSENT), place.where.get(column, ABSENT)
            if key not in shown or place.at > shown[key].at:
                shown[key] = place
    return shown


def _find_missed(
    archive: Archive, shown: Mapping[tuple[str, str], _Place], fixed: Mapping[str, str], row: str, column: str
) -> dict[tuple[str, str], ResultOutcome]:
    """Where the newest runs tried and got no number, unless there is one from later."""
    names = machine_names(archive)
    runs = [run.id for run in archive.runs_page(limit=_RECENT_RUNS) if run.failed][:_LOOKED_INTO]
    found: dict[tuple[str, str], ResultOutcome] = {}
    for outcome in archive.outcomes(runs):
        if outcome.status in (Status.OK, Status.SKIPPED):
            continue
        where = _where(outcome, names)
        key = where.get(row, ABSENT), where.get(column, ABSENT)
        newest = max(shown[key].rounds[0].run if key in shown else "", found[key].run if key in found else "")
        if outcome.run > newest and all(where.get(name, value) == value for name, value in fixed.items()):
            found[key] = outcome
    return found


def _missing(
    missed: Mapping[tuple[str, str], ResultOutcome], rows: Sequence[str], columns: Sequence[str]
) -> list[Missing]:
    return [
        Missing(
            row=rows.index(name),
            column=columns.index(other),
            status=outcome.status,
            reason=outcome.failure.message if outcome.failure else "",
            run=outcome.run,
            result=outcome.result,
        )
        for (name, other), outcome in missed.items()
    ]


def _cells(
    shown: Mapping[tuple[str, str], _Place], rows: Sequence[str], columns: Sequence[str], baseline: str
) -> list[Cell]:
    values = {
        key: combine_estimates(place.rounds[0].metric, place.rounds[0].unit, [v.estimate for v in place.rounds])
        for key, place in shown.items()
    }
    return [
        Cell(
            row=i,
            column=j,
            estimate=values[name, other],
            relative=_relative(values[name, other], values.get((name, baseline))),
            series=shown[name, other].rounds[0].series,
            result=shown[name, other].rounds[0].result,
            run=shown[name, other].rounds[0].run,
        )
        for i, name in enumerate(rows)
        for j, other in enumerate(columns)
        if (name, other) in shown
    ]


def _relative(value: Estimate, base: Estimate | None) -> float | None:
    return value.point / base.point if base is not None and base.point > 0 else None
