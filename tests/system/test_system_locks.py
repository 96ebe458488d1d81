"""Locks among processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchwright.system import locks

SOURCE = Path(locks.__file__).parents[1]


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_lock_is_of_one_and_its_file_stays(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "lock"
    first = locks.open_lock(path, mode=mode)
    assert first is not None and path.stat().st_mode & 0o777 == mode
    assert locks.open_lock(path) is None and locks.open_lock(path, patience=0.1) is None
    os.close(first)
    second = locks.open_lock(path)
    assert second is not None and path.exists()
    os.close(second)


def test_a_killed_process_gives_its_lock_back(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom benchwright.system import locks\n"
        "assert locks.open_lock(Path(sys.argv[1]))\nprint('held', flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "held\n"
            assert locks.open_lock(path) is None
        finally:
            other.kill()
    handle = locks.open_lock(path)
    assert handle is not None
    os.close(handle)


def test_a_free_lock_is_taken_and_its_file_goes(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locks.hold_free_lock(path) as is_ours:
        assert is_ours and path.exists()
        with locks.hold_free_lock(path) as is_ours_too:
            assert not is_ours_too
        assert path.exists()
    assert not path.exists()


def test_a_link_in_a_folder_for_all_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.symlink_to(tmp_path / "elsewhere")
    with locks.hold_free_lock(path) as is_ours:
        assert not is_ours
    assert path.is_symlink() and not (tmp_path / "elsewhere").exists()


def test_nobody_else_locks_by_hand() -> None:
    found = {
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if re.search("flock|lockf", path.read_text())
    }
    assert found == {"system/locks.py"}
