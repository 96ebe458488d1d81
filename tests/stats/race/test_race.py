"""A race for the best case: what must hold for any space, and what it says of failures, bounds and fronts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.stats.race import (
    BOUND,
    DECIDED,
    FAILED,
    FAILURES,
    INFEASIBLE,
    MEASUREMENTS,
    NOT_PROMISING,
    WORSE,
    Bound,
    Cell,
    Dimension,
    Goal,
    Race,
    RaceOutcome,
    RaceRules,
    RaceStanding,
)
from race_space import CELLS, SPACE, speed

FASTER = (Goal(metric="throughput", higher=True),)
Run = Callable[[int], RaceOutcome]


def finish(race: Race, run: Run) -> RaceStanding:
    while block := race.propose():
        assert len(set(block)) == len(block)
        for cell in block:
            race.record(cell, run(cell))
    return race.standing()


def noisy(cells: list[Cell], scatter: float, seed: int, *, unit: float = 1.0, higher: bool = True) -> Run:
    rng = np.random.default_rng(seed)

    def run(cell: int) -> RaceOutcome:
        value = speed(cells[cell]) * math.exp(scatter * rng.standard_t(4))
        return RaceOutcome(goals=(unit * (value if higher else 1.0 / value),))

    return run


def test_the_best_of_a_saturating_space_is_found_with_few_processes() -> None:
    standing = finish(Race(SPACE, CELLS, RaceRules(goals=FASTER)), noisy(CELLS, 0.005, 1))
    assert standing.leader == CELLS.index(("a", 32.0, 4.0))
    assert standing.reason == DECIDED and standing.over
    assert standing.probability >= 0.995 and standing.beyond <= 0.005
    assert standing.processes == sum(standing.measured) < len(CELLS) * 2
    assert {out.reason for out in standing.exits.values()} == {WORSE, NOT_PROMISING}
    estimate = standing.estimates[standing.leader][0]
    assert estimate.low < speed(CELLS[standing.leader]) < estimate.high


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(len(CELLS))), st.integers(0, 1000))
def test_the_order_of_cells_changes_nothing_without_noise(order: list[int], seed: int) -> None:
    cells = [CELLS[at] for at in order]
    standing = finish(Race(SPACE, cells, RaceRules(goals=FASTER, seed=seed)), noisy(cells, 0.0, 0))
    assert standing.leader is not None and cells[standing.leader] == ("a", 32.0, 4.0)


@settings(max_examples=8, deadline=None)
@given(st.floats(1e-6, 1e6), st.booleans())
def test_units_and_directions_change_nothing(unit: float, higher: bool) -> None:
    plain = finish(Race(SPACE, CELLS, RaceRules(goals=FASTER)), noisy(CELLS, 0.01, 3))
    goals = (Goal(metric="it", higher=higher),)
    other = finish(Race(SPACE, CELLS, RaceRules(goals=goals)), noisy(CELLS, 0.01, 3, unit=unit, higher=higher))
    assert (other.leader, other.measured, other.alike) == (plain.leader, plain.measured, plain.alike)
    assert other.probability == pytest.approx(plain.probability, abs=1e-6)


@settings(max_examples=8, deadline=None)
@given(st.integers(2, 9), st.integers(1, 3), st.integers(0, 50))
def test_never_more_than_the_full_matrix(count: int, rounds: int, seed: int) -> None:
    """Cells that cannot be told apart beyond 0.01 % would be raced for ever."""
    cells: list[Cell] = [(float(at),) for at in range(1, count + 1)]
    dimension = Dimension(name="x", values=tuple(float(at) for at in range(1, count + 1)))
    rng = np.random.default_rng(seed)
    race = Race((dimension,), cells, RaceRules(goals=FASTER, within=1e-4, rounds=rounds))
    standing = finish(race, lambda cell: RaceOutcome(goals=(math.exp(0.05 * rng.normal()),)))
    assert standing.processes <= count * rounds == standing.most
    assert standing.over and standing.reason in (MEASUREMENTS, DECIDED)


def test_fewer_processes_than_the_full_matrix_when_asked() -> None:
    rules = RaceRules(goals=FASTER, most=10)
    standing = finish(Race(SPACE, CELLS, rules), noisy(CELLS, 0.01, 5))
    assert standing.processes == 10 and standing.reason == MEASUREMENTS
    assert standing.leader is not None and standing.overall < 0.99


def test_a_replay_stands_where_the_race_stood() -> None:
    run, told = noisy(CELLS, 0.02, 7), []
    race = Race(SPACE, CELLS, RaceRules(goals=FASTER, seed=4))
    for _ in range(6):
        for cell in race.propose():
            told.append((cell, run(cell), race.block))
            race.record(*told[-1])
        race.standing()
    again = Race(SPACE, CELLS, RaceRules(goals=FASTER, seed=4))
    for cell, outcome, block in told:
        again.record(cell, outcome, block)
    assert again.standing() == race.standing()
    assert again.propose() == race.propose() and again.block == race.block


def test_what_came_late_counts_in_its_block() -> None:
    """A process of an old block, recorded at last, leads to the same as one that came last in its block."""
    run = noisy(CELLS, 0.01, 8)
    told = [(cell, run(cell), number) for number, cell in enumerate([0, 1, 2, 3] * 4)]
    told = [(cell, outcome, number // 4) for cell, outcome, number in told]
    race, late = (Race(SPACE, CELLS, RaceRules(goals=FASTER)) for _ in range(2))
    for row in (*told[1:4], told[0], *told[4:]):
        race.record(*row)
    for row in (*told[1:], told[0]):
        late.record(*row)
        late.standing()
    assert late.standing().leader == race.standing().leader
    assert late.standing().probability == pytest.approx(race.standing().probability, abs=1e-9)


def test_a_cell_that_is_proposed_twice_begins_another_block() -> None:
    race = Race(SPACE, CELLS, RaceRules(goals=FASTER))
    for _ in range(3):
        race.record(0, RaceOutcome(goals=(1.0,)))
    assert race.block == 2 and race.standing().measured[0] == 3


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.1, 10.0), min_size=2, max_size=6, unique=True), st.integers(0, 9))
def test_a_dominated_cell_never_wins_without_noise(levels: list[float], seed: int) -> None:
    names = tuple("abcdef"[: len(levels)])
    rules = RaceRules(goals=FASTER, seed=seed)
    race = Race((Dimension(name="x", values=names),), [(name,) for name in names], rules)
    standing = finish(race, lambda cell: RaceOutcome(goals=(levels[cell],)))
    assert standing.leader is not None and levels[standing.leader] >= max(levels) * 0.98
    assert all(levels[out.beside or 0] > levels[cell] for cell, out in standing.exits.items() if out.reason == WORSE)


# ---- one cell, no choice ----


def test_a_space_without_a_choice_ends_with_its_cell() -> None:
    standing = finish(Race((), [()], RaceRules(goals=FASTER)), lambda cell: RaceOutcome(goals=(3.0,)))
    assert standing.leader == 0 and standing.reason == DECIDED and standing.processes == 2


@pytest.mark.parametrize(
    ("cells", "rules", "message"),
    [
        ([], {}, "at least one cell"),
        ([(1.0,), (1.0,)], {}, "named twice"),
        ([(1.0,)], {"within": 0.0}, "within"),
        ([(1.0,)], {"error": 0.7}, "error"),
        ([(1.0,)], {"rounds": 0}, "one round"),
        ([(1.0,)], {"goals": ()}, "needs a goal"),
        ([(1.0,)], {"bounds": (Bound(metric="p99", limit=0.0, upper=True),)}, "above zero"),
    ],
)
def test_what_cannot_be_raced_says_why(cells: list[Cell], rules: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Race((Dimension(name="x", values=(1.0,)),), cells, RaceRules(**({"goals": FASTER} | rules)))  # type: ignore[arg-type]


def test_a_cell_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="cells 0 to 35, not 36"):
        Race(SPACE, CELLS, RaceRules(goals=FASTER)).record(36, RaceOutcome(goals=(1.0,)))


# ---- failures ----


def test_cells_beyond_a_cliff_are_not_tried_one_by_one() -> None:
    """Memory ends at 16 × 4: what is larger fails, and few of them need to be tried for that."""
    numbers = Dimension(name="batch", values=tuple(float(2**at) for at in range(8)))
    threads = Dimension(name="threads", values=(1.0, 2.0, 3.0, 4.0, 6.0, 8.0))
    copies = Dimension(name="copies", values=(1.0, 2.0, 3.0, 4.0, 6.0, 8.0))
    cells: list[Any] = list(itertools.product(numbers.values, threads.values, copies.values))
    rng = np.random.default_rng(2)

    def run(cell: int) -> RaceOutcome:
        batch, threads_, copies_ = cells[cell]
        if batch * copies_ > 64.0:
            return RaceOutcome(goals=(), failure="out of memory")
        fast = batch / (batch + 4.0) * copies_ / (copies_ + 2.0) * threads_ / (threads_ + 1.0)
        return RaceOutcome(goals=(fast * math.exp(0.004 * rng.normal()),))

    standing = finish(Race((numbers, threads, copies), cells, RaceRules(goals=FASTER)), run)
    works = [batch * copies_ <= 64.0 for batch, _, copies_ in cells]
    truth = [
        b / (b + 4.0) * c / (c + 2.0) * t / (t + 1.0) if w else 0.0 for (b, t, c), w in zip(cells, works, strict=True)
    ]
    assert standing.leader is not None and truth[standing.leader] >= 0.98 * max(truth)
    tried = sum(count > 0 for count, w in zip(standing.measured, works, strict=True) if not w)
    assert tried < 0.4 * works.count(False)
    reasons = {out.reason for cell, out in standing.exits.items() if not works[cell]}
    assert reasons <= {FAILED, NOT_PROMISING}
    assert all(
        standing.exits[cell].told == "out of memory" for cell in standing.exits if standing.exits[cell].reason == FAILED
    )


def test_one_crash_is_looked_at_again() -> None:
    crashed: list[int] = []

    def run(cell: int) -> RaceOutcome:
        if CELLS[cell] == ("a", 32.0, 4.0) and not crashed:
            crashed.append(cell)
            return RaceOutcome(goals=(), failure="killed")
        return RaceOutcome(goals=(speed(CELLS[cell]),))

    standing = finish(Race(SPACE, CELLS, RaceRules(goals=FASTER)), run)
    assert crashed and standing.leader == crashed[0]


def test_a_race_in_which_nothing_works_ends() -> None:
    standing = finish(
        Race(SPACE, CELLS, RaceRules(goals=FASTER)), lambda cell: RaceOutcome(goals=(), failure="no such file")
    )
    assert standing.leader is None and standing.over and standing.probability == 0.0
    assert standing.processes <= 2 * len(CELLS)
    assert {out.told for out in standing.exits.values()} == {"no such file"}


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_value_without_a_logarithm_is_a_failure(value: float) -> None:
    race = Race(SPACE[:1], [("a",), ("b",)], RaceRules(goals=FASTER))
    standing = finish(race, lambda cell: RaceOutcome(goals=(1.0 if cell else value,)))
    assert standing.leader == 1 and standing.exits[0].reason == FAILED
    assert "throughput is" in standing.exits[0].told


# ---- bounds ----

BOUNDED = (Bound(metric="p99", limit=20.0, upper=True),)


def with_latency(scatter: float, shift: float = 1.0) -> Run:
    rng = np.random.default_rng(6)

    def run(cell: int) -> RaceOutcome:
        off = math.exp(scatter * rng.standard_t(4))
        _, batch, copies = CELLS[cell]
        assert not isinstance(batch, str) and not isinstance(copies, str)
        return RaceOutcome(
            goals=(speed(CELLS[cell]) / off,), bounds=(shift * batch * copies / speed(CELLS[cell]) * off,)
        )

    return run


def test_the_fastest_cell_that_breaks_the_bound_does_not_win() -> None:
    standing = finish(Race(SPACE, CELLS, RaceRules(goals=FASTER, bounds=BOUNDED)), with_latency(0.005))
    assert standing.leader is not None
    able = [speed(cell) for cell in CELLS if cell[1] * cell[2] / speed(cell) <= 20.0]  # type: ignore[operator]
    batch, copies = CELLS[standing.leader][1:]
    assert batch * copies / speed(CELLS[standing.leader]) <= 20.0  # type: ignore[operator]
    assert speed(CELLS[standing.leader]) >= 0.98 * max(able)
    assert BOUND in {out.reason for out in standing.exits.values()}


def test_a_space_without_a_feasible_cell_says_how_far_the_nearest_is() -> None:
    standing = finish(Race(SPACE, CELLS, RaceRules(goals=FASTER, bounds=BOUNDED)), with_latency(0.005, 40.0))
    assert standing.leader is None and standing.reason == INFEASIBLE
    (miss,) = standing.nearest
    truth = {at: 40.0 * b * c / speed((r, b, c)) for at, (r, b, c) in enumerate(CELLS)}  # type: ignore[operator]
    assert truth[miss.nearest] == pytest.approx(min(truth.values()), rel=0.02)
    assert miss.beyond == pytest.approx(min(truth.values()) / 20.0 - 1.0, rel=0.05)
    assert standing.processes < len(CELLS) * 3


def test_a_lower_bound_is_a_bound() -> None:
    rules = RaceRules(
        goals=(Goal(metric="latency", higher=False),), bounds=(Bound(metric="accuracy", limit=0.9, upper=False),)
    )
    race = Race(SPACE[:1], [("a",), ("b",)], rules)
    standing = finish(race, lambda cell: RaceOutcome(goals=(1.0 + cell,), bounds=(0.7 + 0.25 * cell,)))
    assert standing.leader == 1 and standing.exits[0].reason == BOUND and standing.exits[0].bound == 0


# ---- two goals ----


def test_two_goals_give_a_front() -> None:
    """The second goal is best where the first is worst; runtime b is dominated."""
    goals = (Goal(metric="throughput", higher=True), Goal(metric="memory", higher=False))
    rng = np.random.default_rng(9)

    def run(cell: int) -> RaceOutcome:
        runtime, batch, copies = CELLS[cell]
        assert not isinstance(batch, str) and not isinstance(copies, str)
        memory = batch * copies * (1.0 if runtime == "a" else 1.2)
        return RaceOutcome(goals=(speed(CELLS[cell]) * math.exp(0.003 * rng.normal()), memory))

    standing = finish(Race(SPACE, CELLS, RaceRules(goals=goals)), run)
    assert standing.leader is None
    assert {CELLS[cell][0] for cell in standing.front} == {"a"}
    assert {CELLS.index(("a", 1.0, 1.0)), CELLS.index(("a", 32.0, 4.0))} <= set(standing.front)


def test_what_is_as_good_in_one_goal_and_worse_in_the_other_is_not_on_the_front() -> None:
    """The second goal differs by a hundredth of what does not matter, against the first."""
    goals = (Goal(metric="throughput", higher=True), Goal(metric="memory", higher=False))
    rng = np.random.default_rng(4)

    def run(cell: int) -> RaceOutcome:
        return RaceOutcome(goals=(float(1 + cell) * math.exp(0.01 * rng.normal()), 100.0 + 0.02 * cell))

    cells = [(name,) for name in "abc"]
    standing = finish(Race((Dimension(name="x", values=("a", "b", "c")),), cells, RaceRules(goals=goals)), run)
    assert standing.front == (2,) and set(standing.exits) == {0, 1}
    assert all(gone.reason == WORSE and gone.goal == 0 for gone in standing.exits.values())


def test_of_one_process_each_nothing_is_stated() -> None:
    """What processes differ by shows when a cell is measured again: before that nobody knows how sure a leader is."""
    race = Race(SPACE[:1], [("a",), ("b",)], RaceRules(goals=FASTER))
    for cell in race.propose():
        race.record(cell, RaceOutcome(goals=(1.0 + cell,)))
    standing = race.standing()
    assert standing.measured == (1, 1) and standing.leader == 1
    assert standing.probability == 0.0 and standing.overall == 0.0 and not standing.exits
    for cell in race.propose():
        race.record(cell, RaceOutcome(goals=(1.01 + cell,)))
    assert race.standing().probability > 0.9


def test_a_race_told_again_comes_to_the_same_numbers() -> None:
    """Also one that was judged after every process, so that its fits began elsewhere on the way."""
    race, again = (Race(SPACE, CELLS, RaceRules(goals=FASTER, within=0.001)) for _ in range(2))
    run, told = noisy(CELLS, 0.03, 9), []
    while block := race.propose():
        for cell in block:
            told.append((cell, run(cell), race.block))
            race.record(*told[-1])
            race.standing()
    for row in told:
        again.record(*row)
    assert again.standing() == race.standing()


def test_outcomes_of_a_failed_race_name_failures() -> None:
    race = Race(SPACE[:1], [("a",), ("b",)], RaceRules(goals=FASTER))
    assert finish(race, lambda cell: RaceOutcome(goals=(), failure="boom")).reason == FAILURES
