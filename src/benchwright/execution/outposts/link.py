"""The parent's end of the line to an outpost: a child process, `ssh` for example, whose pipes reach it.

The line begins with a few bytes of plain text, because a login may greet before anything of ours runs. Then it carries
frames both ways. Whatever breaks is a `LinkError` that says what the child said last.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import subprocess
import threading
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchwright.errors import ChannelError, LinkError, MeasureError, OptionError
from benchwright.execution.hosts.local import WorkerLog
from benchwright.execution.outposts import bundles
from benchwright.execution.outposts.archive import OutpostArchive
from benchwright.execution.outposts.outpost import BEAT, PROTOCOL, SILENCE
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.worker.channel import Frame, FrameReader, write_message

READ = 1 << 20
FIRST_WORD = 60.0  # seconds until something of ours speaks over there
MOST_GREETING = 1 << 18  # bytes that a login may print before
CLOSING = 5.0  # seconds for the child to end by itself
OURS = "benchwright: "  # begins a line that a program of ours prints as an error
SHOWN = 400  # characters of what it printed

Tell = Callable[[str], None]


class Link:
    """A line to one outpost; it exists as long as its child process does."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        archive: OutpostArchive,
        home: str = "",
        patience: float = FIRST_WORD,
    ) -> None:
        self.name = name
        self._token = os.urandom(TOKEN_BYTES)
        self._reader = FrameReader(self._token)
        self._waiting: list[Frame] = []
        self.notice = ""  # that the machine at the other end is about to be taken away, and when
        self._lock = threading.Lock()
        self._log = WorkerLog()
        self._closed = threading.Event()
        self._heard_at = time.monotonic()
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log.fileno(),
                start_new_session=True,  # Ctrl-C is for the parent, which then ends what is under way over there
                bufsize=0,
            )
        except OSError as error:
            self._log.close()
            raise OptionError(f"{command[0]} cannot be started: {error.strerror}", remedy="is it installed?") from None
        assert self._child.stdin is not None and self._child.stdout is not None
        self._to, self._from = self._child.stdin.fileno(), self._child.stdout.fileno()
        try:
            self._greet(archive, home, patience)
            hello = self.hear_one("hello", seconds=FIRST_WORD)
            if hello.data.get("protocol") != PROTOCOL:
                raise LinkError(f"{name}: the outpost speaks another protocol")
            self.root = str(hello.data.get("root", ""))
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._beat, name="benchwright-beat", daemon=True).start()

    # ---- messages ----

    def say(self, kind: str, /, **data: Any) -> None:
        """Sends a message without arrays."""
        self.send(Frame(kind=kind, data=data))

    def send(self, frame: Frame) -> None:
        """Sends any message; a `LinkError` when nobody is there any more."""
        with self._lock:
            try:
                if self._closed.is_set():  # the number of its descriptor may be somebody else's by now
                    raise BrokenPipeError
                write_message(self._to, self._token, frame)
            except (OSError, ValueError):
                raise self._broken() from None

    def hear(self, seconds: float) -> Frame | None:
        """The next message, or None when none came within so many seconds. Signs of life are no messages."""
        deadline = time.monotonic() + seconds
        while True:
            if self._waiting:
                return self._waiting.pop(0)
            left = deadline - time.monotonic()
            if left < 0:
                return None
            if time.monotonic() - self._heard_at > SILENCE:
                raise LinkError(
                    f"{self.name}: nothing was heard for {SILENCE:g} s", remedy="is the machine still on the network?"
                )
            if select.select([self._from], [], [], min(left, 1.0))[0]:
                self._take(self._read())

    def look(self) -> None:
        """Takes in what has come by now, without waiting."""
        while select.select([self._from], [], [], 0)[0]:
            self._take(self._read())

    def hear_one(self, kind: str, *, seconds: float) -> Frame:
        """The message of this kind, which must be the next. A refusal is raised as what it is."""
        frame = self.hear(seconds)
        if frame is None:
            raise LinkError(f"{self.name}: no answer within {seconds:g} s", remedy="is that machine very busy?")
        if frame.kind == "refused":
            raise MeasureError(f"{self.name}: {frame.data.get('message')}", remedy=str(frame.data.get("remedy", "")))
        if frame.kind != kind:
            raise LinkError(f"{self.name}: the outpost answered {frame.kind!r} where {kind!r} was expected")
        return frame

    def hear_answer(self, kind: str, *, seconds: float, tell: Tell) -> Frame:
        """The answer to what takes long; what is being done meanwhile is told. A refusal is raised as what it is."""
        deadline = time.monotonic() + seconds
        while (frame := self.hear(max(0.0, deadline - time.monotonic()))) is not None:
            if frame.kind == kind:
                return frame
            if frame.kind == "phase":
                tell(str(frame.data.get("text", ""))[:SHOWN])
            elif frame.kind == "refused":
                remedy = str(frame.data.get("remedy", ""))
                raise MeasureError(f"{self.name}: {frame.data.get('message')}", remedy=remedy)
        raise LinkError(f"{self.name}: no answer within {seconds:g} s", remedy="is that machine very busy?")

    # ---- files ----

    def send_files(self, files: Mapping[str, bundles.SentFile], tell: Tell) -> list[str]:
        """Sends what is not over there yet; the paths of files that changed while they were read."""
        from benchwright import schema

        listed = [schema.encode(one) for one in files.values()]
        self.say("files", files=listed)
        answer = self.hear_one("lacking", seconds=SILENCE).data
        lacking = {*answer["digests"]}
        wanted = {one.sha256: one for one in files.values() if one.sha256 in lacking}
        size = sum(one.size for one in wanted.values())
        if size > answer["free"]:
            raise MeasureError(
                f"{self.name}: {size / 1e6:.0f} MB are to be sent, and {answer['free'] / 1e6:.0f} MB are free there",
                remedy="make room on that machine: benchwright keeps what it was sent in ~/.cache/benchwright",
            )
        sent, changed = 0, []
        for one in wanted.values():
            if not self._send_file(one, sent, size, tell):
                changed += [path for path, other in files.items() if other.sha256 == one.sha256]
            sent += one.size
        return changed

    def _send_file(self, one: bundles.SentFile, sent: int, size: int, tell: Tell) -> bool:
        with open(one.path, "rb") as file:  # noqa: PTH123
            left = one.size
            for piece in bundles.pieces_of(file):
                left -= len(piece)
                sent += len(piece)
                body = array("q", bundles.padded(piece))
                data = {"sha256": one.sha256, "size": len(piece), "last": left <= 0}
                self.send(Frame(kind="piece", data=data, arrays={"bytes": body}))
                if size > bundles.PIECE:
                    tell(f"sending files, {sent / 1e6:.0f} of {size / 1e6:.0f} MB")
                if left < 0:  # it has grown
                    break
        if left > 0:  # it was cut while it was read: what was sent cannot be what was announced
            self.send(
                Frame(kind="piece", data={"sha256": one.sha256, "size": 0, "last": True}, arrays={"bytes": array("q")})
            )
        return bool(self.hear_one("shelved", seconds=SILENCE).data.get("whole"))

    # ---- the end ----

    def close(self) -> None:
        """Ends the line; the outpost ends when it sees that."""
        self._closed.set()
        if self._child.stdin is not None:
            with self._lock, contextlib.suppress(OSError):
                self._child.stdin.close()
        try:
            self._child.wait(CLOSING)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()
        self._log.close()

    def find_line(self, beginning: str) -> str:
        """What follows this beginning in the last line of the child's errors that has it; "" where none has."""
        lines = [line for line in self._log.tail().splitlines() if line.startswith(beginning)]
        return lines[-1].removeprefix(beginning).strip()[:SHOWN] if lines else ""

    @property
    def printed(self) -> str:
        """The end of what the child process printed as errors; what a program of ours says counts before the rest."""
        said = self._log.tail().strip()
        ours = [line for line in said.splitlines() if line.startswith(OURS)]
        return ours[-1].removeprefix(OURS)[:SHOWN] if ours else said[-SHOWN:]

    # ---- inside ----

    def _greet(self, archive: OutpostArchive, home: str, patience: float) -> None:
        """Tells which outpost is wanted, and sends it where it is not there yet."""
        mark = f"BENCHWRIGHT-{self._token.hex()} ".encode()
        hello = {
            "token": self._token.hex(),
            "digest": archive.digest,
            "home": home,
            "directory": str(Path.cwd()),
            "variables": bundles.sent_variables(),
        }
        self._write(json.dumps(hello).encode() + b"\n")
        answer = self._read_line(mark, patience)
        if answer.get("want"):
            content = archive.content
            sent = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            self._write(json.dumps(sent).encode() + b"\n" + content)
            answer = self._read_line(mark, FIRST_WORD)
        if "error" in answer:
            raise LinkError(f"{self.name}: {answer['error']}", remedy=str(answer.get("remedy", "")))

    def _read_line(self, mark: bytes, seconds: float) -> dict[str, Any]:
        """What stands behind the mark, which only our own program over there can know."""
        seen, deadline = b"", time.monotonic() + seconds
        while len(seen) < MOST_GREETING:
            if not select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise LinkError(f"{self.name}: no answer within {seconds:g} s", remedy="is that machine very busy?")
            data = os.read(self._from, 1)  # the first byte of a frame may follow the line at once
            if not data:
                raise self._broken()
            seen += data
            if data == b"\n" and mark in seen:
                return self._decode_line(seen.partition(mark)[2])
        raise LinkError(f"{self.name}: its login prints without end", remedy="let it print nothing where no person is")

    def _decode_line(self, line: bytes) -> dict[str, Any]:
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise LinkError(f"{self.name}: what starts over there speaks another language")
        return told

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._to, view) :]
        except OSError:
            raise self._broken() from None

    def _read(self) -> bytes:
        try:
            data = os.read(self._from, READ)
        except OSError:
            data = b""
        if not data:
            raise self._broken()
        return data

    def _take(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        try:
            self._reader.feed(data)
            for frame in iter(self._reader.next, None):
                if frame.kind == "notice":  # may come at any moment, between any two messages
                    self.notice = str(frame.data.get("text", ""))[:SHOWN]
                elif frame.kind != "beat":
                    self._waiting.append(frame)
        except ChannelError as error:
            raise LinkError(f"{self.name}: {error.message}") from None

    def _broken(self) -> LinkError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(2.0)
        code, said = self._child.poll(), self.printed
        how = "the line broke" if code is None else f"the line ended with code {code}"
        return LinkError(f"{self.name}: {how}{': ' if said else ''}{said}")

    def _beat(self) -> None:
        while not self._closed.wait(BEAT):
            with contextlib.suppress(LinkError):
                self.say("beat")
