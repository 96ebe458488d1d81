"""Issues and comments at GitHub, GitLab, Gitea and Forgejo: each is made once, however often it is asked for.

What is there already is known by a mark in its text, so that an answer that is lost on the way makes no second issue.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from benchwright.config import Project
from benchwright.errors import OptionError, UploadError
from benchwright.notify import github, gitlab
from benchwright.notify.forges import MOST_PAGES, Tokens, check_token
from benchwright.notify.senders import check_accepted, check_server, is_throttled
from benchwright.records.code import safe_link
from benchwright.system.http import HttpAnswer, PassingError, call
from benchwright.system.secret_references import fill_in

GITEA_TOKENS = Tokens(variables=("GITEA_TOKEN", "FORGEJO_TOKEN"), file="GITEA_TOKEN_FILE")
_MOST_PAGE = 100  # entries
_NOT_OURS = (403, 404)  # what a forge answers to the change of a comment that is somebody else's, or gone
_LATER = "try again later; nothing is made twice"
_OWN_APIS = ("api.github.com", "gitlab.com")  # of the servers that GITHUB_TOKEN and GITLAB_TOKEN are made for


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeEntry:
    """An issue, or a comment, at a forge."""

    url: str  # its page; "" where the forge did not say
    made: bool  # it is new; else it was there


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """How one kind of forge is asked. `{request}` in a path is filled in."""

    root: Callable[[str], str]  # the repository's part of a path
    headers: Callable[[str], Mapping[str, str]]
    issues: str
    listing: Mapping[str, str]  # what a list of issues is asked with: all states, the newest first
    since: str  # the name of the parameter for the instant before which there can be none
    page_size: str
    text: str  # the key of an issue's text
    page: str  # the key of an entry's own page
    comments: str
    comment: str  # one comment, to be changed; {request} and {id} are filled in
    change: str  # the method that changes it
    comment_page: str  # the page of a comment whose entry names none
    tokens: Tokens


def _repository_root(path: str) -> str:
    return f"/repos/{quote(path)}"


_GITEA = _Dialect(
    root=_repository_root,
    headers=lambda token: {"Authorization": f"token {token}"},
    issues="/issues",
    listing={"state": "all", "type": "issues"},
    since="since",
    page_size="limit",
    text="body",
    page="html_url",
    comments="/issues/{request}/comments",
    comment="/issues/comments/{id}",
    change="PATCH",
    comment_page="",
    tokens=GITEA_TOKENS,
)
_DIALECTS = {
    "github": _Dialect(
        root=_repository_root,
        headers=lambda token: {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        issues="/issues",
        listing={"state": "all", "sort": "created", "direction": "desc"},
        since="since",
        page_size="per_page",
        text="body",
        page="html_url",
        comments="/issues/{request}/comments",
        comment="/issues/comments/{id}",
        change="PATCH",
        comment_page="",
        tokens=github.TOKENS,
    ),
    "gitlab": _Dialect(
        root=lambda path: f"/projects/{quote(path, safe='')}",
        headers=lambda token: {"PRIVATE-TOKEN": token},
        issues="/issues",
        listing={"scope": "all", "order_by": "created_at", "sort": "desc"},
        since="created_after",
        page_size="per_page",
        text="description",
        page="web_url",
        comments="/merge_requests/{request}/notes",
        comment="/merge_requests/{request}/notes/{id}",
        change="PUT",
        comment_page="/-/merge_requests/{request}#note_{id}",
        tokens=gitlab.TOKENS,
    ),
    "gitea": _GITEA,
    "forgejo": _GITEA,
}
KINDS = tuple(_DIALECTS)  # the forges that are spoken to


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueTracker:
    """The issues and requests of one repository."""

    project: Project
    api: str
    path: str  # of the repository, below the server's root
    shown: str
    token: str = field(repr=False)

    def open_issue(self, title: str, text: str, *, mark: str, since: str) -> ForgeEntry:
        """Opens an issue, unless there is one with the mark; `since` is an instant before which there can be none."""
        ask = self._dialect
        listing = {**ask.listing, **({ask.since: since} if since else {})}
        for entry in self._entries(ask.issues, listing, "its issues"):
            if mark in str(entry.get(ask.text)) and "pull_request" not in entry:  # GitHub lists requests among issues
                return ForgeEntry(url=self._page_of(entry), made=False)
        made = self._make(ask.issues, {"title": title, ask.text: text}, "an issue")
        return ForgeEntry(url=self._page_of(made), made=True)

    def comment(self, request: int, text: str, *, mark: str) -> ForgeEntry:
        """Comments on a pull or merge request, unless a comment there has the mark."""
        path = self._dialect.comments.format(request=request)
        for entry in self._entries(path, {}, "its comments"):
            if mark in str(entry.get("body")):
                return ForgeEntry(url=self._comment_page(entry, request), made=False)
        made = self._make(path, {"body": text}, "a comment")
        return ForgeEntry(url=self._comment_page(made, request), made=True)

    def keep_comment(self, request: int, text: str, *, mark: str) -> ForgeEntry:
        """Puts the text into the comment on a request that begins with the mark, or makes one where there is none.

        The text begins with the mark. A comment that begins so and that the forge refuses to change is somebody else's,
        or is gone; after any other failure the comment may still be ours, so no second one is made.
        """
        path = self._dialect.comments.format(request=request)
        for entry in self._entries(path, {}, "its comments"):
            if not str(entry.get("body")).startswith(mark) or not isinstance(entry.get("id"), int):
                continue
            if entry["body"] == text or self._change_comment(request, entry["id"], text):
                return ForgeEntry(url=self._comment_page(entry, request), made=False)
        made = self._make(path, {"body": text}, "a comment")
        return ForgeEntry(url=self._comment_page(made, request), made=True)

    def _change_comment(self, request: int, number: int, text: str) -> bool:
        """Whether the comment has the text now; False where the forge says that it is not ours, or that it is gone."""
        ask = self._dialect
        place = ask.comment.format(request=request, id=number)
        answer = self._send(ask.change, place, json.dumps({"body": text}).encode())
        try:
            self._check(answer, f"comment {number} could not be changed, and no second one was made")
        except UploadError:
            if answer.status in _NOT_OURS and not is_throttled(answer):
                return False
            raise
        return True

    @property
    def _dialect(self) -> _Dialect:
        return _DIALECTS[self.project.forge]

    def _entries(self, path: str, query: Mapping[str, str], what: str) -> Iterator[dict[str, Any]]:
        size, first = self._dialect.page_size, None
        for page in range(1, MOST_PAGES + 1):
            asked = urlencode({**query, size: str(_MOST_PAGE), "page": str(page)})
            there = self._call("GET", f"{path}?{asked}", what=what)
            if not isinstance(there, list):
                raise UploadError(f"{self.shown}: {what} are not a list", remedy="check `api` in [project]")
            entries = [entry for entry in there if isinstance(entry, dict)]
            # A server may hand out fewer at a time than it was asked for, so that only an empty page is surely the
            # last. One that begins as the page before it comes from a server that hands out all at once.
            if not entries or entries[0].get("id") == first:
                return
            first = entries[0].get("id")
            yield from entries

    def _make(self, path: str, body: Mapping[str, str], what: str) -> dict[str, Any]:
        answer = self._call("POST", path, json.dumps(body).encode(), what=what)
        return answer if isinstance(answer, dict) else {}

    def _page_of(self, entry: Mapping[str, Any]) -> str:
        return safe_link(str(entry.get(self._dialect.page, "")))

    def _comment_page(self, entry: Mapping[str, Any], request: int) -> str:
        template = self._dialect.comment_page
        if not template:
            return self._page_of(entry)
        return safe_link(self.project.url + template.format(request=request, id=entry.get("id", "")))

    def _call(self, method: str, path: str, body: bytes | None = None, *, what: str) -> Any:
        """The answer to one request, decoded; an `UploadError` that shows no secret for anything but success."""
        answer = self._send(method, path, body)
        self._check(answer, what)
        return answer.json()

    def _send(self, method: str, path: str, body: bytes | None) -> HttpAnswer:
        headers = dict(self._dialect.headers(self.token))
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        try:
            return call(method, f"{self.api}{self._dialect.root(self.path)}{path}", headers=headers, body=body)
        except PassingError as error:
            raise UploadError(f"{self.shown}: {error}", remedy=_LATER) from None

    def _check(self, answer: HttpAnswer, what: str) -> None:
        try:
            check_accepted(answer, f"{self.shown}: {what}")
        except PassingError as error:
            raise UploadError(str(error), remedy=_LATER) from None


def open_tracker(project: Project, *, is_server: bool = False, is_ours: bool = True) -> IssueTracker:
    """The tracker of a project; an `OptionError` where its forge is not spoken to, or where there is no token.

    A server takes no token but the one that `[project]` names: others in its environment are not meant for visitors.
    Where a repository is not ours but what some result names, the tokens of the environment go to no server of its
    choice, only to the forge that they are made for.
    """
    if project.forge not in _DIALECTS:
        named = f"{project.url} is at {project.forge}" if project.forge else "the forge is not known"
        raise OptionError(
            f"{named}: no issue can be opened from here", remedy=f"`forge` in [project] may be {', '.join(KINDS)}"
        )
    api = project.api.rstrip("/") or _usual_api(project)
    check_server(api, what=f"the api of {project.url}", secure=True)
    if not project.token and is_server:
        raise OptionError("this server has no token for the forge", remedy="set `token` in [project], with ${NAME}")
    if not project.token and not is_ours and urlsplit(api).netloc not in _OWN_APIS:
        raise OptionError(
            f"{project.url} is named by a result alone: no token of this environment goes to its server",
            remedy="name it in [project] of benchwright.toml: `url`, or `remotes`",
        )
    token = fill_in(project.token, needs="`token` in [project]") if project.token else _find_token(project)
    check_token(token, project.url)
    below = urlsplit(api).path.partition("/api/")[0]  # of a server that does not live at the root of its host
    path = urlsplit(project.url).path.removeprefix(below).strip("/")
    return IssueTracker(project=project, api=api, path=unquote(path), shown=project.url, token=token)


def can_send(project: Project) -> bool:
    """Whether a server may open issues there: its forge is spoken to, and the token that is configured is there."""
    try:
        return bool(open_tracker(project, is_server=True))
    except OptionError:
        return False


def _find_token(project: Project) -> str:
    return _DIALECTS[project.forge].tokens.find(project.url)


def _usual_api(project: Project) -> str:
    parts = urlsplit(project.url)
    if project.forge == "github":
        stated = os.environ.get("GITHUB_API_URL", "").strip().rstrip("/")  # Actions sets it
        server = os.environ.get("GITHUB_SERVER_URL", "").strip()
        if stated and urlsplit(server).netloc == parts.netloc:
            return stated
        return "https://api.github.com" if parts.hostname == "github.com" else f"{parts.scheme}://{parts.netloc}/api/v3"
    return f"{parts.scheme}://{parts.netloc}/api/{'v4' if project.forge == 'gitlab' else 'v1'}"
