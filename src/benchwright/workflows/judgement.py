"""Judges what has arrived in a store: every result once, whoever sent it, whatever ends in between.

A look at a series sees all of its values. So of the runs that arrived only the newest of each series is looked at: a
thousand imported runs cost one look at each of their series. What was looked at is settled afterwards; when everything
ends in between, the look is made again, and finds what it found before.

Of which findings people are to be told is noted in the store before a finding is opened, and struck out once the
notifier's journal knows of it: so each is told, and told once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Unpack, cast

from benchwright.analysis import detection
from benchwright.analysis.comparison import SMALLEST
from benchwright.errors import DecodeError, StoreError
from benchwright.events import Counted, Listener, nobody
from benchwright.notify import DeliveryOutcome, MessageDelivery, Notifier
from benchwright.records import Result, Run
from benchwright.records.findings import Finding, FindingChanges, Remark, State
from benchwright.store import Series, Store
from benchwright.store.arrivals import ArrivedBatch, JudgedArchive, JudgingTrouble
from benchwright.vcs.history import History
from benchwright.workflows.control import hold_slow
from benchwright.workflows.machines import hold_unhealthy

AT_ONCE = 20_000  # results of one batch
RECENT = 14 * 86400.0  # seconds: of what an older run shows nobody is told
TRIES = 2  # looks at a run that end the process, before it is left out
_DAY = 86400.0
_RUNS = 8  # that are remembered: those around a change are read for each finding at it
_OPENED = ("opened", detection.CONFIRMED)  # remarks with which a finding is one that people hear of


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedBatch:
    """What came of the results that were judged together."""

    results: int
    runs: int  # that they belong to
    findings: tuple[Finding, ...] = ()  # that are open now and were not before
    troubles: tuple[JudgingTrouble, ...] = ()


def judge_arrivals(
    store: JudgedArchive,
    *,
    repository: History | None = None,
    smallest: float = SMALLEST,
    quiet: float = 0.0,
    announce: bool = False,
    careful: bool = False,
    is_stopped: Callable[[], bool] = lambda: False,
    listener: Listener = nobody,
) -> Iterator[JudgedBatch]:
    """Judges everything that waits, batch by batch.

    Runs that are being measured are left for later, and those that got a result less than `quiet` seconds ago: the rest
    of them may be on its way. With `announce` it is noted of which findings people are to be told (`tell_findings`).
    With `careful`, a run at whose looks the whole process ends again and again is left out.
    """
    while not is_stopped():
        batch = store.arrived(limit=AT_ONCE, quiet=quiet)
        if batch is None:
            return
        hold_unhealthy(store)
        looks = _Looks(_LookedStore(store, batch, listener, announce=announce), repository, smallest)
        # Control benchmarks first: what a machine measured that they show to be slow is not judged.
        for controls in (True, False):
            for run in (one for one in batch.runs if one.is_control is controls):
                if careful:
                    looks.look_carefully(run.run, run.series)
                else:
                    looks.look(run.run, run.series)
                if is_stopped():
                    return  # nothing is settled: the batch is judged again
            if controls:
                hold_slow(store, [run.run for run in batch.runs if run.is_control])
        yield _settle(store, batch, looks)


def _settle(store: JudgedArchive, batch: ArrivedBatch, looks: _Looks) -> JudgedBatch:
    store.settle_arrivals(batch, looks.troubles)
    standing = (store.finding(reference) for reference in looks.found)
    return JudgedBatch(
        results=len(batch.results),
        runs=batch.of_runs,
        findings=tuple(finding for finding in standing if finding.state is State.OPEN),
        troubles=tuple(looks.troubles),
    )


class _Looks:
    """The looks at the series of one batch: what they found, and which series could not be looked at."""

    def __init__(self, view: _LookedStore, repository: History | None, smallest: float) -> None:
        self._view, self._store, self._repository, self._smallest = view, view.store, repository, smallest
        self.found: list[str] = []  # ids of findings that were opened
        self.troubles: list[JudgingTrouble] = []

    def look_carefully(self, run: str, series: Collection[str]) -> None:
        """Looks at these series, unless that was tried before and nobody came back to tell of it."""
        tried = self._store.begin_look(run) - 1
        if tried >= TRIES:
            why = f"the process that judges ended {tried} times while it looked at this run"
            self.troubles += [JudgingTrouble(series=key, run=run, why=why) for key in sorted(series)]
        else:
            self.look(run, series)
        self._store.end_look(run)

    def look(self, run: str, series: Collection[str]) -> None:
        """Looks at these series as of a run."""
        self._view.run_looked_at = run
        try:
            new = self._judge(run, series)
            if new:  # a change of long ago may be over by now, which a second look says
                self._judge(run, {finding.series for finding in new})
        except Exception as error:  # one series that cannot be judged must not hold up all others, whatever is wrong
            if isinstance(error, StoreError) and error.__cause__ is not None:  # it is the database, which all need
                raise
            if len(series) > 1:
                ordered = sorted(series)
                for half in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]):
                    self.look(run, half)
                return
            self.troubles.append(JudgingTrouble(series=next(iter(series)), run=run, why=self._describe(error)))
        else:
            self.found += [finding.id for finding in new]

    def _judge(self, run: str, series: Collection[str]) -> list[Finding]:
        return detection.judge(
            cast(Store, self._view),
            run,
            repository=self._repository,
            smallest=self._smallest,
            among=frozenset(series),
        )

    def _describe(self, error: Exception) -> str:
        """What went wrong, without where the store is: everyone who may read sees this."""
        text: str = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
        place = getattr(self._store, "place", "")
        return text.replace(place, "the store") if place else text


class _LookedStore:
    """The store as a look sees it: runs are read once, and what can be read of a damaged one counts.

    Where people are to be told of a finding, that is noted before it is opened: should everything end in between, it is
    opened by the next look, and told after that. The listener hears how far the looks are.
    """

    def __init__(self, store: JudgedArchive, batch: ArrivedBatch, listener: Listener, *, announce: bool) -> None:
        self.store, self._batch, self._listener, self._announce = store, batch, listener, announce
        self._runs: dict[str, Run] = {}
        self._cases = 0  # that were looked at
        self.run_looked_at = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def history(self, case: str, *, metrics: Sequence[str] = (), limit: int = 1000) -> list[Series]:
        """The series of a case."""
        self._cases += 1
        whole = max(self._cases, self._batch.cases)  # a case of several machines may be looked at as of several runs
        self._listener(Counted(what="cases looked at", done=self._cases, whole=whole))
        return self.store.history(case, metrics=metrics, limit=limit)

    def run(self, run_id: str, *, samples: bool = False) -> Run:
        """A run without raw samples."""
        if run_id not in self._runs:
            if len(self._runs) >= _RUNS:
                del self._runs[next(iter(self._runs))]
            self._runs[run_id] = self._read(run_id)
        return self._runs[run_id]

    def keep_finding(self, finding: Finding) -> Finding:
        """Keeps a finding; one that is open is noted before."""
        if finding.state is State.OPEN:
            self._note(finding.id, finding.drift.last if finding.drift else finding.run)
        return self.store.keep_finding(finding)

    def update_finding(
        self, reference: str, remark: Remark | None = None, **changes: Unpack[FindingChanges]
    ) -> Finding:
        """Changes a finding; one that is confirmed by this is noted before."""
        if remark is not None and remark.what in _OPENED:
            self._note(reference, self.run_looked_at)
        return self.store.update_finding(reference, remark, **changes)

    def _note(self, finding: str, run: str) -> None:
        if self._announce:
            self.store.note_untold(finding, run)

    def _read(self, run_id: str) -> Run:
        try:
            return self.store.run(run_id, samples=False)
        except (StoreError, DecodeError):
            header = self.store.header(run_id)
            ids = [outcome.result for outcome in self.store.outcomes([run_id])]
            return replace(header, results=tuple(self._readable(ids)))

    def _readable(self, ids: Sequence[str]) -> Iterator[Result]:
        for result_id in ids:
            try:
                yield self.store.result(result_id)[1]
            except (StoreError, DecodeError):
                continue


# ---- telling people ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What came of telling people of the findings that were noted."""

    deliveries: tuple[MessageDelivery, ...] = ()
    too_old: tuple[str, ...] = ()  # ids of findings that nobody is told of, as the runs that show them are long past

    def notes(self) -> Iterator[str]:
        """What a person should know of it, a sentence each."""
        for told in self.deliveries:
            if told.outcome is DeliveryOutcome.FAILED:
                yield f"{told.target} could not be notified: {told.why}; it is tried again later"
        if count := len(self.too_old):
            what = "1 finding" if count == 1 else f"{count} findings"
            yield f"nobody is told of {what} in runs that are older than {RECENT / _DAY:.0f} days"


