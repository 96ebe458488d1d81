"""What GitHub and GitLab have in common: a repository, a token, options, and comments that are made once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from benchwright.errors import OptionError, UploadError, did_you_mean
from benchwright.notify.addresses import NotifyAddress
from benchwright.notify.messages import Message, Notice, headline
from benchwright.notify.senders import check_accepted, check_server
from benchwright.records import Verdict
from benchwright.records.findings import Finding
from benchwright.report.findings import title
from benchwright.report.issue_text import mark_of
from benchwright.system.http import HttpAnswer, call

MOST_PAGES = 10  # of comments that are looked through, a hundred each
SUCCESS = "success"  # as both call it
MOST_DESCRIPTION = 140  # letters of a status, where GitHub cuts
_PATH = re.compile(r"[\w.-]+(/[\w.-]+)+", re.ASCII)
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The environment variables that hold a token, or the path of a file with one, when the address names none."""

    variables: tuple[str, ...]
    file: str  # a variable that holds the path of a file

    def find(self, where: str) -> str:
        """The token, or an `OptionError` that says where it was looked for."""
        for name in self.variables:
            if value := os.environ.get(name, "").strip():
                return value
        if path := os.environ.get(self.file, "").strip():
            try:
                return Path(path).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                raise OptionError(f"{where}: {self.file} names a file that cannot be read") from None
        raise OptionError(f"{where} needs a token", remedy=f"export {self.variables[0]}=, or {self.file}= its file")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeRepository:
    """A repository on a server, and what is wanted there."""

    path: str  # owner/name
    request: str  # the number of a pull or merge request, or ""
    api: str
    comment: bool
    status: bool
    shown: str
    token: str = field(repr=False)


def read_place(address: NotifyAddress, *, api: str, request: str, tokens: Tokens) -> ForgeRepository:
    """Reads `github://owner/name?pull=12&comment=no&status=no&api=https://host/api/v3`."""
    parts = urlsplit(address.url)
    login, _, owner = parts.netloc.rpartition("@")
    path = f"{owner}/{parts.path.strip('/')}".removesuffix(".git")
    if not _PATH.fullmatch(path) or {".", ".."} & {*path.split("/")}:
        raise OptionError(f"{address.shown} does not name a repository", remedy=f"write {address.scheme}://owner/name")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    known = ("api", "comment", "status", request)
    for name in options:
        if name not in known:
            raise OptionError(f"{address.shown}: unknown option {name!r}", remedy=did_you_mean(name, known))
    if (number := options.get(request, "")) and not (number.isascii() and number.isdecimal()):
        raise OptionError(f"{address.shown}: {request}={number} is not a number")
    server = options.get("api", api).rstrip("/")
    check_server(server, what=address.shown, secure=True)
    token = unquote(login.strip(":")) or tokens.find(address.shown)
    check_token(token, address.shown)
    return ForgeRepository(
        path=path,
        request=number,
        api=server,
        comment=_is_wanted(options, "comment", address),
        status=_is_wanted(options, "status", address),
        shown=address.shown,
        token=token,
    )


