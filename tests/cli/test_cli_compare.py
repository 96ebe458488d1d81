import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.records import Run
from benchwright.store import open_store
from sample_runs import make_run

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three exported runs: a, the same again, and a slower one."""
    for name, slower, seed in (("a", 1.0, 1), ("same", 1.0, 2), ("slow", 1.3, 3)):
        run = make_run(name, calls=300, slower=slower, seed=seed)
        (tmp_path / f"{name}.jsonl").write_text(schema.dumps(run) + "\n")
    return tmp_path


@pytest.fixture
def compare(inside: Call) -> Call:
    """`compare(folder, "last")` is what the verb does in that folder."""
    return lambda folder, *arguments: inside("compare", *arguments, cwd=folder)


def test_equal_runs_exit_with_0(folder: Path, compare: Call) -> None:
    done = compare(folder, "a.jsonl", "same.jsonl")
    assert done.returncode == 0, done.stderr
    assert "same against a" in done.stdout and "worse:" not in done.stdout


def test_a_slower_run_exits_with_1_and_says_by_how_much(folder: Path, compare: Call) -> None:
    done = compare(folder, "a.jsonl", "slow.jsonl")
    assert done.returncode == 1, done.stderr
    assert "worse: 30" in done.stdout or "worse: 29" in done.stdout
    faster = compare(folder, "slow.jsonl", "a.jsonl")
    assert faster.returncode == 0 and "faster" in faster.stdout


def test_a_side_that_cannot_be_trusted_exits_with_0(folder: Path, compare: Call) -> None:
    slow = make_run("slow", calls=300, slower=1.15, seed=3)
    doubted = tuple(replace(r, instrument={"verdict": "unreliable: others took 158 % of a core"}) for r in slow.results)
    (folder / "doubted.jsonl").write_text(schema.dumps(replace(slow, results=doubted)) + "\n")
    done = compare(folder, "a.jsonl", "doubted.jsonl")
    assert done.returncode == 0, done.stderr
    assert "unclear: 1" in done.stdout and "worse:" not in done.stdout
    assert done.stdout.count("the instrument calls the second run unreliable") == 1
    assert max(map(len, done.stdout.splitlines())) < 160


def test_a_run_is_not_compared_with_itself(folder: Path, compare: Call) -> None:
    done = compare(folder, "a.jsonl", "a.jsonl")
    assert (done.returncode, done.stdout) == (0, "a is the same run on both sides: nothing can have changed\n")


def test_runs_without_a_case_in_common_are_a_wrong_request(folder: Path, compare: Call) -> None:
    a = schema.loads((folder / "a.jsonl").read_text(), Run)
    other = tuple(replace(r, case=replace(r.case, name="other.onnx")) for r in a.results)
    (folder / "other.jsonl").write_text(schema.dumps(replace(a, id="other", results=other)) + "\n")
    done = compare(folder, "a.jsonl", "other.jsonl")
    assert done.returncode == 2 and "nothing to compare: no case is in both" in done.stderr and done.stdout == ""


def test_a_large_enough_smallest_forgives(folder: Path, compare: Call) -> None:
    assert compare(folder, "a.jsonl", "slow.jsonl", "--smallest", "60%").returncode == 0


def test_json_and_metric(folder: Path, compare: Call) -> None:
    done = compare(folder, "a.jsonl", "slow.jsonl", "--json", "--metric", "latency_p50")
    document = json.loads(done.stdout)["data"]
    assert done.returncode == 1
    assert [m["name"] for m in document["cases"][0]["metrics"]] == ["latency_p50"]


def test_markdown(folder: Path, compare: Call) -> None:
    assert "| case | metric |" in compare(folder, "a.jsonl", "slow.jsonl", "--markdown").stdout


def test_references_into_a_store(folder: Path, compare: Call) -> None:
    store = open_store(folder / "results.db")
    for i, name in enumerate(("a", "slow")):
        store.add_run(make_run(f"0{i}", calls=300, slower=1.0 if name == "a" else 1.3, seed=i))
    store.close()
    done = compare(folder, "last~1", "last", "--store", "results.db")
    assert done.returncode == 1 and "01 against 00" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to compare the last run with"),
        (["a.jsonl"], "nothing to compare a.jsonl with"),
        (["a.jsonl", "same.jsonl", "--against", "slow.jsonl"], "compare same.jsonl --against slow.jsonl"),
        (["a.jsonl", "same.jsonl", "slow.jsonl", "--fail-on", "worse"], "a gate has two sides"),
        (["a.jsonl", *["same.jsonl"] * 26], "27 runs are more than one table holds"),
        (["a.jsonl", "same.jsonl", "none.jsonl"], "no such file"),
        (["a.jsonl", "same.jsonl", "--repo", "."], "--repo is where a gate looks up branches"),
        (["a.jsonl", "--against", "same.jsonl", "--metric", "rss_peak"], "write --fail-on 'rss_peak>5%'"),
        (["a.jsonl", "none.jsonl"], "no such file"),
        (["a.jsonl", "same.jsonl", "--metric", "latency_p5"], "did you mean"),
        (["a.jsonl", "same.jsonl", "--smallest", "tiny"], "--smallest"),
        (["a.jsonl", "same.jsonl", "--smallest", "-1%"], "--smallest: -1% is not between 0 and 100 %"),
        (["a.jsonl", "same.jsonl", "--smallest", "100%"], "--smallest: 100% is not between 0 and 100 %"),
    ],
)
def test_wrong_requests_exit_with_2(folder: Path, arguments: list[str], words: str, compare: Call) -> None:
    done = compare(folder, *arguments)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_three_runs_have_a_column_each_and_the_means_of_their_ratios(folder: Path, compare: Call) -> None:
    done = compare(folder, "a.jsonl", "same.jsonl", "slow.jsonl", "--metric", "latency_p50")
    assert done.returncode == 1, done.stderr
    head = done.stdout.splitlines()[0].split()
    assert head == ["case", "metric", "A", "B", "C"]
    assert "A a: the baseline" in done.stdout and "C slow: 4 worse" in done.stdout
    assert "Geometric mean of latency_p50: 1.3" in done.stdout and "over 4 cases" in done.stdout
    assert "in all 2 columns together (8 comparisons), at most 5 % are expected to be chance" in done.stdout
    narrow = compare(folder, "a.jsonl", "same.jsonl", "slow.jsonl", "--markdown")
    assert "| case | metric | A | B | C |" in narrow.stdout


def test_several_runs_as_json(folder: Path, compare: Call) -> None:
    done = compare(folder, "a.jsonl", "slow.jsonl", "same.jsonl", "--json", "--metric", "latency_p50")
    printed = json.loads(done.stdout)
    assert (done.returncode, printed["kind"], printed["data"]["before"]) == (1, "comparisons", "a")
    assert [side["after"] for side in printed["data"]["sides"]] == ["slow", "same"]
    slow, same = printed["data"]["sides"]
    assert slow["means"][0]["cases"] == 4 and slow["means"][0]["ratio"]["point"] > 1.2
    assert {m["verdict"] for row in same["cases"] for m in row["metrics"]} <= {"same", "unclear"}
    two = json.loads(compare(folder, "a.jsonl", "slow.jsonl", "--json", "--metric", "latency_p50").stdout)["data"]
    assert two["means"] == slow["means"]


def test_of_several_runs_that_did_not_change_the_exit_code_is_0(folder: Path, compare: Call) -> None:
    assert compare(folder, "a.jsonl", "same.jsonl", "a.jsonl").returncode == 0


GATES = [[], ["--fail-on", "latency>60%"], ["--json"], ["--markdown"], ["--github", "--json"]]  # one case has failed


@pytest.mark.parametrize("options", GATES, ids=" ".join)
@pytest.mark.parametrize("run", ["slow.jsonl", "same.jsonl"])
def test_a_gate_is_the_same_under_both_names(
    folder: Path, compare: Call, inside: Call, run: str, options: list[str]
) -> None:
    gate = compare(folder, run, "--against", "a.jsonl", *options)
    checked = inside("check", run, "--against", "a.jsonl", *options, cwd=folder)
    assert (gate.returncode, gate.stdout, gate.stderr) == (checked.returncode, checked.stdout, checked.stderr)
    assert gate.returncode == ("--fail-on" not in options)


def test_two_runs_with_a_condition_are_a_gate_for_the_second(folder: Path, compare: Call) -> None:
    done = compare(folder, "a.jsonl", "slow.jsonl", "--fail-on", "latency>60%", "--junit", "junit.xml")
    assert done.returncode == 0, done.stdout
    assert 'failures="0"' in (folder / "junit.xml").read_text()
    assert compare(folder, "a.jsonl", "slow.jsonl", "--fail-on", "latency>20%").returncode == 1
