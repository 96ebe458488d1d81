"""How what several places say comes together: the nearer one wins, and what it hides is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A value that does not count, because a nearer place says something else."""

    path: tuple[str, ...]
    kept: Any
    hidden: Any


def merge_mappings(
    near: Mapping[str, Any], far: Mapping[str, Any], *, missing_only: bool = False
) -> tuple[dict[str, Any], tuple[Hidden, ...]]:
    """`near` with what only `far` has, and what of `far` does not count. Neither argument is changed.

    Mappings are merged all the way down. Lists are joined, `near` first; with `missing_only` (the rule of early 2018)
    only items that `near` lacks are added. Anything else stays as `near` has it.
    """
    hidden: list[Hidden] = []
    return _merge_levels(near, far, (), missing_only, hidden), tuple(hidden)


def _merge_levels(
    near: Mapping[str, Any], far: Mapping[str, Any], path: tuple[str, ...], missing_only: bool, hidden: list[Hidden]
) -> dict[str, Any]:
    found = dict(near)
    for key, theirs in far.items():
        if key not in near:
            found[key] = theirs
            continue
        mine = near[key]
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            found[key] = _merge_levels(mine, theirs, (*path, key), missing_only, hidden)
        elif isinstance(mine, list) and isinstance(theirs, list):
            found[key] = mine + [item for item in theirs if not missing_only or item not in mine]
        elif mine != theirs:
            hidden.append(Hidden(path=(*path, key), kept=mine, hidden=theirs))
    return found
