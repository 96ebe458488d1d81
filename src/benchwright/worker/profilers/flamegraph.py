"""A flame graph as one SVG file that any browser shows: width is the share of samples, callers below the called."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

WIDTH = 1200.0
ROW = 18
LEAST = 0.4  # pixels; what is narrower is left out
_LETTER = 6.6  # pixels of one letter


@dataclass(slots=True)
class Node:
    """A function in one place of the stack, and those it called."""

    weight: float = 0.0
    called: dict[str, Node] = field(default_factory=dict)


def from_speedscope(profile: Mapping[str, Any], title: str) -> str:
    """The flame graph of a speedscope file with sampled profiles; threads stand beside each other."""
    frames = [_frame_label(frame) for frame in profile["shared"]["frames"]]
    stacks = (
        ([each["name"], *(frames[index] for index in sample)], float(weight))
        for each in profile["profiles"]
        for sample, weight in zip(each["samples"], each["weights"], strict=True)
    )
    return flame_graph(stacks, title)


def flame_graph(stacks: Iterable[tuple[list[str], float]], title: str) -> str:
    """The flame graph of stacks, each with the caller first and with its weight."""
    root = Node()
    for stack, weight in stacks:
        node = root
        node.weight += weight
        for name in stack:
            node = node.called.setdefault(name, Node())
            node.weight += weight
    scale = WIDTH / (root.weight or 1.0)
    height = (_depth(root, scale) + 1) * ROW
    body = "".join(_boxes(root, scale, height))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height}" font-family="monospace"'
        f' font-size="11"><rect width="100%" height="100%" fill="#fff"/><text x="4" y="13">{escape(title)}</text>'
        f"{body}</svg>\n"
    )


def _boxes(root: Node, scale: float, height: int) -> Iterable[str]:
    left = [(root, 0.0, 0)]  # a node, where it begins, how deep it lies
    while left:
        node, x, depth = left.pop()
        for name, called in sorted(node.called.items()):
            width = called.weight * scale
            if width >= LEAST:
                yield _box(name, called.weight / root.weight, x, height - (depth + 1) * ROW, width)
                left.append((called, x, depth + 1))
            x += width


def _box(name: str, share: float, x: float, y: float, width: float) -> str:
    letters = int((width - 6) / _LETTER)
    shown = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters > 2 else ""
    text = f'<text x="{x + 3:.1f}" y="{y + 13}">{escape(shown)}</text>' if shown else ""
    return (
        f"<g><title>{escape(name)}: {100 * share:.1f} %</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}" fill="{_colour(name)}"/>{text}</g>'
    )


def _depth(root: Node, scale: float) -> int:
    deepest, left = 0, [(root, 0)]
    while left:
        node, depth = left.pop()
        deepest = max(deepest, depth)
        left += [(called, depth + 1) for called in node.called.values() if called.weight * scale >= LEAST]
    return deepest


def _frame_label(frame: Mapping[str, Any]) -> str:
    file = str(frame.get("file") or "").rsplit("/", 1)[-1]
    return f"{frame['name']} ({file})" if file else str(frame["name"])


def _colour(name: str) -> str:
    """A warm colour that is the same for the same name in every graph."""
    return f"hsl({zlib.crc32(name.encode()) % 50 + 5} 85% {70 + zlib.crc32(name[::-1].encode()) % 12}%)"
