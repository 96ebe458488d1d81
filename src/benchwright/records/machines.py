"""Machines as series tell them apart, and the stretches of time in which what one of them measured is not judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from benchwright.records import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine, as series tell them apart, and what it did."""

    key: str  # schema.environment_key
    environment: Environment  # the newest, without knobs
    results: int
    failed: int
    cases: int
    first_at: int
    last_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A stretch of time in which the results of a machine are kept and marked, but not judged."""

    machine: str  # schema.environment_key
    since: int  # microseconds since 1970; a result that began then is not judged
    until: int | None = None  # a result that began then is judged again; None: until somebody releases the machine
    reason: str = ""
    who: str = ""
    made_at: str = ""  # when it was decided
    released_by: str = ""  # "" where it ended by itself, or lasts
    finding: str = ""  # the id of the finding in the machine's control benchmark that is the reason, if one is

    def covers(self, machine: str, at: int) -> bool:
        """Whether a result of that machine that began at an instant is in quarantine."""
        return self.machine == machine and self.since <= at and (self.until is None or at < self.until)


class Quarantines:
    """The quarantines of a store: the one place that says whether a result is judged."""

    def __init__(self, known: Iterable[Quarantine] = ()) -> None:
        self._by_machine: dict[str, list[Quarantine]] = {}
        for one in known:
            self._by_machine.setdefault(one.machine, []).append(one)

    def __bool__(self) -> bool:
        return bool(self._by_machine)

    def of(self, machine: str) -> list[Quarantine]:
        """The quarantines of a machine, in the order they were given."""
        return [*self._by_machine.get(machine, ())]

    def covering(self, machine: str, at: int) -> Quarantine | None:
        """The quarantine that a result of the machine fell into, if it did; of several the one given first."""
        return next((one for one in self._by_machine.get(machine, ()) if one.covers(machine, at)), None)

    def covering_result(self, machine: str, started_at: str) -> Quarantine | None:
        """The same for an instant as records write it; one that cannot be read is in no quarantine."""
        return self.covering(machine, _microseconds(started_at)) if self._by_machine.get(machine) else None

    def is_judged(self, machine: str, at: int) -> bool:
        """Whether a result of the machine that began at that instant (microseconds since 1970) is judged."""
        return self.covering(machine, at) is None

    def is_judged_result(self, machine: str, started_at: str) -> bool:
        """The same for an instant as records write it; one that cannot be read is in no quarantine."""
        return self.covering_result(machine, started_at) is None


def _microseconds(instant: str) -> int:
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return -(2**63)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000_000)
