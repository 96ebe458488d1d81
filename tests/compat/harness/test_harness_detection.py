"""The older rule for regressions and what follows from it, in its exact numbers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness import door, local_reporter
from benchwright.compat.harness.detection import CommitPoint, find_regressed, read_points, threshold
from benchwright.compat.harness.documents import HarnessDocument
from benchwright.compat.harness.escalation import Escalation, Rerun, commits_of
from benchwright.errors import OptionError
from benchwright.events import nobody

NET = "NET latency"
HISTORY = [4, 5, 5, 6, 6, 7, 7, 8, 9, 14]  # p90 of differences, newest first
WHEN = 1521072000


def _point(commit: str, p50: float, p90: float, *, control: str = "base", **more: Any) -> CommitPoint:
    """A point whose summary says the opposite of its difference, unless more is said."""
    numbers = {"p50": p50, "p90": p90}
    entry = {"summary": {"p50": 0.0, "p90": 1e9}, "diff_summary": numbers, **more}
    return CommitPoint(commit=commit, control=control, entries={NET: entry})


def _points(second: float, newest: float, history: Sequence[float] = HISTORY, **more: Any) -> list[CommitPoint]:
    values = [newest, second, *history]
    return [_point(f"c{i}", value, value, **more) for i, value in enumerate(values)]


def test_the_threshold_is_the_highest_of_ten_and_a_tenth_of_their_range() -> None:
    assert threshold(HISTORY) == 15
    assert threshold([1.0, 1.5, 2.0, 2.5, 10.9]) == 10.9  # a range below ten adds nothing
    assert threshold([*HISTORY[:4], None]) is None


@pytest.mark.parametrize(
    ("second", "newest", "found"),
    [(15.5, 16, [NET]), (15, 16, []), (16, 14, []), (16, 15, []), (15.5, 15.001, [NET])],
)
def test_both_newest_must_exceed_it(second: float, newest: float, found: list[str]) -> None:
    assert find_regressed(_points(second, newest)) == found


def test_four_points_of_history_say_nothing_and_five_do() -> None:
    assert find_regressed(_points(100, 100, HISTORY[:4])) == []
    assert find_regressed(_points(100, 100, HISTORY[:5])) == [NET]


def test_with_two_controls_the_summaries_are_judged() -> None:
    numbers = [16.0, 15.5, *map(float, HISTORY)]
    whole = [
        _point(f"c{i}", 0.0, 0.0, control="base" if i % 2 else "other", summary={"p50": value, "p90": value})
        for i, value in enumerate(numbers)
    ]
    assert find_regressed(whole) == [NET]
    same = [_point(f"c{i}", 0.0, 0.0, summary={"p50": value, "p90": value}) for i, value in enumerate(numbers)]
    assert find_regressed(same) == []  # one control: the differences, which are all alike


def test_an_entry_without_a_difference_falls_back_to_its_summary() -> None:
    whole = [
        CommitPoint(commit=str(i), control="base", entries={NET: {"summary": {"p50": value, "p90": value}}})
        for i, value in enumerate([16.0, 15.5, *map(float, HISTORY)])
    ]
    assert find_regressed(whole) == [NET]


def test_commits_are_read_newest_first_in_either_order() -> None:
    newest_first = [{"commit": "b", "commit_time": 2}, {"commit": "a", "commit_time": 1}]
    assert commits_of(newest_first) == commits_of(newest_first[::-1]) == ["b", "a"]
    assert commits_of(None) == commits_of([{"commit_time": 1}, 5]) == []


# ---- files, and what is run again ----


def _document(commit: str, value: float, *, control: str = "base", command: Sequence[str] = ()) -> HarnessDocument:
    meta = {
        "platform": "here",
        "platform_hash": "h",
        "framework": "generic",
        "net_name": "net",
        "metric": "delay",
        "identifier": "0",
        "commit": commit,
        "commit_time": WHEN,
        "control_commit": control,
        "command": [*command],
    }
    numbers = {"p50": value, "p90": value}
    entry = {"type": "NET", "metric": "latency", "summary": {}, "diff_summary": numbers}
    return HarnessDocument(meta=meta, data={NET: entry})


def test_the_newest_run_of_each_commit_is_read_whoever_wrote_it(tmp_path: Path) -> None:
    for value in (1.0, 2.0):
        local_reporter.write(tmp_path, _document("a", value))
    older = local_reporter.write(tmp_path, _document("b", 3.0))
    assert older is not None
    (older / local_reporter.OURS).unlink()  # as the older harness leaves it
    found = read_points(tmp_path, _document("a", 0.0), ["b", "nowhere", "a"])
    assert [point.commit for point in found] == ["b", "a"]
    assert [point.entries[NET]["diff_summary"]["p50"] for point in found] == [3.0, 2.0]
    assert {point.control for point in found} == {"base"}


class Runs:
    """Writes what a run would: the same numbers, or others."""

    def __init__(self, root: Path, values: dict[str, float]) -> None:
        self.root, self.values = root, values
        self.made: list[Rerun] = []

    def __call__(self, step: Rerun) -> int:
        self.made.append(step)
        commit = step.info["treatment"]["commit"]
        command = step.words(["benchwright", "harness"])
        local_reporter.write(self.root, _document(commit, self.values[commit], command=command))
        return 0


def _ladder(root: Path, again: dict[str, float]) -> tuple[Runs, list[str], int]:
    values = [16.0, 15.5, *map(float, HISTORY)]
    commits = [f"c{i}" for i in range(len(values))]
    documents = {}
    for commit, value in zip(commits, values, strict=True):
        info = {"treatment": {"commit": commit}, "regression_commits": [1], "run_type": "benchmark"}
        command = ["benchwright", "harness", "-b", "spec.json", "--info", json.dumps(info)]
        documents[commit] = _document(commit, value, command=command)
        local_reporter.write(root, documents[commit])
    runs = Runs(root, dict(zip(commits, values, strict=True)) | again)
    said: list[str] = []
    code = Escalation(root=root, commits=commits, again=runs, say=said.append).climb([documents["c0"]])
    return runs, said, code


def test_a_regression_is_verified_on_every_commit_and_then_recorded_once(tmp_path: Path) -> None:
    runs, said, code = _ladder(tmp_path, {})
    order = [step.info["treatment"]["commit"] for step in runs.made]
    assert order == [*(f"c{i}" for i in reversed(range(12))), "c1"]
    assert [step.run_type for step in runs.made] == ["verify"] * 12 + ["regress"]
    assert runs.made[-1].regressed == (NET,)
    assert all(set(step.info) == {"treatment"} for step in runs.made)  # so that no verification is verified
    folders = sorted(tmp_path.glob("here/generic/net/delay/0/2018/3/15/*/*"))
    assert {folder.parent.name: folder.name for folder in folders} == {
        f"c{i}": "2" if i == 1 else "1" for i in range(12)
    }
    assert code == 0 and "regressed at c1" in said[-1]


def test_a_suspicion_that_does_not_repeat_is_dropped(tmp_path: Path) -> None:
    runs, said, code = _ladder(tmp_path, {"c0": 6.0})
    assert [step.run_type for step in runs.made] == ["verify"] * 12
    assert code == 0 and "no regression" in said[-1]


def test_a_commit_that_cannot_be_run_again_is_told_and_counts(tmp_path: Path) -> None:
    def refuse(step: Rerun) -> int:
        raise OptionError("there is no program")

    document = _document("c0", 16.0)
    for i, value in enumerate([16.0, 15.5, *HISTORY]):
        local_reporter.write(tmp_path, _document(f"c{i}", value, command=["--info", '{"treatment": {"commit": "x"}}']))
    said: list[str] = []
    ladder = Escalation(root=tmp_path, commits=[f"c{i}" for i in range(12)], again=refuse, say=said.append)
    assert ladder.climb([document]) == 1
    assert sum("there is no program" in text for text in said) == 13


# ---- through the door ----

ROW = 'Caffe2Observer {"type":"NET","metric":"latency","unit":"us","value":"%s"}'
COSTS = [100, 101, 102, 103, 104, 130, 131]  # by commit, oldest first


@pytest.mark.soak
def test_the_harness_itself_climbs_the_ladder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = {"identifier": "{ID}", "metric": "delay", "iter": 1, "warmup": 0, "commands": ["{program}"]}
    other = {**test, "metric": "generic", "identifier": "other"}
    for name, tests in (("one", [test]), ("both", [test, other])):
        whole = {"model": {"name": "net", "format": "f", "files": {}}, "tests": tests}
        (tmp_path / f"{name}.json").write_text(json.dumps(whole))
    commits = [f"c{i}" for i in range(len(COSTS))]
    listed = [{"commit": commit, "commit_time": WHEN + i} for i, commit in enumerate(commits)][::-1]
    root = tmp_path / "reports"
    needed = ["--framework", "generic", "--platform", "host", "--model_cache", "cache"]
    needed += ["--local_reporter", str(root), "--cooldown", "0"]

    def run(commit: str, value: int, listed: list[dict[str, Any]]) -> int:
        program = tmp_path / commit
        program.write_text(f"#!/bin/sh\necho '{ROW.replace('Caffe2', 'PyTorch') % value}'\n")
        program.chmod(0o755)
        side = {"commit": commit, "commit_time": WHEN, "program": str(program)}
        info = json.dumps({"treatment": side, "regression_commits": listed})
        spec = ["-b", "both.json" if listed else "one.json"]
        return door.main([*needed, *spec, "--info", info], lambda: contextlib.nullcontext(nobody))

    for commit, value in zip(commits, COSTS, strict=True):
        assert run(commit, value, listed if commit == commits[-1] else []) == 0
    (delay,) = root.glob("*/generic/net/delay/0/2018/3/15")
    assert {folder.name: len([*folder.iterdir()]) for folder in delay.iterdir()} == {
        commit: 3 if commit == commits[-2] else 2 for commit in commits
    }
    kinds = [json.loads((delay / "c5" / str(n) / "meta.txt").read_text())["run_type"] for n in range(3)]
    assert kinds == ["benchmark", "verify", "regress"]
    marked = [json.loads((delay / "c5" / str(n) / "NET-latency.txt").read_text()).get("regressed") for n in range(3)]
    assert marked == [None, None, 1]
    (generic,) = root.glob("*/generic/net/generic/other/2018/3/15")  # another test: nothing of it is run again
    assert {folder.name: len([*folder.iterdir()]) for folder in generic.iterdir()} == {commits[-1]: 1}
