"""`benchwright spec`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright.records import Run
from benchwright.targets.specs import form, places, reader

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]

OLDER = {
    "model": {
        "name": "squeeze",
        "format": "caffe2",
        "files": {"predict": {"filename": "predict.pb", "location": "predict.pb", "md5": "0" * 32}},
    },
    "tests": [
        {
            "identifier": "{ID}",
            "metric": "delay",
            "iter": 5,
            "warmup": 1,
            "command": "{program} --net {files.predict} --iter {iter} --warmup {warmup}",
        }
    ],
}


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


def test_check_tells_every_problem_and_says_so_with_its_code(benchwright: Benchwright, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"net")
    folder = tmp_path / "specs"
    folder.mkdir()
    good, bad = folder / "good.yaml", folder / "bad.json"
    good.write_text("benchwright: 1\nmodel: {name: net, files: {onnx: ../net.onnx}}\n", encoding="utf-8")
    bad.write_text('{"benchwright": 1,\n "model": {"name": "m", "filse": {}},\n "tags": 5}', encoding="utf-8")
    (folder / "other.yaml").write_text("services: {}", encoding="utf-8")  # left alone, as by `run`
    well = benchwright("spec", "check", str(good), "--json")
    assert well.returncode == 0 and json.loads(well.stdout)["data"] == {"files": [str(good)], "problems": []}
    ended = benchwright("spec", "check", "specs", "--offline")
    assert ended.returncode == 2 and ended.stderr == ""
    assert "specs/bad.json:2:25: unknown key 'filse'\n  did you mean 'files'?\n" in ended.stdout
    assert "specs/bad.json:3:2: tags must be a list" in ended.stdout and ended.stdout.endswith("2 files: 2 errors\n")


def test_an_older_spec_is_checked_and_converted(benchwright: Benchwright, tmp_path: Path) -> None:
    file, out = tmp_path / "old.json", tmp_path / "new.yaml"
    file.write_text(json.dumps(OLDER), encoding="utf-8")
    checked = benchwright("spec", "check", "old.json")
    assert checked.returncode == 2 and "predict.pb" in checked.stdout, "the file is not there"
    converted = benchwright("spec", "convert", "old.json", "-o", "new.yaml")
    assert converted.returncode == 0, converted.stderr
    spec, problems = reader.look(places.read(out), out)
    assert spec is not None and spec.name == "squeeze" and not problems
    again = benchwright("spec", "convert", "old.json", "-o", "new.yaml")
    assert again.returncode == 2 and "--force" in again.stderr
    out.write_text("mine", encoding="utf-8")
    assert benchwright("spec", "convert", "old.json", "-o", "new.yaml", "--force").returncode == 0
    assert out.read_text(encoding="utf-8") == benchwright("spec", "convert", "old.json").stdout
    refused = benchwright("run", "old.json")
    assert refused.returncode == 2 and "benchwright harness --benchmark_file" in refused.stderr


def test_the_schema_is_printed(benchwright: Benchwright) -> None:
    assert json.loads(benchwright("spec", "schema").stdout) == form.json_schema()


def test_a_spec_runs_a_program_that_prints_rows(benchwright: Benchwright, tmp_path: Path) -> None:
    rows = [{"type": "NET", "metric": "latency", "unit": "us", "value": value} for value in ("18", "10", "14")]
    lines = "".join(f"echo 'PyTorchObserver {json.dumps(row)}'\n" for row in rows)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{lines}", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "net.bin").write_bytes(b"net")
    command = "{program} --net {files.net} --n {iterations} --dims {shapes.data}"
    value = {
        "benchwright": 1,
        "model": {"name": "net", "files": {"net": "net.bin"}, "inputs": {"data": {"shape": [2, 3]}}},
        "runtimes": {"binary": {"program": "program", "command": command}},
        "tests": [{"iterations": 3}],
    }
    (tmp_path / "spec.yaml").write_text(places.to_yaml(value), encoding="utf-8")
    ended = benchwright("run", "spec.yaml", "--no-save", "--json")
    assert ended.returncode == 0, ended.stderr
    (result,) = schema.open_document(json.loads(ended.stdout), Run).results
    entry = {"type": "NET", "metric": "latency", "unit": "us", "values": [18.0, 10.0, 14.0]}
    assert result.details["entries"] == {"NET latency": entry}
    commands: Any = result.details["commands"]
    (words,) = commands
    assert [Path(str(word)).name for word in words] == ["program", "--net", "net.bin", "--n", "3", "--dims", "2,3"]
