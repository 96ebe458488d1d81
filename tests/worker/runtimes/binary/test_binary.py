from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import LoadError
from benchwright.events import Event, Reached
from benchwright.execution import rounds
from benchwright.records import Better, Case, Load, Mode, Status, Target
from benchwright.targets.specs import passes
from benchwright.targets.specs.passes import HostCommands, Pass, PassFile
from benchwright.worker.runtimes import Report
from benchwright.worker.runtimes.binary import Binary

ROW = 'Caffe2Observer {"type":"NET","metric":"latency","unit":"us","value":"%s"}'
SEED_FLAGS = "{program} --init_net {files.init} --net {files.predict} --warmup 1 --iter 50 "


def _program(folder: Path, text: str, name: str = "program") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def _pass(folder: Path, text: str, **fields: Any) -> Pass:
    known: dict[str, Any] = {"framework": "generic", "metric": "delay", "commands": ("{program}",)}
    return Pass(**{**known, "program": _program(folder, text), **fields})


def _case(one: Pass, *, timeout: float | None = 60.0, **target: Any) -> Case:
    aim = Target(
        **{"runtime": "binary", "uri": "spec.json::0", "device": "host", "work": passes.to_text(one), **target}
    )
    return Case(name="tiny", target=aim, load=Load(mode=Mode.SINGLE, timeout=timeout))


def _run(one: Pass, *, timeout: float | None = 60.0) -> Report:
    loaded = Binary().load(_case(one, timeout=timeout))
    try:
        loaded.call(*loaded.arguments[0])
        return loaded.report()
    finally:
        loaded.close()


def _rows(*values: float) -> str:
    return "\n".join(f"echo '{ROW % value}'" for value in values)


def _values(report: Report, key: str = "NET latency") -> Any:
    entries: Any = report.details["entries"]
    return entries[key]["values"] if key in entries else None


# ---- the older system's acceptance cases, as far as the runtime goes ----


