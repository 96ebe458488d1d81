"""One run on several machines: each measures all cases in a lane of its own, and never two at a time.

Lanes work in threads; this thread alone keeps what they measured and tells of it, so that a store and a listener need
not know of threads. Every lane goes through rounds as it would alone. Machines that share cases out help each other:
one that has done its share takes over from one that is still waiting to begin.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from benchwright import schema
from benchwright.events import Began, Ended, Event, ExpectedTime, Listener, Planned, nobody
from benchwright.execution.hosts import AnyHost
from benchwright.execution.plans import LOCAL as LOCAL
from benchwright.execution.plans import group_hosts
from benchwright.execution.saver import ResultSink
from benchwright.execution.session import Measuring, Plan, Setting
from benchwright.records import Case, Result, Run
from benchwright.system.interrupts import Interrupt

LOOK = 0.2  # seconds between two looks whether somebody pressed Ctrl-C

Attempts = Callable[[Measuring], Iterator[tuple[Case, int]]]


def execute(
    plan: Plan,
    order: Attempts,
    open_store: Callable[[], ResultSink] | None = None,
    listener: Listener = nobody,
    *,
    looks_ready: Callable[[], bool] = lambda: False,
) -> Run:
    """Measures every case on every host of the plan and returns the whole run.

    `order` says what a measurement goes through. One machine that fails costs its own results and no others.
    """
    keeper = Measuring(plan, open_store, listener, looks_ready=looks_ready)
    events: queue.Queue[Event] = queue.Queue()
    lanes: list[_Lane] = []
    for group in group_hosts(plan.hosts, spread=plan.spread):
        lanes += _make_lanes(keeper, group, len(lanes), events)
    listener(Planned(total=sum(lane.count(order) for lane in lanes)))
    _go(keeper, lanes, order, events)
    return keeper.run


def measure_shares(
    keeper: Measuring, shares: Sequence[Sequence[Case]], order: Attempts, settings: Sequence[Setting]
) -> None:
    """Measures a share of the cases on each host of the plan, all at once, with the settings of each host."""
    events: queue.Queue[Event] = queue.Queue()
    lanes = [
        _Lane(keeper, host, number, events, list(share), setting)
        for number, (host, share, setting) in enumerate(zip(keeper.plan.hosts, shares, settings, strict=True))
    ]
    _go(keeper, lanes, order, events, settings[0])


def _make_lanes(keeper: Measuring, group: Sequence[AnyHost], first: int, events: queue.Queue[Event]) -> list[_Lane]:
    """The lanes of a group: its hosts share the cases out, or the rounds of every case where their pool says so."""
    cases = keeper.plan.cases
    if getattr(getattr(group[0], "pool", None), "shares_rounds", False) and not keeper.plan.spread:
        return [
            _Lane(keeper, host, first + place, events, list(cases), turn=_Turn(place, len(group)))
            for place, host in enumerate(group)
        ]
    mates = [
        _Lane(keeper, host, first + place, events, share)
        for place, (host, share) in enumerate(zip(group, share_out(cases, group), strict=True))
    ]
    for lane in mates:
        lane.mates = mates
    return mates


def _go(
    keeper: Measuring, lanes: Sequence[_Lane], order: Attempts, events: queue.Queue[Event], first: Setting | None = None
) -> None:
    with keeper:
        keeper.get_ready(first)
        for lane in lanes:
            lane.start(order)
        try:
            _keep_all(keeper, lanes, events)
        finally:
            for lane in lanes:
                lane.stop()
            _keep_all(keeper, lanes, events)
    for lane in lanes:
        lane.raise_failure()


def share_out(
    cases: Sequence[Case], hosts: Sequence[AnyHost], known: Mapping[str, str] | None = None
) -> list[list[Case]]:
    """Which host measures which case: each about as many, and as far as that allows always the same.

    So a series stays on its machine when cases are added, and when a machine is added or left out. `known` are the
    names of the hosts that have series already, by the key of the case: these keep them, however many that are.
    """
    room = [-(-len(cases) // len(hosts))] * len(hosts)
    shares: list[list[Case]] = [[] for _ in hosts]
    keys = {id(case): schema.case_key(case) for case in cases}
    places = {getattr(host, "name", ""): number for number, host in reversed(list(enumerate(hosts)))}
    left = []
    for case in cases:
        place = places.get((known or {}).get(keys[id(case)], ""))
        if place is None:
            left.append(case)
        else:
            room[place] -= 1
            shares[place].append(case)
    room = [max(0, one) for one in room]
    for case in sorted(left, key=lambda one: keys[id(one)]):
        wishes = [schema.fingerprint([keys[id(case)], *_identify(host)]) for host in hosts]
        best = max((number for number, left in enumerate(room) if left), key=wishes.__getitem__)
        room[best] -= 1
        shares[best].append(case)
    order = {id(case): place for place, case in enumerate(cases)}
    return [sorted(share, key=lambda one: order[id(one)]) for share in shares]


def _identify(host: AnyHost) -> list[str]:
    """What tells a host from the others: its name, and its place where several have one name."""
    lane = getattr(host, "lane", 0)
    return [getattr(host, "name", ""), str(lane)] if lane else [getattr(host, "name", "")]


def host_name(result: Result) -> str:
    """The name of the machine of several that measured a result, or of the phone; "" for this one."""
    host, device = (result.environment.system.get(name) for name in ("host", "device"))
    if isinstance(device, dict):
        return f"adb:{device.get('serial', '')}"
    return str(host.get("name", "")) if isinstance(host, dict) else ""


class _Turn(NamedTuple):
    """Which rounds are a machine's own, where several share the rounds of each case out."""

    place: int = 0
    of: int = 1

    def has(self, number: int) -> bool:
        """Whether the round is one of them."""
        return number % self.of == self.place


