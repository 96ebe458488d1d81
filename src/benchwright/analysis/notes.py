"""The notes below a table: warnings, failures, objectives, and what the instrument says about itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchwright import errors
from benchwright.analysis.instrument_facts import FACTS, format_fact
from benchwright.analysis.rows import Row
from benchwright.execution.searches import read_probes
from benchwright.records import Arrivals, Case, Failure, Metric, Mode, Objective, Result, Run, Status, Value
from benchwright.units import format_value
from benchwright.units.numbers import number
from benchwright.units.objectives import describe, holds, holds_surely
from benchwright.units.rates_tried import describe_search

# A number on its own: no part of a name (p99, float32), of a signed number or of a power of ten.
_NUMBER = re.compile(r"(?<![\w.,±-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")
IN_QUARANTINE = "measured in quarantine"
LONGEST = 500  # characters of a failure's message; the log has the rest

_OUR_KINDS = {"start", "signal", "exit", "timeout", "channel", "interrupted", *Status} | {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.BenchwrightError)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningKind:
    """One kind of warning: what was seen each time, how often, and for which cases."""

    code: str
    seen: tuple[str, ...]
    remedy: str
    count: int
    cases: tuple[str, ...]

    @property
    def text(self) -> str:
        """What was seen, in one line: numbers that differ as a range, what is worded otherwise counted."""
        text, times = most_common_wording(self.seen)
        more = self.count - times
        return f"{text} ({times} of them); and {more} more like it" if more else text


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroup:
    """One reason for missing numbers, and the rounds of a case that it made fail."""

    case: str
    rounds: tuple[int, ...]
    status: Status
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveVerdict:
    """An objective as it was read, and whether every round of every case keeps it."""

    objective: str
    met: bool
    verdict: str

    def __str__(self) -> str:
        return f"{self.objective}: {self.verdict}"


def is_try(run: Run) -> bool:
    """Whether every result was refused before anything was measured: stores do not count that as a run."""
    return bool(run.results) and all(result.status is Status.REFUSED for result in run.results)


def warnings(table: Iterable[Row]) -> list[WarningKind]:
    """Every warning once, by code and remedy, in order of appearance."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in table:
        for warning in row.warnings:
            groups.setdefault((warning.code, warning.remedy), []).append((warning.seen, row.label))
    return [
        WarningKind(
            code=code,
            seen=tuple(seen for seen, _ in found),
            remedy=remedy,
            count=len(found),
            cases=tuple(dict.fromkeys(label for _, label in found)),
        )
        for (code, remedy), found in groups.items()
    ]


def failures(table: Iterable[Row]) -> list[FailureGroup]:
    """Every failure once for each case and reason; what was skipped for one reason in the same rounds is told once."""
    found: list[FailureGroup] = []
    for row in table:
        groups: dict[tuple[str, str, str], list[tuple[Result, Failure]]] = {}
        for result, failure in row.failures:
            groups.setdefault((result.status, failure.kind, failure.message), []).append((result, failure))
        for members in groups.values():
            result, failure = members[-1]
            rounds = tuple(r.round for r, _ in members)
            found.append(FailureGroup(case=row.label, rounds=rounds, status=result.status, failure=failure))
    return _with_skipped_together(found)


def _with_skipped_together(found: Iterable[FailureGroup]) -> list[FailureGroup]:
    """The groups, where cases that were skipped alike are one: an interrupt may leave out hundreds."""
    alike: dict[object, list[FailureGroup]] = {}
    for place, one in enumerate(found):
        why = (one.failure.message, one.failure.remedy, one.failure.log_tail)
        alike.setdefault((one.rounds, *why) if one.status is Status.SKIPPED else place, []).append(one)
    return [replace(many[0], case=list_some([one.case for one in many])) for many in alike.values()]


def describe_failure(failed: FailureGroup) -> str:
    """Describes how a case failed, in which rounds (the first is 1), and why: `failed in round 1: no such file`."""
    rounds = f"round{'s' * (len(failed.rounds) > 1)} {_list_rounds(failed.rounds)}"
    why = reason(failed.failure)
    return f"{failed.status} in {rounds}" + (f": {why}" if why else "")


