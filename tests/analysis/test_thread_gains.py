from dataclasses import replace

import pytest

from benchwright.analysis import notes
from benchwright.analysis.rows import rows
from benchwright.records import Case as RecordedCase
from benchwright.records import Environment, Estimate, Load, Metric, Mode, Result, Run, Status, Target


def _measured(workers: int, rates: tuple[float, ...], mode: Mode = Mode.CLOSED) -> tuple[Result, ...]:
    """One round for each throughput."""
    case = RecordedCase(
        name="c",
        target=Target(runtime="fake", uri="fake:"),
        params={"workers": workers},
        load=Load(workers=workers, mode=mode),
    )
    return tuple(
        Result(
            id=f"{workers}-{number}",
            case=case,
            round=number,
            status=Status.OK,
            environment=Environment(machine={}, system={}),
            started_at="",
            duration=0.0,
            metrics=(
                Metric(
                    name="throughput",
                    unit="/s",
                    better=None,
                    estimate=Estimate(point=rate, low=0.99 * rate, high=1.01 * rate),
                ),
            ),
        )
        for number, rate in enumerate(rates)
    )


def _said(run: Run, *results: Result) -> list[str]:
    table = rows(replace(run, results=results))
    return [seen for noted in notes.warnings(table) for seen in noted.seen if noted.code == "threads-hurt"]


@pytest.mark.parametrize(
    ("rates", "gain"),
    [
        ((500.0, 510.0, 490.0), "0.50"),
        ((1050.0, 1040.0, 1060.0), "1.05"),
        ((1500.0, 1510.0, 1490.0), ""),
        ((800.0, 1400.0, 1600.0), ""),  # one round of three is below one thread's: the table says 1.27
        ((200.0, 1000.0, 1900.0), ""),  # 1.03, and it might as well be two
    ],
)
def test_threads_that_do_not_help_are_warned_of_by_what_the_table_shows(
    run: Run, rates: tuple[float, ...], gain: str
) -> None:
    one, two = _measured(1, (1000.0, 1010.0, 990.0)), _measured(2, rates)
    said = _said(run, *one, *two)
    assert [text.partition(" the throughput")[0] for text in said] == [f"2 threads reach {gain} times"] * bool(gain)
    table = {
        row.case.load.workers: row.metrics["throughput"].estimate.point
        for row in rows(replace(run, results=(*one, *two)))
    }
    if gain:
        assert f"{table[2] / table[1]:.2f}" == gain


def test_nothing_is_claimed_of_threads_without_one_thread_or_where_arrivals_set_the_rate(run: Run) -> None:
    assert _said(run, *_measured(2, (500.0,)), *_measured(4, (500.0,))) == []
    assert _said(run, *_measured(1, (50.0, 50.0), Mode.OPEN), *_measured(2, (50.0, 50.0), Mode.OPEN)) == []
    assert _said(run, *_measured(1, (1000.0,)), *_measured(2, (1050.0,))) == []  # one process each: twice is possible
    assert len(_said(run, *_measured(1, (1000.0,)), *_measured(2, (300.0,)))) == 1
