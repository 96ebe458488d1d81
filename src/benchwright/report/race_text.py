"""A race for the terminal and as JSON: survivors, who left and why, the winner and how sure that is."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from benchwright import schema
from benchwright.analysis.races import CellState, RacedCell, RaceEnding, RaceStory, describe_bound, show_excess
from benchwright.records import Metric
from benchwright.records.races import show_setting
from benchwright.report.columns import SHOWN
from benchwright.report.table import emit
from benchwright.schema.printed import envelope
from benchwright.stats.race import BOUND, FAILED, NOT_PROMISING, RACED, WORSE
from benchwright.units import format_probability, format_value
from benchwright.units.numbers import Scale, cell, line_up, printable, scale_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_LEFT = 12  # of those that left that are named; the others are counted
MOST_ALIKE = 6
_ORDER = {CellState.LEADS: 0, CellState.FRONT: 1, CellState.ALIKE: 2, CellState.RACING: 3}
_STYLES = {CellState.LEADS: "bold green", CellState.FRONT: "green", CellState.ALIKE: "cyan"}
_ENDINGS = {RaceEnding.INTERRUPTED: "interrupted", RaceEnding.TIME: "the time was over"}
_STATES = {CellState.ALIKE: "not ruled out"}  # in tables; the others are as they are called
_REASONS = {
    WORSE: "worse",
    BOUND: "breaks a bound",
    FAILED: "failed",
    NOT_PROMISING: "not promising",
}


def print_race(
    story: RaceStory,
    *,
    file: TextIO | None = None,
    width: int | None = None,
    plot: bool = False,
    last: str = "",
) -> None:
    """Prints the survivors, who left and why, and the answer. `last` is the last line, such as where it is kept."""
    emit(file or sys.stdout, lambda console: _show(console, story, plot, last), width=width)


def survivors(story: RaceStory) -> list[RacedCell]:
    """The cells that are still in the race, the best first."""
    goal = story.terms.goals[0]

    def order(one: RacedCell) -> tuple[int, float]:
        metric = _metric_of(one, goal.metric)
        value = metric.estimate.point if metric else 0.0
        return _ORDER.get(one.state, 9), -value if goal.higher else value

    return sorted((one for one in story.cells if one.state in _ORDER and one.row is not None), key=order)


def departed(story: RaceStory) -> list[RacedCell]:
    """The cells that left, those that were longest in the race first."""
    gone = [one for one in story.cells if one.state is CellState.LEFT]
    return sorted(gone, key=lambda one: (-one.processes, one.number))


def answer_lines(story: RaceStory) -> Iterator[str]:
    """The sentences that answer the question of the race."""
    winner, terms = story.winner, story.terms
    if not story.front:
        yield from without_winner(story)
    elif len(terms.goals) > 1:
        front = _count(len(story.front), "configuration")
        every = "both goals" if len(terms.goals) == 2 else f"all {len(terms.goals)} goals"
        yield f"On the front: {front} that nothing is shown to beat in {every}"
        yield from (f"  {_describe(story, one)}" for one in story.front)
    elif winner is not None:
        yield f"Winner: {_describe(story, winner)}"
        yield f"  {describe_probability(story)}"
        others = [one for one in story.alike if one.number != winner.number]
        if others:
            shown = ", ".join(one.label for one in others[:MOST_ALIKE])
            more = f" and {len(others) - MOST_ALIKE} more" if len(others) > MOST_ALIKE else ""
            yield f"  not shown to be worse: {shown}{more}"
            yield from _explain_order(story, winner, others)
    if ended := describe_ending(story):
        yield ended


def command_lines(story: RaceStory) -> list[str]:
    """The command line that measures the winner again; of a front one for each of its configurations."""
    several = len(story.terms.goals) > 1
    chosen = story.front if several else [story.winner] if story.winner else []
    return [shlex.join(story.terms.repeat(one.number)) for one in chosen]


def describe_probability(story: RaceStory) -> str:
    """How sure the winner is, in one sentence."""
    standing, terms = story.standing, story.terms
    works = [one for one in story.cells if one.leave_reason != FAILED]
    raced = sum(one.processes >= RACED for one in works)
    if len(story.cells) == 1:
        return "the only configuration, so there was nothing to choose: give a list or a range (--batch-size 1..64)"
    if sum(one.processes > 0 for one in works) == 1 < len(works):
        told = "the only configuration measured so far"
    elif not raced:
        return (
            "by one process of each: how sure that is nobody can say, as only a second process of a configuration "
            "shows what processes differ by"
        )
    elif len(works) == 1:
        return "the only configuration that works"
    elif raced == 1:
        told = f"the only configuration raced so far, with {RACED} processes and more"
    else:
        told = (
            f"within {100 * terms.within:.3g} % of the best of the {raced} configurations that were raced, "
            f"with probability {format_probability(standing.probability)}"
        )
    others = len(works) - raced
    if others and 0 < standing.beyond < 1:
        rest = "the other one is not" if others == 1 else f"none of the other {others} is"
        told += f"; with {format_probability(1 - standing.beyond)} {rest} better, by a model of what was measured"
    return told


def _explain_order(story: RaceStory, winner: RacedCell, others: Sequence[RacedCell]) -> Iterator[str]:
    """Says why the winner wins although another has the better mean in the table, where that is so."""
    goal = story.terms.goals[0]
    means = [metric.estimate.point for one in (winner, *others) if (metric := _metric_of(one, goal.metric)) is not None]
    if means and means[0] != (max(means) if goal.higher else min(means)):
        yield "  the table has means over all processes; who wins is judged between processes that ran side by side"


def describe_ending(story: RaceStory) -> str:
    """Why a race ended before it was settled, and what that leaves open; "" of one that is settled."""
    if story.ending is RaceEnding.SETTLED:
        return ""
    left_open = "; ".join(_open_ends(story)) or "nothing was left open"
    if story.ending is RaceEnding.UNKNOWN:
        return f"Not decided: it was stopped, or it goes on; {left_open}"
    ended = _ENDINGS.get(story.ending) or f"all {story.standing.most} processes were used"
    return f"Given up: {ended}; {left_open}"


def _open_ends(story: RaceStory) -> list[str]:
    """What a race that was not decided leaves open: who was still in it, and what was never measured."""
    unmeasured = [one for one in story.cells if one.state is CellState.UNMEASURED]
    racing_on = [one for one in story.cells if one.state in (CellState.ALIKE, CellState.RACING, CellState.LEADS)]
    found = []
    if len(story.terms.goals) > 1 and len(story.front) > 1:
        found.append("with more processes some may leave the front")
    if len(racing_on) > 1:
        found.append(f"{len(racing_on)} were still in the race")
    if unmeasured:
        some = ", ".join(one.label for one in unmeasured[:3])
        more = f" and {len(unmeasured) - 3} more" if len(unmeasured) > 3 else ""
        found.append(f"{_count(len(unmeasured), 'configuration')} never measured ({some}{more})")
    return found


def without_winner(story: RaceStory) -> Iterator[str]:
    """Why a race has no winner: which objective rules out what, and how far the nearest is."""
    standing, terms = story.standing, story.terms
    if not standing.processes:
        yield "Nothing was measured."
        return
    failed = [one for one in story.cells if one.leave_reason == FAILED]
    if not standing.nearest and not failed:
        yield "No winner: nothing that was measured has the numbers that the question is about"
        return
    if not standing.nearest:
        yield f"No winner: {len(failed)} of {len(story.cells)} configurations failed, and nothing else was measured"
        return
    yield "No configuration keeps every objective:"
    for miss in standing.nearest:
        bound = terms.bounds[miss.bound]
        unit = story.units.get(bound.metric, "")
        yield (
            f"  {describe_bound(bound, unit)} rules out {miss.cells} of {len(story.cells)}; the nearest is "
            f"{terms.label(miss.nearest)} with {format_value(miss.value.point, unit)}, {_beyond(miss.beyond)}"
        )
    if failed:
        yield f"  {len(failed)} failed"


def _beyond(share: float) -> str:
    return f"{100 * share:.3g} % beyond it" if share < 1 else f"{show_excess(share)} the bound"


def _describe(story: RaceStory, one: RacedCell) -> str:
    """A cell with its numbers in one line."""
    shown = []
    for name in story.metrics:
        metric = _metric_of(one, name)
        if metric is not None:
            shown.append(f"{_title(name)} {format_value(metric.estimate.point, metric.unit)}")
    return f"{one.label}: {', '.join(shown)}" if shown else one.label


def describe_goals(story: RaceStory) -> str:
    """What the race was about, in one line."""
    goals = [f"{'highest' if goal.higher else 'lowest'} {_title(goal.metric)}" for goal in story.terms.goals]
    bounds = [describe_bound(bound, story.units.get(bound.metric, "")) for bound in story.terms.bounds]
    return " and ".join(goals) + (f" with {' and '.join(bounds)}" if bounds else "")


def headline(story: RaceStory) -> str:
    """What was searched, and at what expense."""
    standing = story.standing
    whole = len(story.cells) * story.terms.rounds
    spent = format_value(story.seconds, "s", 2)
    return (
        f"{describe_goals(story)}: {_count(len(story.cells), 'configuration')}, "
        f"{_count(standing.processes, 'process', 'es')} in {spent} (all of them {story.terms.rounds} times: {whole})"
    )


def left_lines(story: RaceStory, most: int = MOST_LEFT) -> Iterator[str]:
    """Who left and why: `most` of them, those that were longest in the race first; then how many more, and why."""
    gone = departed(story)
    named = [one for one in gone if one.leave_reason != NOT_PROMISING][:most]
    for one in named:
        yield f"  {one.label}: {one.why}"
    rest = Counter(one.leave_reason for one in gone if one not in named)
    unlikely = rest.pop(NOT_PROMISING, 0)
    told = [f"{count} {_REASONS.get(reason, reason)}" for reason, count in rest.items()]
    told += [f"{unlikely} not promising by what was measured around them"] if unlikely else []
    if told:
        yield f"  {'and ' if named else ''}{', '.join(told)}"


# ---- the terminal ----


def _show(console: Console, story: RaceStory, plot: bool, last: str) -> None:
    from rich.text import Text

    console.print(Text(printable(headline(story)), style="bold"), overflow="fold")
    if shown := survivors(story):
        console.print()
        console.print(_table(story, shown), crop=False)
    if gone := list(left_lines(story)):
        console.print()
        console.print(Text(f"Left the race: {len(departed(story))}", style="bold"))
        for line in gone:
            console.print(Text(printable(line), style="dim"), overflow="fold")
    if plot:
        from benchwright.report.race_plots import front_text

        if drawn := front_text(story, min(console.width, 100)):
            console.print()
            console.print(Text(drawn), overflow="ignore", crop=False, no_wrap=True)
    console.print()
    for line in answer_lines(story):
        style = "bold green" if line.startswith("Winner") else "yellow" if line.startswith(("No", "Given")) else ""
        console.print(Text(printable(line), style=style), overflow="fold")
    for command in command_lines(story):
        console.print(Text(f"Again: {printable(command)}"), overflow="fold")
    if last:
        console.print(Text(last, style="dim"), overflow="fold")


def _table(story: RaceStory, shown: Sequence[RacedCell]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    heads, lines = table_cells(story, shown)
    for head, is_right in heads:
        drawn.add_column(Text(printable(head)), no_wrap=True, justify="right" if is_right else "left")
    for one, line in zip(shown, lines, strict=True):
        style = _STYLES.get(one.state, "")
        drawn.add_row(*(Text(printable(word)) for word in line[:-1]), Text(line[-1], style=style))
    return drawn


def table_cells(story: RaceStory, shown: Sequence[RacedCell]) -> tuple[list[tuple[str, bool]], list[list[str]]]:
    """The headings of a table of cells, each with whether numbers stand below it, and the words of its lines."""
    columns: list[tuple[str, bool, list[str]]] = []
    for axis in story.terms.axes:
        words = [show_setting(one.settings[axis.name]) if axis.name in one.settings else "-" for one in shown]
        columns.append((axis.name, all(isinstance(v, int | float) for v in axis.values), words))
    columns += [_metric_column(story, name, shown) for name in story.metrics]
    columns.append(("processes", True, [str(one.processes) for one in shown]))
    columns.append(("standing", False, [_STATES.get(one.state, str(one.state)) for one in shown]))
    heads = [(head, is_right) for head, is_right, _ in columns]
    return heads, [list(line) for line in zip(*(words for _, _, words in columns), strict=True)]


def _metric_column(story: RaceStory, name: str, shown: Sequence[RacedCell]) -> tuple[str, bool, list[str]]:
    found = [_metric_of(one, name) for one in shown]
    scale = scale_of((metric.estimate.point for metric in found if metric), story.units[name])
    cells = [cell(metric.estimate, scale) if metric else None for metric in found]
    points = line_up([one.point if one else "-" for one in cells])
    words = [f"{point} {one.interval}".rstrip() if one else point for point, one in zip(points, cells, strict=True)]
    return scale.heading(_title(name)), True, words


def _metric_of(one: RacedCell, name: str) -> Metric | None:
    return one.row.metrics.get(name) if one.row else None


def _title(name: str) -> str:
    return SHOWN.get(name, name)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{plural * (number != 1)}"


# ---- JSON ----


def race_document(story: RaceStory) -> dict[str, Any]:
    """The race as plain values: the question, the answer, every cell with its numbers."""
    standing = story.standing
    return {
        "run": story.run.id,
        "question": schema.encode(story.terms),
        "winner": None if story.winner is None else _cell_document(story, story.winner),
        "probability": standing.probability,
        "beyond": standing.beyond,
        "overall": standing.overall,
        "alike": [story.terms.label(number) for number in standing.alike],
        "front": [story.terms.label(number) for number in standing.front],
        "decided": story.is_decided,
        "interrupted": story.is_interrupted,
        "out_of_time": story.ending is RaceEnding.TIME,
        "why": standing.reason,
        "processes": standing.processes,
        "most": standing.most,
        "seconds": story.seconds,
        "nearest": [
            {
                "objective": describe_bound(story.terms.bounds[miss.bound]),
                "rules_out": miss.cells,
                "nearest": story.terms.label(miss.nearest),
                "value": miss.value.point,
                "beyond": miss.beyond,
            }
            for miss in standing.nearest
        ],
        "cells": [_cell_document(story, one) for one in story.cells],
    }


def race_json(story: RaceStory) -> str:
    """The race as JSON, in the envelope that every verb has."""
    return envelope("race", race_document(story))


def _cell_document(story: RaceStory, one: RacedCell) -> dict[str, Any]:
    metrics = one.row.metrics if one.row else {}
    return {
        "number": one.number,
        "settings": dict(one.settings),
        "standing": str(one.state),
        "why": one.why,
        "processes": one.processes,
        "first_block": one.first,
        "last_block": one.last,
        "command": list(story.terms.repeat(one.number)),
        "metrics": {name: schema.encode(metrics[name].estimate) for name in story.metrics if name in metrics},
    }


def number_scale(story: RaceStory, name: str) -> Scale:
    """The unit in which all cells of a race show a metric."""
    found = [one.row.metrics[name].estimate.point for one in story.cells if one.row and name in one.row.metrics]
    return scale_of(found, story.units[name])
