"""Branches: which of those that a series has points of is its main line, the one that is judged over time.

What pull requests and topic branches measured would otherwise be taken for what became of the project.
"""

from __future__ import annotations

from collections.abc import Mapping

USUAL = ("main", "master", "trunk", "default", "develop")  # names that the main line usually has, the likeliest first


def main_line(counts: Mapping[str, int]) -> str:
    """The main line of branches with so many points each: one that is called as main lines usually are, else that of
    the most points; "" where no point has a branch.
    """
    named = {name: count for name, count in counts.items() if name and count}
    usual = next((name for name in USUAL if name in named), "")
    return usual or max(named, key=lambda name: (named[name], name), default="")


def is_on_line(branch: str, line: str) -> bool:
    """Whether what was measured on a branch is part of a line; where nobody knows the branch, it is."""
    return branch in ("", line)