def check_token(token: str, where: str) -> None:
    """Raises an `OptionError` for a token that a header cannot hold."""
    if not token or not all("!" <= sign <= "~" for sign in token):
        raise OptionError(f"{where}: its token has characters that no token has", remedy="is it more than one line?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """How one kind of server is spoken to. In paths, `{commit}` and `{request}` are filled in."""

    place: ForgeRepository
    headers: Mapping[str, str] = field(repr=False)
    repository: str  # a path: answered when the token may read it
    request_comments: str
    commit_comments: str
    commit_text: str  # the key of a comment's text, at a commit
    statuses: str
    status: Mapping[str, str]  # what every status says
    failure: str  # how a status says that something is worse
    is_so: Callable[[HttpAnswer, str], bool] = field(default=lambda _answer, _state: False)  # refused: it is so already

    def send(self, message: Message) -> str:
        """Comments where it was not done yet, and sets the status of each commit."""
        if message.test:
            self._get(self.repository, "the repository")
            return "the token reads the repository; a test leaves no comment there"
        place, comments, statuses = self.place, 0, 0
        if place.comment and place.request:
            comments += self._comment_once(self.request_comments.format(request=place.request), message, "body")
        for commit, notices in _by_commit(message.notices).items():
            if place.comment and not place.request:
                path = self.commit_comments.format(commit=commit)
                comments += self._comment_once(path, replace(message, notices=notices), self.commit_text)
            if place.status and (worse := _worse(notices)):
                self._set(commit, self.failure, _summarize(worse, headline), worse[0].link)
                statuses += 1
        return f"{comments} comments, {statuses} statuses"

    def withdraw(self, message: Message) -> str:
        """Sets the status of each commit to success: nothing that was found there stands any more."""
        commits = _by_commit(message.notices) if self.place.status else {}
        for commit, notices in commits.items():
            self._set(commit, SUCCESS, f"Settled: {_summarize(notices, title)}", notices[0].link)
        return f"{len(commits)} statuses taken back"

    def _get(self, path: str, what: str) -> Any:
        """The answer to a GET of `path`, decoded."""
        return check_accepted(self._call("GET", path, None), f"{self.place.shown}: {what}").json()

    def _post(self, path: str, body: Mapping[str, Any]) -> HttpAnswer:
        return self._call("POST", path, json.dumps(body).encode())

    def _set(self, commit: str, state: str, words: str, link: str) -> None:
        """Sets the status of a commit."""
        said = {"state": state, "description": _cut(words)} | ({"target_url": link} if link else {})
        answer = self._post(self.statuses.format(commit=commit), {**self.status, **said})
        if not self.is_so(answer, state):
            check_accepted(answer, f"{self.place.shown}: a status")

    def _comment_once(self, path: str, message: Message, key: str) -> bool:
        """Adds the message to the comments at `path`, without the findings that one of them tells of already.

        A message may have arrived before a restart that lost the news of it; the marks in a comment tell.
        """
        there = "\n".join(self._comments(path, key))
        left = tuple(notice for notice in message.notices if _mark(notice) not in there)
        if left:
            body = "\n".join([*map(_mark, left), replace(message, notices=left).markdown])
            check_accepted(self._post(path, {key: body}), f"{self.place.shown}: a comment")
        return bool(left)

    def _comments(self, path: str, key: str) -> Iterator[str]:
        for page in range(1, MOST_PAGES + 1):
            there = self._get(f"{path}?per_page=100&page={page}", "its comments")
            if not isinstance(there, list):
                raise UploadError(f"{self.place.shown}: its comments are not a list", remedy="check the option api")
            yield from (str(one.get(key)) for one in there if isinstance(one, dict))
            if len(there) < 100:
                return

    def _call(self, method: str, path: str, body: bytes | None) -> HttpAnswer:
        headers = dict(self.headers) | ({"Content-Type": "application/json"} if body is not None else {})
        return call(method, f"{self.place.api}{path}", headers=headers, body=body)


def _by_commit(notices: Iterable[Notice]) -> dict[str, tuple[Notice, ...]]:
    """The notices of each commit, as it is written in a path; those of none are left out."""
    found: dict[str, tuple[Notice, ...]] = {}
    for notice in notices:
        if notice.commit:
            commit = quote(notice.commit, safe="")
            found[commit] = (*found.get(commit, ()), notice)
    return found


def _worse(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Returns the changes for the worse. One for the better sets no status: it would take back another's failure."""
    return tuple(notice for notice in notices if notice.finding.verdict is Verdict.WORSE and not notice.finding.drift)


def _summarize(notices: tuple[Notice, ...], line: Callable[[Finding], str]) -> str:
    """The first finding in its line, and how many more there are."""
    return line(notices[0].finding) + (f" and {len(notices) - 1} more" if len(notices) > 1 else "")


def _cut(words: str) -> str:
    return words if len(words) <= MOST_DESCRIPTION else f"{words[: MOST_DESCRIPTION - 1]}…"


def _mark(notice: Notice) -> str:
    return mark_of(notice.finding.id)


def _is_wanted(options: Mapping[str, str], name: str, address: NotifyAddress) -> bool:
    given = options.get(name, "yes").lower()
    if given not in (*_YES, *_NO):
        raise OptionError(f"{address.shown}: {name}={given} is neither yes nor no", remedy="write yes or no")
    return given in _YES
