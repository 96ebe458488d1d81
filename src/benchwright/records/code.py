"""Where the code behind a result can be looked at: the address of a repository, and the pages of its forge.

Addresses come from remotes and from whoever sends results. What is kept is `http` or `https`, without a login, or "".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_REPOSITORY = 500  # characters of an address
_REPOSITORY = re.compile(
    r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
    r"(?:/[A-Za-z0-9._~!$&'()*+,;=:%-]+)+"
)
_LINK = re.compile(r"https?://[A-Za-z0-9._~%:\[\]-]+(?:[/?#][\x21-\x7e]*)?", re.IGNORECASE)
_COMMIT = re.compile(r"[0-9A-Fa-f]{7,64}")
_HASH_AT_END = re.compile(r"\(#([1-9][0-9]{0,8})\)\s*\Z")  # as forges write it when they squash


def clean_repository(text: str) -> str:
    """The web address of a repository: without `.git` at its end; "" for anything with a login, and for no address."""
    address = text.strip().rstrip("/")
    if len(address) > LONGEST_REPOSITORY or not _REPOSITORY.fullmatch(address):
        return ""
    return "" if any(part in (".", "..") for part in address.split("/")) else address.removesuffix(".git")


def safe_link(url: str) -> str:
    """The address if a page may link to it: `http` or `https`, a host, no login, nothing to be escaped; else ""."""
    return url if _LINK.fullmatch(url) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLinks:
    """The pages of one repository at its forge, as templates; "" where there is no such page.

    `{commit}`, `{base}` and `{head}`, `{number}`, `{author}`, `{title}` and `{body}` stand for what is filled in,
    percent-encoded.
    """

    forge: str  # as people call it, such as GitHub; "" where it is not known
    web: str  # the repository's own page; ""
    commit: str = ""
    compare: str = ""
    request: str = ""
    author: str = ""
    issue: str = ""  # the form for a new issue, filled in
    request_word: str = "pull request"
    hash_is_request: bool = True  # whether `(#12)` at the end of a subject is a request; on GitLab it is an issue

    def commit_link(self, commit: str) -> str:
        """The page of a commit; "" when there is none, or when it is no commit's id."""
        return _fill(self.commit, commit=commit) if _COMMIT.fullmatch(commit) else ""

    def compare_link(self, base: str, head: str) -> str:
        """The page of what changed after `base` up to `head`."""
        known = _COMMIT.fullmatch(base) and _COMMIT.fullmatch(head)
        return _fill(self.compare, base=base, head=head) if known else ""

    def request_link(self, number: int) -> str:
        """The page of a pull or merge request."""
        return _fill(self.request, number=str(number)) if number > 0 else ""

    def author_link(self, author: str) -> str:
        """The page with the commits of an author."""
        return _fill(self.author, author=author) if author else ""

    def issue_link(self, title: str, body: str) -> str:
        """The form for a new issue with title and text filled in."""
        return _fill(self.issue, title=title, body=body)

    def request_of(self, pull_request: int, subject: str) -> int:
        """The number of the request that a commit came with; 0 when nobody knows."""
        found = _HASH_AT_END.search(subject) if self.hash_is_request and not pull_request else None
        return int(found[1]) if found else pull_request


def _fill(template: str, **values: str) -> str:
    from urllib.parse import quote  # workers read this module, and fill in nothing

    for name, value in values.items():
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return safe_link(template)
