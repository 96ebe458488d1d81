"""When each request is due: users that wait for answers, arrivals on a schedule, conversations of several turns."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchwright.records import Int64s, Load
from benchwright.stats import ranks
from benchwright.worker.endpoints.endpoint_client import EndpointClient
from benchwright.worker.endpoints.timer import make_alarm
from benchwright.worker.endpoints.traffic import Outcome, RequestLog

if TYPE_CHECKING:
    from benchwright.worker.endpoints.probe_guard import ProbeGuard

FIRST_LOOK = 100  # answers before the precision is first judged
PAUSE = 100_000_000  # ns at least between two requests of a user whom nobody answers: a door that is shut is no load
NEVER = 2**63  # an instant, and a count, that is not reached


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The prepared requests of one conversation, in order: each is sent when the one before it was answered."""

    numbers: tuple[int, ...]
    think: int = 0  # ns between an answer and the next request


class Agenda:
    """What is due when: an alarm rings for the earliest, and whatever is due by then is done."""

    def __init__(self, loop: asyncio.AbstractEventLoop, due: Callable[[int, int], None]) -> None:
        self._planned: list[tuple[int, int]] = []  # the earliest last: a heap of a million takes 4 µs to give one
        self._added: list[tuple[int, int]] = []  # a heap
        self._due = due
        self._is_open = True
        self._alarm = make_alarm(loop, self._ring, time.perf_counter_ns)

    def fill(self, instants: list[tuple[int, int]]) -> None:
        """Takes (instant, what), before anything is due."""
        self._planned = sorted(instants, reverse=True)
        if instants:
            self._alarm.set(self._planned[-1][0])

    def add(self, instant: int, what: int) -> None:
        """Takes one more; its instant may have passed."""
        heapq.heappush(self._added, (instant, what))
        if self._added[0] == (instant, what) and not (self._planned and self._planned[-1][0] <= instant):
            self._alarm.set(instant)

    def close(self) -> None:
        """Nothing is due any more."""
        self._planned.clear()
        self._added.clear()
        if self._is_open:
            self._is_open = False
            self._alarm.close()

    def __len__(self) -> int:
        return len(self._planned) + len(self._added)

    def _ring(self) -> None:
        planned, added, due, now = self._planned, self._added, self._due, time.perf_counter_ns
        while planned or added:
            is_planned = bool(planned) and not (added and added[0] < planned[-1])
            instant = planned[-1][0] if is_planned else added[0][0]
            if instant > now():
                self._alarm.set(instant)
                return
            due(*(planned.pop() if is_planned else heapq.heappop(added)))


@dataclass(slots=True, kw_only=True)
class _Course:
    """A load while it goes on: which conversation each request belongs to, and how much is still to come."""

    client: EndpointClient
    conversations: Sequence[Turns]
    done: asyncio.Event = field(default_factory=asyncio.Event)
    pending: int = 0  # requests that were begun and have not ended
    turn_of: dict[int, tuple[int, int]] = field(default_factory=dict)  # entry -> (conversation, turn), of long ones

    def begin(self, scheduled: int, conversation: int, turn: int = 0) -> None:
        numbers = self.conversations[conversation].numbers
        self.pending += 1
        if len(numbers) > 1:
            self.turn_of[len(self.client.traffic)] = (conversation, turn)
        self.client.begin(scheduled, numbers[turn])

    def next_turn(self, entry: int) -> tuple[int, int] | None:
        """The conversation and turn that follow an entry; none follows a request that failed, or the last turn."""
        if not self.turn_of:
            return None
        place = self.turn_of.pop(entry, None)
        if place is None or self.client.traffic.outcome[entry] != Outcome.OK:
            return None
        conversation, turn = place
        return (conversation, turn + 1) if turn + 1 < len(self.conversations[conversation].numbers) else None


def run_closed(client: EndpointClient, load: Load, conversations: Sequence[Turns], zero: int) -> RequestLog:
    """`load.workers` users, each of whom asks again as soon as the answer is there (or after some thought)."""
    return _run(client, _Closed(client, load, conversations, zero), zero)


def run_open(
    client: EndpointClient,
    schedule: Int64s,
    conversations: Sequence[Turns],
    zero: int,
    guard: ProbeGuard | None = None,
) -> RequestLog:
    """Conversations that begin on a schedule, whatever became of those before; a guard may end them early."""
    return _run(client, _Open(client, schedule, conversations, zero, guard), zero)


