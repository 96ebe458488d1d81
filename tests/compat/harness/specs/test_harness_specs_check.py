from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness.specs.check import check
from benchwright.compat.harness.specs.planner import SpecRequest, plan
from benchwright.errors import DecodeError

Write = Callable[..., Path]
FINE = {"commands": ["{program} --net {files.predict} {batch_sise}"]}


def _told(path: Path, framework: str = "") -> list[tuple[str, str]]:
    return [(problem.severity, problem.message) for problem in check(path, framework)]


def test_a_fine_spec_has_no_problems_and_keys_for_placeholders_are_none(write: Write) -> None:
    path = write(FINE, model={"batch_sise": 3, "total_images": 5})

    assert check(path) == []


def test_keys_that_look_like_a_slip_are_warnings_with_their_place(write: Write) -> None:
    path = write({**FINE, "warmpu": 2, "identifer": "x"}, model={"batch_sise": 1, "cooldwon": 1})

    problems = check(path)

    assert [(problem.severity, problem.remedy) for problem in problems] == [
        ("warning", "did you mean 'cooldown'?"),
        ("warning", "did you mean 'warmup'?"),
        ("warning", "did you mean 'identifier'?"),
    ]
    lines = path.read_text().splitlines()
    for problem, key in zip(problems, ("cooldwon", "warmpu", "identifer"), strict=True):
        _, line, column = problem.where.rsplit(":", 2)
        assert lines[int(line) - 1][int(column) - 1 :].startswith(f'"{key}"')


@pytest.mark.parametrize(
    ("test", "model", "framework", "said"),
    [
        ({"arguments": "x", "command": "y"}, {}, "", "command and arguments exclude each other"),
        ({"arguments": "x", "commands": ["y"]}, {}, "", "commands and arguments exclude each other"),
        ({"commands": "text"}, {}, "", "`commands` is a list"),
        ({"commands": ["x"], "iter": "many"}, {}, "", "`iter` is a number"),
        ({"commands": ["x"], "statistics": ["mean", "p101"]}, {}, "", "'p101' is not a statistic"),
        ({"commands": ["x"], "statistics": ["p99.9", "p1e1"]}, {}, "", "'p1e1' is not a statistic"),
        ({"commands": ["x"], "statistics": ["p 5"]}, {}, "", "'p 5' is not a statistic"),
        ({"commands": ["x"], "files": 3}, {}, "", "`files` is a mapping"),
        ({}, {}, "caffe2", "neither `commands` nor `inputs`"),
        ({"commands": ["x"]}, {}, "tflite", "tflite needs `model.files.graph`"),
        ({"commands": ["x"]}, {"framework": "pytorch"}, "caffe2", "the model is for pytorch, not caffe2"),
        ({"commands": ["x"]}, {"name": None}, "", "the model has no `name`"),
        ({"commands": ["x"]}, {"files": None}, "", "the model has no `files`"),
        ({"commands": ["x"]}, {"repeat": 0}, "", "`repeat` is at least 1"),
        ({"commands": ["x"], "input_files": {"a": "a"}}, {}, "oculus", "oculus needs a list of `input_files`"),
        ({"commands": ["x"]}, {"files": {"m": {"filename": "../m", "location": "m"}}}, "", "leads out of its folder"),
        ({"commands": ["x"]}, {"files": {"m": {"location": "m"}}}, "", "files.m has no `filename`"),
        ({"commands": ["x"]}, {"files": {"m": {"filename": "m"}}}, "", "files.m has no `location`"),
        (
            {"commands": ["x"]},
            {"files": {"m": {"filename": "m", "location": "init_net.pb", "md5": "12"}}},
            "",
            "is not an md5",
        ),
    ],
)
def test_what_keeps_a_spec_from_running_is_an_error(
    write: Write, test: dict[str, Any], model: dict[str, Any], framework: str, said: str
) -> None:
    path = write(test, model=model)

    (problem,) = check(path, framework)

    assert said in problem.message and problem.severity == "error"
    assert problem.where.startswith(f"{path}:")


def test_files_are_looked_at(write: Write) -> None:
    wrong = {"filename": "init_net.pb", "location": "init_net.pb", "md5": "0" * 32}
    path = write(
        {"commands": ["{program}"]}, model={"files": {"a": wrong, "b": {"filename": "b", "location": "none.pb"}}}
    )

    first, second = check(path)

    assert "0" * 32 in first.message and "b1946ac92492d2347c6235b4d2611184" in first.message
    assert second.message == f"{path.parent / 'none.pb'} is not there"


def test_an_address_is_looked_at_when_asked(write: Write) -> None:
    path = write(
        {"commands": ["{program}"]}, model={"files": {"m": {"filename": "m", "location": "http://127.0.0.1:1/m"}}}
    )

    assert check(path) == []
    assert [problem.severity for problem in check(path, offline=False)] == ["error"]


def test_placeholders_and_tests_that_cannot_be_run_are_told(write: Write) -> None:
    path = write({"commands": ["{program} {nope}"], "metric": "power"})

    assert sorted(_told(path)) == [
        ("warning", "cannot be run here: power needs a Monsoon monitor, which is not driven here"),
        ("warning", "{nope} is not defined; it stays as it is written"),
    ]


def test_a_token_may_become_a_number_and_must_be_one_when_it_runs(write: Write) -> None:
    path = write({"commands": ["{program}"], "iter": "{ITER}"})

    assert check(path) == []
    assert plan(path, SpecRequest(framework="caffe2", string_map={"ITER": "7"})).tests[0].iterations == 7
    with pytest.raises(DecodeError, match=r"{ITER} in `iter` is not defined"):
        plan(path, SpecRequest(framework="caffe2"))


def test_every_file_of_a_list_is_checked_and_each_thing_told_once(write: Write, tmp_path: Path) -> None:
    write({"commands": ["{program}"], "metric": ""}, name="a.json")
    write({"commands": ["{program}"], "iter": []}, name="b.json")
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps({"meta": {}, "benchmarks": ["a.json", "b.json", "b.json"]}))

    assert [Path(problem.where.rsplit(":", 2)[0]).name for problem in check(listed)] == ["a.json", "b.json"]


def test_text_that_is_no_json_says_where(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text('{"model": {},\n "tests": [}')

    with pytest.raises(DecodeError, match=r"spec.json:2:\d+"):
        check(path)
