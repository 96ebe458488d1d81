"""Secrets in addresses: logins, values of queries and fragments are hidden wherever an address is shown or kept.

A key that a process sends along is hidden in whatever others say: a server may repeat it in an error or in its log.

Command lines and targets of messages have secrets of their own: `compat.*.mask_command`, `notify.addresses`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

HIDDEN = "***"
CONTAINERS = frozenset({"abfs", "abfss", "adl", "az"})  # what stands before @ in these is no login
_SCHEME = r"\b[A-Za-z][\w+.-]*://"
# An address in a text: it ends before the next one of a list, a quote that JSON closes, the full stop of a sentence.
_ADDRESS = re.compile(rf"""({_SCHEME})(\S*?)(?=[.,:;)\]}}"']*(?:\s|$)|["']\s*[,:}}\]]|,{_SCHEME})""")
_LOGIN = re.compile(r"[^/?#]*@")
_LOOSE_LOGIN = re.compile(r"[^/:@]*:.*@|[^/?#]*@")  # passwords of databases may hold a bare / or ?

SHORTEST_SECRET = 6  # characters; what is shorter is a word that stands in other texts, too
_secrets: set[str] = set()  # of this process
T = TypeVar("T")

_BRACKETED = re.compile(r"\s*<[^<>\s@]+@[^<>\s@]+>")
_BARE = re.compile(r"(?<![\w.+%/:=-])([\w.+%-]+)@[\w-]+(?:\.[\w-]+)+(?![\w/]|:\S)")


def mask_url(text: str) -> str:
    """Returns an address, or a text with addresses in it, as it may be shown: `scheme://***@host/path?name=***`.

    Logins, values of queries and fragments are hidden, whatever the scheme; what is no address is left as it is.
    """
    return _ADDRESS.sub(lambda found: found[1] + _mask_rest(found[1].removesuffix("://").lower(), found[2]), text)


def remember_secret(secret: str) -> None:
    """Has `hide_secrets` hide this text from now on, in this process."""
    if len(secret) >= SHORTEST_SECRET:
        _secrets.add(secret)


def hide_secrets(value: T) -> T:
    """Returns a text, or all texts of lists and mappings, without the secrets that this process has read."""
    if not _secrets:
        return value
    return _hide(value)  # type: ignore[no-any-return]


def _hide(value: Any) -> Any:
    if isinstance(value, str):
        for secret in sorted(_secrets, key=len, reverse=True):  # one may be a part of another
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {_hide(name): _hide(item) for name, item in value.items()}
    return type(value)(map(_hide, value)) if isinstance(value, list | tuple) else value


def name_people(text: str) -> str:
    """A text without the e-mail addresses of people: `Ada <ada@example.com>` is `Ada`.

    Of an address that stands without a name, what is before the `@` stays: `git@example.com:team/code` is no person.
    """
    return _BARE.sub(r"\1", _BRACKETED.sub("", text)).strip() if "@" in text else text


def mask_arguments(arguments: Iterable[str]) -> tuple[str, ...]:
    """Returns a command line as it may be shown and kept: no address in it says a secret."""
    return tuple(map(mask_url, arguments))


def mask_message(words: str, url: str) -> str:
    """Returns somebody else's words about `url` as they may be shown, without what `mask_url` hides."""
    return mask_url(words.replace(url, mask_url(url)))


def _mask_rest(scheme: str, rest: str) -> str:
    """What follows `scheme://`, without its secrets."""
    if scheme not in CONTAINERS:
        login = _LOGIN if scheme in ("http", "https", "file") else _LOOSE_LOGIN
        rest = login.sub(f"{HIDDEN}@", rest, count=1) if login.match(rest) else rest
    if scheme == "file":  # a path has no query: ? and # are parts of its names
        return rest
    rest, mark, _ = rest.partition("#")
    path, question, query = rest.partition("?")
    pairs = [name + equals + HIDDEN * bool(value) for name, equals, value in map(_split_pair, query.split("&"))]
    return path + question + "&".join(pairs) + (mark and mark + HIDDEN)


def _split_pair(text: str) -> tuple[str, str, str]:
    """Name and value of a part of a query; one that has no name is all value."""
    name, equals, value = text.partition("=")
    return (name, equals, value) if equals else ("", "", name)
