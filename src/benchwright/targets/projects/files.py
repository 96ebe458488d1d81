"""The files of a project, without those that git ignores: a walk with bounds, that follows no link to a folder."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import FetchError
from benchwright.vcs.git_program import Git

MOST_FILES = 50_000
LONGEST = 20.0  # seconds
_GIT = 20.0  # seconds for git to list its files
# Where no git says what is ignored. What begins with a dot is left out too, and so are virtual environments.
_LEFT_OUT = frozenset(
    {"__pycache__", "node_modules", "site-packages", "build", "dist", "site", "target", "venv", "env", "htmlcov"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileListing:
    """The files that were listed, as paths from the folder, in order."""

    paths: tuple[Path, ...]
    cut: str = ""  # why there may be more; "" when all are listed


def list_files(folder: Path) -> FileListing:
    """The files of a folder and of the folders in it; at most 50,000, and for at most 20 seconds."""
    begin = time.monotonic()
    paths: list[Path] = []
    for path in _ask_git(folder) or _walk(folder):
        if len(paths) >= MOST_FILES:
            return FileListing(paths=tuple(sorted(paths)), cut=f"only the first {MOST_FILES:,} files were looked at")
        if time.monotonic() - begin > LONGEST:
            return FileListing(paths=tuple(sorted(paths)), cut=f"looking for files was ended after {LONGEST:.0f} s")
        if _is_file(folder / path):
            paths.append(path)
    return FileListing(paths=tuple(sorted(paths)))


def _is_file(path: Path) -> bool:
    """Whether it is a file that can be named in a text: not a pipe, and not a name that is no UTF-8."""
    try:
        str(path).encode()
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _ask_git(folder: Path) -> list[Path] | None:
    """What git tracks, and what it would track; None where there is neither a repository nor a .gitignore."""
    try:
        git = Git(folder=folder, timeout=_GIT)
        if git.look("rev-parse", "--is-inside-work-tree") == "true":
            if git.look("check-ignore", "--quiet", ".") is not None:  # the folder as a whole is ignored
                return None
            return _split(git.ask("ls-files", "-z", "--cached", "--others", "--exclude-standard"))
        if not (folder / ".gitignore").is_file():
            return None
        with tempfile.TemporaryDirectory(prefix="benchwright-") as scratch:  # a repository that knows no file yet
            Git(folder=Path(scratch), timeout=_GIT).ask("init", "--quiet", "--bare")
            where = (f"--git-dir={scratch}", f"--work-tree={folder}")
            return _split(git.ask(*where, "ls-files", "-z", "--others", "--exclude-standard"))
    except (FetchError, OSError):  # git is missing, refuses or takes too long
        return None


def _split(listed: str) -> list[Path]:
    found = dict.fromkeys(Path(name) for name in listed.split("\0") if name)
    return [path for path in found if not any(part.startswith(".") for part in path.parts)]


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_looked_into(Path(place, name)))
        inside = Path(place).relative_to(folder)
        yield from (inside / name for name in sorted(files) if not name.startswith("."))


def _is_looked_into(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _LEFT_OUT or folder.name.endswith(".egg-info"):
        return False
    return not (folder / "pyvenv.cfg").exists()
