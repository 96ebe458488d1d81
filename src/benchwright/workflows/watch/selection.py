"""Which commits are measured, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TypeVar

T = TypeVar("T")


def stepped(waiting: Sequence[T], step: int) -> list[T]:
    """Every `step`-th; fewer than that wait until there are enough. None waits for a successor."""
    return [*waiting[step - 1 :: step]]


def thinned(waiting: Sequence[T], most: int) -> list[T]:
    """At most `most`, evenly spread, the newest always among them; 0 means all."""
    count = len(waiting)
    if not most or count <= most:
        return [*waiting]
    places = sorted({round((i + 1) * count / most) - 1 for i in range(most)})
    return [waiting[place] for place in places]


def gaps(led: Sequence[str], first: str, last: str, known: Set[str], most: int) -> list[str]:
    """Commits strictly between two that nobody measured, those that halve what is left first; at most `most`.

    `led` is the history, oldest first. Ends that are not in it have nothing between them.
    """
    if first not in led or last not in led:
        return []
    between = led[led.index(first) + 1 : led.index(last)]
    chosen: list[str] = []
    stretches = _unknown(between, known)
    while stretches and len(chosen) < most:
        stretch = max(stretches, key=len)
        stretches.remove(stretch)
        middle = len(stretch) // 2
        chosen.append(stretch[middle])
        stretches += [part for part in (stretch[:middle], stretch[middle + 1 :]) if part]
    return chosen


def _unknown(between: Sequence[str], known: Set[str]) -> list[list[str]]:
    """The stretches of commits next to each other that are not known."""
    found: list[list[str]] = [[]]
    for commit in between:
        if commit in known:
            found.append([])
        else:
            found[-1].append(commit)
    return [stretch for stretch in found if stretch]
