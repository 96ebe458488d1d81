"""Change points in real histories, held against what people confirmed: recall, and what is told per 1,000 values.

    python benchmarks/histories.py HISTORIES.npz

The file has three arrays for each series: `NAME_values`, one value a push, in order; `NAME_confirmed` and
`NAME_invalid`, the indexes of alerts that a person confirmed or called invalid. Nobody looked everywhere, so a change
without a label is no error. Such data is not part of this project; without a file nothing is measured.

Recall is of confirmed alerts with a change within 5 values, with Wilson's 95 % interval. The interval of what is told
comes from drawing whole series anew, as those of one series are alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from detection import peers
from detection.series import Array
from detection.shares import share
from detection.simulator import TOLERANCE

from benchwright.stats.changepoint import detect
from benchwright.stats.drift import examine
from harness import Claim, Spread, at_least, at_most, report

Find = Callable[[Array], Sequence[int]]
BACK, FORE, ENOUGH = 24, 12, 7.0  # of the rule of Mozilla's Perfherder: values before, values after, Student's t
_DRAWN = 1000
_SEED = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A series with what people said of alerts in it."""

    values: Array
    confirmed: Sequence[int]
    invalid: Sequence[int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is clearly missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="real histories with labels, as .npz")
    given = parser.parse_args(arguments)
    if given.file is None:
        print("no real histories given: python benchmarks/histories.py HISTORIES.npz")
        return 0
    histories = list(_read(given.file))
    ours: dict[str, Find] = {"steps": steps, "steps beside drifts, as a watch sees them": beside_drifts}
    claims = [claim for name, find in ours.items() for claim in _claims(name, find, histories, judged=True)]
    others, missing = peers.installed()
    for name in missing:
        print(f"not installed, left out: {name}")
    others = {"Perfherder's rule, t > 7": perfherder, **others}
    for name, find in others.items():
        if name not in peers.SLOW:
            claims += _claims(name, find, histories, judged=False)
    return report(claims)


def steps(values: Array) -> list[int]:
    """Where `detect` sees changes."""
    return [change.index for change in detect(values.tolist())]


def beside_drifts(values: Array) -> list[int]:
    """The same with drifts taken out, and where those begin."""
    trend = examine(values.tolist(), detect=detect)
    return sorted([*(change.index for change in trend.changes), *(drift.start for drift in trend.drifts)])


def perfherder(values: Array) -> list[int]:
    """Where Student's t between both sides, near values counting more, is largest and beyond `ENOUGH`."""
    left = np.array([_t(values, place) for place in range(len(values))])
    found = []
    while len(left) and left.max() > ENOUGH:
        place = int(left.argmax())
        found.append(place)
        left[max(0, place - FORE) : place + FORE + 1] = 0.0
    return sorted(found)


def _t(values: Array, place: int) -> float:
    before, after = values[max(0, place - BACK) : place], values[place : place + FORE]
    if min(len(before), len(after)) < FORE:
        return 0.0
    means, errors = [], []
    for side in (before[::-1], after):
        weights = np.arange(len(side), 0, -1) / len(side)
        means.append(float(np.average(side, weights=weights)))
        variance = np.average((side - means[-1]) ** 2, weights=weights) * len(side) / (len(side) - 1)
        errors.append(float(variance) / len(side))
    return abs(means[1] - means[0]) / max(float(np.sqrt(sum(errors))), 1e-12 * abs(means[0]), 1e-300)


def _read(file: Path) -> Iterator[History]:
    with np.load(file, allow_pickle=False) as arrays:
        for name in sorted(key.removesuffix("_values") for key in arrays.files if key.endswith("_values")):
            labels = (arrays[f"{name}_{kind}"].astype(int).tolist() for kind in ("confirmed", "invalid"))
            confirmed, invalid = labels
            yield History(values=arrays[f"{name}_values"].astype(float), confirmed=confirmed, invalid=invalid)


def _claims(name: str, find: Find, histories: Sequence[History], *, judged: bool) -> Iterator[Claim]:
    found = [find(history.values) for history in histories]
    both = list(zip(found, histories, strict=True))
    hits = [_is_near(label, told) for told, history in both for label in history.confirmed]
    again = [_is_near(label, told) for told, history in both for label in history.invalid]
    alarms, points = [len(told) for told in found], [len(history.values) for history in histories]
    yield Claim(
        what=f"confirmed alerts found: {name}",
        ours=f"{sum(hits)} of {len(hits)}",
        figure=share(hits),
        unit="%",
        bar=at_least(72.0) if judged else None,
    )
    yield Claim(
        what=f"told per 1,000 values: {name}",
        ours=f"{sum(alarms)} of {sum(points):,}",
        figure=_rate(np.array(alarms), np.array(points)),
        unit="/1,000",
        bar=at_most(3.0) if judged else None,
    )
    if again:
        what = f"alerts called invalid that are raised again: {name}"
        yield Claim(what=what, ours=f"{sum(again)} of {len(again)}", figure=share(again), unit="%")


def _is_near(label: int, told: Sequence[int]) -> bool:
    return any(abs(place - label) <= TOLERANCE for place in told)


def _rate(alarms: Array, points: Array) -> Spread:
    drawn = np.random.default_rng(_SEED).integers(len(alarms), size=(_DRAWN, len(alarms)))
    rates = 1000.0 * alarms[drawn].sum(axis=1) / points[drawn].sum(axis=1)
    low, high = np.quantile(rates, (0.025, 0.975))
    return Spread(point=1000.0 * float(alarms.sum() / points.sum()), low=float(low), high=float(high))


if __name__ == "__main__":
    sys.exit(main())
