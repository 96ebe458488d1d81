"""Our form of specs: what it says, every problem at its line, and the published schema that agrees."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchwright.errors import DecodeError, TargetError
from benchwright.records import Objective, Tolerance
from benchwright.targets.specs import form, places, reader
from benchwright.targets.specs.places import SpecProblem, errors

WHOLE: dict[str, Any] = {
    "benchwright": 1,
    "model": {
        "name": "net",
        "description": "A net.",
        "files": {
            "onnx": "net.onnx",
            "tflite": {"url": "https://models.test/a/net.tflite?v=2", "sha256": "AB" * 32, "inputs": {"data": "x:0"}},
        },
        "inputs": {"data": {"shape": [1, 3, 8, 8], "type": "float32", "range": [-1, 1]}, "mask": {"file": "mask.npy"}},
        "outputs": {"probabilities": {"golden": "out.npz::p", "absolute": 1e-4, "cosine": 0.99, "top": 5}},
    },
    "runtimes": {
        "onnxruntime": {"file": "onnx", "options": {"intra_op_num_threads": 1}, "outputs": {"probabilities": "prob"}},
        "binary": {"program": "bin/run", "command": "{program} --net {files.onnx} --n {iterations}", "env": {"A": "b"}},
    },
    "tests": [
        {
            "name": "delay",
            "shapes": {"data": [[1, 3, 8, 8], [1, 3, 16, 16]]},
            "iterations": 50,
            "warmup": 0,
            "timeout": "2min",
            "objective": "p99<20ms",
            "tags": ["slow"],
        },
        {"name": "batches", "batch_sizes": [1, 8.0], "duration": 1.5, "runtimes": ["onnxruntime"], "golden": True},
    ],
    "tags": ["vision"],
}


def _look(value: Any, tmp_path: Path) -> tuple[Any, list[SpecProblem]]:
    path = tmp_path / "spec.yaml"
    return reader.look(places.parse(places.to_yaml(value), str(path)), path)


def test_everything_that_a_spec_says(tmp_path: Path) -> None:
    spec, problems = _look(WHOLE, tmp_path)
    assert problems == [] and spec.name == "net" and spec.tags == ("vision",)
    onnx, tflite = spec.files["onnx"], spec.files["tflite"]
    assert onnx.location == str(tmp_path / "net.onnx") and not onnx.is_url
    assert (tflite.name, tflite.sha256, tflite.is_url) == ("net.tflite", "ab" * 32, True)
    assert tflite.inputs == {"data": "x:0"}
    assert spec.inputs["data"].shape == (1, 3, 8, 8) and spec.inputs["data"].range == (-1.0, 1.0)
    assert spec.inputs["mask"].file.location == str(tmp_path / "mask.npy")
    output = spec.outputs["probabilities"]
    assert output.tolerance == Tolerance(absolute=1e-4, cosine=0.99, top=5)
    assert output.golden.location == str(tmp_path / "out.npz") and output.golden.member == "p"
    assert spec.runtimes["binary"].program.location == str(tmp_path / "bin" / "run")
    delay, batches = spec.tests
    assert delay.shapes == ({"data": (1, 3, 8, 8)}, {"data": (1, 3, 16, 16)})
    assert (delay.iterations, delay.warmup, delay.timeout, delay.golden) == (50, 0.0, 120.0, None)
    assert delay.objectives == (Objective(metric="latency_p99", relation="<", bound=0.02),)
    assert (batches.batch_sizes, batches.duration, batches.golden) == ((1, 8), 1.5, True)


def test_the_shortest_spec_has_one_test(tmp_path: Path) -> None:
    spec, problems = _look({"benchwright": 1, "model": {"name": "m", "files": {"onnx": "m.onnx"}}}, tmp_path)
    assert problems == [] and len(spec.tests) == 1 and spec.tests[0].name == ""


WRONG: list[tuple[list[str | int], Any, str]] = [
    (["benchwright"], 2, "this version of Benchwright reads 1"),
    (["benchwright"], True, "reads 1"),
    (["modle"], {}, "did you mean 'model'?"),
    (["model", "name"], "", "is empty"),
    (["model", "name"], 5, "put it in quotes"),
    (["model", "files", "onnx"], 5, "must be text or a mapping"),
    (["model", "files", "onnx"], {"pth": "x.onnx"}, "did you mean 'path'?"),
    (["model", "files", "tflite", "sha256"], "abc", "64 hexadecimal digits"),
    (["model", "inputs", "data", "shape"], "1x3", "write it in brackets"),
    (["model", "inputs", "data", "shape", 1], 0, "is below 1"),
    (["model", "inputs", "data", "shape", 1], 2.5, "must be a whole number"),
    (["model", "inputs", "data", "type"], "float23", "did you mean 'float"),
    (["model", "inputs", "data", "range"], [1], "is below 2 items"),
    (["model", "inputs", "data", "range"], [1, 2, 3], "is above 2 items"),
    (["model", "outputs", "probabilities", "absolute"], -1, "is below 0"),
    (["model", "outputs", "probabilities", "cosine"], 1.5, "is above 1"),
    (["runtimes", "onnxruntime", "options"], {"a": [1]}, "must be text or a number or true or false or nothing"),
    (["runtimes", "onnxruntime", "option"], {}, "did you mean 'options'?"),
    (["tests"], [], "is empty"),
    (["tests", 0, "iteration"], 5, "did you mean 'iterations'?"),
    (["tests", 0, "golden"], "yes", "true or false"),
    (["tests", 0, "shapes", "data"], [], "is empty"),
    (["tags"], "vision", "must be a list"),
]


@pytest.mark.parametrize(("path", "value", "said"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_form_is_refused_by_us_and_by_the_published_schema(
    path: list[str | int], value: Any, said: str, tmp_path: Path
) -> None:
    changed = copy.deepcopy(WHOLE)
    _set(changed, path, value)
    assert not jsonschema.Draft202012Validator(form.json_schema()).is_valid(changed)
    _, problems = _look(changed, tmp_path)
    assert any(said in str(problem) for problem in problems), problems


def test_the_published_schema_accepts_what_is_read_and_is_current(root: Path, tmp_path: Path) -> None:
    schema = form.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(WHOLE)
    published = root / "docs" / "schema" / form.FILE_NAME
    assert published.read_text(encoding="utf-8") == form.render(), "run `make schema`"
    assert json.loads(form.write(tmp_path / "new").read_text(encoding="utf-8")) == schema


MEANT: list[tuple[list[str | int], Any, str, str]] = [
    (["model", "files", "onnx"], {"path": "a.onnx", "url": "https://a.test/a.onnx"}, "onnx", "either a path or a url"),
    (["model", "files", "onnx"], {"sha256": "ab" * 32}, "onnx", "either a path or a url"),
    (["model", "files", "onnx"], "htps://a.test/a.onnx", "onnx", "did you mean 'https'?"),
    (["model", "files", "onnx"], "https://a.test/", "onnx", "give it a name"),
    (["model", "files", "onnx"], {"path": "a.onnx", "inputs": {"dat": "x"}}, "dat", "did you mean 'data'?"),
    (["model", "inputs", "data", "range"], [1, 1], "range", "below the second"),
    (["model", "inputs", "mask", "range"], [0, 1], "range", "an input from a file has no range"),
    (["model", "inputs", "mask", "file"], "mask.png", "file", "known endings: .npy, .txt"),
    (["model", "outputs", "probabilities", "golden"], "a.onnx", "golden", "known endings"),
    (["runtimes", "onnxruntim"], {}, "onnxruntim", "did you mean 'onnxruntime'?"),
    (["runtimes", "onnxruntime", "file"], "onxx", "file", "did you mean 'onnx'?"),
    (["runtimes", "onnxruntime", "file"], "tflite", "file", "onnxruntime does not load net.tflite"),
    (["runtimes", "onnxruntime", "command"], "x", "command", "it belongs to the runtime binary"),
    (["runtimes", "binary", "command"], "{program} x", "", ""),
    (["tests", 1, "name"], "delay", "name", "two tests 'delay'"),
    (["tests", 1], {}, "", "needs a name"),
    (["tests", 1, "runtimes"], ["onyx"], "runtimes", "there is no runtime 'onyx'"),
    (["tests", 0, "shapes"], {"dat": [[1]]}, "dat", "did you mean 'data'?"),
    (["tests", 0, "shapes"], {"data": [[1, 3]]}, "data", "has 4 dimensions, these shapes 2"),
    (["tests", 0, "shapes"], {"data": [[1, 3, 8, 8], [1]]}, "data", "different numbers of dimensions"),
    (["tests", 0, "shapes"], {"data": [[1, 3, 8, 8]], "mask": [[1], [2]]}, "shapes", "data 1, mask 2"),
    (["tests", 0, "timeout"], "2 parsecs", "timeout", "not a unit here"),
    (["tests", 0, "duration"], 0, "duration", "not above zero"),
    (["tests", 0, "objective"], ["p99<20ms", "fast"], "objective", "not METRIC<BOUND"),
]


@pytest.mark.parametrize(("path", "value", "key", "said"), MEANT, ids=lambda value: str(value)[:40])
def test_what_leads_nowhere_is_told_at_its_key(
    path: list[str | int], value: Any, key: str, said: str, tmp_path: Path
) -> None:
    changed = copy.deepcopy(WHOLE)
    _set(changed, path, value)
    text = places.to_yaml(changed)
    _, problems = reader.look(places.parse(text, "spec.yaml"), tmp_path / "spec.yaml")
    if not said:
        assert errors(problems) == []
        return
    (problem,) = [each for each in problems if said in str(each)]
    file, line, column = problem.where.split(":")
    assert file == "spec.yaml" and text.splitlines()[int(line) - 1][int(column) - 1 :].startswith(key)


def test_every_problem_is_told_not_only_the_first(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text('{"benchwright": 1,\n "benchwright": 1,\n "modell": {},\n "tags": 5}', encoding="utf-8")
    with pytest.raises(DecodeError) as caught:
        reader.read(path)
    message = str(caught.value)
    for place, said in (("2:2", "is written twice"), ("3:2", "did you mean 'model'?"), ("4:2", "must be a list")):
        assert f"{path}:{place}: " in message and said in message
    assert "'model' is missing" in message and "4 problems" in message


def test_an_address_without_a_digest_is_a_warning(tmp_path: Path) -> None:
    changed = copy.deepcopy(WHOLE)
    changed["model"]["files"]["tflite"] = "https://models.test/net.tflite"
    spec, problems = _look(changed, tmp_path)
    assert spec is not None and [problem.severity for problem in problems] == ["warning"]


def test_other_files_are_told_apart(tmp_path: Path) -> None:
    older = tmp_path / "older.json"
    older.write_text('{"model": {}, "tests": []}', encoding="utf-8")
    with pytest.raises(TargetError, match="spec convert"):
        reader.read(older)
    other = tmp_path / "other.yaml"
    other.write_text("services: []\n", encoding="utf-8")
    with pytest.raises(DecodeError, match="'benchwright' is missing"):
        reader.read(other)


def _set(document: Any, path: list[str | int], value: Any) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value
