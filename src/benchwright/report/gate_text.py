"""What a gate found: for the terminal, as Markdown for a pull request, as JSON, as JUnit XML and as annotations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from benchwright import schema
from benchwright.analysis.gate import Breach, CheckedCase, Gate
from benchwright.records import Verdict
from benchwright.report.comparison_text import HEADS, STYLES, rules
from benchwright.report.markdown import escape_markdown, markdown_table
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
        console.print(Text(printable(f"{describe_breach(breach)}  [{breach.condition}]"), style="red"), overflow="fold")
    console.print(Text(printable(headline(gate)), style="bold"), overflow="fold")
    for said in filter(None, (rules(gate.smallest, [case.compared for case in gate.cases]), beside)):
        console.print(Text(printable(said), style="dim"), overflow="fold")


def gate_markdown(gate: Gate, beside: str = "", code: str = "") -> str:
    """Fit for a comment on a pull request: the verdict, what is wrong, and the whole table folded away.

    `code` is what is told of the commit, as Markdown.
    """
    parts = [f"**{escape_markdown(headline(gate))}**", *([code] if code else [])]
    if gate.breaches:
        parts.append(
            "\n".join(
                f"- {escape_markdown(describe_breach(b))} ({escape_markdown(b.condition)})"
                for b in gate.breaches[:SHOWN]
            )
        )
    lines = [list(line) for line, _ in _lines(gate)]
    if lines:
        table = markdown_table(HEADS, lines[:SHOWN], [False, False, True, True, True, False])
        more = f"\n\nand {len(lines) - SHOWN} lines more" if len(lines) > SHOWN else ""
        parts.append(f"<details><summary>{_count_verdicts(gate)}</summary>\n\n{table}{more}\n\n</details>")
    if notes := _notes(gate):
        parts.append("\n".join(f"- {escape_markdown(note)}" for note in notes))
    parts += filter(None, (rules(gate.smallest, [case.compared for case in gate.cases]), escape_markdown(beside)))
    return "\n\n".join(parts) + "\n"


def gate_json(gate: Gate, calibration: object = None) -> str:
    """The gate as JSON, every estimate with its interval."""
    return envelope("gate", {"ok": gate.ok, **schema.encode(gate), "calibration": calibration})


def headline(gate: Gate) -> str:
    """One line: whether it passed, and against what."""
    count = len(gate.breaches)
    said = "passed" if gate.ok else f"failed: {count} problem{'s' * (count != 1)}"
    return f"{said}; run {gate.run} against {gate.against}: {_count_verdicts(gate)}"


def describe_breach(breach: Breach) -> str:
    """A breach in one line: `encode: latency_p50 worse: 12 % slower`."""
    return f"{breach.case}: {f'{breach.metric} ' if breach.metric else ''}{breach.sentence}"


def _count_verdicts(gate: Gate) -> str:
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


def _label(case: CheckedCase) -> str:
    return f"{case.name} (muted)" if case.muted else case.name


def _notes(gate: Gate) -> list[str]:
    return [f"{case.name}: {note}" for case in gate.cases for note in case.compared.notes]


# ---- as JUnit XML, which every CI can show: a test for each metric of each case ----


_SUITE = "benchwright"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(gate: Gate) -> str:
    """The document. A breach is a failure, a muted case is skipped."""
    tests = [test for case in gate.cases for test in _tests(case)]
    failed = sum(test.find("failure") is not None for test in tests)
    skipped = sum(test.find("skipped") is not None for test in tests)
    counts = {"tests": str(len(tests)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts})
    suite.extend(tests)
    ElementTree.SubElement(suite, "system-out").text = _clean(headline(gate))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _tests(case: CheckedCase) -> Iterator[ElementTree.Element]:
    """One test for the case itself, and one for each metric."""
    whole = [breach for breach in case.breaches if not breach.metric]
    yield _test(case, "measured", whole, case.failure or "; ".join(case.compared.notes))
    for metric in case.compared.metrics:
        said = f"{metric.before_text} to {metric.after_text}, ratio {metric.ratio_text}: {metric.sentence}"
        yield _test(case, metric.name, [b for b in case.breaches if b.metric == metric.name], said)


def _test(case: CheckedCase, name: str, breaches: list[Breach], said: str) -> ElementTree.Element:
    test = ElementTree.Element("testcase", classname=_clean(case.name), name=_clean(name), time="0")
    if case.muted:
        ElementTree.SubElement(test, "skipped", message="muted")
    for breach in breaches[:1]:  # one test has one outcome
        failure = ElementTree.SubElement(
            test, "failure", message=_clean(breach.sentence), type=_clean(breach.condition)
        )
        failure.text = _clean(said)
    if said and not breaches:
        ElementTree.SubElement(test, "system-out").text = _clean(said)
    return test


def _clean(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


# ---- as annotations, the lines by which a step of GitHub Actions speaks to the page of a pull request ----


ANNOTATIONS_SHOWN = 10  # GitHub shows so many of a step


def github_annotations(gate: Gate) -> str:
    """An error for each breach, or a notice that all is well."""
    if gate.ok:
        return f"::notice title=benchwright::{_message(headline(gate))}\n"
    lines = [
        f"::error title={_property(f'benchwright: {b.case}')}::{_message(describe_breach(b))}" for b in gate.breaches
    ]
    more = len(lines) - ANNOTATIONS_SHOWN + 1
    if more > 1:
        lines = [
            *lines[: ANNOTATIONS_SHOWN - 1],
            f"::error title=benchwright::and {more} more; see the log of this step",
        ]
    return "\n".join(lines) + "\n"


def _message(text: str) -> str:
    """Text that stays one message, whatever a case is called."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
