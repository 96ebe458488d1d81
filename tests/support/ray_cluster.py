"""A real Ray cluster on this machine, in a network of its own: a head, and nodes that can be lost."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "BENCHWRIGHT_RAY_PYTHON"
PORT = 26379
STARTING = 90.0  # seconds for a node
QUICK = {  # so that a lost node is noticed in seconds
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


@dataclass(slots=True, kw_only=True)
class Cluster:
    """A running cluster."""

    folder: Path
    python: str
    inside: int  # a process in its network
    short: str  # a folder whose sockets have paths that the kernel takes
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where it is reached, from inside."""
        return f"127.0.0.1:{PORT}"

    @property
    def driver(self) -> Path:
        """A Python with Ray that reaches the cluster from outside."""
        return self.folder / "driver"

    def add(self, address: str, resources: str = "{}", labels: str = "") -> None:
        """Starts a node; the first one is the head."""
        where = (
            ["--address", self.address] if self.nodes else ["--head", "--port", str(PORT), "--include-dashboard=false"]
        )
        more = ["--labels", labels] if labels else []
        ray = str(Path(self.python).with_name("ray"))
        log = (self.folder / f"{address}.log").open("wb")
        with log:
            self.nodes[address] = subprocess.Popen(
                [
                    *("nsenter", "--target", str(self.inside), "--net", "--", ray, "start", *where),
                    *("--node-ip-address", address, "--num-cpus", "1", "--object-store-memory", "100000000"),
                    *("--temp-dir", self.short, "--resources", resources, *more),
                    *("--disable-usage-stats", "--block"),
                ],
                env={**os.environ, **QUICK, "XDG_CACHE_HOME": str(self.folder / "cache")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + STARTING
        while b"block forever" not in (self.folder / f"{address}.log").read_bytes():
            assert time.monotonic() < deadline and self.nodes[address].poll() is None, (
                self.folder / f"{address}.log"
            ).read_text()
            time.sleep(0.2)

    def lose(self, address: str) -> None:
        """Ends a node as a loss of power does."""
        for pid in self.processes(address):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.nodes.pop(address).wait()

    def processes(self, address: str) -> list[int]:
        """Every process of a node, by what it was started with."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes()
                if address.encode() in words and self.short.encode() in words:
                    found.append(int(path.parent.name))
        return found


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A network with nothing in it yet; ends every process that was started there."""
    folder.mkdir(exist_ok=True)
    holder = subprocess.Popen(["unshare", "--net", "sleep", "3600"])
    own = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
        time.sleep(0.02)
    subprocess.run(["nsenter", "--target", str(holder.pid), "--net", "ip", "link", "set", "lo", "up"], check=True)
    short = tempfile.mkdtemp(prefix="bw-")
    cluster = Cluster(folder=folder, python=os.environ[VARIABLE], inside=holder.pid, short=short)
    cluster.driver.write_text(f'#!/bin/sh\nexec nsenter --target {holder.pid} --net -- {cluster.python} "$@"\n')
    cluster.driver.chmod(0o755)
    try:
        yield cluster
    finally:
        for address in list(cluster.nodes):
            cluster.lose(address)
        holder.kill()
        holder.wait()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if short.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), 9)
