"""Which commit a treatment is compared with, by FAI-PEP's rule: one for each week, so that differences add up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from benchwright.vcs.history import Commit, History


def choose_control(repository: History, treatment: Commit, base: str = "") -> Commit | None:
    """`base` when it is of the treatment's week or later, else the first commit of that week that led to the treatment.

    The week begins on Monday 00:00 UTC before the treatment was authored; a commit belongs where it was committed.
    None when no commit that led to the treatment was committed since then.
    """
    monday = week_of(treatment.authored_at)
    if base:
        named = repository.resolve(base)
        if datetime.fromisoformat(named.revision.committed_at) >= monday:
            return named
    return repository.first_since(monday.isoformat(), treatment.revision.id)


def week_of(instant: str) -> datetime:
    """Monday 00:00 UTC of the week that the instant (ISO 8601) is in."""
    at = datetime.fromisoformat(instant).astimezone(UTC)
    return at.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=at.weekday())
