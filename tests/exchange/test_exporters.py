"""Runs as other tools read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import series_of_runs as runs
from benchwright import exchange
from benchwright.records import Case, Run, Status, Target
from benchwright.store import open_store

# As Bencher's manual describes the format.
BMF = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(scope="module")
def run() -> Run:
    first: Run = runs.run_of(1, 0.5)
    other = Case(name=runs.CASE.name, target=Target(runtime="torch", uri="a"), params={"batch_size": 8})
    more = runs.run_of(1, 0.25, case=other).results
    failed = replace(more[0], id="failed", status=Status.FAILED, case=replace(other, name="broken"))
    return replace(first, results=(*first.results, *more, failed))


def test_bmf(run: Run) -> None:
    told = json.loads(exchange.export_run(run, "bmf"))
    jsonschema.validate(told, BMF)
    assert told.keys() == {f"bench.py::encode runtime={name} batch_size=8" for name in ("python", "torch")}
    measures = told["bench.py::encode runtime=python batch_size=8"]
    assert measures.keys() == {"latency", "latency-p99", "throughput", "rss-peak"}
    assert measures["latency"]["value"] == pytest.approx(0.5e9, rel=1e-3)  # nanoseconds, of two rounds
    assert measures["latency"]["lower_value"] < measures["latency"]["value"] < measures["latency"]["upper_value"]
    assert measures["throughput"]["value"] == pytest.approx(2.0, rel=1e-3)


def test_github_action_benchmark(run: Run) -> None:
    smaller = json.loads(exchange.export_run(run, "customSmallerIsBetter"))
    bigger = json.loads(exchange.export_run(run, "customBiggerIsBetter"))
    assert {entry["name"].rpartition(" - ")[2] for entry in smaller} == {"latency_p50", "latency_p99", "rss_peak"}
    assert [entry["name"].rpartition(" - ")[2] for entry in bigger] == ["throughput", "throughput"]
    first = smaller[0]
    assert first.keys() == {"name", "unit", "value", "range", "extra"}
    assert (first["unit"], first["value"]) == ("s", pytest.approx(0.5, rel=1e-3))
    assert first["range"].startswith("± ") and first["range"].endswith(" ms")
    assert "2 rounds" in first["extra"] and run.id in first["extra"]


def test_cases_that_are_called_the_same_stay_apart(run: Run) -> None:
    twin = [
        replace(r, id=f"{r.id}-", case=replace(r.case, load=replace(r.case.load, workers=2))) for r in run.results[:2]
    ]
    told = json.loads(exchange.export_run(replace(run, results=(*run.results[:2], *twin)), "bmf"))
    assert told.keys() == {"bench.py::encode batch_size=8", "bench.py::encode batch_size=8 #2"}


def test_the_verb(inside: Callable[..., Any], tmp_path: Path) -> None:
    with closing(open_store(tmp_path / ".benchwright" / "results.db")) as store:
        runs.fill(store, [0.5, 0.6])
    printed = inside("export", "--format", "bmf", "last~1", "-")
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout)["bench.py::encode batch_size=8"]["latency"]["value"] == pytest.approx(
        5e8, rel=1e-3
    )
    assert inside("export", "--format", "customBiggerIsBetter", "out.json").returncode == 0
    assert len(json.loads((tmp_path / "out.json").read_text())) == 1
    assert inside("export", "--format", "jsonl", "last", "lines.txt").returncode == 0
    assert (tmp_path / "lines.txt").read_text().count("\n") == 1
    for wrong, said in (
        (["--format", "bmf", "out.json"], "is there already"),
        (["--format", "bmf", "--all", "all.json"], "holds one run, not 2"),
        (["--format", "bmff", "-"], "did you mean 'bmf'?"),
        (["--format", "parquet", "-"], "name a file"),
    ):
        refused = inside("export", *wrong)
        assert refused.returncode == 2 and said in refused.stderr, refused.stderr
