"""A commit that was dealt with, as a person and as a program reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchwright.report.findings import title
from benchwright.schema.printed import envelope
from benchwright.units.numbers import printable
from benchwright.workflows.watch.journal import CommitState

if TYPE_CHECKING:
    from benchwright.workflows.watch.loop import CommitReport

_SHORT = 12  # digits of a commit


def handled_text(handled: CommitReport) -> str:
    """A line, and one more for each change that it brought to light or made somebody suspect."""
    revision, taken = handled.revision, handled.taken
    words = f"{revision.id[:_SHORT]} {taken.outcome:<9} {printable(revision.subject)}"
    if taken.outcome is not CommitState.MEASURED and taken.why:
        words += f"\n  {printable(taken.why)}"
    found = [f"  {finding.verdict}: {title(finding)} (finding {finding.id})" for finding in handled.findings]
    found += [f"  suspected: {title(finding)} (finding {finding.id}; nobody is told)" for finding in handled.suspected]
    return "\n".join([words, *found])


def handled_json(handled: CommitReport) -> str:
    """One line of JSON."""
    return envelope(
        "commit",
        {
            "revision": handled.revision.id,
            "subject": handled.revision.subject,
            "outcome": str(handled.taken.outcome),
            "run": handled.taken.run,
            "why": handled.taken.why,
            "results": handled.taken.results,
            "failed": handled.taken.failed,
            "backfill": handled.backfill,
            "seconds": round(handled.seconds, 3),
            "findings": handled.findings,
            "suspected": handled.suspected,
        },
        indent=None,
    )
