"""Change points in simulated histories: how many are found, how many are false, how long it takes; ours and others'.

    python benchmarks/changepoints.py [--quick]

Five families of noise (the wide set has a sixth), lengths from 50 to 5,000, changes of 1 to 20 %; and four that are
like the histories of continuous integration, changes of 2 to 20 %. A round is a fresh set of series. A found change
counts if it is within 5 points of a real one; false alarms are those in series that never change. `held out` is a set
of other ranges, on which no constant was tuned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from time import perf_counter

import numpy as np
from detection import peers
from detection.series import HELD_OUT, LENGTHS, REAL, REFERENCE, WIDE, Array, Profile, collection, draw, families
from detection.shares import share
from detection.simulator import TOLERANCE, Detect, Score, score

from benchwright.stats.changepoint import Detector, detect
from harness import Bar, Claim, Settings, at_least, at_most, interleaved, ratios, report, settings, spread

SEED = 20_000
BEFORE, AFTER = 10, (8, 9, 10, 12, 15, 20, 30)  # values around a step in a series that has just begun
FEW, CORRELATIONS = (
    (20, 24, 28, 32, 36, 40),
    (0.3, 0.5, 0.8),
)  # values of unchanged series, and how alike neighbours are
SHORT = (50, 100, 200, 500)  # what slow peers are scored on


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is clearly missed."""
    asked = settings(__doc__, arguments, rounds=6, quick_rounds=1)
    others, missing = peers.installed()
    for name in missing:
        print(f"not installed, left out: {name}; bars that name it are not judged")
    claims = accuracy(asked, others) + short(asked) + speed(asked, others)
    return report(claims, judged=not asked.quick)


def ours(values: Array) -> list[int]:
    """Where our changes are."""
    return [change.index for change in detect(values.tolist())]


def accuracy(asked: Settings, others: dict[str, Detect]) -> list[Claim]:
    """Scores of everyone, round by round on the same series."""
    claims: list[Claim] = []
    for profile in (REFERENCE, HELD_OUT, WIDE, REAL):
        rounds = [_scores(ours, profile, SEED + number, asked) for number in range(asked.rounds)]
        judged = profile in (REFERENCE, HELD_OUT)  # in the others noise hides many changes from anyone
        claims += _scored("ours", profile, [_total(found) for found in rounds], judged=judged)
        told = families(REFERENCE) if profile is REFERENCE else {*families(profile)} - {*families(REFERENCE)}
        for family in told:
            claims += _scored(f"ours, {family}", profile, [found[family] for found in rounds], judged=False)
    for name, other in others.items():
        lengths = SHORT if name in peers.SLOW else LENGTHS
        for profile in (REFERENCE, REAL):
            rounds = [_scores(other, profile, SEED + number, asked, lengths) for number in range(min(2, asked.rounds))]
            claims += _scored(name, profile, [_total(found) for found in rounds], judged=False)
    return claims


def short(asked: Settings) -> list[Claim]:
    """What a dozen or three of values show: a step of 8 % in noise of 2 %, and noise of which neighbours are alike."""
    count, claims = asked.count(100 * asked.rounds, 5), []
    for after in AFTER:
        rng = np.random.default_rng((SEED, after))
        steps = np.where(np.arange(BEFORE + after) < BEFORE, 0.0, np.log(1.08))
        found = [ours(np.exp(steps + 0.02 * rng.standard_normal(len(steps)))) for _ in range(count)]
        near = [any(abs(place - BEFORE) <= TOLERANCE for place in places) for places in found]
        what = f"8 % slower after {BEFORE} values with noise of 2 %: found {after} values later"
        claims.append(Claim(what=what, figure=share(near), unit="%", bar=at_least(85.0)))
    for correlation in CORRELATIONS:
        rng = np.random.default_rng((SEED, int(10 * correlation)))
        series = (np.exp(0.02 * alike(rng, length, correlation)) for length in FEW for _ in range(count // 2))
        what = f"{FEW[0]} to {FEW[-1]} values of AR {correlation:g}, nothing changed: a change is seen"
        claims.append(Claim(what=what, figure=share([bool(ours(values)) for values in series]), unit="%"))
    return claims


def alike(rng: np.random.Generator, length: int, correlation: float) -> Array:
    """Noise of variance 1 of which neighbours correlate so much, settled."""
    steps = np.sqrt(1.0 - correlation**2) * rng.standard_normal(length)
    steps[0] = rng.standard_normal()
    return np.array(list(accumulate(steps, lambda last, step: correlation * last + step)))


def speed(asked: Settings, others: dict[str, Detect]) -> list[Claim]:
    """Time for a long series of each family, for all of them on average, and for one more value."""
    length = asked.count(5000, 500)
    drawn = {f: draw(f, length, np.random.default_rng(SEED), REFERENCE).values for f in families(REFERENCE)}
    series = list(drawn.values())
    contenders: dict[str, Callable[[], float]] = {"ours": partial(_seconds, ours, series)}
    contenders |= {family: partial(_seconds, ours, [values]) for family, values in drawn.items()}
    if "Otava, default" in others:
        contenders["Otava"] = partial(_seconds, others["Otava, default"], series)
    contenders["append"] = partial(_appending, [Detector(values) for values in series], series)
    found = interleaved(contenders, asked.count(7, 1))
    claims = [
        Claim(
            what=f"{length:,} points: {family}", figure=spread(found[family]).times(1e3), unit="ms", bar=at_most(30.0)
        )
        for family in drawn
    ]
    claims.append(Claim(what="one more point, over all anew", figure=ratios(found["append"], found["ours"])))
    if "Otava" in found:
        against = f"Otava {1e3 * spread(found['Otava']).point:.0f} ms"
        ratio = ratios(found["ours"], found["Otava"])
        claims.append(Claim(what=f"{length:,} points over Otava", against=against, figure=ratio, bar=at_most(0.2)))
    return claims


def _scores(
    detector: Detect, profile: Profile, seed: int, asked: Settings, lengths: tuple[int, ...] = LENGTHS
) -> dict[str, Score]:
    chosen = lengths[: asked.count(len(lengths), 2)]
    return score(detector, collection(profile, seed, asked.count(2000, 200), chosen))


def _total(found: dict[str, Score]) -> Score:
    return sum(found.values(), start=Score())


def _scored(name: str, profile: Profile, rounds: list[Score], *, judged: bool) -> list[Claim]:
    rows: tuple[tuple[str, str, list[float], Bar], ...] = (
        ("F1", "F1", [one.f1 for one in rounds], at_least(0.86)),
        ("false alarms", "/1,000", [one.false_alarms for one in rounds], at_most(0.5)),
    )
    return [
        Claim(what=f"{what}, {profile.name}: {name}", figure=spread(found), unit=unit, bar=bar if judged else None)
        for what, unit, found, bar in rows
    ]


def _seconds(detector: Detect, series: Sequence[Array]) -> float:
    """Seconds for one series, on average over the families."""
    began = perf_counter()
    for values in series:
        detector(values)
    return (perf_counter() - began) / len(series)


def _appending(detectors: Sequence[Detector], series: Sequence[Array]) -> float:
    began = perf_counter()
    for detector, values in zip(detectors, series, strict=True):
        detector.append(float(values[-1]))
    return (perf_counter() - began) / len(series)


if __name__ == "__main__":
    sys.exit(main())
