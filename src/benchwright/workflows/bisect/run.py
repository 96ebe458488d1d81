"""The Python door of bisection: between two revisions, or from a finding, whose suspects it then names."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from benchwright import config, schema
from benchwright.analysis.detection import OURS
from benchwright.errors import OptionError, StoreError, TargetError
from benchwright.events import Listener, Noted, nobody
from benchwright.execution.builds import BuiltRevision, RevisionBuilder
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.builds.targets import AUTO, place_of_revision, settle
from benchwright.execution.hosts.matrix import ENVIRONMENT
from benchwright.execution.plan_elsewhere import plan_in
from benchwright.execution.session import Plan, now
from benchwright.records import Case, Run, Scalar
from benchwright.records.bisections import Bisected
from benchwright.records.findings import BISECTED, Finding, FindingChanges, Remark
from benchwright.report.bisection import bisected_text, headline
from benchwright.schema.series_identity import series_key_of
from benchwright.store import Store, open_store
from benchwright.targets.sources import ImportTimes, Request
from benchwright.worker.runtimes.asv import NAME as ASV
from benchwright.workflows import validation
from benchwright.workflows.ab.run import BuildSpec, collect_tags, destination_in, fresh_seed
from benchwright.workflows.asv_projects import settle_project
from benchwright.workflows.bisect import search
from benchwright.workflows.bisect.search import BisectionTerms, CaseIn
from benchwright.workflows.invocation import refuse_nesting
from benchwright.workflows.run import with_usual_length

if TYPE_CHECKING:
    import pandas

_COPY = re.compile(r"(.*/[0-9a-f]{40}/work)/.*")  # a working copy of `builds`
_SUSPECT = 0.001  # the least probability that is written to a finding
_RUNS = 100  # earlier bisections of the range that are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What to bisect: a finding, or two revisions; both where the finding's own range is not the one to search."""

    finding: str = ""
    good: str = ""
    bad: str = ""
    case: str = ""  # words of the name or the parameters, where the targets have several


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBisection(Bisected):
    """A finished bisection: prints as the command line shows it."""

    def print(self, file: TextIO | None = None) -> None:
        """Writes the headline, the probability of each suspect and the notes."""
        from benchwright.report.ascii import emit_text

        emit_text(file or sys.stdout, f"{self}\n")

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each commit of the range. Needs pandas."""
        from benchwright.report.data_frames import bisection_frame

        return bisection_frame(self)

    def __str__(self) -> str:
        return bisected_text(self)

    def __repr__(self) -> str:
        return f"<MeasuredBisection {self.id}: {len(self.commits)} commits>"

    def _repr_html_(self) -> str:
        from benchwright.report.notebook import bisection_html

        return bisection_html(self)


def bisect(
    *targets: str,
    finding: str = "",
    good: str = "",
    bad: str = "",
    repo: str | Path = ".",
    build: str = "",
    rebuild: bool = False,
    surroundings: Surroundings | None = None,
    targets_from: str = AUTO,
    confidence: float = BisectionTerms().confidence,
    most_runs: int = search.MOST_RUNS,
    every: bool = False,
    metric: str = "",
    duration: float | None = None,
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
) -> MeasuredBisection:
    """Finds the commit behind a change: of a finding, or of `targets`, one case, between `good` and `bad`.

    Each commit that is looked at is built with the shell line `build` in a copy and an environment of its own, with
    `rebuild` also where it was built before or failed, with the packages that `surroundings` says. It is measured in
    pairs against the good one until one commit is the culprit with probability `confidence`, then against its parent,
    for the size of its own change. With `every` the search goes on to the next culprit. It ends when `most_runs`
    processes have run.
    """
    request = Request(targets=targets)
    if duration is not None:
        request = replace(request, load=replace(request.load, duration=duration))
    terms = BisectionTerms(confidence=confidence, most_runs=most_runs, metric=metric, seed=fresh_seed(), every=every)
    asked = Range(finding=finding, good=good, bad=bad)
    making = BuildSpec(
        repo=Path(repo),
        command=build,
        again=rebuild,
        surroundings=surroundings or Surroundings(),
        targets_from=targets_from,
    )
    found = seek(asked, request, terms, making, store=store, save=save, listener=listener)
    return MeasuredBisection(**{each.name: getattr(found, each.name) for each in dataclasses.fields(found)})


def seek(
    asked: Range,
    request: Request,
    terms: BisectionTerms,
    making: BuildSpec,
    *,
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
    plan: Plan | None = None,
) -> Bisected:
    """Bisects as asked; what is wrong with the request shows before anything is built.

    `plan` holds the CPUs and the command line of the run.
    """
    refuse_nesting()
    _check(asked, request, terms)
    url = config.store_url(store)
    finding, run = _look_up_finding(url, asked.finding) if asked.finding else (None, None)
    if finding and not finding.has_ratio and not terms.metric:
        raise _refuse_shares(finding)
    good, bad = _ends(asked, finding)
    request, making = _settle_project(request, finding, run, making, listener)
    builder = making.builder(listener)
    tag = search.tag_of(builder, good, bad, "\0".join(filter(None, (making.command, making.surroundings.name))))
    request = _settle_targets(request, (good, bad), making, builder, listener)
    tags = collect_tags(request, search.REASON, tag)
    terms = replace(terms, rebuild=making.again)
    imports = ImportTimes(listener)
    request = replace(request, listener=imports.hear)

    def seen(case: Case) -> None:
        imports.tell([case], terms.most_runs, "a smaller --most-runs takes less, and tells less", most=True)

    found = search.bisect(
        builder,
        good,
        bad,
        _case_in(asked, request, builder, finding, run, seen),
        _with_finding(terms, finding) if finding else terms,
        destination_in(store, save, listener),
        earlier=_earlier_runs(url, tag) if save else (),
        plan=replace(plan or Plan(), tags=tags),
    )
    if finding and save and found.pairs:
        _write_to_finding(url, finding, found)
    return found


def _settle_project(
    request: Request, finding: Finding | None, run: Run | None, making: BuildSpec, listener: Listener
) -> tuple[Request, BuildSpec]:
    """The request, and how revisions are built: as an asv project says that is the target, or the finding's."""
    case = _case_of_finding(finding, run) if finding is not None and not request.targets else None
    if case is None or case.target.runtime != ASV:
        return settle_project(request, making, listener)
    only = {ENVIRONMENT: (case.params[ENVIRONMENT],)} if ENVIRONMENT in case.params else {}
    found = replace(request, targets=[case.target.uri.partition("::")[0]], params=only)
    return request, settle_project(found, making, listener)[1]


