"""What a gate found: for the terminal, as Markdown for a pull request, and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from benchwright import schema
from benchwright.analysis.gate import Breach, Checked, Gate
from benchwright.records import Verdict
from benchwright.report.comparison_text import HEADS, STYLES, rules
from benchwright.report.markdown import escaped, markdown_table
from benchwright.schema.printed import envelope
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 50  # lines of a table; a comment on a pull request has its limits
_WORST_FIRST = (Verdict.WORSE, Verdict.UNCLEAR, Verdict.BETTER, Verdict.SAME)


def show_gate(console: Console, gate: Gate, beside: str = "") -> None:
    """The table, the breaches, and the last word. `beside` is what is known of the machine's own false alarms."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    for head in HEADS:
        drawn.add_column(head, justify="right" if head in ("before", "after", "ratio") else "left")
    for line, verdict in _lines(gate):
        drawn.add_row(*(Text(printable(word)) for word in line[:-1]), Text(printable(line[-1]), style=STYLES[verdict]))
    if drawn.row_count:
        console.print(drawn, crop=False)
        console.print()
    for note in _notes(gate):
        console.print(Text(printable(note), style="yellow"), overflow="fold")
    for breach in gate.breaches:
        console.print(Text(printable(f"{told(breach)}  [{breach.condition}]"), style="red"), overflow="fold")
    console.print(Text(printable(headline(gate)), style="bold"), overflow="fold")
    for said in filter(None, (rules(gate.smallest, [case.compared for case in gate.cases]), beside)):
        console.print(Text(printable(said), style="dim"), overflow="fold")


def gate_markdown(gate: Gate, beside: str = "") -> str:
    """Fit for a comment on a pull request: the verdict, what is wrong, and the whole table folded away."""
    parts = [f"**{escaped(headline(gate))}**"]
    if gate.breaches:
        parts.append("\n".join(f"- {escaped(told(b))} ({escaped(b.condition)})" for b in gate.breaches[:SHOWN]))
    lines = [list(line) for line, _ in _lines(gate)]
    if lines:
        table = markdown_table(HEADS, lines[:SHOWN], [False, False, True, True, True, False])
        more = f"\n\nand {len(lines) - SHOWN} lines more" if len(lines) > SHOWN else ""
        parts.append(f"<details><summary>{_counted(gate)}</summary>\n\n{table}{more}\n\n</details>")
    if notes := _notes(gate):
        parts.append("\n".join(f"- {escaped(note)}" for note in notes))
    parts += filter(None, (rules(gate.smallest, [case.compared for case in gate.cases]), escaped(beside)))
    return "\n\n".join(parts) + "\n"


def gate_json(gate: Gate, calibration: object = None) -> str:
    """The gate as JSON, every estimate with its interval."""
    return envelope("gate", {"ok": gate.ok, **schema.encode(gate), "calibration": calibration})


def headline(gate: Gate) -> str:
    """One line: whether it passed, and against what."""
    count = len(gate.breaches)
    said = "passed" if gate.ok else f"failed: {count} problem{'s' * (count != 1)}"
    return f"{said}; run {gate.run} against {gate.against}: {_counted(gate)}"


def told(breach: Breach) -> str:
    """A breach in one line: `encode: latency_p50 worse: 12 % slower`."""
    return f"{breach.case}: {f'{breach.metric} ' if breach.metric else ''}{breach.sentence}"


def _counted(gate: Gate) -> str:
    counts = Counter(metric.verdict for case in gate.cases for metric in case.compared.metrics)
    words = [f"{counts[verdict]} {verdict}" for verdict in _WORST_FIRST if counts[verdict]]
    return ", ".join(words) if words else "nothing to compare"


def _lines(gate: Gate) -> list[tuple[tuple[str, ...], Verdict]]:
    """The table, the worst first."""
    found = [
        ((_label(case), m.name, m.before_text, m.after_text, m.ratio_text, m.sentence), m.verdict)
        for case in gate.cases
        for m in case.compared.metrics
    ]
    return sorted(found, key=lambda line: _WORST_FIRST.index(line[1]))


def _label(case: Checked) -> str:
    return f"{case.name} (muted)" if case.muted else case.name


def _notes(gate: Gate) -> list[str]:
    return [f"{case.name}: {note}" for case in gate.cases for note in case.compared.notes]
