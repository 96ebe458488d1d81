"""Which commits of a repository wait to be measured, in the light of what a journal says."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path

from benchwright import vcs
from benchwright.errors import FetchError, TargetError
from benchwright.vcs.history import Commit, History
from benchwright.workflows.watch import files
from benchwright.workflows.watch.journal import JournalLine, WatchJournal, What
from benchwright.workflows.watch.selection import stepped, thinned

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


class BranchLine:
    """The commits of a branch, followed from where the journal starts."""

    def __init__(self, repository: History, following: Following, journal: WatchJournal, say: Callable[[str], None]):
        self._repository, self._following, self._journal, self._say = repository, following, journal, say
        self.branch = following.branch

    def start(self) -> None:
        """Decides where to begin, once for good; a `UserError` when that cannot be found."""
        asked = self._repository.resolve(self._following.since) if self._following.since else None
        started = self._journal.state.start
        if started is not None:
            if asked is not None and asked.revision.id != started.revision:
                self._say("--since says where the first start begins; this one goes on where the last one was")
            return
        since = self._in_file() or asked
        begin = since or self._newest()
        self._journal.add(JournalLine(what=What.STARTED, revision=begin.revision.id, inclusive=since is None))

    def waiting(self) -> list[Commit]:
        """What is new, oldest first."""
        newest = self._newest()
        state = self._journal.state
        assert state.start is not None
        if not state.last and state.start.inclusive:
            first = self._repository.subjects([state.start.revision]).get(state.start.revision, newest)
            return [first, *self._chosen(self._repository.after(first.revision.id, newest.revision.id))]
        last = state.last or state.start.revision
        return self._chosen(
            after(self._repository, last, newest, state.ended.keys(), lambda: self._say(gone(last, self.branch)))
        )

    def _newest(self) -> Commit:
        try:
            return self._repository.bring(self._following.remote, self.branch)
        except FetchError as error:
            raise FetchError(error.message, remedy=error.remedy or _OWN) from None

    def _chosen(self, commits: list[Commit]) -> list[Commit]:
        fresh = [commit for commit in commits if commit.revision.id not in self._journal.state.ended]
        return thinned(stepped(fresh, self._following.step), self._following.catch_up)

    def _in_file(self) -> Commit | None:
        """What the commit file names."""
        name = files.read_commit(self._following.commit_file)
        if name:
            try:
                return self._repository.resolve(name)
            except TargetError:
                self._say(f"{self._following.commit_file} names no commit: {name[:40]!r}")
        return None


def after(repository: History, last: str, newest: Commit, known: Set[str], lost: Callable[[], None]) -> list[Commit]:
    """The commits that led from `last` to `newest`, oldest first: without the former, with the latter.

    Where history was rewritten, so that `last` is no part of it any more, they are those after the newest one that is
    known or that led to `last`, and `lost` is called; where there is none either, it is `newest` alone.
    """
    if last == newest.revision.id:
        return []
    before: list[Commit] = []
    try:
        if commits := repository.after(last, newest.revision.id):
            return commits
        before = repository.latest(last, _DEEP)
    except (TargetError, FetchError):  # it may be gone from the repository
        pass
    seen = {*known, *(commit.revision.id for commit in before)}
    led = repository.latest(newest.revision.id, _DEEP)
    places = [place for place, commit in enumerate(led) if commit.revision.id in seen]
    if places and places[-1] == len(led) - 1:  # history was taken back
        return []
    lost()
    return led[places[-1] + 1 :] if places else [newest]


def gone(commit: str, branch: str) -> str:
    """What a person is told when history was rewritten."""
    return f"{commit[:12]} is not part of {branch} any more"


def checked_out(repository: History) -> str:
    """The branch that the user's own working copy is on."""
    revision = vcs.revision(repository.root)
    if revision is None:
        raise TargetError(f"{repository.root} has no commit yet", remedy="commit something, or name a --branch")
    return revision.branch or ("HEAD" if repository.kind == "git" else ".")
