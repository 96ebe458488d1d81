"""`benchwright store`: info, prune, copy."""

from __future__ import annotations

import json
import subprocess
from array import array
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchwright.records import Case, Environment, Result, Run, Samples, Status, Target
from benchwright.store import open_store

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A store with one old run."""
    began = "2020-01-01T00:00:00+00:00"
    columns = {name: array("q", range(100)) for name in ("latency", "end")}
    result = Result(
        id="r",
        case=Case(name="model.onnx", target=Target(runtime="fake", uri="")),
        round=0,
        status=Status.OK,
        environment=Environment(machine={}, system={}),
        started_at=began,
        duration=1.0,
        samples=(Samples(copy=0, calls=100, loops=1, elapsed=99, columns=columns),),
    )
    file = tmp_path / "results.db"
    with closing(open_store(file)) as store:
        store.add_run(Run(id="old", started_at=began, harness="1", results=(result,)))
    return file


def test_info_tells_what_a_store_holds(inside: Call, database: Path) -> None:
    told = json.loads(inside("store", "info", "--store", str(database), "--json").stdout)["data"]
    assert (told["kind"], told["place"], told["counts"]["runs"]) == ("sqlite", str(database), 1)
    assert told["bytes"] > 0 and told["sample_bytes"] > 0
    text = inside("store", "info", "--store", str(database))
    assert text.returncode == 0 and "sqlite" in text.stdout and "runs" in text.stdout
    missing = inside("store", "info", "--store", "typo.db")
    assert missing.returncode == 2 and "no such store" in missing.stderr


def test_prune_says_what_goes(inside: Call, database: Path, tmp_path: Path) -> None:
    asked = ("store", "prune", "--store", str(database))
    bare = inside(*asked)
    assert bare.returncode == 2 and "say what may be removed" in bare.stderr
    would = inside(*asked, "--samples-older-than", "90d", "--dry-run")
    assert "raw samples of 1 other results would be folded" in would.stdout
    (tmp_path / "benchwright.toml").write_text('[retention]\nsamples = "90d"\n')
    done = json.loads(inside(*asked, "--json").stdout)["data"]
    assert (done["runs"], done["aged"], done["dry_run"]) == ([], 1, False)
    gone = inside(*asked, "--runs-older-than", "1y")
    assert "1 runs with 1 results removed" in gone.stdout
    wrong = inside(*asked, "--runs-older-than", "soon")
    assert wrong.returncode == 2 and "retention of runs" in wrong.stderr


def test_copy_says_what_arrived(inside: Call, database: Path) -> None:
    first = inside("store", "copy", str(database), "new.db")
    assert first.returncode == 0, first.stderr
    assert "1 runs: 1 added, 0 completed, 0 there already" in first.stdout
    assert "all 1 results compared: the same" in first.stdout
    again = json.loads(inside("store", "copy", str(database), "new.db", "--json").stdout)["data"]
    assert (again["runs"], again["added"], again["differing"]) == (1, 0, [])
    with closing(open_store(database)) as store:
        store.add_run(Run(id="two", started_at="2020-01-02T00:00:00Z", harness="1"))
    with closing(open_store(database.parent / "new.db")) as store:
        store.add_run(Run(id="two", started_at="2020-01-02T00:00:00Z", harness="1", reason="another"))
    other = inside("store", "copy", str(database), "new.db")
    assert other.returncode == 1 and "the other store holds another run two" in other.stdout
    assert inside("store", "copy", str(database), str(database)).returncode == 2
