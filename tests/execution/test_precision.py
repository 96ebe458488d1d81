from dataclasses import replace

import pytest

from benchwright.events import Event, ExpectedTime
from benchwright.execution import precision
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Better, Case, Environment, Estimate, Load, Metric, Mode, Result, Status, Target

CASE = Case(name="c", target=Target(runtime="fake", uri="fake:"), load=Load(precision=0.01))


def _round(
    point: float | None, number: int = 0, *, own: float = 0.001, seconds: float = 0.1, took: float = 0.5
) -> Result:
    metrics: tuple[Metric, ...] = ()
    if point is not None:
        narrow = Estimate(point=point, low=point * (1 - own), high=point * (1 + own))
        count = round(seconds / point)
        metrics = (Metric(name="latency_p50", unit="s", better=Better.LOWER, estimate=narrow, count=count),)
    return Result(
        id=f"r-{number}",
        case=CASE,
        round=number,
        status=Status.OK if metrics else Status.FAILED,
        environment=Environment(machine={}, system={}),
        started_at="2026-01-01",
        duration=took,
        metrics=metrics,
    )


def test_rounds_that_agree_are_enough() -> None:
    rounds = [_round(p, i) for i, p in enumerate([1.0, 1.0005, 0.9995, 1.0002, 0.9998])]
    assert not precision.is_wanting(CASE, rounds)
    assert list(precision.missed_warnings(CASE, rounds)) == []


def test_rounds_that_differ_want_more_although_each_is_precise() -> None:
    rounds = [_round(p, i) for i, p in enumerate([1.0, 1.1, 0.9])]
    assert precision.is_wanting(CASE, rounds)
    (warning,) = precision.missed_warnings(CASE, rounds)
    assert warning.code == "precision-missed"
    assert "asked for ±1.00%" in warning.seen and "--rounds" in warning.remedy


@pytest.mark.parametrize("rounds", [[], [1.0, None], [None]])
def test_more_rounds_do_not_help_where_some_failed(rounds: list[float | None]) -> None:
    assert not precision.is_wanting(CASE, [_round(p, i) for i, p in enumerate(rounds)])


def test_without_a_precision_nothing_is_wanting() -> None:
    case = replace(CASE, load=Load())
    assert not precision.is_wanting(case, [replace(_round(p), case=case) for p in (1.0, 2.0)])


# ---- how long a process, and how many ----


def _rounds(*points: float, **more: float) -> list[Result]:
    return [_round(p * 1e-3, i, **more) for i, p in enumerate(points)]


def test_the_first_of_several_needs_to_know_less_than_all_together() -> None:
    first = precision.next_load(CASE, [], 5, 20)
    assert first.precision is not None and 0.01 < first.precision < 0.01 * 5**0.5
    assert first.duration == precision.PILOT
    assert precision.next_load(CASE, [], 1, 4) == CASE.load  # a single process is all there will be


@pytest.mark.parametrize(
    "load", [Load(duration=2.0), Load(precision=0.01, once=True), Load(precision=0.01, mode=Mode.OFFLINE)]
)
def test_what_is_not_ours_to_choose_stays_as_asked(load: Load) -> None:
    case = replace(CASE, load=load)
    told = [replace(one, case=case) for one in _rounds(1.0, 1.001)]
    assert precision.next_load(case, told, 5, 20) == load
    assert precision.outlook(case, told, 5, 20) is None


def test_a_restless_process_makes_the_next_ones_long_and_a_calm_one_short() -> None:
    calm = precision.outlook(CASE, _rounds(1.0, own=0.002, seconds=0.05), 5, 20)
    restless = precision.outlook(CASE, _rounds(1.0, own=0.05, seconds=3.0), 5, 20)
    assert calm is not None and restless is not None
    assert calm.length < 0.1 < 3.0 < restless.length <= precision.LONGEST
    assert calm.processes == 5 and calm.reached
    assert calm.seconds < restless.seconds


