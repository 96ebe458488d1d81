from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness.specs import loader
from benchwright.compat.harness.specs.planner import Role, SpecRequest, describe_plan, plan
from benchwright.errors import DecodeError

Write = Callable[..., Path]
CAFFE2 = SpecRequest(framework="caffe2")
RUN = "{program} --net {files.predict} --init_net {files.init} --warmup {warmup} --iter {iter}"
SEED: list[dict[str, Any]] = [
    {
        "metric": "error",
        "iter": 1,
        "warmup": 0,
        "inputs": {"data": {"shapes": [[1, 3, 224, 224]], "type": "float"}},
        "input_files": {"data": "tests/test0/data.txt"},
        "output_files": {"softmaxout": "tests/test0/softmaxout.txt"},
    },
    {
        "iter": 50,
        "inputs": {"data": {"shapes": [[1, 3, 30, 30], [64, 3, 30, 30], [1, 3, 224, 224]], "type": "float"}},
        "commands": {"caffe2": {"run_individual": "true"}},
    },
]


def _messages(path: Path, asked: SpecRequest = CAFFE2) -> list[str]:
    return [str(notice) for notice in plan(path, asked).notices]


def test_commands_of_today_keep_their_placeholders(write: Write) -> None:
    path = write({"commands": [RUN]}, {"commands": [RUN]})
    before = path.read_bytes()

    planned = plan(path, CAFFE2)

    assert [(test.identifier, test.commands, test.seed_dialect) for test in planned.tests] == [
        ("0", (RUN,), False),
        ("1", (RUN,), False),
    ]
    assert planned.notices == ()
    filled = "{program} --net {files.predict} --init_net {files.init} --warmup 1 --iter 5"
    assert f"command: {filled}\n" in describe_plan(planned)
    assert path.read_bytes() == before


def test_the_form_of_early_2018_becomes_the_flags_of_its_program(write: Write) -> None:
    tests = plan(write(*SEED), CAFFE2).tests

    assert [test.identifier for test in tests] == ["0", "1", "2", "3"]
    assert all(test.seed_dialect for test in tests)
    assert tests[0].commands == (
        "{program} --init_net {files.init} --net {files.predict} --warmup 0 --iter 1 --input_file {input_files.data}"
        " --input data --input_type float --output softmaxout --text_output true --output_folder {TGTDIR}",
    )
    assert tests[2].commands == (
        "{program} --init_net {files.init} --net {files.predict} --warmup 1 --iter 50 --input_dims 64,3,30,30"
        " --input data --input_type float --run_individual true",
    )
    assert tests[2].flags == {"run_individual": "true"}
    golden = next(entry for entry in tests[0].files if entry.role is Role.GOLDEN)
    assert (golden.key, golden.filename) == ("output_files.softmaxout", "softmaxout.txt")


def test_dialects_are_told_apart_test_by_test(write: Write) -> None:
    file = {"filename": "data.txt", "location": "data.txt"}
    path = write(SEED[1], {"commands": [RUN]}, {**SEED[1], "input_files": {"data": file}})

    tests = plan(path, CAFFE2).tests

    assert [test.seed_dialect for test in tests] == [True, True, True, False, False, False, False]
    assert (
        tests[-1].commands[0].startswith("{program} --net {files.predict} --warmup 1 --iter 50 --init_net {files.init}")
    )


def test_other_frameworks_have_flags_of_their_own(write: Write) -> None:
    inputs = {"a": {"shapes": [[1, 2]], "type": "float"}, "b": {"shapes": [[3]], "type": "float"}}
    flags = {"tflite": {"num_threads": 4, "gpu": True}, "pytorch": {"text": "two words"}, "generic": {"n": 1}}
    tflite = write(
        {"inputs": inputs, "commands": flags}, model={"files": {"graph": {"filename": "g", "location": "g"}}}
    )
    assert plan(tflite, SpecRequest(framework="tflite")).tests[0].commands == (
        "{program} --graph={files.graph} --warmup_runs=1 --num_runs=5 --input_layer=a,b --input_layer_shape=1,2:3"
        " --num_threads=4 --gpu=true",
    )
    assert plan(tflite, SpecRequest(framework="pytorch")).tests[0].commands == (
        "{program} --model {files.graph} --warmup 1 --iter 5 --input_dims '1,2;3' --input a,b --input_type float"
        " --text 'two words'",
    )
    assert plan(tflite, SpecRequest(framework="generic")).tests[0].commands == ("{program} --n 1",)


