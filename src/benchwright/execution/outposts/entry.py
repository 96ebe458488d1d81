"""The first thing that runs of an outpost: it starts a worker, which starts up while the rest is imported.

Importing this module is cheap.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchwright.execution.hosts.local import LocalHost
from benchwright.system import process, temporary_folder


def main(told: Mapping[str, Any], home: str) -> None:
    """Serves the orders that come in on standard input until there are no more. Never returns."""
    answers = os.dup(1)  # what is printed by whatever is imported here must not reach the line
    os.dup2(2, 1)
    orders = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    for fd in (orders, answers):
        os.set_inheritable(fd, False)
    temporary = temporary_folder.make()
    process.keep(lambda: temporary_folder.remove(temporary), closing=(orders, answers))
    temporary_folder.move_to(temporary)
    try:
        root = Path(temporary).resolve() / "root"  # resolved: the present folder is always told so
        root.mkdir()
        host = _start_worker(root, told)

        from benchwright.execution.outposts.outpost import Outpost, OutpostLine

        line = OutpostLine(orders, answers, bytes.fromhex(told["token"]))
        Outpost(line, Path(home), Path(temporary), root, host).serve()
    finally:
        os._exit(0)


def _start_worker(root: Path, told: Mapping[str, Any]) -> LocalHost:
    """A host with a worker that waits in the folder that is the parent's present one, if it can be made already."""
    folder = root.joinpath(*Path(told["directory"]).parts[1:])
    with contextlib.suppress(OSError, ValueError):
        if folder.is_relative_to(root) and ".." not in folder.parts:
            folder.mkdir(parents=True, exist_ok=True)
            os.chdir(folder)
    os.environ.update(told["variables"])
    host = LocalHost(lent_first=True)
    host.get_ready()
    return host