def test_processes_that_lie_apart_take_more_of_them_not_longer_ones() -> None:
    apart = precision.outlook(CASE, _rounds(1.0, 1.02, 0.985, 1.005, own=0.002, seconds=0.05), 5, 20)
    assert apart is not None
    assert apart.processes > 5 and apart.length < 0.5


def test_where_starting_costs_much_processes_are_longer() -> None:
    points, own = (1.0, 1.025, 0.98, 1.008), {"own": 0.02, "seconds": 0.2}
    cheap = precision.outlook(CASE, _rounds(*points, took=0.3, **own), 5, 20)
    dear = precision.outlook(CASE, _rounds(*points, took=60.2, **own), 5, 20)
    assert cheap is not None and dear is not None
    assert dear.length > cheap.length and dear.processes < cheap.processes


def test_a_process_has_enough_calls_for_an_interval_of_its_own() -> None:
    slow = precision.outlook(CASE, [_round(0.5, own=0.001, seconds=20.0)], 5, 20)
    assert slow is not None and slow.length >= precision.CALLS * 0.5


def test_what_is_asked_bounds_the_length() -> None:
    case = replace(CASE, load=Load(precision=0.01, duration=0.3))
    told = [replace(one, case=case) for one in _rounds(1.0, own=0.05, seconds=0.3)]
    ahead = precision.outlook(case, told, 5, 20)
    assert ahead is not None and ahead.length <= 0.3


def test_the_time_left_shrinks_with_every_process() -> None:
    seen = _rounds(1.0, 1.003, 0.998, 1.001, 1.0)
    left = [ahead.seconds for n in range(1, 6) if (ahead := precision.outlook(CASE, seen[:n], 5, 20))]
    assert len(left) == 5 and left == sorted(left, reverse=True) and left[-1] == 0.0


def test_what_is_ahead_is_never_less_than_what_is_missing() -> None:
    two_groups = _rounds(*[1.0, 1.001] * 5, 1.022, own=0.0005, seconds=0.05)  # whose interval holds both
    assert precision.is_wanting(CASE, two_groups)
    ahead = precision.outlook(CASE, two_groups, 5, 20)
    assert ahead is not None and ahead.processes > len(two_groups) and ahead.seconds > 0.1
    known = precision.outlook(CASE, two_groups[:5], 5, 20)
    assert known is not None and (known.processes, known.seconds) == (5, 0.0)


def test_what_more_processes_cannot_reach_is_given_up_after_twice_the_rounds() -> None:
    hopeless = _rounds(*(1.0 + 0.3 * (-1) ** i for i in range(10)))
    assert not precision.is_last(CASE, hopeless[:9], 9, 5, 20)
    assert precision.is_last(CASE, hopeless, 10, 5, 20)
    worth_it = _rounds(*(1.0 + 0.014 * (-1) ** i for i in range(10)))
    assert precision.is_wanting(CASE, worth_it)
    assert not precision.is_last(CASE, worth_it, 10, 5, 20)
    assert precision.is_last(CASE, worth_it, 20, 5, 20)


def test_several_processes_for_a_precision_are_as_short_as_they_may_be() -> None:
    """A process that has to know its median to 0.5 % alone measures 60,000 calls; one of five needs far fewer."""
    target = Target(runtime="fake", uri="fake:lognormal?latency=1ms&sigma=0.5&clock=virtual")
    case = Case(name="a", target=target, load=Load(precision=0.005, warmup=0))
    events: list[Event] = []
    run = execute(Plan(cases=[case], rounds=5, monitors=()), listener=events.append)
    alone = execute(Plan(cases=[case], rounds=1, monitors=()))
    calls = [sum(samples.calls for samples in result.samples) for result in run.results]
    assert sum(calls[:5]) < 2 * sum(samples.calls for samples in alone.results[0].samples)
    assert all(result.case == case for result in run.results)  # the record keeps what was asked for
    told = [event for event in events if isinstance(event, ExpectedTime)]
    assert [event.guessed for event in told] == [True] + [False] * len(run.results)
    assert isinstance(events[1], ExpectedTime) and events[1].guessed  # right after what is planned
    assert told[1].seconds > told[-1].seconds == 0.0