def test_flags_of_the_model_and_of_a_list_reach_every_test_of_early_2018(write: Write, tmp_path: Path) -> None:
    write(SEED[1], model={"commands": {"caffe2": {"run_individual": "false", "seed": 1}}})
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps({"meta": {"commands": {"caffe2": {"backend": "mkl"}}}, "benchmarks": ["spec.json"]}))

    flags = plan(listed, CAFFE2).tests[0].flags

    assert flags == {"run_individual": "true", "seed": 1, "backend": "mkl"}, "the test's own counts"


def test_a_list_adds_what_the_spec_lacks_and_what_is_hidden_is_told(write: Write, tmp_path: Path) -> None:
    spec = write(
        {"commands": ["{program} --n {per} --i {INDEX} --d {DATA} --u {nope}"]},
        name="m/spec.json",
        model={"total": 500, "repeat": 2, "per": "{total}/{repeat}", "files": {}},
    )
    listed = tmp_path / "list.json"
    listed.write_text(
        json.dumps({"meta": {"group": "G", "command_args": "--backend mkl"}, "benchmarks": ["m/spec.json"]})
    )
    before = spec.read_bytes(), listed.read_bytes()

    planned = plan(listed, SpecRequest(framework="generic", string_map={"DATA": "/d"}, command_args="--x 1"))

    (test,) = planned.tests
    assert test.commands == ("{program} --n {per} --i {INDEX} --d /d --u {nope} --backend mkl",)
    assert (test.group, test.repeat) == ("G", 2)
    hidden, unresolved = (str(notice) for notice in planned.notices)
    assert hidden.startswith(f"{listed}:1:") and "'--x 1' of the command line is not applied" in hidden
    assert "{nope}" in unresolved and str(spec) in unresolved
    assert "--n 500/2 --i {INDEX} --d /d --u {nope} --backend mkl" in describe_plan(planned)
    assert (spec.read_bytes(), listed.read_bytes()) == before


def test_the_spec_hides_the_list_and_the_command_line_fills_in_what_is_left(write: Write, tmp_path: Path) -> None:
    write({"commands": ["{program}", "echo done"]}, model={"group": "mine"})
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps({"meta": {"group": "theirs", "timeout": 7}, "benchmarks": ["spec.json"]}))
    asked = replace(CAFFE2, command_args="--x 1", backend="mkl", info={"meta": {"cooldown": 4}})

    planned = plan(listed, asked)

    (test,) = planned.tests
    assert (test.group, test.cooldown, test.timeout) == ("mine", 4.0, 300.0)
    assert test.commands == ("{program} --x 1 --backend mkl", "echo done"), "arguments go to the program alone"
    said = [notice.message for notice in planned.notices]
    assert said == [
        "group 'mine' counts, and 'theirs' of the list's `meta` is not applied",
        "the timeout of a list does not count: 300 s of --timeout does",
    ]


def test_a_placeholder_that_leads_to_itself_is_an_error_and_never_a_loop(write: Write) -> None:
    path = write({"commands": ["{program} {a}"]}, model={"a": "{b}", "b": "{a}"})

    with pytest.raises(DecodeError, match=r"spec.json:\d+:\d+: placeholders that lead back .*{a} -> {b} -> {a}"):
        plan(path, CAFFE2)


def test_names_of_the_info_document_are_known(write: Write) -> None:
    path = write({"commands": ["{program} {TOKEN} {input_files.x}"], "preprocess": {"commands": ["{convert} {gone}"]}})
    info: dict[str, Any] = {"treatment": {"programs": {"convert": {"location": "/c"}}, "string_map": {"TOKEN": "t"}}}

    said = _messages(path, replace(CAFFE2, info=info))

    assert [line for line in said if "TOKEN" in line or "{convert}" in line] == []
    assert ["{gone}" in line or "{input_files.x}" in line for line in said] == [True, True]


def test_a_doubled_program_is_run_once(write: Write) -> None:
    path = write({"arguments": "{program} --x"}, {"commands": ["{program}  {program} --y"]})

    planned = plan(path, CAFFE2)

    assert [test.commands for test in planned.tests] == [("{program} --x",), ("{program} --y",)]
    assert [notice.message for notice in planned.notices] == ["{program} is written twice; it is run once"] * 2


