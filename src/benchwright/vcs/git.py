"""A git repository's history, and worktrees of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from benchwright.errors import FetchError, TargetError
from benchwright.records import Revision
from benchwright.system.locks import hold_lock
from benchwright.vcs import ONLY_TAGS, tags_of
from benchwright.vcs.git_program import Git
from benchwright.vcs.history import ALL, NEEDED, Commit
from benchwright.vcs.remotes import git_question, git_repository, merged_request

_FORMAT = "%H%x00%cI%x00%aI%x00%P%x00%an%x00%D%x00%s%x00%b%x00"  # no message holds a zero byte
_FIELDS = 8
_END = "--end-of-options"
_SUBMODULE_MODE = "160000 "
_SUBMODULE = 300.0  # seconds for one that may be left out


class GitRepository:
    """The repository whose working copy is `root`."""

    kind = "git"

    def __init__(self, root: Path) -> None:
        self.root = root
        self._git = Git(folder=root)
        self._known: dict[str, Commit] = {}  # by full id: a commit never changes
        self._web: str | None = None

    def resolve(self, name: str) -> Commit:
        """The commit that a name means."""
        if name in self._known:
            return self._known[name]
        found = self._git.look("rev-parse", "--verify", "--quiet", _END, f"{name}^{{commit}}") if name else None
        if found is None:
            raise TargetError(f"{self.root}: there is no revision {name!r}", remedy="git branch --all shows some")
        return self._log("--max-count=1", found)[0]

    def after(self, since: str, until: str, *, first_parent: bool = True) -> list[Commit]:
        """The commits that led from one to the other, oldest first."""
        begin, end = self.resolve(since).revision.id, self.resolve(until).revision.id
        if self._git.look("merge-base", "--is-ancestor", begin, end) is None:
            return []
        ways = ["--first-parent"] if first_parent else ["--ancestry-path", "--topo-order"]
        return self._log("--reverse", *ways, f"{begin}..{end}")

    def latest(self, until: str, count: int, *, first_parent: bool = True) -> list[Commit]:
        """The last commits that led to `until`, oldest first."""
        ways = ["--first-parent"] if first_parent else ["--topo-order"]
        return self._log(f"--max-count={count}", *ways, self.resolve(until).revision.id)[::-1]

    def first_since(self, instant: str, until: str) -> Commit | None:
        """The oldest that was committed at the instant or later. Git takes the zone from the instant."""
        found = self._log("--reverse", f"--since-as-filter={instant}", self.resolve(until).revision.id)
        return found[0] if found else None

    def bring(self, remote: str, branch: str) -> Commit:
        """The newest commit of the branch, fetched when there is such a remote."""
        if remote and remote in (self._git.look("remote") or "").split():
            return self._fetch_branch(remote, branch)
        return self.resolve(branch)

    def work_copy(self, revision: str, folder: Path, *, submodules: str = NEEDED) -> list[str]:
        """A worktree with a detached head. Submodules that cannot be had are left out, unless all are wanted."""
        commit = self.resolve(revision).revision.id
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._git.ask("worktree", "prune")  # of copies whose folder was removed by hand
        self._git.ask("worktree", "add", "--quiet", "--detach", "--force", str(folder), commit)
        if submodules == ALL and (folder / ".gitmodules").is_file():
            inner = Git(folder=folder)
            inner.ask("submodule", "--quiet", "sync", "--recursive")
            inner.ask("submodule", "--quiet", "update", "--init", "--recursive")
        return _bring_submodules(folder, folder) if submodules == NEEDED else []

    def content_id(self, revision: str, path: str) -> str:
        """The hash of a blob or a tree."""
        return self._git.look("rev-parse", "--verify", "--quiet", _END, f"{revision}:{path}") or ""

    def drop(self, folder: Path) -> None:
        """Removes a worktree, from the repository's list as well."""
        if self._git.look("worktree", "remove", "--force", "--force", str(folder)) is None:
            shutil.rmtree(folder, ignore_errors=True)
            self._git.look("worktree", "prune")

    def subjects(self, revisions: Sequence[str]) -> dict[str, Commit]:
        """What is known of each of these commits."""
        found: dict[str, Commit] = {}
        for name in revisions:
            try:
                found[name] = self.resolve(name)
            except (TargetError, FetchError):
                continue
        return found

    def _fetch_branch(self, remote: str, branch: str) -> Commit:
        """The branch there, kept in a reference of our own alone.

        FETCH_HEAD and the branches of the remote are the user's, and others may write them at this moment.
        """
        there = branch if branch == "HEAD" or branch.startswith("refs/") else f"refs/heads/{branch}"
        here = f"refs/benchwright/{quote(remote, safe='')}/{quote(branch, safe='')}"  # never one below another
        quiet = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=")
        common = Path(self._git.ask("rev-parse", "--path-format=absolute", "--git-common-dir"))
        try:
            with hold_lock(common / "benchwright-fetch.lock"):  # git refuses, rather than waits, when another writes it
                self._git.ask("fetch", *quiet, _END, remote, f"+{there}:{here}")
                return self.resolve(here)
        except OSError as error:
            raise FetchError(f"{common} cannot be written: {error.strerror}") from None

    def _log(self, *arguments: str) -> list[Commit]:
        text = self._git.ask("log", "--no-show-signature", *ONLY_TAGS, f"--format=tformat:{_FORMAT}", *arguments, "--")
        found = [*_commits(text.split("\0"), self._address())]
        self._known.update({each.revision.id: each for each in found})
        return found

    def _address(self) -> str:
        """The web address of the repository; asked once."""
        if self._web is None:
            self._web = git_repository(self._git.look(*git_question()) or "")
        return self._web


def _bring_submodules(folder: Path, root: Path) -> list[str]:
    """Brings each submodule of a working copy, and those inside it; which are missing, and why."""
    if not (folder / ".gitmodules").is_file():
        return []
    git = Git(folder=folder, timeout=_SUBMODULE)
    missing: list[str] = []
    for path in _submodules(git):
        try:
            git.ask("submodule", "--quiet", "sync", "--", path)
            git.ask("submodule", "--quiet", "update", "--init", "--", path)
        except FetchError as error:
            missing.append(f"submodule {(folder / path).relative_to(root)} is left out: {_reason(error.message)}")
        else:
            missing += _bring_submodules(folder / path, root)
    return missing


def _submodules(git: Git) -> list[str]:
    """The paths of a commit's submodules: `.gitmodules` may name others too, which were taken away."""
    entries = (git.look("ls-files", "--stage", "-z") or "").split("\0")
    return [entry.partition("\t")[2] for entry in entries if entry.startswith(_SUBMODULE_MODE)]


def _reason(complaint: str) -> str:
    """The first thing that git calls fatal: what follows says the same once more, for each step that it undoes."""
    first = complaint.find("fatal: ")
    return complaint if first < 0 else complaint[first + len("fatal: ") :].partition("; ")[0]


def _commits(words: Sequence[str], repository: str) -> Iterable[Commit]:
    for start in range(0, len(words) - _FIELDS, _FIELDS):
        commit, committed_at, authored_at, parents, author, named, subject, text = words[start : start + _FIELDS]
        revision = Revision(
            vcs="git",
            id=commit.lstrip("\n"),
            committed_at=committed_at,
            subject=subject,
            author=author,
            tags=tags_of(named),
            repository=repository,
            pull_request=merged_request(f"{subject}\n{text}"),
        )
        yield Commit(revision=revision, authored_at=authored_at, parents=tuple(parents.split()))
