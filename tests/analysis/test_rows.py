from dataclasses import replace

import pytest

import sample_runs as samples
from benchwright.analysis import notes
from benchwright.analysis.rows import param_names, rows, show_scalar
from benchwright.records import Case as RecordedCase
from benchwright.records import Environment, Estimate, Load, Metric, Mode, Result, Run, Status, Target
from benchwright.stats.summary import combine


def test_one_row_for_each_case_in_the_order_of_the_run(run: Run) -> None:
    table = rows(run)
    assert [(r.params["runtime"], r.params["batch_size"]) for r in table] == [
        ("onnxruntime", 1),
        ("onnxruntime", 8),
        ("openvino", 1),
        ("openvino", 8),
        ("torch", 1),
    ]
    assert [r.rounds for r in table] == [3] * 5


def test_only_params_that_vary_are_kept(run: Run) -> None:
    assert param_names(rows(run)) == ["runtime", "batch_size", "copies"]  # device is cpu everywhere


def test_rounds_are_combined_as_processes(run: Run) -> None:
    row = rows(run)[0]
    rounds = [m.estimate for r in row.results if (m := r.metric("latency_p50"))]
    assert row.metrics["latency_p50"].estimate == combine(rounds)
    assert row.metrics["latency_p50"].count == 3 * 2000


def test_no_latency_is_shown_below_the_shortest_call(run: Run) -> None:
    two = [r for r in run.results if r.round < 2 and r.case == run.results[0].case]
    apart = [
        replace(r, metrics=tuple(_at(m, at) if m.name == "latency_p99" else m for m in r.metrics))
        for r, at in zip(two, (2e-3, 9e-3), strict=True)
    ]
    metrics = rows(replace(run, results=tuple(apart)))[0].metrics
    alone = combine([m.estimate for r in apart if (m := r.metric("latency_p99"))])
    assert alone.low is not None and alone.low < metrics["latency_min"].estimate.point
    assert metrics["latency_p99"].estimate.low == metrics["latency_min"].estimate.point > 0


def _at(metric: Metric, point: float) -> Metric:
    return replace(metric, estimate=replace(metric.estimate, point=point, low=0.9 * point, high=1.1 * point))


def test_the_longest_call_of_all_rounds_is_the_longest_not_an_average(run: Run) -> None:
    row = rows(run)[0]
    found = [m.estimate.point for r in row.results if (m := r.metric("latency_max"))]
    assert row.metrics["latency_max"].estimate.point == max(found)
    found = [m.estimate.point for r in row.results if (m := r.metric("latency_min"))]
    assert row.metrics["latency_min"].estimate.point == min(found)


def test_failed_rounds_count_but_give_no_numbers(run: Run) -> None:
    row = rows(run)[-1]
    assert row.statuses == {Status.FAILED: 3}
    assert row.metrics == {} and row.status == "failed"
    assert [failure.kind for _, failure in row.failures] == ["LoadError"] * 3


def test_a_case_that_failed_once_says_how_often(run: Run) -> None:
    broken = samples.failed_result(run.results[0].case, 9)
    row = rows(replace(run, results=(*run.results, broken)))[0]
    assert row.status == "ok 3, failed 1"
    assert row.metrics["latency_p50"].count == 3 * 2000


def test_equal_names_in_two_folders_stay_two_rows(run: Run) -> None:
    first = run.results[0]
    moved = replace(first.case, target=replace(first.case.target, uri="elsewhere/model.onnx"))
    table = rows(replace(run, results=(first, replace(first, case=moved, id="other"))))
    assert [row.params["uri"] for row in table] == ["models/model.onnx", "elsewhere/model.onnx"]


def test_a_param_that_some_cases_of_a_name_lack_varies(run: Run) -> None:
    first = run.results[0]
    bare = replace(first.case, params={})
    table = rows(replace(run, results=(first, replace(first, case=bare))))
    assert table[0].params["runtime"] == "onnxruntime" and "runtime" not in table[1].params


def test_labels_drop_a_name_that_says_nothing(run: Run) -> None:
    row = rows(run)[0]
    assert row.label == "model.onnx runtime=onnxruntime batch_size=1 copies=1"
    assert row.short == "runtime=onnxruntime batch_size=1 copies=1"
    assert rows(replace(run, results=run.results[:1]))[0].short == "model.onnx"


@pytest.mark.parametrize(("value", "words"), [(None, "-"), (True, "true"), (0.5, "0.5"), (8, "8"), ("x", "x")])
def test_scalars_as_people_write_them(value: str | int | float | bool | None, words: str) -> None:
    assert show_scalar(value) == words


def test_an_empty_run_has_no_rows(run: Run) -> None:
    assert rows(replace(run, results=())) == []


def test_processes_of_two_speeds_are_told_in_the_warnings(run: Run) -> None:
    first = run.results[0]
    levels = (3.1e-3, 3.1e-3, 3.11e-3, 3.1e-3, 4.0e-3)
    medians = [
        replace(m, estimate=replace(m.estimate, point=level, low=level * 0.999, high=level * 1.001))
        for level in levels
        if (m := first.metric("latency_p50"))
    ]
    rounds = tuple(replace(first, id=f"r{i}", round=i, metrics=(m,), warnings=()) for i, m in enumerate(medians))
    (row,) = rows(replace(run, results=rounds))
    (warning,) = row.warnings
    assert warning.code == "two-speeds"
    assert warning.seen == "two speeds seen: 3.10 ms in 4 and 4.00 ms in 1 of 5 processes"
    estimate = row.metrics["latency_p50"].estimate
    assert estimate.low is not None and estimate.high is not None
    assert estimate.low <= 3.1e-3 and estimate.high >= 4.0e-3  # both are held


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
