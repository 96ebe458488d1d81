"""Shuts a process in, before it starts a job: `python cell_init.py PLAN`. Linux only; standard library only.

Inside, the machine can be read but not written, but for the job's own folder; the agent's folder, with the files of
other jobs, and its token are not there; nor are processes of anybody else. Whatever the job starts ends with it.
What is taken away is taken in namespaces of the kernel, so nothing has to be given back. The network is as outside.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import stat
import struct
import sys
from typing import Any

NEWNS, NEWIPC, NEWUSER, NEWPID = 0x00020000, 0x08000000, 0x10000000, 0x20000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
NOSUID_NODEV = 0x2 | 0x4
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, READ_ONLY = 442, -100, 0x8000, 1
PDEATHSIG, CAPBSET_DROP, NO_NEW_PRIVS, CAP_AMBIENT, AMBIENT_CLEAR = 1, 24, 38, 47, 4  # of prctl
CAPABILITY_VERSION = 0x20080522
# What root keeps in a cell: files of any owner, users and groups, signals, low ports, locked memory, priorities,
# limits. With others it could undo the cell: mount, make devices, load modules, open files by their handles.
KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 10, 14, 23, 24})
MOST_CAPABILITIES = 64
_libc = ctypes.CDLL(None, use_errno=True)


def main(plan: dict[str, Any]) -> None:
    """Shuts this process in and becomes the command of the plan. Never returns."""
    _unshare()
    inner = os.fork()
    if inner:
        _let_go()
        _, status = os.waitpid(inner, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    # This process is the first of its namespace: when it ends, everything in there is killed.
    _check(_libc.prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    _close_cell(plan)
    work = os.fork()
    if not work:
        _give_up_privileges()
        os.environ.update(plan["variables"])
        os.chdir(plan["job"])
        os.execv(plan["command"][0], plan["command"])  # noqa: S606 - the very program of the agent
    _let_go()
    while True:
        ended, status = os.wait()  # orphans of the job are this process's children now
        if ended == work:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _unshare() -> None:
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(NEWNS | NEWIPC | NEWPID | (NEWUSER if user else 0)), "unshare")
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(text)


def _close_cell(plan: dict[str, Any]) -> None:
    job, hidden = plan["job"], plan["hidden"]
    _mount("", "/", "", RECURSIVE | PRIVATE)
    folder = os.open(job, os.O_PATH)
    shown = {target: os.open(source, os.O_PATH) for target, source in plan["shown"].items()}
    own = []
    for place in plan["temporary"]:
        _mount(f"{job}/tmp", place, "", BIND)  # noqa: S108
        own.append(place)
    if os.path.isdir(hidden):  # noqa: PTH112 - it may lie in a place that is covered now
        _mount("tmpfs", hidden, "tmpfs", NOSUID_NODEV, "size=1m,mode=0700")
    os.makedirs(job, exist_ok=True)  # noqa: PTH103 - where the agent's folder was covered
    _mount(f"/proc/self/fd/{folder}", job, "", BIND)
    for target, source in shown.items():
        os.makedirs(target, exist_ok=True)  # noqa: PTH103 - in the place of what was covered
        _mount(f"/proc/self/fd/{source}", target, "", BIND)
    for path in (*plan["secrets"], *(_disks() if os.getuid() == 0 else ())):
        if os.path.exists(path):  # noqa: PTH110 - it may lie in a place that is covered now
            _mount(os.devnull, path, "", BIND)
    _mount("tmpfs", "/dev/shm", "tmpfs", NOSUID_NODEV, "mode=1777")  # noqa: S108
    _mount("proc", "/proc", "proc", NOSUID_NODEV | 0x8)
    _set_read_only("/", AT_RECURSIVE, on=True)
    for place in (job, "/dev/shm", *own, *plan["written"]):  # noqa: S108
        _set_read_only(place, 0, on=False)
    for handle in (folder, *shown.values()):
        os.close(handle)


def _disks() -> list[str]:
    """Disks as devices: through them root could read and write every file of the machine."""
    found = []
    for folder, _, names in os.walk("/dev"):
        for name in names:
            path = f"{folder}/{name}"
            with contextlib.suppress(OSError):
                if stat.S_ISBLK(os.lstat(path).st_mode):
                    found.append(path)
    return found


def _give_up_privileges() -> None:
    """Leaves nothing with which the cell could be undone; it matters for root, everybody else has nothing left anyway.

    What root may do after `execv` is what the bounding set allows and what is inheritable.
    """
    _check(_libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _libc.prctl(CAP_AMBIENT, AMBIENT_CLEAR, 0, 0, 0)
    for number in range(MOST_CAPABILITIES):
        if number not in KEPT_CAPABILITIES and _libc.prctl(CAPBSET_DROP, number, 0, 0, 0) == -1:
            # A kernel knows fewer than that, and says so of the others.
            _check(0 if ctypes.get_errno() == errno.EINVAL else -1, "prctl")
    head = struct.pack("Ii", CAPABILITY_VERSION, 0)
    held = ctypes.create_string_buffer(24)
    _check(_libc.capget(head, held), "capget")
    words = list(struct.unpack("6I", held.raw))
    words[2] = words[5] = 0  # the inheritable ones, as two words of 32
    _check(_libc.capset(head, struct.pack("6I", *words)), "capset")


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    words = [text.encode() or None for text in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None), f"mount {target}")


def _set_read_only(place: str, flags: int, *, on: bool) -> None:
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY if on else 0, 0 if on else READ_ONLY, 0, 0)
    done = _libc.syscall(MOUNT_SETATTR, AT_FDCWD, place.encode(), flags, attributes, ctypes.sizeof(attributes))
    _check(done, f"mount_setattr {place}")


def _let_go() -> None:
    """Holds neither end of the job's line."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)


def _check(answer: int, what: str) -> None:
    if answer == -1:
        number = ctypes.get_errno()
        sys.stderr.write(f"benchwright: {what}: {os.strerror(number)}\n")
        os._exit(95)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
