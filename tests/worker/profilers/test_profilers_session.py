"""Windows open and close around a timed phase, and no profiler can spoil it."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchwright import plugins
from benchwright.records import Case, Load, Profile, Target
from benchwright.worker import profilers
from benchwright.worker.profilers import Profiler, Session, windows

SOON = 30.0  # seconds after which something that should happen will not happen
NEVER = "5000:6000"


def test_windows_open_and_close_one_after_the_other(tmp_path: Path, noting: Any) -> None:
    session = _session(tmp_path, "0:0.01,0.02")
    with session.during(time.perf_counter_ns(), time.perf_counter_ns):
        until = time.monotonic() + SOON
        while "start noting.0.02s-end" not in noting.calls and time.monotonic() < until:
            time.sleep(0.001)  # an event would be set twice, and between the two a busy machine lets nobody look
    assert noting.calls == ["ready", "start noting.0-0.01s", "stop", "start noting.0.02s-end", "stop", "finish"]
    assert session.notes == []


def test_an_open_window_is_closed_once_and_those_to_come_never_open(tmp_path: Path, noting: Any) -> None:
    session = _session(tmp_path, f"0:1000,{NEVER}")
    with session.during(time.perf_counter_ns(), time.perf_counter_ns):
        assert noting.started.wait(SOON)
    assert noting.calls == ["ready", "start noting.0-1000s", "stop", "finish"]
    early, unopened = (note.seen for note in session.notes)
    assert "0-1000s closed early" in early
    assert "5000-6000s never opened: the timed phase ended" in unopened
    assert not any("--" in note.remedy for note in session.notes)  # flags are of one command, notes of all


def test_a_phase_that_fails_closes_its_window_and_still_fails(tmp_path: Path, noting: Any) -> None:
    session = _session(tmp_path, "0")

    def phase() -> None:
        with session.during(time.perf_counter_ns(), time.perf_counter_ns):
            assert noting.started.wait(SOON)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        phase()
    assert noting.calls == ["ready", "start noting.0s-end", "stop", "finish"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("start", ["ready", "start noting.0s-end", "finish"]),
        ("stop", ["ready", "start noting.0s-end", "stop", "finish"]),
        ("finish", ["ready", "start noting.0s-end", "stop", "finish"]),
        ("ready", ["ready"]),
    ],
)
def test_a_profiler_that_fails_leaves_a_note(step: str, expected: list[str], tmp_path: Path, noting: Any) -> None:
    noting.failing.add(step)
    session = _session(tmp_path, "0")
    with session.during(time.perf_counter_ns(), time.perf_counter_ns):
        if step in ("stop", "finish"):
            assert noting.started.wait(SOON)
        elif step == "start":
            _until(lambda: len(noting.calls) >= 2)
    assert noting.calls == expected
    assert [(note.code, note.seen) for note in session.notes] == [("profile-failed", f"noting: {step} went wrong")]


def test_the_same_failure_is_told_once(tmp_path: Path, noting: Any) -> None:
    noting.failing.add("start")
    session = _session(tmp_path, "0:0.001,0.002:0.003")
    with session.during(time.perf_counter_ns(), time.perf_counter_ns):
        _until(lambda: len(noting.calls) >= 3)
    assert len(session.notes) == 1


def test_a_profiler_that_never_ends_is_not_waited_for(
    tmp_path: Path, noting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profilers, "STOP_LIMIT", 0.01)
    hung = threading.Event()
    monkeypatch.setattr(noting, "stop", lambda self: hung.wait(SOON))
    session = _session(tmp_path, "0")
    with session.during(time.perf_counter_ns(), time.perf_counter_ns):
        assert noting.started.wait(SOON)
    assert ["did not finish in the time" in note.seen for note in session.notes] == [True]
    hung.set()


def test_a_window_that_passed_while_the_one_before_was_closed_never_opens(
    tmp_path: Path, noting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = threading.Event()

    def stop(profiler: object) -> None:
        time.sleep(0.05)
        closed.set()

    monkeypatch.setattr(noting, "stop", stop)
    session = _session(tmp_path, "0:0.01,0.02:0.03")
    with session.during(time.perf_counter_ns(), time.perf_counter_ns):
        assert closed.wait(SOON)
    assert [call for call in noting.calls if "start" in call] == ["start noting.0-0.01s"]
    assert "0.02-0.03s never opened: closing the one before took until" in session.notes[-1].seen


def test_a_window_that_opens_late_says_so(tmp_path: Path, noting: Any) -> None:
    session = _session(tmp_path, "1")
    with session.during(time.perf_counter_ns() - 10**10, time.perf_counter_ns):
        assert noting.started.wait(SOON)
    assert [note.code for note in session.notes] == ["profile-window"]
    assert "1s-end opened 9" in session.notes[0].seen
    assert "held the interpreter" in session.notes[0].seen


def test_what_is_not_there_is_a_note_and_the_case_stays_as_it_is(tmp_path: Path) -> None:
    case = _case()
    session = Session(Profile(windows=windows("0"), tools=("nothing", "onnxruntime")), case, tmp_path)
    with session.during(time.perf_counter_ns(), time.perf_counter_ns):
        pass
    assert session.case is case
    assert ["unknown profiler 'nothing'" in note.seen for note in session.notes] == [True, False]


def test_a_case_is_prepared_before_it_is_loaded(
    tmp_path: Path, noting: type[Profiler], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Case(name="other", target=Target(runtime="fake", uri="fake"))
    monkeypatch.setattr(noting, "prepare", lambda self, case, folder: other)
    assert _session(tmp_path, "0").case is other


def test_copies_do_not_share_files(tmp_path: Path, noting: Any) -> None:
    for copy in range(2):
        Session(_profile("0"), _case(Load(copies=2)), tmp_path, copy=copy)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy-0", "copy-1"]


def test_a_class_that_turns_out_to_use_tensorflow_gets_its_profiler(
    tmp_path: Path, noting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(plugins.BUILTIN["profilers"], "tensorflow", plugins.BUILTIN["profilers"]["noting"])
    case = Case(name="measured", target=Target(runtime="class", uri="package.module.Class.method"))
    session = Session(Profile(windows=windows("0")), case, tmp_path)
    monkeypatch.setitem(sys.modules, "tensorflow", sys)  # as loading the class would
    session.ready()
    assert noting.calls == ["ready"]
    assert session.notes == []


def _session(folder: Path, times: str) -> Session:
    return Session(_profile(times), _case(), folder)


def _profile(times: str) -> Profile:
    return Profile(windows=windows(times), tools=("noting",))


def _case(load: Load | None = None) -> Case:
    return Case(name="measured", target=Target(runtime="fake", uri="fake"), load=load or Load())


def _until(condition: Any) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)
