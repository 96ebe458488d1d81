"""One commit: build it, plan its cases, measure them. Whatever goes wrong is a record; nothing is measured twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchwright import config, schema
from benchwright._version import VERSION
from benchwright.errors import OptionError, UserError
from benchwright.events import Listener, Planned, Staged, nobody
from benchwright.execution import lanes, resume
from benchwright.execution.attempt import INTERRUPTED
from benchwright.execution.builds import BuiltRevision, RevisionBuilder
from benchwright.execution.plan_elsewhere import plan_in
from benchwright.execution.plans import in_rounds
from benchwright.execution.session import DEFAULT_ROUNDS, Measuring, Plan, new_run_id, now
from benchwright.records import Case, Failure, Mode, Result, Run, Status, Value, is_sound
from benchwright.store import Store
from benchwright.store.live import Progress
from benchwright.targets.sources import ImportTimes, Request
from benchwright.workflows import validation
from benchwright.workflows.ab.pairs import setting_of
from benchwright.workflows.asv_projects import without_rounds
from benchwright.workflows.live import LiveProgress
from benchwright.workflows.run import with_usual_length
from benchwright.workflows.watch import equal_machines
from benchwright.workflows.watch.journal import CommitState, JournalKind, JournalLine, WatchJournal

REASON = "watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOutcome:
    """How building and measuring a commit ended."""

    outcome: CommitState
    run: str = ""
    why: str = ""
    results: int = 0
    failed: int = 0


@dataclass(slots=True, kw_only=True)
class CommitRunner:
    """Measures commits as the request says. `cases` are those of the last commit that could be planned."""

    builder: RevisionBuilder
    request: Request
    store: Store
    place: str  # the store's URL
    journal: WatchJournal
    rounds: int | None = None
    cpus: Sequence[int] = ()
    tags: Sequence[str] = ()
    command: Sequence[str] = ()
    branch: str = ""  # the one that is followed
    rebuild: bool = False  # also what was built before
    others: Sequence[RevisionBuilder] = ()  # on machines that are equal to that of `builder`: all share the cases out
    falls_back: bool = False  # to the others, when one of the machines is away
    listener: Listener = nobody
    cases: list[Case] = field(default_factory=list)
    _imports: ImportTimes = field(init=False)
    _everywhere: list[BuiltRevision] = field(default_factory=list)  # the present commit on every machine
    _shares: list[list[Case]] = field(default_factory=list)  # what each of those that are there measures

    def __post_init__(self) -> None:
        self._imports = ImportTimes(self.listener)

    def take(self, revision: str, *, backfill: bool = False) -> CommitOutcome:
        """Builds and measures a commit, or goes on with it where it was cut off; its end is in the journal."""
        state = self.journal.state
        before = state.running if state.begun is not None and state.begun.revision == revision else ""
        if state.begun is None:
            self.journal.add(JournalLine(what=JournalKind.BEGAN, revision=revision, backfill=backfill))
        taken = self._measure_commit(revision, before)
        ended = JournalLine(what=JournalKind.ENDED, revision=revision, backfill=backfill)
        self.journal.add(replace(ended, outcome=taken.outcome, run=taken.run, why=taken.why))
        return taken

    def measure_again(self, revision: str, reason: str) -> str:
        """A run of its own of a commit that was measured before; its id, or "" when it cannot be measured."""
        built = self._prepare(revision)
        try:
            cases = self._plan_cases(built) if built.ok else []
        except UserError:
            cases = []
        if not cases:
            return ""
        measuring = self._session(built, cases, None, reason)
        self._measure(measuring, built)
        return measuring.id

    def _measure_commit(self, revision: str, before: str) -> CommitOutcome:
        built = self._prepare(revision, rebuild=self.rebuild)
        if built.failure is not None:
            return self._record_failure(built, built.failure, CommitState.UNBUILT, before)
        try:
            cases = self._plan_cases(built)
        except UserError as error:
            failure = Failure(kind="plan", message=error.message, remedy=error.remedy)
            return self._record_failure(built, failure, CommitState.UNPLANNED, before)
        self.cases = cases
        resumed = _find_run(self.store, before)
        if resumed is not None:
            try:
                cases = resume.match_cases(resumed, cases, self._count_rounds(cases), built.folder)
            except OptionError as error:
                return self._make_outcome(resumed, CommitState.INTERRUPTED, error.message)
        measuring = self._session(built, cases, resumed, REASON)
        if measuring.id != before:
            self.journal.add(JournalLine(what=JournalKind.RUNNING, revision=revision, run=measuring.id))
        run = self._measure(measuring, built)
        bad = [result for result in run.results if not is_sound(result)]
        why = next((result.error.message for result in bad if result.error), "")
        return self._make_outcome(run, CommitState.FAILED if bad else CommitState.MEASURED, why)

    def _prepare(self, revision: str, *, rebuild: bool = False) -> BuiltRevision:
        """The commit, built, as one of the branch that is followed: its working copy of git's is on none."""
        found = [builder.prepare(revision, rebuild=rebuild) for builder in (self.builder, *self.others)]
        self._everywhere = [
            replace(one, revision=replace(one.revision, branch=one.revision.branch or self.branch)) for one in found
        ]
        return equal_machines.choose(self._everywhere, falls_back=self.falls_back)

    def _plan_cases(self, built: BuiltRevision) -> list[Case]:
        usual = config.load()
        cases = [
            with_usual_length(case, usual)
            for case in plan_in(built, replace(self.request, listener=self._imports.hear))
        ]
        validation.check_cases(cases)
        return cases if self.rounds is None else without_rounds(cases)

    def _count_rounds(self, cases: Sequence[Case]) -> int:
        if self.rounds is not None:
            return self.rounds
        usual = config.load().rounds
        # What is called once may take hours, and says itself how often it repeats.
        return 1 if all(case.load.mode is Mode.SINGLE for case in cases) else usual or DEFAULT_ROUNDS

    def _session(self, built: BuiltRevision, cases: Sequence[Case], resumed: Run | None, reason: str) -> Measuring:
        there = [one for one in self._everywhere if one.ok and one.there is not None] if self.others else []
        guests: dict[str, str] = {}
        if there:
            usual = equal_machines.find_usual(_find_run(self.store, self.journal.state.newest_run))
            names = [one.there.name for one in self._everywhere if one.there is not None]
            self._shares, guests = equal_machines.assign(cases, there, names, usual)
        plan = Plan(
            cases=cases,
            hosts=[one.there for one in there if one.there is not None],
            spread=bool(there),
            notes=(lambda case: _note_usual(guests, case)) if guests else None,
            rounds=self._count_rounds(cases),
            directory=built.folder,
            cpus=self.cpus,
            tags=self.tags,
            command=self.command,
            reason=reason,
            resumed=resumed,
        )
        teller = LiveProgress(self.place, self.listener)
        return Measuring(plan, teller.follow_store(lambda: SharedStore(self.store)), teller)

    def _measure(self, measuring: Measuring, built: BuiltRevision) -> Run:
        """Every case in every round that has no record yet. Being told to stop at once is a `KeyboardInterrupt`."""
        plan, here = measuring.plan, setting_of(built)
        wanted = list(_order_missing(measuring))
        self._imports.tell(plan.cases, plan.rounds, "fewer --rounds or targets take less", whose=" of each commit")
        self.listener(Staged(text=f"measuring {built.revision.id[:12]}: {_describe_plan(plan, len(wanted))}"))
        self.listener(Planned(total=len(wanted)))
        if plan.hosts:
            there = [setting_of(one) for one in self._everywhere if one.ok]
            lanes.measure_shares(measuring, self._shares, _order_missing, there)
            if measuring.interrupted:
                raise KeyboardInterrupt
        else:
            with measuring:
                for case, number in wanted:
                    measuring.measure(case, number, here)
                    if measuring.interrupted:
                        raise KeyboardInterrupt
        # The journal knows that the watch has to judge it, whatever happens; a server need not.
        if mark_judged := getattr(self.store, "mark_judged", None):
            mark_judged(measuring.id)
        return measuring.run

    def _record_failure(
        self, built: BuiltRevision, failure: Failure, outcome: CommitState, before: str
    ) -> CommitOutcome:
        """A run that says of every case why it has no numbers."""
        kept = _find_run(self.store, before)
        if kept is not None:
            return self._make_outcome(kept, outcome, failure.message)
        run = new_run_id()
        self.journal.add(JournalLine(what=JournalKind.RUNNING, revision=built.revision.id, run=run))
        facts = self.builder.collect_environment()
        results = tuple(
            Result(
                id=f"{run}-{i}",
                case=case,
                round=0,
                status=Status.FAILED,
                environment=facts,
                started_at=now(),
                duration=0.0,
                revision=built.revision,
                error=failure,
            )
            for i, case in enumerate(self.cases)
        )
        record = Run(
            id=run,
            started_at=now(),
            harness=VERSION,
            command=tuple(self.command),
            reason=REASON,
            revision=built.revision,
            results=results,
            tags=tuple(self.tags),
            planned=len(results),
        )
        self.store.add_run(record)
        return self._make_outcome(record, outcome, failure.message)

    def _make_outcome(self, run: Run, outcome: CommitState, why: str) -> CommitOutcome:
        failed = sum(not is_sound(result) for result in run.results)
        return CommitOutcome(outcome=outcome, run=run.id, why=why, results=len(run.results), failed=failed)


