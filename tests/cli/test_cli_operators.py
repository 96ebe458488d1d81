"""`benchwright run --operators`, as a process, and `benchwright operators`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.cli import main
from benchwright.records import Run

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, and a store that holds its run on two runtimes, operators recorded."""
    where = tmp_path_factory.mktemp("operators")
    subprocess.run([sys.executable, root / "examples" / "make_model.py", "tiny", where / "model.onnx"], check=True)
    short = ("--rounds", "1", "--duration", "0.05", "--warmup", "0.05", "--monitor", "process")
    done = _benchwright(
        where, "run", "model.onnx", "--runtime", "onnxruntime,openvino", "--operators", "--json", *short
    )
    assert done.returncode == 0, done.stderr
    (where / "run.json").write_text(done.stdout)
    return where


def _benchwright(folder: Path, *given: str) -> subprocess.CompletedProcess[str]:
    (folder / "tmp").mkdir(exist_ok=True)
    command, surroundings = [sys.executable, "-m", "benchwright", *given], {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=surroundings, check=False)


def test_a_pass_of_its_own_leaves_operators_and_nothing_else_in_the_result(folder: Path) -> None:
    run = schema.loads((folder / "run.json").read_text(), Run, where="run.json")
    for result in run.results:
        assert len(result.operators) >= 5 and result.artifacts == ()
        assert not {"enable_profiling", "PERF_COUNT"} & result.case.target.options.keys()
        assert result.case.load.duration == 0.05  # the case that was measured, not that of the pass
        assert [w.code for w in result.warnings if w.code == "operators"] == []
    assert list((folder / "tmp").glob("benchwright-*")) == []  # what recording wrote is gone


@pytest.fixture
def benchwright(folder: Path, inside: Benchwright) -> Benchwright:
    return partial(inside, cwd=folder)


def test_the_table_the_picture_and_json_come_from_the_store(folder: Path, benchwright: Benchwright) -> None:
    done = benchwright("operators", "--top", "3", "-o", "operators.svg")
    assert done.returncode == 0, done.stderr
    assert "FusedGemm" in done.stdout and "FullyConnected" in done.stdout and "wrote operators.svg" in done.stdout
    assert (folder / "operators.svg").read_text().startswith("<svg ")
    told = json.loads(benchwright("operators", "last", "--json", "--case", "openvino", "--by", "kind").stdout)["data"]
    (case,) = told["cases"]
    assert case["runtime"] == "openvino" and case["operators"][0]["kind"] == "FullyConnected"


def test_a_slower_operator_is_blamed_and_the_exit_code_says_worse(folder: Path, benchwright: Benchwright) -> None:
    text = json.loads((folder / "run.json").read_text())
    for estimate in (metric["estimate"] for result in text["data"]["results"] for metric in result["metrics"]):
        if estimate["low"] is not None:  # as on a quiet machine
            estimate.update(low=0.99 * estimate["point"], high=1.01 * estimate["point"], confidence=0.95)
    (folder / "earlier.json").write_text(json.dumps(text))
    text["data"]["id"] = "later"
    for result in text["data"]["results"]:
        result["instrument"] = {}  # it judges whoever runs these tests
        for metric in result["metrics"]:
            estimate = metric["estimate"]
            estimate.update({end: estimate[end] * 3 for end in ("point", "low", "high") if estimate[end] is not None})
        result["operators"][0]["seconds"] += 2 * next(
            m["estimate"]["point"] / 3 for m in result["metrics"] if m["name"] == "latency_p50"
        )
    (folder / "later.json").write_text(json.dumps(text))
    done = benchwright("operators", "earlier.json", "later.json", "--case", "onnxruntime")
    assert done.returncode == 1, done.stdout + done.stderr
    guilty = text["data"]["results"][0]["operators"][0]["name"]
    assert f"more: {guilty} (" in done.stdout.splitlines()[-1]
    same = benchwright("operators", "run.json", "run.json", "--json")
    sentence = json.loads(same.stdout)["data"]["cases"][0]["sentence"]
    assert same.returncode == 0  # same or unclear, as the rounds happen to be
    assert "no operator is named" in sentence or "differences of operators mean nothing" in sentence


@pytest.mark.parametrize("given", [["--by", "kind"], ["last", "--json", "--top", "2"], ["run.json", "run.json"]])
def test_it_is_a_view_of_show(benchwright: Benchwright, given: list[str]) -> None:
    shown, told = benchwright("show", "--operators", *given), benchwright("operators", *given)
    assert (shown.returncode, shown.stdout, shown.stderr) == (told.returncode, told.stdout, told.stderr)
    assert shown.stdout


def test_wrong_requests_end_with_two_and_say_what_to_do(benchwright: Benchwright) -> None:
    bare = ("run", "fake:constant?ms=1&clock=virtual", "--rounds", "1", "--store", "other.db")
    assert benchwright(*bare).returncode == 0
    done = benchwright("operators", "--store", "other.db")
    assert done.returncode == 2
    assert "benchwright run 'fake:constant?ms=1&clock=virtual' --rounds 1 --store other.db --operators" in done.stderr
    told = benchwright(*bare, "--rounds", "2", "--operators")  # asked once a case, not once a round
    assert told.returncode == 0
    assert "Warning operators: runtime fake does not report how long its operators take" in told.stdout
    done = benchwright("operators", "--store", "other.db")
    assert done.returncode == 2 and "runtime fake does not report" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["run.json", "run.json", "--by", "kind"], "leave out --output and --by"),
        (["-o", "x.gif"], "end it in one of .svg, .html, .png"),
        (["run.json", "--case", "nobody"], "its cases: model.onnx runtime=onnxruntime"),
        (["run.json", "run.json", "--smallest", "200%"], "for example 1%"),
    ],
)
def test_what_makes_no_sense_is_refused(
    given: list[str], said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(["operators", *given]) == 2
    assert said in capfd.readouterr().err
