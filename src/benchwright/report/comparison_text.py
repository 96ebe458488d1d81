"""A comparison for the terminal and for Markdown."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from benchwright.analysis.comparison import FALSE_RATE, ComparedRow, format_ratio, is_of_one_process, notes_of
from benchwright.analysis.geomeans import EVERY_SUITE, GeometricMean
from benchwright.records import Run, Verdict
from benchwright.records.costs import is_cost
from benchwright.report.code_text import range_markdown
from benchwright.report.markdown import escape_markdown, markdown_table
from benchwright.report.table import UNLIMITED, emit
from benchwright.schema.printed import envelope
from benchwright.units.numbers import printable
from benchwright.vcs.forges import Projects

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

HEADS = ("case", "metric", "before", "after", "ratio", "verdict")
_TESTS = "pytest"  # the runtime of what pytest measured: no other command can measure it again
STYLES = {Verdict.WORSE: "red", Verdict.BETTER: "green", Verdict.UNCLEAR: "yellow", Verdict.SAME: ""}


def print_comparison(
    compared: Sequence[ComparedRow],
    a: Run,
    b: Run,
    *,
    smallest: float,
    file: TextIO | None = None,
    width: int | None = None,
    beside: str = "",
    means: Sequence[GeometricMean] = (),
    across: Sequence[str] = (),
) -> None:
    """Prints the comparison: a table where it fits, otherwise lines of its own for each metric.

    `beside` is what is known of the machine's own false alarms, `means` what all cases together did, `across` the
    parameters in which paired cases differ.
    """
    head = describe_sides(a, b, across)
    emit(
        file or sys.stdout,
        lambda console: _show(console, compared, a, b, head, smallest, beside, means),
        width=width,
    )


def comparison_markdown(
    compared: Sequence[ComparedRow],
    a: Run,
    b: Run,
    *,
    smallest: float,
    beside: str = "",
    means: Sequence[GeometricMean] = (),
    projects: Projects | None = None,
    across: Sequence[str] = (),
) -> str:
    """The comparison as a GitHub table; what changed between both leads to the forge, if it is known."""
    body = [list(line) for line, _ in _lines(compared)]
    table = markdown_table(HEADS, body, [False, False, True, True, True, False])
    said = "\n".join(f"- {escape_markdown(note)}" for note in notes_of(compared))
    first = f"{escape_markdown(describe_sides(a, b, across))}: {summary(compared)}"
    promised = (rules(smallest, compared), escape_markdown(beside), escape_markdown(pairs_hint(compared, a, b)))
    together = "\n".join(f"- {escape_markdown(line)}" for line in describe_means(means))
    parts = [first, range_markdown(a, b, projects or Projects()), table, together, said, *promised]
    return "\n\n".join(part for part in parts if part) + "\n"


def comparison_json(
    compared: Sequence[ComparedRow],
    a: Run,
    b: Run,
    *,
    smallest: float,
    calibration: object = None,
    means: Sequence[GeometricMean] = (),
    across: Sequence[str] = (),
) -> str:
    """The comparison as JSON, every estimate with its interval."""
    document = {
        "before": a.id,
        "after": b.id,
        "across": list(across),
        "smallest": smallest,
        "false_rate": FALSE_RATE,
        "cases": compared,
    }
    return envelope("comparison", {**document, "means": means, "calibration": calibration})


def describe_means(means: Sequence[GeometricMean]) -> list[str]:
    """The geometric means of ratios in words: a line for each metric over all cases, then one for each suite."""
    shown = [mean for mean in means if mean.cases > 1 and mean.ratio is not None]
    suites: dict[str, list[str]] = {}
    lines = []
    for mean in shown:
        assert mean.ratio is not None
        if mean.suite == EVERY_SUITE:
            out = f", {mean.left_out} left out" if mean.left_out else ""
            lines.append(f"Geometric mean of {mean.metric}: {format_ratio(mean.ratio)} over {mean.cases} cases{out}")
        else:
            suites.setdefault(mean.suite, []).append(f"{mean.metric} {mean.ratio.point:.3f} ({mean.cases})")
    return lines + [f"  of {suite}: {', '.join(said)}" for suite, said in suites.items()]


def describe_sides(a: Run, b: Run, across: Sequence[str]) -> str:
    """Which sides these are, and across which parameters."""
    by = f" across {', '.join(across)}" if across else ""
    if a.id == b.id:
        return f"{b.id}, its cases against the first of them{by}"
    return f"{b.id} against {a.id}{by}"


def same_run_text(run: Run) -> str:
    """The sentence that both sides are one run."""
    return f"{printable(run.id)} is the same run on both sides: nothing can have changed"


def summary(compared: Sequence[ComparedRow]) -> str:
    """How many metrics went which way: `1 worse, 3 same`."""
    counts = Counter(metric.verdict for row in compared for metric in row.metrics)
    counts[Verdict.WORSE] += sum(row.verdict is Verdict.WORSE and not row.metrics for row in compared)
    words = [f"{counts[v]} {v}" for v in (Verdict.WORSE, Verdict.BETTER, Verdict.UNCLEAR, Verdict.SAME) if counts[v]]
    return ", ".join(words) if words else "nothing to compare"


def _show(
    console: Console,
    compared: Sequence[ComparedRow],
    a: Run,
    b: Run,
    head: str,
    smallest: float,
    beside: str,
    means: Sequence[GeometricMean],
) -> None:
    from rich.measure import Measurement
    from rich.text import Text

    drawn = _table(compared)
    if drawn.row_count:
        wide = Measurement.get(console, console.options.update(max_width=UNLIMITED), drawn).maximum
        if wide <= console.width:
            console.print(drawn, crop=False)
        else:
            _show_stacked(console, compared)
        console.print()
    for said in describe_means(means):
        console.print(Text(printable(said)), overflow="fold")
    for note in notes_of(compared):
        console.print(Text(printable(note), style="yellow"), overflow="fold")
    console.print(Text(f"{printable(head)}: {summary(compared)}", style="bold"), overflow="fold")
    for said in filter(None, (rules(smallest, compared), beside, pairs_hint(compared, a, b))):
        console.print(Text(printable(said), style="dim"), overflow="fold")


def _table(compared: Sequence[ComparedRow]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    for head in HEADS:
        drawn.add_column(head, no_wrap=True, justify="right" if head in ("before", "after", "ratio") else "left")
    for line, verdict in _lines(compared):
        drawn.add_row(*(Text(printable(word)) for word in line[:-1]), Text(printable(line[-1]), style=STYLES[verdict]))
    return drawn


def _show_stacked(console: Console, compared: Sequence[ComparedRow]) -> None:
    from rich.text import Text

    for row in (r for r in compared if r.metrics):
        console.print(Text(printable(row.label), style="bold"), overflow="fold")
        for m in row.metrics:
            console.print(Text(f"  {m.name}: ").append(m.sentence, style=STYLES[m.verdict]), overflow="fold")
            console.print(Text(f"    {m.before_text} to {m.after_text}, ratio {m.ratio_text}"), overflow="fold")


def _lines(compared: Sequence[ComparedRow]) -> list[tuple[tuple[str, ...], Verdict]]:
    lines: list[tuple[tuple[str, ...], Verdict]] = []
    for row in compared:
        for i, m in enumerate(row.metrics):
            label = row.label if i == 0 else ""
            lines.append(((label, m.name, m.before_text, m.after_text, m.ratio_text, m.sentence), m.verdict))
    return lines


def rules(smallest: float, compared: Sequence[ComparedRow] = ()) -> str:
    """The sentence that says what the verdicts of a comparison promise."""
    none = f"A change below {100 * smallest:.3g} % counts as none"
    judged = [m for row in compared for m in row.metrics if m.ratio is not None and m.ratio.low is not None]
    if judged and all(map(is_of_one_process, judged)):
        return f"{none}; one process on each side promises no rate of false verdicts."
    chance = f"of the changes called better or worse, at most {100 * FALSE_RATE:g} % are expected to be chance"
    besides = ", those of one process on each side left out" if any(map(is_of_one_process, judged)) else ""
    return f"{none}; {chance}{besides}."


def pairs_hint(compared: Sequence[ComparedRow], a: Run, b: Run) -> str:
    """How to find out what stayed unclear: the two revisions in pairs, which a busy machine slows alike."""
    judged = (metric for row in compared for metric in row.metrics if not is_cost(metric.name))
    if not any(metric.verdict is Verdict.UNCLEAR for metric in judged):
        return ""
    if all(result.case.target.runtime == _TESTS for result in b.results):
        return "Unclear: fresh processes on both sides tell more: pytest --benchwright-isolated --benchwright-rounds 10"
    revisions = [run.revision.id if run.revision and not run.revision.dirty else "" for run in (a, b)]
    targets = list(dict.fromkeys(_target_in_repository(result.case.target.uri, revisions[1]) for result in b.results))
    if not all(revisions) or revisions[0] == revisions[1] or len(targets) != 1:
        control, treatment, target = "REVISION", "REVISION", "TARGET"
    else:
        control, treatment, target = revisions[0], revisions[1], targets[0]
    words = ["benchwright", "ab", "--control", control, "--treatment", treatment, target]
    return f"Unclear: on a busy machine, pairs tell more than more rounds: {shlex.join(words)}"


def _target_in_repository(uri: str, revision: str) -> str:
    """A target as its repository names it, where it was measured in a working copy of the build cache."""
    _, copied, inside = uri.partition("/".join(("", revision, "work", "")))  # as `builds.Builder` lays them out
    return inside if revision and copied else uri
