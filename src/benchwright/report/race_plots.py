"""The pictures of a race: the front over two metrics, in the terminal and as SVG, and who was in it for how long."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.analysis.races import SHOWN, CellState, RacedCell, RaceStory
from benchwright.records import Better, Estimate
from benchwright.report.axes import Axis, axis, bottom, exact, frame
from benchwright.report.columns import SHOWN as TITLES
from benchwright.report.svg import Plot, element, path, text
from benchwright.report.terminal import draw_points, letters_of
from benchwright.stats.race import BOUND, FAILED, NOT_PROMISING, WORSE
from benchwright.units.numbers import printable

WIDTH, HEIGHT = 560.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 28.0, 48.0
LINE = 17.0  # of one cell in the picture of the whole race
MOST_LINES = 60
_NAMES = 236.0  # room for the names of cells
_LABELLED = 6
# The colour of a cell by how it stands or why it left: `plot.css` has them, light and dark.
_COLOURS = {CellState.LEADS: "c2", CellState.FRONT: "c2", CellState.ALIKE: "c0", CellState.RACING: "c5"}
_LEFT_COLOURS = {WORSE: "c7", BOUND: "c4", FAILED: "c6", NOT_PROMISING: "c3"}
_LEGEND = (
    "Green leads, blue is not shown to be worse, turquoise is in the race, grey left as worse, purple as not "
    "promising; ochre broke a bound, and red failed."
)
_IN_TEXT = 26  # points of a plot in the terminal: beyond them letters tell nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plane:
    """Two metrics to draw a race over, and the cells that have both."""

    across: str
    up: str
    cells: tuple[RacedCell, ...]
    front: frozenset[int]  # numbers of cells that no other beats in both

    def values(self, one: RacedCell) -> tuple[Estimate, Estimate]:
        """What a cell has of either."""
        assert one.row is not None
        return one.row.metrics[self.across].estimate, one.row.metrics[self.up].estimate


def planes(story: RaceStory) -> list[_Plane]:
    """The pairs of metrics worth a picture: the first goal against every other metric that a choice is about."""
    names = story.metrics
    if not names:
        return []
    up, others = names[0], [name for name in names[1:] if name in SHOWN or name in _asked(story)]
    return [plane for across in others if (plane := _plane(story, across, up)) is not None]


def front_text(story: RaceStory, width: int = 80, height: int = 14) -> str:
    """The first goal against the metric that matters most beside it, a letter for each cell that is worth one."""
    drawn = next(iter(planes(story)), None)
    if drawn is None:
        return ""
    best = sorted(drawn.cells, key=lambda one: (one.number not in drawn.front, one.state is CellState.LEFT))[:_IN_TEXT]
    shown = sorted(best, key=lambda one: drawn.values(one)[0].point)
    points = [tuple(value.point for value in drawn.values(one)) for one in shown]
    across, up = _title(drawn.across), _title(drawn.up)
    more = f"; {len(drawn.cells) - len(shown)} others are not drawn" if len(drawn.cells) > len(shown) else ""
    lines = [f"{up} (up) against {across} (right), both logarithmic; * = several{more}"]
    lines += draw_points(points, (story.units[drawn.across], story.units[drawn.up]), width, height)  # type: ignore[arg-type]
    for letter, one in zip(letters_of(len(shown)), shown, strict=True):
        mark = "◆" if one.number in drawn.front else " "
        lines.append(f"  {letter} {mark} {printable(one.label)}{_standing(one)}")
    lines.append(f"  ◆ on the Pareto front by their values: no other is better in both {up} and {across}")
    return "\n".join(lines)


def race_plots(story: RaceStory) -> list[Plot]:
    """The front over each pair of metrics, and who was in the race for how long."""
    drawn = [_draw_plane(story, plane) for plane in planes(story)]
    timeline = draw_timeline(story)
    return [*drawn, *([timeline] if timeline else [])]


def draw_timeline(story: RaceStory) -> Plot | None:
    """A line for each cell from its first to its last block, coloured by how it stands or why it left."""
    shown = [one for one in story.cells if one.first is not None]
    if not shown:
        return None
    last = max(one.last or 0 for one in shown)
    order = [*_COLOURS, CellState.LEFT]
    shown.sort(key=lambda one: (order.index(one.state) if one.state in order else 9, -(one.last or 0), one.number))
    rest, shown = len(shown[MOST_LINES:]), shown[:MOST_LINES]
    height = TOP + LINE * len(shown) + BOTTOM
    across = Axis(low=0.0, high=float(last + 1), start=_NAMES, end=WIDTH - RIGHT, unit="")
    body = bottom(across, height - BOTTOM, "block of processes", top=TOP - 6)
    for place, one in enumerate(shown):
        body += _timeline_row(across, TOP + LINE * (place + 0.5), one)
    more = f" The {rest} that left first are not drawn." if rest else ""
    return Plot(
        name="race",
        title="Who was in the race, and for how long",
        description="A dot for the first and the last process of each configuration, in blocks of neighbours in time. "
        f"{_LEGEND} "
        f"Names are {', '.join(axis.name for axis in story.terms.axes) or 'those of the only configuration'}.{more}",
        width=WIDTH,
        height=height,
        body=body,
    )


def _timeline_row(across: Axis, y: float, one: RacedCell) -> str:
    first, last = (across.at(float(block) + 0.5) for block in (one.first or 0, one.last or 0))
    told = f"{one.label}\n{one.processes} processes\n{one.why or one.state}"
    name = printable(one.brief)
    name = name if len(name) <= 38 else name[:37] + "…"
    body = text(4, y + 4, name, class_="strip-label")
    body += element("line", class_="mark", x1=first, x2=last, y1=y, y2=y, data_tip=told)
    for x in (first, last):
        body += element("circle", class_="mark dot", cx=x, cy=y, r=3.5, data_tip=told)
    return element("g", body, class_=_colour(one))


def _draw_plane(story: RaceStory, plane: _Plane) -> Plot:
    units = story.units[plane.across], story.units[plane.up]
    across = axis((plane.values(one)[0].point for one in plane.cells), units[0], LEFT, WIDTH - RIGHT)
    up = axis((plane.values(one)[1].point for one in plane.cells), units[1], HEIGHT - BOTTOM, TOP)
    titles = _title(plane.across), _title(plane.up)
    body = frame(across, up, titles[0], titles[1])
    on_front = sorted(
        (one for one in plane.cells if one.number in plane.front), key=lambda one: plane.values(one)[0].point
    )
    places = [(across.at(plane.values(one)[0].point), up.at(plane.values(one)[1].point)) for one in on_front]
    steps = [q for a, b in itertools.pairwise(places) for q in (a, (b[0], a[1]))] + places[-1:]
    body += element("path", class_="front", d=path(steps)) if len(steps) > 1 else ""
    # Who left lies below: those that matter are seen where many lie on one place.
    for one in sorted(plane.cells, key=lambda one: one.number in plane.front or one.state is not CellState.LEFT):
        body += _cell_mark(across, up, plane, one, units)
    body += _labels(places, on_front)
    name = f"front-{plane.up}-{plane.across}".replace("_", "-").replace(".", "-")
    return Plot(
        name=name,
        title=f"{titles[1].capitalize()} against {titles[0]}",
        description="A mark for each configuration that was measured. Filled marks are on the Pareto front: no other "
        f"is better in both {titles[1]} and {titles[0]}. {_LEGEND}",
        width=WIDTH,
        height=HEIGHT,
        body=body,
    )


def _cell_mark(across: Axis, up: Axis, plane: _Plane, one: RacedCell, units: tuple[str, str]) -> str:
    x, y = plane.values(one)
    told = "\n".join(
        [
            one.label,
            f"{_title(plane.up)} {exact(y.point, units[1])}",
            f"{_title(plane.across)} {exact(x.point, units[0])}",
            f"{one.processes} processes, {one.why or one.state}",
        ]
    )
    shape = "point" if one.number in plane.front else "point hollow"
    mark = element("circle", class_=shape, cx=across.at(x.point), cy=up.at(y.point), r=4.5, data_tip=told)
    return element("g", mark, class_=_colour(one))


def _labels(places: Sequence[tuple[float, float]], cells: Sequence[RacedCell]) -> str:
    """Names beside points of the front, as far as they have room."""
    body, taken = "", list[tuple[float, float]]()
    for (x, y), one in zip(places, cells, strict=True):
        if len(taken) >= _LABELLED or any(abs(y - other) < 14 and abs(x - at) < 220 for at, other in taken):
            continue
        is_right = x > (LEFT + WIDTH) / 2
        body += text(
            x - 9 if is_right else x + 9,
            y + 4,
            one.brief,
            class_="point-label",
            text_anchor="end" if is_right else None,
        )
        taken.append((x, y))
    return body


def _colour(one: RacedCell) -> str:
    return _COLOURS.get(one.state) or _LEFT_COLOURS.get(one.leave_reason, "c7")


def _standing(one: RacedCell) -> str:
    return f"  ({one.state})" if one.state is not CellState.LEFT else ""


def _plane(story: RaceStory, across: str, up: str) -> _Plane | None:
    found = [one for one in story.cells if one.row and {across, up} <= one.row.metrics.keys()]
    cells = tuple(one for one in found if all(one.row and one.row.metrics[n].estimate.point > 0 for n in (across, up)))
    if len(cells) < 2 or across == up:
        return None
    signs = [_sign(story, cells[0], name) for name in (across, up)]
    values = [
        tuple(sign * one.row.metrics[name].estimate.point for sign, name in zip(signs, (across, up), strict=True))
        for one in cells
        if one.row
    ]
    front = [
        one.number
        for one, mine in zip(cells, values, strict=True)
        if not any(_dominates(other, mine) for other in values)
    ]
    return _Plane(across=across, up=up, cells=cells, front=frozenset(front))


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a >= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def _sign(story: RaceStory, one: RacedCell, name: str) -> float:
    """1 where more of a metric is better, else -1."""
    goal = next((goal for goal in story.terms.goals if goal.metric == name), None)
    if goal is not None:
        return 1.0 if goal.higher else -1.0
    assert one.row is not None
    return 1.0 if one.row.metrics[name].better is Better.HIGHER else -1.0


def _asked(story: RaceStory) -> list[str]:
    return [*(goal.metric for goal in story.terms.goals), *(bound.metric for bound in story.terms.bounds)]


def _title(name: str) -> str:
    return TITLES.get(name, name)