def _settle_targets(
    request: Request, ends: Sequence[str], making: BuildSpec, builder: RevisionBuilder, listener: Listener
) -> Request:
    """The request with each target as every revision is to read it."""
    repository = builder.repository
    places = [place_of_revision(end, repository, repository.resolve(end).revision.id) for end in ends]
    settled = settle(request, places, repository, choice=making.targets_from)
    for note in settled.notes:
        listener(Noted(text=note))
    builder.lend(settled.folders)
    return settled.request


def _check(asked: Range, request: Request, terms: BisectionTerms) -> None:
    if not asked.finding and not (asked.good and asked.bad):
        raise OptionError("there is no range to bisect", remedy="name a finding, or give --good REV --bad REV TARGET")
    if not asked.finding or request.targets:
        validation.check(request, terms.most_runs)
    if not 0.5 <= terms.confidence < 1:
        raise OptionError(
            f"a confidence of {100 * terms.confidence:g} % is not possible", remedy="give 50 % to 99.9 %; 98 % is usual"
        )
    if terms.most_runs < 2:
        raise OptionError(f"{terms.most_runs} runs are too few", remedy=f"{search.MOST_RUNS} are usual")


def _look_up_finding(url: str, reference: str) -> tuple[Finding, Run | None]:
    """The finding, with the run that showed it first where that is still there."""
    store = open_store(url, create=False)
    try:
        finding = store.finding(reference)
        try:
            return finding, store.run(finding.run, samples=False)
        except StoreError:
            return finding, None
    finally:
        store.close()


def _ends(asked: Range, finding: Finding | None) -> tuple[str, str]:
    known = finding.revisions if finding else ()
    if not (asked.good and asked.bad) and len(known) < 2:
        raise OptionError(
            f"finding {asked.finding} names no range of revisions", remedy="name both ends: --good REV --bad REV"
        )
    return asked.good or known[0], asked.bad or known[-1]


def _refuse_shares(finding: Finding) -> OptionError:
    return OptionError(
        f"finding {finding.id} is of failed requests: where none fail there is no ratio for pairs to judge",
        remedy="measure the commits of its range with benchwright watch, or name another metric: --metric METRIC",
    )


def _with_finding(terms: BisectionTerms, finding: Finding) -> BisectionTerms:
    return replace(
        terms,
        metric=terms.metric or finding.metric,
        suspects={suspect.revision: suspect.probability for suspect in finding.suspects},
        measured=finding.revisions,
        effect=finding.effect,
    )


def _earlier_runs(url: str, tag: str) -> Sequence[Run]:
    try:
        store = open_store(url, create=False)
    except StoreError:  # nothing is kept there yet; whether it can be is seen when the first result is
        return ()
    try:
        return [store.run(summary.id, samples=False) for summary in store.runs(limit=_RUNS, tag=tag)]
    finally:
        store.close()