def _describe_plan(plan: Plan, wanted: int) -> str:
    cases = "1 case" if len(plan.cases) == 1 else f"{len(plan.cases)} cases"
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    return f"{cases}, {rounds}" + (f", {wanted} left" if wanted < len(plan.cases) * plan.rounds else "")


def _order_missing(measuring: Measuring) -> Iterator[tuple[Case, int]]:
    """Every case in every round that has no record yet."""
    for case, number in in_rounds(measuring.plan):
        if _is_missing(measuring, case, number):
            yield case, number


def _note_usual(guests: Mapping[str, str], case: Case) -> dict[str, Value]:
    usual = guests.get(schema.case_key(case))
    return {equal_machines.USUAL: usual} if usual else {}


def _is_missing(measuring: Measuring, case: Case, number: int) -> bool:
    """Whether there is no record, or only one that says that it was interrupted."""
    if measuring.has_numbers(case, number):
        return False
    bad = measuring.failed_result(case, number)
    return bad is None or (bad.error is not None and bad.error.kind == INTERRUPTED)


def known_cases(store: Store, run: str) -> list[Case]:
    """The cases of a run in the store, each once."""
    begun = _find_run(store, run)
    results = begun.results if begun is not None else ()
    return [*{(result.case.name, str(result.case.params)): result.case for result in results}.values()]


def _find_run(store: Store, run: str) -> Run | None:
    """A run as the store has it; None when it was cut off before the store heard of it. Another error is one."""
    return store.run(run, samples=False) if run and run in store.run_ids() else None


@dataclass(frozen=True, slots=True)
class SharedStore:
    """The one connection of a whole watch to its store: opening it for each commit would cost a third of a second."""

    store: Store

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        self.store.begin(run)

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result."""
        self.store.add(run_id, result, instead_of=instead_of)

    def tell_progress(self, progress: Progress) -> None:
        """Reports the progress of a run to the store, where the store takes such reports."""
        if tell := getattr(self.store, "tell_progress", None):
            tell(progress)

    def close(self) -> None:
        """Leaves the connection open; a `StoreLostError` when what was kept is no longer in place."""
        if confirm := getattr(self.store, "confirm", None):
            confirm()
