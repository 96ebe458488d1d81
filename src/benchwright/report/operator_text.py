"""Operators for the terminal and as JSON."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchwright import schema
from benchwright.analysis.operator_changes import ChangedCase
from benchwright.analysis.operators import OUTSIDE, CaseOperators, by_kind, recorded_operators
from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.records import Operator, Run
from benchwright.records.quarantine_marks import CODE as QUARANTINE
from benchwright.report.comparison_text import STYLES
from benchwright.schema.printed import envelope
from benchwright.units import format_number, format_value
from benchwright.units.numbers import printable, scale_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

TOP = 20
IN_SHORT = 10  # operators shown below the table of a run
LONGEST_NAME, LONGEST_SHAPES = 48, 40  # letters; what is longer is cut in the middle or at its end
FLAG = "--operators"
BOTH = "both"  # the kinds, then the nodes


def cases_of(run: Run, case: str = "") -> list[CaseOperators]:
    """The cases of a run whose label has `case` in it and whose operators are known; an `OptionError` when none is."""
    table = [row for row in rows(run) if case in row.label]
    if not table:
        listed = "; ".join(printable(row.label) for row in rows(run)[:8])
        raise OptionError(f"no case of {run.id} has {case!r} in its name", remedy=f"its cases: {listed}")
    found = [known for row in table if (known := recorded_operators(row))]
    if found:
        return found
    told = [w for row in table for w in row.warnings if w.code == "operators"]
    if told:
        raise OptionError(f"{run.id} has no operators: {printable(told[0].seen)}", remedy=printable(told[0].remedy))
    raise OptionError(f"{run.id} has no operators: they were not recorded", remedy=_how_to_record(run))


def _how_to_record(run: Run) -> str:
    """The run's own command with the flag that records them."""
    if not run.command:
        return "record them: benchwright.run(..., operators=True)"
    if run.command[1:2] == ("harness",):  # whose programs tell of operators, or do not
        return "let the program tell them: set run_individual to true in the test"
    at = run.command.index("--") if "--" in run.command else len(run.command)
    return f"record them: {printable(shlex.join([*run.command[:at], FLAG, *run.command[at:]]))}"


# ---- one run ----


def show_cases(
    console: Console, found: Sequence[CaseOperators], *, by: str = BOTH, top: int = TOP, last: str = ""
) -> None:
    """Prints every case, the kinds of its operators before its nodes, then `last`."""
    for index, known in enumerate(found):
        if index:
            console.print()
        _show_case(console, known, by, top)
    if last:
        console.print(last, markup=False)


def _show_case(console: Console, found: CaseOperators, by: str, top: int) -> None:
    from rich.text import Text

    console.print(Text(printable(found.row.label), style="bold"), overflow="fold")
    for each in _tables(found, by):
        console.print(_table(found, each, top), crop=False)
    for line in describe_operators(found):
        console.print(Text(line, style="dim"), overflow="fold")


def _tables(found: CaseOperators, by: str) -> list[str]:
    """Which tables to print. Where every node is of a kind of its own, the kinds say nothing more."""
    if by != BOTH:
        return [by]
    return ["kind", "node"] if len(by_kind(found.operators)) < len(found.operators) else ["node"]


def describe_operators(found: CaseOperators) -> Iterator[str]:
    """How the operators relate to what was measured, and whether that is judged."""
    yield from dict.fromkeys(printable(w.seen) for w in found.row.warnings if w.code == QUARANTINE)
    recorded_calls = f", from {found.calls} recorded calls" if found.calls else ""
    if found.latency is None or found.outside is None:
        yield f"operators take {format_value(found.total, 's')} a call{recorded_calls}"
        return
    named = "median latency" if found.metric == "latency_p50" else found.metric
    head = (
        f"operators take {format_value(found.total, 's')}{recorded_calls}; {named} {format_value(found.latency, 's')}"
    )
    if found.outside >= 0:
        yield f"{head}; {OUTSIDE} {format_value(found.outside, 's')} ({100 * found.outside / found.latency:.0f} %)"
    else:
        yield f"{head}; nothing {OUTSIDE}: these ran beside each other, or slower while they were recorded"
    if found.is_crowded:
        yield f"calls were measured beside others and recorded alone: waiting for others counts as {OUTSIDE}"
    elif found.slowdown:
        yield f"a recorded call took {found.slowdown:.2f} times as long as a measured one: trust shares more than times"


def run_json(run: Run, found: Sequence[CaseOperators], *, by: str = BOTH, top: int = TOP) -> str:
    """The operators of a run as JSON, times in seconds; `kinds` adds them up unless they are asked for by node."""
    cases = [
        {
            "case": known.row.label,
            "is_held": known.row.is_held,
            "runtime": known.row.case.target.runtime,
            "latency": known.latency,
            "total": known.total,
            "outside": known.outside,
            "recorded_calls": known.calls,
            "recorded_latency": known.passed,
            **({"kinds": by_kind(known.operators)[: top or None]} if by == BOTH else {}),
            "operators": (by_kind(known.operators) if by == "kind" else known.operators)[: top or None],
        }
        for known in found
    ]
    return envelope("operators", {"run": run.id, "by": by, "cases": cases})


