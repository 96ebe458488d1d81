"""Ours, and how others look for the best case: each takes a machine and comes to a choice.

The others take the word of what they measured, as people use them: a case counts with the mean of its processes, and
one whose mean breaks the bound does not count.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from race.machines import WITHIN, Chosen, Machine
from race.surfaces import CELLS, DIMENSIONS

from benchwright.stats.race import Goal, Race, RaceRules, RaceStanding

Search = Callable[[Machine, int], Chosen]
_NUMBERS = tuple(at for at, each in enumerate(DIMENSIONS) if not isinstance(each.values[0], str))
_PLACES = {cell: at for at, cell in enumerate(CELLS)}


def ours(machine: Machine, seed: int, stop: int | None = None) -> Chosen:
    """A race until it is decided, or until `stop` processes have run, as when somebody presses Ctrl-C."""
    told = _race(machine, seed, stop)
    return next(told) if stop is not None else list(told)[-1]


def ours_and_stopped(machine: Machine, seed: int, stop: int) -> tuple[Chosen, Chosen | None]:
    """A race until it is decided, and what it said after `stop` processes: there Ctrl-C is pressed, or time is over.

    To be asked changes nothing in a race. None where it was decided before.
    """
    *stopped, decided = _race(machine, seed, stop)
    return decided, stopped[0] if stopped else None


def _race(machine: Machine, seed: int, stop: int | None) -> Iterator[Chosen]:
    """What a race says after `stop` processes, in the middle of a block or not, and at its end."""
    race = Race(DIMENSIONS, CELLS, _rules(machine, seed))
    while block := race.propose():
        for cell in block:
            race.record(cell, machine.run(cell))
            if machine.count == stop:
                yield _told(machine, race.standing())
    yield _told(machine, race.standing())


def exhaustive(machine: Machine, seed: int, rounds: int = 5) -> Chosen:
    """The full matrix, interleaved, and the best mean."""
    rng, seen = np.random.default_rng(seed), _Seen(machine)
    for _ in range(rounds):
        seen.run(rng.permutation(len(CELLS)).tolist())
    return machine.chosen(seen.best())


def successive_halving(machine: Machine, seed: int) -> Chosen:
    """Every case once; then the better half again and again, twice as often each time (Jamieson and Talwalkar 2016)."""
    rng, seen, left = np.random.default_rng(seed), _Seen(machine), list(range(len(CELLS)))
    times = 1
    while len(left) > 1:
        for _ in range(times):
            seen.run(rng.permutation(left).tolist())
        left = sorted(left, key=lambda cell: -seen.score(cell))[: max(1, len(left) // 4)]
        times *= 2
    return machine.chosen(left[0] if math.isfinite(seen.score(left[0])) else None)


def hill_climbing(machine: Machine, seed: int) -> Chosen:
    """As Model Analyzer's quick search: from the smallest case uphill over the neighbours' single measurements.

    For each runtime and precision anew, as it searches the numbers of one model; the three best are measured again.
    """
    seen = _Seen(machine)
    for choice in sorted({_choices(cell) for cell in CELLS}):
        at = next(place for place, cell in enumerate(CELLS) if _choices(cell) == choice)
        while True:
            around = _neighbours(at)
            seen.run(cell for cell in (at, *around) if not seen.values[cell])
            best = max((at, *around), key=seen.score)
            if best == at:
                break
            at = best
    top = sorted((cell for cell in range(len(CELLS)) if seen.values[cell]), key=lambda cell: -seen.score(cell))[:3]
    seen.run(top)
    return machine.chosen(seen.best())


def optuna_alone(machine: Machine, seed: int) -> Chosen:
    """Optuna's default sampler with as many trials as there are cases, and its best trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seen = _Seen(machine)

    def measure(trial: optuna.Trial) -> float:
        cell = _PLACES[tuple(_suggest(trial, at) for at in range(len(DIMENSIONS)))]
        seen.run([cell])
        if math.isnan(seen.values[cell][-1]):
            raise optuna.TrialPruned
        return seen.values[cell][-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(measure, n_trials=len(CELLS))
    done = [trial for trial in study.trials if trial.state is optuna.trial.TrialState.COMPLETE]
    if not done:
        return machine.chosen(None)
    best = max(done, key=lambda trial: trial.value or -math.inf).params
    return machine.chosen(_PLACES[tuple(best[dimension.name] for dimension in DIMENSIONS)])


OTHERS: dict[str, Search] = {
    "exhaustive, five rounds": exhaustive,
    "successive halving": successive_halving,
    "hill climbing": hill_climbing,
    "Optuna alone": optuna_alone,
}


class _Seen:
    """What single processes gave: logarithms of the goal, or nan where one failed or broke the bound."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.values: list[list[float]] = [[] for _ in CELLS]

    def run(self, cells: Iterable[int]) -> None:
        for cell in cells:
            outcome, bounds = self.machine.run(cell), self.machine.truth.bounds
            kept = not outcome.failure and all(v <= b.limit for v, b in zip(outcome.bounds, bounds, strict=True))
            self.values[cell].append(math.log(outcome.goals[0]) if kept else math.nan)

    def score(self, cell: int) -> float:
        """The mean; minus infinity where half of the processes failed or broke the bound."""
        values = np.array(self.values[cell])
        if not len(values) or np.isnan(values).mean() >= 0.5:
            return -math.inf
        return float(np.nanmean(values))

    def best(self) -> int | None:
        cell = max(range(len(CELLS)), key=self.score)
        return cell if math.isfinite(self.score(cell)) else None


def _rules(machine: Machine, seed: int) -> RaceRules:
    goals = (Goal(metric="throughput", higher=True),)
    return RaceRules(goals=goals, bounds=machine.truth.bounds, within=WITHIN, seed=seed)


def _told(machine: Machine, standing: RaceStanding) -> Chosen:
    truth, leader = machine.truth, standing.leader
    raced = [cell for cell, count in enumerate(standing.measured) if count >= 2 and not truth.fails[cell]]
    if truth.bounded is not None:
        over = truth.bounded - math.log(truth.bounds[0].limit)
        raced = [cell for cell in raced if over[cell] <= -math.log1p(WITHIN)]
    best = max((truth.goal[cell] for cell in raced), default=-math.inf)
    loss = truth.loss(leader, WITHIN)
    near = leader is not None and math.isfinite(loss) and truth.goal[leader] - best >= math.log1p(-WITHIN)
    return Chosen(
        cell=leader,
        processes=machine.count,
        loss=loss,
        stated=standing.overall,
        raced=standing.probability,
        is_best_raced=bool(near),
    )


def _choices(cell: tuple[float | str, ...]) -> tuple[str, ...]:
    return tuple(value for value in cell if isinstance(value, str))


def _neighbours(at: int) -> list[int]:
    """The cases one step away in any numbers, with the same choices."""
    steps = [(-1, 0, 1) if number in _NUMBERS else (0,) for number in range(len(DIMENSIONS))]
    found = []
    for step in itertools.product(*steps):
        place = [d.values.index(v) + s for d, v, s in zip(DIMENSIONS, CELLS[at], step, strict=True)]  # type: ignore[arg-type]
        if any(step) and all(0 <= p < len(d.values) for p, d in zip(place, DIMENSIONS, strict=True)):
            found.append(_PLACES[tuple(d.values[p] for p, d in zip(place, DIMENSIONS, strict=True))])
    return found


def _suggest(trial: object, at: int) -> float | str:
    return trial.suggest_categorical(DIMENSIONS[at].name, list(DIMENSIONS[at].values))  # type: ignore[attr-defined, no-any-return]
