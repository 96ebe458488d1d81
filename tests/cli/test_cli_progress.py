"""The progress line: drawn on a terminal, while notes reach everybody."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from benchwright.cli.progress import ProgressLine
from benchwright.events import Began, Counted, Ended, ExpectedTime, Fetching, Noted, Planned, Reached
from benchwright.records import Case, Environment, Result, Status, Target


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _case(name: str, **params: Any) -> Case:
    return Case(name=name, target=Target(runtime="onnxruntime", uri="m"), params=params)


def _result(case: Case) -> Result:
    return Result(
        id="1",
        case=case,
        round=0,
        status=Status.OK,
        environment=Environment(machine={}, system={}),
        started_at="2026-01-01T00:00:00Z",
        duration=1.0,
    )


def test_a_download_is_shown_on_a_terminal_and_a_note_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = _Terminal()
    with ProgressLine(stream) as progress:
        progress(Fetching(name="net.onnx", here=2**20, whole=4 * 2**20))
        progress(Fetching(name="net.onnx", here=3 * 2**20, whole=None))
        progress(Noted(text="left out: net: no file for torch"))
    text = stream.getvalue()
    assert "fetching net.onnx: 1.00 MiB of 4.00 MiB" in text and "fetching net.onnx: 3.00 MiB\r" in text
    assert "\033[Kbenchwright: left out: net: no file for torch\n" in text, "on a line of its own"


def test_what_is_done_piece_by_piece_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = _Terminal()
    with ProgressLine(stream) as progress:
        progress(Counted(what="results judged", done=1234, whole=20_000))
    assert "1,234 of 20,000 results judged" in stream.getvalue()


def test_at_80_columns_the_phase_and_the_time_left_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of any length stands behind what a person waits for."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = _Terminal()
    params: dict[str, Any] = {"runtime": "onnxruntime", "batch_size": 32, "workers": 1, "copies": 1}
    case = _case("a_model_with_a_long_name_v1.2.onnx", **params)
    result = _result(case)
    with ProgressLine(stream) as progress:
        progress(Planned(total=30))
        progress(Began(index=0, case=case, round=0))
        progress(Ended(index=0, result=result))
        progress(Began(index=1, case=case, round=1))
        progress(Reached(index=1, phase="measuring"))
    last = stream.getvalue().split("\r\033[K")[-2]
    assert len(last) < 80
    assert re.match(r"\[2/30\] measuring, about .+ left: a_model", last), last


def test_the_time_left_shrinks_while_a_process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    clock = [100.0]
    monkeypatch.setattr("benchwright.cli.progress.time.monotonic", lambda: clock[0])
    stream = _Terminal()
    progress = ProgressLine(stream)
    progress(Planned(total=3))
    clock[0] += 10
    progress(Ended(index=0, result=_result(_case("m"))))
    for seconds in (0, 4, 5, 20):  # of the second process
        clock[0] += seconds
        progress(Reached(index=1, phase="measuring"))
    clock[0] += 1
    progress(Ended(index=1, result=_result(_case("m"))))  # 40 s for two
    progress(Reached(index=2, phase="measuring"))
    shown = re.findall(r"about (\S+ \S+) left", stream.getvalue())
    assert shown == ["20 s", "16 s", "11 s", "10 s", "20 s"], "of which the last process but one takes ten at least"


def test_a_pipe_gets_the_notes_alone() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as progress:
        progress(Fetching(name="net.onnx", here=1, whole=2))
        progress(Noted(text="left out: net"))
    assert stream.getvalue() == "benchwright: left out: net\n"


def test_the_time_until_a_precision_is_shown_shrinking_and_nothing_of_it_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    shown, pipe = _Terminal(), io.StringIO()
    for stream in (shown, pipe):
        progress = ProgressLine(stream)
        progress(Planned(total=5))
        progress(ExpectedTime(seconds=20.0, processes=5, length=3.0, reached=True, guessed=True))
        progress(Reached(index=0, phase="loading"))
        for seconds, processes, reached in ((40.0, 7, True), (20.0, 7, True), (5.0, 20, False)):
            progress(ExpectedTime(seconds=seconds, processes=processes, length=0.1, reached=reached))
            progress(Reached(index=0, phase="loading"))
    lines = shown.getvalue().split("\r\033[K")
    assert [line.partition(":")[0] for line in lines if "loading" in line] == [
        "[1/5] loading, about 20 s left, a guess until the first process has ended",
        "[1/7] loading, about 40 s left",
        "[1/7] loading, about 20 s left",
        "[1/20] loading, about 5.0 s left at most, and perhaps not as precise as asked",
    ]
    assert pipe.getvalue() == ""
