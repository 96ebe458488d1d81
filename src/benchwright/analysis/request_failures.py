"""How many requests to served models were made, how many failed, and why: by class, with what the first one said."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchwright.analysis.rows import Row
from benchwright.records import Result
from benchwright.records.request_metrics import ERRORS, are_of_requests
from benchwright.worker.endpoints.traffic import Outcome

UNKNOWN = "unknown"  # the class of a failure that nobody told
WORDS = {
    Outcome.STATUS: "answered with an error status",
    Outcome.TOO_LONG: "refused as too long",
    Outcome.THROTTLED: "throttled",
    Outcome.TIMEOUT: "timed out",
    Outcome.REFUSED: "could not connect",
    Outcome.CUT: "cut off in the middle",
    Outcome.STREAM_ERROR: "failed within the stream",
    Outcome.MALFORMED: "not understood",
    Outcome.OVERSIZED: "too large",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRequests:
    """The requests of one class of failure: how many, what the first of them said, and in which cases."""

    kind: str  # the class by its name: `throttled`, `too_long`
    words: str  # what happened to them
    count: int
    first: str = ""
    cases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.count:,} {self.words}{f': {self.first}' if self.first else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCount:
    """The requests of some results: all of them, and those that failed, the most frequent class first."""

    made: int
    failed: tuple[FailedRequests, ...]

    def __str__(self) -> str:
        failed = sum(kind.count for kind in self.failed)
        share = f"{failed:,} failed ({_percent(failed, self.made)} %)" if failed else "none failed"
        return f"{self.made:,} made, {share}"


def count_requests(results: Iterable[Result], labels: Mapping[str, str] | None = None) -> RequestCount | None:
    """The requests of results; None where nothing was asked of a served model. `labels` name cases, by result."""
    made, counts = 0, Counter[str]()
    first: dict[str, str] = {}
    cases: dict[str, dict[str, None]] = {}
    for result in results:
        asked, failed = _count(result)
        made += asked
        counts.update(failed)
        for kind in failed:
            first.setdefault(kind, _first_message(result, kind))
            cases.setdefault(kind, {})[(labels or {}).get(result.id, result.case.name)] = None
    if not made:
        return None
    return RequestCount(
        made=made,
        failed=tuple(
            FailedRequests(kind=kind, words=_words(kind), count=count, first=first[kind], cases=tuple(cases[kind]))
            for kind, count in counts.most_common()
        ),
    )


def describe_requests(table: Sequence[Row]) -> list[str]:
    """How many requests were made and failed, then each class with what the first of them said; nothing without any."""
    labels = {result.id: row.short for row in table for result in row.results}
    found = count_requests([result for row in table for result in row.results], labels)
    if found is None:
        return []
    lines = [f"Requests: {found}"]
    for kind in found.failed:
        where = f" [{', '.join(kind.cases[:3])}{', …' * (len(kind.cases) > 3)}]" if len(kind.cases) < len(table) else ""
        lines.append(f"  {kind}{where}")
    return lines


def kind_of(number: int) -> str:
    """The class of failure that a number of the raw column `outcome` means, by its name."""
    return Outcome(number).name.lower() if number in Outcome.__members__.values() else f"outcome {number}"


def _count(result: Result) -> tuple[int, Counter[str]]:
    """How many requests a result has, and how many of each class failed: of its raw columns, else as it tells."""
    outcomes = [column for samples in result.samples if (column := samples.columns.get("outcome")) is not None]
    if outcomes:
        counted = sum((Counter(array("q", column)) for column in outcomes), Counter[int]())
        kinds = {kind_of(number): count for number, count in counted.items() if number != Outcome.OK}
        return counted.total(), Counter(kinds)
    told = _told(result)
    metric = result.metric(ERRORS)
    if metric is None or not (told or are_of_requests([each.name for each in result.metrics])):
        return (sum(told.values()), told) if told else (0, Counter())
    failed = round(metric.estimate.point / 100 * metric.count)
    unknown = Counter({UNKNOWN: failed - told.total()}) if failed > told.total() else Counter[str]()
    return metric.count, told + unknown


def _told(result: Result) -> Counter[str]:
    """How many of each class failed, as the client told."""
    found = Counter[str]()
    for kind, told in _mapping(result.details.get("errors")).items():
        count = _mapping(told).get("count")
        if isinstance(count, int) and count > 0:
            found[kind] = count
    return found


def _first_message(result: Result, kind: str) -> str:
    first = _mapping(_mapping(result.details.get("errors")).get(kind)).get("first")
    if kind == UNKNOWN and not first:  # another tool's file may have what they said, though no class
        reasons = _mapping(_mapping(result.details.get("requests")).get("reasons"))
        first = next(iter(reasons), "")
    return first if isinstance(first, str) else ""


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _words(kind: str) -> str:
    if kind == UNKNOWN:
        return "failed"
    outcome = Outcome.__members__.get(kind.upper())
    return WORDS.get(outcome, kind) if outcome is not None else f"failed ({kind})"


def _percent(failed: int, made: int) -> str:
    """A share in two digits; next to all is not all."""
    share = 100 * failed / made
    return "100" if failed == made else f"{share:.2g}" if share < 99 else f"{min(share, 99.99):.2f}"
