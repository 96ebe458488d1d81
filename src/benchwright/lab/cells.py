"""Cells keep a job from what belongs to others: files of other jobs, the agent's token, processes, the disk.

Where the kernel gives no namespaces to this user, jobs run without a cell, under the agent's account.
"""

from __future__ import annotations

import contextlib
import json
import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchwright.execution.outposts import archive
from benchwright.execution.outposts.host import Connect
from benchwright.execution.outposts.link import Link, Tell
from benchwright.system import temporary_folder

PROBE = 20.0  # seconds for a cell to open
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - covered by a folder of the job's own


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """Where a job runs, and what it must not see."""

    name: str
    folder: Path  # of the job, empty; the agent keeps what it knows of the job here, out of the job's sight
    hidden: Path  # the agent's
    secrets: tuple[Path, ...] = ()  # files that hold the agent's token
    home: Path  # of outposts, with the shelf of files
    digests: tuple[str, ...]  # of the files that the job may have
    closed: bool  # whether it is a cell at all
    environment: Path | None = None  # the folder of the environment that the job is measured with
    builds: bool = False  # the environment is made: it may be written, and no job runs


@contextlib.contextmanager
def opened(plan: CellPlan) -> Iterator[Connect]:
    """Gives what starts an outpost for the job."""
    command = [sys.executable, "-c", archive.BOOTSTRAP]
    if not plan.closed:
        yield lambda tell: Link(command, name=plan.name, archive=archive.find(), home=str(plan.home))
        return
    shelf, view = plan.home / "files", plan.folder / "files"
    view.mkdir(mode=0o700)
    for digest in plan.digests:
        for name in (digest, f"{digest}.mark"):
            os.link(shelf / name, view / name)
    shown = {"files": view, "packages": archive.unpack(plan.home)}
    made: list[Path] = []

    def connect(tell: Tell) -> Link:
        # Never the same twice: what a job leaves in its folder, such as a link in the place of `tmp`, must not steer
        # how the next cell is made.
        for before in made:
            remove(before)
        made.append(plan.folder / str(len(made) + 1))
        made[-1].mkdir(mode=0o700)
        words = _words(plan, made[-1], shown, command)
        return Link(words, name=plan.name, archive=archive.find(), home=str(made[-1] / "home"))

    yield connect


def why_not() -> str:
    """Why no cell can be opened here; "" where one can."""
    if not sys.platform.startswith("linux"):
        return "only Linux has namespaces"
    with tempfile.TemporaryDirectory(prefix="benchwright-cell-") as folder:
        hidden = Path(folder, "agent")
        job, view = hidden / "jobs" / "probe", hidden / "view"
        for path in (job, view):
            path.mkdir(parents=True)
        plan = CellPlan(name="probe", folder=hidden, hidden=hidden, home=hidden, digests=(), closed=True)
        try:
            ended = subprocess.run(
                _words(plan, job, {"files": view}, [sys.executable, "-I", "-S", "-c", "import os; os.mkdir('tmp/x')"]),
                capture_output=True,
                text=True,
                timeout=PROBE,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    said = (ended.stderr.strip().splitlines() or [f"code {ended.returncode}"])[-1]
    return "" if ended.returncode == 0 else said.removeprefix("benchwright: ")


def remove(folder: Path) -> None:
    """Removes a job's folder with all that is in it, whatever its permissions are."""
    temporary_folder.remove(str(folder))


def _words(plan: CellPlan, folder: Path, shown: Mapping[str, Path], command: list[str]) -> list[str]:
    """The command line that shuts a process in and starts the command there; `folder` is what it may write.

    `shown` are folders that it may read, by their names in the job's home.
    """
    job = folder.resolve()
    targets = {str(job / "home" / name): str(path.resolve()) for name, path in shown.items()}
    if plan.environment is not None:  # where it is outside, since it holds paths to itself
        targets[str(plan.environment)] = str(plan.environment)
        (job / "home").mkdir(mode=0o700, exist_ok=True)
        (job / "home" / "environments").symlink_to(plan.environment)
    for name in ("tmp", "user", *(f"home/{name}" for name in shown)):
        (job / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = [place for place in _TEMPORARY if Path(place).is_dir() and not _is_needed(place)]
    variables = {
        "HOME": str(job / "user"),
        "TMPDIR": "/tmp" if "/tmp" in temporary else str(job / "tmp"),  # noqa: S108
        "XDG_CACHE_HOME": str(job / "user" / ".cache"),
        "PYTHONUSERBASE": os.environ.get("PYTHONUSERBASE") or site.getuserbase(),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    plan_words = {
        "job": str(job),
        "hidden": str(plan.hidden.resolve()),
        "secrets": [str(path.resolve()) for path in plan.secrets],
        "shown": targets,
        "written": [str(plan.environment)] if plan.environment is not None and plan.builds else [],
        "temporary": temporary,
        "variables": variables,
        "command": command,
    }
    inside = Path(__file__).with_name("cell_init.py")
    return [sys.executable, "-I", "-S", str(inside), json.dumps(plan_words)]


def _is_needed(place: str) -> bool:
    """Whether Python itself, or what it imports, lies there."""
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.executable, os.path.realpath(sys.executable), *sys.path]
    return any(path == place or path.startswith(f"{place}/") for path in paths if path)