def _list_rounds(rounds: Sequence[int]) -> str:
    """Rounds as people count them, long stretches by their ends: `1, 3, 6 to 3000`."""
    stretches: list[list[int]] = []
    for n in rounds:
        if stretches and n == stretches[-1][-1] + 1:
            stretches[-1].append(n)
        else:
            stretches.append([n])
    parts = [
        [str(n + 1) for n in each] if len(each) < 4 else [f"{each[0] + 1} to {each[-1] + 1}"] for each in stretches
    ]
    return ", ".join(text for part in parts for text in part)


def reason(failure: Failure) -> str:
    """Why there are no numbers; an exception's name only where the measured code raised it."""
    message = failure.message if len(failure.message) <= LONGEST else failure.message[:LONGEST].rstrip() + "…"
    kind = "" if failure.kind in _OUR_KINDS else failure.kind
    return ": ".join(part for part in (kind, message) if part)


def describe_missing_results(run: Run) -> str:
    """How many results are missing of a run that ended early, in words; empty when all of it was measured."""
    if len(run.results) >= run.planned:
        return ""
    return f"incomplete: {len(run.results)} of {run.planned} results; it was interrupted, or is still being measured"


def describe_instrument(results: Sequence[Result]) -> str:
    """One line: the verdict, and the worst of each fact that was measured; empty when nothing was stated."""
    stated = [r.instrument for r in results if r.instrument]
    if not stated:
        return ""
    parts = [describe_verdicts(results)]
    for name, fact in FACTS.items():
        numbers = [n for facts in stated if (n := number(facts.get(name))) is not None]
        if numbers:
            parts.append(f"{fact.words} {'at most ' if len(numbers) > 1 else ''}{format_fact(max(numbers), fact)}")
    rates = [r for facts in stated if (r := _delivered_share(facts.get("intended_rate"), facts.get("delivered_rate")))]
    if rates:
        parts.append(f"delivered {min(rates):.2%} of the rate drawn")
    return " · ".join(parts)


def describe_means(table: Sequence[Row]) -> str:
    """Over how many calls each timed value is a mean, where calls are too short to be timed one by one."""
    found = {row.label: loops for row in table if (loops := _loops(row))}
    if not found:
        return ""
    counts = sorted({n for loops in found.values() for n in loops})
    most = f"{counts[0]:,} to {counts[-1]:,}" if len(counts) > 1 else f"{counts[0]:,}"
    where = "" if len(found) == sum(bool(row.ok) for row in table) else f" [{list_some(list(found))}]"
    return f"percentiles are of means of {most} calls{where}"


def objectives(table: Sequence[Row]) -> list[ObjectiveVerdict]:
    """Every objective as it was read, with the cases that meet it and those that do not."""
    groups: dict[str, tuple[Objective, list[tuple[Row, Metric | None, int]]]] = {}
    for row in table:
        for bound in row.case.load.objectives:
            metric = row.metrics.get(bound.metric)
            missed = sum(not _keeps(row.case, bound, result) for result in row.ok)
            if row.ok:
                groups.setdefault(describe(bound, metric), (bound, []))[1].append((row, metric, missed))
    return [_judge_objective(text, bound, found) for text, (bound, found) in groups.items()]


def _keeps(case: Case, bound: Objective, result: Result) -> bool:
    """Whether a round keeps the bound; a search has judged it by the rate that it found."""
    metric = result.metric(bound.metric)
    if not case.load.find_rate:
        return metric is not None and holds(bound, metric.estimate.point)
    return result.metric("max_rate") is not None or (metric is not None and holds_surely(bound, metric.estimate))


