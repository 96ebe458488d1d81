"""The journal of deliveries, which findings wait for which target: JSON lines that `kill -9` does not confuse.

A line is one of: `due` (a finding and the targets that are to hear of it), `trying` (a message is about to go out),
`told`, `joined` (its cause was told before, so that no message goes out), `failed`, `dropped`, `over` (what was told no
longer stands), `withdrawn` (and the target knows). A line that was cut off by a crash is passed over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records.findings import Finding
from benchwright.schema.parsing import json_value
from benchwright.system import json_lines
from benchwright.system.locks import hold_lock

HOUR = 3600.0
FIRST_PAUSE, LONGEST_PAUSE = 60.0, 6 * HOUR  # after failures; each doubles it


@dataclass(slots=True)
class TargetRecord:
    """What the journal knows of one target."""

    waiting: dict[str, float] = field(default_factory=dict)  # finding -> since when
    settled: set[str] = field(default_factory=set)  # told, or dropped
    told: set[str] = field(default_factory=set)
    told_at: dict[str, float] = field(default_factory=dict)  # finding -> when a message of it arrived
    commits: dict[str, str] = field(default_factory=dict)  # finding -> the commit at which it was told
    withdrawing: dict[str, float] = field(default_factory=dict)  # finding -> since when it is to be taken back
    withdrawn: set[str] = field(default_factory=set)
    tried: list[float] = field(default_factory=list)  # when messages went out
    failures: int = 0  # in a row
    resting_until: float = 0.0
    longest_rest: float = 0.0  # from now; a later `resting_until` is of a clock that was put back since


@dataclass(slots=True)
class Ledger:
    """What the lines of the journal say together: the findings, and the record of each target."""

    findings: dict[str, Finding] = field(default_factory=dict)
    targets: dict[str, TargetRecord] = field(default_factory=dict)

    def of(self, target: str) -> TargetRecord:
        """The record of a target; a new target gets an empty one."""
        return self.targets.setdefault(target, TargetRecord())


class DeliveryJournal:
    """The file of the journal. `clock` says the time, in seconds since 1970."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.clock = clock

    @contextmanager
    def hold(self) -> Iterator[Ledger]:
        """Reads the ledger and holds its lock: no other process sends messages meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(self.path.with_name(f"{self.path.name}.lock")):
            ledger = Ledger()
            with suppress(FileNotFoundError):
                for _, line in json_lines.read_lines(self.path):
                    _apply(ledger, line)
            yield ledger

    def note_due(self, ledger: Ledger, finding: Finding, targets: Sequence[str]) -> None:
        """Notes that these targets are to get the finding."""
        self._write(ledger, what="due", targets=[*targets], finding=json_value(schema.dumps(finding)))

    def note_attempt(self, ledger: Ledger, target: str, findings: Iterable[str]) -> None:
        """Notes that a message goes out now. Should its outcome never be known, it counts as failed."""
        self._write(ledger, what="trying", target=target, findings=[*findings])

    def note_delivery(
        self, ledger: Ledger, target: str, findings: Iterable[str], commits: Mapping[str, str] | None = None
    ) -> None:
        """Notes that a message arrived, and of which commits it spoke."""
        self._write(ledger, what="told", target=target, findings=[*findings], commits=dict(commits or {}))

    def note_joined(self, ledger: Ledger, target: str, findings: Iterable[str], commits: Mapping[str, str]) -> None:
        """Notes that no message is needed: the target knows the cause of these findings."""
        self._write(ledger, what="joined", target=target, findings=[*findings], commits=dict(commits))

    def note_failure(self, ledger: Ledger, target: str, findings: Iterable[str], why: str, pause: float = 0.0) -> None:
        """Notes that a message did not arrive; `pause` is how many seconds the target asked for."""
        self._write(ledger, what="failed", target=target, findings=[*findings], why=why, pause=pause)

    def note_drop(self, ledger: Ledger, target: str, findings: Iterable[str], why: str) -> None:
        """Notes that these findings need not be sent any more."""
        self._write(ledger, what="dropped", target=target, findings=[*findings], why=why)

    def note_over(self, ledger: Ledger, target: str, findings: Iterable[str]) -> None:
        """Notes that what was sent of these findings is to be taken back."""
        self._write(ledger, what="over", target=target, findings=[*findings])

    def note_withdrawal(self, ledger: Ledger, target: str, findings: Iterable[str]) -> None:
        """Notes that what was sent of these findings was taken back."""
        self._write(ledger, what="withdrawn", target=target, findings=[*findings])

    def _write(self, ledger: Ledger, **line: Any) -> None:
        at = datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="milliseconds")
        handle = json_lines.open_lines(self.path, 0o600)
        try:
            json_lines.append(handle, {"at": at, **line})
        finally:
            os.close(handle)
        _apply(ledger, {"at": at, **line})


def _apply(ledger: Ledger, line: Any) -> None:
    """Adds a line to the ledger; one that makes no sense, or was cut off by a crash, adds nothing."""
    try:
        at = datetime.fromisoformat(line["at"]).timestamp()
        if line["what"] == "due":
            finding = schema.open_document(line["finding"], Finding, where="journal")
            ledger.findings[finding.id] = finding
            for target in line["targets"]:
                ledger.of(target).waiting.setdefault(finding.id, at)
            return
        _apply_event(ledger.of(line["target"]), line["what"], at, line)
    except (KeyError, TypeError, ValueError, DecodeError):
        return


def _apply_event(record: TargetRecord, what: str, at: float, line: dict[str, Any]) -> None:
    if what == "trying":
        record.tried.append(at)
        record.failures += 1  # until something better is known
        _rest(record, at, 0.0)
    elif what == "failed":
        _rest(record, at, float(line.get("pause", 0.0)))
    elif what == "over":
        for finding in line["findings"]:
            record.withdrawing.setdefault(finding, at)
    elif what in ("told", "joined", "dropped", "withdrawn"):
        for finding in line["findings"]:
            _settle(record, what, finding)
            if what == "told":
                record.told_at[finding] = at
        record.commits.update(line.get("commits") or {})
        if what not in ("dropped", "joined"):
            record.failures, record.resting_until = 0, 0.0


def _settle(record: TargetRecord, what: str, finding: str) -> None:
    """Ends the wait of a finding, or of its withdrawal, for a target."""
    taking_back = record.withdrawing.pop(finding, None) is not None
    if what in ("told", "joined"):
        record.told.add(finding)
        record.withdrawn.discard(finding)
    elif taking_back or what == "withdrawn":
        record.withdrawn.add(finding)
        return
    record.waiting.pop(finding, None)
    record.settled.add(finding)


def _rest(record: TargetRecord, at: float, asked: float) -> None:
    doubled = FIRST_PAUSE * 2 ** min(record.failures - 1, 20)
    record.longest_rest = min(LONGEST_PAUSE, max(doubled, asked))
    record.resting_until = at + record.longest_rest
