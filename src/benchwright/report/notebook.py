"""What a notebook shows of a run."""

from __future__ import annotations

from benchwright.analysis import notes
from benchwright.analysis.rows import rows
from benchwright.records import Run
from benchwright.report.markup import escape, results_table, tag


def html_table(run: Run) -> str:
    """The run's table and notes as an HTML fragment, for `_repr_html_`: no script, no style of its own."""
    table = rows(run)
    if not table:
        return tag("p", "no results: nothing was measured")
    parts = [results_table(table, swatches=False)]
    if missing := notes.incomplete(run):
        parts.append(tag("p", f"<b>{escape(missing)}</b>"))
    parts += [
        tag("p", f"<b>{escape(noted.code)}</b> ×{noted.count}: {escape(noted.text)} <i>{escape(noted.remedy)}</i>")
        for noted in notes.warnings(table)
    ]
    parts += [
        tag("p", f"<b>{escape(failed.case)}</b>: {escape(notes.told(failed))}") for failed in notes.failures(table)
    ]
    if stated := notes.instrument(run.results):
        parts.append(tag("p", f"Instrument: {escape(stated)}"))
    return tag("div", "".join(parts))
