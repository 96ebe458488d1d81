"""Sends what must not be lost: at once where that is possible, else from the spool, in order, as soon as it is.

No result is sent in the background: a thread that sends would disturb what is being measured.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchwright.errors import StoreError
from benchwright.store.remote import address, spool
from benchwright.store.remote.client import SILENCE, Caller, RefusedError, ServerAwayError
from benchwright.store.remote.request import ServerRequest, join_results
from benchwright.store.remote.spool import Spool

STALL = 2.0  # seconds that a result which was just measured waits for older ones to be sent
PATIENCE = 10.0  # seconds, at the end, for another process that sends, or for a server that asks to wait
BRIEF = 5.0  # seconds that a server which was in trouble may say nothing: it is tried between measurements
LEAST_PAUSE, MOST_PAUSE = 0.25, 60.0  # seconds between two tries
MOST_AT_ONCE, LARGEST_AT_ONCE = 100, 4 << 20  # results that go in one request, and bytes of them as they are packed
FINAL = frozenset({400, 404, 409, 413, 415, 422})  # with which a server refuses one of several results for good
COPIED = 4 << 20  # bytes; larger files wait where they are
_log = logging.getLogger("benchwright.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSummary:
    """The outcome of sending all requests that waited for a server."""

    server: str
    sent: int
    refused: int  # moved aside
    waiting: int
    why: str = ""  # anything still waits


class Outbox:
    """The way to one server. One object serves several threads."""

    def __init__(self, caller: Caller, spool: Spool) -> None:
        self.spool = spool
        self._caller = caller
        self._turn = threading.RLock()
        self._not_before, self._failures = 0.0, 0
        self._trouble: ServerAwayError | None = None
        self._told = False
        self._sent = self._refused = 0
        self._takes_several = True  # in one request, as far as is known

    @property
    def is_resting(self) -> bool:
        """Whether the server was in trouble a moment ago."""
        return time.monotonic() < self._not_before

    def send(self, request: ServerRequest) -> Mapping[str, Any] | None:
        """The server's answer; or None, and it waits on the disk. What is refused at once is a `StoreError`."""
        with self._turn:
            if self.spool.is_empty and not self.is_resting:
                try:
                    answer = self._caller(request)
                except ServerAwayError as trouble:
                    self.rest(trouble)
                else:
                    self._failures = 0
                    return answer
            self.spool.add(_copy_small_file(request).small())
            if not self._told:
                self._told = True
                why = (
                    self._trouble.message
                    if self._trouble
                    else f"{self.spool.server} has not yet received the earlier results"
                )
                tell(f"{why}; what is measured is kept in {self.spool.folder} until it can be sent")
            self.catch_up(STALL)
            return None

    def rest(self, trouble: ServerAwayError) -> None:
        """Leaves the server in peace for a while, longer each time."""
        pause = min(LEAST_PAUSE * 2.0 ** min(self._failures, 10), MOST_PAUSE)
        self._failures += 1
        self._not_before = time.monotonic() + max(pause, trouble.wait)
        self._trouble = trouble

    def catch_up(self, seconds: float) -> None:
        """Sends what waits, for so long at most, unless the server is to be left in peace or somebody else sends."""
        with self._turn:
            if not self.is_resting and not self.spool.is_empty:
                trouble = self._drain(time.monotonic() + seconds, silence=BRIEF if self._failures else SILENCE)
                if trouble is not None:
                    self.rest(trouble)
                else:
                    self._say_when_over()

    def finish(self) -> SendSummary:
        """Sends what waits as far as the server takes it now, and says what is left."""
        with self._turn:
            trouble, left = None, PATIENCE
            while not self.spool.is_empty:
                trouble = self._drain(math.inf, patience=PATIENCE)
                if trouble is None or not 0 < trouble.wait <= left:
                    break
                left -= trouble.wait
                time.sleep(trouble.wait)
            waiting = len(self.spool)
            why = "" if not waiting else trouble.message if trouble else "another process is sending"
            if waiting:
                tell(f"{why}; {waiting} wait in {self.spool.folder}: benchwright store send {self.spool.server}")
            self._say_when_over()
            return SendSummary(
                server=self.spool.server, sent=self._sent, refused=self._refused, waiting=waiting, why=why
            )

    def _say_when_over(self) -> None:
        """Tells a user who heard that requests wait on the disk when none of them waits any more."""
        if self._told and self.spool.is_empty:
            self._told, self._trouble = False, None
            tell(f"{self.spool.server} has everything that waited for it")

    def _drain(self, until: float, *, patience: float = 0.0, silence: float = SILENCE) -> ServerAwayError | None:
        """Sends entry after entry; returns what stopped it, if something did."""
        try:
            with self.spool.sending(patience) as ours:
                while ours and (entries := self.spool.entries()):
                    while entries:
                        if time.monotonic() > until:
                            return None
                        del entries[: self._take(entries, silence)]
                        self._failures = 0
        except ServerAwayError as trouble:
            return trouble
        except OSError as error:
            return ServerAwayError(f"{self.spool.folder}: {error.strerror}")
        return None

    def _take(self, entries: Sequence[Path], silence: float) -> int:
        """Sends the first entries of the spool: each is then removed, or put aside when the server refuses it.

        Returns how many they were: results of one run that stand behind each other go together.
        """
        try:
            first = self.spool.read(entries[0])
        except FileNotFoundError:  # somebody tidied up
            return 1
        except (ValueError, TypeError, KeyError) as error:
            self._put_aside(entries[0], entries[0].name, str(error))
            return 1
        together = self._read_together(entries, first) if self._takes_several else []
        if len(together) > 1 and self._send_together([*zip(entries, together, strict=False)], silence):
            return len(together)
        try:
            self._caller(first, silence=silence)
        except RefusedError as error:
            self._put_aside(entries[0], first.what, str(error))
        else:
            self._sent += 1
            self.spool.remove(entries[0])
        return 1

    def _read_together(self, entries: Sequence[Path], first: ServerRequest) -> list[ServerRequest]:
        """The first request and those behind it that can go with it, as far as one request may hold them."""
        found, size = [first], len(first.body)
        for entry in entries[1:MOST_AT_ONCE] if first.is_result else ():
            try:
                request = self.spool.read(entry)
            except (OSError, ValueError, TypeError, KeyError):  # it is seen to when its turn has come
                break
            size += len(request.body)
            if not request.is_result or request.run_path != first.run_path or size > LARGEST_AT_ONCE:
                break
            found.append(request)
        return found

    def _send_together(self, several: Sequence[tuple[Path, ServerRequest]], silence: float) -> bool:
        """Sends results of one run in one request; False where the server takes them one by one alone."""
        try:
            told = self._caller(join_results([request for _, request in several]), silence=silence).get("results")
        except RefusedError as error:
            self._takes_several = error.status not in (404, 405)  # a server of before knows no such request
            return False
        if not isinstance(told, list) or len(told) != len(several):
            self._takes_several = False
            return False
        for (entry, request), one in zip(several, told, strict=True):
            status = one.get("status") if isinstance(one, dict) else None
            if status in (200, 201):
                self._sent += 1
                self.spool.remove(entry)
            elif status in FINAL:
                self._put_aside(entry, request.what, f"{one.get('error')} ({one.get('remedy')})")
            else:  # what is left waits, in order
                raise ServerAwayError(f"{self.spool.server}: status {status} for {request.what}")
        return True

    def _put_aside(self, entry: Path, what: str, reason: str) -> None:
        self.spool.refuse(entry, reason)
        self._refused += 1
        tell(f"{what} is refused by {self.spool.server}, and kept in {entry.parent / 'refused'}: {reason}")


