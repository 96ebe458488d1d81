"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from benchwright.errors import OptionError
from benchwright.system import whole_files

SOURCE = Path(whole_files.__file__).parents[1]


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(RuntimeError), whole_files.replace_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "before" and [*tmp_path.iterdir()] == [path]
    whole_files.write_text(path, "after ä", durable=True)
    assert path.read_bytes() == "after ä".encode() and [*tmp_path.iterdir()] == [path]


def test_the_mask_of_the_process_counts(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        whole_files.write_bytes(tmp_path / "usual", b"")
        whole_files.write_bytes(tmp_path / "private", b"", mode=0o600)
        whole_files.write_bytes(tmp_path / "program", b"", mode=0o755)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"usual": 0o640, "private": 0o600, "program": 0o750}


def test_a_name_as_long_as_a_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("\N{SNOWMAN}" * 85)  # 255 bytes
    whole_files.write_text(path, "x")
    assert path.read_text() == "x"


def test_a_new_file_never_replaces_one_that_appears_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with (
        pytest.raises(OptionError, match=f"{path}: is there already"),
        whole_files.new_file(path, force=False) as file,
    ):
        file.write(b"mine")
        path.write_text("theirs")
    assert path.read_text() == "theirs" and [*tmp_path.iterdir()] == [path]
    with whole_files.new_file(path, force=True) as file:
        file.write(b"mine")
    assert path.read_text() == "mine" and [*tmp_path.iterdir()] == [path]


def test_a_disk_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    with pytest.raises(FileExistsError):
        whole_files.name_file(one, two)
    whole_files.name_file(one, tmp_path / "three")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"two": "2", "three": "1"}


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none" / "file"
    with pytest.raises(FileNotFoundError):
        whole_files.write_text(path, "x")
    with pytest.raises(OptionError, match="cannot be written: No such file"), whole_files.new_file(path, force=False):
        pass


def test_nobody_else_writes_beside_a_place_by_hand() -> None:
    """A text that is written and then renamed has one home."""
    by_hand = re.compile(r"(\w+)\.write_(?:text|bytes)\(.*\n(?:.*\n)?\s*\1\.(?:replace|rename)\(")
    found = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if by_hand.search(path.read_text())]
    assert found == []
