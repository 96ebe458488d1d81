"""An Android device behind `adb`: a private folder on it, programs run there, and nothing of ours stays.

A script on the device, the keeper, waits at the other end of an open connection. When that connection ends - because
the device is closed, the worker was killed or the cable pulled - it ends what still runs and removes the folder.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from benchwright.errors import DeviceError, MeasureError
from benchwright.machine.devices import DeviceFacts, Output, ProgramEnd, adb_scripts
from benchwright.machine.devices.adb_client import (
    CALL,
    LONGEST,
    DeviceScript,
    ask,
    last_words,
    lost_device_error,
    quote_word,
    run_script,
)
from benchwright.machine.devices.adb_facts import about
from benchwright.machine.devices.adb_scripts import BASE
from benchwright.units import whole_number

SLOWEST = 1e6  # bytes in a second that a connection carries at least
LOOK = 0.25  # seconds between two looks at the clock
DRAIN = 1.0  # seconds for what a killed program has still printed
LOOKS = 3  # at what still runs after a timeout
_SIGNALS = range(129, 193)  # how a shell tells that a signal ended a program


class AdbDevice:
    """One device, opened. It has one user: nothing here is safe to share between threads."""

    def __init__(self, serial: str, base: str = BASE) -> None:
        self._serial = serial
        self._private = f"{base.rstrip('/')}/benchwright-{secrets.token_hex(6)}"
        self._token = secrets.token_hex(16)
        self._about: DeviceFacts | None = None
        self._lost = False
        self._closed = False
        self._keeper = self._keep(base)

    @classmethod
    def connect(cls, text: str) -> AdbDevice:
        """The device of `SERIAL`, or of `SERIAL,/a/folder/on/it` for another place than /data/local/tmp."""
        serial, comma, base = text.partition(",/")
        if not serial:
            raise DeviceError("no device is named", remedy="write adb:SERIAL; `benchwright devices` lists them")
        return cls(serial, f"/{base}" if comma else BASE)

    @property
    def about(self) -> DeviceFacts:
        """Returns what is known of the device; it is asked once."""
        if self._about is None:
            self._about = about(self._serial)
        return self._about

    @property
    def folder(self) -> str:
        """Where programs run, below the private folder."""
        return f"{self._private}/work"

    def push(self, source: Path, name: str = "", *, executable: bool = False) -> str:
        """Copies a file or folder, and looks at the sizes of what arrived. Links become what they lead to."""
        target = self._inside(name or source.name)
        if source.is_dir() and any(each.is_symlink() for each in source.rglob("*")):
            with tempfile.TemporaryDirectory(prefix="benchwright-") as place:
                return self._push_to(shutil.copytree(source, Path(place, "whole")), target, executable)
        return self._push_to(source, target, executable)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        output: Output = lambda data: None,
        cpus: Sequence[int] = (),
    ) -> ProgramEnd:
        """Runs a program in the folder; a status above 128 is told as the signal that the shell means by it."""
        self._check()
        deadline = None if timeout is None else time.monotonic() + timeout
        whole = {**(env or {}), adb_scripts.VARIABLE: self._token}
        script = adb_scripts.start_script(self._private, self.folder, argv, whole, self._usable(cpus))
        # At its end the script kills what the program left in its group, and with that itself: $$ leads the group.
        with DeviceScript(self._serial, self._short(script), last="kill -9 -$$ 2>/dev/null") as stream:
            if not _hear_out(stream, output, deadline):
                return self._timed_out(stream, output)
            complaint = stream.stop()
        if stream.code is None:
            self._lost = True
            return ProgramEnd(status=-9, lost=self._why_lost(complaint))
        return ProgramEnd(status=128 - stream.code if stream.code in _SIGNALS else stream.code)

    def pull(self, path: str, target: Path) -> None:
        """Copies a file or folder here, and looks at the sizes of what arrived."""
        source = path if path.startswith("/") else self._inside(path)
        sizes = self._sizes_there(source)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".benchwright-") as place:
                self._fetch(source, sizes, Path(place, "pulled"), target)
        except OSError as error:
            raise MeasureError(f"{path} cannot be kept as {target}: {error.strerror or error}") from None

    def remove(self, path: str) -> None:
        """Deletes below the folder and nowhere else."""
        target = self._inside(path.removeprefix(f"{self.folder}/"))
        parent = target.rpartition("/")[0]
        guard = adb_scripts.guard_script(self.folder, parent)
        self._do(f"[ -d {quote_word(parent)} ] || exit 0; {guard}; rm -rf {quote_word(target)}", f"{path} stays")

    def logged(self) -> str:
        """What the device's log got since this was last asked, or since it was opened. Nothing there is cleared."""
        since, mark = f"{quote_word(self._private)}/since", f"benchwright-{self._token}"
        script = f'logcat -d -v raw -T "$(cat {since})" && log -t benchwright {mark}'
        said = self._do(script, "its log cannot be read").decode(errors="replace")
        return said.rpartition(f"{mark}\n")[2]

    def close(self) -> None:
        """Ends what still runs and removes the private folder. A device that is gone does that itself."""
        if self._closed:
            return
        self._closed = True
        try:
            if not self._lost and self._keeper.is_connected:
                script = f"{adb_scripts.end_script(self._private, self._token)}\nrm -rf {quote_word(self._private)}"
                self._do(script, f"{self._private} could not be removed")
        finally:
            self._keeper.stop()

    # ---- scripts on the device ----

    def _keep(self, base: str) -> DeviceScript:
        """Makes the folder and starts the keeper; returns once it waits."""
        private, place = quote_word(self._private), quote_word(self.folder)
        since = f"date +'%m-%d %H:%M:%S.000' >{private}/since"
        made = f"( mkdir -p {quote_word(base)} && umask 077 && mkdir {private} {place} && {since} ) 2>&1; code=$?"
        # `read` ends when the connection does. A signal to the whole group must not end the keeper before that.
        waits = "[ $code = 0 ] || exit; trap '' HUP INT TERM; read -r nothing"
        tidies = f"{adb_scripts.end_script(self._private, self._token)}\nrm -rf {private}"
        keeper = DeviceScript(self._serial, made, last=f"{waits}\n{tidies}")
        said = bytearray()
        if not _hear_out(keeper, said.extend, time.monotonic() + CALL):
            keeper.stop()
            raise lost_device_error(self._serial, f"no answer within {CALL:g} s")
        if keeper.code != 0:
            refused, complaint = keeper.code is not None, keeper.stop()
            if refused:
                raise DeviceError(f"{self._serial}: {base} cannot be used: {last_words(bytes(said))}")
            raise lost_device_error(self._serial, complaint)
        return keeper

    def _check(self) -> None:
        """Refuses to go on without the keeper: it has removed the folder by now, and would not remove another."""
        if self._lost or not self._keeper.is_connected:
            self._lost = True
            raise lost_device_error(self._serial, "the connection broke, and what was there is removed")

    def _do(self, script: str, failed: str) -> bytes:
        self._check()
        code, said = run_script(self._serial, script)
        if code == adb_scripts.OUTSIDE:
            raise MeasureError(f"{failed}: a link leads out of the device's folder")
        if code != 0:
            raise MeasureError(f"{failed}: {last_words(said) or f'exit code {code}'}")
        return said

    def _short(self, script: str) -> str:
        """The script, or what runs it from a file: an old device takes no long command."""
        if len(script.encode(errors="surrogateescape")) <= LONGEST:
            return script
        there = f"{self._private}/run.sh"
        with tempfile.NamedTemporaryFile(suffix=".sh") as file:
            file.write(script.encode(errors="surrogateescape"))
            file.flush()
            ask("-s", self._serial, "push", file.name, there)
        return f". {quote_word(there)}"

    def _timed_out(self, stream: DeviceScript, output: Output) -> ProgramEnd:
        """Ends the program there. A script that began only after the first look is found by the next."""
        for _ in range(LOOKS):
            try:
                run_script(self._serial, adb_scripts.end_script(self._private, self._token))
            except DeviceError as error:
                self._lost = True
                return ProgramEnd(status=-9, timed_out=True, lost=error.message)
            if _hear_out(stream, output, time.monotonic() + DRAIN):
                break
        return ProgramEnd(status=-9, timed_out=True)

    def _why_lost(self, complaint: str) -> str:
        try:
            state = ask("-s", self._serial, "get-state", seconds=CALL / 3).strip()
        except DeviceError as error:
            return f"{self._serial} went away: {complaint or error.message}"
        return f"the connection to {self._serial} broke; it is {state!r} now"

    # ---- names and sizes ----

    def _inside(self, name: str) -> str:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise MeasureError(f"{name!r} leads out of the device's folder", remedy="use a name without .. in it")
        return f"{self.folder}/{path}"

    def _usable(self, cpus: Sequence[int]) -> list[int]:
        """The CPUs of these that the device has; empty, which means any, where it has none of them."""
        there = self.about.facts.get("cpus") if cpus else None
        return [cpu for cpu in cpus if not isinstance(there, list) or cpu in there]

    def _push_to(self, source: Path, target: str, executable: bool) -> str:
        sizes, is_folder = _sizes(source), source.is_dir()
        parent = target if is_folder else target.rpartition("/")[0]
        fresh = "" if is_folder else f"; rm -rf {quote_word(target)}"  # never through a link that is there
        guard = adb_scripts.guard_script(self.folder, parent)
        self._do(f"mkdir -p {quote_word(parent)} && {guard}{fresh}", f"no place for {target}")
        origin = f"{source.absolute()}/." if is_folder else str(source.absolute())
        if sizes:
            ask("-s", self._serial, "push", origin, target, seconds=CALL + sum(sizes.values()) / SLOWEST)
        if executable:
            self._do(
                f"chmod {'-R ' if is_folder else ''}755 {quote_word(target)}", f"{target} cannot be made executable"
            )
        self._compare(sizes, self._sizes_there(target), target)
        return target

    def _fetch(self, source: str, sizes: Mapping[str, int], arrived: Path, target: Path) -> None:
        is_folder = "." not in sizes
        if is_folder:
            arrived.mkdir()
        if sizes:
            seconds = CALL + sum(sizes.values()) / SLOWEST
            ask("-s", self._serial, "pull", f"{source}/." if is_folder else source, str(arrived), seconds=seconds)
        self._compare(sizes, _sizes(arrived), source)
        if is_folder:
            shutil.copytree(arrived, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(arrived, target)

    def _sizes_there(self, path: str) -> dict[str, int]:
        found = {}
        said = self._do(adb_scripts.sizes_script(path), f"{path} cannot be read")
        for line in said.decode(errors="surrogateescape").splitlines():
            size, _, name = line.partition(" ")
            if (count := whole_number(size)) is not None:
                found[name.removeprefix("./")] = count
        return found

    def _compare(self, wanted: Mapping[str, int], found: Mapping[str, int], what: str) -> None:
        wrong = [name for name, size in wanted.items() if found.get(name) != size]
        if wrong:
            inside = "" if wrong[0] == "." else f"/{wrong[0]}"
            raise MeasureError(f"{what}{inside} did not arrive whole", remedy="is the device full? adb shell df")


def _hear_out(stream: DeviceScript, output: Output, deadline: float | None) -> bool:
    """Passes on what a script prints; whether it, or the connection, ended before the deadline."""
    while True:
        data = stream.next(LOOK if deadline is None else min(LOOK, deadline - time.monotonic()))
        if data is None:
            return True
        if data:
            output(data)
        if deadline is not None and time.monotonic() >= deadline:
            return False


def _sizes(path: Path) -> dict[str, int]:
    """The size of a file under `.`, or of each file below a folder."""
    if not path.exists():
        raise MeasureError(f"there is no file {path}")
    if not path.is_dir():
        return {".": path.stat().st_size}
    return {str(each.relative_to(path)): each.stat().st_size for each in sorted(path.rglob("*")) if each.is_file()}
