"""A finding, or a cause, as an issue that is not opened yet."""

from __future__ import annotations

from benchwright.pages.shapes import IssueDraft
from benchwright.report.issue_text import COMMENTED, ISSUE, IssueSubject, address_in_story, request_of, write_issue


def issue_draft(subject: IssueSubject, *, can_send: bool = False) -> IssueDraft:
    """What an issue about the findings says, and what their stories tell of one; nothing is sent anywhere."""
    written = write_issue(subject)
    return IssueDraft(
        title=written.title,
        text=written.text,
        form=written.form,
        shortened=written.shortened,
        can_send=can_send,
        opened=address_in_story(subject.findings, ISSUE),
        request=request_of(subject.findings[0], subject.links),
        commented=address_in_story(subject.findings, COMMENTED),
    )
