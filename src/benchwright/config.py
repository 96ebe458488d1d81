"""Settings from `benchwright.toml`, looked for here and in the folders above."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import DecodeError, OptionError

HIDDEN = "***"
CONTAINERS = frozenset({"abfs", "abfss", "adl", "az"})  # what stands before @ in these is no login
_SCHEME = r"\b[A-Za-z][\w+.-]*://"
# An address in a text: it ends before the next one of a list, a quote that JSON closes, the full stop of a sentence.
_ADDRESS = re.compile(rf"""({_SCHEME})(\S*?)(?=[.,:;)\]}}"']*(?:\s|$)|["']\s*[,:}}\]]|,{_SCHEME})""")
_LOGIN = re.compile(r"[^/?#]*@")
_LOOSE_LOGIN = re.compile(r"[^/:@]*:.*@|[^/?#]*@")  # passwords of databases may hold a bare / or ?
FILE = "benchwright.toml"
DEFAULT_STORE = ".benchwright/results.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What `benchwright.toml` may say."""

    store: str = ""
    tags: tuple[str, ...] = ()


def load(start: Path | None = None) -> Config:
    """The nearest `benchwright.toml`, or the defaults."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (path := folder / FILE).is_file():
            return _read(path)
    return Config()


def store_url(flag: str | None = None) -> str:
    """Which store to use: the flag, else BENCHWRIGHT_STORE, else `benchwright.toml`, else a file here."""
    if flag is not None and not flag.strip():
        raise OptionError("--store names no place", remedy="give a file or a database URL, or leave it out")
    return flag or os.environ.get("BENCHWRIGHT_STORE") or load().store or DEFAULT_STORE


def shown_url(text: str) -> str:
    """An address, or a text with addresses in it, as it may be shown and kept: `scheme://***@host/path?name=***`.

    Logins, values of queries and fragments are hidden, whatever the scheme; what is no address is left as it is.
    """
    return _ADDRESS.sub(lambda found: found[1] + _masked(found[1].removesuffix("://").lower(), found[2]), text)


def shown_arguments(arguments: Iterable[str]) -> tuple[str, ...]:
    """A command line as it may be shown and kept: no address in it says a secret."""
    return tuple(map(shown_url, arguments))


def _masked(scheme: str, rest: str) -> str:
    """What follows `scheme://`, without its secrets."""
    if scheme not in CONTAINERS:
        login = _LOGIN if scheme in ("http", "https", "file") else _LOOSE_LOGIN
        rest = login.sub(f"{HIDDEN}@", rest, count=1) if login.match(rest) else rest
    if scheme == "file":  # a path has no query: ? and # are parts of its names
        return rest
    rest, mark, _ = rest.partition("#")
    path, question, query = rest.partition("?")
    pairs = [name + equals + HIDDEN * bool(value) for name, equals, value in map(_pair, query.split("&"))]
    return path + question + "&".join(pairs) + (mark and mark + HIDDEN)


def _pair(text: str) -> tuple[str, str, str]:
    """Name and value of a part of a query; one that has no name is all value."""
    name, equals, value = text.partition("=")
    return (name, equals, value) if equals else ("", "", name)


def _read(path: Path) -> Config:
    import tomllib  # the command line's help reads this module, and needs neither of these

    from benchwright import schema

    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"{path}: {error}") from None
    config = schema.decode(Config, data, where=str(path))
    if config.store and "://" not in config.store:  # a relative path counts from the file that states it
        return Config(store=str(path.parent / config.store), tags=config.tags)
    return config
