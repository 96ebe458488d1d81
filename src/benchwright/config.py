"""Settings from `benchwright.toml`, looked for here and in the folders above."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from benchwright import schema
from benchwright.errors import DecodeError

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


def _read(path: Path) -> Config:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"{path}: {error}") from None
    config = schema.decode(Config, data, where=str(path))
    if config.store and "://" not in config.store:  # a relative path counts from the file that states it
        return Config(store=str(path.parent / config.store), tags=config.tags)
    return config
