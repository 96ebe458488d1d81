"""The Python door of A/B: `benchwright.ab(...)`, and what it returns."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import config, vcs
from benchwright.errors import OptionError, TargetError
from benchwright.events import Listener, Noted, nobody
from benchwright.execution.builds import TIMEOUT, Builder, BuiltRevision, RevisionBuilder
from benchwright.execution.builds.matrix import MatrixBuilder, ProjectMatrix
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.builds.targets import AUTO, SettledRequest, place_of_folder, place_of_revision, settle
from benchwright.execution.outposts.environment_desk import WorkTerms
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.outposts.revisions import RevisionThere
from benchwright.execution.session import Plan
from benchwright.records import Inputs, Load, Revision, Scalar
from benchwright.records.trials import AbRules, Trial, TrialRow
from benchwright.store import open_store
from benchwright.store.sqlite_file import looks_ready
from benchwright.system.interrupts import end_as_ctrl_c
from benchwright.targets.sources import ImportTimes, Request
from benchwright.vcs.history import History
from benchwright.workflows import arguments, invocation, run, validation
from benchwright.workflows.ab import trial
from benchwright.workflows.ab.trial import TrialDestination
from benchwright.workflows.asv_projects import settle_project
from benchwright.workflows.live import LiveProgress

if TYPE_CHECKING:
    import pandas

_SOME = 5  # packages that are named
_USUAL = {  # revisions of either side, by the kind of repository; of several, the first that there is
    ("git", "control"): ("main", "master"),
    ("git", "treatment"): ("HEAD",),
    ("hg", "control"): ("default",),
    ("hg", "treatment"): (".",),
}


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """A finished trial: prints as a table."""

    record: Trial

    @property
    def rows(self) -> tuple[TrialRow, ...]:
        """One for each case that both sides have."""
        return self.record.rows

    @property
    def ok(self) -> bool:
        """Whether both sides were built, every case was measured on both, and none became worse."""
        return self.record.ok

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each case. Needs pandas."""
        from benchwright.report.data_frames import trial_frame

        return trial_frame(self.record)

    def __str__(self) -> str:
        from benchwright.report.ab import print_trial
        from benchwright.report.table import plain_text

        return plain_text(lambda file: print_trial(self.record, file=file)).rstrip("\n")

    def __repr__(self) -> str:
        return f"<MeasuredTrial {self.record.id}: {len(self.rows)} cases>"

    def _repr_html_(self) -> str:
        from benchwright.report.notebook import trial_html

        return trial_html(self.record)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRequest:
    """A side as it was asked for: a revision to build, "" for the usual one; or a folder or an interpreter or both, as
    they are."""

    revision: str = ""
    folder: str = ""
    python: str = ""
    commit: str = ""  # that the revision means, once that is known

    @property
    def as_it_is(self) -> bool:
        """Whether there is nothing to build."""
        return bool(self.folder or self.python)

    @property
    def label(self) -> str:
        """The name of this side in a sentence."""
        return " with ".join(part for part in (self.folder, self.python) if part) or self.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSpec:
    """How revisions are built."""

    repo: Path = Path()
    command: str = ""
    timeout: float = TIMEOUT
    again: bool = False  # also what was built before, or failed
    surroundings: Surroundings = field(default_factory=Surroundings)
    targets_from: str = AUTO
    host: OutpostHost | None = None  # the machine that builds and measures; None: this one
    project: ProjectMatrix | None = None  # of asv: its file says how, and in which environments

    def builder(self, listener: Listener = nobody) -> RevisionBuilder:
        """Returns the builder for these settings."""
        if self.project is not None:
            return MatrixBuilder(
                self.project, timeout=None if self.timeout == TIMEOUT else self.timeout, listener=listener
            )
        return Builder(
            self.repo,
            command=self.command,
            timeout=self.timeout,
            surroundings=self.surroundings,
            listener=listener,
            host=self.host,
        )


