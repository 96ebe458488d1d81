"""Records as a real run makes them, and a store to put them in.

`BENCHWRIGHT_TEST_STORE=postgresql://...` runs the tests that take `store` or `url`, and no others, on that database;
it is emptied.
"""

from __future__ import annotations

import os
import random
from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Metric,
    Result,
    Revision,
    Run,
    Samples,
    Status,
    Target,
)
from benchwright.store.sql import SqlStore

ENVIRONMENT = Environment(
    machine={"cpu": "Example 9000", "cores": 2},
    system={"os": "Linux", "architecture": "x86_64", "kernel": "6.1"},
    runtimes={"onnxruntime": "1.23"},
    packages={f"package-{i}": f"1.{i}" for i in range(40)},
    knobs={"governor": "performance", "load": 0.25},
    collected_at="2026-03-01T10:00:00+00:00",
)
METRICS = (("latency", "s", Better.LOWER), ("latency_p50", "s", Better.LOWER), ("throughput", "/s", Better.HIGHER))

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Another database changes nothing for the tests that do not take it."""
    if not os.environ.get("BENCHWRIGHT_TEST_STORE"):
        return
    idle = [item for item in items if not {"url", "fresh_url"} & {*getattr(item, "fixturenames", ())}]
    config.hook.pytest_deselected(items=idle)
    items[:] = [item for item in items if item not in idle]


@pytest.fixture(scope="session")
def fresh_url() -> Callable[[Path], str]:
    """`fresh_url(folder)`: where a store may be made, in that folder or in the database that is given."""
    return _fresh_url


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where a store may be made."""
    return _fresh_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    """An empty store."""
    opened = SqlStore(url)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def make_result() -> MakeResult:
    """`make_result("id", value=2.0)`: a result whose numbers follow from `value`."""
    return _result


@pytest.fixture(scope="session")
def make_run() -> MakeRun:
    """`make_run("id", results=...)`."""
    return _run


def _fresh_url(folder: Path) -> str:
    shared = os.environ.get("BENCHWRIGHT_TEST_STORE")
    if not shared:
        return f"sqlite:///{folder / 'results.db'}"
    from sqlalchemy import create_engine, text

    engine = create_engine(shared.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return shared


def _result(
    name: str,
    *,
    value: float = 1.0,
    case: str = "model.onnx",
    batch: int = 1,
    number: int = 0,
    minute: int = 0,
    status: Status = Status.OK,
    samples: int = 0,
    revision: Revision | None = None,
    environment: Environment = ENVIRONMENT,
) -> Result:
    ok = status is Status.OK
    return Result(
        id=name,
        case=Case(
            name=case,
            target=Target(runtime="onnxruntime", uri=f"models/{case}"),
            params={"runtime": "onnxruntime", "batch_size": batch},
        ),
        round=number,
        status=status,
        environment=environment,
        started_at=f"2026-03-01T{10 + minute // 60:02}:{minute % 60:02}:00.000250+00:00",
        duration=2.5,
        revision=revision,
        metrics=tuple(_metric(*about, value) for about in METRICS) if ok else (),
        samples=(_samples(samples),) if samples else (),
        instrument={"clock_cost_ns": 41, "verdict": "trustworthy"},
        error=None if ok else Failure(kind="exit", message="the worker died"),
    )


def _metric(name: str, unit: str, better: Better, value: float) -> Metric:
    low, high = value * 0.99, value * 1.01
    return Metric(
        name=name,
        unit=unit,
        better=better,
        estimate=Estimate(point=value, low=low, high=high, method="order statistics"),
        count=1000,
        values=(value, value * 1.001),
    )


def _samples(count: int) -> Samples:
    draw = random.Random(count)
    latency = [draw.randrange(17_000, 19_000) for _ in range(count)]
    end = list(accumulate(latency))
    columns = {"latency": array("q", latency), "end": array("q", end)}
    return Samples(copy=0, calls=count, loops=1, elapsed=end[-1], columns=columns)


def _run(
    name: str,
    *,
    results: tuple[Result, ...] = (),
    minute: int = 0,
    tags: tuple[str, ...] = (),
    commit: str = "",
) -> Run:
    return Run(
        id=name,
        started_at=f"2026-03-01T{10 + minute // 60:02}:{minute % 60:02}:00+00:00",
        harness="1.0",
        command=("benchwright", "run", "model.onnx"),
        revision=Revision(vcs="git", id=commit) if commit else None,
        results=results,
        tags=tags,
    )