def _judge_objective(text: str, bound: Objective, found: Sequence[tuple[Row, Metric | None, int]]) -> ObjectiveVerdict:
    met = [(row, metric) for row, metric, missed in found if not missed]
    several = len(found) > 1
    parts = []
    if met:
        count = "every case" if len(met) == len(found) else f"{len(met)} of {len(found)} cases"
        who = f" by {count}" if several else ""
        shown = [_format_point(metric, row) for row, metric in met]
        parts.append(f"met{who} ({list_some(list(dict.fromkeys(shown)))})")
    unsure = [(row, metric) for row, metric, missed in found if missed and _is_unsure(bound, row, metric)]
    if unsure:
        shown = [f"{row.label} " * several + f"({_format_point(metric, row)})" for row, metric in unsure]
        parts.append(f"not surely met{' by' * several} {list_some(shown)}")
    missing = [one for one in found if one[2] and not _is_unsure(bound, one[0], one[1])]
    failed = [(row, _describe_miss(row, metric, missed)) for row, metric, missed in missing]
    if failed:
        parts.append(
            f"missed by {list_some([f'{row.label} {why}' for row, why in failed])}"
            if several
            else f"missed {failed[0][1]}"
        )
    return ObjectiveVerdict(objective=text, met=len(met) == len(found), verdict="; ".join(parts))


def _is_unsure(bound: Objective, row: Row, metric: Metric | None) -> bool:
    """Whether a search found no rate though this value keeps its bound: not surely, or another bound was broken."""
    return bool(row.case.load.find_rate and metric and holds(bound, metric.estimate.point))


def _describe_miss(row: Row, metric: Metric | None, rounds: int) -> str:
    return f"({_format_point(metric, row)}{f', in {rounds} of {len(row.ok)} rounds' if len(row.ok) > 1 else ''})"


def _format_point(metric: Metric | None, row: Row) -> str:
    if metric is None:
        return "not measured"
    value = format_value(metric.estimate.point, metric.unit)
    if row.case.load.find_rate and (rate := row.metrics.get("max_rate")):
        return f"{value} at {format_value(rate.estimate.point, rate.unit)}"
    return f"{value} at the nearest rate tried" if row.case.load.find_rate else value


def rates(table: Iterable[Row]) -> list[str]:
    """For each case of an open loop the rate that was asked for, the one drawn, and the one delivered.

    Of a search for the rate of a served model, what it found in each round.
    """
    found = []
    for row in table:
        if searched := _describe_searches(row):
            found += searched
        elif said := _describe_rates(row):
            found.append(f"{row.label}: {said}")
    return found


def _describe_searches(row: Row) -> list[str]:
    found = []
    for number_of_round, result in enumerate(row.ok, start=1):
        probes = read_probes(result.instrument.get("probes")) if row.case.load.find_rate else ()
        if any(probe.values for probe in probes):
            which = f", round {number_of_round}" if len(row.ok) > 1 else ""
            found.append(f"{row.label}{which}: {describe_search(probes, row.case.load.objectives)}")
    return found


def _describe_rates(row: Row) -> str:
    load = row.case.load
    drawn, delivered = (_facts(row, name) for name in ("intended_rate", "delivered_rate"))
    if load.mode is not Mode.OPEN or not drawn or not delivered:
        return ""
    if load.rate is not None:
        to = "" if load.ramp_to is None else f" going to {format_value(load.ramp_to, '/s')}"
        first = f"asked for {format_value(load.rate, '/s')}{to}, drawn{' on average' * bool(to)}"
    else:
        first = "searched, drawn" if load.find_rate else "from a trace of"
    how = " (Poisson, each round its own)" if load.arrivals is Arrivals.POISSON and len(drawn) > 1 else ""
    return f"{first} {_format_span(drawn)}{how}, delivered {_format_span(delivered)}"


def _facts(row: Row, name: str) -> list[float]:
    return [n for result in row.ok if (n := number(result.instrument.get(name))) is not None]


def _format_span(found: Sequence[float]) -> str:
    low, high = format_value(min(found), "/s"), format_value(max(found), "/s")
    return low if low == high else f"{low} to {high}"


def list_some(labels: Sequence[str], most: int = 3) -> str:
    """The first labels, and how many more there are."""
    left = len(labels) - most
    more = f", and {left} more case{'s' * (left > 1)}" if left > 0 else ""
    return ", ".join(labels[:most]) + more


