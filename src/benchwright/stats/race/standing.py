"""Puts together what a race says of itself at any time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchwright.records import Estimate
from benchwright.stats.distributions import student_quantile
from benchwright.stats.race.judgement import RACED, Judgement, Knowledge, find_exits
from benchwright.stats.race.log import RaceLog
from benchwright.stats.race.records import (
    BOUND,
    DECIDED,
    FAILED,
    FAILURES,
    INFEASIBLE,
    MEASUREMENTS,
    NOT_PROMISING,
    Exit,
    NearMiss,
    RaceStanding,
)

_CONFIDENCE = 0.95
_MODEL = 0.2  # of the error budget that may rest on the model
_FAILS = 0.25  # the chance of working below which a cell is said to be left for that


def ending(log: RaceLog, judged: Judgement | None, most: int) -> str:
    """Why the race is over; empty when it is not."""
    error = log.rules.error
    if judged is None:
        if log.is_hopeless() and not log.unconfirmed():
            return FAILURES
        return MEASUREMENTS if len(log) >= most else ""
    if (log.due() or log.is_young()) and len(log) < most:
        return ""
    enough = all(log.works[cell] >= RACED for cell in judged.leaders) and not log.unconfirmed()
    if judged.leaders and enough and judged.probability >= 1.0 - error / 2.0 and judged.beyond <= error * _MODEL:
        return DECIDED
    if not judged.leaders and float(np.sum(judged.doubts)) <= error:
        return INFEASIBLE
    return MEASUREMENTS if len(log) >= most else ""


def describe(log: RaceLog, judged: Judgement | None, known: Sequence[Knowledge], most: int) -> RaceStanding:
    """The standing of a race."""
    processes = log.works + log.fails
    reason = ending(log, judged, most)
    exits = _exits(log, judged, known)
    racing = [int(cell) for cell in np.flatnonzero(processes) if int(cell) not in exits]
    leaders = judged.leaders if judged is not None else ()
    estimates = _estimates(log, known)
    alike, front = _alike(log, judged, racing)
    return RaceStanding(
        leader=leaders[0] if len(leaders) and len(log.rules.goals) == 1 else None,
        probability=judged.probability if judged is not None else 0.0,
        beyond=judged.beyond if judged is not None and leaders else 1.0,
        alike=alike,
        racing=tuple(racing),
        exits=exits,
        unmeasured=tuple(np.flatnonzero(processes == 0).tolist()),
        measured=tuple(processes.tolist()),
        estimates=estimates,
        front=front,
        nearest=_near_misses(log, exits, estimates) if judged is not None and not leaders else (),
        processes=len(log),
        most=most,
        over=bool(reason),
        reason=reason,
    )


def _exits(log: RaceLog, judged: Judgement | None, known: Sequence[Knowledge]) -> dict[int, Exit]:
    exits = find_exits(log.rules, known, judged.leaders) if judged is not None else {}
    chances = log.chances()
    for cell in log.out():
        exits[cell] = Exit(reason=FAILED, processes=int(log.works[cell] + log.fails[cell]), told=log.reasons[cell])
    if judged is None or not judged.leaders:
        return exits
    small = log.rules.error / 2.0 / log.space.count
    unconfirmed = set(log.unconfirmed())
    for cell in np.flatnonzero(~judged.is_raced & (judged.doubts <= small)).tolist():
        if cell not in exits and cell not in unconfirmed:
            told = "cells like it failed" if chances[cell] < _FAILS else ""
            processes = int(log.works[cell])
            exits[cell] = Exit(reason=NOT_PROMISING, processes=processes, beside=judged.leaders[0], told=told)
    return exits


def _alike(log: RaceLog, judged: Judgement | None, racing: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cells that were not shown to be worse than the leader, and the front."""
    if judged is None or not judged.leaders:
        return (), ()
    able = [cell for cell in racing if judged.is_raced[cell] and judged.feasible[cell] >= 0.5]
    others = tuple(cell for cell in able if cell not in judged.leaders)
    if len(log.rules.goals) > 1:
        return (), (*judged.leaders, *others)
    return (*judged.leaders, *others), judged.leaders


def _estimates(log: RaceLog, known: Sequence[Knowledge]) -> dict[int, tuple[Estimate, ...]]:
    """Levels in the metrics' own units, with intervals that hold what the machine does to all."""
    if not known:
        return {}
    goals, bounds = log.rules.goals, log.rules.bounds
    back = [(1.0 if goal.higher else -1.0, 1.0) for goal in goals]
    back += [(1.0 if bound.upper else -1.0, bound.limit) for bound in bounds]
    columns = [_intervals(one, sign, unit) for one, (sign, unit) in zip(known, back, strict=True)]
    return dict(zip(known[0].levels.cells.tolist(), zip(*columns, strict=True), strict=True))


def _intervals(known: Knowledge, sign: float, unit: float) -> list[Estimate]:
    levels, usual, found = known.levels, known.usual, []
    for mean, variance, freedom in zip(levels.means, levels.absolute, levels.freedom, strict=True):
        reach = student_quantile((1.0 + _CONFIDENCE) / 2.0, float(freedom)) * math.sqrt(variance + usual)
        low, point, high = sorted(
            unit * math.exp(min(max(sign * (mean + off), -700.0), 700.0)) for off in (-reach, 0.0, reach)
        )
        found.append(Estimate(point=point, low=low, high=high, confidence=_CONFIDENCE, method="race"))
    return found


def _near_misses(
    log: RaceLog, exits: dict[int, Exit], estimates: dict[int, tuple[Estimate, ...]]
) -> tuple[NearMiss, ...]:
    """For each bound that rules out cells: how many, and which comes nearest to it."""
    found = []
    for number, bound in enumerate(log.rules.bounds):
        values = {cell: told[len(log.rules.goals) + number] for cell, told in estimates.items()}
        beyond = {c: (v.point / bound.limit if bound.upper else bound.limit / v.point) - 1.0 for c, v in values.items()}
        if not beyond or (min(beyond.values()) <= 0.0 and len(log.rules.bounds) == 1):
            continue
        nearest = min(beyond, key=lambda cell: beyond[cell])
        ruled = sum(1 for out in exits.values() if out.reason == BOUND and out.bound == number)
        if ruled or beyond[nearest] > 0.0:
            found.append(
                NearMiss(
                    bound=number, cells=ruled, nearest=nearest, value=values[nearest], beyond=max(0.0, beyond[nearest])
                )
            )
    return tuple(found)
