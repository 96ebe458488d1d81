"""Settings from `benchwright.toml`, looked for here and in the folders above."""

from __future__ import annotations

import math
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.errors import DecodeError, OptionError

FILE = "benchwright.toml"
DEFAULT_STORE = ".benchwright/results.db"
VERDICTS = ("worse", "better")  # of changes that people may want to be told of
_SECRET_FILE = re.compile(r"\$\{file:([^}]+)\}")  # in a target: what that file holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """`[notify]`: who is told of findings, and how often."""

    targets: tuple[str, ...] = ()  # addresses; `${NAME}` and `${file:PATH}` stand for secrets
    verdicts: tuple[str, ...] = ("worse",)
    link: str = ""  # a page of yours: {id}, {case}, {metric}, {run} and {revision} are filled in
    per_hour: int = 20  # messages to one target
    together: int = 3  # more findings than this are told in one message


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """`[retention]`: how long a server keeps things, such as "90d" or "2y"; "" keeps everything."""

    samples: str = ""  # raw ones; their distributions and all points stay
    runs: str = ""  # whole runs, points included
    keep_tagged: bool = False  # runs with a tag keep everything


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What `benchwright.toml` may say."""

    store: str = ""
    tags: tuple[str, ...] = ()
    cache: str = ""
    rounds: int | None = None  # of a run that does not say how many
    duration: float | None = None  # seconds to measure, in a run that does not say when to stop
    warmup: float | None = None  # seconds of warm-up at most, in a run that does not say
    notify: Notify = Notify()
    retention: Retention = Retention()


def load(start: Path | None = None) -> Config:
    """The nearest `benchwright.toml`, or the defaults."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (path := folder / FILE).is_file():
            return _read_config(path)
    return Config()


def store_url(flag: str | None = None) -> str:
    """Which store to use: the flag, else BENCHWRIGHT_STORE, else `benchwright.toml`, else a file here."""
    if flag is not None and not flag.strip():
        raise OptionError("--store is empty", remedy="give a file or a database URL, or leave it out")
    return flag or os.environ.get("BENCHWRIGHT_STORE") or load().store or DEFAULT_STORE


def cache_folder(flag: str | None = None) -> Path:
    """Where fetched models are kept: the flag, else BENCHWRIGHT_CACHE, else `benchwright.toml`, else the user's."""
    if flag is not None and not flag.strip():
        raise OptionError("--cache is empty", remedy="give a folder, or leave it out")
    named = flag or os.environ.get("BENCHWRIGHT_CACHE") or load().cache
    return Path(named).expanduser().absolute() if named else _user_cache() / "benchwright"


def _user_cache() -> Path:
    """Where this platform keeps what can be fetched again."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if Path(stated).is_absolute():  # the standard says to ignore any other
        return Path(stated)
    try:
        home = Path.home()
    except RuntimeError:
        raise OptionError("there is no home folder to keep a cache in", remedy="set BENCHWRIGHT_CACHE") from None
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def _read_config(path: Path) -> Config:
    # The command line's help reads this module, and needs none of these.
    from benchwright import schema
    from benchwright.schema import parsing

    data = parsing.toml_file(path)
    config = schema.decode(Config, data, where=str(path))
    for name, least in (("rounds", 1), ("duration", 1e-9), ("warmup", 0)):
        given = getattr(config, name)
        if given is not None and not least <= given < math.inf:
            raise DecodeError(f"{path}: {name} = {given}", remedy="give a larger number, or leave it out")
    # A relative path counts from the file that states it.
    if config.store and "://" not in config.store:
        config = replace(config, store=str(path.parent / config.store))
    if config.cache:
        config = replace(config, cache=str(path.parent / Path(config.cache).expanduser()))
    return replace(config, notify=_check_notify(config.notify, path))


def _check_notify(notify: Notify, path: Path) -> Notify:
    for name in ("per_hour", "together"):
        if getattr(notify, name) < 1:
            raise DecodeError(f"{path}: notify.{name} = {getattr(notify, name)}", remedy="give a number above 0")
    if unknown := [word for word in notify.verdicts if word not in VERDICTS]:
        raise DecodeError(f"{path}: notify.verdicts: {unknown[0]!r}", remedy=f"known: {', '.join(VERDICTS)}")

    def from_here(found: re.Match[str]) -> str:
        return f"${{file:{path.parent / Path(found[1]).expanduser()}}}"

    return replace(notify, targets=tuple(_SECRET_FILE.sub(from_here, target) for target in notify.targets))
