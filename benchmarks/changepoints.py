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
from time import perf_counter

import numpy as np
from detection import peers
from detection.series import HELD_OUT, LENGTHS, REAL, REFERENCE, WIDE, Array, Profile, collection, draw, families
from detection.simulator import Detect, Score, score

from benchwright.stats.changepoint import Detector, detect
from harness import Bar, Claim, Settings, at_least, at_most, interleaved, ratios, report, settings, spread

SEED = 20_000
SHORT = (50, 100, 200, 500)  # what slow peers are scored on


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is clearly missed."""
    asked = settings(__doc__, arguments, rounds=6, quick_rounds=1)
    others, missing = peers.installed()
    for name in missing:
        print(f"not installed, left out: {name}; bars that name it are not judged")
    claims = accuracy(asked, others) + speed(asked, others)
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
