"""What a watch did with one commit: as a record, as text for people and as JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass

from benchwright.records import Revision, Verdict
from benchwright.records.causes import Cause, causes_of
from benchwright.records.findings import Finding
from benchwright.report.causes import cause_title
from benchwright.report.findings import title
from benchwright.schema.printed import envelope
from benchwright.units.numbers import printable
from benchwright.workflows.watch.commit import CommitOutcome
from benchwright.workflows.watch.journal import CommitState

_SHORT = 12  # digits of a commit


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitReport:
    """What a watch did with one commit."""

    revision: Revision
    taken: CommitOutcome
    findings: tuple[Finding, ...] = ()  # that people are told of now
    suspected: tuple[Finding, ...] = ()  # that were not known before, and that nobody is told of yet
    backfill: bool = False
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the commit was measured and nothing became worse."""
        worse = any(finding.verdict is Verdict.WORSE for finding in self.findings)
        return self.taken.outcome is CommitState.MEASURED and not worse


def report_text(report: CommitReport) -> str:
    """One line for the commit, and one more for each cause that it confirmed, and each that it made suspect."""
    revision, outcome = report.revision, report.taken
    words = f"{revision.id[:_SHORT]} {outcome.outcome:<9} {printable(revision.subject)}"
    if outcome.outcome is not CommitState.MEASURED and outcome.why:
        words += f"\n  {printable(outcome.why)}"
    found = [f"  {cause.lead.verdict}: {_name_cause(cause)})" for cause in causes_of(report.findings)]
    found += [f"  suspected: {_name_cause(cause)}; not reported yet)" for cause in causes_of(report.suspected)]
    return "\n".join([words, *found])


def _name_cause(cause: Cause) -> str:
    """What changed; of several series of one cause, what they are in all."""
    if cause.findings > 1:
        return f"{cause_title(cause)} ({cause.id}"
    return f"{title(cause.lead)} (finding {cause.lead.id}"


def report_json(report: CommitReport) -> str:
    """One line of JSON."""
    return envelope(
        "commit",
        {
            "revision": report.revision.id,
            "subject": report.revision.subject,
            "outcome": str(report.taken.outcome),
            "run": report.taken.run,
            "why": report.taken.why,
            "results": report.taken.results,
            "failed": report.taken.failed,
            "backfill": report.backfill,
            "seconds": round(report.seconds, 3),
            "findings": report.findings,
            "suspected": report.suspected,
        },
        indent=None,
    )
