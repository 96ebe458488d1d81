"""Served models on pages: the requests of a result, and the sweeps of a run."""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.analysis.knee import Sweep, describe_knee, find_knee, sweeps
from benchwright.analysis.request_failures import count_requests
from benchwright.analysis.requests import RequestSpan, failures_over_time, slowest_requests
from benchwright.analysis.rows import Row
from benchwright.pages.shapes import FailureKind, RequestLine, RequestsView, SweepLine, SweepMark
from benchwright.records import Result
from benchwright.records.request_metrics import GOODPUT

_SWEEPS = 20
_POINTS = 100  # of one
_FAILURES = 2000  # that are marked one by one


def requests_view(result: Result) -> RequestsView | None:
    """The requests of a result with its samples; None of what is no served model."""
    counted = count_requests([result])
    if counted is None:
        return None
    return RequestsView(
        made=counted.made,
        failures=[
            FailureKind(kind=one.kind, words=one.words, count=one.count, first=one.first) for one in counted.failed
        ],
        slowest=[_request_line(span) for span in slowest_requests(result)],
        failed_at=failures_over_time(result)[:_FAILURES],
    )


def sweep_lines(table: Sequence[Row]) -> list[SweepLine]:
    """The sweeps of a run's cases, each with its knee."""
    return [_sweep_line(sweep) for sweep in sweeps(table)[:_SWEEPS]]


def _request_line(span: RequestSpan) -> RequestLine:
    return RequestLine(
        copy=span.copy,
        number=span.number,
        scheduled=span.scheduled,
        sent=span.sent,
        first_byte=span.first_byte,
        first_text=span.first_text,
        end=span.end,
        ticks=span.ticks,
        outcome=span.outcome,
        output_tokens=span.output_tokens,
    )


def _sweep_line(sweep: Sweep) -> SweepLine:
    knee = find_knee(sweep).point
    points = sweep.points[:_POINTS]
    return SweepLine(
        label=sweep.label,
        kind=sweep.kind,
        points=[
            SweepMark(
                load=point.load,
                words=sweep.load_text(point),
                case=point.row.label,
                result=point.row.results[0].id,
                throughput=point.throughput,
                latency=point.latency,
                goodput=good.estimate if (good := point.metric(GOODPUT)) else None,
            )
            for point in points
        ],
        knee=next((place for place, point in enumerate(points) if point is knee), 0),
        text=describe_knee(sweep),
    )
