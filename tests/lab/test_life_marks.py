"""Whether a machine stayed well while its agent was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.lab import life_marks
from benchwright.lab.life_marks import LifeMarks


@pytest.mark.parametrize(
    ("before", "after", "unharmed"),
    [
        ("boot-1 oom_kill 0", "boot-1 oom_kill 0", True),
        ("boot-1 oom_kill 0", "boot-2 oom_kill 0", False),  # the machine was started anew
        ("boot-1 oom_kill 0", "boot-1 oom_kill 1", False),  # memory ran out
        ("", "", False),  # a system that does not tell
    ],
)
def test_a_machine_is_unharmed_where_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, unharmed: bool
) -> None:
    monkeypatch.setattr(life_marks, "read_mark", lambda: before)
    assert not LifeMarks(tmp_path).is_unharmed("rack7")  # nothing was ever said
    LifeMarks(tmp_path).set("rack7")
    monkeypatch.setattr(life_marks, "read_mark", lambda: after)
    again = LifeMarks(tmp_path)
    assert again.is_unharmed("rack7") is unharmed
    again.clear("rack7")
    assert not again.is_unharmed("rack7")


def test_linux_tells_when_it_was_started_and_whether_memory_ran_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boot").write_text("b7d1\n")
    (tmp_path / "vmstat").write_text("pgfault 12\noom_kill 3\noom_kill_other 9\n")
    monkeypatch.setattr(life_marks, "_BOOT", tmp_path / "boot")
    monkeypatch.setattr(life_marks, "_EVENTS", tmp_path / "vmstat")
    assert life_marks.read_mark() == "b7d1 oom_kill 3"
    (tmp_path / "vmstat").write_text("pgfault 12\n")
    assert life_marks.read_mark() == ""
