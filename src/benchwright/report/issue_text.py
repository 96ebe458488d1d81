"""A finding, or several of one cause, as the text of an issue or of a comment, in Markdown.

Names of benchmarks, commits and people come from anywhere: they stand in code spans, in which nothing is markup, calls
a person or refers to an issue.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchwright.records import Verdict
from benchwright.records.code import CodeLinks, safe_link
from benchwright.records.findings import Finding, Suspect
from benchwright.report import reasons
from benchwright.report.findings import SHORT, change_text
from benchwright.schema.parsing import json_mapping
from benchwright.system.masking import name_people
from benchwright.units import format_probability, format_value
from benchwright.units.numbers import printable

ISSUE, COMMENTED = "issue", "commented on the pull request"  # of remarks whose text is an address
MOST_ADDRESS = 8000  # characters: browsers and servers take that much of an address
MOST_FINDINGS = 30  # told in a line each
MOST_SUSPECTS = 5
CERTAIN = 0.5  # a suspect at least this probable is named in the title
_LONGEST = 200  # characters of a name or a subject
_LONGEST_TITLE = 120
_LEFT_OUT = "The rest is left out here, since an address cannot hold it:"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueText:
    """The title and the text of an issue, and the address of the forge's form with both filled in."""

    title: str
    text: str
    form: str = ""  # "" where the forge has no such form
    shortened: bool = False  # the form holds less than the text


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueSubject:
    """What an issue is about: findings of one cause, the most important first, and where more is shown of them."""

    findings: Sequence[Finding]
    id: str = ""  # what marks the issue: the finding's, or the cause's
    links: CodeLinks | None = None
    pages: Mapping[str, str] = field(default_factory=dict)  # finding -> its page in the dashboard
    machines: Mapping[str, str] = field(default_factory=dict)  # key -> name

    @property
    def mark(self) -> str:
        """What an issue or a comment of ours is known by."""
        return mark_of(self.id or self.findings[0].id)


def mark_of(identity: str) -> str:
    """The mark of a finding or a cause in an issue or a comment; no reader sees it."""
    return f"<!-- benchwright {identity} -->"


def address_in_story(findings: Sequence[Finding], what: str) -> str:
    """The address that the newest remark of that kind tells; "" when there is none.

    Of several findings it stands in the story of each: what was made about one of them is not about their cause.
    """
    told = [remark for remark in findings[0].remarks if remark.what == what and safe_link(remark.text)]
    shared = [one for one in told if all(any(r.text == one.text for r in other.remarks) for other in findings)]
    return max(shared, key=lambda remark: remark.at).text if shared else ""


def request_of(finding: Finding, links: CodeLinks | None) -> int:
    """The number of the request that the probable culprit came with; 0 when nobody knows."""
    first = finding.suspects[0] if finding.suspects else None
    if first is None:
        return 0
    return links.request_of(first.pull_request, first.subject) if links else first.pull_request


def write_issue(subject: IssueSubject) -> IssueText:
    """The issue; its form is within `MOST_ADDRESS`, and says so where it had to leave something out."""
    title, blocks = issue_title(subject), [*_blocks(subject)]
    text = _join(blocks)
    links = subject.links
    if links is None or not links.issue:
        return IssueText(title=title, text=text)
    form, left = links.issue_link(title, text), blocks
    more = f"{_LEFT_OUT} `benchwright findings issue {subject.id or subject.findings[0].id}`"
    while len(form) > MOST_ADDRESS and len(left) > 2:  # the mark and what changed stay
        left = left[:-1]
        form = links.issue_link(title, _join([*left, more]))
    if len(form) > MOST_ADDRESS:
        lines = left[1].splitlines()
        while len(form) > MOST_ADDRESS and len(lines) > 1:
            lines = lines[:-1]
            form = links.issue_link(title, _join([left[0], "\n".join(lines), more]))
    return IssueText(title=title, text=text, form=form if len(form) <= MOST_ADDRESS else "", shortened=left != blocks)


def comment_text(subject: IssueSubject) -> str:
    """The same for a pull request: the title as its first line."""
    first, *rest = _blocks(subject)
    return _join([first, f"**{_code(issue_title(subject))}**", *rest])


def issue_title(subject: IssueSubject) -> str:
    """What changed and since when, in one line of plain text."""
    first, count = subject.findings[0], len(subject.findings)
    since = f" since {commit[:SHORT]}" if (commit := _culprit(first)) else ""
    change = change_text(first).partition(" [")[0]
    if count > 1:
        head = f"{count} benchmarks {_direction(subject.findings)}{since}, {_name(first)} {first.metric} {change}"
    else:
        head = f"{_name(first)}: {first.metric} {change}{since}"
    title = printable(head)
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _blocks(subject: IssueSubject) -> Iterator[str]:
    """The parts of the text, the most important first; the last may be left out where there is little room."""
    first = subject.findings[0]
    yield subject.mark
    lines = [_finding_line(finding, subject) for finding in subject.findings[:MOST_FINDINGS]]
    if more := len(subject.findings) - MOST_FINDINGS:
        lines += [f"- and {more} more"] if more > 0 else []
    yield "\n".join(lines)
    if since := "\n".join(_since(first, subject.links)):
        yield since
    yield "How to see it again:\n\n" + _fence(reproduction_commands(first))
    if told := reasons.reason_lines(first.why):
        yield "What differs between before and after:\n\n" + _fence([_short(line) for line in told])


