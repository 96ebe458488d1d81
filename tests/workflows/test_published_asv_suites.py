"""A suite that other people published for asv, taken from its source archive: run unchanged, and held against asv."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import benchwright
from benchwright.records import Status
from benchwright.store import open_store
from benchwright.worker.runtimes.asv.parameters import value_of_label

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]  # packages are fetched
PACKAGE = "xarray==2026.9.0"
NEEDS = ("numpy==2.2.*", "pandas", "netcdf4", "scipy", "dask", "flox", "cftime")  # what the suite imports
PART = "accessors.DateTimeAccessor.time_year|combine.Combine1d.time_combine_by_coords"
WIDE = 5.0  # times: machines of tests are busy, and asv measures later than we do


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSuite:
    """The folder of an `asv.conf.json`, and an environment that holds the project's needs, asv and Benchwright."""

    folder: Path
    python: Path
    home: Path

    def call(self, *arguments: str) -> str:
        """What `python -m ...` prints."""
        ended = subprocess.run(
            [self.python, "-m", *arguments],
            cwd=self.folder,
            env=os.environ | {"HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
        return ended.stdout


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> PublishedSuite:
    folder = tmp_path_factory.mktemp("published")
    name = PACKAGE.partition("==")[0]
    python = folder / "environment" / "bin" / "python"
    _run([sys.executable, "-m", "venv", str(folder / "environment")])
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "asv==0.6.6", "virtualenv", PACKAGE, *NEEDS])
    _run([*pip, "download", "--quiet", "--no-deps", "--no-binary", name, "--dest", str(folder / "sdist"), PACKAGE])
    _lend_benchwright(python)
    [archive] = (folder / "sdist").iterdir()
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "unpacked", filter="data")
    [source] = (folder / "unpacked").iterdir()
    shutil.rmtree(source / name)  # the wheel is measured
    git = ["git", "-C", str(source), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    _run([*git, "init", "-q", "-b", "main"])
    _run([*git, "add", "--all"])
    _run([*git, "commit", "-q", "-m", "Unpack"])
    (folder / "home").mkdir()
    return PublishedSuite(folder=source / "asv_bench", python=python, home=folder / "home")


def test_the_same_benchmarks_are_found_and_take_as_long_as_asv_says(suite: PublishedSuite) -> None:
    commit = subprocess.run(
        ["git", "-C", suite.folder, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    suite.call("asv", "machine", "--yes")
    how = ("--python=same", "--set-commit-hash", commit.stdout.strip(), "--bench", PART)
    suite.call("asv", "run", *how)
    results = suite.folder / ".asv" / "results"
    known: dict[str, Any] = json.loads((results / "benchmarks.json").read_text())
    del known["version"]
    # asv keeps the description of what it did not run, too.
    theirs = {key for name, one in known.items() for key in _keys(name, one["param_names"], one["params"])}

    listed = json.loads(suite.call("benchwright", "list", "asv.conf.json", "--environment", "here", "--json"))["data"]
    ours = [_key(row["name"], row["params"]) for row in listed]
    assert len(ours) == len(set(ours)) > 500
    assert set(ours) == theirs

    suite.call("benchwright", "run", f"asv.conf.json::{PART}", "--environment", "here", "--rounds", "2")
    with closing(open_store(str(suite.folder / ".benchwright" / "results.db"))) as store:
        run = store.run(store.find("last"))
    assert {result.status for result in run.results} == {Status.OK}
    expected = _asv_times(results, known)
    assert len(expected) == 3
    measured = {_key(result.case.name, result.case.params): result.metric("latency_p50") for result in run.results}
    assert set(measured) == set(expected)
    for key, metric in measured.items():
        assert metric is not None and 1 / WIDE < metric.estimate.point / expected[key] < WIDE, key


def _asv_times(results: Path, known: dict[str, Any]) -> dict[str, float]:
    """asv's medians in seconds, by case."""
    [file] = [path for path in results.glob("*/*.json") if path.name != "machine.json"]
    content = json.loads(file.read_text())
    found: dict[str, float] = {}
    for name, row in content["results"].items():
        values = dict(zip(content["result_columns"], row, strict=False))["result"]
        found |= dict(zip(_keys(name, known[name]["param_names"], known[name]["params"]), values, strict=True))
    return found


def _keys(name: str, names: list[str], columns: list[list[str]]) -> list[str]:
    combinations = itertools.product(*columns)
    return [_key(name, dict(zip(names, map(value_of_label, each), strict=True))) for each in combinations]


def _key(name: str, params: Any) -> str:
    return f"{name} {json.dumps({key: value for key, value in params.items() if key != 'environment'})}"


def _lend_benchwright(python: Path) -> None:
    """Makes this very Benchwright and what it needs importable in another environment, behind what is there."""
    [packages] = (python.parent.parent / "lib").glob("python*/site-packages")
    source = Path(benchwright.__file__).parent.parent
    (packages / "benchwright.pth").write_text(f"{source}\n{sysconfig.get_path('purelib')}\n")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=900)
