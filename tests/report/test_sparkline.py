"""The line of a few calls, which numpy does not draw, is the one that it would draw."""

from __future__ import annotations

from array import array

import pytest

from benchwright.analysis.calls import calls
from benchwright.records import Case, Environment, Result, Samples, Status, Target
from benchwright.report.sparkline import sparkline_of
from benchwright.report.terminal import sparkline


def _result(*nanoseconds: int) -> Result:
    columns = {"latency": array("q", nanoseconds), "end": array("q", range(len(nanoseconds)))}
    return Result(
        id="one",
        case=Case(name="case", target=Target(uri="x", runtime="fake")),
        round=0,
        status=Status.OK,
        environment=Environment(machine={}, system={}),
        started_at="2026-03-01T10:00:00+00:00",
        duration=1.0,
        samples=(Samples(copy=0, columns=columns, calls=len(nanoseconds), elapsed=1000, loops=1),),
    )


@pytest.mark.parametrize(
    "given", [(500,), (500, 500), (100, 220, 305, 307, 390), (100, 130, 900, 5000, 40_000), tuple(range(1000, 1045, 3))]
)
def test_few_calls_are_drawn_as_many_are(given: tuple[int, ...]) -> None:
    found = calls([_result(*given)])
    assert found is not None
    assert sparkline_of([_result(*given)]) == sparkline(found)


def test_no_calls_are_no_line() -> None:
    assert sparkline_of([_result()]) == sparkline_of([]) == ""
