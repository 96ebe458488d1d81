"""The search for a server's highest rate, against a server that is simulated: no second passes."""

from __future__ import annotations

import heapq
from array import array
from dataclasses import dataclass, field

import pytest

from benchwright.errors import OptionError
from benchwright.records import Load, Mode, Samples
from benchwright.records.probes import RateProbe, choose_best
from benchwright.units.objectives import objective
from benchwright.units.rates_tried import describe_search
from benchwright.worker.endpoints.probe_guard import guard_probe
from benchwright.worker.endpoints.rate_probes import USUAL_TIME, RateProbes, search_time
from benchwright.worker.endpoints.request_times import share_is_above
from benchwright.worker.endpoints.search_notes import note_search
from benchwright.worker.endpoints.traffic import Outcome, RequestLog
from benchwright.worker.engine.arrivals import arrivals, fit_rate
from benchwright.worker.engine.engine import MeasuredLoad

SECOND = 1_000_000_000


@dataclass(slots=True, kw_only=True)
class Server:
    """So many requests at a time, each of so many seconds; the others wait. It fails all above `breaks_at` users.

    A probe is given up when it is lost, and a request that has no answer when its patience ends has failed, as it is
    with the real client.
    """

    slots: int
    seconds: float
    breaks_at: int = 10_000
    clock: float = 0.0
    loads: list[Load] = field(default_factory=list)

    def measure(self, load: Load, patience: float) -> MeasuredLoad:
        self.loads.append(load)
        free = [0] * self.slots
        service = int(self.seconds * SECOND)
        rows: list[tuple[int, int]] = []
        outcomes: list[Outcome] = []
        late, bound = 0, max((one.bound for one in load.objectives), default=1e9) * SECOND
        instants = list(fit_rate(arrivals(load, copy=0), load.rate or 1.0)) if load.mode is Mode.OPEN else []
        users = [0] * load.workers  # when each asks next
        for number in range(load.samples or 0):
            due = instants[number] if instants else heapq.heappop(users)
            end = max(due, heapq.heappop(free)) + service
            heapq.heappush(free, end)
            if not instants:
                heapq.heappush(users, end)
            rows.append((due, min(end, due + int(patience * SECOND))))
            outcomes.append(Outcome.TIMEOUT if end - due > patience * SECOND else Outcome.OK)
            late += end - due > bound
            if not instants and load.duration and users[0] > load.duration * SECOND:
                break
            if instants and late > 0.01 * len(instants):
                break
        elapsed = max(end for _, end in rows)
        self.clock += elapsed / SECOND
        if load.mode is Mode.CLOSED and load.workers > self.breaks_at:
            outcomes = [Outcome.STATUS] * len(rows)
        columns = {
            "latency": array("q", [end - due for due, end in rows]),
            "service": array("q", [end - due for due, end in rows]),
            "lateness": array("q", [0] * len(rows)),
            "scheduled": array("q", [due for due, _ in rows]),
            "outcome": array("q", outcomes),
        }
        samples = Samples(copy=0, calls=len(rows), loops=1, elapsed=elapsed, columns=columns)
        return MeasuredLoad(samples=samples, gc_collections=0, rate=load.rate)


def _search(server: Server, *bounds: str, **given: float) -> tuple[RateProbes, MeasuredLoad]:
    load = Load(mode=Mode.OPEN, find_rate=True, objectives=tuple(map(objective, bounds)), **given)  # type: ignore[arg-type]
    probes = RateProbes(load=load, measure=server.measure, typical=server.seconds * SECOND, now=lambda: server.clock)
    return probes, probes.search()


@pytest.mark.parametrize(
    ("slots", "seconds", "bound"),
    [(64, 5.0, "p99<8s"), (1, 0.02, "p99<140ms"), (4, 0.5, "p99<2s"), (4, 10.0, "p90<30s"), (256, 0.2, "p99<500ms")],
)
@pytest.mark.parametrize("more", [(), ("errors<0.1%",)])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_ends_in_its_time_with_a_rate_that_was_offered_and_held(
    slots: int, seconds: float, bound: str, more: tuple[str, ...], seed: int
) -> None:
    server = Server(slots=slots, seconds=seconds)
    probes, found = _search(server, bound, *more, seed=seed)
    assert server.clock <= USUAL_TIME
    capacity = slots / seconds
    assert found.rate is not None and 0.4 * capacity < found.rate <= 1.1 * capacity
    instants = found.samples.columns["scheduled"]
    offered = (len(instants) - 1) / (instants[-1] - instants[0]) * SECOND
    assert found.rate <= offered * 1.0001  # no more than was sent
    kept = objective(bound)
    latencies = sorted(found.samples.columns["latency"])
    place = -(-len(latencies) * int(kept.metric[-2:]) // 100) - 1
    assert latencies[place] < kept.bound * SECOND
    assert (not choose_best(found.probes).sure) == ("rate-unsure" in {w.code for w in note_search(probes)})  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [{"duration": 20.0}, {"duration": 1000.0}, {"timeout": 50.0}])
def test_the_time_of_a_search_is_what_was_given(given: dict[str, float]) -> None:
    server = Server(slots=1, seconds=0.2)
    probes, found = _search(server, "p99<600ms", **given)
    assert server.clock <= search_time(probes.load) <= max(given.values())
    assert found.rate is not None


