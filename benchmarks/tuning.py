"""Finding the best of 288 cases under noise: how often a race is right, what it says of itself, and what it costs.

    python benchmarks/tuning.py [--quick] [--rounds RACES]

Simulated, seeded: each race has a surface and a machine of its own. A choice is right when it is within 2 % of the best
case. Beside ours, on the same surfaces: the full matrix at five rounds, successive halving, hill climbing as Model
Analyzer's quick search does it, and Optuna alone, whose cost is that of a trial for each case.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from detection.pairs_simulator import CLOUD, QUIET, Profile
from detection.shares import share
from race.machines import FULL, Chosen, machines
from race.searches import OTHERS, Search, ours
from race.surfaces import SURFACES, Make, bound_anywhere

from harness import Claim, Settings, Spread, at_least, at_most, report, settings

PROFILES: dict[str, Profile] = {"cloud": CLOUD, "quiet": QUIET}
SLOW = ("exhaustive, five rounds", "Optuna alone")  # of which fewer are simulated
SEED = 1000  # surfaces that the race was not built on
EARLY = (24, 160)  # processes after which a race is stopped, from and to


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulates and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=1000, quick_rounds=2)
    claims = [*_decided(asked), *_stopped(asked), *_anywhere(asked), *_others(asked)]
    return report(claims, judged=not asked.quick)


def _decided(asked: Settings) -> Iterator[Claim]:
    for number, (surface, make) in enumerate(SURFACES.items()):
        for name, profile in PROFILES.items():
            chosen = _searched(ours, make, profile, asked.rounds, number)
            what = f"{surface}, {name}"
            yield Claim(what=f"{what}: within 2 % of the best", figure=_right(chosen), unit="%", bar=at_least(99.0))
            yield _calibration("the same: stated probability less how often it was right", chosen)
            yield _raced("the same, of the raced cases alone, without the model", chosen)
            yield Claim(
                what="the same: measuring time, of the full matrix",
                figure=_cost(chosen),
                ours=_processes(chosen),
                against=f"{FULL:,}",
                unit="%",
                bar=at_most(20.0),
            )


def _stopped(asked: Settings) -> Iterator[Claim]:
    """Races that end long before they are decided: what they say then must be as true."""
    rng = np.random.default_rng(5)
    chosen = []
    for number, make in enumerate(SURFACES.values()):
        for profile in PROFILES.values():
            for at, machine in enumerate(machines(make, profile, max(2, asked.rounds // 10), SEED + 100 + number)):
                chosen.append(ours(machine, at, int(rng.integers(*EARLY))))
    for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.01)):
        some = [one for one in chosen if low <= one.stated < high]
        if some:
            yield _calibration(
                f"stopped early, where it states {100 * low:.0f} to {100 * min(high, 1):.0f} %", some, bar=False
            )


def _anywhere(asked: Settings) -> Iterator[Claim]:
    for name, profile in PROFILES.items():
        chosen = _searched(ours, bound_anywhere, profile, max(2, asked.rounds // 4), 50)
        yield Claim(
            what=f"infeasible best, a limit that cases may lie at, {name}: right", figure=_right(chosen), unit="%"
        )
        yield _calibration("the same: stated less right", chosen, bar=False)


def _others(asked: Settings) -> Iterator[Claim]:
    others = dict(OTHERS)
    if importlib.util.find_spec("optuna") is None:
        del others["Optuna alone"]
        print("not installed: optuna, so it is left out")
    for number, (surface, make) in enumerate(SURFACES.items()):
        for name, profile in PROFILES.items():
            for other, search in others.items():
                count = max(2, asked.rounds // (20 if other in SLOW else 5))
                chosen = _searched(search, make, profile, count, number)
                yield Claim(
                    what=f"{surface}, {name}, {other}: right",
                    figure=_right(chosen),
                    ours=f"of {count} searches",
                    against=f"{100 * np.mean([c.processes for c in chosen]) / FULL:.0f} % of the full matrix",
                    unit="%",
                )


def _searched(search: Search, make: Make, profile: Profile, count: int, seed: int) -> list[Chosen]:
    return [search(machine, at) for at, machine in enumerate(machines(make, profile, count, SEED + seed))]


def _right(chosen: Sequence[Chosen]) -> Spread:
    return share([one.is_right for one in chosen])


def _processes(chosen: Sequence[Chosen]) -> str:
    counts = [one.processes for one in chosen]
    return f"{np.mean(counts):.0f} processes, at most {max(counts)}"


def _cost(chosen: Sequence[Chosen]) -> Spread:
    """The mean with its 95 % interval."""
    return _mean([100.0 * one.processes / FULL for one in chosen])


def _calibration(what: str, chosen: Sequence[Chosen], *, bar: bool = True) -> Claim:
    stated, right = (float(np.mean([100.0 * getattr(one, of) for one in chosen])) for of in ("stated", "is_right"))
    return Claim(
        what=what,
        figure=_apart(stated, share([one.is_right for one in chosen])),
        ours=f"{stated:.2f} %",
        against=f"{right:.2f} %",
        unit="points",
        bar=at_most(1.0) if bar else None,
    )


def _raced(what: str, chosen: Sequence[Chosen]) -> Claim:
    stated = float(np.mean([100.0 * one.raced for one in chosen]))
    right = share([one.is_best_raced for one in chosen])
    figure = _apart(stated, right)
    return Claim(what=what, figure=figure, ours=f"{stated:.2f} %", against=f"{right.point:.2f} %", unit="points")


def _apart(stated: float, right: Spread) -> Spread:
    """How far a stated probability is from the share that was right, either way: at the point, and at the interval."""
    low = max(0.0, right.low - stated, stated - right.high)
    return Spread(point=abs(stated - right.point), low=low, high=max(abs(stated - right.low), abs(stated - right.high)))


def _mean(values: Sequence[float]) -> Spread:
    point, error = float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return Spread(point=point, low=point - 1.96 * error, high=point + 1.96 * error)


if __name__ == "__main__":
    sys.exit(main())
