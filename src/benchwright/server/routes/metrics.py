"""What a monitoring system scrapes: newest values, what fails, how the server does."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from benchwright._version import VERSION
from benchwright.records.findings import State
from benchwright.server.access import Reads
from benchwright.server.context import archive, context_of, pack_response
from benchwright.server.traffic import BOUNDS, Traffic
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore

router = APIRouter(tags=["monitoring"])
MOST = 10_000  # series in one answer
_LABELS = ("case", "metric", "unit", "machine", "params", "series")
_TEXT = {"content": {"text/plain": {}, "application/openmetrics-text": {}}, "description": "One sample a line."}


@router.get("/metrics", responses={200: _TEXT}, summary="Newest values, for a monitoring system")
def metrics(
    request: Request,
    visitor: Reads,
    case: Annotated[str, Query(max_length=1000, description="`*` is a wildcard.")] = "",
    metric: Annotated[str, Query(max_length=1000, description="`*` is a wildcard.")] = "",
    machine: Annotated[str, Query(max_length=1000, description="A machine's key.")] = "",
    limit: Annotated[int, Query(ge=0, le=MOST, description="Series at most.")] = 1000,
) -> Response:
    """The newest value of each series that was chosen; counts of runs, failures and findings; requests so far.

    When there are more series than the limit, `benchwright_series_cut` is 1.
    """
    chosen = SeriesFilter(case=case, metric=metric, machine=machine, limit=limit + 1)
    families = [*_series(archive(request), chosen), *_counts(archive(request)), *_requests(context_of(request).traffic)]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_MetricFamilies(families))
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return pack_response(request, encode(registry), media_type=media_type)


class _MetricFamilies(Collector):
    """Families that were made already, as the library wants to be handed them."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


def _series(store: SqlStore, chosen: SeriesFilter) -> Iterator[Metric]:
    found = store.series(chosen)
    listed = found[: chosen.limit - 1]
    tails = store.tails([one.series.key for one in listed], points=1)
    values = GaugeMetricFamily("benchwright_value", "The newest value of a series, in its base unit.", labels=_LABELS)
    instants = GaugeMetricFamily(
        "benchwright_value_timestamp_seconds", "When that value was measured, since 1970.", labels=("series",)
    )
    for one in {one.series.key: one for one in listed}.values():  # of a key with two units, the later unit
        series = one.series
        if newest := tails.get(series.key):
            labels = [series.case, series.metric, series.unit, series.machine, series.params, series.key]
            values.add_metric(labels, newest[-1])
            instants.add_metric([series.key], one.last_at / 1e6)
    yield values
    yield instants
    cut = "1 when there are more series than were asked for."
    yield GaugeMetricFamily("benchwright_series_cut", cut, value=float(len(found) > len(listed)))


def _counts(store: SqlStore) -> Iterator[Metric]:
    totals, machines = store.totals(), store.machines()
    version = InfoMetricFamily("benchwright", "The server.")
    version.add_metric([], {"version": VERSION})
    yield version
    for name in ("runs", "results", "series", "points", "machines"):
        yield GaugeMetricFamily(f"benchwright_{name}", f"How many {name} the store holds.", value=totals.get(name, 0))
    failed = GaugeMetricFamily("benchwright_failed_results", "Results that failed, ever.", labels=("machine",))
    for machine in machines:
        failed.add_metric([machine.key], machine.failed)
    yield failed
    findings = GaugeMetricFamily("benchwright_findings", "Findings by what people made of them.", labels=("state",))
    for state in ("suspected", "open", "acknowledged", "resolved", "ignored"):
        findings.add_metric([state], totals.get(state, 0))
    yield findings
    open_causes = store.count_causes([State.OPEN])
    yield GaugeMetricFamily("benchwright_open_causes", "Causes with a finding that is open.", value=open_causes)
    yield from _judging(store)
    yield GaugeMetricFamily("benchwright_store_bytes", "The size of the database.", value=store.size())


def _judging(store: SqlStore) -> Iterator[Metric]:
    state = store.judging()
    waited = max(0.0, time.time() - state.since / 1e6) if state.since else 0.0
    told = (
        ("unjudged_results", "Results that wait to be judged.", state.waiting),
        ("unjudged_seconds", "How long the first of them has waited.", waited),
        ("judge_failing", "1 when nothing can be judged.", bool(state.failing)),
        ("unjudged_series", "Series that could not be judged.", len(state.troubles)),
    )
    for name, about, value in told:
        yield GaugeMetricFamily(f"benchwright_{name}", about, value=float(value))
    yield CounterMetricFamily("benchwright_judged_results", "Results that were judged, ever.", value=state.judged)


def _requests(traffic: Traffic) -> Iterator[Metric]:
    names = ("method", "route", "status")
    counts = CounterMetricFamily("benchwright_requests", "Requests that were answered.", labels=names)
    for (method, route, status), count in sorted(traffic.counts().items()):
        counts.add_metric([method, route, str(status)], count)
    yield counts
    times = HistogramMetricFamily("benchwright_request_seconds", "How long answers took.", labels=("route",))
    for route, timed in sorted(traffic.times().items()):
        bounds = [*map(str, BOUNDS), "+Inf"]
        running = itertools.accumulate(timed.buckets)
        times.add_metric([route], list(zip(bounds, running, strict=True)), timed.seconds)
    yield times