def test_t1_a_delay_test_on_this_machine(tmp_path: Path) -> None:
    for name, text in (("init_net.pb", "hello\n"), ("predict_net.pb", "world\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    one = _pass(
        tmp_path,
        'test "$(cat "$2")$(cat "$4")" = worldhello || exit 9\n' + _rows(18, 10, 14, 12, 16),
        framework="caffe2",
        commands=("{program} --net {files.predict} --init_net {files.init} --warmup {warmup} --iter {iter}",),
        files=tuple(
            PassFile(key=f"files.{key}", name=f"{key}_net.pb", path=str(tmp_path / f"{key}_net.pb"))
            for key in ("init", "predict")
        ),
        test={"iter": 5, "warmup": 1},
        iterations=5,
    )
    heard: list[Event] = []
    plan = rounds.Plan(cases=[_case(one)], rounds=1, monitors=())
    (result,) = rounds.execute(plan, None, heard.append).results
    assert result.status is Status.OK and not result.warnings
    entries: Any = result.details["entries"]
    assert entries == {
        "NET latency": {"type": "NET", "metric": "latency", "unit": "us", "values": [18.0, 10.0, 14.0, 12.0, 16.0]}
    }
    commands: Any = result.details["commands"]
    (argv,) = commands
    folder = Path(argv[2]).parent
    assert argv[1:] == [
        *("--net", f"{folder}/predict_net.pb", "--init_net", f"{folder}/init_net.pb", "--warmup", "1", "--iter", "5")
    ]
    assert folder != tmp_path and not folder.exists()
    metric = result.metric("NET latency")
    assert metric is not None and metric.better is Better.LOWER and metric.estimate.low is not None
    assert (metric.unit, metric.estimate.point, metric.count) == ("s", pytest.approx(14e-6), 5)
    assert any(event.phase.startswith("NET latency 1") for event in heard if isinstance(event, Reached))
    about: Any = result.details["about"]
    assert about["kind"] == "host" and about["name"] and about["serial"]


def test_t2_the_seed_dialect_tells_delays_in_blocks_on_standard_error(tmp_path: Path) -> None:
    block = "Caffe2Observer Delay Start\\n%sCaffe2Observer NET_DELAY - 1.5 (ms)\\nCaffe2Observer Delay End\\n"
    operator = "Caffe2Observer ID_0_Conv_conv1 - 0.7 (ms)\\n"
    text = f"for i in $(seq 50); do printf '{block % ''}{block % operator}' >&2; done"
    flags = "--input_dims 64,3,30,30 --input data --input_type float --run_individual true"
    files = tuple(
        PassFile(key=f"files.{key}", name=f"{key}.pb", path=str(tmp_path / "program")) for key in ("init", "predict")
    )
    one = _pass(
        tmp_path,
        text,
        framework="caffe2",
        seed_dialect=True,
        iterations=50,
        commands=(SEED_FLAGS + flags,),
        files=files,
    )
    (result,) = rounds.execute(rounds.Plan(cases=[_case(one)], rounds=1, monitors=()), None).results
    assert result.status is Status.OK and not result.warnings
    assert result.details["entries"] == {
        "NET_DELAY": {"type": "NET_DELAY", "values": [1.5] * 50},
        "ID_0_Conv_conv1": {"type": "ID_0_Conv_conv1", "values": [0.7] * 50},
    }
    assert result.details["executions"] == 1
    (operation,) = result.operators
    assert (operation.name, operation.kind, operation.share) == ("ID_0_Conv_conv1", "Conv", 1.0)
    assert operation.seconds == pytest.approx(0.7e-3)


@pytest.mark.parametrize("lines", ["0.1\n0.2\n0.7\n", "0.1\n0.2\n"])
def test_t2_the_metric_error_compares_all_of_an_output_or_nothing(tmp_path: Path, lines: str) -> None:
    golden = tmp_path / "golden.txt"
    golden.write_text("0.1\n0.25\n0.65\n", encoding="utf-8")
    (tmp_path / "data.txt").write_text("1\n", encoding="utf-8")
    one = _pass(
        tmp_path,
        f'test -s "$2" && printf "{lines}" > "$4/softmaxout.txt"\n' + _rows(3),
        framework="caffe2",
        seed_dialect=True,
        metric="error",
        iterations=1,
        commands=("{program} --input_file {input_files.data} --output_folder {TGTDIR}",),
        input_files=(PassFile(key="input_files.data", name="data.txt", path=str(tmp_path / "data.txt")),),
        output_files=(PassFile(key="output_files.softmaxout", name="softmaxout.txt", path=str(golden)),),
    )
    report = _run(one)
    if lines.count("\n") == 2:
        assert report.failure is not None and report.details["entries"] == {}
        assert report.failure.message == "output softmaxout has 2 numbers, golden has 3"
        return
    assert report.failure is None
    entries: Any = report.details["entries"]
    assert list(entries) == ["softmaxout"]
    assert entries["softmaxout"]["values"] == [0.1, 0.2, 0.7]
    assert entries["softmaxout"]["control_values"] == [0.1, 0.25, 0.65]
    assert entries["softmaxout"]["diff_values"] == pytest.approx([0, -0.05, 0.05])
    assert {m.name: m.estimate.point for m in report.metrics} == {
        "error_max_abs.softmaxout": pytest.approx(0.05),
        "error_mean_abs.softmaxout": pytest.approx(0.1 / 3),
    }


def test_t4_repeats_tokens_and_what_nobody_knows(tmp_path: Path) -> None:
    one = _pass(
        tmp_path,
        _rows(7),
        commands=("{program} --n {per} --i {INDEX} --d {DATA} --u {nope} --backend mkl",),
        model={"total": 500, "repeat": 2, "per": "{total}/{repeat}"},
        tokens={"DATA": "/d", "pep_extra_args": "--more '1 2'"},
        repeat=2,
    )
    report = _run(one)
    arguments = ["--n", "500/2", "--i", "{}", "--d", "/d", "--u", "{nope}", "--backend", "mkl", "--more", "1 2"]
    commands: Any = report.details["commands"]
    assert [argv[1:] for argv in commands] == [[word if word != "{}" else str(i) for word in arguments] for i in (0, 1)]
    assert _values(report) == [7, 7]
    assert [(w.code, w.seen) for w in report.warnings] == [("unresolved", "there is no value for {nope}")]


# ---- collecting ----


def test_a_command_that_tells_too_little_is_run_again_until_it_is_enough(tmp_path: Path) -> None:
    counting = "n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count\n"
    text = counting + f"for v in 1 2; do echo '{ROW}' | sed s/%s/$n$v/; done\necho '{ROW % 5}' | sed s/NET/ID_1_Relu/"
    report = _run(_pass(tmp_path, text, iterations=3, framework="caffe2"))
    assert _values(report) == [12, 21, 22]  # the latest three
    assert _values(report, "ID_1_Relu latency") == [5, 5]  # counted by itself, not as one of three rows
    assert report.details["executions"] == 2 and not report.warnings


def test_a_command_that_tells_nothing_new_is_not_run_for_ever(tmp_path: Path) -> None:
    text = f"test -e ran && exit 0\n: > ran\n{_rows(4)}"
    report = _run(_pass(tmp_path, text, iterations=100))
    assert (_values(report), report.details["executions"]) == ([4], 2)
    assert [warning.code for warning in report.warnings] == ["few-values"]


def test_rows_that_make_no_sense_are_left_out_and_told(tmp_path: Path) -> None:
    report = _run(_pass(tmp_path, f"echo 'PyTorchObserver {{oops'\n{_rows(4).replace('Caffe2', 'PyTorch')}"))
    assert _values(report) == [4]
    (warning,) = report.warnings
    assert warning.code == "bad-rows" and warning.seen.startswith(
        "1 rows were left out; the first, 'PyTorchObserver {oops'"
    )


def test_a_program_that_ends_well_and_tells_nothing_is_a_failure(tmp_path: Path) -> None:
    report = _run(_pass(tmp_path, "echo done"))
    assert report.failure is not None and report.failure.kind == "missing"
    generic = _run(_pass(tmp_path, "echo done", metric="generic"))
    assert generic.failure is None and [warning.code for warning in generic.warnings] == ["no-rows"]


def test_custom_outputs_are_kept_by_table(tmp_path: Path) -> None:
    report = _run(_pass(tmp_path, """echo '{"custom_output": [1, 2], "table_name": "t"}'"""))
    assert report.failure is None and report.details["custom_output"] == {"t": [[1, 2]]}


# ---- failures ----


def test_a_program_that_fails_is_run_once_and_its_rows_and_output_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "attempt"
    folder.mkdir()
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(folder))
    report = _run(_pass(tmp_path, f"echo x >> {tmp_path}/ran\n{_rows(4)}\necho why >&2\nexit 3", iterations=5))
    assert report.failure is not None and report.failure.kind == "exit"
    assert report.failure.message.endswith("/program exited with status 3")
    assert _values(report) == [4] and (tmp_path / "ran").read_text(encoding="utf-8") == "x\n"
    assert (folder / "binary.log").read_text(encoding="utf-8").endswith("why\n")


