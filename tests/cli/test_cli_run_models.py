"""The first ten minutes with a model of one's own: at most one try says all that is missing."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import benchwright as bw
import make_model
from benchwright import schema
from benchwright.errors import OptionError
from benchwright.pages.overview import overview
from benchwright.records import Result, Run, Status
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]
WriteModel = Callable[[str, Path], Path]
QUICK = ("--rounds", "1", "--samples", "3", "--warmup", "0")


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


def _suggested(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """The command line that a refusal prints."""
    (line,) = re.findall(r"^  benchwright (run .*)$", ended.stderr, re.MULTILINE)
    return shlex.split(line)


def _result(ended: subprocess.CompletedProcess[str]) -> Result:
    (result,) = schema.loads(ended.stdout, Run, where="stdout").results
    return result


# ---- one more try ----


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(
    ("name", "said", "flags"),
    [
        ("image", "'x' is float32 [1, 3, ?, ?]\n  'x' looks like an image; try:", "--shape x:1x3x224x224"),
        ("line", "'x' looks like an image of a line of text", "--shape x:1x3x48x320"),
        ("audio", "'audio' is float32 [1, ?]\n  'audio' looks like audio", "--shape audio:1x16000"),
        ("tokens", "'ids', 'kinds' look like token ids", "--shape ids:1x128 --shape kinds:1x128"),
        (
            "streaming",
            "input 'input' is float32 [1, ?]",
            "--shape input:1x512 --value sr=16000 --feed-back state=stateN",
        ),
    ],
)
def test_the_command_line_that_a_refusal_prints_measures_the_model(
    runtime: str, name: str, said: str, flags: str, write_model: WriteModel, tmp_path: Path, benchwright: Benchwright
) -> None:
    write_model(name, tmp_path / "m.onnx")
    ended = benchwright("run", "m.onnx", "--runtime", runtime, *QUICK, "--json")
    assert (ended.returncode, ended.stdout) == (2, "") and said in ended.stderr
    command = _suggested(ended)
    assert shlex.join(command).endswith(flags)
    assert not (tmp_path / ".benchwright").exists()  # nothing was begun
    again = benchwright(*command)
    assert (again.returncode, _result(again).status) == (0, Status.OK)


def test_a_torchscript_file_needs_one_try_as_well(tmp_path: Path, benchwright: Benchwright) -> None:
    import warnings

    import torch

    module = type("Own", (torch.jit.ScriptModule,), {})()
    module.define("def forward(self, x: Tensor, sr: int) -> Tensor:\n    return x * sr\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(module, str(tmp_path / "m.jit"))
    ended = benchwright("run", "m.jit", *QUICK, "--json")
    assert ended.returncode == 2 and "input 'x' is of any shape, input 'sr' is a plain int" in ended.stderr
    again = benchwright(*_suggested(ended))
    assert (again.returncode, _result(again).details["inputs"]) == (0, {"0": "float32[1x512]", "1": "int 16000"})


def test_models_with_other_inputs_get_a_line_each(
    write_model: WriteModel, tmp_path: Path, benchwright: Benchwright
) -> None:
    write_model("image", tmp_path / "a.onnx")
    write_model("audio", tmp_path / "b.onnx")
    ended = benchwright("run", "a.onnx", "b.onnx", *QUICK)
    first, second = re.findall(r"^  benchwright (run .*)$", ended.stderr, re.MULTILINE)
    assert shlex.split(first) == ["run", "a.onnx", *QUICK, "--shape", "x:1x3x224x224"]
    assert shlex.split(second) == ["run", "b.onnx", *QUICK, "--shape", "audio:1x16000"]


def test_the_python_door_says_it_in_python(write_model: WriteModel, tmp_path: Path) -> None:
    path = write_model("streaming", tmp_path / "m.onnx")
    with pytest.raises(OptionError) as caught:
        bw.run(path, save=False)
    inputs = caught.value.remedy.rpartition("inputs=benchwright.")[2]
    found = eval(inputs, {"Inputs": bw.Inputs})
    assert found == bw.Inputs(shapes={"input": (1, 512)}, values={"sr": (16000.0,)}, feed_back={"state": "stateN"})


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--shape", "inptu:1x8"), "the model has no input 'inptu'\n  did you mean 'input'?"),
        (("--shape", "input:1x8x8"), "input 'input' is [?, ?]; the shape asked for is [1, 8, 8]"),
        (("--shape", "input:1x8", "--feed-back", "state=out"), "the model has no output 'out'"),
        (("--shape", "input:1x8", "--feed-back", "state", "--workers", "2"), "several workers share it"),
        (("--value", "sr"), "--value: 'sr' is not NAME=NUMBER"),
        (("--value", "sr=fast"), "--value: 'sr=fast' is not NAME=NUMBER"),
        (("--feed-back", "=x"), "--feed-back: '=x' is not INPUT=OUTPUT"),
    ],
)
def test_what_the_file_does_not_have_is_told_before_anything_starts(
    flags: tuple[str, ...], message: str, write_model: WriteModel, tmp_path: Path, benchwright: Benchwright
) -> None:
    write_model("streaming", tmp_path / "m.onnx")
    ended = benchwright("run", "m.onnx", *flags, *QUICK)
    assert ended.returncode == 2 and message in ended.stderr
    assert not (tmp_path / ".benchwright").exists()


def test_functions_and_commands_are_given_no_numbers(tmp_path: Path, benchwright: Benchwright) -> None:
    (tmp_path / "bench.py").write_text("def f(): pass\n", encoding="utf-8")
    for flag in ("--value", "--feed-back"):
        ended = benchwright("run", "bench.py::f", flag, "x=1")
        assert ended.returncode == 2 and f"so {flag} does not apply to it" in ended.stderr


# ---- what was guessed is told ----


def test_what_is_guessed_or_found_is_said(write_model: WriteModel, tmp_path: Path, benchwright: Benchwright) -> None:
    write_model("streaming", tmp_path / "m.onnx")
    ended = benchwright("run", "m.onnx", "--shape", "input:1x8", *QUICK, "--json", "--no-save")
    assert "sr seems to be a sample rate and is 16000; --value sr=8000 sets another" in ended.stderr
    assert "state seems to be state and is the same at every call; --feed-back state=stateN" in ended.stderr
    assert _result(ended).case.inputs.values == {"sr": (16000.0,)}
    ended = benchwright("run", "m.onnx", "--shape", "input:1x8", "--feed-back", "state", *QUICK, "--json", "--no-save")
    assert "state takes what output stateN gave, the only one of its shape and type" in ended.stderr
    assert _result(ended).case.inputs.feed_back == {"state": "stateN"}


def test_ids_stay_below_the_size_of_their_table(
    write_model: WriteModel, tmp_path: Path, benchwright: Benchwright
) -> None:
    write_model("tokens", tmp_path / "m.onnx")
    shapes = ("--shape", "ids:1x50", "--shape", "kinds:1x50")
    ended = benchwright("run", "m.onnx", *shapes, *QUICK, "--json", "--no-save")
    inputs = _result(ended).case.inputs
    assert (inputs.ranges, inputs.values) == ({"ids": (0, 16), "kinds": (0, 3)}, {"lengths": (50.0,)})


def test_a_model_that_needs_nothing_says_nothing(root: Path, tmp_path: Path, benchwright: Benchwright) -> None:

    import onnx

    onnx.save(make_model.make("tiny"), str(tmp_path / "tiny.onnx"))
    ended = benchwright("run", "tiny.onnx", *QUICK, "--json", "--no-save")
    assert (ended.returncode, ended.stderr) == (0, "")
    inputs = _result(ended).case.inputs
    assert (inputs.shapes, inputs.values, inputs.ranges, inputs.feed_back) == ({}, {}, {}, {})


# ---- what the library says of values ----


@pytest.mark.parametrize("runtime", ["onnxruntime"])
def test_a_librarys_own_error_about_values_ends_with_what_to_do(
    runtime: str, write_model: WriteModel, tmp_path: Path, benchwright: Benchwright
) -> None:
    write_model("hidden_table", tmp_path / "m.onnx")
    result = _result(benchwright("run", "m.onnx", "--runtime", runtime, *QUICK, "--json", "--no-save"))
    assert result.status is Status.REFUSED and result.error is not None
    assert result.error.message.startswith(f"{runtime} could not make the first call: ")
    assert "out of data bounds" in result.error.message
    assert (
        "its inputs were random where nothing was given (ids int64[1x4]): give real ones with --input"
        in result.error.remedy
    )
    np.savez(tmp_path / "data.npz", ids=np.full((1, 4), -1000))
    assert benchwright("run", "m.onnx", "--input", "data.npz", *QUICK, "--no-save").returncode == 0


def test_a_function_that_returns_one_mapping_is_one_input(
    write_model: WriteModel, tmp_path: Path, benchwright: Benchwright
) -> None:
    write_model("two_states", tmp_path / "m.onnx")
    (tmp_path / "data.py").write_text(
        "import numpy as np\n\n\ndef one():\n    return {name: np.ones((1, 4), np.float32) for name in 'xhc'}\n",
        encoding="utf-8",
    )
    result = _result(benchwright("run", "m.onnx", "--input", "data.py::one", *QUICK, "--json", "--no-save"))
    assert (result.status, result.details["distinct_inputs"]) == (Status.OK, 1)


# ---- a try is not a run ----


def test_a_try_that_measured_nothing_is_not_a_run(
    write_model: WriteModel, tmp_path: Path, benchwright: Benchwright
) -> None:
    write_model("hidden_table", tmp_path / "m.onnx")
    assert benchwright("run", "fake:constant?ms=1", *QUICK).returncode == 0
    (measured,) = json.loads(benchwright("list", "--json").stdout)["data"]
    ended = benchwright("run", "m.onnx", *QUICK)
    assert ended.returncode == 1
    assert "Nothing was measured, so this does not count as a run. The try is saved in" in ended.stdout
    identity = re.findall(r"benchwright show (\S+)", ended.stdout)[-1]
    assert [row["id"] for row in json.loads(benchwright("list", "--json").stdout)["data"]] == [measured["id"]]
    assert [row["id"] for row in json.loads(benchwright("list", "--all", "--json").stdout)["data"]] == [
        identity,
        measured["id"],
    ]
    assert json.loads(benchwright("show", "--json").stdout)["data"]["id"] == measured["id"]  # last
    assert "there is no run 1 before the last: the store holds 1" in benchwright("show", "last~1").stderr
    shown = benchwright("show", identity).stdout
    assert "refused" in shown and "give real ones with --input" in shown
    store = open_store(tmp_path / ".benchwright" / "results.db")
    assert isinstance(store, SqlStore)
    view = overview(store)
    store.close()
    assert view.failing == [] and [line.id for line in view.runs] == [measured["id"]]


def test_a_model_that_cannot_be_loaded_is_a_run_that_failed(tmp_path: Path, benchwright: Benchwright) -> None:
    (tmp_path / "m.onnx").write_bytes(b"not a model")
    ended = benchwright("run", "m.onnx", *QUICK, "--json")
    assert _result(ended).status is Status.FAILED
    assert len(json.loads(benchwright("list", "--json").stdout)["data"]) == 1
