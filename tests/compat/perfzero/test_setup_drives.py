"""`--gce_nvme_raid` with programs that only write their arguments down: nothing here can be formatted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero import setup

PROGRAM = """\
#!{python}
import json, sys
from pathlib import Path
folder = Path({folder!r})
name = Path(sys.argv[0]).name
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps([name, *sys.argv[1:]]) + "\\n")
answers = json.loads((folder / "answers").read_text())
out, code = answers.get(" ".join([name, *sys.argv[1:]]), answers.get(name, ["", 0]))
print(out)
sys.exit(code)
"""


class Machine:
    """Programs on PATH, what they answer, and what they were asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("lsblk", "blkid", "mdadm", "mkfs.ext4", "mount"):
            program = folder / name
            program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)), encoding="utf-8")
            program.chmod(0o755)

    def has(self, *devices: dict[str, Any], **answers: tuple[str, int]) -> None:
        told = {"lsblk": (json.dumps({"blockdevices": devices}), 0), "blkid": ("", 2), **answers}
        (self._folder / "answers").write_text(json.dumps(told), encoding="utf-8")

    @property
    def changes(self) -> list[list[str]]:
        """The calls that change anything."""
        calls = [json.loads(line) for line in (self._folder / "calls").read_text(encoding="utf-8").splitlines()]
        return [call for call in calls if call[0] not in ("lsblk", "blkid")]


def _disk(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": f"/dev/{name}", "type": "disk", "fstype": None, "pttype": None, "mountpoint": None, **fields}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # and nothing else: no real program can be reached
    return Machine(tmp_path / "bin")


def _setup(data: Path) -> int:
    return setup.main(["--dockerfile_path=", "--gce_nvme_raid=all", f"--root_data_dir={data}"], data.parent)


def test_one_empty_drive_is_formatted_and_mounted(machine: Machine, tmp_path: Path) -> None:
    machine.has(_disk("sda"), _disk("nvme0n1"))
    data = tmp_path / "my data"
    assert _setup(data) == 0
    assert machine.changes == [["mkfs.ext4", "-F", "/dev/nvme0n1"], ["mount", "/dev/nvme0n1", str(data)]]
    assert data.stat().st_mode & 0o222 == 0o222


def test_several_become_one_array(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has(_disk("nvme0n1"), _disk("nvme0n2"))
    real = os.path.lexists
    monkeypatch.setattr(os.path, "lexists", lambda path: path == "/dev/md0" or (path != "/dev/md1" and real(path)))
    assert _setup(tmp_path / "data") == 0
    created, formatted, mounted = machine.changes
    members = ["/dev/nvme0n1", "/dev/nvme0n2"]
    assert created == ["mdadm", "--create", "/dev/md1", "--run", "--level=0", "--raid-devices=2", *members]
    assert formatted == ["mkfs.ext4", "-F", "/dev/md1"] and mounted[1] == "/dev/md1"


HELD = [
    _disk("nvme0n1", mountpoint="/mnt"),
    _disk("nvme0n1", fstype="ext4"),
    _disk("nvme0n1", fstype="linux_raid_member"),
    _disk("nvme0n1", pttype="gpt"),
    _disk("nvme0n1", children=[_disk("nvme0n1p1", type="part", mountpoint="/")]),  # the boot disk
    _disk("nvme0n1", children=[_disk("nvme0n1p1", type="part")]),
    _disk("nvme0n1", children=[_disk("vg-data", type="lvm", mountpoint="/srv")]),
]


@pytest.mark.parametrize("held", HELD, ids=str)
def test_a_drive_that_holds_anything_is_never_formatted(
    held: dict[str, Any], machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(held)
    assert _setup(tmp_path / "data") == 1
    assert machine.changes == []
    assert "/dev/nvme0n1" in capsys.readouterr().err
    machine.has(held, _disk("nvme1n1"))
    assert _setup(tmp_path / "data") == 0
    assert machine.changes[0] == ["mkfs.ext4", "-F", "/dev/nvme1n1"]  # the empty one alone


@pytest.mark.parametrize("answer", [('/dev/nvme0n1: TYPE="xfs"', 0), ("", 8)])
def test_what_udev_does_not_know_is_found_on_the_drive_itself(
    answer: tuple[str, int], machine: Machine, tmp_path: Path
) -> None:
    machine.has(_disk("nvme0n1"), blkid=answer)
    assert _setup(tmp_path / "data") == 1
    assert machine.changes == []


def test_no_drive_is_a_clear_error(machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine.has(_disk("sda"), _disk("nvme0n1p1", type="part"))
    assert _setup(tmp_path / "data") == 1
    assert "there is no NVMe drive" in capsys.readouterr().err and machine.changes == []


def test_a_folder_that_is_mounted_is_left_alone(machine: Machine, tmp_path: Path) -> None:
    machine.has(_disk("nvme0n1"))
    assert setup.main(["--dockerfile_path=", "--gce_nvme_raid=all", "--root_data_dir=/proc"], tmp_path) == 0
    assert not (tmp_path / "bin" / "calls").exists()


def test_a_step_that_fails_ends_the_set_up(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(_disk("nvme0n1"), **{"mkfs.ext4": ("", 1)})
    assert _setup(tmp_path / "data") == 1
    assert [call[0] for call in machine.changes] == ["mkfs.ext4"]
    assert "mkfs.ext4 failed" in capsys.readouterr().err


def test_a_missing_program_is_named(machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine.has(_disk("nvme0n1"))
    (tmp_path / "bin" / "blkid").unlink()
    assert _setup(tmp_path / "data") == 1
    assert "blkid is not installed" in capsys.readouterr().err and machine.changes == []
