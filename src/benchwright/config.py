"""Settings from `benchwright.toml`, looked for here and in the folders above."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import DecodeError

# A password ends at the last @ before the path; those of databases may hold a bare / or ?, web addresses an @ later on.
_LOGIN = re.compile(r"(\b\w[\w+.-]*://[^\s/?#:@]*:)[^\s/?#]*@|((?!https?:)\b\w[\w+.-]*://[^\s/:@]*:)\S*@")
_SECRET = re.compile(r"(://[^\s#]*[?&](?:password|sslpassword|passwd|pwd)=)[^\s&#]+", re.IGNORECASE)
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
    return flag or os.environ.get("BENCHWRIGHT_STORE") or load().store or DEFAULT_STORE


def shown_url(url: str) -> str:
    """The URL as it may be shown and kept: a password in it is `***`. What is no URL is left as it is."""
    return _SECRET.sub(r"\1***", _LOGIN.sub(r"\1\2***@", url))


def shown_arguments(arguments: Iterable[str]) -> tuple[str, ...]:
    """A command line as it may be shown and kept: no URL in it says its password."""
    return tuple(map(shown_url, arguments))


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
