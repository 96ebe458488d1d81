"""An Android device, through the real adb."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import phones
from benchwright.errors import DeviceError, MeasureError, OptionError
from benchwright.machine.devices import adb_facts, open_device
from benchwright.machine.devices.adb import AdbDevice
from benchwright.machine.devices.listing import choose_devices, find_devices

adb_server, plug_in, phone = phones.adb_server, phones.plug_in, phones.phone
small_only = pytest.mark.skipif(bool(phones.REAL), reason="the small adbd alone can be made to do this")


@pytest.fixture
def device(phone: Any) -> Iterator[AdbDevice]:
    opened = open_device(phone.text)
    assert isinstance(opened, AdbDevice)
    yield opened
    opened.close()


def _heard(device: AdbDevice, *argv: str, **options: Any) -> tuple[int, bytes]:
    said = bytearray()
    ended = device.run(argv, output=said.extend, **options)
    assert not ended.lost and not ended.timed_out
    return ended.status, bytes(said)


def test_files_go_there_and_come_back(device: AdbDevice, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "in.bin").write_bytes(data)
    there = device.push(tmp_path / "in.bin", "a/b c.bin")
    assert there == f"{device.folder}/a/b c.bin"
    assert _heard(device, "cp", "a/b c.bin", "out.bin") == (0, b"")
    device.pull("out.bin", tmp_path / "back" / "out.bin")
    assert (tmp_path / "back" / "out.bin").read_bytes() == data
    device.remove("a")
    device.remove("a")
    with pytest.raises(MeasureError, match="cannot be read"):
        device.pull("a/b c.bin", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert _heard(device, "ls", "-A") == (0, b"out.bin\n")


def test_folders_go_there_and_come_back_whole(device: AdbDevice, tmp_path: Path) -> None:
    source = tmp_path / "model"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "weights 1.bin").write_bytes(b"w" * 70_000)
    (source / "empty.txt").touch()
    (source / "link.bin").symlink_to("deep/weights 1.bin")
    assert device.push(source) == f"{device.folder}/model"
    assert device.push(source, "other/model") == f"{device.folder}/other/model"
    device.pull("other/model", tmp_path / "back")
    assert (tmp_path / "back" / "deep" / "weights 1.bin").read_bytes() == b"w" * 70_000
    assert (tmp_path / "back" / "empty.txt").read_bytes() == b""
    assert (tmp_path / "back" / "link.bin").stat().st_size == 70_000
    (tmp_path / "hollow").mkdir()
    device.push(tmp_path / "hollow")
    device.pull("hollow", tmp_path / "hollow again")
    assert (tmp_path / "hollow again").is_dir()


HOSTILE = [
    "",
    " ",
    "plain",
    "two words",
    "it's",
    '"quoted"',
    "$HOME `id` $(id) ${PATH}",
    "a;b&c|d>e<f",
    "line\nbreak",
    "\\back\\\\slash\\",
    "*?[a-z]{x,y}~",
    "-n",
    "#comment",
    "!history",
    "ünï\u2603",
    os.fsdecode(b"\xff\xfe"),
]


@pytest.mark.parametrize("more", [[], ["x" * 9000]], ids=["short", "longer than a command may be"])
def test_no_argument_is_misread(device: AdbDevice, tmp_path: Path, more: list[str]) -> None:
    script = tmp_path / "show"
    script.write_text('#!/bin/sh\nfor one in "$@"; do printf "%s\\0" "$one"; done\n')
    there = device.push(script, executable=True)
    code, said = _heard(device, there, *HOSTILE, *more)
    assert (code, said.split(b"\0")[:-1]) == (0, [os.fsencode(word) for word in (*HOSTILE, *more)])
    with pytest.raises(MeasureError, match="zero byte"):
        device.run([there, "a\0b"])


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -SEGV $$", -11), ("kill -KILL $$", -9)],
)
def test_the_way_a_program_ends_is_told(device: AdbDevice, command: str, status: int) -> None:
    assert _heard(device, "sh", "-c", f"echo out; echo err >&2; {command}") == (status, b"out\nerr\n")


def test_a_program_that_is_not_there(device: AdbDevice) -> None:
    code, said = _heard(device, "./nowhere")
    assert code == 127 and b"nowhere" in said


def test_variables_the_folder_and_cpus(device: AdbDevice, tmp_path: Path) -> None:
    script = 'echo "$GREETING"; pwd; taskset -p $$ | sed "s/.*: //"; cat'
    code, said = _heard(device, "sh", "-c", script, env={"GREETING": "it's $me"}, cpus=[0])
    assert (code, said.decode().splitlines()) == (0, ["it's $me", device.folder, "1"])
    with pytest.raises(MeasureError, match="cannot be a variable's name"):
        device.run(["true"], env={"A B; rm -rf /": "x"})


def test_output_is_passed_on_while_the_program_runs(device: AdbDevice) -> None:
    """The program ends only once its first line was heard."""
    heard = bytearray()

    def hear(data: bytes) -> None:
        heard.extend(data)
        if b"first\n" in heard:
            Path(device.folder, "heard").touch()

    wait = "while [ ! -e heard ]; do sleep 0.01; done; printf last"
    ended = device.run(["sh", "-c", f"echo first; {wait}"], output=hear, timeout=20)
    assert ended.ok and heard == b"first\nlast"


def test_at_the_timeout_it_is_ended_there_with_all_it_started(device: AdbDevice) -> None:
    said = bytearray()
    # Two children: one stays in the program's group, one leaves it, and all three would go on for long.
    script = "echo begun; sleep 61.5 & setsid sleep 62.5 & trap '' TERM; sleep 63.5; sleep 64.5"
    ended = device.run(["sh", "-c", script], timeout=4.0, output=said.extend)
    assert ended.timed_out and not ended.ok and not ended.lost and said == b"begun\n"
    assert not _running("sleep 6[1234].5")


def test_a_timeout_that_is_over_at_once_leaves_nothing_either(device: AdbDevice) -> None:
    assert device.run(["sleep", "65.5"], timeout=0.001).timed_out
    assert not _running("sleep 65.5")


def test_what_a_program_leaves_behind_is_not_waited_for(device: AdbDevice) -> None:
    ended = device.run(["sh", "-c", "sleep 71.5 & setsid sleep 72.5 & exit 3"], timeout=30)
    assert ended.status == 3
    _until(lambda: not _running("sleep 71.5"))
    device.close()
    assert not _running("sleep 72.5")


def test_a_device_that_goes_away_is_told_and_cleans_up_by_itself(plug_in: Callable[..., Any]) -> None:
    phone = plug_in(*phones.MODERN)
    device = AdbDevice.connect(phone.text.removeprefix("adb:"))

    def hear(data: bytes) -> None:
        phone.unplug()

    ended = device.run(["sh", "-c", "echo begun; sleep 81.5"], output=hear)
    assert ended.lost and phone.serial in ended.lost and not ended.ok and not ended.timed_out
    _until(lambda: not _running("sleep 81.5") and not list(phone.base.iterdir()))
    with pytest.raises(MeasureError, match="the connection broke"):
        device.push(Path(__file__))
    device.close()  # nothing left to do, and no word about it


def test_nothing_is_wiped_that_is_not_ours(phone: Any) -> None:
    (phone.base / "precious").write_text("keep me")
    (phone.base / "benchwright-of-others").mkdir()
    first, second = open_device(phone.text), open_device(phone.text)
    assert first.folder != second.folder
    assert Path(first.folder).parent.stat().st_mode & 0o777 == 0o700
    second.push(Path(__file__), "mine")
    first.close()
    first.close()
    assert Path(second.folder, "mine").exists()
    second.close()
    assert sorted(path.name for path in phone.base.iterdir()) == ["benchwright-of-others", "precious"]
    (phone.base / "precious").unlink()


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", ".", "a\0b"])
def test_no_name_leads_out(device: AdbDevice, tmp_path: Path, name: str) -> None:
    with pytest.raises(MeasureError, match="leads out"):
        device.push(Path(__file__), name)
    with pytest.raises(MeasureError, match="leads out"):
        device.remove(name)


def test_no_link_leads_out(device: AdbDevice, phone: Any) -> None:
    (phone.base / "precious").mkdir()
    (phone.base / "precious" / "file").write_text("keep me")
    assert device.run(["ln", "-s", str(phone.base / "precious"), "link"]).ok
    for act in (lambda: device.remove("link/file"), lambda: device.push(Path(__file__), "link/file")):
        with pytest.raises(MeasureError, match="a link leads out"):
            act()
    device.remove("link")
    assert (phone.base / "precious" / "file").read_text() == "keep me"


@small_only
def test_a_file_that_did_not_arrive_whole_is_an_error(device: AdbDevice, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="did not arrive whole"):
        device.push(Path(__file__), "a.spoilt")
    with pytest.raises(MeasureError, match="there is no file"):
        device.push(tmp_path / "nowhere")


@small_only
def test_an_old_device_without_features_does_as_well(plug_in: Callable[..., Any], tmp_path: Path) -> None:
    old = plug_in()
    device = open_device(old.text)
    device.push(Path(__file__), "in.py")
    assert device.run(["sh", "-c", "exit 9"]).status == 9
    assert device.run(["sleep", "91.5"], timeout=0.3).timed_out and not _running("sleep 91.5")
    device.pull("in.py", tmp_path / "out.py")
    assert (tmp_path / "out.py").read_bytes() == Path(__file__).read_bytes()
    device.close()
    assert not list(old.base.iterdir())


def test_its_log_is_read_from_where_it_was_and_never_cleared(device: AdbDevice, phone: Any) -> None:
    (phone.root / "log").write_text("first row\n")
    assert device.logged() == "first row\n"
    with (phone.root / "log").open("a") as log:
        log.write("second row\n")
    assert device.logged() == "second row\n"
    calls = (phone.root / "logcat-calls").read_text().splitlines()
    assert all("-T" in call and "-c" not in call.split() for call in calls)


def test_what_it_is(device: AdbDevice, phone: Any) -> None:
    about = device.about
    assert (about.kind, about.serial, about.name) == ("android", phone.serial, "Small Phone-14-34")
    assert (about.abi, about.os) == ("arm64-v8a", "Android 14")
    assert about.facts["model"] == "Small Phone" and about.facts["battery"] == 83 and about.facts["build"] == "12345"


def test_one_that_is_not_there_or_has_no_place_is_refused(phone: Any) -> None:
    with pytest.raises(DeviceError, match="not found"):
        open_device("adb:nobody")
    with pytest.raises(DeviceError, match="no device is named"):
        open_device("adb:")
    with pytest.raises(DeviceError, match="/proc/nowhere cannot be used"):
        open_device(f"adb:{phone.serial},/proc/nowhere")


def test_a_device_is_waited_for_and_no_longer(phone: Any) -> None:
    adb_facts.wait(phone.serial, seconds=5)
    (phone.root / "booted").write_text("\n")
    with pytest.raises(DeviceError, match=r"not ready after 0.1 s: it is still starting up"):
        adb_facts.wait(phone.serial, seconds=0.1, pause=0.02)
    (phone.root / "booted").write_text("1\n")
    with pytest.raises(DeviceError, match=r"not ready after 0 s.*not found"):
        adb_facts.wait("nobody", seconds=0, pause=0.02)


@small_only
def test_a_reboot_is_asked_for_and_an_end_of_waiting_is_kept(phone: Any) -> None:
    """The small phone only notes the wish, so its boot stays the same one."""
    with pytest.raises(DeviceError, match=r"did not restart within 0.2 s"):
        adb_facts.reboot(phone.serial, seconds=0.2, pause=0.02)
    assert (phone.root / "rebooted").exists()


def test_those_that_are_connected_are_found_and_chosen(phone: Any, plug_in: Callable[..., Any]) -> None:
    other = plug_in(*phones.MODERN)
    (other.root / "properties").write_text("[ro.product.model]: [Other]\n")
    serials = {about.serial for about in find_devices("android")}
    assert {phone.serial, other.serial} <= serials
    only = choose_devices("android", devices=[other.serial], folder=f"{other.base}/")
    assert [(text, about.name) for text, about in only] == [(other.text, "Other")]
    assert [about.serial for _, about in choose_devices("android", devices=["Other"])] == [other.serial]
    (text, about), *more = choose_devices("android/arm64", device=phone.serial, names={"Small Phone": "Mini"})
    assert (text, about.name, more) == (f"adb:{phone.serial}", "Mini", [])
    rest = choose_devices("android", excluded=[other.serial], hashes={phone.serial: "my kind"})
    assert "Other" not in [about.name for _, about in rest] and "my kind" in [about.name for _, about in rest]
    with pytest.raises(OptionError, match="'absent' is not connected"):
        choose_devices("android", devices=[phone.serial, "absent"])
    with pytest.raises(OptionError, match=f"'{other.serial}' is not connected, or excluded"):
        choose_devices("android", device=other.serial, excluded=[other.serial])
    with pytest.raises(OptionError, match="is 'Other', not 'Nexus'"):
        choose_devices("android", device=json.dumps({"kind": "Nexus", "hash": other.serial}))


def _running(pattern: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"^{pattern}"], capture_output=True, check=False).returncode == 0


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        threading.Event().wait(0.02)
