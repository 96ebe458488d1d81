"""A series and the place where it changed."""

from __future__ import annotations

import importlib.util

import pytest

from benchwright.report.change_picture import WIDEST, SeriesPicture, png, sketch


def test_the_change_is_marked() -> None:
    assert sketch(SeriesPicture(values=(1.0, 1.0, 2.0, 2.0), change=2, title="x")) == "▁▁│██"


@pytest.mark.parametrize("change", [1, 500, 999])
def test_of_a_long_series_the_part_around_the_change_is_shown(change: int) -> None:
    drawn = sketch(SeriesPicture(values=(1.0,) * change + (2.0,) * (1000 - change), change=change, title="x"))
    before, after = drawn.split("│")
    assert len(before + after) == WIDEST and {*before} == {"▁"} and {*after} == {"█"}


def test_a_picture_is_drawn_whatever_the_name() -> None:
    trace = SeriesPicture(values=(0.001, 0.001, 0.002), change=2, title="cost $x_{$ 測試 \x1b", unit="s")
    assert png(trace).startswith(b"\x89PNG") and png(trace).rstrip().endswith(b"IEND\xaeB`\x82")


def test_without_matplotlib_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert png(SeriesPicture(values=(1.0, 2.0), change=1, title="x")) == b""
