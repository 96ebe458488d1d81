"""Suites that other people published, written for pytest-benchmark: taken from their source archives, run unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from benchwright.records import Status
from benchwright.store import open_configured_store

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("package", "needs", "tests", "least"),
    [
        ("jsonpath-ng==1.16.0", ("jsonpath-ng==1.16.0",), "tests/benchmarks", 18),
        ("cattrs==26.2.1", ("cattrs==26.2.1", "orjson", "msgspec"), "bench", 50),
    ],
)
def test_a_published_suite_runs_unchanged(
    package: str, needs: tuple[str, ...], tests: str, least: int, tmp_path: Path
) -> None:
    name = package.partition("==")[0]
    _run([*PIP, "download", "--quiet", "--no-deps", "--no-binary", name, "--dest", str(tmp_path / "sdist"), package])
    [archive] = (tmp_path / "sdist").iterdir()
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    [folder] = [path for path in tmp_path.iterdir() if path.is_dir() and path.name != "sdist"]
    _run([*PIP, "install", "--quiet", "--target", str(tmp_path / "libraries"), *needs])
    told = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(tmp_path / "libraries")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "benchwright.pytest_plugin", "-p", "no:cacheprovider"]
    command += ["--benchmark-max-time=0.005", f"--benchwright-store={tmp_path / 'results.db'}", tests]
    ended = subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, check=False, timeout=900)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    with closing(open_configured_store(str(tmp_path / "results.db"))) as store:
        results = store.run(store.find("last")).results
    assert len(results) >= least and {result.status for result in results} == {Status.OK}


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=600)
