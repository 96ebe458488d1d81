"""Judges what arrives, in a process of its own: looking at series takes a processor, which uploads need meanwhile.

The server starts that process when something waits, and again, after a pause, when it ended badly. The process ends
with the server, however that ends; what it had not settled by then is judged by the next one. One process at a time
judges a database, however many servers it has.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TextIO

from benchwright import notify, schema
from benchwright.config import Notify
from benchwright.errors import BenchwrightError, StoreError
from benchwright.store import open_store
from benchwright.store.sql import SqlStore
from benchwright.store.sql.run_writer import is_read_only
from benchwright.store.sqlite_file import database_file
from benchwright.system import orphans
from benchwright.system.process import PATIENCE
from benchwright.workflows.judgement import JudgedBatch, judge_arrivals, tell_findings

PERIOD = 1.0  # seconds between two looks at the list
IDLE = 20.0  # seconds without anything on the list, after which a process that has nobody to tell ends
RETELL = 60.0  # seconds between two attempts to tell what could not be told
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # before it is started again; each failure doubles it
CAREFUL_AFTER = 2  # failures in a row that were not the database's
STANDBY, NO_STORE = 75, 74  # exit codes: another process judges this database; the database failed
_NICE = 15
_TAIL = 20  # lines that are remembered of what it said


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeJob:
    """What the process is told on its standard input: nobody else can read that, as it may hold a password."""

    store_url: str
    notify: Notify = field(default_factory=Notify)
    quiet: float = 10.0  # seconds: see `ServerSettings`
    idle: float = IDLE
    careful: bool = False  # it ended badly several times: it should find out at which run


class Judge:
    """A thread that keeps the process of a server going."""

    def __init__(self, store: SqlStore, job: JudgeJob, *, period: float = PERIOD, log: TextIO | None = None) -> None:
        self._store, self._job, self._period = store, job, period
        self._log = log or sys.stderr
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="judge", daemon=True)
        self._failures = 0
        self._crashes = 0  # those of them that were not the database's fault

    def start(self) -> None:
        """Starts the thread, unless nothing could be written to the store."""
        url = self._job.store_url
        is_file = "://" not in url or url.startswith("sqlite")
        if not (is_file and is_read_only(database_file(url))):
            self._thread.start()

    def end(self) -> None:
        """Ends the process and the thread."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE)

    def _go_on(self) -> None:
        while not self._ended.is_set():
            pause = self._period
            if self._is_wanted():
                pause = self._run()
            self._ended.wait(pause)

    def _is_wanted(self) -> bool:
        """Whether something waits to be judged, somebody may have to be told, or it is to be shown that all is well."""
        try:
            if self._failures > 0 or self._store.judging().waiting > 0:
                return True
            return bool(notify.all_targets(self._job.notify, self._store))
        except BenchwrightError:  # a database that is away comes back
            return False

    def _run(self) -> float:
        """Runs the process to its end; returns how many seconds to wait before the next one."""
        said: deque[str] = deque(maxlen=_TAIL)
        began = time.monotonic()
        try:
            code = self._run_process(said)
        except OSError as error:  # no process could be started
            code = None
            said.append(str(error))
        if code is None and self._ended.is_set():
            return 0.0
        if code in (0, STANDBY):
            self._failures = self._crashes = 0
            return self._period if code == 0 else 5 * self._period
        if time.monotonic() - began > LONGEST_PAUSE:  # it did well for some time
            self._failures = self._crashes = 0
        self._failures += 1
        self._crashes += code != NO_STORE  # a database that is away says nothing of the run that was looked at
        why = _explain(code, said)
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE)
        self._log.write(f"judge: {why}; it is started again in {pause:.0f} s\n")
        with suppress(StoreError):  # which may be what is wrong
            self._store.note_judge_failure(why)
        return pause

    def _run_process(self, said: deque[str]) -> int | None:
        """The exit status of the process; None when the server ends before it does."""
        reading, writing = os.pipe()
        with (
            os.fdopen(reading, encoding="utf-8", errors="replace") as lines,
            os.fdopen(writing, "wb") as output,
            _as_input(replace(self._job, careful=self._crashes >= CAREFUL_AFTER)) as given,
            orphans.start_tied(_command_for, os.environ, output=output, given=given) as child,
        ):
            output.close()  # the process holds the other end
            listening = threading.Thread(target=self._listen, args=(lines, said), daemon=True)
            listening.start()
            while child.poll() is None and not self._ended.wait(0.1):
                pass
            if child.poll() is None:
                return None
            listening.join(1.0)
            return child.returncode

    def _listen(self, lines: TextIO, said: deque[str]) -> None:
        with suppress(ValueError):  # closed meanwhile
            for line in lines:
                said.append(line.rstrip("\n"))
                self._log.write(f"judge: {line}")


