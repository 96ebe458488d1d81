"""`benchwright perfzero plot`: a page for each number, or all in one picture, without a window."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.compat.perfzero import plots
from benchwright.errors import DecodeError, OptionError

Benchwright = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "process_info.log"
    rows = [{"time": i, "rss": i << 20, "vms": i << 21, "cpu_percent": 50.0, "host": "h"} for i in range(5)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_pdf_here_with_a_page_for_each_number(log: Path, inside: Benchwright) -> None:
    ended = inside("perfzero", "plot", log.name)
    assert ended.returncode == 0, ended.stderr
    pdf = (log.parent / "process_info.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and len(re.findall(rb"/Type /Page\b", pdf)) == 3


@pytest.mark.parametrize(("name", "begin"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml")])
def test_pictures_hold_all_numbers(log: Path, tmp_path: Path, name: str, begin: bytes) -> None:
    assert plots.main([str(log), "--output", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes().startswith(begin)


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, inside: Benchwright) -> None:
    (tmp_path / "empty.log").touch()
    ended = inside("perfzero", "plot", "empty.log")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "no samples" in ended.stdout
    assert not (tmp_path / "process_info.pdf").exists()


def test_a_line_that_was_cut_short_is_left_out(log: Path) -> None:
    with log.open("a") as file:
        file.write('{"time": 5, "rs')
    assert len(plots.read(log)["rss"]) == 5


@pytest.mark.parametrize("text", ["words\nmore\n", '{"rss": 1}\n', "[1]\n"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(DecodeError):
        plots.read(tmp_path / "x")


def test_an_unknown_ending_is_refused(log: Path) -> None:
    with pytest.raises(OptionError, match="ending"):
        plots.main([str(log), "--output", "p.bmp"])


def test_no_window_can_open(log: Path, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom benchwright.compat.perfzero import plots as plotting\n"
        f"plotting.main([{str(log)!r}, '--output', {str(tmp_path / 'p.pdf')!r}])\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
