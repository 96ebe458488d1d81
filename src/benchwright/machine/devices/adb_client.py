"""The `adb` program: found, called with argument lists, and never waited for without end.

Scripts run on a device through `exec-out`, which every Android since 5 has and which hands their output on byte for
byte. How a script ended is told by a mark it prints last, so a connection that broke is never taken for an end.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import selectors
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

from benchwright.errors import DeviceError, LostDeviceError, MeasureError, NotInstalledError
from benchwright.system.scratch import JOB_VARIABLE

CALL = 30.0  # seconds for a small question; the first one also starts adb's server
STOP = 2.0  # seconds that the client may take to end
LONGEST = 3000  # bytes of a script that even an old device takes as a command
_READ = 1 << 18
_PREFIXES = ("adb: ", "error: ", "* ")
_GONE = ("not found", "device offline", "no devices", "closed", "disconnected", "couldn't read from device")


def find_program() -> str:
    """The adb of PATH, of the Android SDK, or of the `adbutils` package, in this order."""
    if found := shutil.which("adb"):
        return found
    roots = [os.environ.get(name, "") for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT")]
    places = [Path(root, "platform-tools", "adb") for root in roots if root]
    package = importlib.util.find_spec("adbutils")  # looked up, not imported
    places += [Path(folder, "binaries", "adb") for folder in (package and package.submodule_search_locations) or ()]
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    raise NotInstalledError("adb, the Android Debug Bridge,", "'benchwright[android]'")


def quote_word(word: str) -> str:
    """A word that the device's shell takes as it is: single quotes, which mean the same to every POSIX shell."""
    if "\0" in word:
        raise MeasureError(f"{word!r} cannot be an argument: it holds a zero byte")
    return shlex.quote(word)


def ask(*arguments: str, seconds: float = CALL) -> str:
    """What `adb ARGUMENTS...` prints; a `DeviceError` with its own words when it fails or takes too long."""
    try:
        ended = subprocess.run(
            [find_program(), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        raise DeviceError(f"adb {_verb(arguments)} took more than {seconds:g} s", remedy="adb reconnect") from None
    text = ended.stdout.decode(errors="replace")
    if ended.returncode != 0:
        said = last_words(ended.stderr) or last_words(ended.stdout)
        lost = arguments[:1] == ("-s",) and any(words in said for words in _GONE)
        raise (LostDeviceError if lost else DeviceError)(f"adb {_verb(arguments)}: {said}")
    return text


class DeviceScript:
    """A script that runs on a device, and what it prints. The script leaves its exit code in `code`."""

    def __init__(self, serial: str, script: str, *, last: str = "") -> None:
        self._ending = EndMarkFilter(secrets.token_hex(16))
        self._over = False
        self._complaint: str | None = None
        whole = f'{script}\necho "{self._ending.mark} $code"\n{last}'
        self._process = subprocess.Popen(
            [find_program(), "-s", serial, "exec-out", whole],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            bufsize=0,
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def code(self) -> int | None:
        """The script's exit code; None until the script has ended, and always when the connection ended first."""
        return self._ending.code

    @property
    def is_connected(self) -> bool:
        """Whether the connection still stands."""
        return self._process.poll() is None

    def next(self, seconds: float) -> bytes | None:
        """What it printed within so many seconds, perhaps nothing yet; None when there is no more to come."""
        if self.code is not None:
            return None
        if not self._selector.select(max(0.0, seconds)):
            return b""
        data = os.read(self._output.fileno(), _READ)
        self._over = not data
        return self._ending.feed(data) if data else None

    def stop(self) -> str:
        """Ends the client, not the script; what adb complained about."""
        if self._complaint is None:
            self._selector.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                if self._over:
                    self._process.wait(STOP)  # by itself, with a last word
            self._process.kill()
            _, complaint = self._process.communicate()
            self._complaint = last_words(complaint)
        return self._complaint


def run_script(serial: str, script: str, *, seconds: float = CALL) -> tuple[int, bytes]:
    """Runs a script of ours to its end: its exit code and all that it printed."""
    deadline, heard = time.monotonic() + seconds, bytearray()
    with DeviceScript(serial, f"( {script}\n) 2>&1 </dev/null; code=$?") as stream:
        while (data := stream.next(deadline - time.monotonic())) is not None:
            heard += data
            if time.monotonic() >= deadline:
                raise DeviceError(f"{serial} did not answer within {seconds:g} s", remedy="is it awake? adb reconnect")
        complaint = stream.stop()
    if stream.code is None:
        raise lost_device_error(serial, complaint)
    return stream.code, bytes(heard)


def lost_device_error(serial: str, complaint: str) -> LostDeviceError:
    """The error of a device that cannot be reached."""
    said = complaint or "the connection ended"
    return LostDeviceError(
        f"{serial}: {said}", remedy="see `adb devices`: it must be connected, and allowed on its screen"
    )


class EndMarkFilter:
    """Takes the mark of a script's end off its output, and passes everything else on as soon as it is certain."""

    def __init__(self, token: str) -> None:
        self.mark = f"benchwright-{token}"
        self.code: int | None = None
        self._wanted = f"{self.mark} ".encode()
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What of `data`, and of what was held back, is the script's own output."""
        self._held += data
        at = self._held.find(self._wanted)
        if at < 0:
            keep = _overlap(self._held, self._wanted)
            passed, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
            return passed
        passed, self._held = self._held[:at], self._held[at:]
        number, newline, _ = self._held[len(self._wanted) :].partition(b"\n")
        if newline:
            self.code = int(number)
        return passed


def last_words(said: bytes) -> str:
    """The last line of what a program complained, without its own name in front."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    words = lines[-1] if lines else ""
    for prefix in _PREFIXES:
        words = words.removeprefix(prefix)
    return words


def _overlap(data: bytes, mark: bytes) -> int:
    """How many bytes at the end of `data` could be the beginning of `mark`."""
    return next((size for size in range(min(len(data), len(mark) - 1), 0, -1) if data.endswith(mark[:size])), 0)


def _verb(arguments: tuple[str, ...]) -> str:
    return arguments[2] if arguments[:1] == ("-s",) else arguments[0]


def _environment() -> dict[str, str]:
    """Returns the environment without the job's token: the first call starts adb's server, which outlives the job."""
    return {name: value for name, value in os.environ.items() if name != JOB_VARIABLE}
