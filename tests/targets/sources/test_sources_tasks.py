from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import OptionError, TargetError, UserError
from benchwright.records import Inputs, Load, Mode
from benchwright.schema import case_key
from benchwright.targets.sources import Request, plan
from benchwright.targets.sources.tasks import Tasks
from benchwright.targets.tasks.definition import BACKSTOP, DAY

TEXT = r"""
[tasks.train]
command = ["sh", "train.sh", "{epochs}", "{batch_size}"]
timeout = 60
metrics.speed = { pattern = 'speed (\S+)' }
parameters = { epochs = 2, batch_size = [8, 16] }

[tasks.other]
command = "true"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "train.sh").write_text("echo speed 1\n", encoding="utf-8")
    path = tmp_path / "tasks.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_files_are_told_by_their_endings() -> None:
    accepts = Tasks().accepts
    assert all(map(accepts, ["tasks.toml", "a/tasks.cfg::x", "old.ini::y"]))
    assert not any(map(accepts, ["model.onnx", "bench.py::x", "pkg.module:name", "tasks.tomls"]))


def test_every_task_and_every_value_of_a_parameter_is_a_case(file: Path) -> None:
    cases = plan(Request(targets=[str(file)]))
    assert [(case.name, dict(case.params)) for case in cases] == [
        ("tasks.toml::train", {"runtime": "task", "epochs": 2, "batch_size": 8}),
        ("tasks.toml::train", {"runtime": "task", "epochs": 2, "batch_size": 16}),
        ("tasks.toml::other", {"runtime": "task"}),
    ]
    assert {case.load.mode for case in cases} == {Mode.SINGLE}
    assert [case.load.timeout for case in cases] == [60 + BACKSTOP, 60 + BACKSTOP, DAY + BACKSTOP]
    assert cases[0].target.uri == f"{file}::train"


def test_parameters_and_batch_sizes_are_dimensions(file: Path) -> None:
    asked = Request(targets=[f"{file}::train"], params={"epochs": [1, 2]}, batch_sizes=[4], load=Load(timeout=5))
    cases = plan(asked)
    assert [(case.params["epochs"], case.params["batch_size"]) for case in cases] == [(1, 4), (2, 4)]
    assert cases[0].load.timeout == 5 + BACKSTOP


def test_the_version_changes_with_the_script_and_the_series_does_not(file: Path) -> None:
    (before, _) = plan(Request(targets=[f"{file}::train"]))
    (file.parent / "train.sh").write_text("echo speed 2\n", encoding="utf-8")
    (after, _) = plan(Request(targets=[f"{file}::train"]))
    assert before.version != after.version and case_key(before) == case_key(after)


def test_a_task_of_the_older_form_takes_the_texts_it_rewrites(tmp_path: Path) -> None:
    lists = "patterns = ['(\\d)']\nmetrics = ['x']\ncompute_method = ['last']\n"
    (tmp_path / "old.cfg").write_text(f"[demo]\n{lists}command_to_execute = echo 1 --epochs 3\n", encoding="utf-8")
    (case,) = plan(Request(targets=[f"{tmp_path / 'old.cfg'}::demo"], params={"epochs": [5]}))
    assert dict(case.params) == {"runtime": "task", "epochs": 5}
    (case,) = plan(Request(targets=[str(tmp_path / "old.cfg")]))
    assert dict(case.params) == {"runtime": "task"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"runtimes": ["torch"]}, "leave --runtime out"),
        ({"devices": ["cuda"]}, "chooses its device"),
        ({"workers": [2]}, "--workers does not apply"),
        ({"copies": [2]}, "--copies does not apply"),
        ({"rates": [10.0]}, "--rate does not apply"),
        ({"load": Load(duration=3)}, "--duration does not apply"),
        ({"load": Load(samples=3)}, "--samples does not apply"),
        ({"inputs": Inputs(count=3)}, "--input-count"),
        ({"params": {"epoch": [1]}}, "did you mean 'epochs'"),
    ],
)
def test_what_means_nothing_to_a_task_is_refused(file: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as caught:
        plan(Request(targets=[f"{file}::train"], **change))
    assert told in str(caught.value)


@pytest.mark.parametrize(("target", "told"), [("::", "names nothing"), ("::trian", "did you mean 'train'")])
def test_a_target_that_is_not_there_is_told(file: Path, target: str, told: str) -> None:
    with pytest.raises(TargetError) as caught:
        plan(Request(targets=[f"{file}{target}"]))
    assert told in str(caught.value)


def test_a_computation_over_workers_without_their_number_shows_before_anything_runs(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPLEARNING_WORKERS_COUNT", raising=False)
    text = "[tasks.a]\ncommand = 'true'\nmetrics.m = { pattern = 'a', compute = 'sum_per_worker' }\n"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match="needs the number of workers"):
        plan(Request(targets=[str(file)]))
    monkeypatch.setenv("DEEPLEARNING_WORKERS_COUNT", "2")
    assert len(plan(Request(targets=[str(file)]))) == 1


def test_a_program_of_the_tasks_own_folder_is_part_of_the_version(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    script = tmp_path / "sub" / "run.sh"
    script.write_text("#!/bin/sh\necho 1\n", encoding="utf-8")
    script.chmod(0o755)
    (tmp_path / "t.toml").write_text('[tasks.a]\ncommand = ["./run.sh"]\ndirectory = "sub"\n', encoding="utf-8")
    (before,) = plan(Request(targets=[f"{tmp_path / 't.toml'}::a"]))
    script.write_text("#!/bin/sh\necho 2\n", encoding="utf-8")
    (after,) = plan(Request(targets=[f"{tmp_path / 't.toml'}::a"]))
    assert before.version != after.version


def test_a_long_word_is_no_file_and_no_error(tmp_path: Path) -> None:
    code = f"print('v=3') # {'x' * 300}"
    (tmp_path / "t.toml").write_text(f'[tasks.a]\ncommand = ["python3", "-c", "{code}"]\n', encoding="utf-8")
    assert len(plan(Request(targets=[f"{tmp_path / 't.toml'}::a"]))) == 1
