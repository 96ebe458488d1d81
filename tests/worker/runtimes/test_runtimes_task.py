from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import DeviceError, LoadError, OptionError
from benchwright.events import Event, Reached
from benchwright.execution import rounds
from benchwright.records import Case, Load, Mode, Status, Target
from benchwright.targets.tasks.definition import BACKSTOP
from benchwright.worker.runtimes import Report
from benchwright.worker.runtimes.task import TaskRuntime

SPEED = r"metrics.speed = { pattern = 'speed (\S+)', compute = 'mean', unit = 'samples/s', better = 'higher' }"


def _case(folder: Path, command: str, *lines: str, timeout: float = 30.0, **target: Any) -> Case:
    text = f"[tasks.demo]\ncommand = ['sh', '-c', '''{command}''']\n" + "\n".join(lines or (SPEED,))
    (folder / "tasks.toml").write_text(text, encoding="utf-8")
    aim = Target(runtime="task", uri=f"{folder / 'tasks.toml'}::demo", **target)
    load = Load(mode=Mode.SINGLE, timeout=timeout + BACKSTOP)
    return Case(name="demo", target=aim, params={"runtime": "task"}, load=load)


def _run(case: Case, words: list[str] | None = None) -> Report:
    loaded = TaskRuntime().load(case)
    if words is not None:
        loaded.tell = words.append
    try:
        loaded.call(*loaded.arguments[0])
        return loaded.report()
    finally:
        loaded.close()


def test_what_a_command_prints_becomes_metrics_and_timelines(tmp_path: Path, capfdbinary: Any) -> None:
    words: list[str] = []
    report = _run(_case(tmp_path, "echo speed 3; sleep 0.3; echo speed 5 >&2"), words)
    (metric,) = report.metrics
    assert (metric.name, metric.unit, metric.estimate.point, metric.count) == ("speed", "samples/s", 4, 2)
    (line,) = report.timelines
    assert line.values == (3, 5) and line.seconds[1] > line.seconds[0]
    assert report.failure is None and report.details["exit_code"] == 0
    assert report.details["memory"]["mean"] > 0  # type: ignore[index, operator, call-overload]
    assert capfdbinary.readouterr().out == b"speed 3\nspeed 5\n"  # all of it is in the worker's log
    assert words[:1] == ["speed 3"]


def test_whoever_listens_to_a_run_hears_live_values(tmp_path: Path) -> None:
    heard: list[Event] = []
    case = _case(tmp_path, "echo speed 3; sleep 0.5; exit 4")
    (result,) = rounds.execute(rounds.Plan(cases=[case], rounds=1, monitors=()), None, heard.append).results
    assert "speed 3" in [event.phase for event in heard if isinstance(event, Reached)]
    assert (result.status, [m.name for m in result.metrics][-1]) == (Status.FAILED, "speed")
    assert result.error is not None and result.error.log_tail == "speed 3\n"


def test_a_command_that_fails_keeps_its_numbers(tmp_path: Path) -> None:
    report = _run(_case(tmp_path, "echo speed 3; exit 3"))
    assert [metric.estimate.point for metric in report.metrics] == [3]
    assert report.failure is not None and report.failure.kind == "exit"
    assert "exited with status 3" in report.failure.message


def test_a_command_that_is_killed_is_told(tmp_path: Path) -> None:
    report = _run(_case(tmp_path, "kill -9 $$"))
    assert report.failure is not None and report.failure.message.endswith("was killed by SIGKILL")


def test_a_command_that_takes_too_long_keeps_its_numbers(tmp_path: Path) -> None:
    report = _run(_case(tmp_path, "echo speed 3; sleep 60", timeout=4.0))
    assert report.failure is not None and report.failure.kind == "timeout"
    assert [metric.estimate.point for metric in report.metrics] == [3]


def test_a_metric_that_is_missing_is_a_failure_unless_it_is_optional(tmp_path: Path) -> None:
    loss = "metrics.loss = { pattern = 'loss (.*)' }"
    report = _run(_case(tmp_path, "echo speed 3", SPEED, loss))
    assert report.failure is not None and report.failure.kind == "missing"
    assert report.failure.message == "no value for loss: its pattern matched no line"
    assert [metric.name for metric in report.metrics] == ["speed"]
    report = _run(_case(tmp_path, "echo speed 3", SPEED, loss.replace(" }", ", optional = true }")))
    assert report.failure is None and report.details["absent"] == {"loss": "its pattern matched no line"}


def test_all_output_can_go_to_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "output"
    folder.mkdir()
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(folder))
    log = tmp_path / "demo.log"
    log.write_text("speed 1000\n", encoding="utf-8")
    report = _run(_case(tmp_path, "echo speed 3", options={"log": str(log)}))
    assert report.metrics[0].estimate.point == 3
    assert log.read_text(encoding="utf-8") == (folder / "task.log").read_text(encoding="utf-8") == "speed 3\n"


def test_the_command_runs_beside_its_file_with_its_environment(tmp_path: Path) -> None:
    lines = ("environment = { SPEED = '{n}' }", "parameters = { n = 7 }", SPEED)
    case = _case(tmp_path, "test -f tasks.toml && echo speed $SPEED", *lines)
    bound = Case(name="demo", target=case.target, params={"runtime": "task", "n": 7}, load=case.load)
    assert _run(bound).metrics[0].estimate.point == 7


def test_gpus_without_nvidia_smi_cost_a_warning_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = _case(tmp_path, "echo speed 3", "num_gpus = 1", SPEED)
    monkeypatch.setenv("PATH", _without_nvidia_smi(tmp_path))
    report = _run(case)
    assert [warning.code for warning in report.warnings] == ["gpu-unseen"]
    assert [metric.name for metric in report.metrics] == ["speed"] and "gpus" not in report.details


def _without_nvidia_smi(folder: Path) -> str:
    path = folder / "bin"
    path.mkdir()
    (path / "sh").symlink_to("/bin/sh")
    return os.fspath(path)


@pytest.mark.parametrize(
    ("lines", "told"),
    [(("directory = 'nowhere'", SPEED), "there is no folder"), (("unknown = 1",), "unknown key")],
)
def test_what_cannot_be_started_is_told_before_it_is(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    with pytest.raises(LoadError, match=told):
        TaskRuntime().load(_case(tmp_path, "true", *lines))


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    case = _case(tmp_path, "true")
    (tmp_path / "tasks.toml").write_text("[tasks.demo]\ncommand = 'no-such-program'\n", encoding="utf-8")
    with pytest.raises(LoadError, match="there is no program 'no-such-program'"):
        TaskRuntime().load(case)


def test_devices_and_options_it_does_not_know_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeviceError):
        TaskRuntime().load(_case(tmp_path, "true", device="cuda"))
    with pytest.raises((OptionError, LoadError), match="lgo"):
        TaskRuntime().load(_case(tmp_path, "true", options={"lgo": "x"}))
