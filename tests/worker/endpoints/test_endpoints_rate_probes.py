"""The search for a server's highest rate, against a server that is simulated: no second passes."""

from __future__ import annotations

import heapq
from array import array
from dataclasses import dataclass, field

import pytest

from benchwright.errors import OptionError
from benchwright.records import Load, Mode, Objective, Samples
from benchwright.worker.endpoints.rate_probes import RateProbes, budget_of
from benchwright.worker.endpoints.request_times import share_is_above
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.engine.arrivals import arrivals
from benchwright.worker.engine.engine import MeasuredLoad

SECOND = 1_000_000_000


@dataclass(slots=True, kw_only=True)
class Server:
    """So many requests at a time, each of so many seconds; the others wait. It fails all above `breaks_at` users."""

    slots: int
    seconds: float
    breaks_at: int = 10_000
    clock: float = 0.0
    loads: list[Load] = field(default_factory=list)

    def measure(self, load: Load) -> MeasuredLoad:
        self.loads.append(load)
        free = [0] * self.slots
        service = int(self.seconds * SECOND)
        rows: list[tuple[int, int]] = []
        instants = list(arrivals(load, copy=0)) if load.mode is Mode.OPEN else []
        users = [0] * load.workers  # when each asks next
        for number in range(load.samples or 0):
            due = instants[number] if instants else heapq.heappop(users)
            end = max(due, heapq.heappop(free)) + service
            heapq.heappush(free, end)
            if not instants:
                heapq.heappush(users, end)
            rows.append((due, end))
        elapsed = max(end for _, end in rows)
        self.clock += elapsed / SECOND
        fails = load.mode is Mode.CLOSED and load.workers > self.breaks_at
        outcome = Outcome.STATUS if fails else Outcome.OK
        columns = {
            "latency": array("q", [end - due for due, end in rows]),
            "service": array("q", [end - due for due, end in rows]),
            "lateness": array("q", [0] * len(rows)),
            "outcome": array("q", [outcome] * len(rows)),
        }
        samples = Samples(copy=0, calls=len(rows), loops=1, elapsed=elapsed, columns=columns)
        return MeasuredLoad(samples=samples, gc_collections=0, rate=load.rate)


def _search(server: Server, bound: float, **given: float) -> tuple[RateProbes, MeasuredLoad]:
    objective = Objective(metric="latency_p99", relation="<", bound=bound)
    load = Load(mode=Mode.OPEN, find_rate=True, objectives=(objective,), **given)  # type: ignore[arg-type]
    probes = RateProbes(load=load, measure=server.measure, typical=server.seconds * SECOND, now=lambda: server.clock)
    return probes, probes.search()


def test_a_server_that_answers_many_at_once_is_found_out_within_its_time() -> None:
    server = Server(slots=64, seconds=5.0)  # 12.8 a second, though one user gets an answer every five seconds
    probes, found = _search(server, bound=6.0)
    assert found.rate is not None and 6.0 < found.rate < 12.8
    assert server.clock < budget_of(probes.load) + 120


def test_a_fresh_load_at_the_rate_that_was_found_keeps_the_objective() -> None:
    """A queue of one: the p99 reaches 140 ms at 36 requests a second. What is found lies below, never above."""
    server = Server(slots=1, seconds=0.02)
    _, found = _search(server, bound=0.14, seed=1)
    assert found.rate is not None and 0.7 * 35.6 < found.rate < 35.6
    again = server.measure(Load(mode=Mode.OPEN, rate=found.rate, samples=3000, seed=77))
    assert sorted(again.samples.columns["latency"])[2970] < 0.14 * SECOND


def test_a_bound_that_one_user_alone_breaks_costs_no_long_look() -> None:
    server = Server(slots=4, seconds=1.0)
    probes, found = _search(server, bound=0.5)
    assert found.rate is None and len(found.probes) == 2
    assert max(load.samples or 0 for load in server.loads) < 100
    assert not probes.ended_early


def test_a_search_without_time_tells_what_it_has() -> None:
    server = Server(slots=1, seconds=20.0)
    probes, found = _search(server, bound=60.0, timeout=1000.0)
    assert "would have taken" in probes.ended_early
    assert len(found.probes) == 1  # there is always one to tell of


def test_users_whom_the_server_turns_away_do_not_count() -> None:
    server = Server(slots=1000, seconds=0.1, breaks_at=16)
    _, found = _search(server, bound=0.2)
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
