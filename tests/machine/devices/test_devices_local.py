from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright.errors import MeasureError
from benchwright.machine.devices import open_device
from benchwright.machine.devices.local import LocalDevice, about


@pytest.fixture
def device() -> Iterator[LocalDevice]:
    opened = LocalDevice()
    yield opened
    opened.close()


def _said(device: LocalDevice, *argv: str) -> str:
    heard: list[bytes] = []
    assert device.run(argv, output=heard.append).ok
    return b"".join(heard).decode()


def test_this_machine_has_a_name() -> None:
    found = about()
    assert found.kind == "host" and found.serial and found.abi and found.os
    assert found.name.strip() not in ("", "null") and " " in found.name and "unavailable" not in found.name


def test_the_host_is_what_several_words_mean() -> None:
    for text in ("host", "cpu", ""):
        opened = open_device(text)
        assert opened.about.kind == "host"
        opened.close()


def test_its_folder_is_private_and_only_that_one_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = LocalDevice(), LocalDevice()
    assert stat.S_IMODE(Path(first.folder).stat().st_mode) == 0o700
    locked = Path(first.folder, "locked")
    locked.mkdir()
    (locked / "file").touch()
    locked.chmod(0o500)
    first.close()
    assert [str(path) for path in tmp_path.iterdir()] == [second.folder]
    second.close()
    assert not list(tmp_path.iterdir())


def test_a_worker_keeps_it_where_its_guard_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("BENCHWRIGHT_JOB", "ab" * 16)
    device = LocalDevice()
    assert Path(device.folder).parent.parent == tmp_path
    device.close()
    assert not list(tmp_path.iterdir())


def test_files_and_folders_are_copied_in_and_out(device: LocalDevice, tmp_path: Path) -> None:
    source = tmp_path / "model"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "net").write_text("net", encoding="utf-8")
    there = device.push(source, "models/tiny")
    assert there == f"{device.folder}/models/tiny"
    assert _said(device, "cat", "models/tiny/deep/net") == "net"
    device.run(["sh", "-c", "echo new > models/tiny/deep/net"])
    assert (source / "deep" / "net").read_text(encoding="utf-8") == "net"  # the user's own file
    device.pull("models/tiny", tmp_path / "back")
    assert (tmp_path / "back" / "deep" / "net").read_text(encoding="utf-8") == "new\n"
    device.remove("models/tiny/deep")
    device.remove(f"{device.folder}/models/tiny/nothing")
    assert os.listdir(there) == []  # noqa: PTH208
    with pytest.raises(MeasureError, match="cannot be fetched"):
        device.pull("models/tiny/deep/net", tmp_path / "again")


def test_a_program_becomes_executable_there_and_stays_as_it_is_here(device: LocalDevice, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho $0\n", encoding="utf-8")
    program.chmod(0o640)
    there = device.push(program, executable=True)
    assert _said(device, there) == f"{there}\n"
    assert stat.S_IMODE(program.stat().st_mode) == 0o640


@pytest.mark.parametrize("size", [5, 64 << 20])
def test_a_program_cannot_write_over_the_users_file(device: LocalDevice, size: int) -> None:
    model = Path(device.folder, "..", f"{Path(device.folder).name}-model")  # on the same file system
    with model.open("wb") as file:
        file.truncate(size)
    try:
        there = Path(device.push(model, "model"))
        assert there.stat().st_size == size and not there.samefile(model)
        assert device.run(["sh", "-c", "printf X | dd of=model conv=notrunc 2> /dev/null"]).ok
        assert (there.read_bytes()[:1], model.read_bytes()[:1]) == (b"X", b"\0")
    finally:
        model.unlink()


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ".", "link/x"])
def test_no_name_leads_out_of_it(device: LocalDevice, tmp_path: Path, name: str) -> None:
    Path(device.folder, "link").symlink_to(tmp_path)
    (tmp_path / "x").write_text("mine", encoding="utf-8")
    for act in (lambda: device.push(tmp_path / "x", name), lambda: device.remove(name)):
        with pytest.raises(MeasureError, match="leads out"):
            act()
    assert (tmp_path / "x").read_text(encoding="utf-8") == "mine"


def test_arguments_reach_a_program_as_they_are(device: LocalDevice) -> None:
    hostile = ["a b", "$(id)", "; echo no", "'", '"', "*", ""]
    said = _said(device, sys.executable, "-c", "import sys; print(sys.argv[1:])", *hostile)
    assert said == f"{hostile}\n"


def test_both_streams_are_heard_in_order_and_variables_stay_there(device: LocalDevice) -> None:
    heard: list[bytes] = []
    script = "echo one; echo two >&2; echo $WORD; pwd"
    ended = device.run(["sh", "-c", script], env={"WORD": "three"}, output=heard.append)
    assert ended.ok and b"".join(heard).decode() == f"one\ntwo\nthree\n{device.folder}\n"
    assert "WORD" not in os.environ


def test_how_a_program_ended_is_told(device: LocalDevice) -> None:
    assert device.run(["sh", "-c", "exit 3"]).status == 3
    assert device.run(["sh", "-c", "kill -9 $$"]).status == -9
    with pytest.raises(MeasureError, match="could not be started: No such file"):
        device.run(["./nothing"])


def test_the_end_of_time_ends_all_that_a_program_started(device: LocalDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchwright.system.program_output.GRACE", 0.1)
    heard: list[bytes] = []
    script = "trap '' TERM; setsid sh -c 'echo $$; exec sleep 60' & sleep 60 & echo $!; wait"
    begin = time.monotonic()
    ended = device.run(["sh", "-c", script], timeout=4.0, output=heard.append)
    assert ended.timed_out and not ended.ok and time.monotonic() - begin < 30
    pids = [int(line) for line in b"".join(heard).split()]
    assert len(pids) == 2 and not [pid for pid in pids if _lives(pid)]


def test_what_a_program_left_behind_ends_with_it(device: LocalDevice) -> None:
    (pid,) = map(int, _said(device, "sh", "-c", "setsid sleep 60 > /dev/null 2>&1 & echo $!").split())
    assert not _lives(pid)


def test_a_program_that_closes_its_output_is_waited_for(device: LocalDevice) -> None:
    assert device.run(["sh", "-c", "exec > /dev/null 2>&1; sleep 0.1; exit 4"]).status == 4


def _lives(pid: int) -> bool:
    """Whether it goes on. One that was killed may still be seen for an instant."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "ZX":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.01)
    return True
