"""Messages about findings: as a title, as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchwright.records.causes import Cause, causes_of
from benchwright.records.code import CodeLinks
from benchwright.records.findings import Finding
from benchwright.report import reasons
from benchwright.report.causes import cause_title, commit_text
from benchwright.report.drifts import since_text, slope_text, steps_text
from benchwright.report.findings import change_text, title
from benchwright.units import format_probability, format_value
from benchwright.units.numbers import printable

IN_FULL = 10  # causes of one message; of the others, a line each
OF_CAUSE = 3  # findings of one cause in full
IN_LINES = 20  # findings of one cause, a line each
IN_ALL = 100  # of which more are only counted
RESOLVED = "Resolved, as before again: "
JOINED = "Also: "
CERTAIN = 0.5  # a suspect at least this probable is named alone
_LONGEST = 200  # letters of a name or a subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A finding with its link and the pictures of its series."""

    finding: Finding
    link: str = ""
    sketch: str = ""  # its series in a row of bars, for any letters
    graph: str = ""  # the same in lines, for letters of one width
    picture: bytes = field(default=b"", repr=False)  # the same as PNG, where there is one
    code: CodeLinks | None = None  # where its commits can be looked at
    at: str = ""  # the commit to speak of, where findings of one cause do not agree

    @property
    def code_link(self) -> str:
        """Where the culprit, or the range of commits that it is in, can be looked at; "" where nobody knows."""
        known = self.finding.revisions
        if self.code is None:
            return ""
        first = self.finding.suspects[0] if self.finding.suspects and not self.finding.drift else None
        if first and first.probability >= CERTAIN:
            return self.code.commit_link(first.revision)
        return self.code.compare_link(known[0], known[-1]) if len(known) > 1 else self.code.commit_link(self.commit)

    @property
    def commit(self) -> str:
        """The commit to speak of: the cause's, the probable culprit, else the newest that may be it, else ""."""
        finding = self.finding
        if self.at:
            return self.at
        if finding.suspects and finding.suspects[0].probability >= CERTAIN:
            return finding.suspects[0].revision
        return finding.revisions[-1] if finding.revisions else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to one target. Its id is the same each time it is tried, so that a receiver can drop a second."""

    id: str
    notices: tuple[Notice, ...]
    test: bool = False  # asks whether the target works; nothing was found
    resolved: bool = False  # the values are as before what was told
    joined: bool = False  # they have a cause that the target was told of before

    @property
    def title(self) -> str:
        """The message in one line."""
        first = "Test: " if self.test else RESOLVED if self.resolved else JOINED if self.joined else ""
        groups = by_cause(self.notices)
        if len(groups) == 1:
            return first + group_headline(groups[0])
        of = f" of {len(groups)} causes" if len(groups) < len(self.notices) else ""
        return f"{first}{len(self.notices)} changes in benchmarks{of}"

    @property
    def text(self) -> str:
        """The message as plain text."""
        if self.resolved:
            return "\n".join(
                [*(RESOLVED + headline(each.finding) for each in self.notices[:IN_ALL]), *_count_left_out(self.notices)]
            )
        groups = by_cause(self.notices)
        blocks = ["\n".join(_group_lines(group)) for group in groups[:IN_FULL]]
        rest = [group_headline(group) for group in groups[IN_FULL:IN_ALL]]
        return "\n\n".join([*blocks, *(["\n".join(rest)] if rest else []), *_count_left_out(groups)])

    @property
    def markdown(self) -> str:
        """The message as Markdown; no name of a benchmark, author or commit in it acts as markup or calls a person."""
        if self.resolved:
            lines = [f"- {_code(RESOLVED + headline(each.finding))}" for each in self.notices[:IN_ALL]]
            return "\n".join([*lines, *_count_left_out(self.notices)])
        groups = by_cause(self.notices)
        blocks = ["\n".join(_group_markdown(group)) for group in groups[:IN_FULL]]
        rest = [f"- {_code(group_headline(group))}" for group in groups[IN_FULL:IN_ALL]]
        return "\n\n".join([*blocks, *(["\n".join(rest)] if rest else []), *_count_left_out(groups)])


def headline(finding: Finding) -> str:
    """`Worse: encode n=4  latency_p50 10 % slower [8 %, 12 %]`."""
    return _short(f"{finding.verdict.capitalize()}: {title(finding)}")


def by_cause(notices: Sequence[Notice]) -> list[tuple[Notice, ...]]:
    """The notices of each cause, in the order in which they are given; one without a cause is alone."""
    groups: dict[str, list[Notice]] = {}
    for notice in notices:
        groups.setdefault(notice.finding.cause or f" {notice.finding.id}", []).append(notice)
    return [tuple(group) for group in groups.values()]


def group_headline(group: Sequence[Notice]) -> str:
    """A cause in one line: `Worse: 300 series of 40 cases, 3 metrics: up to 38 % slower, median 12 %; commit ...`."""
    if len(group) == 1:
        return headline(group[0].finding)
    cause = _cause_of(group)
    return _short(f"{cause.lead.verdict.capitalize()}: {cause_title(cause)}; {commit_text(cause)}".removesuffix("; "))


def _cause_of(group: Sequence[Notice]) -> Cause:
    return causes_of([notice.finding for notice in group])[0]


def _group_lines(group: Sequence[Notice]) -> Iterator[str]:
    """One finding in full; of several of one cause what they are in all, the first few in full, and lines of more."""
    if len(group) == 1:
        yield from _lines(group[0])
        return
    yield group_headline(group)
    yield from _cause_facts(group)
    for notice in group[:OF_CAUSE]:
        yield ""
        yield from _lines(notice)
    if more := group[OF_CAUSE:IN_LINES]:
        yield ""
        yield from (headline(notice.finding) for notice in more)
    yield from _count_more(group)


def _group_markdown(group: Sequence[Notice]) -> Iterator[str]:
    if len(group) == 1:
        yield from _markdown_lines(group[0])
        return
    yield f"**{_code(group_headline(group))}**\n"
    yield from (_code(line) for line in _cause_facts(group))
    for notice in group[:OF_CAUSE]:
        yield ""
        yield from _markdown_lines(notice)
    if more := group[OF_CAUSE:IN_LINES]:
        yield ""
        yield from (f"- {_code(headline(notice.finding))}" for notice in more)
    yield from _count_more(group)


def _cause_facts(group: Sequence[Notice]) -> Iterator[str]:
    cause = _cause_of(group)
    machines = f"{len(cause.machines)} machines; " if len(cause.machines) > 1 else ""
    yield f"{machines}all of them: benchwright findings show {cause.id}"


def _count_more(group: Sequence[Notice]) -> list[str]:
    return [f"and {len(group) - IN_LINES} more of this cause"] if len(group) > IN_LINES else []


def _count_left_out(shown: Sequence[object]) -> list[str]:
    return [f"and {len(shown) - IN_ALL} more"] if len(shown) > IN_ALL else []


def _lines(notice: Notice) -> Iterator[str]:
    finding = notice.finding
    yield headline(finding)
    yield _sizes(finding)
    if whose := _name_culprit(finding):
        yield f"{whose} {notice.code_link}".rstrip()
    if notice.sketch:
        yield notice.sketch
    yield from map(_short, reasons.reason_lines(finding.why))
    yield notice.link or f"benchwright findings show {finding.id}"


def _markdown_lines(notice: Notice) -> Iterator[str]:
    finding = notice.finding
    yield f"**{_code(headline(finding))}**\n"
    yield _sizes(finding)
    if whose := _name_culprit(finding):
        yield f"\n{_code(whose)}" + (f" ({_markdown_link('code', notice.code_link)})" if notice.code_link else "")
    drawn = notice.graph or notice.sketch
    told = [*drawn.splitlines(), *map(_short, reasons.reason_lines(finding.why))]
    if told:
        yield "\n" + "\n".join(["````text", *(line.replace("`", chr(39)) for line in told), "````"])
    shown = f"[finding {finding.id}]({notice.link})" if notice.link else f"`benchwright findings show {finding.id}`"
    yield f"\n{shown}"


def _sizes(finding: Finding) -> str:
    before, after = (format_value(side.point, finding.unit, 4) for side in (finding.before, finding.after))
    sure = f"; {format_probability(finding.confidence)} sure" if finding.confidence is not None else ""
    machine = f"; machine {finding.machine[:8]}" if finding.machine else ""
    if finding.drift:
        slope, since = slope_text(finding.drift), since_text(finding, finding.drift)
        return f"{before} then, {after} now{steps_text(finding.drift)}; {slope}, {since}{sure}{machine}"
    return f"{before} before, {after} after{sure}{machine}"


def _name_culprit(finding: Finding) -> str:
    """The commit behind a finding, or the range of commits that it is in."""
    if finding.drift:
        commits = len(finding.revisions) - 1
        return f"{commits} commits carry it: no single one of them is the culprit" if commits > 1 else ""
    if finding.suspects and finding.suspects[0].probability >= CERTAIN:
        first = finding.suspects[0]
        author = f" by {first.author}" if first.author else ""
        # Without its interval, whose brackets would be a link in some forges.
        size = f"; by itself {change_text(finding, first.effect).partition(' [')[0]}" if first.effect else ""
        return (
            _short(f"commit {first.revision[:12]} {first.subject}".rstrip() + author)
            + f" ({format_probability(first.probability)}{size})"
        )
    if len(finding.revisions) == 2:
        return f"commit {finding.revisions[1][:12]}"
    if len(finding.revisions) > 2:
        first_bad, last = finding.revisions[1][:12], finding.revisions[-1][:12]
        return f"one of the {len(finding.revisions) - 1} commits from {first_bad} to {last}"
    return f"commit {finding.revisions[0][:12]}" if finding.revisions else ""


def _short(words: str) -> str:
    plain = printable(words)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def _markdown_link(words: str, url: str) -> str:
    return f"[{words}]({url.replace('(', '%28').replace(')', '%29')})"


def _code(words: str) -> str:
    """A code span: nothing in it is markup, a mention or a link."""
    return f"`{words.replace('`', chr(39))}`"
