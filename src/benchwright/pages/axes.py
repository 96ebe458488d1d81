"""What the axis of a series is made of: rounds folded to one point, branches, the order of commits, releases.

The order of commits is that of their dates, as the repository told them when they were measured. A commit whose date
nobody knows stands where it was first measured. Commits of the same second stand in the order they were measured in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from benchwright.pages.shapes import Release
from benchwright.records import Estimate
from benchwright.records import branches as rules
from benchwright.stats.summary import combine
from benchwright.store.archive import RELEASE, Annotation, Columns
from benchwright.units import QuantityLimits

MOST_RELEASES = 500
_REMEMBERED = 50_000  # runs of several rounds: 50 microseconds each to combine, and asked for again and again

_Round = tuple[float, float | None, float | None, float]  # point, low, high, confidence
Counts = np.ndarray[Any, np.dtype[np.int64]]


def fold_rounds(columns: Columns, limits: QuantityLimits) -> tuple[Columns, Counts]:
    """One point for what a run measured of a commit, with the interval of its rounds together, and how many they are.

    The point stands where the first round began, and names its result.
    """
    code = columns.run * max(len(columns.revisions), 1) + columns.revision
    _, first, group, counts = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    heads = first[order]
    rounds = counts[order]
    folded = replace(
        columns,
        **{name: getattr(columns, name)[heads].copy() for name in ("point", "low", "high")},
        **{name: getattr(columns, name)[heads] for name in ("at", "run", "revision", "result", "confidence", "branch")},
    )
    members = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for place in np.flatnonzero(rounds > 1).tolist():
        start = int(starts[order[place]])
        mine = members[start : start + int(rounds[place])]
        point, low, high = _combine(_rounds_at(columns, mine), limits)
        folded.point[place] = point
        folded.low[place] = np.nan if low is None else low
        folded.high[place] = np.nan if high is None else high
    return folded, rounds


def _rounds_at(columns: Columns, places: Any) -> tuple[_Round, ...]:
    parts = (columns.point, columns.low, columns.high, columns.confidence)
    values = zip(*(part[places].tolist() for part in parts), strict=True)
    return tuple((point, _known(low), _known(high), confidence) for point, low, high, confidence in values)


def _known(value: float) -> float | None:
    return None if value != value else value  # NaN: there is no interval


@lru_cache(maxsize=_REMEMBERED)
def _combine(rounds: tuple[_Round, ...], limits: QuantityLimits) -> tuple[float, float | None, float | None]:
    estimates = [
        Estimate(point=point, low=low, high=high, confidence=confidence, method="")
        for point, low, high, confidence in rounds
    ]
    whole = combine(estimates, limits=limits)
    return whole.point, whole.low, whole.high


def main_line(branches: Sequence[str], branch: Any) -> str:
    """The branch that stands in front: the one that is judged."""
    return rules.main_line({branches[place]: int(count) for place, count in enumerate(np.bincount(branch))})


def commit_instants(columns: Columns, dates: Mapping[str, int]) -> list[int]:
    """When each revision was committed, else when it was first measured here; milliseconds."""
    _, first = np.unique(columns.revision, return_index=True)
    measured = columns.at[first].tolist()  # `revision` indexes the names that occur: each has a first point
    return [dates.get(name, at) // 1000 for name, at in zip(columns.revisions, measured, strict=True)]


def releases(columns: Columns, tags: Mapping[str, Sequence[str]], notes: Sequence[Annotation]) -> list[Release]:
    """The releases among the commits of a series, and those that people wrote beside it, oldest first."""
    _, first = np.unique(columns.revision, return_index=True)
    measured = columns.at[first].tolist()
    found = [
        Release(name=tag, at=at // 1000, revision=revision)
        for revision, at in zip(columns.revisions, measured, strict=True)
        for tag in tags.get(revision, ())
    ]
    found += [Release(name=note.text, at=note.at // 1000, revision="") for note in notes if note.kind == RELEASE]
    return sorted(found, key=lambda release: (release.at, release.name))[-MOST_RELEASES:]
