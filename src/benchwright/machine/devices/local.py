"""This machine as a device: programs run in a folder of their own, in a session of their own, and leave nothing."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from benchwright.errors import MeasureError
from benchwright.machine.devices import DeviceFacts, Output, ProgramEnd
from benchwright.machine.devices.programs import DeviceProgram, describe_refusal, follow, sweep, usable_cpus
from benchwright.records import Value
from benchwright.system.scratch import JOB_VARIABLE, unwanted_folder

_FICLONE = 0x40049409  # Linux: both files share their blocks until one of them is written to


def about() -> DeviceFacts:
    """This machine: its host name, and its system and CPU as its name."""
    from benchwright.machine.environment import hardware, portable

    facts = hardware.collect(Path("/")) if sys.platform.startswith("linux") else portable.machine()
    cpu = str(facts.get("cpu", ""))
    if not cpu or cpu.startswith("unavailable"):
        cpu = platform.processor() or platform.machine()
    known: dict[str, Value] = {"cpu": cpu, "cpus": [*usable_cpus()]}
    return DeviceFacts(
        kind="host",
        serial=platform.node() or "localhost",
        name=f"{platform.system()} {cpu}",
        abi=platform.machine(),
        os=platform.platform(),
        facts=known,
    )


class LocalDevice:
    """A private folder of this machine. It has one user: nothing here is safe to share between threads."""

    def __init__(self) -> None:
        self._shelf = _shelf()
        self._folder = Path(tempfile.mkdtemp(prefix="benchwright-device-", dir=self._shelf))
        self._token = secrets.token_hex(16)
        self._about: DeviceFacts | None = None

    @property
    def about(self) -> DeviceFacts:
        """Returns what is known of this machine."""
        if self._about is None:
            self._about = about()
        return self._about

    @property
    def folder(self) -> str:
        """Returns the device's own folder, which nobody else may read."""
        return str(self._folder)

    def push(self, source: Path, name: str = "", *, executable: bool = False) -> str:
        """Copies a file or folder: whatever a program does to its own does not change the user's."""
        target = self._inside(name or source.name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                _place(source, target, executable)
        except (OSError, shutil.Error) as error:
            raise MeasureError(f"{source} cannot be copied: {describe_refusal(error)}") from None
        return str(target)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        output: Output = lambda data: None,
        cpus: Sequence[int] = (),
    ) -> ProgramEnd:
        """Runs a program in the folder. CPUs that are not there, or not ours, are left out; none left: any."""
        program = DeviceProgram(argv=argv, folder=self._folder, token=self._token, env=env or {}, cpus=cpus)
        return follow(program, output, timeout)

    def pull(self, path: str, target: Path) -> None:
        """Copies what a program left."""
        source = Path(path) if os.path.isabs(path) else self._inside(path)  # noqa: PTH117 - a text of the device
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copyfile(source, target)
        except (OSError, shutil.Error) as error:
            raise MeasureError(f"{path} cannot be fetched from the device: {describe_refusal(error)}") from None

    def remove(self, path: str) -> None:
        """Deletes below the folder and nowhere else."""
        found = self._inside(os.path.relpath(path, self._folder) if path.startswith("/") else path)
        if found.is_dir() and not found.is_symlink():
            _remove(found)
        else:
            found.unlink(missing_ok=True)

    def logged(self) -> str:
        """Nothing: what a program prints here comes from the program itself."""
        return ""

    def close(self) -> None:
        """Ends what programs left running, and removes the folder."""
        sweep(self._token)
        _remove(self._folder)
        if self._shelf is not None:
            with contextlib.suppress(OSError):  # someone else's folder is still on it
                self._shelf.rmdir()

    def _inside(self, name: str) -> Path:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise MeasureError(f"{name!r} leads out of the device's folder", remedy="use a name without .. in it")
        target = self._folder / path
        if not target.parent.resolve().is_relative_to(self._folder.resolve()):  # through a link that a program made
            raise MeasureError(f"{name!r} leads out of the device's folder through a link")
        return target


def _shelf() -> Path | None:
    """A folder that a worker's guard removes should the worker die, when this is one."""
    token = os.environ.get(JOB_VARIABLE)
    if not token:
        return None
    shelf = Path(unwanted_folder(token))
    shelf.mkdir(mode=0o700, exist_ok=True)
    return shelf


def _place(source: Path, target: Path, executable: bool) -> None:
    target.unlink(missing_ok=True)
    if not _try_clone(source, target):
        shutil.copyfile(source, target)
    target.chmod(0o700 if executable or source.stat().st_mode & 0o100 else 0o600)


def _try_clone(source: Path, target: Path) -> bool:
    """A copy that costs neither time nor space, where the file system can."""
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    with source.open("rb") as read, target.open("wb") as written:
        try:
            fcntl.ioctl(written, _FICLONE, read.fileno())
        except OSError:  # another file system, or one that cannot
            return False
    return True


def _remove(folder: Path) -> None:
    """Deletes a folder, also when a copy or a program left folders in it that may not be written to."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for place, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                Path(place).chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