class _Open:
    """Arrivals in ns since time zero, each the first request of a conversation; its later turns follow."""

    def __init__(
        self,
        client: EndpointClient,
        schedule: Int64s,
        conversations: Sequence[Turns],
        zero: int,
        guard: ProbeGuard | None = None,
    ) -> None:
        self.course = _Course(client=client, conversations=conversations)
        self.agenda = Agenda(client.loop, self._arrive)
        self._guard = guard
        self._later: dict[int, tuple[int, int]] = {}  # key beyond the schedule -> a later turn
        self._first = [(zero + instant, place) for place, instant in enumerate(schedule)]
        self._arrivals = len(schedule)

    def start(self) -> None:
        self.agenda.fill(self._first)

    def ended(self, entry: int) -> None:
        course = self.course
        course.pending -= 1
        if self._guard is not None and self._guard.hear_end(course.client.traffic, entry):
            self.agenda.close()  # those that are under way have their answers
        following = course.next_turn(entry) if self._guard is None or not self._guard.is_lost else None
        if following is not None:
            think = course.conversations[following[0]].think
            self._later[self._arrivals + entry] = following
            self.agenda.add(course.client.traffic.end[entry] + think, self._arrivals + entry)
        elif not course.pending and not self.agenda:
            course.done.set()

    def _arrive(self, instant: int, key: int) -> None:
        if self.course.client.health.cut_short:
            self.agenda.close()
            if not self.course.pending:
                self.course.done.set()
            return
        conversation, turn = (
            self._later.pop(key) if key >= self._arrivals else (key % len(self.course.conversations), 0)
        )
        self.course.begin(instant, conversation, turn)


class _Closed:
    """Users, who take the prepared conversations in turn until time or the count is up."""

    def __init__(self, client: EndpointClient, load: Load, conversations: Sequence[Turns], zero: int) -> None:
        self.course = _Course(client=client, conversations=conversations)
        self.agenda = Agenda(client.loop, self._ask)
        self._users, self._zero = load.workers, zero
        self._left = len(conversations) if load.once else NEVER if load.samples is None else load.samples  # to be begun
        self._deadline = NEVER if load.duration is None else zero + int(load.duration * 1e9)
        self._taken = 0  # conversations
        self._waiting: dict[int, tuple[int, int] | None] = {}  # by entry: what follows it after a while; None: anything
        self._precision, self._quantile, self._next_look = load.precision, load.precision_of / 100, FIRST_LOOK

    def start(self) -> None:
        for _ in range(self._users):
            self._begin_next(self._zero)

    def ended(self, entry: int) -> None:
        course, end = self.course, self.course.client.traffic.end[entry]
        course.pending -= 1
        following = course.next_turn(entry)
        if self._found_nobody(entry):
            again = course.client.traffic.scheduled[entry] + PAUSE
            if not self._is_over(again):
                self._waiting[entry] = None
                self.agenda.add(again, entry)
        elif following is None or self._is_over(end):
            self._begin_next(end)
        elif think := course.conversations[following[0]].think:
            self._waiting[entry] = following
            self.agenda.add(end + think, entry)
        else:
            self._begin(end, *following)
        if not course.pending and not self.agenda:
            course.done.set()

    def _ask(self, instant: int, key: int) -> None:
        following = self._waiting.pop(key)
        if following is None:
            self._begin_next(instant)
        elif not self._is_over(instant):
            self._begin(instant, *following)
        if not self.course.pending and not self.agenda:
            self.course.done.set()

    def _found_nobody(self, entry: int) -> bool:
        """Whether a request failed at once, without a byte of an answer: refused, or closed as soon as it was open."""
        traffic = self.course.client.traffic
        if traffic.outcome[entry] == Outcome.OK or traffic.first[entry] or traffic.status[entry]:
            return False
        return traffic.end[entry] - traffic.scheduled[entry] < PAUSE

    def _begin_next(self, instant: int) -> None:
        if self._taken and self._is_over(instant):  # a duration too short for any request is good for one
            return
        place = self._taken % len(self.course.conversations)
        self._taken += 1
        self._begin(instant, place)

    def _begin(self, instant: int, conversation: int, turn: int = 0) -> None:
        if self._left > 0:
            self._left -= 1
            self.course.begin(instant, conversation, turn)

    def _is_over(self, instant: int) -> bool:
        if instant >= self._deadline or self._left <= 0 or self.course.client.health.cut_short:
            return True
        return self._precision is not None and self._is_precise(self._precision)

    def _is_precise(self, wanted: float) -> bool:
        traffic = self.course.client.traffic
        if len(traffic) < self._next_look:
            return False
        self._next_look = int(len(traffic) * 1.25) + 1
        whole = [
            end - sent
            for end, sent, bad in zip(traffic.end, traffic.sent, traffic.outcome, strict=True)
            if end and not bad
        ]
        width = ranks.relative_half_width(whole, self._quantile) if len(whole) >= FIRST_LOOK else None
        if width is not None and width <= wanted:
            self._deadline = 0
        return self._deadline == 0


def _run(client: EndpointClient, load: _Open | _Closed, zero: int) -> RequestLog:
    """Runs a load to its end and keeps what the client itself took for it."""
    client.on_end = load.ended

    async def go() -> None:
        watch = client.loop.create_task(client.watch())
        while (left := zero - time.perf_counter_ns()) > 0:
            await asyncio.sleep(left / 2e9 if left > 4_000_000 else 0)
        load.start()
        await load.course.done.wait()
        watch.cancel()

    cpu, begin = time.process_time(), time.perf_counter()
    client.run(go())
    client.health.cpu = time.process_time() - cpu
    client.health.elapsed = time.perf_counter() - begin
    load.agenda.close()
    return client.traffic
