"""Drives a load against a server: connects, warms up, prepares every request, sends them on time, reads the answers."""

from __future__ import annotations

import math
import random
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from benchwright.errors import LoadError, MeasureError, RequestError
from benchwright.records import Int64s, Load, Mode, ResultWarning, Value
from benchwright.worker.endpoints.client import ClientSettings, HttpClient
from benchwright.worker.endpoints.dialect import Dialect, ReadAnswer
from benchwright.worker.endpoints.endpoint_client import EndpointClient
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.load_report import LoadReport
from benchwright.worker.endpoints.loads import Turns, run_closed, run_open
from benchwright.worker.endpoints.patience import Patience, ThrottledCallError
from benchwright.worker.endpoints.reading import CountTokens, ReadTraffic, read_entry, read_traffic
from benchwright.worker.endpoints.traffic import Outcome, RequestLog
from benchwright.worker.engine.arrivals import fit_rate
from benchwright.worker.engine.clock import SystemClock, calibrate, learn_margin
from benchwright.worker.engine.engine import DEFAULT_DURATION, MeasuredLoad, PreparedLoad, hold_off_collector
from benchwright.worker.engine.subject import Subject
from benchwright.worker.engine.warmup import Warmup, first_call, warm_up
from benchwright.worker.runtimes import Report

if TYPE_CHECKING:
    from benchwright.worker.endpoints.probe_guard import ProbeGuard
    from benchwright.worker.engine.engine import Finish

T = TypeVar("T")
MOST_PREPARED = 20_000  # requests that are made ready beforehand where their number is not known
MOST_BYTES = 512 * 2**20  # of prepared requests
SPARE = 1.5  # times as many as the warm-up lets expect
MOST_TRACED = 1_000_000  # requests of a trace that are sent
WARMUPS = 64  # different requests of the warm-up, none of which is sent again
HEAD_START = 5_000_000  # ns before the first arrival of a probe


