from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.worker.tasks.lines import Lines


@given(st.text(alphabet="ab\n\r", max_size=60), st.lists(st.integers(1, 5), max_size=60))
def test_pieces_of_any_size_give_the_same_lines(text: str, sizes: list[int]) -> None:
    data, lines, out = text.encode(), Lines(), b""
    for size in sizes:
        out += lines.feed(data[:size])
        data = data[size:]
    out += lines.feed(data) + lines.finish()
    expected = [line for line in re.split("\r\n|\r|\n", text) if line]
    assert [line for line in out.decode().split("\n") if line] == expected


def test_each_state_of_a_progress_bar_is_a_line() -> None:
    lines = Lines()
    assert lines.feed(b"\r 10%\r 20%") == b"\n 10%\n"
    assert lines.feed(b"\r 30%\n") == b" 20%\n 30%\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_rest_of_a_line_that_is_too_long_is_dropped(size: int) -> None:
    lines, data = Lines(longest=10), b"short\n" + b"x" * 55 + b"\nagain\n" + b"y" * 10 + b"\n" + b"z" * 11
    out = b"".join(lines.feed(data[i : i + size]) for i in range(0, len(data), size)) + lines.finish()
    assert out.split(b"\n") == [b"short", b"x" * 10, b"again", b"y" * 10, b"z" * 10, b""]
    assert lines.cut == 2
