"""Working copies of git repositories at what was asked for: a branch, a tag, a pull request, a commit.

Local work is never lost. Where it is in the way, nothing happens and the error says what to do about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import FetchError
from benchwright.fetch.partials import beside, remove
from benchwright.system.addresses import without_login
from benchwright.system.locks import hold_lock
from benchwright.system.masking import mask_url
from benchwright.vcs.git_program import Git
from benchwright.vcs.refs import aim, can_be_a_ref, only_here, remember

FORMS = "write url, url;branch, url;branch;hash or url;;hash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """What is wanted: an address, what to follow (a branch, a tag, `pull/7`, any `refs/...`), and a commit."""

    url: str
    branch: str = ""
    revision: str = ""

    def __post_init__(self) -> None:
        if not self.url:
            raise FetchError("the repository has no address", remedy=FORMS)
        # A value must not be read as an option, and an address must not name a helper program that git would start.
        if self.url.startswith("-") or re.search(r"[\x00-\x1f\x7f]|^[^/]*::", self.url):
            raise FetchError(f"{mask_url(self.url)!r} cannot be the address of a repository", remedy=FORMS)
        for what, value in (("branch", self.branch), ("revision", self.revision)):
            if value and not can_be_a_ref(value):
                raise FetchError(f"{value!r} cannot be the {what} of a repository", remedy=FORMS)

    @classmethod
    def parse(cls, text: str) -> Repository:
        """Reads `url`, `url;branch`, `url;branch;hash` or `url;;hash`."""
        url, *rest = (part.strip() for part in text.split(";"))
        if len(rest) > 2:
            raise FetchError(f"{mask_url(url)} is followed by {len(rest)} parts", remedy=FORMS)
        return cls(url=url, **dict(zip(("branch", "revision"), rest, strict=False)))

    @property
    def name(self) -> str:
        """What a working copy is usually called: the last part of the address without its last ending."""
        last = re.split(r"[/:]", without_login(self.url).rstrip("/"))[-1]
        name = last.rpartition(".")[0] or last
        if name in ("", ".", ".."):
            raise FetchError(f"{mask_url(self.url)} has no name of its own")
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingCopyFacts:
    """What a working copy is: where it came from, without secrets; its branch, "" if on none; its commit."""

    url: str
    branch: str
    revision: str


def checkout(repository: Repository, folder: Path, *, pull: bool = True, timeout: float = 1800.0) -> WorkingCopyFacts:
    """Makes `folder` a working copy at what `repository` asks for, cloned if it is missing.

    With `pull` the server is asked what is newest; without, only for what is not here yet. A branch is followed
    forwards; local commits on top of it stay. With a hash that lies on the branch, the branch is put there; any other
    hash, a tag or a pull request is checked out without a branch. Changed files, local commits that would be left
    behind, another origin or a folder that is no repository: a `FetchError`, and nothing was changed.
    """
    folder = Path(folder).absolute()
    git = Git(folder=folder, url=repository.url, timeout=timeout)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(beside(folder, "lock")):
            if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
                _clone(git)
            else:
                _check_origin(git)
            _go(git, repository, pull)
    except FetchError as error:
        raise FetchError(f"{folder}: {error.message}", remedy=error.remedy) from None
    except OSError as error:
        raise FetchError(f"{error.filename or folder}: {error.strerror or error}") from error
    found = describe(folder)
    if found is None:
        raise FetchError(f"{folder} has no commit", remedy="the repository is empty")
    return found


def describe(folder: Path) -> WorkingCopyFacts | None:
    """What the working copy in `folder` itself is, or None when that is not one of git with a commit."""
    git = Git(folder=Path(folder).absolute())
    revision = git.commit("HEAD") if (git.folder / ".git").exists() else None
    if revision is None:
        return None
    branch = git.look("symbolic-ref", "--quiet", "--short", "HEAD") or ""
    return WorkingCopyFacts(url=_plain(_origin(git)), branch=branch, revision=revision)


def _clone(git: Git) -> None:
    staging = beside(git.folder, "clone")
    remove(staging)
    url = git.url if "://" in git.url or not Path(git.url).exists() else str(Path(git.url).absolute())
    try:
        above = Git(folder=git.folder.parent, url=git.url, timeout=git.timeout)
        above.ask("clone", "--quiet", "--origin", "origin", "--", url, str(staging))
        if git.folder.exists():
            git.folder.rmdir()
        staging.rename(git.folder)
    finally:
        remove(staging)
    if commit := git.commit("HEAD"):
        remember(git, commit)


def _check_origin(git: Git) -> None:
    remedy = "move it away to have it cloned; nothing was changed"
    if not (git.folder / ".git").exists():
        raise FetchError("is there and is not a git repository", remedy=remedy)
    origin = _origin(git)
    if _comparable(origin) != _comparable(git.url):
        came = f"came from {_plain(origin)}" if origin else "has no origin"
        raise FetchError(f"{came}, and {_plain(git.url)} was asked for", remedy=remedy)


def _go(git: Git, repository: Repository, pull: bool) -> None:
    nothing_asked = not repository.branch and not repository.revision
    here = git.commit("HEAD")
    if nothing_asked and (here is None or not pull):
        return
    there = aim(git, repository.branch, repository.revision, pull=pull)
    branch = git.look("symbolic-ref", "--quiet", "--short", "HEAD") or ""
    if there is None or (here, branch) == (there.commit, there.branch):
        return
    if here is not None and here != there.commit:
        _check_clean(git)
        _check_kept(git, "HEAD", there.commit)
    if there.branch not in ("", branch) and git.commit(f"refs/heads/{there.branch}"):
        _check_kept(git, f"refs/heads/{there.branch}", there.commit)
    switch = ["--no-track", "-B", there.branch] if there.branch else ["--detach"]
    # Git refuses by itself to overwrite what is not under version control; here also what is ignored.
    git.ask("checkout", "--quiet", "--no-overwrite-ignore", *switch, there.commit, "--")
    if there.branch and there.tip:
        git.ask("branch", "--quiet", f"--set-upstream-to=origin/{there.branch}", there.branch)


def _check_clean(git: Git) -> None:
    changed = git.ask("status", "--porcelain", "--untracked-files=no").splitlines()
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise FetchError(
            f"another revision was asked for, and {changed[0][3:]}{more} was changed here",
            remedy="commit, stash or undo it, or do not ask for another revision; nothing was changed",
        )


def _check_kept(git: Git, name: str, going_to: str) -> None:
    """Refuses to leave commits behind that are in no other place."""
    if count := only_here(git, name, going_to):
        where = name.removeprefix("refs/heads/")
        raise FetchError(
            f"another revision was asked for, and {where} has {count} commits that are only here",
            remedy=f"push them, or keep them with: git tag NAME {where}; nothing was changed",
        )


def _origin(git: Git) -> str:
    return git.look("config", "--get", "remote.origin.url") or ""


def _plain(url: str) -> str:
    """The address without secrets; the user name of an ssh address is not a secret."""
    login = re.match(r"(ssh://[^/@:]+)(?::[^/@]*)?(@.*)", url)
    return login[1] + login[2] if login else without_login(url)


def _comparable(url: str) -> str:
    plain = without_login(url).removeprefix("file://").rstrip("/")
    if Path(plain).exists():
        plain = str(Path(plain).resolve())
    return plain.removesuffix(".git").rstrip("/")