class ExchangeMaker(Protocol):
    """What makes the requests of a load."""

    warnings: list[ResultWarning]  # about what was made last
    repeats: bool  # the same requests go round on purpose, as the inputs of any model do

    def __call__(self, count: int, seed: int, *, copy: int = 0, copies: int = 1) -> Sequence[Exchange]:
        """So many requests, and the later turns of those that begin a conversation."""
        ...

    def warm_up(self, count: int, seed: int) -> Sequence[Exchange]:
        """Requests like them, none of which is part of the load."""
        ...

    def settle(self, driver: EndpointDriver) -> None:
        """Learns from the server what the requests must be like; asked before the first of them is made."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPlan:
    """What is sent where, and how it is read."""

    settings: ClientSettings
    headers: dict[str, str]
    dialect: Dialect
    make: ExchangeMaker
    think: int = 0  # ns between the turns of a conversation
    salt: str = ""  # makes the requests of this process unlike those of any other
    count: CountTokens | None = None  # counts tokens of texts by itself
    make_client: Callable[[ClientSettings], EndpointClient] = HttpClient


class EndpointDriver:
    """Issues the load of one copy. `report` tells what was learned beside the columns."""

    def __init__(self, plan: EndpointPlan) -> None:
        self.plan = plan
        self.client: EndpointClient = plan.make_client(plan.settings)
        self.told: LoadReport | None = None  # of the load that counts
        self.tell: Callable[[str], None] = lambda text: None  # hears how far a long search is
        self.keep: Callable[[Mapping[str, Value]], None] = lambda known: None  # hears what a search has found so far
        self.searched: Mapping[str, Value] = {}  # what a search has found, as details
        self.notes: list[ResultWarning] = []  # what was noticed before time zero
        self._patience = Patience(lambda text: self.tell(text))

    def close(self) -> None:
        """Closes connections and the event loop."""
        self.client.close()

    def prepare(self, load: Load, copy: int) -> PreparedLoad:
        """Connects, warms up, makes every request; gives what sends them from an instant on."""
        _refuse_modes(load)
        load = _share(load, copy)
        clock = SystemClock()
        facts = calibrate(clock)
        warmup = self._warm_up(load, clock, copy)
        timed = self._prepare_search(load, copy, warmup) if load.find_rate else self._prepare(load, copy, warmup)
        return PreparedLoad(
            clock=clock, facts=facts, warmup=warmup, loops=1, oversleep=learn_margin(clock, sleeps=5), time=timed
        )

    def report(self) -> Report:
        """What is known after the last request, and a failure where none succeeded."""
        told = self.told
        assert told is not None
        found = [*self.notes, *self._patience.notes, *self.plan.make.warnings, *told.warnings()]
        if self.plan.settings.insecure and self.plan.settings.address.tls:
            seen = "the server's certificate was not checked (--insecure)"
            found.append(ResultWarning(code="tls-unchecked", seen=seen, remedy="trust its certificate: SSL_CERT_FILE"))
        details = {**told.details(), **self.searched}
        return Report(details=details, warnings=found, failure=told.failure())

    # ---- before time zero ----

    def _warm_up(self, load: Load, clock: SystemClock, copy: int) -> Warmup:
        self.client.run(self.client.open_connections(1))
        self.plan.make.settle(self)
        exchanges = self.plan.make.warm_up(WARMUPS, self._seed(load, f"warm-up of copy {copy}"))
        payloads = [(self._payload(exchange),) for exchange in exchanges]
        subject = Subject(call=self._call_once, arguments=payloads)
        first = self._wait_and_repeat(lambda: first_call(subject, clock))
        return self._wait_and_repeat(lambda: warm_up(subject, clock, limit=load.warmup, first=first))

    def _wait_and_repeat(self, timed: Callable[[], T]) -> T:
        """Does it anew where the server asked for patience on the way: the wait is not part of any time."""
        try:
            return timed()
        except ThrottledCallError as error:
            self._patience.wait_for(error.answer)
            return timed()

    def ask(self, exchange: Exchange, *, must_succeed: bool = True) -> ReadAnswer:
        """One request, which usually must succeed: a server that refuses the first one is not measured.

        What a server of another make need not know is left out once it has refused it.
        """
        answer = self.answer_to(self._payload(exchange))
        while answer.outcome is Outcome.STATUS and (left_out := self.plan.dialect.relax()):
            seen = f"the server refuses the field {left_out} ({answer.reason}), which was left out"
            answer = self.answer_to(self._payload(exchange))
            if answer.outcome is Outcome.OK:
                remedy = "counts of tokens may be missing: give --tokenizer FILE"
                self.notes.append(ResultWarning(code="field-refused", seen=seen, remedy=remedy))
        if must_succeed:
            self._refuse_failed(answer)
        return answer

    def _call_once(self, payload: bytes) -> None:
        answer = self._answer_at_once(payload, self.plan.dialect)
        if self._patience.has_for(answer):
            raise ThrottledCallError(answer)
        self._refuse_failed(answer)

    def answer_to(self, payload: bytes, dialect: Dialect | None = None) -> ReadAnswer:
        """The answer to one framed request, read by another dialect where one is given."""
        chosen = dialect or self.plan.dialect
        answer = self._answer_at_once(payload, chosen)
        return self._answer_at_once(payload, chosen) if self._patience.wait_for(answer) else answer

    def _answer_at_once(self, payload: bytes, dialect: Dialect) -> ReadAnswer:
        entry = self.client.call(payload)  # which begins a new log
        return read_entry(self.client.traffic, entry, dialect)

    def _refuse_failed(self, answer: ReadAnswer) -> None:
        if answer.outcome is Outcome.REFUSED:
            raise LoadError(f"no connection to {self.plan.settings.address.origin}: {answer.reason}")
        if answer.outcome is not Outcome.OK:
            remedy = "try the same request by hand; the model, the route and the options must fit this server"
            if answer.outcome is Outcome.THROTTLED or answer.retry_after:
                remedy = self._patience.advise(answer)
            kind = answer.outcome.name.lower()
            raise MeasureError(f"the server did not answer as expected ({kind}): {answer.reason}", remedy=remedy)

    def _seed(self, load: Load, what: str) -> int:
        return random.Random(f"{load.seed} {self.plan.salt} {what}").getrandbits(48)

    def _payload(self, exchange: Exchange) -> bytes:
        dialect = self.plan.dialect
        return self.client.frame(dialect.encode(exchange), {**self.plan.headers, **dialect.headers(exchange)})

    def _prepare(
        self, load: Load, copy: int, warmup: Warmup, guard: ProbeGuard | None = None
    ) -> Callable[[int], Finish]:
        schedule = _schedule(load, copy)
        if guard is not None and schedule is not None and load.rate is not None:
            schedule = fit_rate(schedule, load.rate)
        wanted = _count_requests(load, schedule, warmup)
        exchanges = self.plan.make(wanted, self._seed(load, "load"), copy=copy, copies=load.copies)
        if load.trace and (told := _instants(exchanges)):
            schedule = told
        payloads = [self._payload(exchange) for exchange in exchanges]
        if sum(map(len, payloads)) > MOST_BYTES:
            raise RequestError(
                f"the prepared requests take more than {MOST_BYTES >> 20} MiB",
                remedy="shorter prompts, a shorter --duration, or fewer requests with --samples",
            )
        conversations = group_turns(exchanges, self.plan.think)
        self.client.run(self.client.open_connections(_count_connections(load, warmup)))

        def time_requests(zero: int) -> Finish:
            self.client.reset(payloads)
            with hold_off_collector() as collector:
                if schedule is None:
                    traffic = run_closed(self.client, load, conversations, zero)
                else:
                    traffic = run_open(self.client, schedule, conversations, zero, guard)
            health = self.client.health

            def finish() -> MeasuredLoad:
                span = 0 if guard is not None and guard.is_lost else _span(load, schedule)
                read = self.read_traffic(traffic, exchanges, zero, copy, span)
                self.told = LoadReport(
                    read=read,
                    health=health,
                    prepared=len(payloads),
                    repeated=len(traffic) > len(payloads) and not self.plan.make.repeats,
                )
                rate = None if load.rate is None else load.rate / load.copies
                return MeasuredLoad(samples=read.samples, gc_collections=collector.collections, rate=rate)

            return finish

        return time_requests

    def _prepare_search(self, load: Load, copy: int, warmup: Warmup) -> Callable[[int], Finish]:
        from benchwright.worker.endpoints.probe_guard import guard_probe
        from benchwright.worker.endpoints.rate_probes import RateProbes
        from benchwright.worker.endpoints.search_notes import note_search

        usual = self.client.settings

        def keep(known: Mapping[str, Value]) -> None:
            self.searched = known
            self.keep(known)

        def search(zero: int) -> Finish:
            def measure(step: Load, patience: float) -> MeasuredLoad:
                self.client.settings = replace(usual, timeout=patience)
                guard = guard_probe(step.objectives, step.samples or 0) if step.mode is Mode.OPEN else None
                timed = self._prepare(step, copy, warmup, guard)
                begin = time.perf_counter_ns() + HEAD_START
                return replace(timed(begin)(), began=max(0, begin - zero) / 1e9)

            probes = RateProbes(
                load=load,
                measure=measure,
                typical=warmup.typical,
                patience=usual.timeout,
                tell=lambda text: self.tell(text),
                keep=keep,
                report=lambda: self.told,
            )
            chosen = probes.search()
            self.client.settings, self.told = usual, probes.reported
            self.notes += note_search(probes)
            return lambda: chosen

        return search

    def read_traffic(
        self, traffic: RequestLog, exchanges: Sequence[Exchange], zero: int, copy: int, span: int
    ) -> ReadTraffic:
        """Reads what arrived."""
        return read_traffic(
            traffic, self.plan.dialect, exchanges, zero=zero, copy=copy, span=span, count=self.plan.count
        )


def group_turns(exchanges: Sequence[Exchange], think: int) -> list[Turns]:
    """The conversations that requests belong to, in the order of their first turns."""
    sessions: dict[int, list[int]] = {}
    for number, exchange in enumerate(exchanges):
        sessions.setdefault(exchange.session, []).append(number)
    return [Turns(numbers=tuple(numbers), think=think) for numbers in sessions.values()]


def _refuse_modes(load: Load) -> None:
    if load.mode not in (Mode.CLOSED, Mode.OPEN, Mode.OFFLINE):
        raise RequestError("an endpoint is asked by users or at a rate", remedy="use --workers, --rate or --trace")


def _share(load: Load, copy: int) -> Load:
    """What one copy does: its part of a count; without any stop rule, a second."""
    if load.samples is not None and load.mode is Mode.CLOSED:
        return replace(load, samples=max(1, (load.samples + load.copies - 1 - copy) // load.copies))
    if load.duration is None and load.samples is None and not (load.once or load.trace or load.find_rate):
        return replace(load, duration=60.0 if load.precision else DEFAULT_DURATION)
    return load


def _schedule(load: Load, copy: int) -> Int64s | None:
    """The arrivals of an open loop; None where users wait for their answers."""
    if load.mode is Mode.CLOSED:
        return None
    if load.mode is Mode.OFFLINE:
        return array("q", bytes(8 * (load.samples or 1)))
    from benchwright.worker.engine.arrivals import arrivals, holds_requests

    if holds_requests(load.trace):  # its instants come with its requests
        return array("q", bytes(8 * MOST_TRACED))
    return arrivals(load, copy=copy)


def _span(load: Load, schedule: Int64s | None) -> int:
    if schedule is None or load.mode is Mode.OFFLINE:
        return 0
    return (
        int(load.duration * 1e9)
        if load.duration is not None and load.samples is None and not load.trace
        else schedule[-1]
    )


def _count_requests(load: Load, schedule: Int64s | None, warmup: Warmup) -> int:
    """How many different requests are made ready: as many as there will be, as far as that can be told."""
    if schedule is not None:
        return len(schedule)
    if load.samples is not None:
        return load.samples
    expected = (load.duration or 1.0) * 1e9 / max(1.0, warmup.typical) * load.workers * SPARE
    return max(load.workers, min(MOST_PREPARED, math.ceil(expected)))


def _count_connections(load: Load, warmup: Warmup) -> int:
    """How many connections are opened before time zero: one a user, or as many as will be in use at the rate."""
    if load.mode is Mode.CLOSED:
        return load.workers
    at_once = (load.rate or 0.0) / load.copies * warmup.typical / 1e9
    return math.ceil(at_once + 3 * math.sqrt(at_once)) + 1


def _instants(exchanges: Sequence[Exchange]) -> Int64s:
    """The instants at which a trace has the first turns of its conversations."""
    return array("q", [one.at for one in exchanges if one.at is not None and not one.turn])
