"""The search for the highest rate that a server takes under objectives, within a time that is known before.

Users tell first what the server can do at all. Short looks at rates then find the way, and long ones show whether a
rate holds: in a short one the queue of a rate that is a little too high has not grown yet. A look that is lost ends
early, and every step is as long as the time that is left allows, so that there is an answer when it is over.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.records import Load, Mode, Objective, Value
from benchwright.records.probes import CLOSE, RateProbe, choose_best, excess
from benchwright.worker.endpoints.request_times import ERRORS, breaks, judge, rows_of
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.engine.arrivals import load_of_probe
from benchwright.worker.engine.rate_search import fewest_calls, quantile_of

if TYPE_CHECKING:
    from benchwright.worker.engine.engine import MeasuredLoad

Measure = Callable[[Load, float], "MeasuredLoad"]  # issues a load, each request of which has so many seconds

USUAL_TIME = 240.0  # seconds of a search, where nothing is said
OF_TIMEOUT = 0.8  # the share of --timeout that a search may take: what is left is for what is around it
ALONE = 16  # requests of one user, who waits for nobody; and of a short look, at least
MORE = 4  # times as many users, as long as they reach more
MOST_USERS = 256
GAIN = 1.25  # times the requests per second: less is no more
MOST_LOOKS = 48
LOWEST = 1 / 64  # share of the ceiling below which queues are as good as empty

ASKING = 1 / 4  # share of the time within which users are asked
ORIENTING = 1 / 2  # and within which short looks begin
STEP = 1 / 12  # and the most that one of these takes
CONFIRMING = 0.55  # share of the time left that a long look takes, as long as none has held
DRAIN = 1 / 6  # share of the time that is left for answers after the last request was sent, at most
SHORTEST = 2.0  # seconds of a look, where the time allows
QUEUE = 8  # times the largest bound: so long a look, that a rate an eighth too high is seen to be
DOWN, UP = 0.8, 1.25  # the next rate to look at for long, where nothing else is known


@dataclass(slots=True, kw_only=True)
class RateProbes:
    """One search: `typical` is what one request takes, in ns; `tell` hears how far it is, `keep` what it has."""

    load: Load
    measure: Measure
    typical: float
    patience: float = 60.0  # seconds that a request may take
    tell: Callable[[str], None] = lambda text: None
    keep: Callable[[Mapping[str, Value]], None] = lambda known: None
    report: Callable[[], Any] = lambda: None  # what else there is to tell of what was measured last
    now: Callable[[], float] = time.monotonic
    probes: list[RateProbe] = field(default_factory=list)
    reported: Any = None  # what `report` said of the load that is the answer
    alone_breaks: str = ""  # the bound that one user alone breaks
    _looks: dict[int, tuple[MeasuredLoad, Any]] = field(default_factory=dict)  # those that may be the answer, by place
    _tries: itertools.count[int] = field(default_factory=itertools.count)
    _begin: float = 0.0
    _drain: float = 0.0

    def search(self) -> MeasuredLoad:
        """What was measured at the highest rate that held, else at the one that came nearest to it."""
        load = self.load
        if load.copies > 1 or not load.objectives:
            remedy = "for example --objective 'ttft_p99<500ms'"
            raise OptionError("--find-rate needs an --objective and one copy", remedy=remedy)
        self._begin = self.now()
        alone = self._ask_users(1)
        slowest = max(alone.samples.columns["latency"], default=0) / 1e9
        self._drain = min(DRAIN * self.time, max(SHORTEST, 4 * slowest, 2 * self._largest_bound()))
        self.alone_breaks = next((one.metric for one in load.objectives if breaks(alone, [one])), "")
        if self.alone_breaks:
            rate = max(_rate_of(alone), 1 / max(1e-3, slowest)) / 2
            self._look(rate, self._short(rate))
        else:
            ceiling = self._find_ceiling(alone)
            self._confirm(*self._orient(ceiling), floor=ceiling * LOWEST)
        return self._conclude()

    @property
    def time(self) -> float:
        """Seconds that it takes at most."""
        return search_time(self.load)

    def _conclude(self) -> MeasuredLoad:
        best = choose_best(self.probes)
        chosen, self.reported = self._looks[self.probes.index(best or self._find_nearest())]
        return replace(chosen, probes=tuple(self.probes), rate=best.held_rate if best else None)

    def _find_nearest(self) -> RateProbe:
        """Where no rate holds: the look whose worst value is the least beyond its bound."""
        bounds = {objective.metric: objective.bound for objective in self.load.objectives}
        return min(self.probes, key=lambda probe: (excess(probe, bounds), probe.rate))

    # ---- what the server can do at all ----

    def _find_ceiling(self, alone: MeasuredLoad) -> float:
        """Requests per second that users reach together: more of them are asked as long as that brings more."""
        highest, users = max(_rate_of(alone), 1e9 / max(1.0, self.typical) / 2), MORE
        while users <= MOST_USERS and self._left() > (1 - ASKING) * self.time:
            reached = _rate_of(self._ask_users(users))
            if reached < GAIN * highest:
                return max(highest, reached)
            highest, users = reached, MORE * users
        return highest

    def _ask_users(self, users: int) -> MeasuredLoad:
        self._tell(f"asking as {users} user{'s' * (users > 1)}")
        own_draw = replace(load_of_probe(self.load, next(self._tries)), rate=None, find_rate=False)
        closed = replace(own_draw, mode=Mode.CLOSED, workers=users, duration=STEP * self.time)
        return self.measure(
            replace(closed, samples=max(ALONE, 2 * users)), min(self.patience, self._left() - self.time / 2)
        )

    # ---- looks at rates ----

    def _orient(self, ceiling: float) -> tuple[float, float]:
        """By short looks: the highest rate that seems to hold, 0 where none does, and the lowest that does not."""
        top = math.inf if STEP * self.time > QUEUE * self._largest_bound() else ceiling  # a queue would not show
        low, high, rate = 0.0, math.inf, ceiling / 2
        while rate >= ceiling * LOWEST and (math.isinf(high) or high - low > CLOSE * high):
            is_late = self._left() < (1 - ORIENTING) * self.time or len(self.probes) > MOST_LOOKS / 2
            if self.probes and (is_late or rate * self._short(rate) < ALONE):
                break
            if self._look(rate, self._short(rate)).meets:
                low = max(low, rate)
            else:
                high = min(high, rate)
            if not low:
                rate /= 2
            elif low >= top:
                return low, low
            else:
                rate = min(2 * rate, top) if math.isinf(high) else (low + high) / 2
        return low, min(high, top)

    def _confirm(self, low: float, high: float, *, floor: float) -> None:
        """Looks for long at the best rate so far, then lower until one holds, then between that and the next."""
        rate, held, length = low or min(probe.rate for probe in self.probes), 0.0, 0.0
        while len(self.probes) < MOST_LOOKS and rate >= floor and not (held and high - held <= CLOSE / 2 * high):
            wanted = self._count_to_be_sure(rate) / rate
            left = self._left() - self._drain
            seconds = min(max(wanted, self._short(rate)), left if held else CONFIRMING * left)
            if seconds < (min(wanted, length / 2) if held else self._short(rate) / 2):
                break  # too short to say more than is known
            if rate * seconds < ALONE:
                break
            if self._look(rate, seconds, is_long=True).meets:
                held, length = rate, seconds
                rate = UP * rate if math.isinf(high) else (held + high) / 2
            else:
                high = min(high, rate)
                rate = (held + high) / 2 if held else DOWN * rate

    def _look(self, rate: float, seconds: float, *, is_long: bool = False) -> RateProbe:
        """Sends requests at a rate for so long, and judges the objectives."""
        self._tell(f"{rate:.3g} requests/s for {seconds:.0f} s")
        own_draw = load_of_probe(self.load, next(self._tries))
        count = max(2, round(rate * seconds))
        asked = replace(own_draw, rate=rate, find_rate=False, duration=None, samples=count)
        patience = max(0.1, min(self.patience, self._left() - seconds))
        measured = self.measure(asked, patience)
        self.probes.append(describe_probe(measured, asked, is_long=is_long))
        self._looks[len(self.probes) - 1] = measured, self.report()
        nearest = self._find_nearest()
        self._looks = {  # the answers to all requests of a long search would fill the memory
            place: look
            for place, look in self._looks.items()
            if self.probes[place].meets or self.probes[place] is nearest
        }
        best = choose_best(self.probes)
        found = best.held_rate if best else None
        tried = schema.encode(tuple(self.probes))
        self.keep({"search": {"best_rate": found, "alone_breaks": self.alone_breaks, "probes": tried}})
        return self.probes[-1]

    def _short(self, rate: float) -> float:
        """Seconds of a short look: enough requests for its percentiles to be some, and time for a queue to show."""
        wanted = max(ALONE, *(_fewest_to_see(objective) for objective in self.load.objectives)) / rate
        return min(STEP * self.time, max(SHORTEST, QUEUE * self._largest_bound(), wanted))

    def _count_to_be_sure(self, rate: float) -> int:
        """Requests that show with 95 % confidence that the objectives hold, where they are far from their bounds."""
        return max(self.load.samples or 0, math.ceil(rate), *map(fewest_calls, self.load.objectives))

    def _largest_bound(self) -> float:
        return max((one.bound for one in self.load.objectives if one.metric != ERRORS), default=0.0)

    def _left(self) -> float:
        return self._begin + self.time - self.now()

    def _tell(self, step: str) -> None:
        best = choose_best(self.probes)
        held = f"; {best.held_rate:.3g}/s held so far" if best else ""
        left = max(0.0, self._left())
        self.tell(
            f"{step}, this search ends in {f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} at most{held}"
        )


def search_time(load: Load) -> float:
    """Seconds that a search takes at most, from the first request to the last answer."""
    seconds = load.duration or USUAL_TIME
    return seconds if load.timeout is None else min(seconds, OF_TIMEOUT * load.timeout)


def describe_probe(measured: MeasuredLoad, asked: Load, *, is_long: bool) -> RateProbe:
    """How the objectives fared at the rate that was asked for."""
    judged = judge(measured, asked.objectives)
    rows = rows_of(measured.samples)
    sent = [row["scheduled"] + row["lateness"] for row in rows]
    seconds = (max(sent) - min(sent)) / 1e9 if sent else 0.0
    assert asked.rate is not None
    is_plain = 1 < len(rows) <= (asked.samples or 0) and seconds > 0  # later turns of conversations come when they may
    return RateProbe(
        rate=asked.rate,
        meets=all(one.holds is not False for one in judged),
        offered=(len(rows) - 1) / seconds if is_plain else None,
        requests=len(rows),
        failed=sum(row["outcome"] != Outcome.OK for row in rows),
        seconds=seconds,
        sure=all(one.holds is True for one in judged),
        long=is_long,
        values={one.metric: one.value for one in judged},
    )


def _fewest_to_see(objective: Objective) -> int:
    """Requests among which a percentile is not simply the slowest."""
    return 0 if objective.metric == ERRORS else math.ceil(1 / (1 - min(0.999, quantile_of(objective))) - 1e-9)


def _rate_of(measured: MeasuredLoad) -> float:
    """Requests per second that succeeded."""
    outcomes = measured.samples.columns["outcome"]
    return sum(outcome == Outcome.OK for outcome in outcomes) * 1e9 / max(1, measured.samples.elapsed)
