from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright.machine.devices.local import LocalDevice
from benchwright.targets.specs.passes import Pass
from benchwright.worker.runtimes.binary.files import DeviceFiles


@pytest.fixture
def device() -> Iterator[LocalDevice]:
    opened = LocalDevice()
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_program_is_copied_only_when_it_cannot_be_run_and_told_of_as_the_users(
    device: LocalDevice, tmp_path: Path, mode: int
) -> None:
    program = tmp_path / "program"
    program.touch()
    program.chmod(mode)
    one = Pass(framework="generic", metric="delay", commands=("{program} -x",), program=str(program))
    files = DeviceFiles(one, device, device)
    files.push_programs()
    there = files.names(0, on_device=True).programs["program"]
    assert (there == str(program)) == (mode == 0o755) and os.access(there, os.X_OK)
    assert files.name_for_user([there, "-x"]) == [str(program), "-x"]
    assert stat.S_IMODE(program.stat().st_mode) == mode
