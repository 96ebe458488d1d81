"""A real sshd on loopback, with keys and a configuration of its own; nothing of the user's is read or written."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
# Carries bytes between ssh and a socket in another network.
PROXY = """
import os, socket, sys, threading
line = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def fetch():
    while data := line.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=fetch, daemon=True).start()
while data := os.read(0, 65536):
    line.sendall(data)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sshd:
    """A running sshd, and how ssh reaches it: `ssh -F config rack1`; `rack2` is the same machine by another name."""

    folder: Path
    port: int
    pid: int

    @property
    def options(self) -> str:
        """What BENCHWRIGHT_SSH_OPTIONS must hold."""
        return f"-F {self.folder / 'config'}"

    def sessions(self) -> list[int]:
        """The processes that serve one connection each."""
        return [pid for pid, _ in _children(self.pid)]

    def cut(self) -> None:
        """Ends every connection as a machine does that loses its power: nothing is said to anybody."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def running(folder: Path, *, inside: int = 0, address: str = "127.0.0.1", near: int = 0) -> Iterator[Sshd]:
    """Starts one and ends it with all of its sessions: here, or in the network namespace of the process `inside`.

    Who calls is then in that of `near`.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("hostkey", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_bytes((folder / "id.pub").read_bytes())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress {address}\nHostKey {folder}/hostkey\nAuthorizedKeysFile {folder}/authorized\n"
        "PasswordAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\nMaxStartups 100\n"
    )
    trust(folder, port, address)
    enter = ["nsenter", "--target", str(inside), "--net", "--"] if inside else []
    (folder / "proxy.py").write_text(PROXY)
    proxy = f" ProxyCommand nsenter --target {near} --net -- {sys.executable} {folder}/proxy.py %h %p\n"
    call = proxy if near else ""
    (folder / "config").write_text(
        f"Host rack*\n HostName {address}\n Port {port}\n User {getpass.getuser()}\n IdentityFile {folder}/id\n"
        f" IdentitiesOnly yes\n UserKnownHostsFile {folder}/known\n GlobalKnownHostsFile none\n"
        f" StrictHostKeyChecking yes\n{call}"
    )
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([*enter, SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
    try:
        _await_port(folder, server)
        yield Sshd(folder=folder, port=port, pid=server.pid)
    finally:
        for pid in [pid for pid, _ in _children(server.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        server.kill()
        server.wait()


def trust(folder: Path, port: int, address: str = "127.0.0.1") -> None:
    """Writes the machine's key where ssh looks for it."""
    kind, key = (folder / "hostkey.pub").read_text().split()[:2]
    (folder / "known").write_text(f"[{address}]:{port} {kind} {key}\n")


def _await_port(folder: Path, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and server.poll() is None:
        if b"listening" in (folder / "log").read_bytes():
            return
        time.sleep(0.05)
    raise RuntimeError(f"sshd does not answer: exit code {server.poll()}")


def _children(parent: int) -> list[tuple[int, str]]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = status.read_text().rpartition(")")
            if int(rest.split()[1]) == parent:
                found.append((int(status.parent.name), name.partition("(")[2]))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """Two namespaces with a cable between them: the far one holds an sshd, the near one those who call it."""

    near: int  # a process inside
    far: int

    def pull(self) -> None:
        """Takes the cable out: packets are lost, and nobody is told."""
        _inside(self.near, "ip", "link", "set", "near0", "down")

    def plug(self) -> None:
        """Puts it in again."""
        _inside(self.near, "ip", "link", "set", "near0", "up")


@contextlib.contextmanager
def behind_cable(folder: Path) -> Iterator[tuple[Sshd, Cable]]:
    """An sshd that is reached over a cable that can be pulled; needs root."""
    holders = [subprocess.Popen(["unshare", "--net", "sleep", "3600"]) for _ in range(2)]
    near, far = (holder.pid for holder in holders)
    try:
        own = Path("/proc/self/ns/net").readlink()
        while any(Path(f"/proc/{pid}/ns/net").readlink() == own for pid in (near, far)):
            time.sleep(0.02)
        _inside(near, "ip", "link", "add", "near0", "type", "veth", "peer", "name", "far0")
        _inside(near, "ip", "link", "set", "far0", "netns", str(far))
        for pid, name, address in ((near, "near0", "10.98.0.1/24"), (far, "far0", "10.98.0.2/24")):
            _inside(pid, "ip", "addr", "add", address, "dev", name)
            _inside(pid, "ip", "link", "set", name, "up")
            _inside(pid, "ip", "link", "set", "lo", "up")
        with running(folder, inside=far, address="10.98.0.2", near=near) as server:
            yield server, Cable(near=near, far=far)
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def _inside(pid: int, *command: str) -> None:
    subprocess.run(["nsenter", "--target", str(pid), "--net", "--", *command], check=True)
