"""Everything of one store into another, of whatever kind, while others use either.

Only what is missing is added, so a copy that was cut off goes on where it was when it is begun again. What the other
store has under the same id is left as it is, and told when it differs. Tokens stay: they belong to their server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

from benchwright import schema
from benchwright.errors import DecodeError, OptionError, StoreError
from benchwright.records import Run
from benchwright.store import Store
from benchwright.store.archive import Archive
from benchwright.store.one_ahead import OneAhead
from benchwright.store.sqlite_file import database_file
from benchwright.system.garbage import rare_collections

_EVERYTHING = 1_000_000
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySummary:
    """The outcome of a copy. `differing` is empty when all of the one store is in the other."""

    runs: int  # in the store that was copied
    added: int  # of them
    completed: int  # were there in part
    results: int  # in the store that was copied
    findings: int  # added
    mutes: int
    thresholds: int
    quarantines: int
    notes: int
    views: int
    differing: tuple[str, ...]  # what does not agree in the end, each a sentence


def copy(source: Store, target: Store, tell: Tell = lambda done, total: None) -> CopySummary:
    """Adds to `target` what it lacks, and then compares: counts, and a digest of every run.

    Raw samples are compared where they were copied now; those of runs that were there may have aged out on one side.
    """
    names, there = list(source.run_ids()), set(target.run_ids())
    completed = 0
    differing: list[str] = []
    rows = _copy_rows(source, target, [name for name in names if name not in there], tell)
    added, results = len(rows), sum(rows.values())
    for number, name in enumerate((name for name in names if name not in rows), len(rows)):
        tell(number, len(names))
        try:
            run = source.run(name)
        except (StoreError, DecodeError) as error:  # it costs this run, not the others
            differing.append(f"run {name} cannot be read: {error.message}")
            continue
        results += len(run.results)
        if name not in there and target.add_run(run):
            added += 1
            differing += _differences(run, target.run(name))
            continue
        completed += _add_missing_results(run, target)
        differing += _differences(_without_samples(run), target.run(name, samples=False))
    tell(len(names), len(names))
    findings = _findings(source, target, differing)
    return CopySummary(
        runs=len(names),
        added=added,
        completed=completed,
        results=results,
        findings=findings,
        mutes=_mutes(source, target),
        thresholds=_thresholds(source, target),
        quarantines=_quarantines(source, target),
        notes=_notes(source, target),
        views=_views(source, target),
        differing=(*differing, *_missing_runs(names, target)),
    )


@runtime_checkable
class RowStore(Protocol):
    """A store that gives and takes runs as rows of tables: every database."""

    def raw_batches(self, run_ids: Sequence[str]) -> list[list[str]]:
        """The ids of runs in pieces that can be held in memory."""
        ...

    def raw_runs(self, run_ids: Sequence[str], *, points: bool = True) -> dict[str, Any]:
        """The runs that are there and whole, by id; without points, only how many there are."""
        ...

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process does the work of keeping: then the next runs can be read meanwhile."""
        ...

    def add_raw_runs(self, runs: Sequence[Any]) -> list[str]:
        """Keeps runs in one transaction; the ids of those that were not there already."""
        ...


def _copy_rows(source: Store, target: Store, names: Sequence[str], tell: Tell) -> dict[str, int]:
    """Copies runs as rows where both stores are databases: how many results each run has that is the same there now.

    Those that cannot be copied so, since they are damaged or somebody else adds them just now, are left out.
    """
    if not (isinstance(source, RowStore) and isinstance(target, RowStore)):
        return {}
    copied: dict[str, int] = {}
    done = 0

    def add(runs: dict[str, Any]) -> None:
        added = target.add_raw_runs([*runs.values()])
        there = target.raw_runs(added, points=False)
        copied.update({name: len(runs[name].results) for name in added if there.get(name) == runs[name]})

    with rare_collections(), OneAhead() if target.is_elsewhere else nullcontext() as ahead:
        for batch in source.raw_batches(names):
            tell(done, len(names))
            runs = source.raw_runs(batch)
            if ahead:
                ahead.begin(partial(add, runs))
            else:
                add(runs)
            done += len(batch)
    return copied


