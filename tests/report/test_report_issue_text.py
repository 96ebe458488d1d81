"""Findings as issues: what they say, that nothing in them acts, and that a form's address stays within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from benchwright.records import Estimate, Verdict
from benchwright.records.code import CodeLinks
from benchwright.records.findings import Finding, Suspect
from benchwright.report.issue_text import MOST_ADDRESS, IssueSubject, comment_text, issue_title, write_issue
from benchwright.vcs.forges import Projects
from forge_peer import unquoted_query

OLD, NEW = "a" * 40, "b" * 40


def finding(id: str = "f1", **changes: Any) -> Finding:
    fields: dict[str, Any] = {
        "id": id,
        "series": "5e1e5",
        "case": "bench.py::encode",
        "params": '{"n":4}',
        "metric": "latency_p50",
        "unit": "s",
        "before": Estimate(point=0.001, low=0.00099, high=0.00101),
        "after": Estimate(point=0.0011, low=0.00109, high=0.00111),
        "effect": Estimate(point=1.1, low=1.08, high=1.12),
        "method": "changepoint",
        "verdict": Verdict.WORSE,
        "revisions": (OLD, "c" * 40, NEW),
        "suspects": (Suspect(revision=NEW, probability=0.97, subject="Use a list (#12)", author="Ann"),),
        "confidence": 0.999,
        "machine": "0123456789abcdef",
        "repository": "https://github.com/owner/name",
        "why": {"cause": "code", "packages": {"numpy": ["1", "2"]}},
    }
    return Finding(**(fields | changes))


def links(repository: str = "https://github.com/owner/name") -> CodeLinks:
    found = Projects().links(repository)
    assert found is not None
    return found


def subject(*findings: Finding, **more: Any) -> IssueSubject:
    return IssueSubject(findings=findings, **({"links": links()} | more))


def test_an_issue_says_what_since_when_by_whom_where_and_how_to_see_it_again() -> None:
    written = write_issue(
        subject(
            finding(), pages={"f1": "https://bench.example/#/findings/f1"}, machines={"0123456789abcdef": "Server 7"}
        )
    )
    assert written.title == "bench.py::encode n=4: latency_p50 10 % slower since bbbbbbbbbb"
    assert (
        written.text
        == f"""<!-- benchwright f1 -->

- `bench.py::encode n=4 latency_p50` is `10 % slower [8 %, 12 %]`: 1.000 ms before, 1.100 ms after; 99.9 % sure; \
on `Server 7`; [`finding f1`](https://bench.example/#/findings/f1)

The change came with one of 2 commits: \
[`aaaaaaaaaa...bbbbbbbbbb`](https://github.com/owner/name/compare/{OLD}...{NEW})
- 97 %: [`bbbbbbbbbb`](https://github.com/owner/name/commit/{NEW}) `Use a list (#12)` by `Ann` \
([`pull request #12`](https://github.com/owner/name/pull/12))

How to see it again:

````text
benchwright findings show f1
benchwright ab --control {OLD} --treatment {NEW} bench.py::encode
benchwright bisect f1
````

What differs between before and after:

````text
Why: the code: nothing else that is recorded differs
  packages: numpy 1 to 2
````
"""
    )
    fields = unquoted_query(written.form)
    assert (fields["title"], fields["body"], written.shortened) == (written.title, written.text, False)


def test_without_a_forge_there_is_the_text_alone() -> None:
    written = write_issue(subject(finding(), links=None))
    assert written.form == "" and "](http" not in written.text and "`bbbbbbbbbb`" in written.text


HOSTILE = "a`b](javascript:alert(1)) @everyone <img src=x> #1\n\n# Head\u202e | x ````"


def test_nothing_in_a_name_acts() -> None:
    bad = finding(
        case=HOSTILE,
        params="{}",
        suspects=(Suspect(revision=NEW, probability=0.9, subject=HOSTILE, author=HOSTILE),),
        why={"cause": HOSTILE},
    )
    for text in (write_issue(subject(bad)).text, comment_text(subject(bad, machines={bad.machine: HOSTILE}))):
        outside = _outside_code(text)
        for sign in ("@everyone", "<img", "javascript:", "# Head", "\u202e"):
            assert sign not in outside
        assert "\u202e" not in text and "\n# Head" not in text


def _outside_code(text: str) -> str:
    """The text without code spans and fences; a span ends at the next backtick, a fence at its own line."""
    import re

    return re.sub(r"`[^`]*`", "", re.sub(r"^````text\n.*?^````$", "", text, flags=re.MULTILINE | re.DOTALL))


def test_an_address_never_gets_too_long_and_says_what_is_left_out() -> None:
    many = [finding(f"f{i}", case=f"{'wörk' * 40}{i}") for i in range(40)]
    written = write_issue(subject(*many, id="cause-1"))
    assert 0 < len(written.form) <= MOST_ADDRESS and written.shortened
    body = unquoted_query(written.form)["body"]
    assert body.startswith("<!-- benchwright cause-1 -->") and "since an address cannot hold it" in body
    assert "benchwright findings issue cause-1" in body
    assert body.count("````") % 2 == 0
    assert written.text.count("\n- ") == 30 + 1 + 1  # thirty in a line each, the count of the others, a suspect
    assert "- and 10 more" in written.text
    assert written.title.startswith("40 benchmarks worse since bbbbbbbbbb, ")


def test_forges_that_have_no_form_get_none() -> None:
    assert write_issue(subject(finding(), links=links("https://bitbucket.org/t/n"))).form == ""


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"suspects": ()}, "bench.py::encode n=4: latency_p50 10 % slower"),
        ({"suspects": (), "revisions": (OLD, NEW)}, "bench.py::encode n=4: latency_p50 10 % slower since bbbbbbbbbb"),
        ({"revisions": (), "suspects": ()}, "bench.py::encode n=4: latency_p50 10 % slower"),
        ({"case": "x" * 300}, None),
    ],
)
def test_a_title_is_one_short_line(changes: dict[str, Any], title: str | None) -> None:
    written = issue_title(subject(finding(**changes)))
    assert len(written) <= 120 and "\n" not in written
    assert title is None or written == title
