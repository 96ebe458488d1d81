"""Operators as a picture: a call on top, below it the kinds of its operators, below those the nodes; width is time.

Every case of a picture is drawn to the same scale. Pointing at a box tells the rest.
"""

from __future__ import annotations

import html
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.analysis.operators import OUTSIDE, CaseOperators, by_kind, family, recorded_operators
from benchwright.analysis.rows import Row
from benchwright.errors import NotInstalledError, OptionError
from benchwright.records import Operator
from benchwright.report.destination import SIGNATURE, check_target, write_target
from benchwright.report.svg import NUMBER_OF_COLOURS, Plot, drawing, element, text
from benchwright.units import format_value
from benchwright.units.numbers import printable

ENDINGS = (".svg", ".html", ".png")
WIDTH, MARGIN = 960.0, 8.0
IN_REPORT = 560.0  # pixels, as wide as its other plots
HEIGHT, GAP = 24.0, 2.0  # of a box, and below it
BETWEEN = 12.0  # two cases
LEAST = 0.5  # pixels; what is narrower is left out, and its kind still shows it
LETTER = 6.4  # pixels of one, about
OTHER = NUMBER_OF_COLOURS - 1  # the grey one: what is no operator
_DOTS = 144


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A part of a call: where it begins and how wide it is, in seconds; its level from 0; its colour; what it tells."""

    begin: float
    seconds: float
    level: int
    colour: int
    label: str
    tip: str


def boxes(found: CaseOperators, colours: dict[str, int]) -> Iterator[Box]:
    """The boxes of one case. `colours` gives the same work the same colour in every case, and learns new ones."""
    outside = max(0.0, found.outside or 0.0)
    whole = found.total + outside
    name = printable(found.row.label)
    yield Box(
        begin=0.0,
        seconds=whole,
        level=0,
        colour=OTHER,
        label=f"{name}: {format_value(whole, 's')}",
        tip=_tip(name, whole, whole),
    )
    begin = 0.0
    for kind in by_kind(found.operators):
        colour = colours.setdefault(family(kind.kind), len(colours) % OTHER)
        nodes = [operator for operator in found.operators if operator.kind == kind.kind]
        said = f"{printable(kind.kind)}, {len(nodes)} node{'s' * (len(nodes) > 1)}"
        yield _box(begin, kind, 1, colour, kind.kind, said, whole)
        inner = begin
        for operator in nodes:
            said = "\n".join(printable(words) for words in (operator.name, operator.kind, operator.shapes) if words)
            yield _box(inner, operator, 2, colour, operator.name, said, whole)
            inner += operator.seconds
        begin += kind.seconds
    if outside:
        yield Box(begin=begin, seconds=outside, level=1, colour=OTHER, label=OUTSIDE, tip=_tip(OUTSIDE, outside, whole))


def icicle(
    found: Sequence[CaseOperators], *, name: str = "operators", title: str = "Operators", width: float = WIDTH
) -> Plot:
    """The cases below each other, to one scale."""
    widest = max(known.total + max(0.0, known.outside or 0.0) for known in found) or 1.0
    scale = (width - 2 * MARGIN) / widest
    colours: dict[str, int] = {}
    tall = 3 * (HEIGHT + GAP) + BETWEEN
    body = ""
    for index, known in enumerate(found):
        top = index * tall + MARGIN
        body += "".join(_draw_box(box, scale, top) for box in boxes(known, colours) if box.seconds * scale >= LEAST)
    return Plot(
        name=name,
        title=title,
        description="One call of the model, the kinds of its operators, and each of them; the width is the time.",
        width=width,
        height=len(found) * tall + 2 * MARGIN - BETWEEN,
        body=body,
    )


def case_icicle(row: Row, index: int) -> Plot | None:
    """The picture of one case of a report; None when its operators were not recorded."""
    found = recorded_operators(row)
    if found is None:
        return None
    drawn = icicle([found], name=f"operators-{index}", title=f"Operators of {printable(row.label)}", width=IN_REPORT)
    return replace(drawn, heading="Operators")


def check_output(path: Path, force: bool) -> None:
    """Raises now for an unknown ending, for a PNG without matplotlib, and for a file that is not ours to replace."""
    if path.suffix not in ENDINGS:
        raise OptionError(f"-o: {path.name} is not a picture file", remedy=f"end it in one of {', '.join(ENDINGS)}")
    if path.suffix == ".png" and importlib.util.find_spec("matplotlib") is None:
        raise NotInstalledError("drawing PNG files", "benchwright[plot]")
    check_target(path, force or not path.exists())


def write_operators(found: Sequence[CaseOperators], path: Path) -> Path:
    """Draws the cases into a file whose ending `check_output` allowed."""
    if path.suffix == ".png":
        _write_png(found, path)
    elif path.suffix == ".svg":
        write_target(path, drawing(icicle(found), standalone=True) + "\n")
    else:
        write_target(path, _page(drawing(icicle(found), standalone=True)))
    return path


def _page(svg: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{SIGNATURE}\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Operators</title>\n'
        "<style>:root { color-scheme: light dark; } body { margin: 1rem; }</style></head>\n"
        f"<body>{svg}</body></html>\n"
    )


def _box(begin: float, operator: Operator, level: int, colour: int, label: str, said: str, whole: float) -> Box:
    tip = _tip(said, operator.seconds, whole)
    if operator.calls != 1:
        tip += f"\n{operator.calls:g} times a call"
    return Box(begin=begin, seconds=operator.seconds, level=level, colour=colour, label=printable(label), tip=tip)


def _tip(said: str, seconds: float, whole: float) -> str:
    return f"{said}\n{format_value(seconds, 's')}, {100 * seconds / whole if whole else 0:.1f} %"


def _draw_box(box: Box, scale: float, top: float) -> str:
    x, y, width = MARGIN + box.begin * scale, top + box.level * (HEIGHT + GAP), box.seconds * scale
    inner = element("title", html.escape(printable(box.tip, lines=True)))
    inner += element("rect", class_="area", x=x, y=y, width=max(LEAST, width - 1), height=HEIGHT, rx=2.0)
    if shown := _fit_label(box.label, width):
        inner += text(x + 4, y + 16, shown, class_="box-text")
    return element("g", inner, class_=f"c{box.colour}")


def _fit_label(label: str, width: float) -> str:
    """As much of the label as there is room for; nothing when it would say nothing."""
    letters = int((width - 8) / LETTER)
    if len(label) <= letters:
        return label
    return f"{label[: letters - 1]}…" if letters >= 4 else ""


def _write_png(found: Sequence[CaseOperators], path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    widest = max(known.total + max(0.0, known.outside or 0.0) for known in found) or 1.0
    figure = Figure(figsize=(10, 0.9 * len(found)), dpi=_DOTS, layout="constrained")
    axes = figure.add_subplot()
    axes.set(xlim=(0, widest), ylim=(3.4 * len(found) - 0.4, 0))
    axes.set_axis_off()
    colours: dict[str, int] = {}
    for index, known in enumerate(found):
        for box in boxes(known, colours):
            y = 3.4 * index + box.level
            tint = "0.85" if box.colour == OTHER else f"C{box.colour}"
            axes.add_patch(
                Rectangle((box.begin, y), box.seconds, 0.92, facecolor=tint, alpha=0.35, edgecolor="0.4", linewidth=0.4)
            )
            if shown := _fit_label(box.label, box.seconds / widest * WIDTH):
                axes.text(box.begin, y + 0.5, f" {shown}", fontsize=6.5, va="center", parse_math=False)
    figure.savefig(path)
