"""Which commit is meant: names of branches, tags and pull requests, as the server has them or as they are known here.

What the server has beside branches is kept under refs of our own, so that nothing of the user's is overwritten; and so
is every commit that came from it, because a branch or a pull request may be rewritten there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchwright.errors import FetchError, did_you_mean
from benchwright.system.masking import mask_url
from benchwright.vcs.git_program import Git

OURS = "refs/benchwright/"

_HASH = re.compile(r"[0-9a-fA-F]{4,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutAim:
    """The commit to check out, and the local branch to be on, if any. `tip` is where the server has that branch."""

    commit: str
    branch: str = ""
    tip: str = ""


def can_be_a_ref(name: str) -> bool:
    """Whether a branch, tag or commit may be called so."""
    return not re.search(r"[\s~^:?*\[\\]|\.\.|@\{|//|/$|\.$|\.lock$|^[/-]", name)


def aim(git: Git, branch: str, revision: str, *, pull: bool) -> CheckoutAim | None:
    """Where `branch` and `revision` lead, or None when nothing was asked for and there is nothing to follow.

    With `pull` the server says what a name means, otherwise it is asked only for what is not known here.
    """
    current = git.look("symbolic-ref", "--quiet", "--short", "HEAD") or ""
    wanted = branch or ("" if revision else current or _default_branch(git))
    followed = _follow(git, wanted, pull) if wanted else None
    if wanted == branch and wanted and followed is None:
        raise _unknown(git, wanted)
    if revision:
        return _at(git, _find_commit(git, revision), followed)
    return _on_top(git, followed) if followed else None


def remember(git: Git, commit: str) -> None:
    """Notes that a commit came from the server."""
    git.ask("update-ref", f"{OURS}commits/{commit}", commit)


def only_here(git: Git, name: str, besides: str) -> int:
    """How many commits below `name` neither came from the server nor lie below the commit `besides`."""
    theirs = ("--remotes=origin", "--tags", f"--glob={OURS}*")
    return int(git.ask("rev-list", "--count", name, "--not", besides, *theirs, "--"))


def _follow(git: Git, wanted: str, pull: bool) -> CheckoutAim | None:
    refs = _candidates(wanted)
    if not pull and (known := _known_here(git, wanted, refs)):
        return known
    there = {line.partition("\t")[2] for line in git.ask("ls-remote", "origin", *refs).splitlines()}
    for ref in refs:
        if ref in there:
            git.ask("fetch", "--quiet", "--no-tags", "origin", f"+{ref}:{_kept_as(ref)}")
            commit = git.commit(_kept_as(ref))
            if commit is None:
                raise FetchError(f"{wanted!r} is not a commit")
            remember(git, commit)
            return _aim_at(ref, commit)
    return None


def _known_here(git: Git, wanted: str, refs: list[str]) -> CheckoutAim | None:
    if local := git.commit(f"refs/heads/{wanted}"):
        return CheckoutAim(commit=local, branch=wanted, tip=git.commit(f"refs/remotes/origin/{wanted}") or "")
    for ref in refs:
        commit = git.commit(_kept_as(ref)) or (git.commit(ref) if ref.startswith("refs/tags/") else None)
        if commit is not None:
            return _aim_at(ref, commit)
    return None


def _at(git: Git, commit: str, followed: CheckoutAim | None) -> CheckoutAim:
    """The commit, on the branch that was asked for if it lies on that."""
    if followed and followed.tip and git.look("merge-base", "--is-ancestor", commit, followed.tip) is not None:
        return CheckoutAim(commit=commit, branch=followed.branch, tip=followed.tip)
    return CheckoutAim(commit=commit)


def _on_top(git: Git, followed: CheckoutAim) -> CheckoutAim:
    """The same, or the local branch where it has commits on top of what the server has."""
    local = git.commit(f"refs/heads/{followed.branch}") if followed.branch else None
    if local is not None and git.look("merge-base", "--is-ancestor", followed.commit, local) is not None:
        return CheckoutAim(commit=local, branch=followed.branch, tip=followed.tip)
    return followed


def _find_commit(git: Git, revision: str) -> str:
    names = [revision] if _HASH.fullmatch(revision) else [_kept_as(ref) for ref in _candidates(revision)]
    for fetch in (False, True):
        if fetch:
            git.ask("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*", f"+refs/tags/*:{OURS}tags/*")
        for name in names:
            if commit := git.commit(name):
                return commit
    if len(revision) >= 40:  # servers may give a commit that no branch leads to any more
        kept = f"{OURS}commits/{revision.lower()}"
        git.look("fetch", "--quiet", "--no-tags", "origin", f"+{revision.lower()}:{kept}")
        if commit := git.commit(kept):
            return commit
    raise FetchError(f"{revision} is not in {mask_url(git.url)}", remedy="check the hash, and whether it was pushed")


def _unknown(git: Git, wanted: str) -> FetchError:
    listed = git.ask("ls-remote", "--refs", "origin").splitlines()
    names = [line.partition("\t")[2].split("/", 2)[-1] for line in listed if "\trefs/" in line]
    remedy = did_you_mean(wanted, names) if len(names) <= 1000 else "check its name"
    if _HASH.fullmatch(wanted):
        remedy = "a hash stands third: url;branch;hash, or url;;hash"
    return FetchError(f"no branch, tag or pull request {wanted!r} in {mask_url(git.url)}", remedy=remedy)


def _default_branch(git: Git) -> str:
    head = git.look("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD") or ""
    if not head:
        raise FetchError(
            "the working copy is on no branch, and its origin names no default branch",
            remedy="say which branch is wanted",
        )
    return head.removeprefix("origin/")


def _candidates(wanted: str) -> list[str]:
    """The refs of the server that a name may mean, best first."""
    if wanted.startswith("refs/"):
        return [wanted]
    pull = re.fullmatch(r"pull/(\d+)(?:/(head|merge))?", wanted)
    pulls = [f"refs/pull/{pull[1]}/{pull[2] or 'head'}"] if pull else []
    return [f"refs/heads/{wanted}", f"refs/tags/{wanted}", *pulls]


def _kept_as(ref: str) -> str:
    """Returns the local name under which a ref of the server is kept."""
    if ref.startswith("refs/heads/"):
        return f"refs/remotes/origin/{ref.removeprefix('refs/heads/')}"
    return OURS + ref.removeprefix("refs/")


def _aim_at(ref: str, commit: str) -> CheckoutAim:
    if ref.startswith("refs/heads/"):
        return CheckoutAim(commit=commit, branch=ref.removeprefix("refs/heads/"), tip=commit)
    return CheckoutAim(commit=commit)
