"""Repositories as they are written in one line, and what must never reach git."""

from __future__ import annotations

import pytest

from benchwright.errors import FetchError
from benchwright.vcs.checkouts import Repository


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://x.org/a/lib.git", ("https://x.org/a/lib.git", "", "", "lib")),
        (" u ; main ", ("u", "main", "", "u")),
        ("git@x.org:a/lib;;abc123", ("git@x.org:a/lib", "", "abc123", "lib")),
        ("ssh://git@x.org/lib/;pull/3;", ("ssh://git@x.org/lib/", "pull/3", "", "lib")),
        ("git@x.org:lib.git", ("git@x.org:lib.git", "", "", "lib")),
        ("/some where/lib.v2", ("/some where/lib.v2", "", "", "lib")),
    ],
)
def test_the_short_form(text: str, expected: tuple[str, ...]) -> None:
    read = Repository.parse(text)
    assert (read.url, read.branch, read.revision, read.name) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";main",
        "u;a;b;c",
        "--upload-pack=touch evil",
        "u;--orphan",
        "u;;-f",
        "ext::sh -c evil",
        "u;a b",
        "u;a..b",
        "u;;HEAD~1",
        "u;@{-1}",
        "u\nv",
        "u;a\nb",
    ],
)
def test_what_is_no_repository(text: str) -> None:
    with pytest.raises(FetchError):
        Repository.parse(text)
