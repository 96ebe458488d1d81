"""Pages at 10^5, 10^6 and 10^7 points in PostgreSQL, with eight readers while results arrive.

    python benchmarks/server/scale.py [--points 100000 1000000 10000000] [--seconds 60] [--readers 8] [--rate 100]
                                      [--processes 2]

Each series has 100 points, so ten million points are 100,000 series: suites of 250 cases with four metrics each, one
machine a suite. A run measures one suite, 1,000 series. `benchwright serve` runs in a process of its own, as do the
readers and the sender. Each reader asks for a page a second, drawn anew each time, as somebody does who looks at what
he asked for; the sender has a result of 27 metrics due a hundred times a second, whatever became of the one before.
Times are what a client waits for the whole answer. The database is filled inside of PostgreSQL, without indexes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pages
import uploads

from benchwright import schema
from benchwright.records import Case, Environment, Result, Run, Status, Target
from benchwright.records.findings import Finding
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

SIZES = (100_000, 1_000_000, 10_000_000)
POINTS = 100  # of a series
RUN = pages.CASES * len(pages.METRICS)  # series of a run
FINDINGS = 300
MEDIAN, P99 = 150.0, 500.0  # milliseconds that an answer may take
UNBARRED = "one run of 250 cases"  # looked at for the first time: its documents are read
SENDERS = 4  # connections
FILLED = ("results", "documents", "points", "arrivals")  # without their indexes while they are filled


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to try."""

    seconds: float
    readers: int
    pace: float
    rate: float
    processes: int = 1  # that answer requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of one size."""

    points: int
    series: int
    bytes: int
    filled: float  # seconds
    taken: dict[str, list[float]]  # milliseconds by page, sorted
    sent: list[float]  # milliseconds of each upload, sorted
    rate: float  # uploads a second
    asked: float  # the same, as they were due
    refused: int  # uploads that were not answered with 201
    server: float  # CPU seconds of the server for each second
    database: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--pace", type=float, default=1.0, help="pages a second that each reader asks for")
    parser.add_argument("--rate", type=float, default=100.0, help="results a second that arrive")
    parser.add_argument("--processes", "--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--folder", type=Path, help="where the databases are made; a temporary folder without")
    given = parser.parse_args(arguments)
    asked = Asked(
        seconds=given.seconds, readers=given.readers, pace=given.pace, rate=given.rate, processes=given.processes
    )
    found = []
    for size in given.points:
        with tempfile.TemporaryDirectory(prefix="benchwright-scale-", dir=given.folder) as folder:
            found.append(measure(size, asked, Path(folder)))
            _tell_one(found[-1])
    missed = print_table(found, asked.processes)
    return 1 if missed and asked.seconds >= 30 else 0


