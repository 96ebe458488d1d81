"""Why a job waits, how many are before it, and how long that may take. Pure functions of the state of the lab."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchwright.records.lab import ABSENT, DRAIN, RESERVATION, SECOND, LabHold, LabJob, LabMachine, LabState, Waiting
from benchwright.records.machines import Quarantine
from benchwright.units.selectors import Selector, nearest

SHOWN = 3  # machines of which is told what keeps them

_Group = tuple[str, str, tuple[str, ...], str, str]


@dataclass(slots=True)
class _Ahead:
    """What stands before a job: changed while jobs are counted."""

    jobs: int = 0
    seconds: float = 0.0
    unknown: int = 0  # jobs of which nobody knows how long they take


def explain(state: LabState, *, now: int) -> Mapping[int, Waiting]:
    """Of every job that waits why it does, in words that name machines and people; by the job's number."""
    lab = _Lab(state, now)
    ahead: dict[_Group, _Ahead] = {}
    found: dict[int, Waiting] = {}
    for job in state.jobs:
        if job.state.value != "queued":
            continue
        group = (job.selector, job.machine, job.avoid, job.who, job.prefers)
        able = lab.able(group)
        before = _Ahead()
        for other, counted in ahead.items():
            if able & lab.able(other):
                before.jobs += counted.jobs
                before.seconds += counted.seconds
                before.unknown += counted.unknown
        found[job.id] = Waiting(
            position=before.jobs + 1, seconds=lab.estimate(able, before), why=lab.why(job, able, before.jobs)
        )
        own = ahead.setdefault(group, _Ahead())
        own.jobs += 1
        own.seconds += job.expected
        own.unknown += not job.expected
    return found


def hindrances(state: LabState, machine: LabMachine, *, now: int, who: str | None = None) -> list[str]:
    """What keeps a machine from working, each as a sentence; with `who`, from working for that person."""
    return _Lab(state, now).hindrances(machine, who)


class _Lab:
    """The state, looked at from several sides."""

    def __init__(self, state: LabState, now: int) -> None:
        self._state, self._now = state, now
        self._machines = {machine.name: machine for machine in state.machines}
        self._busy = {job.leased_to: job for job in state.jobs if job.state.value == "leased"}
        self._able: dict[_Group, frozenset[str]] = {}
        known = [job.expected for job in state.jobs if job.expected]
        self._usual = sum(known) / len(known) if known else 0.0

    def able(self, group: _Group) -> frozenset[str]:
        """The machines that may take the jobs of a group now or after what they do."""
        if group not in self._able:
            who = group[3]
            fitting = self._fitting(group)
            self._able[group] = frozenset(one.name for one in fitting if not self.hindrances(one, who))
        return self._able[group]

    def why(self, job: LabJob, able: frozenset[str], before: int) -> str:
        """Why this job waits."""
        group = (job.selector, job.machine, job.avoid, job.who, job.prefers)
        if not able:
            return self._without_machine(job, self._fitting(group))
        resting = {job.leased_to} if job.until > self._now else set()  # it could not measure the job a moment ago
        if able == resting:
            return f"{job.leased_to} gets it again in {span((job.until - self._now) / SECOND)}"
        if free := sorted(able - self._busy.keys() - resting):
            if job.prefers and job.prefers in able and job.prefers not in free:
                return f"it waits a little for {job.prefers}, which measured it last"
            return f"{free[0]} takes it next" if before == 0 else f"before it: {before}"
        names = sorted(able)
        return f"every machine that fits is at work: {', '.join(names[:SHOWN])}{_more(names)}"

    def estimate(self, able: frozenset[str], before: _Ahead) -> float | None:
        """Seconds until a job begins that so much stands before; None where nothing is known."""
        if not able or (before.unknown and not self._usual):
            return None
        left = 0.0
        for name in able & self._busy.keys():
            job = self._busy[name]
            usual = job.expected or self._usual
            if not usual:
                return None
            left += max(0.0, usual - (self._now - job.since) / SECOND)
        return (left + before.seconds + before.unknown * self._usual) / len(able)

    def hindrances(self, machine: LabMachine, who: str | None) -> list[str]:
        """What keeps a machine from working at all, or for somebody."""
        found = []
        silent = (self._now - machine.seen_at) / SECOND
        if not machine.is_offered:
            found.append(f"the agent of {machine.name} has ended")
        elif silent >= ABSENT and machine.name not in self._busy:
            found.append(f"nothing was heard of {machine.name} for {span(silent)}")
        if machine.trouble:
            found.append(f"{machine.name} takes no work: {machine.trouble}")
        found += [_quarantined(machine, one) for one in self._state.quarantines if one.machine == machine.key]
        found += [
            _held(hold)
            for hold in self._state.holds
            if hold.machine == machine.name
            and (hold.kind == DRAIN or (hold.kind == RESERVATION and who is not None and hold.who != who))
        ]
        return found

    def _fitting(self, group: _Group) -> list[LabMachine]:
        selector, machine, avoid, _, _ = group
        wanted = Selector.parse(selector)
        return [
            one
            for one in self._machines.values()
            if wanted.matches(one.described) and one.name not in avoid and machine in ("", one.name)
        ]

    def _without_machine(self, job: LabJob, fitting: Sequence[LabMachine]) -> str:
        if not self._machines:
            return "there is no machine in this lab: benchwright agent offers one"
        if fitting:
            told = [text for one in fitting for text in self.hindrances(one, job.who)]
            return "; ".join(told[:SHOWN]) + _more(told)
        if job.machine and job.machine not in self._machines:
            return f"the machine {job.machine} is not in this lab any more"
        if job.avoid:
            return "; ".join([*job.reasons[-SHOWN:], f"no other machine matches {job.selector}"])
        near = nearest(Selector.parse(job.selector), [(one.name, one.described) for one in self._machines.values()])
        return f"no machine matches {job.selector}; nearest: {near}"


def position_text(waiting: Waiting) -> str:
    """Where a job stands, for people: `3rd, about 4 min`."""
    about = "" if waiting.seconds is None or waiting.position == 0 else f", about {span(waiting.seconds)}"
    return f"{ordinal(waiting.position)}{about}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def span(seconds: float) -> str:
    """Whole seconds, minutes, hours or days: more digits would promise more than is known."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{round(seconds / size)} {unit}"
    return f"{max(1, round(seconds))} s"


def _instant(at: int) -> str:
    return f"{datetime.fromtimestamp(at / SECOND, UTC):%Y-%m-%d %H:%M} UTC"


def _quarantined(machine: LabMachine, quarantine: Quarantine) -> str:
    until = f" until {_instant(quarantine.until)}" if quarantine.until is not None else ""
    return f"{machine.name} is in quarantine{until}: {quarantine.reason}"


def _held(hold: LabHold) -> str:
    until = f" until {_instant(hold.until)}" if hold.until is not None else ""
    reason = f": {hold.reason}" if hold.reason else ""
    done = "is drained" if hold.kind == DRAIN else "is reserved"
    return f"{hold.machine} {done}{f' by {hold.who}' if hold.who else ''}{until}{reason}"


def _more(told: Iterable[str]) -> str:
    left = len([*told]) - SHOWN
    return f"; and {left} more" if left > 0 else ""
