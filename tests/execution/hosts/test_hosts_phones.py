"""Phones as hosts: several at once, one that goes missing, and how each is when a case begins."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import phones
from benchwright import schema
from benchwright.errors import LostDeviceError, OptionError
from benchwright.execution.hosts.adb import AdbHost, PhoneWishes, parse_wishes
from benchwright.execution.rounds import Plan, execute
from benchwright.machine.devices import adb_state
from benchwright.machine.devices.adb_state import PhoneState, state_from_text
from benchwright.records import Case, Load, Result, Run, Status, Target
from benchwright.workflows import arguments

adb_server, plug_in, phone = phones.adb_server, phones.plug_in, phones.phone


def _case(line: str) -> Case:
    return Case(name=line, target=Target(runtime="command", uri=line), load=Load(samples=1, warmup=0, timeout=60))


def _host(phone: Any, wishes: str = "") -> AdbHost:
    return AdbHost.from_text(phone.text.removeprefix("adb:") + (f"?{wishes}" if wishes else ""))


def _measure(host: AdbHost, line: str = "true") -> Result:
    try:
        return execute(Plan(cases=[_case(line)], rounds=1, host=host)).results[0]
    finally:
        host.close()


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


# ---- several at once ----


def test_every_phone_that_is_there_measures_at_the_same_time(
    benchwright: Callable[..., subprocess.CompletedProcess[str]],
    phone: Any,
    plug_in: Callable[..., Any],
    tmp_path: Path,
) -> None:
    other = plug_in(*phones.MODERN)
    # Each waits for the other: this ends only where both run at once.
    there = f"[ $(ls {tmp_path} | grep -c ^phone) = 2 ]"
    meet = f'touch {tmp_path}/$(basename "$SMALL_ADBD"); until {there}; do sleep 0.05; done'
    folder = tmp_path / "work"
    ended = benchwright(
        *("run", "--host", f"adb:*,{folder}?screen=off", "--rounds", "1", "--samples", "1", "--warmup", "0"),
        *("--timeout", "60", "--json", "--", "sh", "-c", meet),
    )
    assert ended.returncode == 0, ended.stderr
    run = schema.loads(ended.stdout, Run)
    serials = {result.environment.system["device"]["serial"] for result in run.results}  # type: ignore[index, call-overload]
    assert serials == {phone.serial, other.serial} and run.planned == 2
    assert {result.details["phone"]["screen"] for result in run.results} == {"off"}  # type: ignore[index, call-overload]
    assert (other.root / "keys").read_text() == "keyevent 223\n"


def test_a_phone_that_goes_missing_is_a_record_and_the_other_goes_on(phone: Any, plug_in: Callable[..., Any]) -> None:
    other = plug_in(*phones.MODERN)
    begun = other.root / "begun"

    def unplug() -> None:
        _until(begun.exists)
        other.unplug()

    pulling = threading.Thread(target=unplug)
    pulling.start()
    line = f'sh -c \'[ "$SMALL_ADBD" != {other.root} ] || {{ touch "$SMALL_ADBD/begun"; sleep 50; }}\''
    run = execute(Plan(cases=[_case(line)], rounds=2, hosts=[_host(phone), _host(other)]))
    pulling.join()
    of = {serial: [] for serial in (phone.serial, other.serial)}
    for result in run.results:
        of[result.environment.system["device"]["serial"]].append(result)  # type: ignore[index, call-overload]
    assert [result.status for result in of[phone.serial]] == [Status.OK, Status.OK]
    first, second = of[other.serial]
    assert first.error and (first.status, first.error.kind) == (Status.FAILED, "lost")
    assert second.error and second.error.kind == "lost", "what is left on it says so at once"
    assert other.serial in first.error.message and second.duration < 30


# ---- how it is when a case begins ----


def test_a_warm_phone_is_waited_for(phone: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adb_state, "LOOK", 0.05)
    phone.warm(41.5)
    host = _host(phone, "cool=35C&cool_timeout=60s")
    said: list[str] = []
    cooling = threading.Thread(target=lambda: (_until(lambda: bool(said)), phone.warm(34.9)))
    cooling.start()

    def hear(event: object) -> None:
        said.extend([str(event)] if "cools down" in str(event) else [])

    run = execute(Plan(cases=[_case("true")], rounds=1, host=host), listener=hear)
    cooling.join()
    (result,) = run.results
    told = result.details["phone"]
    assert result.status is Status.OK and isinstance(told, dict)
    assert told["temperature"] == 34.9 and 0 < float(str(told["cooled_for"])) < 60 and told["battery"] == 83
    assert "41.5 °C, wanted 35 °C" in said[0] and not [w for w in result.warnings if w.code == "phone-warm"]


def test_a_phone_that_stays_warm_is_measured_with_a_warning(phone: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adb_state, "LOOK", 0.05)
    phone.warm(41.5)
    result = _measure(_host(phone, "cool=35&cool_timeout=0.1s"))
    phone.warm(30)
    (warning,) = [w for w in result.warnings if w.code == "phone-warm"]
    assert result.status is Status.OK and "was 41.5 °C warm after" in warning.seen
    told = result.details["phone"]
    assert isinstance(told, dict) and told["temperature"] == 41.5


def test_charging_is_switched_off_and_put_back_also_when_the_cable_is_pulled(
    plug_in: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(adb_state, "POWER", str(tmp_path))
    switch = tmp_path / "charging_enabled"
    switch.write_text("1\n")
    phone = plug_in(*phones.MODERN)
    host = _host(phone, "charging=off")
    assert switch.read_text() == "0\n"
    host.close()
    _until(lambda: switch.read_text() == "1\n")
    host = _host(phone, "charging=off")
    assert switch.read_text() == "0\n"
    phone.unplug()
    _until(lambda: switch.read_text() == "1\n")
    with pytest.raises(LostDeviceError):
        host.prepare()
    host.close()


def test_a_phone_without_a_switch_says_so_before_anything_is_measured(phone: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="charging cannot be switched off: it has no switch in /sys"):
        _host(phone, "charging=off")


@pytest.mark.skipif(bool(phones.REAL), reason="the small adbd only notes the wish")
def test_a_phone_is_restarted_before_the_first_case_or_each(phone: Any) -> None:
    (phone.root / "starts").write_text("")
    fake = phone.root / "bin" / "cat"
    seen = '[ -e "$SMALL_ADBD/rebooted" ] && { rm "$SMALL_ADBD/rebooted"; echo x >>"$SMALL_ADBD/starts"; }'
    other = '[ "$1" = /proc/sys/kernel/random/boot_id ] || exec /bin/cat "$@"'
    fake.write_text(f'#!/bin/sh\n{other}\n{seen}\n/bin/cat "$SMALL_ADBD/starts"\n')
    fake.chmod(0o755)
    try:
        for when, starts in (("before", 1), ("each", 3)):
            host = _host(phone, f"reboot={when}")
            run = execute(Plan(cases=[_case("true")], rounds=2, host=host))
            assert [result.status for result in run.results] == [Status.OK] * 2, run.results[0].error
            assert (phone.root / "starts").read_text().count("x") == starts
            told = [result.details["phone"]["rebooted"] for result in run.results]  # type: ignore[index, call-overload]
            assert told == [True, when == "each"]
    finally:
        fake.unlink()


# ---- what is asked for ----


def test_wishes_are_read() -> None:
    assert parse_wishes("", "A") == PhoneWishes()
    whole = "cool=35.5°C&cool_timeout=10min&screen=off&charging=off&reboot=each"
    assert parse_wishes(whole, "A") == PhoneWishes(
        cool=35.5, cool_timeout=600.0, screen="off", charging="off", reboot="each"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("cold=35C", "'cold' is not known"),
        ("cool=warm", "cool=warm is not a temperature"),
        ("cool=350C", "cool=350C is not a temperature"),
        ("cool=nan", "is not a temperature"),
        ("cool_timeout=5s", "cool_timeout needs cool"),
        ("cool=35&cool_timeout=-1s", "cool_timeout=-1s"),
        ("cool=35&cool_timeout=99d", "cool_timeout=99d"),
        ("screen=dim", "screen=dim"),
        ("reboot=yes", "reboot=yes"),
    ],
)
def test_what_cannot_be_meant_is_refused(query: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_wishes(query, f"A?{query}")


def test_what_a_phone_tells_is_read() -> None:
    told = state_from_text(phones.BATTERY.format(tenths=312) + "  mWakefulness=Asleep\nDisplay Power: state=OFF\n")
    assert told == PhoneState(battery=83, temperature=31.2, is_charging=True, power="usb", screen="off")
    assert state_from_text("  mScreenOn=true\n").screen == "on" and state_from_text("") == PhoneState()


def test_iphones_and_apps_are_refused_with_the_reason(phone: Any) -> None:
    with pytest.raises(OptionError, match="programs on iOS devices cannot be started from here"):
        arguments.host("ios:00008101")
    failed = _measure(_host(phone), "./app-release.apk")
    assert failed.error and failed.error.message == "an Android app is not started here, only programs are"