def refuse_same(source: str, target: str) -> None:
    """Refuses to copy a store into itself."""
    if _place(source) == _place(target):
        raise OptionError(f"FROM and TO name the same store, {source}", remedy="name another store to copy to")


def _place(url: str) -> str:
    return str(database_file(url)) if "://" not in url or url.startswith("sqlite") else url


def _add_missing_results(run: Run, target: Store) -> bool:
    held = {result.id for result in target.run(run.id, samples=False).results}
    missing = [result for result in run.results if result.id not in held]
    for result in missing:
        target.add(run.id, result)
    return bool(missing)


def _differences(ours: Run, theirs: Run) -> list[str]:
    """How a run differs from its copy; nothing when every result of `ours` is in `theirs`, unchanged."""
    wanted = {result.id for result in ours.results}
    common = replace(theirs, results=tuple(result for result in theirs.results if result.id in wanted))
    return [] if _digest(ours) == _digest(common) else [f"the other store holds another run {ours.id}"]


def _digest(run: Run) -> str:
    ordered = replace(run, results=tuple(sorted(run.results, key=lambda result: result.id)))
    return hashlib.sha256(schema.dumps(ordered).encode("ascii")).hexdigest()


def _without_samples(run: Run) -> Run:
    return replace(run, results=tuple(replace(result, samples=()) for result in run.results))


def _missing_runs(names: Iterable[str], target: Store) -> list[str]:
    return [f"run {name} is not in the other store" for name in sorted({*names} - {*target.run_ids()})]


def _findings(source: Store, target: Store, differing: list[str]) -> int:
    there = {finding.id for finding in target.findings(limit=_EVERYTHING)}
    added = 0
    for finding in reversed(source.findings(limit=_EVERYTHING)):
        if finding.id not in there:
            kept = target.keep_finding(finding)
            added += kept.id == finding.id
            if kept.id != finding.id:
                differing.append(
                    f"finding {finding.id} describes the same change as finding {kept.id} of the other store"
                )
    return added


def _mutes(source: Store, target: Store) -> int:
    there = {mute.what for mute in target.mutes()}
    missing = [mute for mute in source.mutes() if mute.what not in there]
    for mute in missing:
        target.mute(mute)
    return len(missing)


def _thresholds(source: Store, target: Store) -> int:
    there = {(threshold.case, threshold.metric) for threshold in target.thresholds()}
    missing = [one for one in source.thresholds() if (one.case, one.metric) not in there]
    for threshold in missing:
        target.set_threshold(threshold)
    return len(missing)


def _quarantines(source: Store, target: Store) -> int:
    there = {(one.machine, one.since) for one in target.quarantines()}
    missing = [one for one in source.quarantines() if (one.machine, one.since) not in there]
    for quarantine in missing:
        target.quarantine(quarantine)
    return len(missing)


def _views(source: Store, target: Store) -> int:
    """Copies views of names that are free there; what opens first there stays so."""
    if not (hasattr(source, "keep_view") and hasattr(target, "keep_view")):
        return 0
    ours, theirs = cast(Archive, source), cast(Archive, target)
    there = theirs.views()
    taken, has_home = {view.name for view in there}, any(view.is_home for view in there)
    missing = [view for view in ours.views() if view.name not in taken]
    for view in missing:
        theirs.keep_view(replace(view, is_home=view.is_home and not has_home))
    return len(missing)


def _notes(source: Store, target: Store) -> int:
    """Copies annotations, which only databases have."""
    if not (hasattr(source, "annotate") and hasattr(target, "annotate")):
        return 0
    ours, theirs = cast(Archive, source), cast(Archive, target)
    there = {replace(note, id=0) for note in theirs.annotations(None)}
    missing = [note for note in ours.annotations(None) if replace(note, id=0) not in there]
    for note in missing:
        theirs.annotate(note)
    return len(missing)
