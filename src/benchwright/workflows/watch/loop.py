"""Watches a repository: every new commit is built, measured and judged, and whoever asked is told of changes.

What was done is in a journal that `kill -9` does not confuse (`watch.journal`). A build or a benchmark that fails is
a record, not a stop. Where a change was found between commits that were not measured, these are measured too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from benchwright import config, notify
from benchwright.analysis import causes, detection
from benchwright.errors import BenchwrightError, FetchError, TargetError
from benchwright.events import Listener, Noted, nobody
from benchwright.execution.builds import RevisionBuilder, targets
from benchwright.execution.session import DEFAULT_ROUNDS
from benchwright.records.findings import Finding, State
from benchwright.store import Store, open_store
from benchwright.targets.sources import Request
from benchwright.vcs.history import Commit
from benchwright.workflows import validation
from benchwright.workflows.invocation import refuse_nesting
from benchwright.workflows.machines import hold_unhealthy
from benchwright.workflows.watch import interface
from benchwright.workflows.watch.commit import CommitRunner, known_cases
from benchwright.workflows.watch.commit_report import CommitReport
from benchwright.workflows.watch.commits import (
    BranchLine,
    choose_between,
    current_branch,
    name_of_branch,
)
from benchwright.workflows.watch.interface import DrainRequest
from benchwright.workflows.watch.journal import CommitState, JournalKind, JournalLine, WatchJournal
from benchwright.workflows.watch.pairs import AT_ONCE, PairSettings, is_between_measured
from benchwright.workflows.watch.settings import Watched, build_spec, journal_folder, settle_project

PATIENCE = 86400.0  # seconds in which a machine that went away may come back: no commit is to blame for it
_SECOND = 19  # letters of an instant, down to the second
REMEASURE = "remeasure"  # the reason of a run that tells code from environment


def watch(
    watched: Watched,
    *,
    interval: float | None = None,
    listener: Listener = nobody,
    tell: Callable[[CommitReport], None] = lambda handled: None,
) -> bool:
    """Measures what is new; with an `interval` in seconds, looks for more so often until it is told to stop.

    `tell` hears of every commit as soon as it was dealt with. True when all of them are ok. The first SIGINT or SIGTERM
    ends this after the present commit, the second at once, with a `KeyboardInterrupt`; so does a status file that
    holds 0. What is wrong with the request shows before anything is built.
    """
    refuse_nesting()
    validation.check(watched.request, watched.rounds or config.load().rounds or DEFAULT_ROUNDS)
    url = config.store_url(watched.store)
    watched = settle_project(watched, listener)
    builder, *others = (build_spec(watched, host).builder(listener) for host in (watched.host, *watched.others))
    for host in (watched.host, *watched.others):
        if host is not None and not watched.falls_back:
            host.patience = PATIENCE
    branch = watched.following.branch or current_branch(builder.repository)
    watched = replace(watched, following=replace(watched.following, branch=branch))
    with (
        DrainRequest(lambda text: listener(Noted(text=text))) as draining,
        contextlib.closing(open_store(url)) as store,
        WatchJournal(journal_folder(watched, builder.repository, url)) as journal,
    ):
        watched = replace(watched, request=_settle_targets(watched, builder, listener))
        whole = _Watch(watched, [builder, *others], store, journal, listener, tell, notify.open_notifier(url))
        return whole.follow(draining, interval)


def _settle_targets(watched: Watched, builder: RevisionBuilder, listener: Listener) -> Request:
    """The request with each target as every commit is to read it, judged by the newest one and where the watch begins.

    A commit in between that lacks a target is a record, not an error.
    """
    repository, following = builder.repository, watched.following
    places = []
    with contextlib.suppress(FetchError, TargetError):
        newest = repository.bring(following.remote, following.branch).revision.id
        places.append(targets.place_of_revision(f"the newest commit, {newest[:12]}", repository, newest))
    if following.since:
        since = repository.resolve(following.since).revision.id
        places.append(targets.place_of_revision(following.since, repository, since))
    choice = watched.targets_from
    settled = targets.settle(watched.request, places, repository, choice=choice, everywhere=False)
    for note in settled.notes:
        listener(Noted(text=note))
    builder.lend(settled.folders)
    return settled.request


class _Watch:
    """One process of a watch."""

    def __init__(
        self,
        watched: Watched,
        builders: Sequence[RevisionBuilder],
        store: Store,
        journal: WatchJournal,
        listener: Listener,
        tell: Callable[[CommitReport], None],
        notifier: notify.Notifier,
    ) -> None:
        builder, *others = builders
        self._watched, self._builder, self._store, self._journal = watched, builder, store, journal
        self._listener, self._tell, self._notifier = listener, tell, notifier
        self._line = BranchLine(builder.repository, watched.following, journal, self._say)
        self._runner = CommitRunner(
            builder=builder,
            request=watched.request,
            store=store,
            place=config.store_url(watched.store),
            journal=journal,
            rounds=watched.rounds,
            cpus=watched.cpus,
            tags=(*config.load().tags, *watched.request.tags),
            command=watched.command,
            branch=name_of_branch(watched.following.branch),
            rebuild=watched.rebuild,
            others=others,
            falls_back=watched.falls_back,
            listener=listener,
            cases=known_cases(store, journal.state.newest_run),
        )
        self._pairing = PairSettings(
            builder=builder,
            request=watched.request,
            store=store,
            pairs=watched.pairs,
            smallest=watched.smallest,
            cpus=watched.cpus,
            listener=listener,
            others=others,
        )
        validation.check_tags(self._runner.tags)
        self._ok = True

    def follow(self, draining: DrainRequest, interval: float | None) -> bool:
        """Handles commits until it is told to stop; without an interval, until no new commit is left."""
        self._line.start()
        self._finish()
        if self._watched.rebuild:
            self._retry_unbuilt()
        is_idle = True
        while True:
            for commit, backfill in self._waiting(patient=interval is not None):
                if draining.asked or self._is_told_to_stop():
                    return self._ok
                self._handle(commit, backfill=backfill)
                is_idle = False
            if interval is None and is_idle:
                following = self._watched.following
                where = f"{following.remote}/{following.branch}" if following.remote else following.branch
                self._say(f"there is no new commit on {where}")
            if interval is None or not draining.wait(interval, self._is_told_to_stop):
                return self._ok
            self._notify(())  # those that could not be told before

    def _waiting(self, *, patient: bool) -> Iterator[tuple[Commit, bool]]:
        """New commits, then those of gaps; newer ones are looked for before each of these."""
        while True:
            try:
                fresh = self._line.waiting()
            except (FetchError, TargetError) as error:  # a server that is down, a branch that is being replaced
                if not patient:
                    raise
                self._say(f"{error.message}; the watch will try again")
                fresh = []
            yield from ((commit, False) for commit in fresh)
            if not fresh:
                if not self._journal.state.wanted:
                    return
                commit = self._resolve_commit(self._journal.state.wanted[0], backfill=True)
                if commit is not None:  # the last one of the line may be wanted once more
                    yield commit, commit.revision.id != self._journal.state.last

    def _retry_unbuilt(self) -> None:
        """Queues the commits once more that could not be built."""
        ended = self._journal.state.ended
        unbuilt = tuple(revision for revision, entry in ended.items() if entry.outcome is CommitState.UNBUILT)
        if unbuilt:
            self._journal.add(JournalLine(what=JournalKind.RETRIED, revisions=unbuilt))

    def _finish(self) -> None:
        """Finishes the commit that an earlier process was in the middle of."""
        state = self._journal.state
        begun, unjudged = state.begun, state.unjudged
        if begun is not None:
            commit = self._resolve_commit(begun.revision, backfill=begun.backfill)
            if commit is not None:
                self._handle(commit, backfill=begun.backfill)
        elif unjudged is not None:
            self._judge()
            since = unjudged.at[:_SECOND]
            missed = [
                finding for finding in self._store.findings(states=[State.OPEN]) if _was_opened_since(finding, since)
            ]
            for finding in missed:  # found, perhaps, just before that process ended
                self._fill_gap(finding)
            self._notify(missed)
        if state.last:
            interface.write_commit(self._watched.following.commit_file, state.last)

    def _resolve_commit(self, revision: str, *, backfill: bool) -> Commit | None:
        """The commit; of one that the repository no longer has, it is recorded that nobody can go on with it."""
        try:
            return self._builder.repository.resolve(revision)
        except TargetError as error:
            ended = JournalLine(
                what=JournalKind.ENDED, revision=revision, backfill=backfill, outcome=CommitState.INTERRUPTED
            )
            self._journal.add(replace(ended, why=error.message))
            self._say(error.message)
            return None

    def _handle(self, commit: Commit, *, backfill: bool) -> None:
        begin = time.monotonic()
        turn = interface.hold_machine() if self._watched.same_host else contextlib.nullcontext()
        with turn:
            taken = self._runner.take(commit.revision.id, backfill=backfill)
            if not backfill:
                interface.write_commit(self._watched.following.commit_file, commit.revision.id)
            before = self._suspicions()
            findings = self._judge() if self._journal.state.unjudged is not None else []
            suspected = [finding for key, finding in self._suspicions().items() if key not in before]
        handled = CommitReport(
            revision=commit.revision,
            taken=taken,
            findings=tuple(findings),
            suspected=tuple(suspected),
            backfill=backfill,
            seconds=time.monotonic() - begin,
        )
        self._ok = self._ok and handled.ok
        self._tell(handled)
        self._notify(findings)

    # ---- judging ----

    def _judge(self) -> list[Finding]:
        """The changes that people are told of now. Judged as of the newest commit, wherever the last one lies."""
        newest = self._journal.state.newest_run
        findings: list[Finding] = []
        if newest:
            repository = self._builder.repository
            hold_unhealthy(self._store)
            # The branch that is followed is the line here, whatever else is measured into the same store.
            smallest = self._watched.smallest
            findings = detection.judge(self._store, newest, repository=repository, smallest=smallest, own_branch=True)
        findings = self._confirm_in_pairs(findings)
        for finding in findings:
            self._fill_gap(finding)
        findings = [self._find_cause(finding) for finding in findings]
        self._journal.add(JournalLine(what=JournalKind.JUDGED))
        return findings

    def _suspicions(self) -> dict[str, Finding]:
        return {finding.id: finding for finding in self._store.findings(states=[State.SUSPECTED])}

    def _confirm_in_pairs(self, confirmed: Sequence[Finding]) -> list[Finding]:
        """Of what the series confirm, what pairs do not refute; and of what they let one suspect, what pairs confirm.

        Each is measured in pairs once, the surest first, and so many after one commit that a watch goes on.
        """
        state = self._journal.state
        told = {finding.id: finding for finding in confirmed}
        if not self._watched.pairs:
            return list(confirmed)
        waiting = sorted(self._suspicions().values(), key=lambda finding: -(finding.confidence or 0.0))
        both = (finding for finding in (*confirmed, *waiting) if finding.id not in state.paired)
        mine = [finding for finding in both if is_between_measured(finding, state.ended)]
        for finding in mine[:AT_ONCE]:
            self._journal.add(
                JournalLine(what=JournalKind.PAIRED, finding=finding.id)
            )  # before: once is enough, whatever happens
            settled = self._pairing.settle(finding)
            told.pop(finding.id, None)
            if settled.state is State.OPEN:
                told[finding.id] = settled
        return list(told.values())

    def _fill_gap(self, finding: Finding) -> None:
        if len(finding.revisions) < 2 or not self._watched.backfill or finding.drift:  # no commit of it is the culprit
            return
        led, known = finding.revisions, {*self._journal.state.ended}
        gap = choose_between(led, led[0], led[-1], known, self._watched.backfill)
        if gap:
            self._journal.add(JournalLine(what=JournalKind.GAP, finding=finding.id, revisions=tuple(gap)))

    def _find_cause(self, finding: Finding) -> Finding:
        """Where code and environment both changed, the old revision in today's environment says which it was."""
        wanted = finding.why.get("cause") == causes.EITHER and finding.revisions
        if not wanted or finding.id in self._journal.state.remeasured:
            return finding
        self._journal.add(
            JournalLine(what=JournalKind.REMEASURED, finding=finding.id)
        )  # before: once is enough, whatever happens
        run = self._runner.measure_again(finding.revisions[0], REMEASURE)
        try:
            return detection.record_remeasurement(self._store, finding.id, run) if run else finding
        except BenchwrightError as error:
            self._say(error.message)
            return finding

    def _notify(self, findings: Sequence[Finding]) -> None:
        for told in self._notifier.tell(findings, self._store):
            if told.outcome is notify.DeliveryOutcome.FAILED:
                self._say(f"{told.target} could not be notified: {told.why}; the watch will try again")

    def _is_told_to_stop(self) -> bool:
        return interface.is_told_to_stop(self._watched.status_file)

    def _say(self, text: str) -> None:
        self._listener(Noted(text=text))


def _was_opened_since(finding: Finding, since: str) -> bool:
    """Whether the finding was opened or confirmed at that second or later."""
    confirmed = (remark.at for remark in finding.remarks if remark.what == detection.CONFIRMED)
    return max([finding.found_at, *confirmed])[:_SECOND] >= since
