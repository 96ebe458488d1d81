"""Adding up the events of a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchwright.worker.profilers.operators import from_chrome_trace, sum_by_name, table


def test_time_within_another_operator_is_not_its_own() -> None:
    found = {o.name: o for o in sum_by_name([_event("linear", 0, 100), _event("addmm", 10, 60), _event("copy", 20, 5)])}
    assert [(o.own, o.total) for o in (found["linear"], found["addmm"], found["copy"])] == [(40, 100), (55, 60), (5, 5)]
    assert [o.name for o in sum_by_name([_event("a", 0, 1), _event("b", 5, 9)])] == ["b", "a"]


def test_threads_do_not_hold_each_other() -> None:
    found = {o.name: o for o in sum_by_name([_event("a", 0, 100, thread=1), _event("b", 10, 20, thread=2)])}
    assert found["a"].own == 100


def test_one_that_calls_itself_is_counted_once() -> None:
    (operator,) = sum_by_name([_event("call", 0, 100), _event("call", 10, 50)])
    assert (operator.calls, operator.own, operator.total) == (2, 100, 100)


def test_what_had_not_ended_is_left_out(tmp_path: Path) -> None:
    events = [
        _event("relu", 0, 2),
        _event("cut", 5, 1e6) | {"args": {"finished": False}},
        _event("other", 0, 1) | {"cat": "Trace"},
        {"ph": "M", "name": "thread_name", "cat": "cpu_op"},
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    assert [o.name for o in from_chrome_trace(tmp_path / "trace.json", category="cpu_op")] == ["relu"]


def test_the_table_has_a_line_for_each_operator() -> None:
    lines = table(
        sum_by_name([_event("a", 0, 1500), _event("a", 2000, 500), _event("longer", 3000, 2000)])
    ).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["a", "2.000", "50.0", "2.000", "2", "1000.000"],
        ["longer", "2.000", "50.0", "2.000", "1", "2000.000"],
    ]
    assert len({len(line) for line in lines}) == 1


def _event(name: str, begin: float, duration: float, *, thread: int = 1) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "ts": begin, "dur": duration, "tid": thread}
