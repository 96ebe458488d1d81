"""The baseline of a run: another run, the newest one of a branch, or all runs that were measured before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path

from benchwright.analysis.gate import ComparedSides
from benchwright.analysis.judged_metrics import directions_of, first_shared
from benchwright.analysis.judged_results import JudgedResults
from benchwright.analysis.rows import Row, rows
from benchwright.errors import OptionError, StoreError, TargetError
from benchwright.exchange.named_runs import find_run
from benchwright.records import Result, Run, Status
from benchwright.records.branches import USUAL, is_on_line, main_line
from benchwright.records.findings import FindingRules
from benchwright.store import Store
from benchwright.store.files.transfer import read_runs
from benchwright.vcs.history import Commit, open_repository

HISTORY = "history"
RUNS = 40  # of a history, the newest that measured the same
FEWEST = 3  # runs that say how much runs differ
_LOOKED_AT = 200  # runs, or commits, before one gives up


def find_sides(
    reference: str, against: str, opened: Callable[[], Store], *, repo: Path
) -> tuple[ComparedSides, FindingRules]:
    """The run that `reference` names with what it is `against`, and the rules of the store.

    Either may be a file; when both are, no store is opened and there are no rules.
    """
    run = find_run(reference, opened, read_runs, samples=False)
    if Path(against).is_file():
        before = find_run(against, opened, read_runs, samples=False)
        compared = ComparedSides(before=before, after=run, measured=run, against=f"{against} ({before.id})")
        if Path(reference).is_file():
            return compared, FindingRules()
    with closing(opened()) as store:
        rules = FindingRules(mutes=store.mutes(), thresholds=store.thresholds())
        sides = compared if Path(against).is_file() else choose_sides(store, run, against, repo=repo)
        return replace(sides, held=JudgedResults(store).held_of(sides.before, run)), rules


def choose_sides(store: Store, run: Run, against: str, *, repo: Path) -> ComparedSides:
    """The run and what `against` names: `history`, a run, a tag, a commit; or a branch or commit of the repository.

    A branch means the newest run of its last commit, else of the nearest one before it that was measured. The run
    itself is never what it is compared with.
    """
    if against == HISTORY:
        return sides_from_history(store, run)
    found = _find_in_store(store, run, against) or _find_in_repository(store, run, against, repo)
    before = store.run(found, samples=False)
    name = before.id if against in (before.id, "") else f"{against} ({before.id})"
    return ComparedSides(before=before, after=run, measured=run, against=name)


def sides_from_history(store: Store, run: Run) -> ComparedSides:
    """The run against the earlier ones that measured the same: each counts as one value, so what differs from run to
    run is what a change must stand out from. Where a case changed among them, only the runs since then count. The
    earlier ones are of the main line, whatever branch the run is on.
    """
    wanted = {row.key for row in rows(run)}
    earlier = _main_line_runs(earlier_runs(store, run, wanted))[::-1]
    if len(earlier) < FEWEST:
        raise OptionError(
            f"{len(earlier)} earlier runs measured what run {run.id} did, and a history needs {FEWEST}",
            remedy="name a run instead: --against RUN",
        )
    told = [{row.key: row for row in rows(one)} for one in earlier]
    places = {row.key: row.case.target.uri for row in (*told[-1].values(), *rows(run))}
    before = {key: _since_last_change([t[key] for t in told if key in t], place) for key, place in places.items()}
    after = [result for row in rows(run) for result in ([_combine_rounds(row, 0)] if row.ok else row.results)]
    return ComparedSides(
        before=replace(earlier[-1], id=HISTORY, results=tuple(chain.from_iterable(before.values()))),
        after=replace(run, results=tuple(after)),
        measured=run,
        against=_describe_history(len(earlier), [len(results) for results in before.values() if results]),
    )


# ---- one run ----


def _find_in_store(store: Store, run: Run, against: str) -> str:
    """The run that the store knows by that name; "" when there is none but the run itself."""
    try:
        found = store.find(against)
    except StoreError:
        return ""
    if found != run.id:
        return found
    tagged = [summary.id for summary in store.runs(tag=against, limit=_LOOKED_AT) if summary.id != run.id]
    return tagged[0] if tagged else ""


def _find_in_repository(store: Store, run: Run, against: str, repo: Path) -> str:
    for commit in _commits_up_to(against, repo):
        try:
            found = store.find(commit.revision.id)
        except StoreError:
            continue
        if found != run.id:
            return found
    raise OptionError(
        f"--against: there is no run of {against!r} other than {run.id} itself, and none of the commits before it",
        remedy="measure it first: benchwright run TARGET there; benchwright list shows the runs",
    )


def _commits_up_to(name: str, repo: Path) -> Sequence[Commit]:
    try:
        repository = open_repository(repo)
        tip = repository.resolve(name)
        return repository.latest(tip.revision.id, _LOOKED_AT)[::-1]
    except TargetError as error:
        raise OptionError(
            f"--against: {name!r} is not a run, tag or commit of this store, nor of a repository: {error.message}",
            remedy="benchwright list shows the runs; --repo names a repository",
        ) from None


# ---- many runs ----


def _main_line_runs(newest: Iterable[Run]) -> list[Run]:
    """The newest `RUNS` of these runs that are on their main line, in their order."""
    seen: list[tuple[str, Run]] = []
    for run in newest:
        seen.append((run.revision.branch if run.revision else "", run))
        counts = Counter(branch for branch, _ in seen)
        line = main_line(counts)
        # Further back may be a branch that is the likelier main line; not where only one of a usual name was seen.
        is_settled = line == USUAL[0] or (counts.keys() <= {"", line} and line in ("", *USUAL))
        if is_settled and sum(count for branch, count in counts.items() if is_on_line(branch, line)) >= RUNS:
            break
    line = main_line(Counter(branch for branch, _ in seen))
    return [run for branch, run in seen if is_on_line(branch, line)][:RUNS]


def earlier_runs(store: Store, run: Run, wanted: set[str]) -> Iterator[Run]:
    """Earlier runs with a case in common, the newest first; those that measured several revisions are no history.

    What a machine in quarantine measured is left out, and so are the short processes of races.
    """
    judged = JudgedResults(store)
    ids = list(store.run_ids())
    earlier = ids[: ids.index(run.id)] if run.id in ids else ids  # a run from a file came after all that is kept
    for name in earlier[::-1][:_LOOKED_AT]:
        one = judged.of_run(store.run(name, samples=False))
        if (one.race is None) is not (run.race is None):
            continue
        if len({r.revision.id for r in one.results if r.revision}) <= 1 and wanted & {row.key for row in rows(one)}:
            yield one


def _since_last_change(history: Sequence[Row], place: str) -> list[Result]:
    """One result for each run, all at one place: revisions are measured each in a working copy of its own."""
    from benchwright.stats.changepoint import detect

    good = [row for row in history if row.ok]
    metric = first_shared([directions_of(row.metrics.values()) for row in good])
    values = [row.metrics[metric].estimate.point for row in good] if metric else []
    start = 0
    if values and min(values) > 0:
        start = max((change.index for change in detect(values) if len(values) - change.index >= FEWEST), default=0)
    return [_with_place(_combine_rounds(row, i), place) for i, row in enumerate(good[start:])]


def _with_place(result: Result, place: str) -> Result:
    return replace(result, case=replace(result.case, target=replace(result.case.target, uri=place)))


def _describe_history(runs: int, counting: Sequence[int]) -> str:
    least, most = min(counting, default=runs), max(counting, default=runs)
    some = "" if least == runs else f", of which the last {least if least == most else f'{least} to {most}'} count"
    return f"the {runs} runs before it{some}"


def _combine_rounds(row: Row, number: int) -> Result:
    """A run's rounds of a case as one result."""
    first = row.ok[0]
    return replace(first, round=number, status=Status.OK, metrics=tuple(row.metrics.values()), operators=())