def _write_to_finding(url: str, finding: Finding, found: Bisected) -> None:
    """Writes the outcome of a bisection to its finding; one that names no commit leaves the suspects as they are."""
    ranked = sorted(found.commits, key=lambda suspect: -suspect.probability)
    changes: FindingChanges = {}
    if found.culprits:
        changes["suspects"] = tuple(each for each in ranked if each.probability >= _SUSPECT)
    store: Store = open_store(url)
    try:
        remark = Remark(at=now(), who=OURS, what=BISECTED, text=headline(found))
        store.update_finding(finding.id, remark, **changes)
    finally:
        store.close()


# ---- the case, as each revision has it ----


def _case_in(
    asked: Range,
    request: Request,
    builder: RevisionBuilder,
    finding: Finding | None,
    run: Run | None,
    seen: Callable[[Case], None],
) -> CaseIn:
    """How the case is found in a revision; `seen` is told of it where it was planned."""
    if request.targets or request.command or finding is None:
        usual = config.load()
        name = finding.case if finding and not asked.case else ""

        def announce_and_settle(case: Case) -> Case:
            seen(case)
            return with_usual_length(case, usual)

        return plan_case(request, name=name, words=asked.case, finished=announce_and_settle)
    case = _case_of_finding(finding, run)
    if case is None:
        raise TargetError(
            f"the run behind finding {finding.id} is not in the store, so its case is not known",
            remedy=f"name the target too: benchwright bisect --finding {finding.id} TARGET",
        )
    file = Path(case.target.uri.partition("::")[0])
    if file.suffix == ".py" and file.is_file():
        builder.lend([str(file.parent)])  # behind everything: no working copy but the revision's own is imported
    return lambda built: move_case(case, builder.repository.root, built)


def plan_case(
    request: Request, *, name: str = "", words: str = "", finished: Callable[[Case], Case] = lambda case: case
) -> CaseIn:
    """The one case of a request, or the one of that name or with these words among several, as each revision has it.

    A case whose whole name the words are is meant before those that only hold them.
    """
    known: list[tuple[str, Mapping[str, Scalar]]] = []

    def case_in(built: BuiltRevision) -> Case:
        cases = plan_in(built, request)
        if known:
            wanted = [case for case in cases if (case.name, case.params) == known[0]]
        elif name:
            wanted = [case for case in cases if case.name == name]
        else:
            wanted = [case for case in cases if case.name == words] or [case for case in cases if words in _label(case)]
        if len(wanted) != 1:
            raise _refuse_cases(built, cases, wanted)
        known[:] = [(wanted[0].name, wanted[0].params)]
        return finished(wanted[0])

    return case_in


def _refuse_cases(built: BuiltRevision, cases: Sequence[Case], wanted: Sequence[Case]) -> TargetError:
    where = f"revision {built.revision.id[:12]}"
    if not wanted:
        return TargetError(f"{where} does not have this case", remedy="choose a range in which both ends have it")
    labels = [_label(case) for case in cases]
    some = "; ".join(labels[:4]) + ("; ..." if len(labels) > 4 else "")
    varied = [name for name in wanted[0].params if len({str(case.params.get(name)) for case in wanted}) > 1]
    narrower = "".join(f" --param {name}={wanted[0].params[name]}" for name in varied)
    remedy = f"name one of them{f', for example with{narrower}' if narrower else ''}"
    return TargetError(f"{where}: {len(wanted)} cases, and one can be bisected: {some}", remedy=remedy)


def _label(case: Case) -> str:
    return " ".join([case.name, *(f"{key}={value}" for key, value in case.params.items())])


def _case_of_finding(finding: Finding, run: Run | None) -> Case | None:
    for result in run.results if run else ():
        if series_key_of(result, finding.metric) == finding.series:
            return result.case
    return None


def move_case(case: Case, root: Path, built: BuiltRevision) -> Case:
    """The case with every path below the repository, or below another working copy, in this working copy.

    A file below the repository that this revision does not have is the user's own, and stays where it is.
    """
    told = json.dumps(schema.encode(dataclasses.replace(case, version="")))
    folders = {str(root)} | {match[1] for text in _all_texts(json.loads(told)) if (match := _COPY.fullmatch(text))}
    return schema.decode(Case, _replace_folders(json.loads(told), folders, str(built.folder)), where="case")


def _all_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for each in value for text in _all_texts(each)]
    return [value] if isinstance(value, str) else []


def _replace_folders(value: Any, folders: set[str], folder: str) -> Any:
    if isinstance(value, dict):
        return {key: _replace_folders(each, folders, folder) for key, each in value.items()}
    if isinstance(value, list):
        return [_replace_folders(each, folders, folder) for each in value]
    if isinstance(value, str):
        known = next((each for each in folders if value.startswith(f"{each}/")), None)
        there = folder + value[len(known) :] if known else value
        path = there.partition("::")[0]
        return value if not Path(path).exists() and Path(value.partition("::")[0]).exists() else there
    return value
