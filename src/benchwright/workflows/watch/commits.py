"""Which commits of a repository wait to be measured, in the light of what a journal says."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchwright import vcs
from benchwright.errors import FetchError, TargetError
from benchwright.vcs.history import Commit, History
from benchwright.workflows.watch import interface
from benchwright.workflows.watch.journal import JournalKind, JournalLine, WatchJournal

_DEEP = 10_000  # commits that are looked through when history was rewritten
_OWN = "--remote '' watches this repository's own branch"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedBranch:
    """A branch, and how densely it is followed."""

    remote: str = "origin"
    branch: str = ""  # "" in a request: the one that is checked out
    since: str = ""  # begin after this commit; "": with the newest one
    step: int = 1
    catch_up: int = 0  # when more than so many wait, measure so many of them; 0: all
    commit_file: Path | None = None


class BranchLine:
    """The commits of a branch, followed from where the journal starts."""

    def __init__(
        self, repository: History, following: FollowedBranch, journal: WatchJournal, say: Callable[[str], None]
    ):
        self._repository, self._following, self._journal, self._say = repository, following, journal, say
        self.branch = following.branch

    def start(self) -> None:
        """Decides where to begin, once for good; a `UserError` when that cannot be found."""
        asked = self._repository.resolve(self._following.since) if self._following.since else None
        started = self._journal.state.start
        if started is not None:
            if asked is not None and asked.revision.id != started.revision:
                self._say("--since counts at the first start only; this watch continues where it stopped")
            return
        since = self._commit_in_file() or asked
        begin = since or self._newest()
        self._journal.add(JournalLine(what=JournalKind.STARTED, revision=begin.revision.id, inclusive=since is None))

    def waiting(self) -> list[Commit]:
        """Returns the new commits, oldest first."""
        newest = self._newest()
        state = self._journal.state
        assert state.start is not None
        if not state.last and state.start.inclusive:
            first = self._repository.subjects([state.start.revision]).get(state.start.revision, newest)
            return [first, *self._choose(self._repository.after(first.revision.id, newest.revision.id))]
        last = state.last or state.start.revision
        return self._choose(
            commits_after(
                self._repository,
                last,
                newest,
                state.ended.keys(),
                lambda: self._say(describe_lost_commit(last, self.branch)),
            )
        )

    def _newest(self) -> Commit:
        try:
            return self._repository.bring(self._following.remote, self.branch)
        except FetchError as error:
            raise FetchError(error.message, remedy=error.remedy or _OWN) from None

    def _choose(self, commits: list[Commit]) -> list[Commit]:
        fresh = [commit for commit in commits if commit.revision.id not in self._journal.state.ended]
        return thin_out(take_every(fresh, self._following.step), self._following.catch_up)

    def _commit_in_file(self) -> Commit | None:
        """Returns the commit that the commit file names."""
        name = interface.read_commit(self._following.commit_file)
        if name:
            try:
                return self._repository.resolve(name)
            except TargetError:
                self._say(f"{self._following.commit_file} does not name a commit: {name[:40]!r}")
        return None


def commits_after(
    repository: History, last: str, newest: Commit, known: Set[str], lost: Callable[[], None]
) -> list[Commit]:
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


def describe_lost_commit(commit: str, branch: str) -> str:
    """The message that history was rewritten."""
    return f"{commit[:12]} is not part of {branch} any more"


def current_branch(repository: History) -> str:
    """The branch that the user's own working copy is on."""
    revision = vcs.revision(repository.root)
    if revision is None:
        raise TargetError(f"{repository.root} has no commit yet", remedy="commit something, or name a --branch")
    return revision.branch or ("HEAD" if repository.kind == "git" else ".")


# ---- which of the commits that wait are measured, and in which order ----


T = TypeVar("T")


def take_every(waiting: Sequence[T], step: int) -> list[T]:
    """Every `step`-th; fewer than that wait until there are enough. None waits for a successor."""
    return [*waiting[step - 1 :: step]]


def thin_out(waiting: Sequence[T], most: int) -> list[T]:
    """Returns at most `most` commits, evenly spread, the newest always among them; 0 means all."""
    count = len(waiting)
    if not most or count <= most:
        return [*waiting]
    places = sorted({round((i + 1) * count / most) - 1 for i in range(most)})
    return [waiting[place] for place in places]


def choose_between(led: Sequence[str], first: str, last: str, known: Set[str], most: int) -> list[str]:
    """Commits strictly between two that nobody measured, those that halve what is left first; at most `most`.

    `led` is the history, oldest first. Ends that are not in it have nothing between them.
    """
    if first not in led or last not in led:
        return []
    between = led[led.index(first) + 1 : led.index(last)]
    chosen: list[str] = []
    stretches = _unknown_stretches(between, known)
    while stretches and len(chosen) < most:
        stretch = max(stretches, key=len)
        stretches.remove(stretch)
        middle = len(stretch) // 2
        chosen.append(stretch[middle])
        stretches += [part for part in (stretch[:middle], stretch[middle + 1 :]) if part]
    return chosen


def _unknown_stretches(between: Sequence[str], known: Set[str]) -> list[list[str]]:
    """The stretches of commits next to each other that are not known."""
    found: list[list[str]] = [[]]
    for commit in between:
        if commit in known:
            found.append([])
        else:
            found[-1].append(commit)
    return [stretch for stretch in found if stretch]


def name_of_branch(followed: str) -> str:
    """What people call the branch that is followed; "" where it is only whatever is checked out."""
    return "" if followed in ("HEAD", ".") else followed.removeprefix("refs/heads/")
