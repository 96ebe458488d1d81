"""The scaling picture as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.records import Run
from benchwright.report.picture import check_picture, write_scaling

BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_every_ending_gives_its_own_format(run: Run, tmp_path: Path, ending: str) -> None:
    path = write_scaling(rows(run), tmp_path / f"scaling{ending}")
    assert path.read_bytes().startswith(BEGINNINGS[ending])


def test_the_front_is_named(run: Run, tmp_path: Path) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        text = write_scaling(rows(run), tmp_path / "s.svg").read_text()
    assert "runtime=openvino batch_size=8 copies=2" in text
    assert "throughput" in text and "median latency" in text


def test_what_is_no_picture_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"x\.txt is not a picture file"):
        check_picture(tmp_path / "x.txt", force=False)


def test_a_file_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "holiday.png").write_bytes(b"mine")
    with pytest.raises(OptionError, match=r"holiday\.png"):
        check_picture(tmp_path / "holiday.png", force=False)
    check_picture(tmp_path / "holiday.png", force=True)


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no case"):
        write_scaling([], tmp_path / "s.png")
