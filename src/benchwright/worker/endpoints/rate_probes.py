"""The search for the highest rate that a server takes under objectives.

A probe of a served model takes minutes: to bound a p99 takes 300 answers, and answers take seconds. So users tell first
what the server can do at all, a probe that surely breaks a bound ends early, and the search ends in time with what it
has found. The steps themselves are those of any target: `worker.engine.rate_search`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from benchwright.errors import OptionError
from benchwright.records import Load, Mode
from benchwright.worker.endpoints.request_times import breaks, judge
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.engine.arrivals import load_of_probe
from benchwright.worker.engine.rate_search import LONGER, Probe, best, count_arrivals, find_rate

if TYPE_CHECKING:
    from benchwright.worker.engine.engine import MeasuredLoad

ALONE = 16  # requests of one user, who waits for nobody
MORE = 4  # times as many users, as long as they reach more
MOST_USERS = 256
GAIN = 1.25  # times the requests per second: less is no more
SHORT = 1 / 8  # of the arrivals of a probe: what a long one begins with
PATIENCE = 4.0  # seconds from which on a probe is long
USUAL_BUDGET = 60.0  # seconds of measuring, where nothing is said; see BUDGET
BUDGET = 16  # times the seconds of measuring: what a search may take, less than `execution.attempt` waits


@dataclass(slots=True, kw_only=True)
class RateProbes:
    """One search: `measure` issues a load, `typical` is what one request takes, in ns; `tell` hears how far it is."""

    load: Load
    measure: Callable[[Load], MeasuredLoad]
    typical: float
    tell: Callable[[str], None] = lambda text: None
    now: Callable[[], float] = time.monotonic
    ended_early: str = ""  # why the search ended before its answer was as close as it should be
    _tries: itertools.count[int] = field(default_factory=itertools.count)
    _until: float = 0.0

    def search(self) -> MeasuredLoad:
        """What was measured at the highest rate that keeps the objectives, else at the lowest that was tried."""
        load = self.load
        if load.copies > 1 or not load.objectives:
            remedy = "for example --objective 'ttft_p99<500ms'"
            raise OptionError("--find-rate needs an --objective and one copy", remedy=remedy)
        self._until = self.now() + budget_of(load)
        alone = self._ask_users(1)
        is_hopeless = breaks(alone, load.objectives)
        probes = find_rate(
            self._probe, ceiling=self._find_ceiling(alone), hopeless=lambda _: is_hopeless, may_go_on=self._has_time
        )
        chosen = best(probes) or min(probes, key=lambda p: p.rate)
        tried = tuple(Probe(rate=p.rate, meets=p.meets, outcome=None) for p in probes)
        return replace(chosen.outcome, probes=tried, rate=chosen.rate if chosen.meets else None)

    def _find_ceiling(self, alone: MeasuredLoad) -> float:
        """Requests per second that users reach together: more of them are asked as long as that brings more."""
        highest, users = max(_rate_of(alone), 1e9 / max(1.0, self.typical) / 2), MORE
        while users <= MOST_USERS and self._has_time(highest, 2 * users):
            reached = _rate_of(self._ask_users(users))
            if reached < GAIN * highest:
                return max(highest, reached)
            highest, users = reached, MORE * users
        return highest

    def _ask_users(self, users: int) -> MeasuredLoad:
        self.tell(f"asking as {users} user{'s' * (users > 1)}, {self._describe_time_left()}")
        own_draw = replace(load_of_probe(self.load, next(self._tries)), rate=None, find_rate=False, duration=None)
        return self.measure(replace(own_draw, mode=Mode.CLOSED, workers=users, samples=max(ALONE, 2 * users)))

    def _probe(self, rate: float) -> tuple[bool, MeasuredLoad]:
        """Whether the objectives hold at a rate: a short look first where the whole one takes long."""
        count = count_arrivals(self.load, rate)
        if count / rate > PATIENCE:
            short = self._at(rate, max(ALONE, int(count * SHORT)))
            if breaks(short, self.load.objectives):
                return False, short
        measured = self._at(rate, count)
        meets = judge(measured, self.load.objectives)
        if meets is None and self._has_time(rate, LONGER * count):  # it seems to hold: look longer, once
            measured = self._at(rate, LONGER * count)
            meets = judge(measured, self.load.objectives)
        return bool(meets), measured

    def _at(self, rate: float, count: int) -> MeasuredLoad:
        self.tell(f"{rate:.3g} requests/s for {count / rate:.0f} s, {self._describe_time_left()}")
        own_draw = load_of_probe(self.load, next(self._tries))
        return self.measure(replace(own_draw, rate=rate, find_rate=False, duration=None, samples=count))

    def _describe_time_left(self) -> str:
        left = max(0.0, self._until - self.now())
        return f"this search ends in {f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} at most"

    def _has_time(self, rate: float, count: int = 0) -> bool:
        """Whether a probe can end before the time is up."""
        seconds = (count or count_arrivals(self.load, rate)) / rate
        if self.now() + seconds <= self._until:
            return True
        self.ended_early = f"the next step would have taken {seconds:.0f} s at {rate:.3g} requests/s"
        return False


def budget_of(load: Load) -> float:
    """Seconds that a search may take."""
    if load.timeout is not None:
        return 0.8 * load.timeout
    return BUDGET * max(USUAL_BUDGET, load.duration or 0.0)


def _rate_of(measured: MeasuredLoad) -> float:
    """Requests per second that succeeded."""
    outcomes = measured.samples.columns["outcome"]
    return sum(outcome == Outcome.OK for outcome in outcomes) * 1e9 / max(1, measured.samples.elapsed)
