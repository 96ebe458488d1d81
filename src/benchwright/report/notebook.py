"""What a notebook shows of a run, a comparison, a history, findings, a trial and a bisection.

Each is an HTML fragment for `_repr_html_`: a table, and a picture where there is something to see. There is no script
and no style: a picture is an image that brings its colours along, which neither a theme nor a filter of HTML changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchwright.analysis import notes
from benchwright.analysis.comparison import ComparedRow, notes_of
from benchwright.analysis.request_failures import describe_requests
from benchwright.analysis.rows import rows, show_scalar
from benchwright.analysis.speedup import find_speedups
from benchwright.analysis.trend import JudgedSeries, sparkline
from benchwright.records import Run
from benchwright.records.bisections import Bisected
from benchwright.records.findings import Finding
from benchwright.records.trials import Trial, TrialRow
from benchwright.report.ab import HEADS as TRIAL_HEADS
from benchwright.report.ab import headline, trial_lines
from benchwright.report.ab import notes as trial_notes
from benchwright.report.ab import rules as trial_rules
from benchwright.report.bisection import bisection_notes, change_text, likely_suspects
from benchwright.report.bisection import headline as bisection_headline
from benchwright.report.comparison_text import describe_sides, pairs_hint, rules, same_run_text, summary
from benchwright.report.findings import about, below_findings, title
from benchwright.report.history_text import (
    NO_VALUE,
    MissedResult,
    drift_text,
    has_machines,
    miss_text,
    price_lines,
    series_columns,
    series_heading,
    word_beside,
)
from benchwright.report.markup import column_head, comparison_table, escape, results_table, tag
from benchwright.report.notebook_plots import draw_history, draw_ratios, image_of
from benchwright.report.plots import distribution
from benchwright.report.speedup_text import speedup_text
from benchwright.units import format_probability

ONE_PROCESS = (
    "Measured in the process that asked, which is one round: whatever ran there before is around it, and how much "
    "fresh processes differ is not known. Code in a file is measured in fresh ones: bw.run('file.py::function')."
)


def html_table(run: Run) -> str:
    """A run's table and notes as an HTML fragment."""
    table = rows(run)
    if not table:
        return tag("p", "no results: nothing was measured")
    parts = [results_table(table, swatches=False), image_of(distribution(table))]
    if speedups := find_speedups(table):
        parts.append(tag("pre", escape(speedup_text(speedups))))
    if missing := notes.describe_missing_results(run):
        parts.append(tag("p", f"<b>{escape(missing)}</b>"))
    parts += [
        tag("p", f"<b>{escape(noted.code)}</b> ×{noted.count}: {escape(noted.text)}{_remedy(noted.remedy)}")
        for noted in notes.warnings(table)
    ]
    parts += [
        tag("p", f"<b>{escape(failed.case)}</b>: {escape(notes.describe_failure(failed))}")
        for failed in notes.failures(table)
    ]
    parts += [tag("p", escape(said)) for said in describe_requests(table)]
    if all(result.case.target.options.get("process") == "shared" for result in run.results):
        parts.append(tag("p", escape(ONE_PROCESS)))
    if stated := notes.describe_instrument(run.results):
        parts.append(tag("p", f"Instrument: {escape(stated)}"))
    return tag("div", "".join(parts))


def comparison_html(
    compared: Sequence[ComparedRow],
    a: Run,
    b: Run,
    *,
    smallest: float,
    beside: str = "",
    across: Sequence[str] = (),
) -> str:
    """A comparison's table and notes as an HTML fragment."""
    if a.id == b.id and not across:
        return tag("p", escape(same_run_text(a)))
    said = [*notes_of(compared), rules(smallest, compared), beside, pairs_hint(compared, a, b)]
    first = tag("p", f"<b>{escape(f'{describe_sides(a, b, across)}: {summary(compared)}')}</b>")
    changes = [
        (f"{row.label}: {metric.name}", metric.ratio, metric.verdict)
        for row in compared
        for metric in row.metrics
        if metric.ratio is not None
    ]
    picture = image_of(draw_ratios(changes, "second side over first"))
    return tag("div", first + comparison_table(compared) + picture + _paragraphs(said))


def history_html(series: Sequence[JudgedSeries], misses: Sequence[MissedResult]) -> str:
    """The history of a target as an HTML fragment: a table for each series."""
    parts = []
    for one in series:
        case, told = series_heading(one, with_machine=has_machines(series))
        parts.append(tag("p", f"<b>{escape(case)}</b> {escape(told)}"))
        if not one.steps:
            parts.append(tag("p", NO_VALUE))
            continue
        (*heads,), *lines = zip(*series_columns(one), strict=True)
        words = [word_beside(step) for step in one.steps]
        parts.append(_table([*heads, ""], [[*line, word] for line, word in zip(lines, words, strict=True)]))
        parts.append(image_of(draw_history(one)) or _paragraphs([sparkline([s.estimate.point for s in one.steps])]))
        parts.append(_paragraphs(price_lines(one)))
        parts.append(_paragraphs([f"{drift.verdict}: {drift_text(drift)}" for drift in one.drifts]))
    if misses:
        parts.append(tag("p", "<b>Not measured</b>") + _paragraphs([miss_text(miss) for miss in misses]))
    return tag("div", "".join(parts))


def findings_html(findings: Sequence[Finding], *, suspected: int = 0) -> str:
    """A table of findings as an HTML fragment."""
    lines = [[one.id, str(one.verdict), title(one), about(one)] for one in findings]
    table = _table(["finding", "verdict", "change", "more"], lines) if lines else ""
    return tag("div", table + _paragraphs(below_findings(findings, suspected)))


def trial_html(trial: Trial) -> str:
    """A trial's table and notes as an HTML fragment."""
    table = _table(TRIAL_HEADS, [list(line) for line, _ in trial_lines(trial)]) if trial.rows else ""
    said = [*trial_notes(trial), *([trial_rules(trial)] if trial.rows else [])]
    changes = [(_label(row), row.effect, row.verdict) for row in trial.rows if row.effect is not None]
    picture = image_of(draw_ratios(changes, "treatment over control"))
    return tag("div", tag("p", f"<b>{escape(headline(trial))}</b>") + table + picture + _paragraphs(said))


def bisection_html(found: Bisected) -> str:
    """A bisection as an HTML fragment: the headline, the commits that may be behind the change, and notes."""
    lines = [
        [
            each.revision[:12],
            format_probability(each.probability),
            change_text(each.effect) if each.effect else "",
            each.subject,
            each.author,
        ]
        for each in (likely_suspects(found) if found.pairs else ())
    ]
    table = _table(["commit", "probability", "change", "subject", "author"], lines) if lines else ""
    said = tag("p", f"<b>{escape(bisection_headline(found))}</b>")
    return tag("div", said + table + _paragraphs(bisection_notes(found)))


def _label(row: TrialRow) -> str:
    return " ".join([row.name, *(f"{name}={show_scalar(value)}" for name, value in row.params.items())])


def _remedy(words: str) -> str:
    return f"; <i>{escape(words)}</i>" if words else ""


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = tag("thead", tag("tr", "".join(map(column_head, heads))))
    body = "".join(tag("tr", "".join(tag("td", escape(word)) for word in line)) for line in lines)
    return tag("table", head + tag("tbody", body))


def _paragraphs(said: Iterable[str]) -> str:
    return "".join(tag("p", escape(words)) for words in said if words)
