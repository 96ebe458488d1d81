"""What people read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchwright.notify import Message, Notice
from benchwright.notify.messages import IN_ALL, IN_FULL
from benchwright.notify.notices import link_to
from benchwright.records import Estimate
from benchwright.records.findings import Finding, Suspect
from benchwright.vcs.forges import Projects

Make = Callable[..., Finding]


def test_one_finding_in_text(found: Make) -> None:
    why = {"cause": "either", "packages": {"numpy": ["2.1", "2.2"]}}
    finding = found(why=why, machine="0123456789abcdef")
    message = Message(id="m", notices=(Notice(finding=finding, link="https://x/f1", sketch="▁▁│▇▇"),))
    assert message.title == "Worse: bench.py::encode n=4  latency_p50 10 % slower [8 %, 12 %]"
    assert message.text.splitlines() == [
        "Worse: bench.py::encode n=4  latency_p50 10 % slower [8 %, 12 %]",
        "1.000 ms before, 1.100 ms after; 99.9 % sure; machine 01234567",
        "commit c0ffee Use a list by Ann (97 %)",
        "▁▁│▇▇",
        "Why: the code or the environment: both differ",
        "  packages: numpy 2.1 to 2.2",
        "https://x/f1",
    ]


@pytest.mark.parametrize(
    ("revisions", "words"),
    [
        (("a1", "b2", "c3", "d4"), "one of the 3 commits from b2 to d4"),
        (("a1", "b2"), "commit b2"),
        ((), "benchwright findings show f1"),
    ],
)
def test_without_a_clear_culprit_the_range_is_named(revisions: tuple[str, ...], words: str, found: Make) -> None:
    unsure = (Suspect(revision="b2", probability=0.4),)
    notice = Notice(finding=found(revisions=revisions, suspects=unsure))
    assert words in Message(id="m", notices=(notice,)).text
    assert notice.commit == (revisions[-1] if revisions else "")


def test_a_culprit_that_was_bisected_has_its_own_size(found: Make) -> None:
    own = Estimate(point=1.04, low=1.02, high=1.06)
    suspect = Suspect(revision="c0ffee", probability=0.99, subject="Use a list", author="Ann", effect=own)
    text = Message(id="m", notices=(Notice(finding=found(suspects=(suspect,))),)).text
    assert "commit c0ffee Use a list by Ann (99 %; by itself 4 % slower)" in text and "10 % slower" in text


def test_no_name_acts_as_markup_or_calls_a_person(found: Make) -> None:
    suspect = Suspect(revision="c0ffee", probability=1.0, subject="`@everyone` <b>\x1b[31m", author="@ann")
    hostile = found(case="@all `x` [a](http://b)", suspects=(suspect,), why={"remeasure": "a\n````\n# heading @team"})
    text = Message(id="m", notices=(Notice(finding=hostile),)).markdown
    fence, inside, rest = text.partition("````text\n")[0], *text.partition("````text\n")[2].split("\n````\n")
    outside = "".join("".join(part.split("`")[::2]) for part in (fence, rest))
    assert not {"@", "<", "["} & {*outside} and "\x1b" not in text and "`" not in inside and "@team" in inside


def test_many_findings_are_one_message_that_stays_short(found: Make) -> None:
    notices = tuple(Notice(finding=found(f"f{i}", case=f"case{i}")) for i in range(IN_ALL + 5))
    message = Message(id="m", notices=notices)
    assert message.title == f"{IN_ALL + 5} changes in benchmarks"
    for text in (message.text, message.markdown):
        assert text.count("sure") == IN_FULL and text.endswith("and 5 more")
        assert f"case{IN_ALL - 1} " in text and f"case{IN_ALL} " not in text


def test_links_are_filled_in_and_quoted(found: Make) -> None:
    assert link_to(found(), "https://x/{id}?c={case}&r={revision}&{other}") == (
        "https://x/f1?c=bench.py%3A%3Aencode&r=c0ffee&{other}"
    )
    assert link_to(found(), "") == ""


def test_the_culprit_or_its_range_leads_to_the_forge(found: Make) -> None:
    code = Projects().links("https://github.com/owner/name")
    old, new = "a" * 40, "b" * 40
    sure = found(revisions=(old, new), suspects=(Suspect(revision=new, probability=0.9, subject="x"),))
    told = Message(id="m", notices=(Notice(finding=sure, code=code),))
    assert f"commit bbbbbbbbbbbb x (90 %) https://github.com/owner/name/commit/{new}" in told.text
    assert f"([code](https://github.com/owner/name/commit/{new}))" in told.markdown
    unsure = Message(id="m", notices=(Notice(finding=replace(sure, suspects=()), code=code),))
    assert f"https://github.com/owner/name/compare/{old}...{new}" in unsure.text
    assert "http" not in Message(id="m", notices=(Notice(finding=sure),)).text
