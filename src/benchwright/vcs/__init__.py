"""The revision of a working copy, asked of the `git` and `hg` programs. Nothing is written, no hook is run.

A copy is dirty when a file under version control differs from its revision; files that are not tracked do not count.
`history` knows more: the commits of a repository, and working copies beside the user's own.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import UserError
from benchwright.records import Revision
from benchwright.vcs import remotes
from benchwright.vcs.jobs import branch_of_job

TIMEOUT = 10.0  # seconds; `status` of a very large working copy on a cold disk

# Set by git itself inside hooks, where they would override the path that we were asked about.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "HGPLAIN": "1", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """What is known of a folder's version: a revision, or the reason why there is none."""

    revision: Revision | None = None
    reason: str = ""


def revision(path: str | Path) -> Revision | None:
    """The revision that `path` is a working copy of, or None; `checkout` also says why."""
    return checkout(path).revision


def checkout(path: str | Path) -> Checkout:
    """The revision of the nearest repository around `path`. Never raises: what went wrong is the reason."""
    here = Path(path).absolute()
    folder = here if here.is_dir() else here.parent
    for above in (folder, *folder.parents):
        for mark, ask in ((".git", _git), (".hg", _hg)):
            if not (above / mark).exists():
                continue
            try:
                return Checkout(revision=ask(above))
            except UserError as error:
                return Checkout(reason=str(error))
    return Checkout(reason=f"{folder} is not in a git or hg repository")


def _git(folder: Path) -> Revision:
    # A repository may name a program for git to run as its file system monitor: not ours to start.
    git = ["git", "-c", "core.fsmonitor=false", "-C", str(folder)]
    state = answer([*git, "status", "--porcelain=v2", "--branch", "--untracked-files=no"]).splitlines()
    header = dict(line[2:].split(" ", 1) for line in state if line.startswith("# "))
    if header.get("branch.oid", "(initial)") == "(initial)":
        raise UserError(f"{folder} has no commit yet")
    asked = "%H%x00%cI%x00%D%x00%an%x00%s%x00%b"
    shown = answer([*git, "log", "-1", "--no-show-signature", *ONLY_TAGS, f"--format={asked}", "--"])
    commit, committed_at, named, author, subject, text = shown.rstrip("\n").split("\0", 5)
    branch = header.get("branch.head", "")
    repository = _git_repository(git, branch)
    return Revision(
        vcs="git",
        id=commit,
        branch=branch_of_job(folder) if branch == "(detached)" else branch,
        dirty=any(not line.startswith("#") for line in state),
        committed_at=committed_at,
        subject=subject,
        tags=tags_of(named),
        author=author,
        repository=repository,
        pull_request=remotes.built_request(repository) or remotes.merged_request(f"{subject}\n{text}"),
    )


def _git_repository(git: list[str], branch: str) -> str:
    try:
        return remotes.git_repository(answer([*git, *remotes.git_question()]), branch)
    except UserError:  # it has no remote
        return ""


# `%D` then names the tags of a commit and nothing else, whatever the user's settings for decorations are.
ONLY_TAGS = ("--decorate=full", "--decorate-refs=refs/tags/")
_TAG = "tag: refs/tags/"


def tags_of(decoration: str) -> tuple[str, ...]:
    """The tags that `%D` names with the options `ONLY_TAGS`: no name of git's holds a blank."""
    return tuple(sorted(one.removeprefix(_TAG) for one in decoration.split(", ") if one.startswith(_TAG)))


def _hg(folder: Path) -> Revision:
    hg = ["hg", "--cwd", str(folder)]
    template = r"{node}\0{branch}\0{date|rfc3339date}\0{tags % '{tag}\n'}\0{author|person}\0{desc|firstline}"
    shown = answer([*hg, "log", "--rev", ".", "--template", template])
    commit, branch, committed_at, named, author, subject = shown.split("\0", 5)
    if not commit.strip("0"):
        raise UserError(f"{folder} has no commit yet")
    changed = answer([*hg, "status", "--modified", "--added", "--removed", "--deleted"])
    return Revision(
        vcs="hg",
        id=commit,
        branch=branch,
        dirty=bool(changed),
        committed_at=committed_at,
        subject=subject,
        tags=hg_tags(named),
        author=author,
        repository=remotes.hg_repository(folder),
    )


def hg_tags(lines: str) -> tuple[str, ...]:
    """The tags of a commit, one a line. `tip` is none that somebody gave: it moves with every commit."""
    return tuple(sorted(one for one in lines.splitlines() if one and one != "tip"))


def answer(command: list[str], timeout: float | None = None) -> str:
    """What the program prints, or a `UserError` in its own words."""
    limit = TIMEOUT if timeout is None else timeout
    environment = {k: v for k, v in os.environ.items() if k not in _MISLEADING} | _QUIET
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False
        )
    except FileNotFoundError:
        raise UserError(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"{command[0]} took longer than {limit:g} s") from None
    except OSError as error:
        raise UserError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        from benchwright.vcs.git_program import readable  # what goes well need not wait for it

        words = readable(done.stderr.decode("utf-8", "replace")) or f"exit code {done.returncode}"
        raise UserError(f"{command[0]}: {words}")
    return done.stdout.decode("utf-8", "replace")
