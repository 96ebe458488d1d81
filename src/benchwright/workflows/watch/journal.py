"""What a watch did, line by line, each on the disk before the next thing happens: what `kill -9` leaves is complete.

A commit begins, is given a run, ends, is judged. One that began and did not end is taken up again, and goes on with
its run; none is measured twice, and none is forgotten.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from benchwright import schema
from benchwright.errors import DecodeError, OptionError
from benchwright.system import json_lines
from benchwright.system.locks import open_lock
from benchwright.system.whole_files import sync_folder


class JournalKind(StrEnum):
    """The kinds of lines in the journal of a watch."""

    STARTED = "started"  # the watch, for the first time: with the commit that it starts at
    BEGAN = "began"  # a commit
    RUNNING = "running"  # it was given a run
    ENDED = "ended"
    JUDGED = "judged"
    GAP = "gap"  # commits in between that are to be measured, for a finding
    RETRIED = "retried"  # commits that could not be built, and are wanted once more
    REMEASURED = "remeasured"  # the old revision of a finding
    PAIRED = "paired"  # both sides of a finding, in pairs


class CommitState(StrEnum):
    """The outcomes of a commit: measured, unbuilt and others."""

    MEASURED = "measured"
    FAILED = "failed"  # measured, but not every result is ok
    UNBUILT = "unbuilt"
    UNPLANNED = "unplanned"  # a target that this commit does not have
    INTERRUPTED = "interrupted"  # cut off, and nobody could go on with it


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLine:
    """One line of the journal of a watch."""

    what: JournalKind
    revision: str = ""
    run: str = ""
    outcome: CommitState | None = None
    why: str = ""
    finding: str = ""
    revisions: tuple[str, ...] = ()
    inclusive: bool = False  # of a start: that commit is to be measured itself
    backfill: bool = False  # of a commit: it lies before others that were measured
    at: str = ""


@dataclass(slots=True)
class WatchState:
    """What the lines of a journal say together."""

    start: JournalLine | None = None
    ended: dict[str, JournalLine] = field(default_factory=dict)  # by revision
    last: str = ""  # the newest that ended, those of gaps apart
    newest_run: str = ""  # of those, the last with a run
    begun: JournalLine | None = None  # a commit that began and did not end
    running: str = ""  # its run, once it has one
    unjudged: JournalLine | None = None
    wanted: list[str] = field(default_factory=list)  # of gaps, or once more: still to be measured
    remeasured: set[str] = field(default_factory=set)  # findings
    paired: set[str] = field(default_factory=set)  # findings

    def add(self, entry: JournalLine) -> None:
        """Takes in one more line."""
        match entry.what:
            case JournalKind.STARTED:
                self.start = self.start or entry
            case JournalKind.BEGAN:
                self.begun, self.running = entry, ""
            case JournalKind.RUNNING:
                self.running = entry.run
            case JournalKind.ENDED:
                self._end(entry)
            case JournalKind.JUDGED:
                self.unjudged = None
            case JournalKind.GAP:
                known = {*self.ended, *self.wanted}
                self.wanted += [revision for revision in entry.revisions if revision not in known]
            case JournalKind.RETRIED:
                fresh = [revision for revision in entry.revisions if self.ended.pop(revision, None) is not None]
                self.wanted += fresh
            case JournalKind.REMEASURED:
                self.remeasured.add(entry.finding)
            case JournalKind.PAIRED:
                self.paired.add(entry.finding)

    def _end(self, entry: JournalLine) -> None:
        self.begun, self.running = None, ""
        self.ended[entry.revision] = entry
        self.wanted = [revision for revision in self.wanted if revision != entry.revision]
        measured = entry.outcome in (CommitState.MEASURED, CommitState.FAILED)
        self.unjudged = entry if measured else None
        if not entry.backfill:
            self.last = entry.revision
            self.newest_run = entry.run if measured else self.newest_run


class WatchJournal:
    """The lines of one watch, which one process at a time may write. A context manager."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "journal.jsonl"
        self.state = WatchState()
        self._lock = -1
        self._out = -1

    def __enter__(self) -> WatchJournal:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._lock = _lock_watch(self.file.with_name("lock"))
            self._out = json_lines.open_lines(self.file)  # a line that was cut off never happened
            for entry in _read(self.file):
                self.state.add(entry)
            sync_folder(self.file.parent)
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise OptionError(f"{error.filename or self.file}: {error.strerror}") from None
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for handle in (self._out, self._lock):
            if handle >= 0:
                os.close(handle)
        self._out = self._lock = -1

    def add(self, entry: JournalLine) -> None:
        """Writes a line, whole or not at all; it is on the disk when this returns."""
        dated = {**schema.encode(entry), "at": entry.at or datetime.now(UTC).isoformat(timespec="milliseconds")}
        told = {name: value for name, value in dated.items() if value not in ("", None, [], False)}
        try:
            json_lines.append(self._out, told)
        except OSError as error:
            remedy = "what was measured is in the store; the next start goes on where the journal ends"
            raise OptionError(f"{self.file} cannot be written: {error.strerror}", remedy=remedy) from None
        self.state.add(entry)


def _lock_watch(path: Path) -> int:
    """Holds the lock of a watch until the process ends, however it ends."""
    handle = open_lock(path)
    if handle is None:
        remedy = "stop that one; or watch other targets, or with another --store"
        raise OptionError("another process already watches this repository for these targets", remedy=remedy)
    return handle


def _read(file: Path) -> list[JournalLine]:
    """The lines of a journal file."""
    found = []
    for number, value in json_lines.read_lines(file):
        where = f"{file}:{number}"
        if isinstance(value, ValueError):
            remedy = "repair or remove that line; or remove the file, to start again"
            raise DecodeError(f"{where}: {value}", remedy=remedy)
        found.append(schema.decode(JournalLine, value, where=where))
    return found
