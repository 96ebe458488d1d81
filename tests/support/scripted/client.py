"""The scripted server as tests see it: started, told what to play, asked what it saw."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripted import script as scripts
from scripted import seen
from scripted.script import Script

SUPPORT = Path(__file__).parents[1]
START = "import sys; sys.path.insert(0, sys.argv[1]); from scripted.serving import main; main()"
PATIENCE = 20.0  # seconds for the server to end


@dataclass(frozen=True, slots=True)
class Stage:
    """Scripts that are on: requests below `url` get them."""

    server: ScriptedServer
    name: str

    @property
    def url(self) -> str:
        """What stands before a path, such as `/v1/chat/completions`."""
        return f"{self.server.url}/@{self.name}"

    def log(self, count: int = 0, settle: float = 5.0) -> list[seen.Exchange]:
        """What happened here, in the order of arrival. Waits for so many requests, and a while for their ends."""
        return self.server.log(self.name, count, settle)


class ScriptedServer:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._names = (f"s{number}" for number in itertools.count(1))
        self._turn = threading.Lock()
        self.port: int = json.loads(_line(process))["port"]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def play(
        self,
        *script: Script,
        name: str = "",
        slots: int = 0,
        cycles: bool = False,
        methods: tuple[str, ...] = ("POST",),
        closes_after: int = 0,
    ) -> Stage:
        """Puts scripts on a stage: the k-th request there gets the k-th, and the last one is repeated, or all `cycles`.

        At most `slots` requests are answered at a time; the others wait. After `closes_after` requests a connection is
        closed without a word. Requests of other methods than these get the path's own answer. An empty name is made up;
        the name `""` of `log` is everything that is asked for outside of stages.
        """
        name = name or next(self._names)
        given = [scripts.encode(one) for one in script or (Script(),)]
        options = {"cycles": cycles, "methods": methods, "closes_after": closes_after, "slots": slots}
        self._order("play", name=name, scripts_given=given, **options)
        return Stage(self, name)

    def log(self, name: str | None = None, count: int = 0, settle: float = 5.0) -> list[seen.Exchange]:
        """What was asked and answered so far; waits for so many requests, and a while (seconds) for their ends."""
        return [seen.decode(one) for one in self._order("log", name=name, count=count, settle=settle)]

    def connections(self) -> list[seen.Connection]:
        """Every connection since the last reset."""
        return [seen.Connection(**one) for one in self._order("connections")]

    def stall(self, *, begin_ns: int, length_ns: int) -> None:
        """Has the whole server stand still from that instant (of `time.perf_counter_ns`) on."""
        self._order("stall", begin_ns=begin_ns, length_ns=length_ns)

    def stalls(self) -> list[tuple[int, int]]:
        """When it stood still: begin and end of each time."""
        return [(begin, end) for begin, end in self._order("stalls")]

    def set_door(self, state: str) -> None:
        """What new connections find: "open", "shut" (refused), "slam" (closed at once) or "reset"."""
        self._order("door", state=state)

    def listen_tls(self, certificate: Path, key: Path) -> str:
        """The address of one more door, with TLS; the host's name is `localhost`."""
        return f"https://localhost:{self._order('tls', certificate=str(certificate), key=str(key))}"

    def reset(self) -> None:
        """Forgets scripts and log and closes connections; complains about what went wrong inside."""
        errors = self._order("reset")
        assert errors == [], errors

    def _order(self, action: str, **others: Any) -> Any:
        with self._turn:
            assert self._process.stdin
            self._process.stdin.write(json.dumps({"do": action, **others}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(_line(self._process))
        assert "error" not in answer, answer["error"]
        return answer["answer"]


@contextlib.contextmanager
def running() -> Iterator[ScriptedServer]:
    """Starts a server, and ends it."""
    command = [sys.executable, "-I", "-S", "-c", START, str(SUPPORT)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True
    )
    try:
        yield ScriptedServer(process)
    finally:
        assert process.stdin and process.stdout
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port of the loopback where connections are refused, and which nobody else gets meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    line = process.stdout.readline()
    assert line, f"the scripted server ended with {process.wait()}"
    return line
