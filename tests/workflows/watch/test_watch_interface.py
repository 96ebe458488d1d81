"""The files through which a watch and its surroundings talk."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import OptionError
from benchwright.workflows.watch import interface


def test_a_status_file_stops_when_it_holds_zero(tmp_path: Path) -> None:
    file = tmp_path / "status"
    assert not interface.is_told_to_stop(None) and not interface.is_told_to_stop(file)
    for text, stops in (("1", False), ("0", True), (" 0\n", True), ("00", False), ("", False)):
        file.write_text(text)
        assert interface.is_told_to_stop(file) is stops
    file.write_bytes(b"\xff\xfe")
    assert not interface.is_told_to_stop(file)


def test_a_commit_file_is_written_whole(tmp_path: Path) -> None:
    file = tmp_path / "made" / "finished"
    assert interface.read_commit(None) == interface.read_commit(file) == ""
    interface.write_commit(None, "a")
    interface.write_commit(file, "a" * 40)
    interface.write_commit(file, "b" * 40)
    assert interface.read_commit(file) == "b" * 40
    assert [each.name for each in file.parent.iterdir()] == ["finished"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cannot be written"):
        interface.write_commit(tmp_path / "file" / "finished", "a")
