"""What a comparison compares: a run, a revision, a branch, a machine or a runtime, each with its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchwright.errors import OptionError, StoreError, did_you_mean
from benchwright.pages.lines import milliseconds
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import Side
from benchwright.store.archive import Archive, ResultOutcome, RunChoice, SeriesFilter, Valued

MACHINE = "machine"
KINDS = ("run", "revision", "branch", MACHINE, "runtime")
MOST = 8  # sides of one comparison
MOST_SERIES = 20_000  # of a machine or a runtime: all that it ever measured is looked at
_SHORT = 10  # digits of a revision
_LOOKED_INTO = 50  # runs of a side whose results are asked how they ended, the newest
_LOOKED_AT = 500  # runs, the newest, whose branches are proposed for one that nobody knows
_OF_A_BRANCH = 20  # runs, the newest: they have every series that is still measured


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledSide:
    """A side with its values, and how the results behind them ended."""

    kind: str
    side: Side
    values: Sequence[Valued]
    outcomes: Sequence[ResultOutcome]


def fill_sides(archive: Archive, given: Sequence[str]) -> list[FilledSide]:
    """The sides with their values. One that is not understood is an `OptionError`, an unknown one a `StoreError`."""
    if not 2 <= len(given) <= MOST:
        raise OptionError(f"a comparison has 2 to {MOST} sides, not {len(given)}", remedy="leave some of them out")
    kinds = [split_side(one) for one in given]
    found = _SideValues(archive, kinds)
    labelled = [found.values(kind, name) for kind, name in kinds]
    runs = [
        _runs(values) or [label] * (kind == "run") for (kind, _), (label, values) in zip(kinds, labelled, strict=True)
    ]
    # Asked for together: a question costs more than what it is about.
    ended: dict[str, list[ResultOutcome]] = {}
    for outcome in archive.outcomes(list(dict.fromkeys(run for several in runs for run in several[:_LOOKED_INTO]))):
        ended.setdefault(outcome.run, []).append(outcome)
    revisions = [_only_one({value.revision for value in values}) for _, values in labelled]
    commits = archive.commits([revision for revision in revisions if revision])
    return [
        FilledSide(
            kind=kind,
            side=Side(
                given=one,
                label=label,
                runs=several,
                at=_at(archive, values, several),
                revision=revision,
                repository=commits[revision].repository if revision in commits else "",
            ),
            values=values,
            outcomes=[
                outcome
                for run in several[:_LOOKED_INTO]
                for outcome in ended.get(run, ())
                if kind != MACHINE or outcome.machine in [value.machine for value in values[:1]]
            ],
        )
        for one, (kind, _), (label, values), several, revision in zip(
            given, kinds, labelled, runs, revisions, strict=True
        )
    ]


def split_side(given: str) -> tuple[str, str]:
    """The kind and the name of a side; an `OptionError` where it is not one."""
    kind, colon, name = given.partition(":")
    if not colon or kind not in KINDS or not name:
        remedy = "run:REF, revision:ID, branch:NAME, machine:KEY, machine:KEY@RUN or runtime:NAME"
        raise OptionError(f"{given!r} is not a side of a comparison", remedy=f"a side is one of {remedy}")
    return kind, name


class _SideValues:
    """The values of the sides; what several need is asked for once."""

    def __init__(self, archive: Archive, kinds: Sequence[tuple[str, str]]) -> None:
        self._archive = archive
        runs = [name if kind == "run" else _run_of(name) for kind, name in kinds if kind in ("run", MACHINE)]
        self._ids = {name: archive.find(name) for name in runs if name}
        self._of_runs = archive.values_of_runs(list(dict.fromkeys(self._ids.values()))) if self._ids else []

    def values(self, kind: str, name: str) -> tuple[str, Sequence[Valued]]:
        """What to call the side, and its values."""
        if kind == "run":
            run = self._ids[name]
            return run, [value for value in self._of_runs if value.run == run]
        if kind == "revision":
            return _of_revision(self._archive, name)
        if kind == "branch":
            return _of_branch(self._archive, name)
        if kind == MACHINE:
            return self._of_machine(name)
        return _of_runtime(self._archive, name)

    def _of_machine(self, name: str) -> tuple[str, Sequence[Valued]]:
        """The newest values of a machine, in whichever runs; of `KEY@RUN` what it measured in that run."""
        names = machine_names(self._archive)
        if not _run_of(name):
            key = _machine(names, name)
            return names[key], self._archive.newest_values(machine=key, most=MOST_SERIES)
        run, key = self._ids[_run_of(name)], _machine(names, name.rpartition("@")[0])
        values = [value for value in self._of_runs if value.run == run and value.machine == key]
        if not values:
            raise StoreError(f"{names[key]} has no numbers in run {run}", remedy="the run's page names its machines")
        return f"{names[key]} in run {run}", values


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


def _of_branch(archive: Archive, name: str) -> tuple[str, Sequence[Valued]]:
    """Of each series the values of the newest run of the branch that has any."""
    runs = [run.id for run in archive.runs_page(limit=_OF_A_BRANCH, also=RunChoice(branches=(name,)))]
    if not runs:
        newest = archive.runs_page(limit=_LOOKED_AT)
        known = sorted({run.revision.branch for run in newest if run.revision and run.revision.branch})
        raise StoreError(f"no run is of the branch {name!r}", remedy=did_you_mean(name, known))
    values = archive.values_of_runs(runs)
    ends: dict[tuple[str, str], tuple[int, str]] = {}
    for value in values:
        key = value.series, value.unit
        ends[key] = max(ends.get(key, (value.at, value.run)), (value.at, value.run))
    return name, [value for value in values if ends[value.series, value.unit][1] == value.run]


def _of_runtime(archive: Archive, name: str) -> tuple[str, Sequence[Valued]]:
    values = archive.newest_values(runtime=name, most=MOST_SERIES)
    if not values:
        facets = archive.series_facets(SeriesFilter()).facets
        known = [text for facet in facets if facet.name == "param.runtime" for text, _ in facet.values]
        raise StoreError(f"no case has the runtime {name!r}", remedy=did_you_mean(name, known))
    return name, values


def _run_of(name: str) -> str:
    """The run of `KEY@RUN`; "" of a machine alone."""
    return name.rpartition("@")[2] if "@" in name else ""


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