def ab(
    *targets: str | os.PathLike[str] | Callable[..., Any],
    repo: str | os.PathLike[str] = ".",
    control: str = "",
    treatment: str = "",
    control_dir: str | os.PathLike[str] = "",
    treatment_dir: str | os.PathLike[str] = "",
    control_python: str | os.PathLike[str] = "",
    treatment_python: str | os.PathLike[str] = "",
    build: str = "",
    rebuild: bool = False,
    surroundings: Surroundings | None = None,
    targets_from: str = AUTO,
    runtime: str | Sequence[str] | None = None,
    batch_size: int | Sequence[int] | None = None,
    params: Mapping[str, Sequence[Scalar]] | None = None,
    inputs: Inputs | None = None,
    load: Load | None = None,
    duration: float | None = None,
    tags: Sequence[str] = (),
    smallest: float = 0.01,
    false_alarms: float = 0.01,
    pairs: int = 40,
    metric: str = "",
    seed: int | None = None,
    verify: bool = True,
    host: str = "",
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
) -> MeasuredTrial:
    """Sets the treatment against the control, in pairs of fresh processes, and returns a verdict for each case.

    Revisions of `repo` are built with the shell line `build`, each in a copy and an environment of its own; `rebuild`
    also what was built before, or failed. `surroundings` says which packages and submodules they have, `targets_from`
    whose benchmark file is used. Where none is named, `main` or `master` (in Mercurial `default`) stands against what
    is checked out. A side for which a folder or an interpreter is named is taken as it is. A case is
    looked at until it is decided, in at most `pairs` pairs; changes below `smallest` count as none, and no more than
    `false_alarms` of the cases that did not change are called better or worse. `metric` is `latency_p50`, or
    `wall_time` of what is called once. `seed` decides the order inside the pairs. `host` is one other machine on which
    both sides are built and measured, such as `ssh:rack7`.
    """
    whole = load or Load()
    request = Request(
        targets=[invocation.target_text(target) for target in targets],
        runtimes=arguments.one_or_many(runtime, ()),
        batch_sizes=arguments.one_or_many(batch_size, (1,)),
        params=params or {},
        inputs=inputs or Inputs(),
        load=whole if duration is None else replace(whole, duration=duration),
        tags=tags,
    )
    rules = AbRules(
        smallest=smallest,
        false_alarms=false_alarms,
        pairs=pairs,
        metric=metric,
        seed=fresh_seed() if seed is None else seed,
        verify=verify,
    )
    ours = SideRequest(revision=control, folder=os.fspath(control_dir), python=os.fspath(control_python))
    theirs = SideRequest(revision=treatment, folder=os.fspath(treatment_dir), python=os.fspath(treatment_python))
    making = BuildSpec(
        repo=Path(repo),
        command=build,
        again=rebuild,
        surroundings=surroundings or Surroundings(),
        targets_from=targets_from,
    )
    machine = arguments.machine(host)
    with end_as_ctrl_c() if machine else contextlib.nullcontext():
        try:
            placed = replace(making, host=machine)
            found = run_ab(request, ours, theirs, rules, placed, store=store, save=save, listener=listener)
        finally:
            arguments.close_host(machine)
    return MeasuredTrial(found)


def run_ab(
    request: Request,
    control: SideRequest,
    treatment: SideRequest,
    rules: AbRules,
    making: BuildSpec,
    *,
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
    plan: Plan | None = None,
) -> Trial:
    """Makes both sides ready and runs the trial; what is wrong with the request shows before.

    `plan` holds what all runs of the trial have in common, other than tags.
    """
    invocation.refuse_nesting()
    validation.check(request, rules.pairs)
    _check(rules)
    tags = collect_tags(request)
    request, making = settle_project(request, making, listener)
    if making.project is not None and (control.as_it_is or treatment.as_it_is):
        raise OptionError(
            "of an asv project, revisions are compared", remedy="name them: --control REV --treatment REV"
        )
    builder = None if control.as_it_is and treatment.as_it_is else making.builder(listener)
    if builder is not None:
        control = _resolve_revision(control, "control", builder.repository)
        treatment = _resolve_revision(treatment, "treatment", builder.repository)
        for note in _warn_of_sides(control, treatment, builder.repository):
            listener(Noted(text=note))
    for side in (control, treatment):
        _check_folder(side)
    settled = _settle_targets(request, (control, treatment), making, builder)
    for note in settled.notes:
        listener(Noted(text=note))
    request = settled.request
    keeping = replace(destination_in(store, save, listener), labels=(control.label, treatment.label))
    ours, theirs = (
        replace(_prepare_side(side, making, builder, listener), last_paths=settled.folders)
        for side in (control, treatment)
    )
    if not (ours.ok and theirs.ok):
        return trial.ab(ours, theirs, request, rules, keeping)
    if different := _warn_of_packages(ours, theirs):
        listener(Noted(text=different))
    imports = ImportTimes(listener)
    matched = trial.match(ours, theirs, replace(request, listener=imports.hear))
    validation.check_size(2 * len(matched.cases), rules.pairs)
    validation.check_cases(case for both in matched.cases for case in both)
    usual = config.load()
    cases = tuple((run.with_usual_length(a, usual), run.with_usual_length(b, usual)) for a, b in matched.cases)
    imports.tell([a for a, _ in cases], 2 * rules.pairs, "fewer --pairs or targets take less", most=True)
    return trial.trial(ours, theirs, replace(matched, cases=cases), rules, keeping, replace(plan or Plan(), tags=tags))


def destination_in(store: str | None, save: bool, listener: Listener) -> TrialDestination:
    """Where results go: the store that is named or usual, or nowhere."""
    url = config.store_url(store)
    if not save:
        return TrialDestination(listener=listener)
    teller = LiveProgress(url, listener)
    return TrialDestination(
        open_store=teller.follow_store(lambda: open_store(url)),
        looks_ready=lambda: looks_ready(url),
        listener=teller,
    )


