from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness.specs.planner import PlannedTest, SpecRequest, plan
from benchwright.errors import DecodeError

Write = Callable[..., Path]
CAFFE2 = SpecRequest(framework="caffe2")


def _inputs(**shapes: list[list[int]]) -> dict[str, Any]:
    return {name: {"shapes": each, "type": "float"} for name, each in shapes.items()}


def _tests(path: Path) -> tuple[PlannedTest, ...]:
    return plan(path, CAFFE2).tests


def test_shapes_are_zipped_and_tests_numbered_through_the_file(write: Write) -> None:
    path = write(
        {"inputs": _inputs(a=[[1, 2], [3, 4]], b=[[5], [6]])},
        {"identifier": "named", "inputs": _inputs(a=[[7, 7]])},
        {"identifier": "last-{ID}", "arguments": "--x"},
    )

    tests = _tests(path)

    assert [test.identifier for test in tests] == ["0", "1", "named", "last-3"]
    assert [dict(test.shapes) for test in tests[:2]] == [{"a": (1, 2), "b": (5,)}, {"a": (3, 4), "b": (6,)}]


def test_several_outputs_do_not_duplicate_tests(write: Write) -> None:
    path = write(
        {
            "inputs": _inputs(data=[[1, 3]]),
            "input_files": {"data": ["a.txt", "b.txt"]},
            "output_files": {"x": ["x0.txt", "x1.txt"], "y": ["y0.txt", "y1.txt"], "z": "same.txt"},
        }
    )

    tests = _tests(path)

    assert len(tests) == 2
    assert [test.test["output_files"] for test in tests] == [
        {"x": "x0.txt", "y": "y0.txt", "z": "same.txt"},
        {"x": "x1.txt", "y": "y1.txt", "z": "same.txt"},
    ]


def test_metric_generic_is_one_test_as_it_stands(write: Write) -> None:
    path = write(
        {"metric": "generic", "identifier": "x-{ID}", "inputs": _inputs(a=[[1], [2]]), "commands": ["{program}"]},
        {"metric": "generic", "identifier": None, "commands": ["{program} again"]},
    )

    tests = plan(path, SpecRequest(framework="generic")).tests

    assert [test.identifier for test in tests] == ["x-0", "tiny"], "without one, the net's name"
    assert tests[0].shapes == {}


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"inputs": _inputs(a=[[1], [2]], b=[[1]])}, r":\d+:\d+: inputs have different numbers of shapes: a 2, b 1"),
        ({"inputs": _inputs(a=[[1], [2, 3]])}, r"shapes of a have 1 and 2 dimensions"),
        ({"inputs": {"a": {"shapes": [[1]]}}}, r"input a has no `type`"),
        ({"inputs": {"a": {"type": "float"}}}, r"input a has no `shapes`"),
        ({"inputs": _inputs(a=[["1"]])}, r"a shape of a is not a list of sizes"),  # type: ignore[list-item]
        (
            {"inputs": _inputs(a=[[1]]), "input_files": {"a": ["x", "y"], "b": ["x"]}},
            r"lists of files have different lengths: input_files.a 2, input_files.b 1",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_errors_with_their_place(write: Write, test: dict[str, Any], said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        _tests(write(test))


def test_every_problem_is_told_at_once(write: Write) -> None:
    path = write({"inputs": {"a": {"shapes": [[1]]}}, "metric": None}, {"identifier": "", "arguments": ""})

    with pytest.raises(DecodeError) as caught:
        _tests(path)

    assert all(said in str(caught.value) for said in ("no `metric`", "no `identifier`", "2 problems"))
