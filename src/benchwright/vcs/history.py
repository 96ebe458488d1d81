"""The commits of a repository, and working copies of them beside the user's own, which is never touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchwright.errors import TargetError
from benchwright.records import Revision

NO, NEEDED, ALL = "no", "needed", "all"
SUBMODULES = (NO, NEEDED, ALL)  # none; those that can be had; all of them or no working copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit with what only its history tells."""

    revision: Revision
    authored_at: str  # ISO 8601
    parents: tuple[str, ...] = ()


class History(Protocol):
    """What a repository of either kind offers. A `FetchError` is a refusal in the program's own words."""

    kind: str  # "git" or "hg"
    root: Path

    def resolve(self, name: str) -> Commit:
        """The commit that a name means: a branch, a tag, an abbreviated id; or a `TargetError`."""
        ...

    def after(self, since: str, until: str, *, first_parent: bool = True) -> list[Commit]:
        """The commits that led from `since` to `until`, oldest first: without the former, with the latter.

        With `first_parent` a merge counts as one commit. Empty when `since` is no ancestor of `until`.
        """
        ...

    def latest(self, until: str, count: int, *, first_parent: bool = True) -> list[Commit]:
        """The last `count` commits that led to `until`, itself among them, oldest first."""
        ...

    def first_since(self, instant: str, until: str) -> Commit | None:
        """The oldest of the commits that led to `until` and were committed at `instant` (ISO 8601) or later."""
        ...

    def bring(self, remote: str, branch: str) -> Commit:
        """The newest commit of `branch`: of the remote when there is one of that name, else of this repository."""
        ...

    def work_copy(self, revision: str, folder: Path, *, submodules: str = NEEDED) -> list[str]:
        """Makes `folder`, which is not there yet, a clean working copy of the revision; what was left out, and why.

        `submodules` says which of the repositories inside it come along: one of `SUBMODULES`.
        """
        ...

    def content_id(self, revision: str, path: str) -> str:
        """What names the content of a file or folder of a revision, by its path from the root; "": it has none."""
        ...

    def drop(self, folder: Path) -> None:
        """Removes a working copy that `work_copy` made; nothing there is fine."""
        ...

    def subjects(self, revisions: Sequence[str]) -> dict[str, Commit]:
        """What is known of each of these commits; those that there are not are left out."""
        ...


def open_repository(path: str | Path) -> History:
    """The nearest repository around `path`, or a `TargetError`."""
    here = Path(path).absolute()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            from benchwright.vcs.git import GitRepository

            return GitRepository(folder)
        if (folder / ".hg").exists():
            from benchwright.vcs.hg import HgRepository

            return HgRepository(folder)
    raise TargetError(f"{path} is not in a git or hg repository", remedy="name one with --repo")
