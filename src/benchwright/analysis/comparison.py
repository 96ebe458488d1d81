"""Two runs against each other: ratios with intervals, and verdicts that may be "unclear".

Many comparisons at 95 % make false alarms certain, so of all the changes seen only those stay that keep the expected
share of false ones among them at 5 % (`stats.fdr.benjamini_hochberg`). The others are unclear. So is whatever the
noise of a side that the instrument itself calls unreliable can explain (`analysis.doubt`), and whatever was measured in
quarantine.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace

from benchwright import schema
from benchwright.analysis import doubt, notes
from benchwright.analysis.change_words import TELLING as TELLING
from benchwright.analysis.change_words import WORDS as WORDS
from benchwright.analysis.change_words import describe_change
from benchwright.analysis.change_words import format_percent as format_percent
from benchwright.analysis.change_words import format_ratio as format_ratio
from benchwright.analysis.change_words import sentence_of as sentence_of
from benchwright.analysis.compared_metrics import ComparedMetric as ComparedMetric
from benchwright.analysis.compared_metrics import ComparedRow as ComparedRow
from benchwright.analysis.compared_metrics import Rounds as Rounds
from benchwright.analysis.goal_comparison import compare_goal, compare_reached, goal_notes
from benchwright.analysis.instances import OTHER_INSTANCES, is_one_instance_each
from benchwright.analysis.judged_metrics import TOTALS, directions_of, judged_metrics
from benchwright.analysis.price_changes import PriceChange, find_price_change
from benchwright.analysis.rows import (
    Row,
    check_metric_names,
    combine_estimates,
    count_observed,
    pair_rows,
    repeated_estimates,
    rows,
)
from benchwright.errors import OptionError
from benchwright.records import Estimate, Run, Status, Verdict
from benchwright.records.costs import costs_among, is_cost, is_money
from benchwright.records.goals import is_reached_share, time_metric_of
from benchwright.records.request_metrics import is_share_of_failures
from benchwright.stats.compare import WITHIN_ONE, RatioComparison, compare
from benchwright.stats.fdr import benjamini_hochberg
from benchwright.stats.shares import compare_shares

SMALLEST = 0.01  # a change below this counts as none
FALSE_RATE = 0.05  # expected share of false ones among the changes that are named
ONLY_FIRST, ONLY_SECOND = "only in the first run", "only in the second run"
OTHER_MACHINES = "measured on different machines: a difference may come from the machine"
NOT_JUDGED = "shown, and not judged"
OTHER_VERSION = "the two runs measured different versions of this benchmark"
MORE_ROUNDS = "3 rounds or more tell smaller ones: --rounds, in pytest --benchwright-isolated"
SEEN_ONCE = (
    f"what was seen once on each side has no interval: only a change by a factor of {doubt.ONCE:g} is judged "
    f"({MORE_ROUNDS})"
)
ONE_PROCESS = (
    "one process on each side: how processes of one program differ is not known, so no rate of false verdicts can be "
    f"promised, and only a change by a factor of 2 is called ({MORE_ROUNDS})"
)
OFF_THE_MEANS = (
    "rounds lie so far apart that the ratio is another than that of the two means shown: it is of the means of their "
    "logarithms, in which single slow rounds count less"
)
_CLEARLY = 0.05  # how far the two ratios must differ to be worth a word
NO_DIRECTION = (
    "is not judged: nothing says which direction is better (the benchmark's `better` does; --metric shows it)"
)
A_TOTAL = "a total grows with how long was measured"
_WORST_FIRST = (Verdict.WORSE, Verdict.UNCLEAR, Verdict.BETTER, Verdict.SAME)


def compare_runs(a: Run, b: Run, *, smallest: float = SMALLEST, metrics: Sequence[str] = ()) -> list[ComparedRow]:
    """Every case of either run, `b` against `a`; cases match by `schema.case_key`. Without `metrics`, those judged."""
    before, after = rows(a), rows(b)
    check_metric_names(metrics, [*before, *after])
    return compare_rows(pair_rows(before, after), smallest=smallest, metrics=metrics)


def compare_rows(
    pairs: Sequence[tuple[Row | None, Row | None]],
    *,
    smallest: float = SMALLEST,
    metrics: Sequence[str] = (),
    also: Sequence[str] = (),
) -> list[ComparedRow]:
    """Cases that somebody paired: the second of each against the first, all judged together.

    Without `metrics` those of each case that are judged (`analysis.judged_metrics`), and those of `also` that it has.
    """
    return drop_chance_changes(judge_rows(pairs, smallest=smallest, metrics=metrics, also=also))


def judge_rows(
    pairs: Sequence[tuple[Row | None, Row | None]],
    *,
    smallest: float = SMALLEST,
    metrics: Sequence[str] = (),
    also: Sequence[str] = (),
) -> list[ComparedRow]:
    """The same pairs, each judged by itself: `drop_chance_changes` judges them again among all that are looked at."""
    return [_compare_row(x, y, smallest, metrics or _metrics_to_judge(x, y, also)) for x, y in pairs]


def worst(compared: Sequence[ComparedRow]) -> Verdict:
    """The worst verdict of all; `same` when there is none."""
    return next((v for v in _WORST_FIRST if any(row.verdict is v for row in compared)), Verdict.SAME)


def notes_of(compared: Sequence[ComparedRow]) -> list[str]:
    """Each note once, with the cases it holds for when it does not hold for all."""
    found: dict[str, list[str]] = {}
    for row in compared:
        for note in row.notes:
            found.setdefault(note, []).append(row.label)
    judged = {row.label for row in compared if row.metrics}
    return [
        n
        if len(labels) == len(compared) > 1 or 1 < len(judged) == len(judged & {*labels})
        else f"{notes.list_some(labels)}: {n}"
        for n, labels in found.items()
    ]


def check_in_common(compared: Sequence[ComparedRow]) -> None:
    """Raises when no case is in both runs."""
    if all(note in (ONLY_FIRST, ONLY_SECOND) for row in compared for note in row.notes or ("",)):
        raise OptionError(
            "nothing to compare: no case is in both",
            remedy="a case is the target with its parameters: `benchwright show` lists those of a run",
        )


# ---- one case ----


def _compare_row(a: Row | None, b: Row | None, smallest: float, metrics: Sequence[str]) -> ComparedRow:
    if a is None or b is None:
        row = a or b
        assert row is not None
        only = ONLY_FIRST if b is None else ONLY_SECOND
        return ComparedRow(label=row.short, metrics=(), notes=(only,), verdict=Verdict.UNCLEAR)
    said = tuple(_caveats_of_sides(a, b))
    found = tuple(m for name in metrics if (m := _compare_metric(name, a, b, smallest)))
    good, bad = (count_observed(row) for row in (a, b))
    failed = (bool(good) and not bad) or (good == len(a.results) and bad < len(b.results))
    verdict = Verdict.WORSE if failed else _worst_of(found)
    told = (*said, *goal_notes(a, b), *cautions(found), *_note_undirected_changes(a, b, metrics, smallest))
    return ComparedRow(label=b.short, metrics=found, notes=told, verdict=verdict)


def _note_undirected_changes(a: Row, b: Row, judged: Sequence[str], smallest: float) -> list[str]:
    """What a benchmark itself reports, has changed and is not judged, in words; not what is measured beside it."""
    left = []
    for name in a.metrics.keys() & b.metrics.keys() - {*judged}:
        before, after = a.metrics[name], b.metrics[name]
        is_reported = all((m := r.metric(name)) and m.estimate.method.startswith("reported") for r in b.ok)
        step = abs(after.estimate.point - before.estimate.point)
        if is_reported and after.better is None and step > smallest * abs(before.estimate.point):
            left.append(name)
    return [f"{', '.join(sorted(left))} changed and {NO_DIRECTION}"] if left else []


def _metrics_to_judge(a: Row | None, b: Row | None, also: Sequence[str]) -> list[str]:
    known = directions_of(metric for row in (b, a) if row for metric in row.metrics.values())
    judged = [name for name in judged_metrics(known) if time_metric_of(name) not in known]  # which counts all rounds
    return list(dict.fromkeys([*judged, *costs_among(known), *also]))


def _caveats_of_sides(a: Row, b: Row) -> list[str]:
    """What limits the trust in the ratios: rounds that failed, other machines, other versions, a busy machine."""
    said = [f"{held}: {NOT_JUDGED}"] if (held := _describe_held(a, b)) else []
    if not a.ok or not b.ok:
        said += [f"{side} run: {_reason(row)}" for side, row in (("first", a), ("second", b)) if not row.ok]
    elif len(b.ok) < len(b.results) and len(a.ok) == len(a.results):
        said.append(f"second run: {_reason(b)} in some rounds")
    machines = [{schema.environment_key(r.environment) for r in row.results} for row in (a, b)]
    if machines[0] != machines[1]:
        said.append(OTHER_MACHINES)
    elif is_one_instance_each(a.ok, b.ok):
        said.append(OTHER_INSTANCES)
    if a.case.version != b.case.version:
        said.append(OTHER_VERSION)
    if unsure := _describe_distrust(a, b):
        said.append(describe_doubt(unsure))
    if change := find_price_change(a.ok, b.ok):
        said.append(change.words)
    return said


def _reason(row: Row) -> str:
    status = next(s for s in row.statuses if s is not Status.OK)
    reason = notes.reason(row.failures[0][1])
    return f"{status}: {reason}" if reason else str(status)


def _describe_distrust(a: Row, b: Row) -> str:
    return notes.describe_distrust({"first": a.results, "second": b.results})


def _describe_held(a: Row, b: Row) -> str:
    return notes.describe_held([side for side, row in (("first", a), ("second", b)) if row.is_held])


# ---- one metric ----


def _compare_metric(name: str, a: Row, b: Row, smallest: float) -> ComparedMetric | None:
    if (found := compare_goal(name, a, b, smallest)) is not None:
        return _with_doubts(found, unsure=_describe_distrust(a, b), held=_describe_held(a, b))
    if name not in a.metrics or name not in b.metrics:
        return None
    after = b.metrics[name]
    if is_money(name) and after.unit != a.metrics[name].unit:  # two currencies: the notes name both prices
        return None
    before_rounds, after_rounds = (repeated_estimates(row.ok, after) for row in (a, b))
    rounds = Rounds(name=name, unit=after.unit, better=after.better, before=before_rounds, after=after_rounds)
    change = find_price_change(a.ok, b.ok) if is_money(name) else None
    unsure, held = _describe_distrust(a, b), _describe_held(a, b)
    return judge(rounds, smallest=smallest, unsure=unsure, held=held, change=change)


def judge(
    rounds: Rounds,
    *,
    smallest: float = SMALLEST,
    unsure: str = "",
    held: str = "",
    change: PriceChange | None = None,
) -> ComparedMetric:
    """Judges one metric by itself; `unsure` says why a side is not to be trusted, `held` why none is judged at all.

    Of a cost whose price changed, it is told what became of it at one price, and the whole is not judged: a price is
    nobody's regression. `drop_chance_changes` judges all metrics again, together.
    """
    if change is not None and change.factor != 1.0:
        found, again = (
            judge(one, smallest=smallest, unsure=unsure, held=held)
            for one in (rounds, rounds._replace(after=change.at_first_price(rounds.after)))
        )
        at_one_price = f"; at the first price {again.sentence}" if change.factor else ""
        return _without_verdict(found, change.words, f"{change.said}{at_one_price}")
    before, after = (combine_estimates(rounds.name, rounds.unit, side) for side in (rounds.before, rounds.after))
    seen = _compare_sides(rounds, before, after, smallest)
    judged = doubt.judge_by_size(seen, rounds.name, rounds.better, rounds.before, rounds.after)
    found = ComparedMetric(
        name=rounds.name,
        unit=rounds.unit,
        better=rounds.better,
        before=before,
        after=after,
        ratio=judged.ratio,
        verdict=judged.verdict,
        sentence=sentence_of(judged.verdict, judged.ratio, rounds.unit, smallest, judged.why),
        why=judged.why,
        p_value=judged.p_value,
    )
    by_size = judged.verdict is not seen.verdict or doubt.is_equal(rounds.before, rounds.after)
    return _with_doubts(found, unsure="" if by_size else unsure, held=held)


def _with_doubts(found: ComparedMetric, *, unsure: str, held: str) -> ComparedMetric:
    """The metric without its verdict, where nothing is judged or where the noise of a side can explain it."""
    if held:
        return replace(_without_verdict(found, held, notes.IN_QUARANTINE), is_held=True)
    if found.name in TOTALS:
        return _without_verdict(found, A_TOTAL, f"but {A_TOTAL}")
    if not unsure or found.verdict is Verdict.UNCLEAR or doubt.withstands_noise(found.name, found.verdict, found.ratio):
        return found
    return _without_verdict(found, unsure)


def _compare_sides(rounds: Rounds, before: Estimate, after: Estimate, smallest: float) -> RatioComparison:
    """Compares by ratio; the share of requests that failed, which is zero where all is well, by difference."""
    if is_reached_share(rounds.name, rounds.unit):
        return compare_reached(rounds.before, rounds.after, better=rounds.better)
    if is_share_of_failures(rounds.name, rounds.unit):
        return compare_shares(before, after, better=rounds.better, smallest=smallest)
    return compare(rounds.before, rounds.after, better=rounds.better, smallest=smallest)


def describe_doubt(unsure: str) -> str:
    """The note that says which changes are still judged when the instrument does not trust a side."""
    return f"{unsure}: only changes beyond {format_percent(doubt.ALLOWANCE)} are judged (benchwright show says why)"


def _without_verdict(metric: ComparedMetric, why: str, said: str = "") -> ComparedMetric:
    """The metric with an unclear verdict; its ratio stays. What the notes say is not said again."""
    change = describe_change(metric.ratio.point, metric.unit) if metric.ratio else ""
    sentence = f"unclear: {', '.join(part for part in (change, said) if part)}".removesuffix(": ")
    return replace(metric, verdict=Verdict.UNCLEAR, sentence=sentence, why=why, p_value=1.0)


# ---- all of them together ----


def drop_chance_changes(found: Sequence[ComparedRow]) -> list[ComparedRow]:
    """The same cases without the changes that so many comparisons would show by chance.

    What was seen once on each side has no p-value, and stays as its size says.
    """
    all_metrics = [m for row in found for m in row.metrics if not _is_seen_once(m)]
    called = iter(benjamini_hochberg([m.p_value for m in all_metrics], FALSE_RATE) if all_metrics else ())
    kept = []
    for row in found:
        fresh = tuple(
            [m if _is_seen_once(m) or next(called) else _call_chance(m, len(all_metrics)) for m in row.metrics]
        )
        if any(map(operator.is_not, fresh, row.metrics)):
            verdict = row.verdict if row.verdict is not _worst_of(row.metrics) else _worst_of(fresh)
            row = replace(row, metrics=fresh, verdict=verdict)
        kept.append(row)
    return kept


def _is_seen_once(metric: ComparedMetric) -> bool:
    return metric.ratio is not None and metric.ratio.low is None and doubt.is_seen_once([metric.before], [metric.after])


def cautions(metrics: Sequence[ComparedMetric]) -> list[str]:
    """What a reader must know of how metrics were judged: seen once or in one process each, or of spread rounds."""
    said = [SEEN_ONCE] if any(_is_seen_once(m) and m.verdict is not Verdict.SAME for m in metrics) else []
    if any(is_of_one_process(m) for m in metrics):
        said.append(ONE_PROCESS)
    apart = [m.name for m in metrics if _is_off_the_means(m)]
    return [*said, f"{', '.join(apart)}: {OFF_THE_MEANS}"] if apart else said


def _is_off_the_means(metric: ComparedMetric) -> bool:
    """Whether a reader who divides the two means that are shown gets clearly another ratio than the one shown."""
    if metric.ratio is None or min(metric.before.point, metric.after.point) <= 0:
        return False
    return abs(math.log(metric.after.point / metric.before.point / metric.ratio.point)) > math.log1p(_CLEARLY)


def is_of_one_process(metric: ComparedMetric) -> bool:
    """Whether each side is one process with an interval of its own, so that no rate can be promised."""
    ratio = metric.ratio
    return ratio is not None and ratio.low is not None and ratio.method.startswith(WITHIN_ONE)


def _call_chance(metric: ComparedMetric, count: int) -> ComparedMetric:
    if metric.verdict not in (Verdict.BETTER, Verdict.WORSE):
        return metric
    change = describe_change(metric.ratio.point, metric.unit) if metric.ratio else metric.why
    sentence = f"unclear: {change}, but {count} comparisons show as much by chance"
    return replace(metric, verdict=Verdict.UNCLEAR, sentence=sentence, why=f"{metric.why}; one of {count} comparisons")


def _worst_of(metrics: Sequence[ComparedMetric]) -> Verdict:
    # A cost follows from the metric that counts the work, which is judged itself, and from the price, which is not.
    there = [m.verdict for m in metrics if not is_cost(m.name)] or [m.verdict for m in metrics]
    return next((v for v in _WORST_FIRST if v in there), Verdict.UNCLEAR)
