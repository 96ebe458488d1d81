"""Phones for the tests: the real `adb` with a server of its own, and small adbds that it takes for devices.

Test modules take its fixtures by name: `plug_in = phones.plug_in`. With BENCHWRIGHT_ADBD set to a real adbd (see
`scripts/adbd`) that one is started instead; it binds every interface, so run the tests in a network namespace then.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchwright.errors import DeviceError
from benchwright.machine.devices.adb_client import ask, find_program

REAL = os.environ.get("BENCHWRIGHT_ADBD", "")
MODERN = ("shell_v2", "cmd", "stat_v2", "ls_v2")
PROPERTIES = """\
[ro.product.model]: [Small Phone]
[ro.product.cpu.abi]: [arm64-v8a]
[ro.build.version.release]: [14]
[ro.build.version.sdk]: [34]
[ro.build.version.incremental]: [12345]
"""
BATTERY = """\
Current Battery Service state:
  AC powered: false
  USB powered: true
  Wireless powered: false
  status: 2
  level: 83
  temperature: {tenths}
"""
SCRIPTS = {
    "getprop": 'case "$1" in "") cat "$SMALL_ADBD/properties";; *) cat "$SMALL_ADBD/booted";; esac',
    "dumpsys": 'cat "$SMALL_ADBD/$1"',
    "input": 'echo "$*" >>"$SMALL_ADBD/keys"\n'
    '[ "$2" = 223 ] && s=OFF || s=ON; echo "Display Power: state=$s" >"$SMALL_ADBD/power"',
    "logcat": 'cat "$SMALL_ADBD/log"; echo "$*" >>"$SMALL_ADBD/logcat-calls"',
    "log": 'shift 2; echo "$*" >>"$SMALL_ADBD/log"',
}


@dataclass(slots=True, kw_only=True)
class Phone:
    """A device that adb knows."""

    serial: str
    root: Path
    process: subprocess.Popen[str]

    @property
    def base(self) -> Path:
        """Its /data/local/tmp."""
        return self.root / "data" / "local" / "tmp"

    @property
    def text(self) -> str:
        """What `open_device` takes."""
        return f"adb:{self.serial},{self.base}"

    def warm(self, celsius: float) -> None:
        """Lets its battery be so warm."""
        (self.root / "battery.new").write_text(BATTERY.format(tenths=round(10 * celsius)))
        (self.root / "battery.new").replace(self.root / "battery")

    def unplug(self) -> None:
        """Breaks the connection, and accepts no other one; what runs there goes on."""
        if REAL:
            self.process.kill()
            return
        assert self.process.stdin is not None
        self.process.stdin.write("unplug\n")
        self.process.stdin.flush()


@pytest.fixture(scope="module")
def adb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server of adb that nobody else uses, with keys of its own; adb finds it while the module's tests run."""
    home = tmp_path_factory.mktemp("adb")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch, (home / "server.log").open("wb") as log:
        patch.setenv("ANDROID_ADB_SERVER_PORT", str(port))
        patch.setenv("ANDROID_USER_HOME", str(home))  # where its keys are
        patch.setenv("ADB_LOCAL_TRANSPORT_MAX_PORT", "1")  # no scan for emulators
        patch.setenv("ADB_MDNS_OPENSCREEN", "0")  # no word to the network
        patch.setenv("ADB_USB", "0")  # no phone of whoever runs the tests
        private = {**os.environ, "HOME": str(home), "TMPDIR": str(home)}
        server = subprocess.Popen([find_program(), "nodaemon", "server"], env=private, stdout=log, stderr=log)
        try:
            _until_listening(port)
            yield
        finally:
            server.terminate()
            server.wait(10)


@pytest.fixture(scope="module")
def plug_in(adb_server: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Phone]]:
    """`plug_in(*features)` connects one more phone; without features, an old one."""
    phones: list[Phone] = []

    def plug_in(*features: str) -> Phone:
        root = tmp_path_factory.mktemp("phone")
        _furnish(root)
        port, process = _real(root) if REAL else _small(root, features)
        phones.append(Phone(serial=f"127.0.0.1:{port}", root=root, process=process))
        assert "connected" in ask("connect", phones[-1].serial)
        ask("-s", phones[-1].serial, "wait-for-device", seconds=20)
        return phones[-1]

    yield plug_in
    for phone in phones:
        with contextlib.suppress(DeviceError):  # unplugged
            ask("disconnect", phone.serial)
        phone.process.kill() if REAL else None
        phone.process.communicate(timeout=10)  # a small one ends at the end of its input


@pytest.fixture(scope="module")
def phone(plug_in: Callable[..., Phone]) -> Phone:
    """A phone as they are today, for all tests of the module."""
    return plug_in(*MODERN)


def _small(root: Path, features: tuple[str, ...]) -> tuple[int, subprocess.Popen[str]]:
    script = Path(__file__).with_name("adbd.py")
    process = subprocess.Popen(
        [sys.executable, "-S", str(script), str(root), *features],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return int(process.stdout.readline()), process


def _real(root: Path) -> tuple[int, subprocess.Popen[str]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = f"{root}/bin:{os.environ['PATH']}"
    env = {**os.environ, "ADBD_PORT": str(port), "PATH": path, "SMALL_ADBD": str(root)}
    with (root / "adbd.log").open("wb") as log:
        process = subprocess.Popen([REAL], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True)
    _until_listening(port)
    return port, process


def _until_listening(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, f"nobody listens on port {port}"
        time.sleep(0.02)


def _furnish(root: Path) -> None:
    """The folders and programs of a phone."""
    (root / "data" / "local" / "tmp").mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "properties").write_text(PROPERTIES)
    (root / "booted").write_text("1\n")
    (root / "battery").write_text(BATTERY.format(tenths=300))
    (root / "power").write_text("  mWakefulness=Awake\nDisplay Power: state=ON\n")
    for name, body in SCRIPTS.items():
        path = root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
