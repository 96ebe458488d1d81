from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness.specs.conversion import convert
from benchwright.errors import DecodeError, TargetError
from benchwright.targets.specs import reader
from benchwright.targets.specs.places import errors, parse, to_yaml

Write = Callable[..., Path]


def _converted(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The new spec, which our own reader must take, and what was told."""
    value, problems = convert(path)
    document = parse(to_yaml(value), str(path.with_suffix(".yaml")))
    assert document.value == value
    assert errors(reader.look(document, path)[1]) == []
    assert all(problem.severity == "warning" for problem in problems)
    return value, [problem.message for problem in problems]


def test_one_command_for_all_tests_becomes_that_of_the_program(write: Write) -> None:
    command = "{program} --net {files.predict} --data {input_files.d} --n {size} --iter {iter}"
    files = {"d": {"filename": "data.bin", "location": "sub/d.bin"}}
    path = write(
        {"commands": [command], "input_files": files, "size": 3, "timeout": 20},
        {"commands": [command], "input_files": files, "size": 3, "identifier": "0", "iter": 9},
        model={"group": "G", "description": "small"},
    )

    value, _ = _converted(path)

    assert value["model"]["files"] == {
        "init": {"path": "init_net.pb", "md5": "b1946ac92492d2347c6235b4d2611184"},
        "predict": {"path": "predict_net.pb"},
        "input_d": {"path": "sub/d.bin", "name": "data.bin"},
    }
    assert value["runtimes"]["binary"]["command"] == (
        "{program} --net {files.predict} --data {files.input_d} --n 3 --iter {iter}"
    )
    assert value["tests"] == [{"name": "0", "iterations": 5, "timeout": 20.0}, {"name": "0-2", "iterations": 9}]
    assert (value["tags"], value["model"]["description"]) == (["G"], "small")


def test_shapes_and_golden_files_go_to_runtimes_that_load_the_model(write: Write) -> None:
    path = write(
        {
            "metric": "error",
            "inputs": {"x": {"shapes": [[1, 3]], "type": "float"}},
            "input_files": {"x": "x.txt"},
            "output_files": {"y": "y.txt"},
        },
        model={
            "files": {"m": {"filename": "m.onnx", "location": "https://example.org/1", "md5": "0" * 32}},
            "format": "onnx",
        },
    )

    value, told = _converted(path)

    assert value["model"]["files"]["m"] == {"url": "https://example.org/1", "md5": "0" * 32, "name": "m.onnx"}
    assert value["model"]["inputs"] == {"x": {"shape": [1, 3], "type": "float32", "file": {"path": "x.txt"}}}
    assert value["model"]["outputs"] == {"y": {"golden": {"path": "y.txt"}}}
    assert value["runtimes"] == {"onnxruntime": {}}  # nothing says what a program would have to do
    assert any("golden outputs are compared in runtimes" in message for message in told)


@pytest.mark.parametrize(
    ("commands", "model", "runtimes"),
    [
        ({"openvino": {"run_individual": "true"}}, {}, {"openvino"}),
        ({}, {"framework": "openvino"}, {"openvino"}),
        ({"generic": {"threads": 2}}, {}, {"binary", "onnxruntime"}),
        (["{program} {files.m}"], {}, {"binary", "onnxruntime"}),
    ],
)
def test_a_spec_for_a_library_gets_no_program(
    write: Write, commands: Any, model: dict[str, Any], runtimes: set[str]
) -> None:
    files = {"m": {"filename": "m.onnx", "location": "../m.onnx"}, "n": {"filename": "n", "location": "/there/n"}}
    path = write({"commands": commands}, name="below/spec.json", model={"format": "onnx", "files": files, **model})
    value, told = _converted(path)
    assert set(value["runtimes"]) == runtimes and value["tests"] == [{"name": "0", "iterations": 5}]
    assert any("which program" in message for message in told) == ("binary" in runtimes)
    assert any("flags of a framework" in message for message in told) == ("openvino" in commands)
    assert [one["path"] for one in value["model"]["files"].values()] == ["../m.onnx", "/there/n"]


def test_a_spec_of_our_form_is_told_as_one(tmp_path: Path) -> None:
    ours = tmp_path / "spec.yaml"
    ours.write_text("benchwright: 1\nmodel: {name: m}\nruntimes: {onnxruntime: {}}\n")
    with pytest.raises(TargetError, match="spec of our form already"):
        convert(ours)


def test_what_has_no_place_in_our_form_is_told(write: Write) -> None:
    path = write(
        {"arguments": "--a", "cpu-list": 3},
        {"commands": ["{program} --b", "{program} --c"], "statistics": ["p90"]},
        {"metric": "power", "arguments": "--p"},
        model={"repeat": 2, "preprocess": {"commands": ["x"]}, "files": {"m": {"filename": "m", "location": "//m"}}},
    )

    value, told = _converted(path)

    assert [test["placeholders"] for test in value["tests"]] == [
        {"command": "{program} --a"},
        {"command": "{program} --c"},
    ]
    for said in (
        "`repeat`",
        "`preprocess`",
        "`cpu-list`",
        "`statistics`",
        "power test 2",
        "files.m",
        "last of several",
    ):
        assert [message for message in told if said in message], said


def test_what_is_wrong_or_a_list_cannot_be_converted(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="no `metric`"):
        convert(write({"metric": None, "arguments": ""}))
    with pytest.raises(TargetError, match="only tests of power"):
        convert(write({"metric": "power", "arguments": ""}))
    listed = tmp_path / "list.json"
    listed.write_text('{"meta": {}, "benchmarks": ["spec.json"]}')
    with pytest.raises(TargetError, match="list of specs"):
        convert(listed)
