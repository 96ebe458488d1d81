"""Issues and comments about findings: what they say, where they go, and the line that a finding's story gets."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable

from benchwright.errors import OptionError, StoreError, UploadError
from benchwright.notify.issues import ForgeEntry, IssueTracker, open_tracker
from benchwright.notify.notices import link_to
from benchwright.records.causes import PREFIX, by_size, head_of
from benchwright.records.code import safe_link
from benchwright.records.findings import Finding, Remark, State
from benchwright.report.issue_text import COMMENTED as COMMENTED
from benchwright.report.issue_text import ISSUE as ISSUE
from benchwright.report.issue_text import IssueSubject, IssueText, comment_text, request_of, write_issue
from benchwright.store import Store
from benchwright.vcs.forges import Projects

MOST = 1000  # findings of a cause
PATIENCE = 30.0  # seconds to wait for another that is being made
LEASE = 300.0  # seconds after which a claim of a server that ended counts no more
_PAUSE = 0.2  # seconds between two looks at another's claim
_STANDING = (State.SUSPECTED, State.OPEN, State.ACKNOWLEDGED)
_sending = threading.Lock()  # two clicks at once would both find nothing there, and make two


@runtime_checkable
class TakesClaims(Protocol):
    """A store in which whoever makes an issue says so first: several servers may have it."""

    def claim(self, what: str, holder: str, *, seconds: float) -> bool:
        """Claims something for so many seconds; False while another holds it."""
        ...

    def give_back(self, what: str, holder: str) -> None:
        """Ends a claim."""
        ...


@runtime_checkable
class _FindsCauses(Protocol):
    """A store that knows a cause by the beginning of its id."""

    def find_cause(self, reference: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueDesk:
    """What is needed to speak of findings at their forge: the projects, and the dashboard's address."""

    projects: Projects
    link: str = ""  # the page of a finding: {id} is filled in; "" when nobody else could open it
    is_server: bool = False
    machines: Mapping[str, str] = field(default_factory=dict)  # key -> name
    claims: TakesClaims | None = None  # where other servers see what is being made

    def subject(self, findings: Sequence[Finding], identity: str = "") -> IssueSubject:
        """What an issue about these findings of one cause is about; the first is the most important."""
        return IssueSubject(
            findings=findings,
            id=identity or findings[0].id,
            links=self.projects.links(findings[0].repository),
            pages={one.id: safe_link(link_to(one, self.link)) for one in findings} if self.link else {},
            machines=self.machines,
        )

    def write(self, findings: Sequence[Finding], identity: str = "") -> IssueText:
        """The issue about them, with the address of the forge's form."""
        return write_issue(self.subject(findings, identity))

    def comment(self, findings: Sequence[Finding], identity: str = "") -> str:
        """The comment about them."""
        return comment_text(self.subject(findings, identity))

    def request_of(self, finding: Finding) -> int:
        """The number of the request that the probable culprit came with; 0 when nobody knows."""
        return request_of(finding, self.projects.links(finding.repository))

    def open_issue(self, findings: Sequence[Finding], identity: str = "") -> ForgeEntry:
        """Opens the issue at the forge, or finds the one that is there; stores nothing."""
        subject = self.subject(findings, identity)
        written = write_issue(subject)
        since = _day_before(min((one.found_at for one in findings if one.found_at), default=""))
        with _alone(self.claims, f"issue {subject.mark}"):
            return self._tracker(findings[0]).open_issue(written.title, written.text, mark=subject.mark, since=since)

    def comment_on(self, request: int, findings: Sequence[Finding], identity: str = "") -> ForgeEntry:
        """Comments on a pull or merge request, or finds the comment that is there; stores nothing."""
        subject = self.subject(findings, identity)
        with _alone(self.claims, f"comment {request} {subject.mark}"):
            return self._tracker(findings[0]).comment(request, comment_text(subject), mark=subject.mark)

    def _tracker(self, finding: Finding) -> IssueTracker:
        project = self.projects.project_of(finding.repository)
        if not project.url:
            raise OptionError(
                f"it is not known where the code of finding {finding.id} lies",
                remedy="set `url` in [project] of benchwright.toml",
            )
        is_ours = self.projects.is_ours(finding.repository)
        return open_tracker(project, is_server=self.is_server, is_ours=is_ours)


@contextmanager
def _alone(claims: TakesClaims | None, what: str) -> Iterator[None]:
    """Lets one issue or comment be made at a time; others wait for a forge that does not answer only so long.

    What was made meanwhile is found at the forge by its mark. In this process a lock does it, among servers of one
    database the claim that each makes first.
    """
    busy = UploadError("another issue or comment is being made", remedy="try again in a minute")
    if not _sending.acquire(timeout=PATIENCE):
        raise busy
    try:
        if claims is None:
            yield
            return
        holder, given_up = uuid.uuid4().hex, time.monotonic() + PATIENCE
        while not claims.claim(what, holder, seconds=LEASE):
            if time.monotonic() > given_up:
                raise busy
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            claims.give_back(what, holder)
    finally:
        _sending.release()


def _day_before(instant: str) -> str:
    """A day before an instant, as every forge reads it: clocks differ. "" for what is no instant."""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return ""
    whole = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (whole.astimezone(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def findings_meant(store: Store, reference: str) -> tuple[list[Finding], str]:
    """The findings that an id means, the most important first, and the id: of a finding, or of a cause.

    Of a cause those are meant that nobody has dealt with yet; all of it where there are none.
    """
    if not reference.startswith(PREFIX):
        found = store.finding(reference)
        return [found], found.id
    cause = store.find_cause(reference) if isinstance(store, _FindsCauses) else reference
    members = store.findings(cause=cause, limit=MOST)
    if not members:
        raise StoreError(f"no cause {reference!r} in this store", remedy="benchwright findings lists the causes")
    standing = [one for one in members if one.state in _STANDING] or members
    # The whole id, however little of it was written: what is at the forge already is known by it.
    return sorted(standing, key=lambda one: by_size(head_of(one))), members[0].cause or cause


def note_entry(store: Store, findings: Iterable[Finding], remark: Remark) -> list[Finding]:
    """Adds the line about an issue or a comment to the stories of findings that do not have it yet; returns them."""
    return [
        one
        if not remark.text or any((known.what, known.text) == (remark.what, remark.text) for known in one.remarks)
        else store.update_finding(one.id, remark)
        for one in findings
    ]
