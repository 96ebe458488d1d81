"""What changed between the operators of two runs, and whether they explain a change of the latency. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from benchwright.analysis.comparison import SMALLEST, ComparedMetric, ComparedRow, compare_rows
from benchwright.analysis.operators import LATENCIES, OUTSIDE, CaseOperators, by_family, recorded_operators
from benchwright.analysis.rows import Row, rows
from benchwright.errors import OptionError
from benchwright.records import Operator, Run, Verdict
from benchwright.units import format_value
from benchwright.units.numbers import printable

EXPLAINS = 0.5  # of a change of the latency: from here on the operators are said to explain it
MOST_OF_IT = 0.8  # of what the operators explain: the fewest that reach it are named
NAMED = 3  # of them at most

_Keys = tuple[Callable[[Operator], Hashable], ...]
_EXACT_FIRST: _Keys = (
    lambda o: (o.name, o.kind, o.shapes),
    lambda o: (o.name, o.kind),
    lambda o: o.name,
    lambda o: (o.kind, o.shapes),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChange:
    """One operator on both sides; a side that lacks it has no seconds."""

    name: str
    kind: str
    shapes: str
    before: float | None
    after: float | None
    share: float | None = None  # of the change of a call's time; None where that is not real

    @property
    def difference(self) -> float:
        """Seconds more in a call of the second run."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def state(self) -> str:
        """`added`, `removed`, or "" for what both runs have."""
        return "added" if self.before is None else "removed" if self.after is None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCase:
    """A case of both runs: the judged latency, its operators, and a sentence that says what is behind it."""

    before: CaseOperators
    after: CaseOperators
    compared: ComparedRow
    changes: tuple[OperatorChange, ...]  # the largest difference first; the last is what lies outside operators
    families: bool  # operators were matched by what they do, because the runtimes differ
    sentence: str

    @property
    def latency(self) -> ComparedMetric | None:
        """The judged latency; None when one side has none."""
        return self.compared.metrics[0] if self.compared.metrics else None


def compare_operators(a: Run, b: Run, *, smallest: float = SMALLEST, case: str = "") -> list[ChangedCase]:
    """Every case whose operators both runs know, `b` against `a`; `case` is a part of its label.

    The same case measured by another runtime counts as the same here.
    """
    pairs = _pair_cases(_cases_with_operators(a, case), _cases_with_operators(b, case))
    judged = compare_rows([(x.row, y.row) for x, y in pairs], smallest=smallest, metrics=LATENCIES)
    return [_compare_case(x, y, row) for (x, y), row in zip(pairs, judged, strict=True)]


def check_in_common(found: Sequence[ChangedCase]) -> None:
    """Raises when no case is in both runs."""
    if not found:
        raise OptionError(
            "nothing to compare: no case with operators is in both",
            remedy="a case is the target with its parameters; --case chooses one of several",
        )


def became_worse(found: Sequence[ChangedCase]) -> bool:
    """Whether the latency of any case became worse."""
    return any(case.latency is not None and case.latency.verdict is Verdict.WORSE for case in found)


def match_operators(
    before: Sequence[Operator], after: Sequence[Operator]
) -> list[tuple[Operator | None, Operator | None]]:
    """Operators of both sides in pairs: those alike in everything first, then by name, then by kind and shapes.

    Of several that are alike, the first goes with the first. What one side alone has stands without a partner.
    """
    partners: dict[int, int] = {}  # places on either side
    for key in _EXACT_FIRST:
        taken = set(partners.values())
        waiting: dict[Hashable, deque[int]] = {}
        for place, operator in enumerate(after):
            if place not in taken:
                waiting.setdefault(key(operator), deque()).append(place)
        for place, operator in enumerate(before):
            if place not in partners and (same := waiting.get(key(operator))):
                partners[place] = same.popleft()
    taken = set(partners.values())
    left = [(o, after[partners[i]] if i in partners else None) for i, o in enumerate(before)]
    return [*left, *((None, o) for i, o in enumerate(after) if i not in taken)]


