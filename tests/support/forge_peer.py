"""A server on the loopback that plays GitHub, GitLab and Gitea, as their documentation says that they answer.

It takes issues and comments, and refuses whatever the documented interface would not understand: another path, a wrong
header, a key that is not known, a parameter that is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from http_peer import Peer, Request

TOKEN = "forge-t0ken"
_GITHUB_LIST = {"state", "sort", "direction", "since", "per_page", "page"}
_GITLAB_LIST = {"scope", "order_by", "sort", "created_after", "per_page", "page"}
_GITEA_LIST = {"state", "type", "since", "limit", "page"}
_PAGES = {"per_page", "limit", "page"}


@dataclass
class ForgePeer:
    """Issues and comments of one repository at `peer`; `kind` is github, gitlab or gitea."""

    peer: Peer
    kind: str
    path: str = "owner/name"
    issues: list[dict[str, Any]] = field(default_factory=list)  # the newest first
    comments: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by request
    lose: int = 0  # answers to posts that get lost on the way, after the work was done
    page_size: int = 100
    refuse_change: tuple[int, dict[str, str]] | None = None  # status and headers with which changes of comments fail

    def __post_init__(self) -> None:
        self.peer.answer = self.answer

    @property
    def url(self) -> str:
        return f"http://{self.peer.host}/{self.path}"

    @property
    def api(self) -> str:
        return {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}[self.kind]

    def answer(self, request: Request) -> tuple[int, dict[str, str], Any]:
        """What the forge says."""
        if not self._is_known(request):
            return 401, {}, {"message": "Bad credentials"}
        parts = urlsplit(request.path)
        root = f"/projects/{self.path.replace('/', '%2F')}" if self.kind == "gitlab" else f"/repos/{self.path}"
        if not parts.path.startswith(f"{self.api}{root}/"):
            return 404, {}, {"message": "Not Found"}
        rest = parts.path.removeprefix(f"{self.api}{root}")
        query = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        requests = r"/merge_requests/(\d+)/notes" if self.kind == "gitlab" else r"/issues/(\d+)/comments"
        one = r"/merge_requests/\d+/notes/(\d+)" if self.kind == "gitlab" else r"/issues/comments/(\d+)"
        if found := re.fullmatch(one, rest):
            return self._change(request, int(found[1]))
        if rest == "/issues":
            return self._issues(request, query)
        if found := re.fullmatch(requests, rest):
            return self._comments(request, found[1], query)
        return 404, {}, {"message": "Not Found"}

    def _is_known(self, request: Request) -> bool:
        headers = request.headers
        if self.kind == "gitlab":
            return headers.get("private-token") == TOKEN
        scheme = "Bearer" if self.kind == "github" else "token"
        return headers.get("authorization") == f"{scheme} {TOKEN}"

    def _issues(self, request: Request, query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        text = "description" if self.kind == "gitlab" else "body"
        if request.method == "GET":
            known = {"github": _GITHUB_LIST, "gitlab": _GITLAB_LIST, "gitea": _GITEA_LIST}[self.kind]
            if not {*query} <= known:
                return 400, {}, {"message": f"unknown: { ({*query} - known) }"}
            return 200, {}, self._page(self.issues, query)
        body = request.json()
        if {*body} != {"title", text} or request.headers.get("content-type") != "application/json":
            return 422, {}, {"message": "Validation Failed"}
        number = len(self.issues) + 1
        place = f"/-/issues/{number}" if self.kind == "gitlab" else f"/issues/{number}"
        link = "web_url" if self.kind == "gitlab" else "html_url"
        entry = {"id": 1000 + number, "title": body["title"], text: body[text], link: f"{self.url}{place}"}
        self.issues.insert(0, entry)
        return self._made(entry)

    def _comments(self, request: Request, number: str, query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        there = self.comments.setdefault(number, [])
        if request.method == "GET":
            if not {*query} <= _PAGES:
                return 400, {}, {"message": "unknown parameter"}
            return 200, {}, there if self.kind == "gitea" else self._page(there, query)  # Gitea's list has no pages
        body = request.json()
        if {*body} != {"body"}:
            return 422, {}, {"message": "Validation Failed"}
        entry = {"id": 500 + len(there), "body": body["body"]}
        if self.kind != "gitlab":
            place = "pull" if self.kind == "github" else "pulls"
            entry["html_url"] = f"{self.url}/{place}/{number}#issuecomment-{entry['id']}"
        there.append(entry)
        return self._made(entry)

    def _change(self, request: Request, number: int) -> tuple[int, dict[str, str], Any]:
        if request.method != ("PUT" if self.kind == "gitlab" else "PATCH") or {*request.json()} != {"body"}:
            return 405, {}, {"message": "Method Not Allowed"}
        if self.refuse_change is not None:
            return *self.refuse_change, {"message": "Refused"}
        for entry in (one for there in self.comments.values() for one in there):
            if entry["id"] == number:
                if entry.get("foreign"):
                    return 403, {}, {"message": "Forbidden"}
                entry["body"] = request.json()["body"]
                return 200, {}, entry
        return 404, {}, {"message": "Not Found"}

    def _made(self, entry: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        if self.lose:
            self.lose -= 1
            return 502, {}, {"message": "Bad Gateway"}
        return 201, {}, entry

    def _page(self, entries: list[dict[str, Any]], query: dict[str, str]) -> list[dict[str, Any]]:
        size = min(self.page_size, int(query.get("limit" if self.kind == "gitea" else "per_page", 30)))
        start = size * (int(query.get("page", 1)) - 1)
        return entries[start : start + size]


def unquoted_query(url: str) -> dict[str, str]:
    """The fields of a form that an address fills in."""
    assert unquote(url)
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True, strict_parsing=True))