def test_a_bound_that_one_user_alone_breaks_costs_no_long_look() -> None:
    server = Server(slots=4, seconds=1.0)
    probes, found = _search(server, "p99<500ms")
    assert found.rate is None and len(found.probes) == 1 and probes.alone_breaks == "latency_p99"
    assert server.clock < USUAL_TIME / 4


def test_a_search_that_finds_none_tells_what_broke_and_how_far_the_nearest_was() -> None:
    """A server that is as slow as can be borne for one user, so that whoever waits for another waits too long."""
    server = Server(slots=1, seconds=1.0)
    probes, found = _search(server, "p99<1001ms")
    assert found.rate is None and server.clock <= USUAL_TIME
    told = describe_search(found.probes, probes.load.objectives)
    assert told.startswith("no rate kept the objectives; tried ") and " times the bound" in told
    nearest = min(found.probes, key=lambda probe: probe.values["latency_p99"] or 1e9)
    assert f"latency_p99 {nearest.values['latency_p99']:.2f} s, not < 1.00 s" in told
    assert found.samples.calls == nearest.requests  # the numbers of the result are those of the nearest


def test_what_a_search_has_found_so_far_is_told_after_every_look() -> None:
    server, known = Server(slots=1, seconds=0.1), []
    load = Load(mode=Mode.OPEN, find_rate=True, objectives=(objective("p99<500ms"),))
    found = RateProbes(
        load=load, measure=server.measure, typical=0.1 * SECOND, keep=known.append, now=lambda: server.clock
    ).search()
    assert [len(each["search"]["probes"]) for each in known] == [*range(1, len(found.probes) + 1)]  # type: ignore[index, arg-type, call-overload]
    assert known[-1]["search"]["best_rate"] == found.rate  # type: ignore[index, call-overload]


def _probe(rate: float, meets: bool, *, is_long: bool = False) -> RateProbe:
    return RateProbe(rate=rate, meets=meets, long=is_long)


@pytest.mark.parametrize(
    ("probes", "best"),
    [
        ([_probe(4, False), _probe(2, False)], None),
        ([_probe(4, True), _probe(8, False)], 4),
        ([_probe(4, True), _probe(4, False, is_long=True)], None),  # the longer look counts
        ([_probe(2, True), _probe(4, True), _probe(4, False, is_long=True)], 2),
        ([_probe(4, True), _probe(4, False, is_long=True), _probe(3, True, is_long=True)], 3),
        ([_probe(4, True), _probe(2, True, is_long=True)], 2),  # what was shown, not what may be
    ],
)
def test_the_longer_look_counts(probes: list[RateProbe], best: float | None) -> None:
    found = choose_best(probes)
    assert (found.rate if found else None) == best


@pytest.mark.parametrize(
    ("bound", "ends", "is_lost"),
    [
        ("p90<100ms", [0.05] * 16 + [0.2] * 4, False),
        ("p90<100ms", [0.2] * 16, True),  # of forty: the others cannot mend it
        ("p90<100ms", [0.2] * 15, False),  # too few to tell of
        ("ttft_p90<100ms", [0.05] * 20, False),
        ("ttft_p90<100ms", [0.05] * 12 + [0.25] * 5, True),  # the first byte comes half way
        ("errors<10%", [0.05] * 12 + [None] * 4, False),
        ("errors<10%", [0.05] * 12 + [None] * 5, True),
        ("itl_p99<1ms", [9.0] * 40, False),  # which nobody can tell before answers are read
    ],
)
def test_a_probe_is_lost_when_the_rest_cannot_mend_it(bound: str, ends: list[float | None], is_lost: bool) -> None:
    guard, log = guard_probe([objective(bound)], 40), RequestLog()
    for end in ends:
        entry = log.add(SECOND, 0)
        log.end[entry] = SECOND + int((end or 0.01) * SECOND)
        log.first[entry] = SECOND + int((end or 0.01) * SECOND / 2)
        log.outcome[entry] = Outcome.OK if end else Outcome.CUT
        lost = guard.hear_end(log, entry)
    assert lost is guard.is_lost is is_lost


def test_users_whom_the_server_turns_away_do_not_count() -> None:
    server = Server(slots=1000, seconds=0.1, breaks_at=16)
    _, found = _search(server, "p99<200ms")
    assert found.probes[0].rate == pytest.approx(16 / 0.1 / 2)  # half of what sixteen of them reached


@pytest.mark.parametrize(
    ("seen", "among", "allowed", "is_above"),
    [
        (1, 16, 0.01, False),  # 15 in 100
        (3, 16, 0.01, True),  # 5 in 10,000
        (74, 74, 0.01, True),
        (0, 0, 0.01, False),
        (30, 2000, 0.01, False),  # 2.2 in 100
        (36, 2000, 0.01, True),
        (1, 50, 0.0, True),
        (50, 50, 1.0, False),
    ],
)
def test_too_many_beyond_a_bound(seen: int, among: int, allowed: float, is_above: bool) -> None:
    assert share_is_above(seen, among, allowed) is is_above


def test_a_search_without_a_bound_is_refused() -> None:
    with pytest.raises(OptionError, match="needs an --objective"):
        RateProbes(
            load=Load(mode=Mode.OPEN, find_rate=True), measure=Server(slots=1, seconds=1).measure, typical=1
        ).search()
