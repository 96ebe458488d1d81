"""The settings of a server, and the limits of its requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchwright.store.sql.retention import RetentionRules
from benchwright.store.sqlite_file import database_file
from benchwright.system.addresses import is_loopback

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """What one request may ask for. Sizes are bytes, after unpacking; times are seconds."""

    small: int = MIB  # a change that a person makes
    document: int = 64 * MIB  # a result, or a run without its results
    run: int = 256 * MIB  # a whole run in one document
    stream: int = 1024 * MIB  # many runs, one a line
    artifact: int = 1024 * MIB
    samples: int = 512 * MIB  # what the packed samples of one document unpack to
    ratio: int = 200  # of a packed body to what it unpacks to, once that is more than a few MiB
    depth: int = 64  # of lists and mappings within each other
    patience: float = 30.0  # between two pieces of a body
    longest: float = 3600.0  # for a whole body
    rate: float = 300.0  # requests a second, of one token or address, in the long run
    burst: int = 1500  # and at once
    failures: int = 10  # wrong tokens of one address before it has to wait
    failure_delay: float = 0.25  # before a wrong token is answered
    connections: int = 512
    listeners: int = 256  # streams of what goes on: whoever opens many leaves connections to the others
    threads: int = 12  # requests that are worked on at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where a server's data lies, who may reach it, and how much each may ask."""

    store_url: str
    artifacts: Path  # uploaded files go here; of files that runs left on this machine only those in here are served
    host: str = "127.0.0.1"
    require_token: bool = False
    names: tuple[str, ...] = ()  # under which it is reached besides its address, behind a proxy
    log: bool = False  # one line on standard error for each request
    limits: RequestLimits = field(default_factory=RequestLimits)
    retention: RetentionRules = field(default_factory=RetentionRules)

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def trusts_everyone(self) -> bool:
        """Whether whoever reaches it may do everything: on one's own machine, unless tokens are asked for.

        With a name it is reached through a proxy, which makes everyone look as if they were on this machine.
        """
        return self.on_loopback and not self.require_token and not self.names


def artifacts_of(store_url: str) -> Path:
    """Returns the default folder for files of results: beside an SQLite file, else where runs here leave them."""
    if "://" in store_url and not store_url.startswith("sqlite"):
        return Path(".benchwright", "artifacts").absolute()
    return database_file(store_url).parent / "artifacts"
