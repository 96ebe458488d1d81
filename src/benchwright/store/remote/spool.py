"""What waits for a server: one file for each request, in order. Nothing confuses it: not a full disk, not `kill -9`.

A file is whole or absent, and goes only when the server has taken what it holds or will never take it. Any number of
processes add at once; one of them sends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path

from benchwright.errors import StoreError
from benchwright.schema.parsing import json_value
from benchwright.store.remote.request import ServerRequest
from benchwright.system import streams, whole_files
from benchwright.system.locks import open_lock

VARIABLE = "BENCHWRIGHT_SPOOL"
FORMAT = 1
_ENDING, _SERVER, _LOCK, _REFUSED = ".entry", "server", "lock", "refused"
_FORGOTTEN = 3600.0  # seconds after which nobody is still writing a file


def folder_of(server: str) -> Path:
    """Returns the folder in which requests to that server wait."""
    name = re.sub(r"[^a-z0-9.-]+", "-", server.partition("://")[2].rstrip("/"))[:60]
    return top() / f"{name}-{hashlib.sha256(server.encode()).hexdigest()[:8]}"


def top() -> Path:
    """The folder of all spools: BENCHWRIGHT_SPOOL, else among the user's own state."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser().absolute()
    stated = os.environ.get("XDG_STATE_HOME", "")
    try:
        folder = Path(stated) if Path(stated).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        raise StoreError("there is no home folder to keep a spool in", remedy=f"set {VARIABLE}") from None
    return folder / "benchwright" / "spool"


def servers() -> list[str]:
    """The servers that something waits for, or was refused by."""
    found = []
    for path in sorted(top().glob(f"*/{_SERVER}")):
        server = path.read_text(encoding="utf-8").strip()
        spool = Spool(server)
        if not spool.is_empty or spool.refused_count:
            found.append(server)
    return found


class Spool:
    """The requests that wait for one server. Nothing is made on the disk before the first one comes."""

    def __init__(self, server: str) -> None:
        self.server, self.folder = server, folder_of(server)
        self._last = 0

    @property
    def is_empty(self) -> bool:
        """Whether no request waits."""
        return next(self._names(self.folder), None) is None

    @property
    def refused_count(self) -> int:
        """How many requests were moved aside."""
        return sum(1 for _ in self._names(self.folder / _REFUSED))

    def __len__(self) -> int:
        return sum(1 for _ in self._names(self.folder))

    def add(self, request: ServerRequest) -> None:
        """Keeps a request behind all others; it is on the disk when this returns. A `StoreError` says why it cannot."""
        head = {name: value for name, value in asdict(request).items() if name != "body"}
        line = json.dumps({"spool": FORMAT, "length": len(request.body), "at": time.time(), **head})
        try:
            self._make()
            entry = self.folder / self._next()
            whole_files.write_bytes(entry, line.encode() + b"\n" + request.body, mode=0o600, durable=True)
        except OSError as error:
            raise StoreError(
                f"{self.folder}: a request to {self.server} cannot wait here: {error.strerror}",
                remedy=f"free space, or choose another place with {VARIABLE}",
            ) from None

    def entries(self) -> list[Path]:
        """Returns the files of the requests that wait, in order."""
        return [self.folder / name for name in sorted(self._names(self.folder))]

    def read(self, entry: Path) -> ServerRequest:
        """Returns the request that an entry holds; a `ValueError` for a file that is not a request."""
        line, _, body = streams.read_file(entry).partition(b"\n")
        head = json_value(line)
        if not isinstance(head, dict) or head.get("spool") != FORMAT or head.get("length") != len(body):
            raise ValueError("the request is damaged, or of another version")
        empty = ServerRequest(method="", path="")
        told = {each.name: head[each.name] for each in fields(empty) if each.name != "body"}
        if any(type(value) is not type(getattr(empty, name)) for name, value in told.items()):
            raise ValueError("the request is damaged, or of another version")
        return replace(ServerRequest(**told), body=body)

    def remove(self, entry: Path) -> None:
        """Forgets a request that the server has taken."""
        entry.unlink(missing_ok=True)

    def refuse(self, entry: Path, reason: str) -> None:
        """Moves a request aside that the server will never take, with the reason beside it."""
        aside = self.folder / _REFUSED
        aside.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(OSError):  # a full disk: the reason was told, too
            (aside / entry.with_suffix(".txt").name).write_text(reason + "\n", encoding="utf-8")
        entry.rename(aside / entry.name)

    def take_back(self) -> int:
        """Puts refused requests back in line, each where it was, and returns how many."""
        aside = self.folder / _REFUSED
        names = sorted(self._names(aside))
        for name in names:
            (aside / name).rename(self.folder / name)
            (aside / name).with_suffix(".txt").unlink(missing_ok=True)
        return len(names)

    @contextlib.contextmanager
    def sending(self, patience: float = 0.0) -> Iterator[bool]:
        """True for the one process that may send now; False for others, after `patience` seconds."""
        self._make()
        self._tidy()
        handle = open_lock(self.folder / _LOCK, patience=patience, mode=0o600)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                os.close(handle)

    def _names(self, folder: Path) -> Iterator[str]:
        try:
            with os.scandir(folder) as found:
                yield from (each.name for each in found if each.name.endswith(_ENDING))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StoreError(f"{folder}: {error.strerror}", remedy=f"{VARIABLE} can name another place") from None

    def _next(self) -> str:
        """A name behind all that are there, also when the clock went back since; processes at once share no order."""
        if not self._last:
            newest = max(self._names(self.folder), default="0-")
            self._last = int(newest.partition("-")[0])
        self._last = max(self._last + 1, time.time_ns())
        return f"{self._last:020}-{os.urandom(3).hex()}{_ENDING}"

    def _tidy(self) -> None:
        """Removes half-written files of processes that were killed."""
        for path in self.folder.glob(f"*{whole_files.UNFINISHED}"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _FORGOTTEN:
                    path.unlink()

    def _make(self) -> None:
        if not (self.folder / _SERVER).exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            whole_files.write_text(self.folder / _SERVER, f"{self.server}\n", mode=0o600, durable=True)
