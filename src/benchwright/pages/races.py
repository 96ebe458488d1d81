"""A race on the page of its run: the answer, every cell that was measured, and what is said of the others."""

from __future__ import annotations

from collections import Counter

from benchwright.analysis.races import CellState, RacedCell, RaceStory, describe_bound, tell_race
from benchwright.pages.shapes import RaceBreach, RaceCellLine, RaceMetric, RaceView
from benchwright.records import Better, Estimate, Run
from benchwright.records.races import RaceBound, show_setting
from benchwright.report.columns import SHOWN as TITLES
from benchwright.report.race_text import (
    departed,
    describe_ending,
    describe_goals,
    describe_probability,
    headline,
    survivors,
    without_winner,
)
from benchwright.stats.race import BOUND

_NEVER = "never measured"


def race_view(run: Run) -> RaceView | None:
    """The race that a run was, with its results; None of a run that was none."""
    story = tell_race(run)
    if story is None:
        return None
    question = describe_goals(story)
    winner = None if len(story.terms.goals) > 1 else story.winner
    cells = [one for one in (*survivors(story), *departed(story)) if one.first is not None]
    cells += [one for one in story.cells if one.first is not None and one not in cells]
    return RaceView(
        question=question,
        effort=headline(story).removeprefix(f"{question}: "),
        surety=describe_probability(story) if winner else "",
        no_winner=[] if story.front else [line.strip() for line in without_winner(story)],
        unsettled=describe_ending(story),
        winner=winner.number if winner else None,
        front=[one.number for one in story.front] if len(story.terms.goals) > 1 else [],
        alike=[one.number for one in story.alike if winner and one.number != winner.number],
        axes=[axis.name for axis in story.terms.axes],
        metrics=[_metric(story, name) for name in story.metrics],
        blocks=max((one.last + 1 for one in cells if one.last is not None), default=0),
        cells=[_cell_line(story, one) for one in cells],
        unmeasured=_unmeasured(story),
    )


def _cell_line(story: RaceStory, one: RacedCell) -> RaceCellLine:
    metrics = one.row.metrics if one.row else {}
    assert one.first is not None and one.last is not None  # it was measured
    return RaceCellLine(
        number=one.number,
        label=one.label,
        brief=one.brief,
        settings={name: show_setting(value) for name, value in one.settings.items()},
        state=one.state,
        reason=one.leave_reason,
        why=one.why,
        processes=one.processes,
        first=one.first,
        last=one.last,
        values={name: metrics[name].estimate for name in story.metrics if name in metrics},
        breaches=_breaches(story, one),
        command=story.terms.repeat(one.number),
        result=one.row.results[0].id if one.row else "",
    )


def _metric(story: RaceStory, name: str) -> RaceMetric:
    goal = next((goal for goal in story.terms.goals if goal.metric == name), None)
    measured = next(one.row.metrics[name] for one in story.cells if one.row and name in one.row.metrics)
    better = measured.better
    if goal is not None:  # who asks decides which way is better
        better = Better.HIGHER if goal.higher else Better.LOWER
    return RaceMetric(
        name=name, title=TITLES.get(name, name), unit=story.units[name], better=better, is_goal=goal is not None
    )


# ---- objectives ----


def _breaches(story: RaceStory, one: RacedCell) -> list[RaceBreach]:
    """The objectives that a cell breaks: by its value, or beyond doubt, which the race decides where it judged it."""
    gone, found = story.standing.exits.get(one.number), []
    for place, bound in enumerate(story.terms.bounds):
        metric = one.row.metrics.get(bound.metric) if one.row else None
        left_for_it = gone is not None and gone.reason == BOUND and gone.bound == place
        if left_for_it or (metric is not None and not _keeps(bound, metric.estimate.point)):
            is_sure = left_for_it or (metric is not None and _is_beyond(bound, metric.estimate))
            found.append(
                RaceBreach(objective=describe_bound(bound, story.units.get(bound.metric, "")), is_sure=is_sure)
            )
    return found


def _keeps(bound: RaceBound, value: float) -> bool:
    below = value < bound.limit if bound.relation.startswith("<") else value > bound.limit
    return below or (bound.relation.endswith("=") and value == bound.limit)


def _is_beyond(bound: RaceBound, value: Estimate) -> bool:
    """Whether not even the end of the interval that is nearest to the limit keeps it."""
    nearest = value.low if bound.relation.startswith("<") else value.high
    return nearest is not None and not _keeps(bound, nearest)


# ---- what is left open ----


def _unmeasured(story: RaceStory) -> list[str]:
    """How many cells were never measured, by the reason."""
    waiting = sum(one.state is CellState.UNMEASURED for one in story.cells)
    reasons = Counter(one.why for one in story.cells if one.first is None and one.state is CellState.LEFT)
    told = [f"{count} {why.removesuffix(f', {_NEVER}')}" for why, count in reasons.most_common()]
    told = [words if words.startswith("1 ") else words.replace("around it", "around them") for words in told]
    return [*told, *([f"{waiting} not reached"] if waiting else [])]
