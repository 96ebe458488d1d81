"""A process and all it starts, ended together: also what left its group, its session and its environment behind.

A process that loses its parent is handed to the nearest ancestor that asked for that, on Linux a "child subreaper". So
a keeper, a small process of ours, stands between whoever starts a program and the program. Whatever the program starts
and lets go of becomes the keeper's child and nobody else's. The keeper ends it all when the program has ended, and then
ends the same way as the program did. It never looks at a process that is not its own descendant. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

TYPE_CHECKING = False  # a keeper stays small: nothing is imported for it that it does not need
if TYPE_CHECKING:
    import subprocess

PATIENCE = 10.0  # seconds that a keeper may take to end what its program started
MOST_LOOKS = 500
MOST_SEARCHES = 100  # of all processes, for what carries a variable
PAUSE = 0.002  # seconds for the killed to go
_PR_SET_CHILD_SUBREAPER = 36


def keep(at_end: Callable[[], None], *, closing: Sequence[int] = ()) -> bool:
    """Leaves this process as the keeper of a child, in which this call returns True.

    The child is in a session of its own. The keeper never returns: it holds none of the descriptors `closing` open,
    waits, ends what the child left behind, calls `at_end`, and ends with the child's exit code or by the same signal.
    SIGTERM tells it to end the child first. False, and nothing is changed, where the kernel hands over no orphans.
    """
    if not _become_subreaper():
        return False
    child = 0

    def end_child(number: int, frame: object) -> None:
        if child:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until it is known whom it ends
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        return True
    try:
        for number in before:
            signal.signal(number, end_child if number == signal.SIGTERM else signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2, *closing):
            os.dup2(nowhere, fd)
        ended, child = _await(child), 0
        end_children()
        at_end()
        _end_as(ended)
    finally:
        os._exit(1)


def end(child: subprocess.Popen[bytes], grace: float = 0.0) -> int:
    """Waits `grace` seconds for a child that may have a keeper, then ends it and its group. Its exit status."""
    import subprocess

    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(grace)
    if child.poll() is None and sys.platform.startswith("linux"):
        child.terminate()  # a keeper first ends all that it keeps
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(PATIENCE)
    signal_group(child.pid, signal.SIGKILL)
    return child.wait()


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signals a whole process group; one that has gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def end_carriers(variable: str, value: str) -> None:
    """Kills every other process that carries the variable with this value, also those that left their group.

    Looks until a look finds none: what was forking during one look shows in the next.
    """
    for _ in range(MOST_SEARCHES):
        found = carriers(variable, value)
        for pid in found:
            with contextlib.suppress(OSError):  # gone meanwhile
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(PAUSE)


def carriers(variable: str, value: str) -> list[int]:
    """Every other process whose environment holds the variable with this value; none where there is no /proc."""
    wanted, own, found = f"{variable}={value}".encode(), str(os.getpid()), []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208 - 4 times as fast
        if not name.isdecimal() or name == own:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb", buffering=0) as file:  # noqa: PTH123
                if wanted in file.read():
                    found.append(int(name))
        except OSError:  # gone meanwhile, or not ours to read
            continue
    return found


def end_children() -> None:
    """Kills every descendant of this process and waits for their ends; looks until none is left."""
    for _ in range(MOST_LOOKS):
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError):  # gone meanwhile, or of another user
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:  # none is left
            return
        time.sleep(PAUSE)


def descendants(root: int) -> list[int]:
    """The processes below `root`, as one look at /proc shows them; none where there is no /proc."""
    below: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208 - 4 times as fast
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError):  # gone meanwhile
                below[_parent_of(name)].append(int(name))
    found, look = [], [root]
    while look:
        look = [child for parent in look for child in below.pop(parent, ())]
        found += look
    return found


def _parent_of(name: str) -> int:
    with open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123
        # A program's name may hold anything, parentheses as well; the parent stands behind the last one.
        return int(file.read().rpartition(b")")[2].split()[1])


def _become_subreaper() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0  # type: ignore[no-any-return]
    except (ImportError, OSError, AttributeError):  # an interpreter without it, or a C library
        return False


def _await(child: int) -> int:
    """How the child ended; whatever else ends meanwhile was handed over, and leaves no zombie."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _end_as(ended: int) -> None:
    """Ends this process as another one ended."""
    if ended >= 0:
        os._exit(ended)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one dump is enough
    number = -ended
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    time.sleep(1)
    os._exit(128 + number)