def tell_findings(store: JudgedArchive, notifier: Notifier) -> Announcement:
    """Tells people of the findings that were noted for that, each once, and of what earlier attempts left.

    Of a change that an imported history shows in a run of long ago nobody is told.
    """
    now = datetime.now(UTC)
    telling: dict[str, Finding] = {}
    too_old, gone = [], []
    for noted in store.untold():
        finding = _find(store, noted.finding)
        if finding is None or finding.state is State.SUSPECTED:  # noted just before everything ended
            gone += [noted.finding] if now.timestamp() - noted.at / 1e6 > _DAY else []
        elif _age(store, noted.run, now) > RECENT:
            too_old.append(noted.finding)
        else:
            telling[noted.finding] = finding
    deliveries = notifier.tell(telling.values(), store)
    # Without findings it is the journal that could not be written: then nobody was told, and it is tried again.
    is_noted = not any(told.outcome is DeliveryOutcome.FAILED and not told.findings for told in deliveries)
    if done := [*(telling if is_noted else ()), *too_old, *gone]:
        store.drop_untold(done)
    return Announcement(deliveries=tuple(deliveries), too_old=tuple(too_old))


def _find(store: JudgedArchive, reference: str) -> Finding | None:
    try:
        return store.finding(reference)
    except StoreError:
        return None


def _age(store: JudgedArchive, run: str, now: datetime) -> float:
    """How many seconds ago the run began; for ever when nobody knows any more."""
    try:
        began = datetime.fromisoformat(store.header(run).started_at)
    except (StoreError, DecodeError, ValueError):
        return float("inf")
    return (now - (began if began.tzinfo else began.replace(tzinfo=UTC))).total_seconds()