def test_a_failed_program_is_a_failed_result_with_the_end_of_its_output(tmp_path: Path) -> None:
    plan = rounds.Plan(cases=[_case(_pass(tmp_path, f"{_rows(4)}\necho why\nkill -SEGV $$"))], rounds=1, monitors=())
    (result,) = rounds.execute(plan, None).results
    assert result.status is Status.FAILED and result.metric("NET latency") is not None
    assert result.error is not None and result.error.log_tail.endswith("why\n")
    assert (result.error.kind, result.error.message.endswith("was killed by SIGSEGV")) == ("signal", True)


def test_a_program_that_takes_too_long_is_ended_and_its_rows_are_kept(tmp_path: Path) -> None:
    report = _run(_pass(tmp_path, f"{_rows(4)}\nsleep 60", timeout=4.0))
    assert report.failure is not None and report.failure.kind == "timeout"
    assert _values(report) == [4]
    report = _run(_pass(tmp_path, f"{_rows(4)}\nsleep 60"), timeout=4.4)  # the worker's own limit comes first
    assert report.failure is not None and report.failure.kind == "timeout" and _values(report) == [4]


def test_after_a_failed_command_nothing_else_is_run(tmp_path: Path) -> None:
    step = HostCommands(commands=(f"touch {tmp_path}/after",))
    report = _run(_pass(tmp_path, "exit 1", commands=("{program}", f"touch {tmp_path}/second"), after_each=step))
    assert report.failure is not None and not (tmp_path / "after").exists() and not (tmp_path / "second").exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"program": "/nowhere/program"}, "there is no program /nowhere/program"),
        ({"converter": "json_convertor"}, "unknown converter 'json_convertor'"),
        ({"metric": "power"}, "metric power needs a power monitor"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_before_anything_runs(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(LoadError, match=message):
        Binary().load(_case(_pass(tmp_path, "exit 0", **fields)))


def test_a_case_without_work_or_with_options_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="the target holds none"):
        Binary().load(_case(_pass(tmp_path, ""), work=""))
    with pytest.raises(LoadError, match="cannot be read"):
        Binary().load(_case(_pass(tmp_path, ""), work='{"metrik": 1}'))
    with pytest.raises(LoadError, match="no option 'threads'"):
        Binary().load(_case(_pass(tmp_path, ""), options={"threads": 1}))


def test_two_files_of_one_name_are_a_failure_not_a_mix_up(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a", encoding="utf-8")
    files = tuple(PassFile(key=f"files.{name}", name="net", path=str(tmp_path / name)) for name in ("a", "program"))
    report = _run(_pass(tmp_path, _rows(1), files=files))
    assert report.failure is not None and "would both be 'net' on the device" in report.failure.message


def test_a_command_that_cannot_be_split_is_a_failure(tmp_path: Path) -> None:
    report = _run(_pass(tmp_path, _rows(1), commands=("{program} 'open",)))
    assert report.failure is not None and report.failure.kind == "DecodeError"
    assert "No closing quotation" in report.failure.message


# ---- steps, files and variables ----


def test_steps_run_here_in_their_order_and_their_rows_count(tmp_path: Path) -> None:
    """The older system's model preprocess raised, and a second repeat lost the model's files."""
    log = f"{tmp_path}/log"
    helper = tmp_path / "helper"
    helper.write_text(f"#!/bin/sh\necho $1 >> {log}\n", encoding="utf-8")  # which nobody made executable
    (tmp_path / "net").write_text("net", encoding="utf-8")
    row = '{"type": "top1", "metric": "accuracy", "unit": "%", "value": '
    told = _program(tmp_path, f"echo '{row}'$(cat $1)'}}'", "told")
    one = _pass(
        tmp_path,
        f'echo main $1 >> {log}; test -f "$2" || exit 8; echo $1 > out/score',
        metric="accuracy",
        repeat=2,
        commands=("{program} {INDEX} {files.net}",),
        files=(PassFile(key="files.net", name="net", path=str(tmp_path / "net")),),
        output_files=(PassFile(key="output_files.score", name="out/score"),),
        before=HostCommands(commands=("{preprocess.files.program} before",), files=_helper(helper, "preprocess")),
        before_each=HostCommands(commands=("{preprocess.files.program} each",), files=_helper(helper, "preprocess")),
        after_each=HostCommands(commands=(f"{told} {{output_files.score}}",)),
        after=HostCommands(commands=(f'sh -c "echo after >> {log}"',)),
    )
    report = _run(one)
    assert report.failure is None, report.failure
    lines = (tmp_path / "log").read_text(encoding="utf-8").split("\n")
    assert lines == ["before", "each", "main 0", "each", "main 1", "after", ""]
    assert _values(report, "top1 accuracy") == [0, 1]
    assert [(m.name, m.unit, m.better) for m in report.metrics] == [("top1 accuracy", "%", None)]
    assert not os.access(helper, os.X_OK)


def _helper(path: Path, step: str) -> tuple[PassFile, ...]:
    return (PassFile(key=f"{step}.files.program", name="helper", path=str(path)),)


def test_output_files_are_read_by_their_converter_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "attempt"
    folder.mkdir()
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(folder))
    text = """echo 'mark {"type": "NET", "metric": "size", "unit": "KiB", "value": 2}' > rows.txt"""
    outputs = (
        PassFile(
            key="output_files.rows",
            name="{TGTDIR}rows.txt",
            converter="json_with_identifier_converter",
            args={"identifier": "mark "},
        ),
        PassFile(key="output_files.gone", name="gone.txt"),
    )
    report = _run(_pass(tmp_path, text, output_files=outputs))
    (metric,) = report.metrics
    assert (metric.name, metric.unit, metric.estimate.point) == ("NET size", "B", 2048)
    assert (folder / "outputs" / "rows.txt").exists()
    assert [warning.code for warning in report.warnings] == ["no-output"]
    needed = (replace(outputs[1], converter="json_converter"),)
    report = _run(_pass(tmp_path, _rows(1), output_files=needed))
    assert report.failure is not None and report.failure.message.startswith("the program wrote no output gone")


def test_outputs_of_equal_names_and_of_several_repeats_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "golden").write_text("1\n", encoding="utf-8")
    outputs = tuple(
        PassFile(key=f"output_files.{name}", name=f"{name}/y.txt", path=str(tmp_path / "golden")) for name in ("a", "b")
    )
    text = "test ! -e a/y.txt || exit 6\necho 2 > a/y.txt\necho $1 > b/y.txt"  # the first repeat's is gone
    one = _pass(tmp_path, text, metric="error", repeat=2, commands=("{program} {INDEX}",), output_files=outputs)
    report = _run(one)
    assert report.failure is None and (_values(report, "a"), _values(report, "b")) == ([2], [1])
    assert len({metric.name for metric in report.metrics}) == len(report.metrics) == 4


