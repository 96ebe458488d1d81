"""A flag means the same in every verb that has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchwright.cli import main

PERCENTAGES = [
    ["ab", "--control", "true", "--treatment", "true", "--smallest"],
    ["ab", "--control", "true", "--treatment", "true", "--false-alarms"],
    ["bisect", "model.onnx", "--good", "a", "--bad", "b", "--confidence"],
    ["check", "--against", "last~1", "--smallest"],
    ["compare", "last~1", "last", "--smallest"],
    ["findings", "judge", "--smallest"],
    ["findings", "threshold", "model.onnx"],
    ["operators", "--smallest"],
    ["show", "--operators", "--smallest"],
    ["run", "model.onnx", "--precision"],
    ["watch", "model.onnx", "--once", "--smallest"],
]


@pytest.mark.parametrize("asked", PERCENTAGES, ids=" ".join)
@pytest.mark.parametrize(("number", "readings"), [("0.01", "0.01% or 1%"), ("1", "1% or 100%")])
def test_a_bare_number_up_to_one_is_refused_by_every_flag_that_takes_a_percentage(
    asked: list[str],
    number: str,
    readings: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*asked, number]) == 2
    told = capsys.readouterr()
    assert f"{number!r} may mean {readings}" in told.err
    assert told.out == ""
    assert list(tmp_path.iterdir()) == []


def test_the_four_ways_out_are_told_apart_in_one_table(root: Path) -> None:
    page = (root / "docs" / "storage.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## Four ways out\n")
    named = re.findall(r"^\| \[`([a-z ]+)`\]", section.partition("\n## ")[0], flags=re.MULTILINE)
    assert sorted(named) == ["export", "store copy", "store send", "upload"]
