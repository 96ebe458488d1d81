"""python other_platform.py win32|darwin ARGUMENT...: the command line as if it ran on that system.

The libraries of others are imported first, as the system that this really is. Then `sys.platform` says another name,
and what the other system does not have is gone: modules that only Unix has, functions that only Linux has. It shows
that our own code asks for nothing that is not there. It does not show how the other system behaves.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from typing import Any

_UNIX_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"}
_LINUX_FUNCTIONS = {"sched_getaffinity", "sched_setaffinity", "memfd_create", "posix_fadvise", "pidfd_open", "eventfd"}
_UNIX_FUNCTIONS = {
    *("fork", "setsid", "getpgid", "killpg", "getuid", "geteuid", "getloadavg", "uname", "nice", "mkfifo", "chown"),
    *("waitid", "sysconf", "setpriority", "getpriority", "statvfs", "fchmod", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC"),
}


class _Missing(MetaPathFinder):
    """Refuses modules that the other system does not have."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in _UNIX_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def pretend(system: str) -> None:
    """Makes this process look like one of another system, for all that is imported from now on."""
    _import_others()
    functions = _LINUX_FUNCTIONS | (_UNIX_FUNCTIONS if system == "win32" else set())
    for name in functions & set(dir(os)):
        delattr(os, name)
    if system == "win32":
        for name in _UNIX_MODULES:
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, _Missing())
    sys.platform = system


def _import_others() -> None:
    import asyncio  # noqa: F401
    import ctypes  # noqa: F401
    import multiprocessing  # noqa: F401
    import sqlite3  # noqa: F401
    import subprocess  # noqa: F401
    import tempfile  # noqa: F401
    import urllib.request  # noqa: F401
    import webbrowser  # noqa: F401

    import alembic.config  # noqa: F401
    import click  # noqa: F401
    import numpy  # noqa: F401
    import psutil  # noqa: F401
    import rich.console  # noqa: F401
    import sqlalchemy  # noqa: F401
    import yaml  # noqa: F401


if __name__ == "__main__":
    pretend(sys.argv[1])
    from benchwright.cli import main

    sys.argv = ["benchwright", *sys.argv[2:]]
    sys.exit(main())
