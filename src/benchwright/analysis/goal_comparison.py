"""A goal that some rounds never reached, on two sides: a test for times of which some are only known to be longer.

No round gets a number that it did not have. The verdict is that of a log-rank test over all relabellings of the rounds,
and what is shown is the mean time within the longest time that both sides were looked at (`stats.survival`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from benchwright.analysis.change_words import describe_change
from benchwright.analysis.compared_metrics import ComparedMetric
from benchwright.analysis.goals import GoalRounds, goal_rounds
from benchwright.analysis.rows import Row
from benchwright.records import Better, Estimate, Verdict
from benchwright.records.goals import AMOUNTS, TIME, metric_name
from benchwright.stats.compare import RatioComparison
from benchwright.stats.survival import (
    common_horizon,
    fisher_p_value,
    log_rank_p_value,
    ratio_of_means,
    restricted_mean,
    smallest_p_value,
)
from benchwright.units import format_value

LEVEL = 0.05


def compare_goal(name: str, a: Row, b: Row, smallest: float) -> ComparedMetric | None:
    """The metric of a goal on both sides; None where it is none, or where every round of both sides got there."""
    if "_to_" not in name:  # as of most metrics, of which a simulation compares many thousands
        return None
    before, after = (goal_rounds(row.results).get(name) for row in (a, b))
    if before is None or after is None or before.unit != after.unit:
        return None
    if not (before.is_censored or after.is_censored):
        return None
    horizon = common_horizon(before.rounds, after.rounds)
    first, second = (restricted_mean(side.rounds, horizon) for side in (before, after))
    ratio = ratio_of_means(first, second, len(before.rounds) + len(after.rounds))
    p_value = log_rank_p_value(before.rounds, after.rounds)
    verdict = _verdict(ratio, p_value, smallest)
    counted = f"{before.reached} of {len(before.rounds)} and {after.reached} of {len(after.rounds)} rounds got there"
    return ComparedMetric(
        name=name,
        unit=after.unit,
        better=Better.LOWER,
        before=first,
        after=second,
        ratio=ratio,
        verdict=verdict,
        sentence=_sentence(verdict, ratio, after, counted),
        why=_why(before, after, p_value),
        p_value=p_value,
    )


def goal_notes(a: Row, b: Row) -> list[str]:
    """Of each goal that a round of a side never reached, how many did, and what is shown of it."""
    sides = (goal_rounds(a.results), goal_rounds(b.results))
    found = []
    for name, before in sides[0].items():
        after = sides[1].get(name)
        if after is None or before.kind != TIME or not (before.is_censored or after.is_censored):
            continue
        horizon = format_value(common_horizon(before.rounds, after.rounds), before.unit)
        counts = f"{before.counted} of the first run and in {after.counted} of the second"
        found.append(
            f"{before.when} was reached in {counts}: shown are means until then, or until {horizon} where it was not; "
            "judged by a log-rank test, which gives no round a number that it did not have"
        )
    return found


def _verdict(ratio: Estimate | None, p_value: float, smallest: float) -> Verdict:
    """Never the same: rounds that never got there cannot show that nothing changed."""
    if ratio is None or p_value > LEVEL or 1.0 / (1.0 + smallest) < ratio.point < 1.0 + smallest:
        return Verdict.UNCLEAR
    return Verdict.WORSE if ratio.point > 1.0 else Verdict.BETTER


def _sentence(verdict: Verdict, ratio: Estimate | None, side: GoalRounds, said: str) -> str:
    change = describe_change(ratio.point, side.unit) if ratio is not None and ratio.point != 1.0 else "no difference"
    return f"{verdict}: {change}, {said}"


def _why(before: GoalRounds, after: GoalRounds, p_value: float) -> str:
    least = smallest_p_value(len(before.rounds), len(after.rounds))
    few = f"; so few rounds cannot give less than {least:.2g}: use more --rounds" if least > LEVEL else ""
    return f"log-rank test over all relabellings: p = {p_value:.2g}{few}"


def compare_reached(before: Sequence[Estimate], after: Sequence[Estimate], *, better: Better | None) -> RatioComparison:
    """The share of rounds that reached a goal, 0 or 100 in each, by Fisher's exact test. There is never a ratio."""
    counts = [(sum(one.point > 0.0 for one in side), len(side)) for side in (before, after)]
    (reached_a, a), (reached_b, b) = counts
    p_value = fisher_p_value(reached_a, a, reached_b, b)
    said = f"{reached_b} of {b} rounds got there, before {reached_a} of {a}"
    if reached_a == a and reached_b == b:
        return RatioComparison(None, Verdict.SAME, "every round got there", 1.0)
    if p_value > LEVEL or better is None:
        return RatioComparison(None, Verdict.UNCLEAR, said, p_value)
    improved = (reached_b * a > reached_a * b) == (better is Better.HIGHER)
    return RatioComparison(None, Verdict.BETTER if improved else Verdict.WORSE, said, p_value)


def leave_missed_goals_open(found: Sequence[ComparedMetric], missed: Collection[str]) -> list[ComparedMetric]:
    """The metrics without a verdict where they are of a goal in `missed`, which some round never reached.

    For who has the numbers of single rounds alone, and so only of those that got there.
    """
    names = {metric_name(kind, goal) for goal in missed for kind in AMOUNTS}
    why = "some rounds never got there; benchwright compare counts them"
    return [
        replace(metric, verdict=Verdict.UNCLEAR, sentence=f"unclear: {why}", why=why, p_value=1.0)
        if metric.name in names
        else metric
        for metric in found
    ]
