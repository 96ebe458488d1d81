"""Watching real repositories that the test makes: what is measured, what is found, what is gone on with."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import repositories
from benchwright.cli import main
from benchwright.errors import FetchError, OptionError, TargetError
from benchwright.events import Noted
from benchwright.records import Estimate, Load, Status, Verdict
from benchwright.records.findings import Finding, State
from benchwright.store import Store, open_store
from benchwright.targets.sources import Request
from benchwright.vcs.git import GitRepository
from benchwright.vcs.history import Commit
from benchwright.workflows.watch.commit_report import CommitReport
from benchwright.workflows.watch.commits import FollowedBranch
from benchwright.workflows.watch.journal import CommitState, JournalLine, WatchJournal
from benchwright.workflows.watch.loop import watch
from benchwright.workflows.watch.settings import Watched

plain = repositories.plain
pytestmark = pytest.mark.usefixtures("plain")
STORE = Path(".benchwright", "results.db")


def _watched(build: str = "", *, pairs: int = 0, **following: Any) -> Watched:
    asked = FollowedBranch(**{"remote": "", **following})
    request = Request(targets=[repositories.TARGET])
    return Watched(repo=Path("project"), request=request, following=asked, build=build, pairs=pairs)


def _watch(watched: Watched) -> list[CommitReport]:
    handled: list[CommitReport] = []
    ok = watch(watched, tell=handled.append)
    assert ok == all(each.ok for each in handled)
    return handled


@contextmanager
def _store() -> Iterator[Store]:
    with closing(open_store(STORE, create=False)) as store:
        yield store


def _reported(findings: Iterable[Finding]) -> list[Finding]:
    """Those of the benchmark's own figures: its memory is the machine's affair."""
    return [finding for finding in findings if finding.metric in repositories.METRICS]


def _find(kind: str, costs: Sequence[list[float]], broken: int) -> tuple[list[str], list[Finding]]:
    """The commits, and the changes that were found in all but the first, as the store has them in the end."""
    commits = repositories.make(Path("project"), *costs, kind=kind, broken=[broken])
    handled = _watch(_watched(repositories.BUILD, since=commits[0]))
    assert [each.revision.id for each in handled] == commits[1:]
    assert {each.taken.outcome for each in handled} == {CommitState.MEASURED, CommitState.UNBUILT}
    (unbuilt,) = [each for each in handled if each.taken.outcome is CommitState.UNBUILT]
    assert unbuilt.revision.id == commits[broken]
    with _store() as store:
        branches = {each.revision.branch for each in store.runs(limit=1000) if each.revision}
        assert branches == {"main" if kind == "git" else "default"}
        (result,) = store.run(unbuilt.taken.run).results  # a gap in the history, with its reason
        found = _reported(store.findings())
    assert result.status is Status.FAILED and result.error is not None and "exit code 3" in result.error.message
    return commits, found


def _bisect(finding: Finding, culprit: str) -> None:
    assert main(["bisect", finding.id, "--repo", "project", "--build", repositories.BUILD]) == 0
    with _store() as store:
        (suspect, *_) = store.finding(finding.id).suspects
    assert suspect.revision == culprit and suspect.probability > 0.95


def test_a_change_for_the_worse_is_found_and_no_other() -> None:
    commits, (worse,) = _find("git", [[1.0] * 10 + [1.1] * 7], broken=4)
    assert (worse.verdict, worse.state) == (Verdict.WORSE, State.OPEN)
    assert worse.suspects[0].revision == commits[10]
    assert worse.effect.point == pytest.approx(1.1, rel=0.01)
    assert _watch(_watched(repositories.BUILD, since=commits[0])) == []  # nothing is measured twice


@pytest.mark.soak  # thirty builds and a bisection
def test_a_change_for_the_worse_and_one_for_the_better_are_found_and_no_other() -> None:
    costs = [1.0] * 10 + [1.1] * 10 + [0.9] * 10
    commits, (better, worse) = _find("git", [costs], broken=14)
    assert (worse.verdict, better.verdict) == (Verdict.WORSE, Verdict.BETTER)
    assert worse.suspects[0].revision == commits[10] and better.suspects[0].revision == commits[20]
    assert worse.effect.point == pytest.approx(1.1, rel=0.01)
    assert better.effect.point == pytest.approx(0.9 / 1.1, rel=0.01)
    assert (worse.state, better.state) == (State.RESOLVED, State.OPEN)  # what came after is faster than before it
    assert _watch(_watched(repositories.BUILD, since=commits[0])) == []  # nothing is measured twice
    _bisect(worse, commits[10])


@pytest.mark.soak
def test_a_suspected_change_is_measured_in_pairs_before_anybody_is_told() -> None:
    commits = repositories.make(Path("project"), [1.0] * 13 + [1.1] * 2)
    handled = _watch(_watched(pairs=7, since=commits[0]))
    (told,) = [(each.revision.id, finding) for each in handled for finding in _reported(each.findings)]
    assert told[0] == commits[14]  # the second that is slower; a history alone waits for the fifth
    finding = told[1]
    assert (finding.state, finding.verdict) == (State.OPEN, Verdict.WORSE)
    assert [remark.what for remark in finding.remarks] == ["suspected", "confirmed"]
    old, _, new, *_ = finding.remarks[-1].text.split()
    places = {commit[:12]: place for place, commit in enumerate(commits)}
    assert places[old] <= 12 and places[new] >= 13  # where noise leaves it open which commit it was, more lie between
    with _store() as store:
        assert len([*store.run_ids()]) == len(commits) - 1  # what was measured again is no part of the history
        judging = store.judging()  # type: ignore[attr-defined]
        assert judging.waiting == 0 and judging.judged > 0  # no server judges what the watch has judged


@pytest.mark.soak
def test_commits_of_a_mercurial_repository_are_measured() -> None:
    _, found = _find("hg", [[1.0] * 3], broken=2)
    assert found == []


@pytest.mark.soak
@pytest.mark.timeout(600)  # fifteen builds and two bisections, and every call of hg starts a Python
def test_the_same_in_a_mercurial_repository() -> None:
    commits, found = _find("hg", [[1.0] * 8 + [1.1] * 7, [1.0] * 9 + [0.9] * 6], broken=3)
    worse, better = sorted(found, key=lambda finding: finding.verdict, reverse=True)
    assert (worse.metric, worse.verdict) == ("encode_time", Verdict.WORSE)
    assert (better.metric, better.verdict) == ("decode_time", Verdict.BETTER)
    assert worse.suspects[0].revision == commits[8] and better.suspects[0].revision == commits[9]
    _bisect(worse, commits[8])
    _bisect(better, commits[9])


@pytest.mark.soak
def test_a_gap_in_which_a_change_was_found_is_measured_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    commits = repositories.make(Path("project"), [1.0] * 8)
    level = Estimate(point=1.0, low=None, high=None)
    finding = Finding(
        id="found",
        series="s",
        before=level,
        after=level,
        effect=level,
        method="",
        verdict=Verdict.WORSE,
        revisions=tuple(commits[3:7]),
        why={"cause": "either"},
    )
    judged: list[str] = []
    again: list[str] = []

    def judge(store: Store, run: str, **_: Any) -> list[Finding]:
        judged.append(run)
        return [finding] if len(judged) == 2 else []

    def remeasured(store: Store, reference: str, run: str) -> Finding:
        again.append(run)
        return finding

    monkeypatch.setattr("benchwright.analysis.detection.judge", judge)
    monkeypatch.setattr("benchwright.analysis.detection.record_remeasurement", remeasured)
    handled = _watch(_watched(since=commits[0], step=3))
    assert [(each.revision.id, each.backfill) for each in handled] == [
        (commits[3], False),
        (commits[6], False),
        (commits[5], True),
        (commits[4], True),
    ]
    newest = handled[1].taken.run
    assert judged[1:] == [newest] * 3  # a commit of the past is judged as part of all that is known by now
    with _store() as store:  # code and environment both changed: the old commit says which it was, once
        (run,) = [store.run(run) for run in again]
    assert run.reason == "remeasure" and run.revision is not None and run.revision.id == commits[3]


def test_the_first_start_takes_the_newest_commit_and_later_ones_go_on() -> None:
    project = Path("project")
    commits = repositories.make(project, [1.0, 1.0])
    file = Path("finished")
    watched = _watched(commit_file=file)
    assert [each.revision.id for each in _watch(watched)] == commits[1:]
    assert file.read_text().strip() == commits[1]
    commits.append(repositories.commit(project, 1.0, 2))
    assert [each.revision.id for each in _watch(watched)] == commits[2:]
    with pytest.raises(TargetError, match="no revision"):
        watch(_watched(commit_file=file, since="nowhere"))
    said: list[Any] = []
    watch(_watched(commit_file=file, since=commits[0]), listener=said.append)
    assert [event.text for event in said if isinstance(event, Noted)] == [
        "--since counts at the first start only; this watch continues where it stopped",
        "there is no new commit on main",
    ]
    subprocess.run(["git", "reset", "-q", "--hard", "HEAD~1"], cwd=project, check=True)
    assert _watch(watched) == []  # history was taken back: all of it is known
    rewritten = repositories.commit(project, 1.0, 9)
    assert [each.revision.id for each in _watch(watched)] == [rewritten]


def test_what_could_not_be_built_is_built_again_when_that_is_asked_for() -> None:
    commits = repositories.make(Path("project"), [1.0])
    watched = _watched(f"test -e {Path.cwd()}/compiler")
    assert [each.taken.outcome for each in _watch(watched)] == [CommitState.UNBUILT]
    Path("compiler").touch()
    assert _watch(watched) == []
    (handled,) = _watch(replace(watched, rebuild=True))
    assert (handled.revision.id, handled.taken.outcome) == (commits[0], CommitState.MEASURED)
    assert not handled.backfill  # it is the newest, and judged as such
    assert _watch(replace(watched, rebuild=True)) == []


def test_another_request_is_another_watch_and_more_time_is_not() -> None:
    (commit,) = repositories.make(Path("project"), [1.0])
    usual = _watched(since=commit)
    others: list[dict[str, Any]] = [
        {"params": {"n": [1]}},
        {"batch_sizes": [2]},
        {"runtimes": ["fake"]},
        {"load": Load(copies=2)},
    ]
    same: list[dict[str, Any]] = [{"load": Load(duration=3.0, timeout=9.0)}, {"tags": ["nightly"]}]
    for changed in ({}, *same, *others):
        watch(replace(usual, request=replace(usual.request, **changed)))
    assert len([*Path(".benchwright", "watch").iterdir()]) == 1 + len(others)


def test_a_branch_that_is_missing_for_a_moment_does_not_end_a_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    (commit,) = repositories.make(Path("project"), [1.0])
    status, said = Path("status"), []
    usual = GitRepository.bring

    def bring(self: GitRepository, remote: str, branch: str) -> Commit:
        if not said:
            raise TargetError("there is no revision 'main'")
        status.write_text("0")
        return usual(self, remote, branch)

    monkeypatch.setattr(GitRepository, "bring", bring)
    assert watch(replace(_watched(since=commit), status_file=status), interval=0.01, listener=said.append)
    assert [event.text for event in said] == ["there is no revision 'main'; the watch will try again"]


def test_a_commit_without_the_target_is_a_record() -> None:
    commits = repositories.make(Path("project"), [1.0])
    watched = replace(_watched(since=""), request=Request(targets=["bench.py::Missing.run"]))
    (handled,) = _watch(watched)
    assert (handled.revision.id, handled.taken.outcome) == (commits[0], CommitState.UNPLANNED)
    assert "Missing" in handled.taken.why and not handled.ok
    assert _watch(watched) == []


def test_a_status_file_stops_before_the_next_commit() -> None:
    commits = repositories.make(Path("project"), [1.0] * 3)
    status = Path("status")
    watched = replace(_watched(since=commits[0]), status_file=status)
    handled: list[CommitReport] = []

    def stop(each: CommitReport) -> None:
        handled.append(each)
        status.write_text("0\n")

    watch(watched, interval=60.0, tell=stop)
    assert [each.revision.id for each in handled] == commits[1:2]
    status.unlink()
    assert [each.revision.id for each in _watch(watched)] == commits[2:]


class CutError(Exception):
    """The process ends here."""


def _cut(watched: Watched, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that ends just before that line of its journal."""

    def add(self: WatchJournal, entry: JournalLine) -> None:
        if entry.what == at:
            raise CutError
        usual(self, entry)

    usual = WatchJournal.add
    with monkeypatch.context() as patch:
        patch.setattr(WatchJournal, "add", add)
        with pytest.raises(CutError):
            watch(watched)


