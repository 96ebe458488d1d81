"""Which commits of a repository wait to be measured, in the light of what a journal says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchwright import vcs
from benchwright.errors import FetchError, TargetError
from benchwright.vcs.history import Commit, Repository
from benchwright.watching import files
from benchwright.watching.choosing import stepped, thinned
from benchwright.watching.journal import Entry, Journal, What

_DEEP = 10_000  # commits that are looked through when history was rewritten
_OWN = "--remote '' watches this repository's own branch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """A branch, and how densely it is followed."""

    remote: str = "origin"
    branch: str = ""  # "" in a request: the one that is checked out
    since: str = ""  # begin after this commit; "": with the newest one
    step: int = 1
    catch_up: int = 0  # when more than so many wait, measure so many of them; 0: all
    commit_file: Path | None = None


class Line:
    """The commits of a branch, followed from where the journal starts."""

    def __init__(self, repository: Repository, following: Following, journal: Journal, say: Callable[[str], None]):
        self._repository, self._following, self._journal, self._say = repository, following, journal, say
        self.branch = following.branch

    def start(self) -> None:
        """Decides where to begin, once for good; a `UserError` when that cannot be found."""
        if self._journal.state.start is not None:
            return
        since = self._since()
        begin = since or self._newest()
        self._journal.add(Entry(what=What.STARTED, revision=begin.revision.id, inclusive=since is None))

    def waiting(self) -> list[Commit]:
        """What is new, oldest first."""
        newest = self._newest()
        state = self._journal.state
        assert state.start is not None
        if not state.last and state.start.inclusive:
            first = self._repository.resolve(state.start.revision)
            return [first, *self._chosen(self._repository.after(first.revision.id, newest.revision.id))]
        return self._chosen(self._after(state.last or state.start.revision, newest))

    def _newest(self) -> Commit:
        try:
            return self._repository.bring(self._following.remote, self.branch)
        except FetchError as error:
            raise FetchError(error.message, remedy=error.remedy or _OWN) from None

    def _chosen(self, commits: list[Commit]) -> list[Commit]:
        fresh = [commit for commit in commits if commit.revision.id not in self._journal.state.ended]
        return thinned(stepped(fresh, self._following.step), self._following.catch_up)

    def _after(self, last: str, newest: Commit) -> list[Commit]:
        """The commits since the last one; where that is no part of the branch any more, since the newest known one."""
        if last == newest.revision.id:
            return []
        with contextlib.suppress(TargetError):  # it may be gone from the repository
            if commits := self._repository.after(last, newest.revision.id):
                return commits
        led = self._repository.latest(newest.revision.id, _DEEP)
        known = [i for i, commit in enumerate(led) if commit.revision.id in self._journal.state.ended]
        if known and known[-1] == len(led) - 1:
            return []
        self._say(f"{last[:12]} is not part of {self.branch} any more")
        return led[known[-1] + 1 :] if known else [newest]

    def _since(self) -> Commit | None:
        """What the commit file names, else what was asked for."""
        name = files.read_commit(self._following.commit_file)
        if name:
            try:
                return self._repository.resolve(name)
            except TargetError:
                self._say(f"{self._following.commit_file} names no commit: {name[:40]!r}")
        return self._repository.resolve(self._following.since) if self._following.since else None


def checked_out(repository: Repository) -> str:
    """The branch that the user's own working copy is on."""
    revision = vcs.revision(repository.root)
    if revision is None:
        raise TargetError(f"{repository.root} has no commit yet", remedy="commit something, or name a --branch")
    return revision.branch or ("HEAD" if repository.kind == "git" else ".")