def test_a_program_has_its_variables_libraries_and_folder(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_text("", encoding="utf-8")
    text = f'test -e "${{LD_LIBRARY_PATH%%:*}}/lib.so" && test "$WHERE" = "$PWD/" || exit 7\n{_rows(1)}'
    one = _pass(tmp_path, text, env={"WHERE": "{TGTDIR}"}, libraries=(str(tmp_path / "lib.so"),))
    assert _run(one).failure is None and "WHERE" not in os.environ


def test_a_program_finds_what_lies_beside_it_and_leaves_nothing_there(tmp_path: Path) -> None:
    other = _program(tmp_path, "exit 1", "other")
    text = f'test -x "${{0%/*}}/other" && test "$1" = {other} && test ! -e other || exit 7\n: > left\n{_rows(1)}'
    one = _pass(tmp_path, text, commands=("{program} {other}",), programs={"other": other})
    assert _run(one).failure is None
    assert sorted(os.listdir(tmp_path)) == ["other", "program"]  # noqa: PTH208


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux keeps programs on CPUs")
def test_cpus_that_are_not_here_are_told_and_do_not_fail(tmp_path: Path) -> None:
    here = sorted(os.sched_getaffinity(0))
    report = _run(_pass(tmp_path, _rows(1), cpus=(4095,)))
    assert report.failure is None and [warning.code for warning in report.warnings] == ["not-pinned"]
    row = '{"type": "NET", "metric": "cpu", "unit": "", "value": '
    read = "$(awk '/Cpus_allowed_list/ {print $2}' /proc/self/status)"
    pinned = _pass(tmp_path, f"echo '{row}'{read}'}}'", cpus=(here[-1],))
    report = _run(pinned)
    assert _values(report, "NET cpu") == [here[-1]] and not report.warnings
    assert sorted(os.sched_getaffinity(0)) == here
