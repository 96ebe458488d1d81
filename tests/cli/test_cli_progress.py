"""The progress line: drawn on a terminal, while notes reach everybody."""

from __future__ import annotations

import io

import pytest

from benchwright.cli.progress import Progress
from benchwright.events import Fetching, Noted


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_download_is_shown_on_a_terminal_and_a_note_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = _Terminal()
    with Progress(stream) as progress:
        progress(Fetching(name="net.onnx", here=2**20, whole=4 * 2**20))
        progress(Fetching(name="net.onnx", here=3 * 2**20, whole=None))
        progress(Noted(text="left out: net: no file for torch"))
    text = stream.getvalue()
    assert "fetching net.onnx: 1.00 MiB of 4.00 MiB" in text and "fetching net.onnx: 3.00 MiB\r" in text
    assert "\033[Kbenchwright: left out: net: no file for torch\n" in text, "on a line of its own"


def test_a_pipe_gets_the_notes_alone() -> None:
    stream = io.StringIO()
    with Progress(stream) as progress:
        progress(Fetching(name="net.onnx", here=1, whole=2))
        progress(Noted(text="left out: net"))
    assert stream.getvalue() == "benchwright: left out: net\n"