def describe_distrust(sides: Mapping[str, Sequence[Result]]) -> str:
    """Which of two named runs the instrument does not trust, in words; empty where it trusts both."""
    return name_unreliable_runs([name for name, results in sides.items() if is_unreliable(results)])


def name_unreliable_runs(named: Sequence[str]) -> str:
    """The sentence that the instrument does not trust these of two runs; empty where it trusts both."""
    return f"the instrument calls the {' and the '.join(named)} run unreliable" if named else ""


def describe_held(named: Sequence[str]) -> str:
    """The sentence that these of two runs were measured in quarantine; empty where none was."""
    return f"the {' and the '.join(named)} run {'were' if len(named) > 1 else 'was'} {IN_QUARANTINE}" if named else ""


def is_unreliable(results: Sequence[Result]) -> bool:
    """Whether the instrument calls at least half of the results that have numbers unreliable."""
    return is_doubtful([str(r.instrument.get("verdict", "")) for r in results if r.status is Status.OK])


def is_doubtful(verdicts: Sequence[str]) -> bool:
    """Whether at least half of the instrument's verdicts are `unreliable` or `invalid`."""
    doubted = sum(_kind(verdict) in ("unreliable", "invalid") for verdict in verdicts)
    return bool(verdicts) and 2 * doubted >= len(verdicts)


def describe_verdicts(results: Sequence[Result]) -> str:
    """The instrument's verdicts: the one they share, or each with its count, the worst first."""
    verdicts = Counter(str(r.instrument["verdict"]) for r in results if "verdict" in r.instrument)
    if not verdicts:
        return "no verdict"
    if len(verdicts) == 1:
        return next(iter(verdicts))
    kinds = Counter(dict.fromkeys(sorted({_kind(v) for v in verdicts}, key=_badness), 0))
    for text, count in verdicts.items():
        kinds[_kind(text)] += count
    worst = sorted(verdicts, key=lambda v: _badness(_kind(v)))[0]
    total = sum(verdicts.values())
    reason = worst.partition(": ")[2]
    if len(kinds) == 1:
        return f"{_kind(worst)} in all {total} results" + (f" (one of them: {reason})" if reason else "")
    first, *others = [f"{kind} in {count}" for kind, count in kinds.items()]
    return f"{first} of {total} results" + (f" ({reason})" if reason else "") + "".join(f", {o}" for o in others)


def _loops(row: Row) -> list[int]:
    return [int(n) for r in row.ok if (n := number(r.instrument.get("loops"))) is not None and n > 1]


def _kind(text: str) -> str:
    return text.partition(":")[0]


def _badness(kind: str) -> int:
    return {"invalid": 0, "unreliable": 1, "noisy": 2}.get(kind, 3)


def _delivered_share(intended: Value, delivered: Value) -> float | None:
    a, b = number(intended), number(delivered)
    return b / a if a and b is not None else None


def list_files(results: Iterable[Result]) -> list[str]:
    """Where each result's files lie, with the kinds that a person would open."""
    lines = []
    for result in results:
        if result.artifacts:
            first = result.artifacts[0]
            folder = first.path.removesuffix(first.name).rstrip("/")
            kinds = ", ".join(dict.fromkeys(kept.kind for kept in result.artifacts))
            count = len(result.artifacts)
            lines.append(f"Files of {result.case.name}, round {result.round + 1}: {count} in {folder} ({kinds})")
    return lines


# ---- sentences that differ in their numbers only, as one sentence with ranges ----


def most_common_wording(texts: Sequence[str]) -> tuple[str, int]:
    """The wording that occurs most, with `140 to 158` where its numbers differ, and how many of the texts it covers."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(_NUMBER.sub("0", text), []).append(text)
    largest = max(groups.values(), key=len)
    ranges = [_format_range(numbers) for numbers in zip(*map(_NUMBER.findall, largest), strict=True)]
    left = iter(ranges)
    return _NUMBER.sub(lambda _: next(left), largest[0]), len(largest)


def _format_range(numbers: Sequence[str]) -> str:
    low, *_, high = sorted([numbers[0], *numbers], key=lambda text: float(text.replace(",", "")))
    return low if low == high else f"{low} to {high}"
