"""Finding the best of 288 cases under noise: how often a race is right, what it says of itself, and what it costs.

    python benchmarks/tuning.py [--quick] [--rounds RACES] [--keep FILE] [--part 1/2]

Simulated, seeded: each race has a surface and a machine of its own. A choice is right when it is within 2 % of the best
case. Beside ours, on the same surfaces and machines: the full matrix at five rounds, successive halving, hill climbing
as Model Analyzer's quick search does it, and Optuna alone, whose cost is that of a trial for each case.

Every race is also asked what it would say if it ended early, by its budget or by Ctrl-C, after 24 to 160 processes.

`--keep FILE` writes each search down as soon as it is known: the same command again goes on where it was ended, also
with more `--rounds`. `--part 1/2` and `--part 2/2` with the same file share the work between two
processes; without `--part` the same command then has nothing left to simulate, and prints the table.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from detection.pairs_simulator import CLOUD, QUIET, Profile
from detection.shares import share
from race.kept import Searched, Searches, open_searches
from race.machines import FULL, Chosen, Machine, machines
from race.searches import OTHERS, ours_and_stopped
from race.surfaces import SURFACES, Make, bound_anywhere

from benchwright.system.linear_algebra import one_thread
from harness import Claim, Spread, at_least, at_most, report

PROFILES: dict[str, Profile] = {"cloud": CLOUD, "quiet": QUIET}
OURS, STOPPED, ANYWHERE = "ours", "ours, stopped early", "infeasible best, a limit that cases may lie at"
SLOW = {"Optuna alone": 100}  # searches of a line at most: each takes longer than a race
SEED = 1000  # surfaces that the race was not built on
EARLY = (24, 160)  # processes after which a race is stopped, from and to


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How much to simulate."""

    quick: bool
    rounds: int
    keep: Path | None
    part: tuple[int, int]  # races whose number has this remainder by that


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Races of one surface on one machine."""

    surface: str
    make: Make
    machine: str
    seed: int
    races: int
    others: Sequence[str] = ()

    def __str__(self) -> str:
        return f"{self.surface}, {self.machine}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulates and prints; 1 when a bar is missed."""
    asked = _asked(arguments)
    others = list(OTHERS)
    if importlib.util.find_spec("optuna") is None:
        others.remove("Optuna alone")
        print("not installed: optuna, so it is left out")
    lines = list(_lines(asked, others))
    with one_thread(), open_searches(asked.keep) as searches:
        for line in lines:
            _simulate(line, asked.part, searches)
    decided = [line for line in lines if line.others]
    claims = [*_decided(decided, searches), *_stopped(searches), *_anywhere(searches), *_others(decided, searches)]
    return report(claims, judged=not asked.quick)


def _asked(arguments: Sequence[str] | None) -> Asked:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few races that show it works; bars are not judged")
    parser.add_argument("--rounds", type=int, help="races of each surface on each machine (default 1000)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where searches are kept, and gone on with")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="only every N-th race, from the K-th on")
    given = parser.parse_args(arguments)
    rounds = given.rounds or (2 if given.quick else 1000)
    part, _, parts = given.part.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        parser.error(f"--part {given.part} is not like 1/2")
    if int(parts) > 1 and given.keep is None:
        parser.error("--part needs --keep FILE, where all parts meet")
    return Asked(quick=given.quick, rounds=rounds, keep=given.keep, part=(int(part) - 1, int(parts)))


# ---- simulating ----


def _lines(asked: Asked, others: Sequence[str]) -> Iterator[Line]:
    for machine in PROFILES:
        for number, (surface, make) in enumerate(SURFACES.items()):
            seed = SEED + number
            yield Line(surface=surface, make=make, machine=machine, seed=seed, races=asked.rounds, others=others)
        few = max(2, asked.rounds // 4)
        yield Line(surface=ANYWHERE, make=bound_anywhere, machine=machine, seed=SEED + 50, races=few)


def _simulate(line: Line, part: tuple[int, int], searches: Searches) -> None:
    """Ours and all others on each machine of a line, but for what is known already."""
    began, count = time.perf_counter(), 0
    for race, machine in enumerate(machines(line.make, PROFILES[line.machine], line.races, line.seed)):
        if race % part[1] != part[0]:
            continue
        for search in (OURS, *line.others):
            which = Searched(line.surface, line.machine, search, race)
            if which not in searches.found and race < SLOW.get(search, line.races):
                _search(which, machine.again(), line.seed, searches)
                count += 1
    if count:
        print(f"{line}: {count} searches in {time.perf_counter() - began:.0f} s", file=sys.stderr)


def _search(which: Searched, machine: Machine, seed: int, searches: Searches) -> None:
    if which.search != OURS:
        searches.add(which, OTHERS[which.search](machine, which.race))
        return
    rng = np.random.default_rng((seed, which.race, list(PROFILES).index(which.machine)))
    chosen, stopped = ours_and_stopped(machine, which.race, int(rng.integers(*EARLY)))
    if which.surface != ANYWHERE:
        searches.add(Searched(which.surface, which.machine, STOPPED, which.race), stopped)
    searches.add(which, chosen)


# ---- what is claimed ----


def _decided(lines: Sequence[Line], searches: Searches) -> Iterator[Claim]:
    for line in lines:
        yield from _claims(str(line), searches.of(OURS, line.surface, line.machine))
    every = [one for line in lines for one in searches.of(OURS, line.surface, line.machine)]
    yield from _claims("all of these", every)


def _claims(what: str, chosen: Sequence[Chosen]) -> Iterator[Claim]:
    if not chosen:
        return
    right, races = _right(chosen), f"of {len(chosen)} races"
    yield Claim(what=f"{what}: within 2 % of the best", figure=right, ours=races, unit="%", bar=at_least(99.0))
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


def _stopped(searches: Searches) -> Iterator[Claim]:
    """Races that end long before they are decided, by their budget or by Ctrl-C: what they say then must be as true."""
    chosen = searches.of(STOPPED)
    for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.01)):
        said = f"states {100 * low:.0f} to {100 * min(high, 1):.0f} %"
        if some := [one for one in chosen if low <= one.stated < high]:
            yield _calibration(f"stopped early and {said}, {len(some)} races: stated less right", some, bar=False)
        if some := [one for one in chosen if low <= one.raced < high]:
            yield _raced(f"stopped early and {said} of the raced cases alone, {len(some)} races", some)


def _anywhere(searches: Searches) -> Iterator[Claim]:
    for machine in PROFILES:
        if chosen := searches.of(OURS, ANYWHERE, machine):
            races = f"of {len(chosen)} races"
            yield Claim(what=f"{ANYWHERE}, {machine}: right", figure=_right(chosen), ours=races, unit="%")
            yield _calibration("the same: stated less right", chosen, bar=False)


def _others(lines: Sequence[Line], searches: Searches) -> Iterator[Claim]:
    for line in lines:
        for other in line.others:
            if chosen := searches.of(other, line.surface, line.machine):
                yield Claim(
                    what=f"{line}, {other}: right",
                    figure=_right(chosen),
                    ours=f"of {len(chosen)} searches",
                    against=f"{100 * np.mean([c.processes for c in chosen]) / FULL:.0f} % of the full matrix",
                    unit="%",
                )


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
    point = float(np.mean(values))
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return Spread(point=point, low=point - 1.96 * error, high=point + 1.96 * error)


if __name__ == "__main__":
    sys.exit(main())
