"""The decorator attaches what it is told, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchwright.decorator import BenchmarkMark, benchmark, mark_of


def test_the_function_stays_itself() -> None:
    def work() -> int:
        return 1

    assert benchmark(work) is work and mark_of(work) == BenchmarkMark()
    assert benchmark(params={"n": range(3)}, items="n", loops=0)(work) is work
    assert mark_of(work) == BenchmarkMark(params={"n": (0, 1, 2)}, items="n", loops=0)


def test_what_is_not_marked() -> None:
    assert mark_of(len) is None and mark_of(3) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"params": {"n": 3}}, "must be a list of values, not 3"),
        ({"params": {"n": "abc"}}, "must be a list of values, not 'abc'"),
        ({"params": {"n": []}}, "is empty"),
        ({"params": {"n": [object()]}}, "holds a object; use text, numbers"),
        ({"loops": -1}, "loops must be a whole number of at least 0"),
        ({"items": -1}, "items must not be negative"),
        ({"items": "m", "params": {"n": [1]}}, "items names 'm', which is not one of the params: n"),
    ],
)
def test_mistakes_show_where_they_are_made(arguments: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        benchmark(**arguments)  # type: ignore[call-overload]


def test_the_module_needs_the_standard_library_only() -> None:
    script = (
        "import sys, benchwright.decorator; print([m for m in ('numpy', 'click', 'sqlalchemy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout.strip() == b"[]"
