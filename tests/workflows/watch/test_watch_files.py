"""The files through which a watch and its surroundings talk."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import OptionError
from benchwright.workflows.watch import files


def test_a_status_file_stops_when_it_holds_zero(tmp_path: Path) -> None:
    file = tmp_path / "status"
    assert not files.told_to_stop(None) and not files.told_to_stop(file)
    for text, stops in (("1", False), ("0", True), (" 0\n", True), ("00", False), ("", False)):
        file.write_text(text)
        assert files.told_to_stop(file) is stops
    file.write_bytes(b"\xff\xfe")
    assert not files.told_to_stop(file)


def test_a_commit_file_is_written_whole(tmp_path: Path) -> None:
    file = tmp_path / "made" / "finished"
    assert files.read_commit(None) == files.read_commit(file) == ""
    files.write_commit(None, "a")
    files.write_commit(file, "a" * 40)
    files.write_commit(file, "b" * 40)
    assert files.read_commit(file) == "b" * 40
    assert [each.name for each in file.parent.iterdir()] == ["finished"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cannot be written"):
        files.write_commit(tmp_path / "file" / "finished", "a")
