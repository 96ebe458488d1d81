"""Every shape of spec that FAI-PEP ships is planned: its keys in model and test, and the kinds of their values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness.specs.check import check
from benchwright.compat.harness.specs.planner import SpecRequest, plan
from benchwright.targets.specs.places import errors

Write = Callable[..., Path]
NET = "--net {files.predict} --init_net {files.init} --iter {iter}"
GRAPH = "--graph={files.graph} --num_runs={iter}"
DESCRIBED = {"category": "CNN", "description": "small", "kind": "deployment"}
LITE = {"format": "tflite", "files": {"graph": {"filename": "g.tflite", "location": "g.tflite", "md5": "0" * 32}}}
STEPS = {"commands": ["mkdir -p {HOSTDIR}/made", "{tool} --limit {per} --to {HOSTDIR}/made/{INDEX}"]}
MADE_INPUT = {"images": {"filename": "images.pb", "location": "{HOSTDIR}/images.pb"}}
MADE_OUTPUT = {"out": {"filename": "out.txt", "location": "{TGTDIR}/out.txt"}}
FOLLOWED = {"preprocess": STEPS, "postprocess": STEPS}
MODEL_FILES = {
    "init": {"filename": "i.pb", "location": "{MODEL_DIR}/i.pb", "md5": ""},
    "predict": {"filename": "p.pb", "location": "{MODEL_DIR}/p.pb", "md5": ""},
}
MONSOON = "power needs a Monsoon monitor, which is not driven here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What stands in a test and in its model, and what becomes of them."""

    test: dict[str, Any]
    model: dict[str, Any] = field(default_factory=dict)
    command: str  # the first one, as it is planned
    planned: dict[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def framework(self) -> str:
        return str(self.model.get("format", "caffe2"))


SHAPES = {
    "arguments": Shape(test={"arguments": NET}, model=DESCRIBED, command=f"{{program}} {NET}"),
    "a list of commands": Shape(
        test={"commands": [f"{{program}} {NET}"]}, model=DESCRIBED, command=f"{{program}} {NET}"
    ),
    "one command": Shape(test={"command": f"{{program}} --inline {NET}"}, command=f"{{program}} --inline {NET}"),
    "a timeout of the model": Shape(
        test={"commands": [f"{{program}} {NET}"]},
        model={**DESCRIBED, "timeout": 900},
        command=f"{{program}} {NET}",
        planned={"timeout": 900.0},
    ),
    "cores for arguments": Shape(
        test={"arguments": NET, "platform_args": {"taskset": "f0"}}, model=DESCRIBED, command=f"{{program}} {NET}"
    ),
    "cores for commands": Shape(
        test={"commands": [f"{{program}} {NET}"], "platform_args": {"taskset": "c"}}, command=f"{{program}} {NET}"
    ),
    "golden outputs in lists": Shape(
        test={
            "metric": "error",
            "arguments": f"{NET} --input_file {{input_files.data}} --output out --text_output true ",
            "input_files": {"data": [{"filename": "data.txt", "location": "t/data.txt", "md5": "0" * 32}]},
            "output_files": {"out": [{"filename": "out.txt", "location": "t/out.txt", "md5": "1" * 32}]},
        },
        command=f"{{program}} {NET} --input_file {{input_files.data}} --output out --text_output true "
        "--output_folder {TGTDIR}",
    ),
    "shapes and flags of early 2018": Shape(
        test={
            "inputs": {"d": {"shapes": [[1, 3]], "type": "float"}},
            "commands": {"caffe2": {"run_individual": "true"}},
        },
        model={**DESCRIBED, "inputs": {"d": {"shapes": [[1, 3]], "type": "float"}}},
        command="{program} --init_net {files.init} --net {files.predict} --warmup 1 --iter 5 --input_dims 1,3 "
        "--input d --input_type float --run_individual true",
        planned={"seed_dialect": True, "shapes": {"d": (1, 3)}},
    ),
    "golden files of early 2018": Shape(
        test={
            "metric": "error",
            "inputs": {"d": {"shapes": [[1, 3]], "type": "float"}},
            "input_files": {"d": "t/d.txt"},
            "output_files": {"out": "t/out.txt"},
        },
        command="{program} --init_net {files.init} --net {files.predict} --warmup 1 --iter 5 --input_file "
        "{input_files.d} --input d --input_type float --output out --text_output true --output_folder {TGTDIR}",
        planned={"seed_dialect": True},
    ),
    "accuracy with steps around the model and each repeat": Shape(
        test={
            "metric": "accuracy",
            "commands": [f"{{program}} {NET} --images {{input_files.images}} --output_folder '{{TGTDIR}}'"],
            "input_files": MADE_INPUT,
            "output_files": MADE_OUTPUT,
            **FOLLOWED,
        },
        model={**DESCRIBED, **FOLLOWED, "repeat": 20, "total": 1000, "per": "{total}/{repeat}"},
        command=f"{{program}} {NET} --images {{input_files.images}} --output_folder '{{TGTDIR}}'",
        planned={"repeat": 20},
    ),
    "accuracy of a model whose place is not said": Shape(
        test={
            "metric": "accuracy",
            "commands": [f"{{program}} {NET}"],
            "log_output": "true",
            "input_files": MADE_INPUT,
        },
        model={"files": MODEL_FILES, "batch_size": "1", "per": 1, "log_output": "true", **FOLLOWED},
        command=f"{{program}} {NET}",
        planned={"log_output": True},
        reason="{MODEL_DIR} in the location of a file is not defined; --string_map can define it",
    ),
    "accuracy with labels among the model's files": Shape(
        test={
            "metric": "accuracy",
            "commands": [f"{{program}} {NET} --images {{input_files.images}}"],
            "input_files": {"images": {"filename": "i.pb", "location": "https://example.org/i.pb", "md5": "2" * 32}},
            "output_files": MADE_OUTPUT,
            "postprocess": {"commands": ["{FAIPEPROOT}/compare --labels {files.golden} --of {output_files.out}"]},
        },
        model={"files": {**MODEL_FILES, "golden": {"filename": "g.txt", "location": "g.txt", "md5": "3" * 32}}},
        command=f"{{program}} {NET} --images {{input_files.images}}",
        reason="{MODEL_DIR} in the location of a file is not defined; --string_map can define it",
    ),
    "power, in commands": Shape(
        test={"metric": "power", "commands": [f"{{program}} {NET}"], "collection_time": 170, "voltage": 4.2},
        command=f"{{program}} {NET}",
        planned={"power": {"method": "monsoon", "collection_time": 170.0, "voltage": 4.2}},
        reason=MONSOON,
    ),
    "power, in arguments": Shape(
        test={"metric": "power", "arguments": NET, "collection_time": 180}, command=f"{{program}} {NET}", reason=MONSOON
    ),
    "power by software": Shape(
        test={"metric": "power", "commands": [f"{{program}} {NET}"], "method": "software"},
        command=f"{{program}} {NET}",
        planned={"power": {"method": "software", "collection_time": 300.0, "voltage": 4.0}},
        reason="power by software needs a phone whose USB power a hub can cut, which is not driven here",
    ),
    "tflite, arguments": Shape(test={"arguments": GRAPH}, model=LITE, command=f"{{program}} {GRAPH}"),
    "tflite, arguments beside flags": Shape(
        test={"arguments": GRAPH, "commands": {"tflite": {"num_threads": "4"}}},
        model=LITE,
        command=f"{{program}} {GRAPH}",
    ),
    "tflite, flags alone": Shape(
        test={"commands": {"tflite": {"num_threads": "4"}}},
        model=LITE,
        command="{program} --graph={files.graph} --warmup_runs=1 --num_runs=5 --num_threads=4",
        planned={"flags": {"num_threads": "4"}},
    ),
    "tflite, cores and a pause": Shape(
        test={"commands": [f"{{program}} {GRAPH}"], "platform_args": {"taskset": "80"}},
        model={**LITE, "category": "CNN", "cooldown": 30},
        command=f"{{program}} {GRAPH}",
        planned={"cooldown": 30.0},
    ),
    "tflite, power after a sleep": Shape(
        test={"metric": "power", "arguments": GRAPH, "platform_args": {"sleep_before_run": 20}, "voltage": 4.2},
        model={**LITE, "cooldown": 30},
        command=f"{{program}} {GRAPH}",
        planned={"power": {"method": "monsoon", "collection_time": 180.0, "voltage": 4.2}},
        reason=MONSOON,
    ),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_a_spec_of_this_shape_is_planned(write: Write, shape: Shape) -> None:
    path = write(shape.test, model=shape.model)
    before = path.read_bytes()

    (test,) = plan(path, SpecRequest(framework=shape.framework)).tests

    assert (test.commands[0], test.metric, test.reason) == (
        shape.command,
        shape.test.get("metric", "delay"),
        shape.reason,
    )
    assert {name: getattr(test, name) for name in shape.planned} == shape.planned
    assert {entry.key for entry in test.files} >= {f"files.{name}" for name in test.model["files"]}  # type: ignore[union-attr]
    complaints = [problem.message for problem in errors(check(path)) if "is not there" not in problem.message]
    assert complaints == []
    assert path.read_bytes() == before


@pytest.mark.parametrize("meta", [{"group": "G"}, {"group": "G", "command_args": "--backend mkl"}])
def test_a_list_of_specs_is_planned(write: Write, tmp_path: Path, meta: dict[str, Any]) -> None:
    names = [f"{i}/spec.json" for i in range(len(SHAPES))]
    shapes = [shape for shape in SHAPES.values() if shape.framework == "caffe2"]
    for name, shape in zip(names, shapes, strict=False):
        write(shape.test, model=shape.model, name=name)
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"meta": meta, "benchmarks": names[: len(shapes)]}), encoding="utf-8")

    tests = plan(path, SpecRequest(framework="caffe2")).tests

    assert [test.reason for test in tests] == [shape.reason for shape in shapes]
    assert {test.group for test in tests} == {"G"}
    assert all(test.commands[0].endswith(meta.get("command_args", "")) for test in tests)


@pytest.mark.parametrize(
    ("name", "cores", "sleep"),
    [
        ("cores for arguments", (4, 5, 6, 7), 0.0),
        ("cores for commands", (2, 3), 0.0),
        ("tflite, cores and a pause", (7,), 0.0),
        ("tflite, power after a sleep", (), 20.0),
    ],
)
def test_what_a_spec_says_of_phones_counts_there(write: Write, name: str, cores: tuple[int, ...], sleep: float) -> None:
    shape = SHAPES[name]
    asked = SpecRequest(framework=shape.framework, platform="android")
    (test,) = plan(write(shape.test, model=shape.model), asked).tests
    assert (test.cpus, test.sleep_before_run) == (cores, sleep)


def test_a_place_that_is_said_makes_a_test_one_that_runs(write: Write) -> None:
    shape = SHAPES["accuracy of a model whose place is not said"]
    asked = SpecRequest(framework="caffe2", string_map={"MODEL_DIR": "/models"})
    (test,) = plan(write(shape.test, model=shape.model), asked).tests
    assert test.reason == "" and {e.location for e in test.files if e.is_wanted} == {"/models/i.pb", "/models/p.pb"}
