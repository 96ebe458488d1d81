"""How a machine was when its agent last asked for work, on the disk: whoever starts the agent anew looks at it.

An agent that was killed while its machine stayed up and had memory to spare was not killed by what it measured, if that
was shut in a cell or ran on a phone. Where nobody can know, the job may be to blame.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from benchwright.system import whole_files

_BOOT, _EVENTS = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/vmstat")
_KILLED = "oom_kill "  # processes that the kernel ended for want of memory, since it started
_LONGEST = 200  # bytes of a mark


class LifeMarks:
    """The marks of an agent's machines, each in a file below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def set(self, machine: str) -> None:
        """Says how this machine is now."""
        now = read_mark()
        if self._written.get(machine) != now:
            self._written[machine] = now
            whole_files.write_text(self._path(machine), now, mode=0o600)

    def clear(self, machine: str) -> None:
        """Says nothing any more: the machine has no job, or the agent ends by a fault of its own."""
        self._written.pop(machine, None)
        with contextlib.suppress(OSError):
            self._path(machine).unlink(missing_ok=True)

    def is_unharmed(self, machine: str) -> bool:
        """Whether the machine was well all the time since it was last said how it is."""
        try:
            with self._path(machine).open("rb") as file:
                before = file.read(_LONGEST)
        except OSError:
            return False
        return bool(before) and before == read_mark().encode()

    def _path(self, machine: str) -> Path:
        return self._folder / f"{machine}.mark"


def read_mark() -> str:
    """What changes when this machine starts anew or its kernel lacks memory; "" where its system does not tell."""
    try:
        boot, events = _BOOT.read_text(encoding="ascii").strip(), _EVENTS.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
    killed = next((line for line in events.splitlines() if line.startswith(_KILLED)), "")
    return f"{boot} {killed}" if boot and killed else ""