def _table(found: CaseOperators, by: str, top: int) -> Table:
    listed = by_kind(found.operators) if by == "kind" else list(found.operators)
    nodes = Counter(operator.kind for operator in found.operators)
    scale = scale_of([operator.seconds for operator in listed[: top or None]], "s")
    heads = ["kind", "nodes"] if by == "kind" else ["operator", "kind", "shapes"]
    drawn = _new_table([*heads, f"time ({scale.unit})", "share", "calls"], left=1 if by == "kind" else 3)

    def line(first: Sequence[str], operators: Sequence[Operator]) -> None:
        numbers = [sum(o.seconds for o in operators) / scale.factor, 100 * sum(o.share for o in operators)]
        calls = sum(o.calls for o in operators)
        drawn.add_row(*first, format_number(numbers[0]), f"{numbers[1]:.1f} %", f"{calls:g}")

    for operator in listed[: top or None]:
        if by == "kind":
            line([printable(operator.kind), str(nodes[operator.kind])], [operator])
        else:
            line(_words(operator.name, operator.kind, operator.shapes), [operator])
    if rest := listed[top:] if top else []:
        line([f"{len(rest)} more", *("" for _ in heads[1:])], rest)
    return drawn


# ---- two runs ----


def show_changes(console: Console, changed: Sequence[ChangedCase], *, top: int = TOP) -> None:
    """Prints for each case the latency and its verdict, its operators, and the sentence."""
    for index, found in enumerate(changed):
        if index:
            console.print()
        _show_change(console, found, top)


def _show_change(console: Console, found: ChangedCase, top: int) -> None:
    from rich.text import Text

    console.print(Text(printable(found.after.row.label), style="bold"), overflow="fold")
    if latency := found.latency:
        said = f"{latency.name}: {latency.before_text} before, {latency.after_text} after: {latency.sentence}"
        console.print(Text(said, style=STYLES[latency.verdict]), overflow="fold")
    console.print(_change_table(found, top), crop=False)
    for note in found.compared.notes:
        console.print(Text(printable(note), style="yellow"), overflow="fold")
    if found.families:
        console.print(Text("The runtimes differ: operators are matched by what they do.", style="dim"))
    console.print(Text(found.sentence), overflow="fold")


def changes_json(a: Run, b: Run, found: Sequence[ChangedCase], *, smallest: float) -> str:
    """What changed as JSON, times in seconds."""
    cases = [
        {
            "case": case.after.row.label,
            "latency": case.latency,
            "matched_by": "family" if case.families else "name",
            "sentence": case.sentence,
            "notes": case.compared.notes,
            "operators": [
                {**schema.encode(change), "difference": change.difference, "state": change.state or "kept"}
                for change in case.changes
            ],
        }
        for case in found
    ]
    return envelope("operator-changes", {"before": a.id, "after": b.id, "smallest": smallest, "cases": cases})


def _change_table(found: ChangedCase, top: int) -> Table:
    changes = list(found.changes)
    outside = [changes.pop()] if changes and changes[-1].name == OUTSIDE else []
    scale = scale_of([max(c.before or 0.0, c.after or 0.0) for c in changes[: top or None]], "s")
    heads = ["operator", "kind", "shapes", f"before ({scale.unit})", "after", "difference", "of the change"]
    drawn = _new_table(heads, left=3)

    def shown(seconds: float | None, absent: str) -> str:
        return absent if seconds is None else format_number(seconds / scale.factor)

    for change in [*changes[: top or None], *outside]:
        drawn.add_row(
            *_words(change.name, "" if found.families else change.kind, change.shapes),
            shown(change.before, "added"),
            shown(change.after, "removed"),
            f"{'+' if change.difference > 0 else ''}{shown(change.difference, '')}",
            "" if change.share is None else f"{100 * change.share:.0f} %",
        )
    if rest := len(changes) - len(changes[: top or None]):
        drawn.caption, drawn.caption_justify = f"{rest} smaller differences are left out; --top 0 shows all", "left"
    return drawn


# ---- what both share ----


def _new_table(heads: Sequence[str], *, left: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 0, 0, 1))
    for index, head in enumerate(heads):
        drawn.add_column(
            Text(head), no_wrap=index >= left, justify="left" if index < left else "right", overflow="fold"
        )
    return drawn


def _words(name: str, kind: str, shapes: str) -> list[Any]:
    from rich.text import Text

    return [Text(_cut(name, LONGEST_NAME)), Text(printable(kind)), Text(_cut(shapes, LONGEST_SHAPES), style="dim")]


def _cut(words: str, most: int) -> str:
    """The words without their middle when they are too long: of a node's path both ends tell."""
    shown = printable(words)
    return shown if len(shown) <= most else f"{shown[: most // 2 - 1]}…{shown[len(shown) - most // 2 :]}"
