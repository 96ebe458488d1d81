"""Several equal machines share the cases of each commit out; a series stays on its machine, or says why not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import repositories
from benchwright.errors import LinkError
from benchwright.execution.lanes import host_name
from benchwright.execution.outposts.here import HereHost
from benchwright.execution.outposts.link import Link, Tell
from benchwright.records import Run, Status
from benchwright.store import open_store
from benchwright.targets.sources import Request
from benchwright.workflows.watch.commit_report import CommitReport
from benchwright.workflows.watch.commits import FollowedBranch
from benchwright.workflows.watch.equal_machines import USUAL
from benchwright.workflows.watch.journal import CommitState
from benchwright.workflows.watch.loop import watch
from benchwright.workflows.watch.settings import Watched

plain = repositories.plain
pytestmark = pytest.mark.usefixtures("plain")
BENCH = "".join(
    f'class Case{number}:\n    def run(self, report):\n        report("time", 1.0, unit="s", better="lower")\n\n\n'
    for number in range(4)
)


class NamedHost(HereHost):
    """This machine under another name, which can be away."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.patience, self.is_away = name, 0.0, False
        self._connect_there, self._connect = self._connect, self._call_there

    @property
    def system(self) -> dict[str, object]:  # type: ignore[override]
        return {"host": {"name": self.name}}

    def go_away(self) -> None:
        self.is_away = True
        self._drop()

    def _call_there(self, tell: Tell) -> Link:
        if self.is_away:
            raise LinkError(f"{self.name}: no route")
        return self._connect_there(tell)


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[NamedHost]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    made = [NamedHost("a"), NamedHost("b")]
    yield made
    for one in made:
        one.close()


def git(*words: str) -> None:
    subprocess.run(["git", "-C", "project", *words], check=True)


def commit(number: int) -> None:
    Path("project", "bench.py").write_text(BENCH)
    Path("project", "note.txt").write_text(str(number))
    git("add", ".")
    git("commit", "-q", "-m", f"Commit {number}")


def measure(hosts: list[NamedHost], *, falls_back: bool) -> Run:
    handled: list[CommitReport] = []
    watched = Watched(
        repo=Path("project"),
        request=Request(targets=[f"bench.py::Case{number}.run" for number in range(4)]),
        following=FollowedBranch(remote=""),
        rounds=1,
        pairs=0,
        host=hosts[0],
        others=hosts[1:],
        falls_back=falls_back,
    )
    watch(watched, tell=handled.append)
    (one,) = handled
    assert one.taken.outcome is CommitState.MEASURED, one.taken
    with closing(open_store(Path(".benchwright", "results.db"), create=False)) as store:
        return store.run(one.taken.run)


def places(run: Run) -> dict[str, str]:
    assert {result.status for result in run.results} == {Status.OK}
    return {result.case.name: host_name(result) for result in run.results}


@pytest.mark.soak
def test_a_series_stays_on_its_machine_and_goes_to_another_one_as_long_as_that_is_away(hosts: list[NamedHost]) -> None:
    Path("project").mkdir()
    git("init", "-q", "-b", "main")
    commit(1)
    first = places(measure(hosts, falls_back=True))
    assert sorted(first.values()) == ["a", "a", "b", "b"]
    commit(2)
    hosts[1].go_away()
    second = measure(hosts, falls_back=True)
    assert {*places(second).values()} == {"a"}
    marked = {
        result.case.name: (result.details[USUAL], warning.seen)
        for result in second.results
        for warning in result.warnings
        if warning.code == "other-machine"
    }
    assert {*marked} == {name for name, machine in first.items() if machine == "b"}
    assert all(
        usual == "b" and "b, which has this series, cannot be reached" in seen for usual, seen in marked.values()
    )
    commit(3)
    hosts[1].is_away = False
    third = measure(hosts, falls_back=True)
    assert places(third) == first
    assert not [warning for result in third.results for warning in result.warnings if warning.code == "other-machine"]