def test_a_key_that_stands_twice_is_told_and_the_last_counts(write: Write) -> None:
    path = write({"commands": ["{program} first"]})
    path.write_text(path.read_text().replace('"commands"', '"commands": ["{program} none"],\n      "commands"'))

    planned = plan(path, CAFFE2)

    assert planned.tests[0].commands == ("{program} first",)
    (notice,) = planned.notices
    assert "tests.0.commands is written twice" in notice.message and notice.severity == "warning"


def test_arguments_beside_a_map_of_flags_count(write: Write) -> None:
    path = write({"arguments": "--num_threads=4", "commands": {"tflite": {"num_threads": "4"}}})

    planned = plan(path, CAFFE2)

    assert planned.tests[0].commands == ("{program} --num_threads=4",)
    assert [notice.message for notice in planned.notices] == ["arguments counts, not this map of flags"]


@pytest.mark.parametrize(
    ("test", "method", "seconds", "volts", "said"),
    [
        ({"collection_time": 310, "voltage": 4.2}, "monsoon", 310.0, 4.2, "Monsoon"),
        ({"monsoon": {"collection_time": 20}, "collection_time": 310}, "monsoon", 20, 4.0, "Monsoon"),
        ({"method": "software"}, "software", 300.0, 4.0, "hub"),
    ],
)
def test_power_is_in_the_plan_with_the_reason_why_it_cannot_be_run(
    write: Write, test: dict[str, Any], method: str, seconds: float, volts: float, said: str
) -> None:
    path = write({"metric": "power", "arguments": "--x", **test}, {"arguments": "--y"})

    planned = plan(path, CAFFE2)

    power, delay = planned.tests
    assert said in power.reason and delay.reason == ""
    assert (power.power["method"], power.power["collection_time"], power.power["voltage"]) == (method, seconds, volts)
    assert "cannot be run: power" in describe_plan(planned) and "2 tests, 1 cannot be run here" in describe_plan(
        planned
    )


@pytest.mark.parametrize(
    ("framework", "model", "said"),
    [
        ("oculus", {}, "never published"),
        ("glow", {}, "converter"),
        ("generic", {"app": {"package": "p", "activity": "a"}}, "Android app"),
        ("generic", {"files": {"m": {"filename": "m", "location": "{MODEL_DIR}/m"}}}, "{MODEL_DIR}"),
        ("generic", {"files": {"m": {"filename": "m", "location": "//m"}}}, "--root_model_dir"),
    ],
)
def test_what_cannot_be_run_says_why(write: Write, framework: str, model: dict[str, Any], said: str) -> None:
    (test,) = plan(write({"commands": ["{program}"]}, model=model), SpecRequest(framework=framework)).tests

    assert said in test.reason


def test_metric_error_of_today_gets_a_folder_for_its_outputs_and_needs_a_golden_file(write: Write) -> None:
    golden = {"filename": "out.txt", "location": "golden.txt"}
    made = {"filename": "out.txt", "location": "{TGTDIR}/out.txt"}
    path = write(
        {"metric": "error", "arguments": "--output out ", "output_files": {"out": golden}},
        {"metric": "error", "arguments": "--output_folder {TGTDIR}", "output_files": {"out": made}},
    )

    first, second = plan(path, CAFFE2).tests

    assert first.commands == ("{program} --output out --output_folder {TGTDIR}",) and first.reason == ""
    assert "golden" in second.reason and second.commands == ("{program} --output_folder {TGTDIR}",)


def test_a_list_names_what_is_wrong_with_it(write: Write, tmp_path: Path) -> None:
    write({"commands": ["{program}"]})
    (tmp_path / "inner.json").write_text('{"meta": {}, "benchmarks": ["spec.json"]}')
    listed = tmp_path / "list.json"
    listed.write_text('{"benchmarks": ["spec.json", "inner.json", "none.json"]}')

    with pytest.raises(DecodeError) as caught:
        plan(listed, CAFFE2)

    for said in ("needs `meta`", "inner.json is a list itself", "none.json is not a file", f"{listed}:1:"):
        assert said in str(caught.value)


def test_default_args_are_flags_of_the_file_itself(write: Write) -> None:
    path = write({"commands": ["{program}"]}, default_args={"--timeout": 500})
    assert loader.default_args(path) == {"--timeout": 500}
    with pytest.raises(DecodeError, match="default_args"):
        loader.default_args(write({"commands": ["{program}"]}, default_args={"timeout": 500}))