def tell(text: str) -> None:
    """A note to whoever asked: a warning of the logger `benchwright.store`, or a line on standard error."""
    if _log.hasHandlers():
        _log.warning(text)
        return
    clear = "\r\033[K" if sys.stderr.isatty() else ""  # there may be a line of progress
    sys.stderr.write(f"{clear}benchwright: {text}\n")


def _copy_small_file(request: ServerRequest) -> ServerRequest:
    """A small file is copied, so that it may go where it is; a larger one is read there when it is sent."""
    if not request.file or request.size > COPIED:
        return request
    try:
        return replace(request, file="", size=0, body=Path(request.file).read_bytes())
    except OSError as error:
        raise StoreError(f"{request.file}: {error.strerror}") from None


# ---- all that waits on this machine, for whichever server ----


def send_waiting(url: str | None = None, *, to: str | None = None, refused: bool = False) -> list[SendSummary]:
    """Sends what waits for the server at `url`, or for each; with `refused`, once more what a server refused.

    What waits for a server that will not come back can go `to` another one.
    """
    return [_send_to(server, to or server, refused=refused) for server in ([url] if url else spool.servers())]


def place_of(url: str) -> str:
    """Returns where what was just sent to `url` is now: on the server, or in the spool for the time being."""
    server = address.parse(url).url
    waiting = Spool(server)
    return server if waiting.is_empty else f"{waiting.folder} until {server} takes it"


def _send_to(server: str, to: str, *, refused: bool) -> SendSummary:
    with closing(Caller(address.parse(to))) as caller:
        outbox = Outbox(caller, Spool(address.parse(server).url))
        if refused:
            outbox.spool.take_back()
        return outbox.finish()
