"""What a comparison compares: a run, a revision, a machine or a runtime, each with its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchwright.errors import OptionError, StoreError, did_you_mean
from benchwright.pages.lines import milliseconds
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import Side
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive, ResultOutcome, Valued

KINDS = ("run", "revision", "machine", "runtime")
_SHORT = 10  # digits of a revision
_LOOKED_INTO = 50  # runs of a side whose results are asked how they ended, the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledSide:
    """A side with its values, and how the results behind them ended."""

    kind: str
    side: Side
    values: Sequence[Valued]
    outcomes: Sequence[ResultOutcome]


def fill_sides(archive: Archive, a: str, b: str) -> tuple[FilledSide, FilledSide]:
    """Both sides with their values. One that is not understood is an `OptionError`, an unknown one a `StoreError`."""
    kinds = [_split_side(given) for given in (a, b)]
    found = _SideValues(archive, kinds)
    labelled = [found.values(kind, name) for kind, name in kinds]
    runs = [
        _runs(values) or [label] * (kind == "run") for (kind, _), (label, values) in zip(kinds, labelled, strict=True)
    ]
    # Asked for together: a question costs more than what it is about.
    ended: dict[str, list[ResultOutcome]] = {}
    for outcome in archive.outcomes(list(dict.fromkeys(run for several in runs for run in several[:_LOOKED_INTO]))):
        ended.setdefault(outcome.run, []).append(outcome)
    first, second = (
        FilledSide(
            kind=kind,
            side=Side(
                given=given,
                label=label,
                runs=several,
                at=_at(archive, values, several),
                revision=_only_one({value.revision for value in values}),
            ),
            values=values,
            outcomes=[outcome for run in several[:_LOOKED_INTO] for outcome in ended.get(run, ())],
        )
        for given, (kind, _), (label, values), several in zip((a, b), kinds, labelled, runs, strict=True)
    )
    return first, second


def _split_side(given: str) -> tuple[str, str]:
    kind, colon, name = given.partition(":")
    if not colon or kind not in KINDS or not name:
        remedy = "run:REF, revision:ID, machine:KEY or runtime:NAME"
        raise OptionError(f"{given!r} is not a side of a comparison", remedy=f"a side is one of {remedy}")
    return kind, name


class _SideValues:
    """The values of both sides; what both need is asked for once."""

    def __init__(self, archive: Archive, kinds: Sequence[tuple[str, str]]) -> None:
        self._archive = archive
        self._ids = {name: archive.find(name) for kind, name in kinds if kind == "run"}
        self._of_runs = archive.values_of_runs(list(dict.fromkeys(self._ids.values()))) if self._ids else []
        self._newest = archive.newest_values() if any(kind == "runtime" for kind, _ in kinds) else []

    def values(self, kind: str, name: str) -> tuple[str, Sequence[Valued]]:
        """What to call the side, and its values."""
        if kind == "run":
            run = self._ids[name]
            return run, [value for value in self._of_runs if value.run == run]
        if kind == "revision":
            return _of_revision(self._archive, name)
        if kind == "machine":
            names = machine_names(self._archive)
            key = _machine(names, name)
            return names[key], self._archive.newest_values(machine=key)
        return _of_runtime(name, self._newest)


def _of_revision(archive: Archive, name: str) -> tuple[str, Sequence[Valued]]:
    values = archive.newest_values(revision=name)
    if not values:  # the beginning of one
        known = archive.header(archive.find(name)).revision
        name = known.id if known else name
        values = archive.newest_values(revision=name)
    if not values:
        raise StoreError(f"no values of revision {name!r}", remedy="GET runs lists the revisions there are")
    subject = archive.subjects([name]).get(name, "")
    return f"{name[:_SHORT]} {subject}".strip(), values


def _of_runtime(name: str, newest: Sequence[Valued]) -> tuple[str, Sequence[Valued]]:
    names = {text: json_mapping(text).get("runtime") for text in {value.params for value in newest}}
    values = [value for value in newest if names[value.params] == name]
    if not values:
        known = sorted({str(one) for one in names.values() if one is not None})
        raise StoreError(f"no case has the runtime {name!r}", remedy=did_you_mean(name, known))
    return name, values


def _machine(names: Mapping[str, str], given: str) -> str:
    found = [key for key, name in names.items() if given in (key, name)] or [k for k in names if k.startswith(given)]
    if len(found) != 1:
        trouble = f"no machine {given!r}" if not found else f"{len(found)} machines begin with {given!r}"
        raise StoreError(trouble, remedy="GET machines lists their keys")
    return found[0]


def _runs(values: Iterable[Valued]) -> list[str]:
    """The runs, the newest first."""
    newest: dict[str, int] = {}
    for value in values:
        run, at = value.run, value.at
        if at > newest.get(run, at - 1):
            newest[run] = at
    return sorted(newest, key=lambda run: -newest[run])


def _at(archive: Archive, values: Sequence[Valued], runs: Sequence[str]) -> int:
    if values:
        return max([value.at for value in values]) // 1000
    return milliseconds(archive.header(runs[0]).started_at) if runs else 0


def _only_one(names: set[str]) -> str:
    return next(iter(names)) if len(names) == 1 else ""