def explain_latency(changes: Sequence[OperatorChange], latency: ComparedMetric | None) -> str:
    """Which operators are behind a change of the latency, when that is real; otherwise why none is named."""
    if latency is None:
        return "One run has no latency, so no operator is named."
    if latency.verdict is Verdict.SAME:
        return f"The latency is the {latency.sentence}; so differences of operators mean nothing."
    if latency.verdict is Verdict.UNCLEAR:
        return f"Whether the latency changed is {latency.sentence}; so no operator is named."
    whole = latency.after.point - latency.before.point
    inside = [change for change in changes if change.name != OUTSIDE]
    explained = sum(change.difference for change in inside)
    head = f"A call takes {format_value(abs(whole), 's')} {'more' if whole > 0 else 'less'}"
    if explained / whole < EXPLAINS:
        return (
            f"{head}, and operators do not explain it: together they take {_format_signed(explained)}. "
            "Look outside operators: the framework, copies of inputs and outputs, threads, the machine."
        )
    return f"{head}: {_name_responsible_operators(inside, whole, explained)}."


# ---- which case goes with which ----


def _cases_with_operators(run: Run, case: str) -> list[CaseOperators]:
    return [found for row in rows(run) if case in row.label and (found := recorded_operators(row))]


def _pair_cases(
    before: Sequence[CaseOperators], after: Sequence[CaseOperators]
) -> list[tuple[CaseOperators, CaseOperators]]:
    """Cases of equal key; then those that differ in nothing but the runtime and what it was told."""
    left, right = list(before), list(after)
    found: list[tuple[CaseOperators, CaseOperators]] = []
    keys: tuple[Callable[[Row], Hashable], ...] = (lambda row: row.key, _key_without_runtime)
    for key in keys:
        for x in list(left):
            if same := next((y for y in right if key(y.row) == key(x.row)), None):
                found.append((x, same))
                left.remove(x)
                right.remove(same)
    return found


def _key_without_runtime(row: Row) -> Hashable:
    """A key that a case has in every runtime; names of inputs are left out, as runtimes name them differently."""
    case = row.case
    params = sorted((name, str(value)) for name, value in case.params.items() if name != "runtime")
    given = case.inputs.batch_size, tuple(sorted(case.inputs.shapes.values()))
    return (
        row.name,
        tuple(params),
        given,
        case.target.device,
        case.target.precision,
        case.load.workers,
        case.load.copies,
    )


# ---- one case ----


def _compare_case(x: CaseOperators, y: CaseOperators, row: ComparedRow) -> ChangedCase:
    latency = row.metrics[0] if row.metrics else None
    families = x.row.case.target.runtime != y.row.case.target.runtime
    sides = (by_family(x.operators), by_family(y.operators)) if families else (x.operators, y.operators)
    pairs = match_operators(*sides)
    real = latency is not None and latency.verdict in (Verdict.BETTER, Verdict.WORSE)
    whole = latency.after.point - latency.before.point if latency and real else None
    found = sorted((_compare_operator(a, b, whole) for a, b in pairs), key=lambda change: -abs(change.difference))
    if x.outside is not None and y.outside is not None:
        share = (y.outside - x.outside) / whole if whole else None
        found.append(OperatorChange(name=OUTSIDE, kind="", shapes="", before=x.outside, after=y.outside, share=share))
    said = explain_latency(found, latency)
    return ChangedCase(before=x, after=y, compared=row, changes=tuple(found), families=families, sentence=said)


def _compare_operator(a: Operator | None, b: Operator | None, whole: float | None) -> OperatorChange:
    one = b or a
    assert one is not None
    before, after = (None if o is None else o.seconds for o in (a, b))
    difference = (after or 0.0) - (before or 0.0)
    share = difference / whole if whole else None
    return OperatorChange(name=one.name, kind=one.kind, shapes=one.shapes, before=before, after=after, share=share)


def _name_responsible_operators(changes: Sequence[OperatorChange], whole: float, explained: float) -> str:
    """The fewest operators that make up most of what operators explain."""
    same_way = sorted((c for c in changes if c.difference * whole > 0), key=lambda c: -abs(c.difference))
    chosen: list[OperatorChange] = []
    for change in same_way[:NAMED]:
        chosen.append(change)
        if abs(sum(c.difference for c in chosen)) >= MOST_OF_IT * abs(explained):
            break
    words = [f"{_name_operator(c)} {_format_signed(c.difference)}{f' ({c.state})' if c.state else ''}" for c in chosen]
    others = len(same_way) - len(chosen)
    rest = abs(sum(c.difference for c in chosen)) < MOST_OF_IT * abs(explained)
    more = f", and {others} more, each with less" if rest and others else ""
    return ", ".join(words) + more


def _name_operator(change: OperatorChange) -> str:
    return printable(change.name if change.kind in change.name else f"{change.name} ({change.kind})")


def _format_signed(seconds: float) -> str:
    return f"{'+' if seconds >= 0 else '-'}{format_value(abs(seconds), 's')}"
