"""Figures that servers tell of themselves: read within bounds, beside the load, and made into timelines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from benchwright.records import Timeline
from benchwright.worker.endpoints import exposition, server_figures
from benchwright.worker.endpoints.exposition import Figures
from benchwright.worker.endpoints.server_figures import FigureReader, FigureReport, timelines_of

SECOND = 1_000_000_000
TEXT = """\
# HELP vllm:num_requests_running How many run.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b}c"} 3.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="m"} 120
# TYPE ttft_seconds histogram
ttft_seconds_bucket{le="0.1"} 4
ttft_seconds_bucket{le="+Inf"} 5
ttft_seconds_sum 0.75
ttft_seconds_count 5
# TYPE sizes summary
sizes{quantile="0.5"} 12
sizes_sum 100
sizes_count 8
untold_total 7 1395066363000
untold_level NaN
level 1e3
python_gc_objects_collected_total{generation="0"} 9
cache_created 1.7e9

this is no line
{}
"""


# ---- reading ----


def test_what_a_server_tells_is_read() -> None:
    figures = Figures()
    assert figures.add(5, TEXT) == 8
    assert {one.name: (one.kind, one.values) for one in figures.series.values()} == {
        'vllm:num_requests_running{engine="0",model_name="a b}c"}': ("gauge", [3.0]),
        'vllm:generation_tokens_total{model_name="m"}': ("counter", [120.0]),
        "ttft_seconds_sum": ("part", [0.75]),
        "ttft_seconds_count": ("part", [5.0]),
        "sizes_sum": ("part", [100.0]),
        "sizes_count": ("part", [8.0]),
        "untold_total": ("counter", [7.0]),
        "level": ("gauge", [1000.0]),
    }


def test_series_come_and_go() -> None:
    figures = Figures()
    for at, text in enumerate(("a 1\n", "a 2\nb 5\n", "<html>\nno figures</html>", "b 6\n")):
        figures.add(at, text)
    assert figures.instants == [0, 1, 3]
    assert [one.values for one in figures.series.values()] == [[1.0, 2.0, None], [None, 5.0, 6.0]]
    figures.thin()
    assert figures.instants == [0, 3] and [one.values for one in figures.series.values()] == [[1.0, None], [None, 6.0]]


def test_of_too_many_series_those_of_known_use_are_kept() -> None:
    figures = Figures()
    figures.add(0, "".join(f"other{number} 1\n" for number in range(600)) + "tgi_queue_size 4\n")
    assert len(figures.series) == exposition.MOST_SERIES and "tgi_queue_size" in figures.series
    assert figures.left_out == 101
    figures.add(1, f"{'n' * 400} 1\nother1 2\n")
    assert len(figures.series) == exposition.MOST_SERIES


@pytest.mark.parametrize(
    "text", ["", "a", "{", "}", '{le="', "a{b} \n# TYPE", "# TYPE a", "a nan\n", "\0\0 1e999", "a{} x"]
)
def test_what_is_no_figure_is_no_look(text: str) -> None:
    figures = Figures()
    assert figures.add(0, text) == 0 and figures.instants == []


# ---- timelines ----


def lines(*series: tuple[str, str, list[float | None]], looks: int = 4) -> dict[str, Timeline]:
    instants = [look * SECOND for look in range(10, 10 + looks)]
    found, _ = timelines_of(instants, series, 10 * SECOND, (10 + looks - 1) * SECOND)
    return {line.name: line for line in found}


def test_counters_are_rates_and_begin_anew_with_their_server() -> None:
    line = lines(("requests_total", "counter", [100, 110, 130, 5]))["server:requests_total"]
    assert (line.unit, line.seconds, line.values) == ("/s", (1.0, 2.0, 3.0), (10.0, 20.0, 5.0))


def test_gauges_are_as_they_are() -> None:
    other: list[float | None] = [1, 2, 3, 4]
    found = lines(
        ("queue", "gauge", [1, None, 3, 0]),
        ("memory_bytes", "gauge", other),
        ("age_seconds", "gauge", other),
        ("llamacpp:prompt_tokens_seconds", "gauge", other),
    )
    assert found["server:queue"].seconds == (0.0, 2.0, 3.0) and found["server:queue"].values == (1.0, 3.0, 0.0)
    assert {name.removeprefix("server:"): line.unit for name, line in found.items()} == {
        "queue": "1",
        "memory_bytes": "B",
        "age_seconds": "s",
        "llamacpp:prompt_tokens_seconds": "/s",
    }


def test_histograms_are_means_of_what_came_between_two_looks() -> None:
    found = lines(
        ('ttft_seconds_sum{m="x"}', "part", [1.0, 2.0, 2.0, 5.0]),
        ('ttft_seconds_count{m="x"}', "part", [10, 20, 20, 22]),
        ("alone_sum", "part", [1, 2, 3, 4]),
    )
    line = found.pop('server:ttft_seconds{m="x"}')
    assert (line.unit, line.seconds, line.values) == ("s", (1.0, 3.0), (0.1, 1.5)) and not found


def test_what_did_not_change_is_left_out_unless_its_use_is_known() -> None:
    same: list[float | None] = [4, 4, 4, 4]
    found = lines(
        ("limit", "gauge", same), ("errors_total", "counter", same), ("vllm:num_requests_waiting", "gauge", same)
    )
    assert [*found] == ["server:vllm:num_requests_waiting"]


def test_looks_outside_the_timed_phase_do_not_count() -> None:
    instants = [7 * SECOND, 10 * SECOND - 5_000_000, 11 * SECOND, 12 * SECOND - 1000, 12 * SECOND, 15 * SECOND]
    found, more = timelines_of(
        instants, [("x_total", "counter", [0, 100, 110, 120, 120, 999])], 10 * SECOND, 12 * SECOND
    )
    (line,) = found
    assert more == 0 and line.seconds == (1.0, 2.0) and line.values == pytest.approx((10.0, 10.0), rel=0.01)


def test_there_are_not_more_timelines_than_anybody_looks_at() -> None:
    series = [(f"x{number}", "gauge", [number, 1.5]) for number in range(100)]
    series.append(("nv_inference_count", "counter", [0, 0]))
    found, more = timelines_of([0, SECOND], series, 0, SECOND)
    assert len(found) == server_figures.MOST_TIMELINES and more == 101 - server_figures.MOST_TIMELINES
    assert found[0].name == "server:nv_inference_count"


# ---- asking ----


class Peer:
    """A server whose answers at /metrics a test decides; `asked` are the headers of each question."""

    def __init__(self, answer: Callable[[Any], None]) -> None:
        self.asked: list[dict[str, str]] = []
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                peer.asked.append(dict(self.headers))
                answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}/metrics"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def peer(answer: Callable[[Any], None]) -> Iterator[Peer]:
    made = Peer(answer)
    try:
        yield made
    finally:
        made.close()


def send(handler: Any, body: bytes, status: int = 200) -> None:
    handler.send_response(status)
    handler.end_headers()
    handler.wfile.write(body)


def ask(made: Peer, *, named: bool = True, looks: int = 2) -> FigureReport:
    """What is reported of a phase with so many looks, the first and the last asked for at its ends."""
    reader = FigureReader(made.address, named=named, headers={"X-Who": "me"}, insecure=False)
    wait_for(lambda: made.asked)  # the look that it takes by itself
    zero = time.perf_counter_ns()
    for number in range(looks):
        reader.look()
        wait_for(lambda number=number: len(made.asked) > number + 1 or reader._process.poll() is not None)  # type: ignore[misc]
        time.sleep(0.02)
    return reader.finish(zero, time.perf_counter_ns())


def wait_for(holds: Callable[[], object], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)


def test_a_process_of_its_own_asks_and_tells() -> None:
    count = iter(range(10, 1000, 10))
    with peer(lambda handler: send(handler, f"served_total {next(count)}\nlevel {next(count)}\n".encode())) as made:
        report = ask(made, looks=3)
    assert {line.name for line in report.timelines} == {"server:served_total", "server:level"}
    (rates,) = (line for line in report.timelines if line.unit == "/s")
    assert all(rate > 0 for rate in rates.values) and list(rates.seconds) == sorted(rates.seconds)
    assert made.asked[0]["X-Who"] == "me" and made.asked[0]["Connection"] == "close"
    assert report.warnings == () and report.details is not None and report.details["address"] == made.address


def test_a_server_without_figures_is_asked_once_and_nothing_is_said() -> None:
    with peer(lambda handler: send(handler, b"no", 404)) as made:
        reader = FigureReader(made.address, named=False, headers={}, insecure=False)
        wait_for(lambda: made.asked)
        time.sleep(0.05)
        reader.look()
        reader.look()
        assert reader.finish(0, 1) == FigureReport()
        assert len(made.asked) == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda handler: send(handler, b"no", 404), "it answers with status 404"),
        (lambda handler: send(handler, b"<html>hello</html>\n"), "the answer holds no figures"),
        (lambda handler: send(handler, b"a 1\n" * 300_000), "its answer is more than 1 MiB"),
        (lambda handler: handler.wfile.write(b"HTTP/1.1 2x\r\n\r\n"), "HTTP/1.1 2x"),
        (lambda handler: handler.connection.close(), ""),
    ],
    ids=["missing", "other", "huge", "nonsense", "closed"],
)
def test_what_was_named_and_tells_nothing_costs_a_warning(answer: Callable[[Any], None], says: str) -> None:
    with peer(answer) as made:
        report = ask(made, looks=1)
    assert report.timelines == () and report.details is None
    (warning,) = report.warnings
    assert warning.code == "server-figures" and made.address in warning.seen and says in warning.seen


def test_a_server_that_dribbles_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_figures, "PATIENCE", 0.3)
    end = threading.Event()

    def dribble(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not end.wait(0.05):
            handler.wfile.write(b"a")
            handler.wfile.flush()

    with peer(dribble) as made:
        reader = FigureReader(made.address, named=True, headers={}, insecure=False)
        wait_for(lambda: made.asked)
        begin = time.monotonic()
        report = reader.finish(0, 1)
        assert time.monotonic() - begin < 20
        end.set()
    assert "no word from it in 0.3 s" in report.warnings[0].seen and reader._process.poll() is not None


def test_a_process_that_was_killed_costs_a_warning() -> None:
    with peer(lambda handler: send(handler, b"a 1\n")) as made:
        reader = FigureReader(made.address, named=False, headers={}, insecure=False)
        wait_for(lambda: made.asked)
        reader._process.kill()
        reader._process.wait()
        reader.look()
        report = reader.finish(0, 1)
    assert report.warnings[0].code == "server-figures" and report.timelines == ()
