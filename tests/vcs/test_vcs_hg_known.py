"""What Mercurial need not be asked again: each question takes a third of a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.records import Revision
from benchwright.vcs.hg import HgRepository
from benchwright.vcs.history import Commit

LINE = {"a": "", "b": "a", "side": "a", "c": "b side", "d": "c"}  # each with its parents


class AskedError(Exception):
    """Mercurial was."""


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> HgRepository:
    """One that knows all of its commits."""
    repository = HgRepository(Path("nowhere"))
    for name, parents in LINE.items():
        commit = Commit(revision=Revision(vcs="hg", id=name), authored_at="", parents=tuple(parents.split()))
        repository._known[name] = commit

    def ask(*arguments: str) -> str:
        raise AskedError

    monkeypatch.setattr(repository, "_ask", ask)
    return repository


def _ids(commits: list[Commit]) -> list[str]:
    return [commit.revision.id for commit in commits]


def test_first_parents_that_are_known_are_not_asked_for(repository: HgRepository) -> None:
    assert _ids(repository.after("a", "d")) == ["b", "c", "d"]
    assert _ids(repository.latest("d", 2)) == ["c", "d"]
    assert _ids(repository.latest("d", 9)) == ["a", "b", "c", "d"]
    del repository._known["a"]
    assert _ids(repository.latest("d", 3)) == ["b", "c", "d"]


def test_anything_else_is_asked_for(repository: HgRepository) -> None:
    for since, until in (("side", "d"), ("d", "d")):
        with pytest.raises(AskedError):
            repository.after(since, until)
    with pytest.raises(AskedError):
        repository.latest("d", 9, first_parent=False)
    del repository._known["a"]
    with pytest.raises(AskedError):
        repository.latest("d", 9)