def reproduction_commands(finding: Finding) -> list[str]:
    """What to type: to see the finding, to measure both sides again, to find the commit."""
    found = [f"benchwright findings show {finding.id}"]
    if len(finding.revisions) > 1 and not finding.drift:
        sides = ["--control", finding.revisions[0], "--treatment", _culprit(finding) or finding.revisions[-1]]
        found.append(shlex.join(["benchwright", "ab", *sides, finding.case]))
        if finding.has_ratio and len(finding.revisions) > 2:
            found.append(f"benchwright bisect {finding.id}")
    told = finding.why.get("remeasure")
    return [*found, told] if isinstance(told, str) else found


def _finding_line(finding: Finding, subject: IssueSubject) -> str:
    before, after = (format_value(side.point, finding.unit, 4) for side in (finding.before, finding.after))
    name = f"{_name(finding)} {finding.metric}"
    told = [f"{before} before, {after} after"]
    if finding.confidence is not None:
        told.append(f"{format_probability(finding.confidence)} sure")
    if finding.machine:
        told.append(f"on {_code(subject.machines.get(finding.machine) or finding.machine[:8])}")
    page = safe_link(subject.pages.get(finding.id, ""))
    told.append(link_markdown(f"finding {finding.id}", page) if page else f"finding {_code(finding.id)}")
    return f"- {_code(name)} is {_code(change_text(finding))}: {'; '.join(told)}"


def _since(finding: Finding, links: CodeLinks | None) -> Iterator[str]:
    """The commit, or the range of commits, and the suspects with how probable each is."""
    known = finding.revisions
    if len(known) > 1:
        base, head, count = known[0], known[-1], len(known) - 1
        words = f"{base[:SHORT]}...{head[:SHORT]}"
        span = link_markdown(words, links.compare_link(base, head)) if links else _code(words)
        yield f"The change came with {'one of ' if count > 1 else ''}{count} commit{'s' * (count > 1)}: {span}"
    elif known:
        yield f"The change came with commit {_commit(known[0], links)}"
    for suspect in finding.suspects[:MOST_SUSPECTS]:
        yield f"- {_suspect_line(suspect, links)}"


def _suspect_line(suspect: Suspect, links: CodeLinks | None) -> str:
    words = [f"{format_probability(suspect.probability)}: {_commit(suspect.revision, links)}"]
    if name_people(suspect.subject):
        words.append(_code(name_people(suspect.subject)))
    if suspect.author:
        words.append(f"by {_code(name_people(suspect.author))}")
    number = links.request_of(suspect.pull_request, name_people(suspect.subject)) if links else suspect.pull_request
    if number:
        sign, word = ("!" if links and links.request_word.startswith("merge") else "#"), "request"
        url = links.request_link(number) if links else ""
        words.append(f"({link_markdown(f'{links.request_word if links else word} {sign}{number}', url)})")
    return " ".join(words)


def _commit(revision: str, links: CodeLinks | None) -> str:
    return link_markdown(revision[:SHORT], links.commit_link(revision) if links else "")


def link_markdown(words: str, url: str) -> str:
    """A link, or the words alone where there is no address to link to."""
    for sign in "()<>\"'`\\|":
        url = url.replace(sign, f"%{ord(sign):02X}")
    return f"[{_code(words)}]({url})" if safe_link(url) else _code(words)


def _culprit(finding: Finding) -> str:
    """The commit to speak of: the only one, or a probable one; "" where no single one is."""
    if finding.drift:
        return ""
    if finding.suspects and finding.suspects[0].probability >= CERTAIN:
        return finding.suspects[0].revision
    return finding.revisions[-1] if 0 < len(finding.revisions) <= 2 else ""


def _direction(findings: Sequence[Finding]) -> str:
    kinds = {finding.verdict for finding in findings}
    return {frozenset({Verdict.WORSE}): "worse", frozenset({Verdict.BETTER}): "better"}.get(frozenset(kinds), "changed")


def _name(finding: Finding) -> str:
    params = " ".join(f"{name}={value}" for name, value in json_mapping(finding.params).items())
    return _short(f"{finding.case} {params}".strip())


def _short(words: str) -> str:
    plain = printable(words)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def _code(words: str) -> str:
    """A code span: nothing in it is markup, a mention or a link."""
    return f"`{_short(words).replace('`', chr(39)) or ' '}`"


def _fence(lines: Sequence[str]) -> str:
    return "\n".join(["````text", *(printable(line).replace("`", chr(39)) for line in lines), "````"])


def _join(blocks: Sequence[str]) -> str:
    return "\n\n".join(blocks) + "\n"
