"""Projects as PerfZero's users have them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.compat.perfzero import shims
from perfzero_project import DEMO, TENSORFLOW, VECTOR, Project


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Project]:
    """`make_project(shim=True)` is a project that is called through the paths PerfZero's users know."""

    def make(*, shim: bool = False) -> Project:
        folder = tmp_path / "project"
        folder.mkdir()
        site = tmp_path / "site"
        site.mkdir()
        (site / "tensorflow.py").write_text(TENSORFLOW)
        if shim:
            shims.write(folder)
        project = Project(folder=folder, data=tmp_path / "data", site=site, shim=shim)
        project.add("demo", "demo_bench.py", DEMO)
        return project

    return make


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    """A project that is called as `benchwright perfzero`."""
    return make_project()


@pytest.fixture(scope="session")
def vector() -> bytes:
    """The bytes that a report of `benchmark_ok` has."""
    return VECTOR