class _Lane:
    """All that is measured on one machine."""

    def __init__(
        self,
        keeper: Measuring,
        host: AnyHost,
        number: int,
        events: queue.Queue[Event],
        cases: list[Case],
        setting: Setting | None = None,
        turn: _Turn = _Turn(),  # noqa: B008  (nobody can change it)
    ) -> None:
        self._keeper, self._events, self._host, self._setting = keeper, events, host, setting
        self._turn = turn
        self._interrupt = _LaneInterrupt(keeper)
        self._id = f"{keeper.id}-h{number}"
        self._cases, self._place = cases, 0  # and which of them it is at
        self.mates: Sequence[_Lane] = ()  # those that share the same cases out, itself among them
        self._lock = threading.Lock()
        self._measuring = self._make_measuring(cases, self._id)
        self._thread = threading.Thread(target=lambda: None)
        self._failure: BaseException | None = None

    def count(self, order: Attempts) -> int:
        """How many attempts are planned at least."""
        return sum(1 for _ in self._own(order)) if self._keeper.plan.resumed else self._planned()

    def start(self, order: Attempts) -> None:
        """Begins to measure."""
        self._thread = threading.Thread(target=self._work, args=(order,), name="benchwright-lane", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still measures."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ends what is under way, and waits for its record."""
        if self._thread.is_alive():
            self._interrupt.seen = True
            self._interrupt.cancel(self._host)
            self._thread.join()

    def raise_failure(self) -> None:
        """Raises what ended the lane, if that was not the end of its work."""
        if self._failure is not None:
            raise self._failure

    def give_up_part(self) -> list[Case]:
        """Hands over half of its cases, as long as its machine has not begun; it keeps the one that it waits with."""
        if not getattr(self._host, "is_waiting", False):
            return []
        with self._lock:
            done = self._place + 1
            keep = done + (len(self._cases) - done) // 2
            given = self._cases[keep:]
            del self._cases[keep:]
            return given

    def _make_measuring(self, cases: list[Case], record: str) -> Measuring:
        plan, host = self._keeper.plan, self._host
        resumed = plan.resumed
        if resumed is not None and not plan.spread:  # else each case is measured once, on whichever machine
            name = getattr(host, "name", "")
            own = tuple(result for result in resumed.results if (host_name(result) or LOCAL) == name)
            resumed = replace(resumed, results=own)
        return Measuring(
            replace(plan, cases=cases, host=host, hosts=(), resumed=resumed),
            None,
            self._hear,
            interrupt=self._interrupt,
            record=replace(self._keeper.run, id=record, results=()),
        )

    def _planned(self) -> int:
        rounds = range(self._measuring.plan.rounds)
        return len(self._measuring.plan.cases) * sum(map(self._turn.has, rounds))

    def _own(self, order: Attempts) -> Iterator[tuple[Case, int]]:
        return ((case, number) for case, number in order(self._measuring) if self._turn.has(number))

    def _work(self, order: Attempts) -> None:
        try:
            self._go_through(order)
            taken = 0
            while not self._measuring.interrupted and (more := self._take_over()):
                taken += 1
                self._cases = more
                self._measuring = self._make_measuring(more, f"{self._id}-{taken}")
                self._go_through(order)
            if getattr(self._host, "pool", None) is not None:
                close = getattr(self._host, "close", None)
                close and close()  # whoever of the same pool still waits may get its node
        except BaseException as failure:  # the border of this thread
            self._failure = failure

    def _go_through(self, order: Attempts) -> None:
        with self._measuring:
            planned = self._own(order)
            for case, number in planned:
                with self._lock:
                    self._place = next(place for place, one in enumerate(self._cases) if one is case)
                self._measuring.measure(case, number, self._setting)
                if self._measuring.interrupted:
                    self._measuring.skip(planned)

    def _take_over(self) -> list[Case]:
        """Cases of whichever of the others has not begun yet; none where all have."""
        return next((found for mate in self.mates if mate is not self and (found := mate.give_up_part())), [])

    def _hear(self, event: Event) -> None:
        if isinstance(event, Began):
            event = replace(event, run=self._keeper.run)
        if not isinstance(event, ExpectedTime):  # of one lane: says little of all
            self._events.put(event)


class _LaneInterrupt(Interrupt):
    """What a lane knows of Ctrl-C: signals reach the main thread alone, which then ends what is under way."""

    def __init__(self, keeper: Measuring) -> None:
        self._keeper = keeper
        super().__init__()

    @contextmanager
    def allow(self) -> Iterator[None]:
        """A stretch that may be cancelled."""
        yield

    @staticmethod
    def cancel(host: AnyHost) -> None:
        """Has the machine end its attempt."""
        if cancel := getattr(host, "cancel", None):
            cancel()


def _keep_all(keeper: Measuring, lanes: Sequence[_Lane], events: queue.Queue[Event]) -> None:
    """Keeps and tells what the lanes say until all have ended, or until somebody presses Ctrl-C."""
    while True:
        working = any(lane.is_alive for lane in lanes)
        try:
            event = events.get(timeout=LOOK if working else 0)
        except queue.Empty:
            if not working or keeper.interrupted:
                return
            continue
        keeper.take(event) if isinstance(event, Ended) else keeper.tell(event)
