"""The commit of a run, and what changed between two of them, as links in HTML and Markdown."""

from __future__ import annotations

from benchwright.records import Run
from benchwright.records.code import CodeLinks
from benchwright.report.issue_text import link_markdown
from benchwright.report.markup import escape, tag
from benchwright.system.masking import name_people
from benchwright.vcs.forges import Projects

_SHORT = 12  # digits of a commit


def commit_markdown(run: Run, projects: Projects) -> str:
    """`commit [abc](...)` with its subject as it is; "" for a run that names none."""
    revision = run.revision
    if revision is None:
        return ""
    links = projects.links(revision.repository)
    number = links.request_of(revision.pull_request, revision.subject) if links else 0
    request = links.request_link(number) if links else ""
    parts = [f"commit {link_markdown(revision.id[:_SHORT], links.commit_link(revision.id) if links else '')}"]
    parts += [link_markdown(f"{links.request_word} {number}", request)] if links and request else []
    return ", ".join([*parts, "with local changes"] if revision.dirty else parts)


def range_markdown(before: Run, after: Run, projects: Projects) -> str:
    """The range of commits between two runs, where the forge shows it."""
    url = _range_link(before, after, projects)
    if not url or before.revision is None or after.revision is None:
        return ""
    return f"What changed: {link_markdown(f'{before.revision.id[:_SHORT]}...{after.revision.id[:_SHORT]}', url)}"


def revision_html(run: Run, projects: Projects) -> str:
    """The revision of a run as markup: its short id leads to the forge; "" for a run that names none."""
    revision = run.revision
    if revision is None:
        return ""
    links = projects.links(revision.repository)
    dirty = " with local changes" if revision.dirty else ""
    rest = f" {revision.branch}{dirty} {name_people(revision.subject)}".rstrip()
    number = links.request_of(revision.pull_request, revision.subject) if links else 0
    request = f" ({_away(links.request_word + f' {number}', links.request_link(number))})" if links and number else ""
    return _away(revision.id[:_SHORT], links.commit_link(revision.id) if links else "") + escape(rest) + request


def range_html(before: Run, after: Run, projects: Projects) -> str:
    """A paragraph that leads to what changed between two runs; "" where no forge shows it."""
    url = _range_link(before, after, projects)
    return tag("p", _away("What changed between both commits", url), class_="soft") if url else ""


def _range_link(before: Run, after: Run, projects: Projects) -> str:
    old, new = before.revision, after.revision
    if old is None or new is None or old.id == new.id or old.repository != new.repository:
        return ""
    links: CodeLinks | None = projects.links(new.repository)
    return links.compare_link(old.id, new.id) if links else ""


def _away(words: str, url: str) -> str:
    return tag("a", escape(words), href=url, rel="noopener noreferrer") if url else escape(words)
