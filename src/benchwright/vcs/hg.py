"""A Mercurial repository's history, and shares of it."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from benchwright.errors import FetchError, TargetError, UserError
from benchwright.records import Revision
from benchwright.vcs import answer, hg_tags
from benchwright.vcs.history import NEEDED, Commit
from benchwright.vcs.remotes import hg_repository

_TEMPLATE = (
    r"{node}\0{branch}\0{date|rfc3339date}\0{p1.node} {p2.node}\0{author|person}"
    r"\0{tags % '{tag}\n'}\0{desc|firstline}\x01"
)
_NOBODY = "0" * 40
_ID = re.compile("[0-9a-f]{6,40}")
_PATH = 47  # letters before the path in a line of a manifest: a hash, a blank, the mode, a blank, a sign, a blank
_LONG = 1800.0  # seconds for what talks to another machine or writes a whole copy


class HgRepository:
    """The repository whose working copy is `root`."""

    kind = "hg"

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, Commit] = {}  # by full id: a commit never changes, and each question takes long

    def resolve(self, name: str) -> Commit:
        """The commit that a name means; nothing in the name is read as a query."""
        if name in self._known:
            return self._known[name]
        named = [f"present({kind}({_literal(name)}))" for kind in ("bookmark", "tag")]
        by_id = [f"id('{name}')"] if _ID.fullmatch(name) else []
        query = " or ".join([*by_id, *named, f"last(present(branch({_literal(name)})))"])
        found = self._log(f"last({query})" if name != "." else ".") if name else []
        if not found:
            remedy = "hg branches and hg bookmarks show some; . is what is checked out"
            raise TargetError(f"{self.root}: there is no revision {name!r}", remedy=remedy)
        return found[-1]

    def after(self, since: str, until: str, *, first_parent: bool = True) -> list[Commit]:
        """The commits that led from one to the other, oldest first."""
        begin, newest = self.resolve(since).revision.id, self.resolve(until)
        if first_parent and (known := self._chain(newest, begin=begin)):
            return known
        end = newest.revision.id
        between = f"{begin}::{end}" if not first_parent else f"_firstancestors({end}) and {begin}::{end}"
        return [commit for commit in self._log(f"sort({between}, rev)") if commit.revision.id != begin]

    def latest(self, until: str, count: int, *, first_parent: bool = True) -> list[Commit]:
        """The last commits that led to `until`, oldest first."""
        newest = self.resolve(until)
        if first_parent and (known := self._chain(newest, count=count)):
            return known
        end = newest.revision.id
        led = f"_firstancestors({end})" if first_parent else f"::{end}"
        return self._log(f"sort(last(sort({led}, rev), {int(count)}), rev)")

    def first_since(self, instant: str, until: str) -> Commit | None:
        """The oldest that was committed at the instant or later."""
        end = self.resolve(until).revision.id
        second = math.ceil(datetime.fromisoformat(instant).timestamp())
        found = self._log(f"first(sort(::{end} and date('>{second} 0'), rev))")  # which means: then, or later
        return found[0] if found else None

    def bring(self, remote: str, branch: str) -> Commit:
        """The newest commit of the branch, pulled when there is such a path."""
        if remote and remote in self._paths():
            self._ask("pull", "--quiet", remote, long=True)
        return self.resolve(branch)

    def work_copy(self, revision: str, folder: Path, *, submodules: str = NEEDED) -> list[str]:
        """A share: its own working copy on the same store. Mercurial updates its subrepositories by itself."""
        commit = self.resolve(revision).revision.id
        folder.parent.mkdir(parents=True, exist_ok=True)
        share = ["hg", "--config", "extensions.share=", "share", "--noupdate", "--", str(self.root), str(folder)]
        _ask_program(share, _LONG)
        _ask_program(["hg", "--cwd", str(folder), "update", "--quiet", "--clean", "--rev", commit], _LONG)
        return []

    def content_id(self, revision: str, path: str) -> str:
        """The digest of a file's content, or of the names in a folder and where each was changed last."""
        commit = self.resolve(revision).revision.id
        try:
            told = self._ask("manifest", "--debug", "--rev", commit)
        except FetchError:
            return ""
        lines = [line for line in told.splitlines() if line[_PATH:] == path or line[_PATH:].startswith(f"{path}/")]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else ""

    def drop(self, folder: Path) -> None:
        """Removes a share; the store knows nothing of it."""
        shutil.rmtree(folder, ignore_errors=True)

    def subjects(self, revisions: Sequence[str]) -> dict[str, Commit]:
        """What is known of each of these commits."""
        found: dict[str, Commit] = {}
        for name in revisions:
            try:
                found[name] = self.resolve(name)
            except TargetError:
                continue
        return found

    def _chain(self, newest: Commit, *, begin: str = "", count: float = math.inf) -> list[Commit]:
        """The first parents that led to it from behind `begin`, or from the root, oldest first and so many at most.

        Without asking: empty when one of them is not known yet, or `begin` is none of them.
        """
        led: list[Commit] = []
        commit: Commit | None = newest
        while commit is not None and commit.revision.id != begin and len(led) < count:
            led.append(commit)
            if not commit.parents:
                return [] if begin else led[::-1]
            commit = self._known.get(commit.parents[0])
        return led[::-1] if commit is not None or len(led) == count else []

    def _paths(self) -> list[str]:
        return [line.partition(" = ")[0] for line in self._ask("paths").splitlines()]

    def _log(self, query: str) -> list[Commit]:
        found = []
        repository = hg_repository(self.root)
        for entry in self._ask("log", "--rev", query, "--template", _TEMPLATE).split("\x01"):
            if not entry.strip():
                continue
            commit, branch, at, parents, author, named, subject = entry.split("\0", 6)
            revision = Revision(
                vcs="hg",
                id=commit,
                branch=branch,
                committed_at=at,
                subject=subject,
                author=author,
                tags=hg_tags(named),
                repository=repository,
            )
            real = tuple(parent for parent in parents.split() if parent != _NOBODY)
            found.append(Commit(revision=revision, authored_at=at, parents=real))
        self._known.update({each.revision.id: each for each in found})
        return found

    def _ask(self, *arguments: str, long: bool = False) -> str:
        return _ask_program(["hg", "--cwd", str(self.root), "--noninteractive", *arguments], _LONG if long else None)


def _ask_program(command: list[str], timeout: float | None) -> str:
    try:
        return answer(command, timeout)
    except UserError as error:
        raise FetchError(error.message, remedy=error.remedy) from None


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'literal:{escaped}'"