@pytest.mark.soak
def test_a_run_that_was_cut_off_is_gone_on_with_and_one_of_another_version_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commits = repositories.make(Path("project"), [1.0] * 2)
    watched = replace(_watched(), rounds=3)
    _cut(watched, "ended", monkeypatch)
    with _store() as store:
        (run,) = store.run_ids()
        before = [result.id for result in store.run(run).results]
    monkeypatch.setattr("benchwright.execution.resume.VERSION", "0.0.1")
    (handled,) = _watch(watched)
    assert (handled.taken.outcome, handled.taken.run) == (CommitState.INTERRUPTED, run)
    assert handled.revision.id == commits[1] and "0.0.1" in handled.taken.why
    with _store() as store:
        assert [*store.run_ids()] == [run]
        assert [result.id for result in store.run(run).results] == before and len(before) == 3


def test_what_was_not_judged_any_more_is_judged_at_the_next_start(monkeypatch: pytest.MonkeyPatch) -> None:
    commits = repositories.make(Path("project"), [1.0])
    file = Path("finished")
    watched = _watched(commit_file=file)
    _cut(watched, "judged", monkeypatch)
    file.unlink()
    judged: list[str] = []
    monkeypatch.setattr("benchwright.analysis.detection.judge", lambda store, run, **_: judged.append(run) or [])
    assert _watch(watched) == []
    with _store() as store:
        assert judged == [*store.run_ids()]
    assert file.read_text().strip() == commits[0]
    assert _watch(watched) == [] and len(judged) == 1


def test_a_wrong_request_shows_before_anything_is_built() -> None:
    with pytest.raises(TargetError, match="not in a git or hg repository"):
        watch(_watched())
    repositories.make(Path("project"), [1.0])
    with pytest.raises(TargetError, match="nowhere"):
        watch(_watched(branch="nowhere"))
    with pytest.raises(TargetError, match="no revision"):
        watch(_watched(since="nowhere"))
    with pytest.raises(OptionError, match="rounds"):
        watch(replace(_watched(), rounds=-1))
    subprocess.run(["git", "remote", "add", "origin", "/nowhere"], cwd="project", check=True)
    with pytest.raises(FetchError, match="nowhere"):
        watch(_watched(remote="origin"))
    assert not Path("cache", "builds").exists()
