"""How a command is started as several processes: by torchrun, by mpirun, or by a template of the user's.

A launcher is the words that stand before the command, with `{processes}` for how many there are to be. One process is
started by the launcher too, or the first point of a speed-up would be of another program than the rest.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from benchwright.errors import OptionError, did_you_mean
from benchwright.records import ResultWarning, Scalar
from benchwright.records.processes import PROCESSES

LAUNCHER = "launcher"  # the option of a target that holds one
PLACE = f"{{{PROCESSES}}}"
# --no-python: the command names its own interpreter. --standalone: torchrun looks for a free port by itself.
LAUNCHERS = {
    "torchrun": ("torchrun", "--standalone", "--nproc-per-node", PLACE, "--no-python"),
    "mpirun": ("mpirun", "-n", PLACE),
}
THREADS = "OMP_NUM_THREADS"


def read_launcher(given: str | Sequence[str], where: str) -> tuple[str, ...]:
    """The words of a launcher: of one that is known by name, or of a template, which may be text or a list."""
    try:
        words = tuple(shlex.split(given)) if isinstance(given, str) else tuple(given)
    except ValueError as error:
        raise OptionError(f"{where}: {error}") from None
    if not words or not words[0]:
        raise OptionError(f"{where}: is empty", remedy=f"name {' or '.join(LAUNCHERS)}, or write a template")
    if len(words) == 1 and words[0] in LAUNCHERS:
        return LAUNCHERS[words[0]]
    if not any(PLACE in word for word in words):
        shown = shlex.join(words)
        remedy = f"write {shown} ... {PLACE}"
        if len(words) == 1:
            remedy = f"{did_you_mean(words[0], LAUNCHERS)}; or {remedy}"
        raise OptionError(f"{where}: {shown!r} does not say where the number of processes goes", remedy=remedy)
    return words


def launch(command: Sequence[str], launcher: str, processes: Scalar) -> list[str]:
    """The words that start a command as so many processes; without a launcher the command itself takes the number."""
    words = [*(read_launcher(launcher, "launcher") if launcher else ()), *command]
    return words if processes is None else [word.replace(PLACE, str(processes)) for word in words]


def check_launch(command: Sequence[str], launcher: Sequence[str], what: str) -> None:
    """Refuses several processes for a command that nothing tells of their number."""
    if not launcher and not any(PLACE in word for word in command):
        raise OptionError(
            f"{what}: nothing says how several processes of it are started",
            remedy=f"add --launcher {' or --launcher '.join(LAUNCHERS)}, or write {PLACE} into the command",
        )


def warn_of_threads(argv: Sequence[str], environment: Mapping[str, str]) -> list[ResultWarning]:
    """Warns where torchrun gives each of several processes one thread, and one process all: no fair speed-up."""
    is_torchrun = argv[:1] == LAUNCHERS["torchrun"][:1] or "torch.distributed.run" in argv[:4]
    if not is_torchrun or environment.get(THREADS):
        return []
    seen = f"torchrun sets {THREADS} to 1 for several processes, and leaves one process all threads"
    remedy = f"set {THREADS} in the task's environment, so that a speed-up compares equal processes"
    return [ResultWarning(code="unequal-threads", seen=seen, remedy=remedy)]