@contextmanager
def _as_input(job: JudgeJob) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as given:
        given.write(json.dumps(schema.encode(job)).encode())
        given.seek(0)
        yield given


def _command_for(lifeline: str) -> list[str]:
    return [sys.executable, "-P", "-c", _CODE, lifeline]


_ROOT = str(Path(__file__).resolve().parents[2])
_CODE = f"import sys; sys.path.append({_ROOT!r}); from benchwright.server.judge import main; main(sys.argv[1:])"


def _explain(code: int | None, said: deque[str]) -> str:
    if code == NO_STORE:  # everyone who reads sees this, and where the database is does not concern them
        return "the database does not do what is asked of it; the server's standard error says more"
    last = next((line for line in reversed(said) if line.strip()), "")
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"the process that judges was ended by {signal.Signals(-code).name}"
    return last or f"the process that judges ended with exit code {code}"


# ---- in the process ----


def main(arguments: list[str]) -> None:
    """Judges what arrives until nothing has for a while, and tells people; ends when the server does."""
    lifeline = int(arguments[0])
    os.set_inheritable(lifeline, False)
    orphans.tie(lifeline)
    os.nice(_NICE)
    job = schema.decode(JudgeJob, json.load(sys.stdin), where="job")
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    try:
        code = run_judge(job)
    except BenchwrightError as error:
        _say(str(error).replace("\n", ": "))
        code = NO_STORE if isinstance(error, StoreError) else 1
    sys.exit(code)


def run_judge(job: JudgeJob) -> int:
    """Judges and tells until nothing is left; the exit code of the process."""
    store = open_store(job.store_url, create=False)
    assert isinstance(store, SqlStore)
    with closing(store), store.hold_judging() as is_held:
        return STANDBY if is_held is None else _Work(job, store, is_held).go_on()


class _Work:
    """What the process does, while nobody else does it."""

    def __init__(self, job: JudgeJob, store: SqlStore, is_held: Callable[[], bool]) -> None:
        self._job, self._store, self._is_held = job, store, is_held
        self._notifier = notify.open_notifier(job.store_url, job.notify)
        self._told_at = 0.0

    def go_on(self) -> int:
        """Judges what arrives until nothing has for a while; the exit code of the process."""
        busy_at = time.monotonic()
        while True:
            announce = self._has_targets()
            for batch in judge_arrivals(
                self._store,
                quiet=self._job.quiet,
                announce=announce,
                careful=self._job.careful,
                is_stopped=self._is_lost,
            ):
                _report(batch)
                _note_success(self._store)
                self._tell()
            if self._is_lost():
                _say("the connection to the database was lost")
                return NO_STORE
            _note_success(self._store)
            if time.monotonic() - self._told_at > RETELL:
                self._tell()
            if announce or self._store.judging().waiting:
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at > self._job.idle:
                return 0
            time.sleep(PERIOD)

    def _is_lost(self) -> bool:
        return not self._is_held()

    def _has_targets(self) -> bool:
        """Whether anybody is to be told: people add targets to those of the file while the server runs."""
        return bool(notify.all_targets(self._job.notify, self._store))

    def _tell(self) -> None:
        if not self._has_targets():
            return
        self._told_at = time.monotonic()
        for note in tell_findings(self._store, self._notifier).notes():
            _say(note)


def _note_success(store: SqlStore) -> None:
    if store.judging().failing:
        store.note_judge_failure("")


def _report(batch: JudgedBatch) -> None:
    if batch.findings or batch.troubles:
        _say(f"{batch.results} results of {batch.runs} runs judged: {len(batch.findings)} findings")
    for trouble in batch.troubles:
        _say(f"series {trouble.series} could not be judged as of run {trouble.run}: {trouble.why}")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