def measure(points: int, asked: Asked, folder: Path) -> Measured:
    """Fills a database, then has it read and written at once."""
    folder.chmod(0o755)  # as root, PostgreSQL runs under another user
    with ExitStack() as stack:
        url = stack.enter_context(uploads.postgresql(folder))
        began = time.monotonic()
        suites = fill(url, points)
        filled = time.monotonic() - began
        flags = ("--server-processes", str(asked.processes))
        server = stack.enter_context(uploads.Server(url, folder / "artifacts", *flags))
        server.start()
        choices = folder / "pages.json"
        choices.write_text(json.dumps(_choices(server.address, suites, points // RUN)))
        before = cpu_seconds(server.pid), cpu_seconds(postmaster(url))
        sender = _start("--as-sender", server.address, str(asked.rate), str(asked.seconds))
        given = [server.address, str(choices), str(asked.readers), str(asked.pace), str(asked.seconds)]
        readers = _start("--as-readers", *given)
        taken = json.loads(readers.communicate(timeout=asked.seconds * 5 + 60)[0])
        told = json.loads(sender.communicate(timeout=asked.seconds * 5 + 60)[0])
        after = cpu_seconds(server.pid), cpu_seconds(postmaster(url))
        with closing(SqlStore(url)) as store:
            size = store.size()
    return Measured(
        points=points,
        series=suites * RUN,
        bytes=size,
        filled=filled,
        taken={name: sorted(values) for name, values in taken.items()},
        sent=sorted(told["taken"]),
        rate=len(told["taken"]) / told["seconds"],
        asked=asked.rate,
        refused=told["refused"],
        server=(after[0] - before[0]) / asked.seconds,
        database=(after[1] - before[1]) / asked.seconds,
    )


# ---- what is told ----


def _tell_one(measured: Measured) -> None:
    print(
        f"{measured.points:,} points, {measured.series:,} series: filled in {measured.filled:.0f} s, "
        f"{measured.bytes / 1e6:,.0f} MB",
        flush=True,
    )


def print_table(found: Sequence[Measured], processes: int = 1) -> int:
    """Prints all sizes side by side, as the documentation has them; how many bars were missed."""
    server = f"PostgreSQL, {processes} process{'es' * (processes > 1)}"
    print(f"\n| median / p99, ms, {server} | {' | '.join(f'{one.points:,} points' for one in found)} |")
    print(f"| --- | {' | '.join('---' for _ in found)} |")
    missed = 0
    for name in found[0].taken:
        cells = [one.taken[name] for one in found]
        print(f"| {name} | {' | '.join(_median_and_p99(cell) for cell in cells)} |")
        if name != UNBARRED:
            missed += sum(_quantile(cell, 0.5) > MEDIAN or _quantile(cell, 0.99) > P99 for cell in cells)
    print(f"| adding a result of {UPLOADED} metrics | {' | '.join(_median_and_p99(one.sent) for one in found)} |")
    rows: list[tuple[str, Callable[[Measured], str]]] = [
        ("results added a second", lambda one: f"{one.rate:.1f}"),
        ("results refused", lambda one: f"{one.refused}"),
        ("CPU of the server, of the database", lambda one: f"{one.server:.0%}, {one.database:.0%}"),
        ("the database", lambda one: f"{one.bytes / 1e6:,.0f} MB"),
        ("filled in", lambda one: f"{one.filled:.0f} s"),
    ]
    for name, cell in rows:
        print(f"| {name} | {' | '.join(cell(one) for one in found)} |")
    missed += sum(one.refused > 0 or one.rate < 0.98 * one.asked for one in found)
    bars = f"median {MEDIAN:g} ms, p99 {P99:g} ms for every page but {UNBARRED!r}; results arrive as they are due"
    print(f"\nbars: {bars}: {'ok' if not missed else f'{missed} missed'}", flush=True)
    return missed


def _median_and_p99(values: Sequence[float]) -> str:
    return f"{_quantile(values, 0.5):.0f} / {_quantile(values, 0.99):.0f}"


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


# ---- readers and a sender ----


def _start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE)


def _choices(address: str, suites: int, runs: int) -> dict[str, list[str]]:
    """Paths to draw from, by page. What is asked for is learnt from the server itself."""
    draw = random.Random(2)
    wanted = "&".join(f"metric={name}" for name, _, _ in pages.METRICS)
    found: dict[str, list[str]] = {"the overview": ["overview"], "a list of 100 series": [], "one series": []}
    with closing(_connect(address)) as connection:
        for after in draw.sample(range(suites * RUN - 100), min(200, suites * RUN - 100)):
            path = f"series?limit=100&after={after}"
            found["a list of 100 series"].append(path)
            if len(found["one series"]) < 400:
                listed = json.loads(_ask(connection, path))["series"]
                assert len(listed) == 100, path
                found["one series"] += [f"series/{line['key']}" for line in draw.sample(listed, 4)]
        found["search"] = [
            f"series?limit=100&words=suite-{draw.randrange(suites):03}+case-{draw.randrange(25):02}+p99"
            for _ in range(200)
        ]
        found["the findings"] = ["findings", "findings?state=open"]
        found[f"two runs over {RUN:,} series"] = [
            f"compare?a=run:{_run_id(first)}&b=run:{_run_id(second)}&{wanted}"
            for _ in range(200)
            for suite in (draw.randrange(suites),)
            for first, second in (draw.sample(range(suite, runs, suites), 2),)
        ]
        found[UNBARRED] = [f"runs/{_run_id(draw.randrange(runs))}" for _ in range(200)]
        for paths in found.values():  # what is asked for the first time compiles queries
            for path in paths[:3]:
                _ask(connection, path)
    return found


def _connect(address: str) -> http.client.HTTPConnection:
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    return http.client.HTTPConnection(host, int(port), timeout=60)


def _ask(connection: http.client.HTTPConnection, path: str) -> bytes:
    try:
        connection.request("GET", f"/api/v1/{path}")
        answer = connection.getresponse()
    except ConnectionError:  # it was idle for longer than the server keeps one: a browser opens the next one, too
        connection.close()
        connection.request("GET", f"/api/v1/{path}")
        answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, f"{path}: {body!r}"
    return body


def read(address: str, choices: str, readers: int, pace: float, seconds: float) -> None:
    """Readers, a thread each; prints how long their answers took."""
    found: dict[str, list[str]] = json.loads(Path(choices).read_text())
    taken: dict[str, list[float]] = {name: [] for name in found}
    end = time.monotonic() + seconds

    def reader(number: int) -> None:
        draw = random.Random(number)
        due = time.monotonic() + draw.random() / pace
        with closing(_connect(address)) as connection:
            while due < end:
                time.sleep(max(0.0, due - time.monotonic()))
                name = draw.choice(list(found))
                began = time.perf_counter()
                _ask(connection, draw.choice(found[name]))
                taken[name].append(1000 * (time.perf_counter() - began))
                due = max(due + draw.expovariate(pace), time.monotonic())  # who waits asks for nothing else meanwhile

    _run_threads([lambda number=number: reader(number) for number in range(readers)])
    print(json.dumps(taken))


UPLOADED = 27  # metrics of a result that arrives


def send(address: str, rate: float, seconds: float) -> None:
    """Sends results when they are due; prints how long each took from that moment on."""
    draw = random.Random(3)
    run = Run(id="arriving", started_at="2026-03-01T10:00:00+00:00", harness="1")
    count = round(rate * seconds)
    bodies = [
        (f"arriving-{i}", schema.dumps(uploads.result(f"arriving-{i}", i, draw, metrics=UPLOADED)).encode())
        for i in range(count)
    ]
    with closing(_connect(address)) as connection:
        connection.request("PUT", f"/api/v1/runs/{run.id}", body=schema.dumps(run).encode())
        assert connection.getresponse().status in (200, 201)
    taken: list[float] = []
    refused: list[bytes] = []
    zero = time.monotonic() + 0.5

    def sender(number: int) -> None:
        with closing(_connect(address)) as connection:
            for i in range(number, count, SENDERS):
                due = zero + i / rate
                time.sleep(max(0.0, due - time.monotonic()))
                name, body = bodies[i]
                connection.request("PUT", f"/api/v1/runs/{run.id}/results/{name}", body=body)
                answer = connection.getresponse()
                said = answer.read()
                taken.append(1000 * (time.monotonic() - due))
                if answer.status != 201:
                    refused.append(said)

    _run_threads([lambda number=number: sender(number) for number in range(SENDERS)])
    for said in refused[:3]:
        print(said.decode(), file=sys.stderr)
    print(json.dumps({"taken": taken, "refused": len(refused), "seconds": max(seconds, time.monotonic() - zero)}))


def _run_threads(tasks: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- filling ----


def fill(url: str, points: int) -> int:
    """A database of that many points; how many suites there are.

    The first run of each suite is kept as any run is. The others are made after it inside of PostgreSQL.
    """
    import psycopg

    suites = max(1, points // POINTS // RUN)
    draw = random.Random(1)
    with closing(open_store(url)) as store:
        for suite in range(suites):
            store.add_run(_run(suite, [_result(suite, case, draw) for case in range(pages.CASES)]))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
        connection.execute("SELECT pg_reload_conf()")
        for name, value in (("synchronous_commit", "off"), ("maintenance_work_mem", "1GB"), ("work_mem", "512MB")):
            connection.execute(f"SET {name} = '{value}'")
        with _without_indexes(connection):
            _multiply(connection, suites, points // RUN)
        connection.execute("VACUUM ANALYZE")  # as it does by itself a minute after much was added
    with closing(SqlStore(url)) as store:
        for i in range(FINDINGS):
            store.keep_finding(_finding(i * 7 % suites, i % pages.CASES, points // RUN // suites // 2))
        pages.settle(store)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE findings")
    return suites


def _multiply(connection: Any, suites: int, runs: int) -> None:
    """Adds the runs that are left, with the documents of the first run of their suite and other values."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE later (run text, at bigint, revision text, document text, model text)")
        with cursor.copy("COPY later FROM STDIN") as copy:
            from benchwright.store.sql import codec

            for number in range(suites, runs):
                run = _run(number, ())
                at = codec.microseconds(run.started_at, where=run.id)
                assert run.revision is not None
                copy.write_row((run.id, at, run.revision.id, codec.run_document(run), _run_id(number % suites)))
        for statement in _MULTIPLIED:
            cursor.execute(statement)


_MULTIPLIED = (
    "INSERT INTO runs (run, at, revision, format, document) SELECT run, at, revision, 1, document FROM later",
    """
    CREATE TEMP TABLE made AS
    SELECT (SELECT max(id) FROM results) + row_number() OVER (ORDER BY n.id, r.id) AS id, r.id AS model,
        r.result || '-' || n.id AS result, n.id AS run_id, r.environment_id, r.case_name, r.at + n.at - m.at AS at,
        r.round, r.status, to_char(to_timestamp((r.at + n.at - m.at) / 1e6) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS"+00:00"') AS started_at, n.revision
    FROM later l JOIN runs n ON n.run = l.run JOIN runs m ON m.run = l.model JOIN results r ON r.run_id = m.id
    """,
    """
    INSERT INTO results (id, result, run_id, environment_id, case_name, at, round, status, started_at, revision)
    SELECT id, result, run_id, environment_id, case_name, at, round, status, started_at, revision FROM made ORDER BY id
    """,
    "SELECT setval(pg_get_serial_sequence('results', 'id'), (SELECT max(id) FROM results))",
    """
    INSERT INTO documents (result_id, format, document)
    SELECT made.id, d.format, d.document FROM made JOIN documents d ON d.result_id = made.model ORDER BY made.id
    """,
    """
    INSERT INTO points (series_id, at, result_id, point, low, high, confidence, method_id)
    SELECT p.series_id, x.at, x.id, p.point * x.drawn, p.low * x.drawn, p.high * x.drawn, p.confidence, p.method_id
    FROM (SELECT id, model, at, 1 + 0.01 * random() AS drawn FROM made ORDER BY id) x
    JOIN points p ON p.result_id = x.model
    """,
    "DROP TABLE made, later",
    "DELETE FROM arrivals",  # all of it was judged long ago
)


@contextmanager
def _without_indexes(connection: Any) -> Iterator[None]:
    """Takes the indexes and constraints of the large tables away, and makes them again: far quicker in one go."""
    there = [name for name in FILLED if connection.execute(f"SELECT to_regclass('{name}')").fetchone()[0]]
    names = ", ".join(f"'{name}'::regclass" for name in there)
    constraints = connection.execute(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        f"WHERE contype IN ('p', 'u', 'f') AND (conrelid IN ({names}) OR confrelid IN ({names})) "
        "ORDER BY contype = 'f', conname"
    ).fetchall()
    for table, name, _ in reversed(constraints):
        connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    indexes = connection.execute(
        f"SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN ({names})"
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    yield
    for table, name, definition in constraints:
        connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
    for _, definition in indexes:
        connection.execute(definition)


def _run(number: int, results: Sequence[Result]) -> Run:
    return Run(
        id=_run_id(number),
        started_at=_at(number),
        harness="1",
        revision=pages.revision_of(number),
        results=tuple(results),
    )


def _run_id(number: int) -> str:
    return f"{pages.START + timedelta(minutes=number):%Y%m%dT%H%M%S}000-{number:06x}"


def _at(number: int, part: int = 0) -> str:
    return (pages.START + timedelta(minutes=number, milliseconds=part)).isoformat()


def _case(suite: int, case: int) -> Case:
    name = f"suite-{suite:03}/case-{case:03}"
    params = {"runtime": "onnxruntime", "device": "cpu", "batch_size": 2 ** (case % 4)}
    return Case(name=name, target=Target(runtime="onnxruntime", uri=f"{name}.onnx"), params=params)


def _environment(suite: int) -> Environment:
    return Environment(
        machine={"cpu": f"Example Core {9000 + suite}", "cores": 8},
        system={"os": "Linux", "architecture": "x86_64", "kernel": "6.1", "host": f"bench-{suite:03}"},
        packages={f"package-{i}": f"1.{i}" for i in range(40)},
        knobs={"governor": "performance"},
    )


def _result(suite: int, case: int, draw: random.Random) -> Result:
    value = 0.01 * (1 + 0.01 * draw.random())
    return Result(
        id=f"{suite:03}-{case:03}",
        case=_case(suite, case),
        round=0,
        status=Status.OK,
        environment=_environment(suite),
        started_at=_at(suite, case),
        duration=1.0,
        metrics=tuple(pages.metric_of(name, unit, better, value) for name, unit, better in pages.METRICS),
        instrument={"verdict": "trustworthy", "recorded_calls": 1000},
    )


def _finding(suite: int, case: int, number: int) -> Finding:
    return pages.finding_of(_case(suite, case), _environment(suite), number * 100 + suite, _run_id, _at)


# ---- processes ----


def postmaster(url: str) -> int:
    """The number of the process that PostgreSQL's others are children of."""
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone()
        assert row is not None
        return int(Path(row[0], "postmaster.pid").read_text().splitlines()[0])


def cpu_seconds(number: int, *, answering: bool = False) -> float:
    """What a process used so far, and its children: a server has one that judges, a database those that answer.

    With `answering` it is of a server, and what judges is left out.
    """
    import psutil

    process = psutil.Process(number)
    times = process.cpu_times()
    used = times.user + times.system + (0.0 if answering else times.children_user + times.children_system)
    for one in process.children(recursive=True):
        try:
            if answering and not any("serving_process" in part for part in one.cmdline()):
                continue
            used += sum(one.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return float(used)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    if sys.argv[1:2] == ["--as-readers"]:
        read(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6]))
    elif sys.argv[1:2] == ["--as-sender"]:
        send(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
    else:
        sys.exit(main())
