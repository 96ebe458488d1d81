"""`--rebuild`: a build that failed is remembered, says so, and is tried again when asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import repositories
from benchwright.cli import main

plain = repositories.plain


@pytest.mark.usefixtures("plain")
def test_a_build_that_failed_is_tried_again_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("init -q", "commit -q --allow-empty -m first", "commit -q --allow-empty -m second"):
        subprocess.run(["git", *command.split()], check=True, capture_output=True)
    tool = tmp_path / "tool"
    build = ["bench.py::gone", "--targets-from", "revision", "--build", f"test -e {tool}"]  # nothing is measured

    def said(*arguments: str) -> tuple[int, str]:
        code = main([*arguments, *build])
        shown = capsys.readouterr()
        return code, " ".join((shown.out + shown.err).split())

    ab, bisect = ("ab", "--control", "HEAD~1"), ("bisect", "--good", "HEAD~1", "--bad", "HEAD")
    code, words = said(*ab)
    assert code == 1 and "ended with exit code 1" in words and "--rebuild" not in words
    tool.touch()
    for verb, expected in ((ab, 1), (bisect, 2)):
        code, words = said(*verb)
        assert code == expected and "--rebuild builds it again" in words, words
    code, words = said(*bisect, "--rebuild")
    assert code == 2 and words.endswith("there is no file bench.py"), words  # so it was built
    tool.unlink()
    code, words = said(*ab, "--rebuild")
    assert code == 1 and "ended with exit code 1" in words and "--rebuild" not in words
