"""A server as a process, agents as processes, and somebody who submits small jobs: for tests of the lab."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchwright import schema
from benchwright.execution.outposts.orders import EnvironmentOrder
from benchwright.records import Case, Load, Mode, Run, Target
from benchwright.records.lab import LabJob, LabWork
from benchwright.store.sql import SqlStore

PATIENCE = 60.0
T = TypeVar("T")


def command_case(name: str, line: str = "true", **load: Any) -> Case:
    """A case that starts a program once."""
    issued = Load(**{"mode": Mode.SINGLE, "warmup": 0.0, "timeout": 60.0, **load})
    return Case(name=name, target=Target(runtime="command", uri=line), params={"name": name}, load=issued)


def python_case(name: str, uri: str, **load: Any) -> Case:
    """A case that calls a function of a sent file."""
    issued = Load(**{"samples": 3, "warmup": 0.0, "loops": 1, "timeout": 60.0, **load})
    return Case(name=name, target=Target(runtime="python", uri=uri), load=issued)


@dataclass
class LabServer:
    """`benchwright serve` in a process, on a port of its own that stays the same when it is started again."""

    folder: Path
    lease: float = 60.0
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        if not self.port:
            with socket.socket() as listening:
                listening.bind(("127.0.0.1", 0))
                self.port = listening.getsockname()[1]
        code = (
            "import sys; from pathlib import Path; from benchwright.server.process import serve;"
            "from benchwright.server.settings import ServerSettings;"
            f"serve(ServerSettings(store_url={str(self.folder / 'results.db')!r}, artifacts=Path({str(self.folder)!r}),"
            f" require_token=True, lab_lease={self.lease}), port={self.port}, ready=lambda url: None)"
        )
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen([sys.executable, "-c", code], stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(f"{self.url}api/v1/about", timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()
                assert time.monotonic() < end
                time.sleep(0.05)

    def kill(self) -> None:
        """Kills it with -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def cpu_seconds(self) -> float:
        """What it used so far."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def token(self, name: str, scope: str) -> str:
        """A token of that name, made in the server's own database."""
        if name not in self.tokens:
            self.tokens[name] = self.store_do(lambda store: store.token_add(name, scope))
        return self.tokens[name]

    def ask(self, method: str, path: str, body: Any = None, *, who: str = "mia", scope: str = "write") -> Any:
        """What the server answers to somebody, as JSON."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token(who, scope)}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.url}api/v1/{path}", data=content, headers=headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.code} {error.read()[:500]!r}") from None

    def submit(
        self,
        run: str,
        cases: Sequence[Case],
        *,
        files: Sequence[Path] = (),
        rounds: int = 1,
        who: str = "mia",
        phone: str = "",
        environment: EnvironmentOrder | None = None,
        **words: Any,
    ) -> Any:
        """Submits cases with files; their folder is where they are measured."""
        directory = str(files[0].parent) if files else "/"
        listed = []
        for path in files:
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            self.ask("PUT", f"lab/files/{digest}", content, who=who)
            listed.append({"path": str(path), "sha256": digest, "size": len(content), "executable": True})
        parcel: dict[str, Any] = {
            "files": listed,
            "folders": [directory],
            "places": [str(path) for path in files],
            "directory": directory,
        }
        if environment is not None:
            parcel["environment"] = schema.encode(environment)
        header = schema.encode(Run(id=run, started_at="2026-03-01T10:00:00+00:00", harness="1"))
        jobs = [
            {"work": schema.encode(LabWork(case=case, rounds=rounds, paths=(directory,), phone=phone)), "parcel": 0}
            for case in cases
        ]
        wish = {"run": header, "parcels": [parcel], "jobs": jobs, **words}
        return self.ask("POST", "lab/submissions", wish, who=who)

    def store_do(self, look: Callable[[SqlStore], T]) -> T:
        """What a function finds in the server's own database."""
        with contextlib.closing(SqlStore(f"sqlite:///{self.folder / 'results.db'}")) as store:
            return look(store)

    def jobs(self, run: str) -> list[LabJob]:
        """The jobs of a run."""
        return self.store_do(lambda store: store.lab.jobs(run))

    def await_machine(self, *names: str) -> None:
        """Waits until these machines are offered."""
        self._await(lambda store: {*names} <= {one.name for one in store.lab.machines() if one.is_offered}, PATIENCE)

    def wait_for(self, run: str, count: int, seconds: float = PATIENCE) -> Run:
        """The run, when so many of its jobs have ended."""
        self._await(lambda store: sum(not job.state.is_open for job in store.lab.jobs(run)) >= count, seconds)
        return self.store_do(lambda store: store.run(run))

    def _await(self, is_true: Callable[[SqlStore], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        with contextlib.closing(SqlStore(f"sqlite:///{self.folder / 'results.db'}")) as store:
            while not is_true(store):
                assert time.monotonic() < end, store.lab.state(now=time.time_ns() // 1000, limit=3)
                time.sleep(0.2)


@contextlib.contextmanager
def lab_server(folder: Path, *, lease: float = 60.0) -> Iterator[LabServer]:
    """A server that is up."""
    server = LabServer(folder, lease=lease)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@dataclass
class LabAgent:
    """`benchwright agent` in a process."""

    server: LabServer
    name: str
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        return self.server.folder / f"agent-{self.name}"

    @property
    def log(self) -> Path:
        return self.server.folder / f"agent-{self.name}.log"

    def start(self) -> None:
        """Starts it."""
        self.folder.mkdir(exist_ok=True)
        token = self.server.folder / "agent.token"
        if not token.exists():
            token.touch(mode=0o600)
            token.write_text(self.server.token("rack", "agent"))
        words = [sys.executable, "-m", "benchwright", "agent", "--server", self.server.url, "--token-file", str(token)]
        words += ["--agent-name", self.name, "--folder", str(self.folder / "own"), "--no-self-check", *self.options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)

    def kill(self) -> None:
        """Kills it with -9; nothing of it must go on."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Kills it if it still works."""
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = PATIENCE) -> int:
        """Asks it to end; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextlib.contextmanager
def lab_agent(server: LabServer, name: str, *options: str) -> Iterator[LabAgent]:
    """An agent that was started."""
    agent = LabAgent(server, name, options)
    agent.start()
    try:
        yield agent
    finally:
        agent.stop()