def collect_tags(request: Request, *more: str) -> tuple[str, ...]:
    """The tags of the settings and of the request, and more."""
    tags = (*config.load().tags, *request.tags, *more)
    validation.check_tags(tags)
    return tags


def fresh_seed() -> int:
    """A random seed, for a trial whose order nobody chose."""
    return int.from_bytes(os.urandom(4), "big")


# ---- the two sides ----


def _resolve_revision(side: SideRequest, name: str, repository: History) -> SideRequest:
    """The side with its commit, of the usual revision where none is named; one that does not exist is refused."""
    if side.as_it_is:
        return side
    if side.revision:
        return replace(side, commit=repository.resolve(side.revision).revision.id)
    usual = _USUAL[repository.kind, name]
    for revision in usual:
        with contextlib.suppress(TargetError):
            return replace(side, revision=revision, commit=repository.resolve(revision).revision.id)
    raise OptionError(
        f"{repository.root}: no {name} is named, and there is no {' or '.join(usual)}",
        remedy=f"--{name} REV: a branch, a tag, a bookmark or a commit; --{name}-dir FOLDER takes a folder as it is",
    )


def _warn_of_sides(control: SideRequest, treatment: SideRequest, repository: History) -> Iterator[str]:
    """Warnings that the two sides may not be what was meant: one commit, or changes that are not committed."""
    if control.as_it_is or treatment.as_it_is:
        return
    remedy = "--treatment-dir . measures a working copy as it is"
    if control.commit == treatment.commit:
        yield f"{control.label} and {treatment.label} are the same commit, {treatment.commit[:12]}; {remedy}"
    elif (here := vcs.revision(repository.root)) and here.dirty and here.id == treatment.commit:
        yield f"changes that are not committed are not measured; {remedy}"


def _settle_targets(
    request: Request, sides: Sequence[SideRequest], making: BuildSpec, builder: RevisionBuilder | None
) -> SettledRequest:
    """The request with each target as both sides are to read it."""
    places = [
        place_of_revision(side.label, builder.repository, side.commit)
        if builder is not None and not side.as_it_is
        else place_of_folder(side.label, Path(side.folder or ".").absolute())
        for side in sides
    ]
    repository = builder.repository if builder is not None else None
    return settle(request, places, repository, choice=making.targets_from)


def _warn_of_packages(control: BuiltRevision, treatment: BuiltRevision) -> str:
    """A warning that the two sides have different packages; "" where they have the same."""
    ours, theirs = control.packages, treatment.packages
    if not (control.own and treatment.own) or ours == theirs:
        return ""
    names = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    told = [f"{name} {ours.get(name, 'none')} and {theirs.get(name, 'none')}" for name in names]
    some = ", ".join(told[:_SOME]) + (f" and {len(told) - _SOME} more" if len(told) > _SOME else "")
    return f"the sides differ in packages, not in code alone: {some}; --constraint FILE gives both the same"


def _prepare_side(
    side: SideRequest, making: BuildSpec, builder: RevisionBuilder | None, listener: Listener
) -> BuiltRevision:
    if not side.as_it_is and builder is not None:
        return builder.prepare(side.commit, rebuild=making.again)
    return _take_as_it_is(side) if making.host is None else _take_to(making.host, side, listener)


def _check_folder(side: SideRequest) -> None:
    if side.folder and not Path(side.folder).is_dir():
        raise OptionError(f"there is no folder {side.folder}", remedy="name the folder that holds the target")


def _take_as_it_is(side: SideRequest) -> BuiltRevision:
    """A folder and an interpreter that need no build, in the form of a finished build."""
    folder = Path(side.folder or ".").absolute()
    python = shutil.which(side.python) if side.python else sys.executable
    if python is None:
        raise OptionError(f"there is no interpreter {side.python}", remedy="name its file, such as env/bin/python")
    revision = vcs.revision(folder) or Revision(vcs="", id=folder.name)
    # Not resolved: where an interpreter is a link in a virtual environment, the link is what makes it belong there.
    return BuiltRevision(revision=revision, folder=folder, python=str(Path(python).absolute()), log=Path(os.devnull))


def _take_to(host: OutpostHost, side: SideRequest, listener: Listener) -> BuiltRevision:
    """A folder that is sent as it is, and an interpreter of the machine that measures."""
    built = _take_as_it_is(replace(side, python=""))
    terms = WorkTerms(folder=str(built.folder), python=side.python, revision=built.revision.id)
    there = RevisionThere(host, terms, listener)
    made = there.prepare(built.paths)
    return replace(built, python=made.python, failure=made.failure, there=there)


def _check(rules: AbRules) -> None:
    for name, share in (("smallest", rules.smallest), ("false_alarms", rules.false_alarms)):
        if not 0 < share < 1:
            raise OptionError(f"{name}: {share} is not between 0 and 1", remedy=f"for example {name}=0.01")
    if rules.pairs < 1:
        raise OptionError(f"pairs: {rules.pairs} is too few", remedy="40 are usual")
