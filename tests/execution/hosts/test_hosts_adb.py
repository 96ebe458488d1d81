"""Programs on a phone, measured from here."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import phones
from benchwright import schema
from benchwright.errors import OptionError
from benchwright.execution.hosts.adb import AdbHost
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Mode, Result, Run, Status, Target
from benchwright.targets.specs.passes import Pass, PassFile, to_text

adb_server, plug_in, phone = phones.adb_server, phones.plug_in, phones.phone


def _measured(phone: Any, line: str, *, runtime: str = "command", load: Load | None = None) -> Result:
    case = Case(name=line, target=Target(runtime=runtime, uri=line), load=load or Load(samples=1, warmup=0))
    run = execute(Plan(cases=[case], rounds=1, host=AdbHost.from_text(phone.text.removeprefix("adb:"))))
    return run.results[0]


def test_a_program_is_measured_there(
    benchwright: Callable[..., subprocess.CompletedProcess[str]], phone: Any, tmp_path: Path
) -> None:
    (tmp_path / "data.txt").write_text("seen\n")
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\n[ "$1" = --in="$PWD/data.txt" ] && cat "${1#--in=}" >>"$SMALL_ADBD/ran"\n')
    program.chmod(0o755)
    flags = ("--host", phone.text, "--rounds", "1", "--samples", "3", "--warmup", "0", "--json")
    ended = benchwright("run", *flags, "--", "./program", "--in=data.txt")
    assert ended.returncode == 0, ended.stderr
    (result,) = schema.loads(ended.stdout, Run).results
    assert (phone.root / "ran").read_text().count("seen") >= 3
    assert result.details["device"] == phone.text and result.details["device_name"] == "Small Phone-14-34"
    assert sorted(Path(path).name for path in result.details["pushed"]) == ["data.txt", "program"]  # type: ignore[union-attr, arg-type]
    assert 0 < result.details["round_trip"] < 10  # type: ignore[operator]
    assert [warning.code for warning in result.warnings if warning.code == "round-trip"]
    latency = result.metric("latency")
    assert latency is not None and latency.count == 3
    assert not list(phone.base.iterdir()), "its folder stays on the phone"


def test_each_phone_has_series_of_its_own(phone: Any, plug_in: Callable[..., Any]) -> None:
    here = _measured(phone, "true")
    there = _measured(plug_in(*phones.MODERN), "true")
    again = _measured(phone, "true")
    keys = [schema.environment_key(result.environment) for result in (here, there, again)]
    assert here.status is Status.OK, here.error
    assert keys[0] == keys[2] != keys[1]
    assert here.environment.system["os"] == "Android 14" and here.environment.system["architecture"] == "arm64-v8a"
    assert not [metric.name for metric in here.metrics if "memory" in metric.name], "what is watched here works there"


def test_a_timeout_ends_it_on_the_phone(phone: Any) -> None:
    result = _measured(phone, "sleep 51.5", load=Load(samples=1, warmup=0, timeout=3))
    assert result.status is Status.TIMEOUT
    _until(lambda: not _running("sleep 51.5") and not list(phone.base.iterdir()))


def test_failures_are_told(phone: Any, plug_in: Callable[..., Any], tmp_path: Path) -> None:
    failed = _measured(phone, "false")
    assert failed.status is Status.FAILED and failed.error and "false exited with status 1" in failed.error.message
    refused = _measured(phone, "model.onnx", runtime="onnxruntime")
    assert refused.error and "cannot run on an Android device" in refused.error.message
    absent = _measured(phone, "./nowhere")
    assert absent.error and "there is no program './nowhere'" in absent.error.message
    other = plug_in(*phones.MODERN)
    begun = threading.Thread(target=_unplug_when_begun, args=(other,))
    begun.start()
    lost = _measured(other, """sh -c 'touch "$SMALL_ADBD/begun"; sleep 52.5'""")
    begun.join()
    assert lost.status is Status.FAILED and lost.error and other.serial in lost.error.message
    _until(lambda: not _running("sleep 52.5"))


def test_a_test_of_a_spec_runs_there(phone: Any, tmp_path: Path) -> None:
    """The runtime of specs pushes, runs, reads rows and pulls; two repeats need the model pushed once only."""
    (tmp_path / "net.pb").write_text("world\n")
    program = tmp_path / "prog"
    row = '{"type":"NET","metric":"latency","unit":"us","value":"%s"}'
    program.write_text(
        f"#!/bin/sh\nfor v in 18 10 14; do printf 'Caffe2Observer {row}\\n' $v; done; cp $1 $2/out.txt\n"
    )
    one = Pass(
        framework="caffe2",
        metric="delay",
        commands=("{program} {files.net} {TGTDIR}",),
        program=str(program),
        files=(PassFile(key="files.net", name="net.pb", path=str(tmp_path / "net.pb")),),
        output_files=(PassFile(key="output_files.out", name="out.txt"),),
        iterations=3,
        repeat=2,
    )
    target = Target(runtime="binary", uri="spec.json::0", device=phone.text, work=to_text(one))
    case = Case(name="spec", target=target, load=Load(mode=Mode.SINGLE, timeout=60))
    (result,) = execute(Plan(cases=[case], rounds=1, monitors=())).results
    assert result.status is Status.OK, result.error
    entries = result.details["entries"]
    assert isinstance(entries, dict) and entries["NET latency"]["values"] == [18, 10, 14, 18, 10, 14]  # type: ignore[index, call-overload]
    assert not list(phone.base.iterdir())


def test_a_phone_that_is_not_there_is_a_wrong_request(phone: Any) -> None:
    with pytest.raises(OptionError, match=r"adb:nobody: nobody: .*not found"):
        AdbHost.from_text("nobody")


def test_the_devices_are_listed(benchwright: Callable[..., subprocess.CompletedProcess[str]], phone: Any) -> None:
    ended = benchwright("devices", "--json")
    assert ended.returncode == 0, ended.stderr
    (found,) = [device for device in json.loads(ended.stdout)["data"] if device["hash"] == phone.serial]
    assert found == {
        "kind": "Small Phone-14-34",
        "name": "Small Phone",
        "hash": phone.serial,
        "abi": "arm64-v8a",
        "os": "Android 14",
    }
    told = benchwright("devices")
    assert f"{phone.serial}  Small Phone-14-34  arm64-v8a  Android 14  battery 83 %" in told.stdout.splitlines()


def _unplug_when_begun(phone: Any) -> None:
    _until((phone.root / "begun").exists)
    phone.unplug()


def _running(pattern: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"^{pattern}"], capture_output=True, check=False).returncode == 0


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)
