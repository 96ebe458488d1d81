"""A gate: the conditions under which a comparison fails a build. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchwright.analysis import notes
from benchwright.analysis.comparison import ComparedMetric, ComparedRow, check_in_common, compare_rows
from benchwright.analysis.rows import Row, pair_rows, rows
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Better, Run, Verdict
from benchwright.records.costs import PER_MILLION, is_cost
from benchwright.records.findings import FindingRules
from benchwright.units import parse_percent

USUAL = ("failed", "worse")
NAMES = {"memory": "rss_peak", "latency": "latency_p50", "median": "latency_p50", "cost": PER_MILLION}
_WORDS = ("failed", "missing", "unclear", "worse")
_BEYOND = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:>\s*(\S.*?))?\s*")
_PERCENTILE = re.compile(r"p\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What closes the gate: `failed`, `missing`, `unclear`, or `worse` - by more than a share, or in one metric."""

    text: str  # as it was asked for
    kind: str
    metric: str = ""  # "" for every metric
    beyond: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A condition that was met, in words."""

    condition: str
    case: str
    metric: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCase:
    """One case: both sides compared, and the breaches of the gate."""

    name: str
    compared: ComparedRow
    breaches: tuple[Breach, ...]
    failure: str = ""  # why it has no numbers in some round
    muted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A run against what it was compared with. `ok` when none of the conditions is met."""

    run: str
    against: str
    smallest: float
    conditions: tuple[str, ...]
    cases: tuple[CheckedCase, ...]

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """Every breach of every case."""
        return tuple(breach for case in self.cases for breach in case.breaches)

    @property
    def ok(self) -> bool:
        """Whether the gate is open."""
        return not self.breaches


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSides:
    """What is compared, and `measured`: the run in full, whose failures count, where `after` is a digest of it."""

    before: Run
    after: Run
    measured: Run
    against: str  # what the first side is, in words
    held: frozenset[str] = frozenset()  # ids of results of either that were measured in quarantine


def check(sides: ComparedSides, conditions: Sequence[Condition], *, smallest: float, rules: FindingRules) -> Gate:
    """Compares the sides as `benchwright compare` does, and tells which conditions are met.

    Muted cases pass, and so does what was measured in quarantine, failed or not. Where there is a threshold for a case,
    a change must be larger than that too.
    """
    before, after = (rows(side, held=sides.held) for side in (sides.before, sides.after))
    pairs = pair_rows(before, after)
    compared = compare_rows(pairs, smallest=smallest, also=_metrics_of_conditions(conditions, before, after))
    if not any(asked.kind == "missing" for asked in conditions):  # a gate that compares nothing must not pass
        check_in_common(compared)
    judged = [result for result in sides.measured.results if result.id not in sides.held]
    failures = {row.key: _describe_failure(row) for row in rows(replace(sides.measured, results=tuple(judged)))}
    checked = [_check_case(pair, row, failures, conditions, rules) for pair, row in zip(pairs, compared, strict=True)]
    return Gate(
        run=sides.measured.id,
        against=sides.against,
        smallest=smallest,
        conditions=tuple(condition.text for condition in conditions),
        cases=tuple(checked),
    )


def parse_condition(text: str) -> Condition:
    """`failed`, `missing`, `unclear`, `worse`, `worse>2%`, or a metric: `memory>5%`, `p99>10%`, `throughput`."""
    match = _BEYOND.fullmatch(text)
    if match is None:
        raise OptionError(f"--fail-on: {text!r} is not a condition", remedy="for example --fail-on 'worse>2%'")
    word, size = match.groups()
    if word in ("failed", "missing", "unclear"):
        if size is not None:
            raise OptionError(f"--fail-on: {word} has no size", remedy=f"write --fail-on {word}")
        return Condition(text=text, kind=word)
    beyond = 0.0 if size is None else parse_percent(size, "--fail-on")
    if word == "worse":
        return Condition(text=text, kind="worse", beyond=beyond)
    name = f"latency_{word}" if _PERCENTILE.fullmatch(word) else NAMES.get(word, word)
    return Condition(text=text, kind="worse", metric=name, beyond=beyond)


def _metrics_of_conditions(conditions: Sequence[Condition], before: Sequence[Row], after: Sequence[Row]) -> list[str]:
    """The metrics that conditions name; one that no case has is an error."""
    known = {name for row in (*before, *after) for name in row.metrics}
    for one in conditions:
        if one.metric and known and one.metric not in known:
            near = did_you_mean(one.metric, {*known, *_WORDS, *NAMES})
            raise OptionError(f"--fail-on: {one.text!r}: neither side has a metric {one.metric!r}", remedy=near)
    return list(dict.fromkeys(one.metric for one in conditions if one.metric))


def _check_case(
    pair: tuple[Row | None, Row | None],
    compared: ComparedRow,
    failures: dict[str, str],
    conditions: Sequence[Condition],
    rules: FindingRules,
) -> CheckedCase:
    before, after = pair
    row = after or before
    assert row is not None
    failure = failures.get(row.key, "")
    found: list[Breach] = []
    if not (muted := rules.is_muted(row.name)):
        for one in conditions:
            found += _breaches(one, pair, compared, failure, rules)
    return CheckedCase(
        name=row.label, compared=compared, breaches=_without_repeats(found), failure=failure, muted=muted
    )


def _breaches(
    asked: Condition, pair: tuple[Row | None, Row | None], compared: ComparedRow, failure: str, rules: FindingRules
) -> Iterator[Breach]:
    row = pair[1] or pair[0]
    assert row is not None
    if asked.kind == "failed" and failure:
        yield Breach(condition=asked.text, case=row.label, metric="", sentence=failure)
    elif asked.kind == "missing" and pair[1] is None:
        yield Breach(condition=asked.text, case=row.label, metric="", sentence="not measured in this run")
    for metric in compared.metrics:
        if is_cost(metric.name) and metric.name != asked.metric:
            continue  # what counts the work is judged already; a cost counts where somebody names it
        if asked.kind == "unclear" and metric.verdict is Verdict.UNCLEAR:
            yield Breach(condition=asked.text, case=row.label, metric=metric.name, sentence=metric.sentence)
        elif asked.kind == "worse" and asked.metric in ("", metric.name) and metric.verdict is Verdict.WORSE:
            least = max(asked.beyond, rules.smallest(row.name, metric.name, 0.0))
            if _worsening(metric) > least:
                yield Breach(condition=asked.text, case=row.label, metric=metric.name, sentence=metric.sentence)


def _worsening(metric: ComparedMetric) -> float:
    """By which share a metric became worse; a throughput that halved became worse by a half.

    What is a share itself became worse by so many points: from 1 % to 3 % of failed requests are 2 %.
    """
    if metric.ratio is None:
        return abs(metric.after.point - metric.before.point) / 100
    return 1 - metric.ratio.point if metric.better is Better.HIGHER else metric.ratio.point - 1


def _without_repeats(found: Sequence[Breach]) -> tuple[Breach, ...]:
    """Each metric's breach once, though several conditions name it."""
    first: dict[tuple[str, str], Breach] = {}
    for breach in found:
        first.setdefault((breach.metric, breach.sentence), breach)
    return tuple(first.values())


def _describe_failure(row: Row) -> str:
    if not row.failures:
        return ""
    result, failure = row.failures[0]
    reason = notes.reason(failure)
    return f"{result.status}: {reason}" if reason else str(result.status)
