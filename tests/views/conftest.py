"""The sample store, opened once, and small ones made by hand."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchwright.records import Run
from benchwright.store.sql import SqlStore

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def project() -> SimpleNamespace:
    """What the sample store was made from: tests/pages/sample_project.py."""
    return SimpleNamespace(**runpy.run_path(str(TESTS / "pages" / "sample_project.py")))


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    """The sample store. Nothing may be added to it."""
    path = tmp_path_factory.mktemp("views") / "sample.db"
    runpy.run_path(str(TESTS / "pages" / "sample_store.py"))["build"](path)
    opened = SqlStore(f"sqlite:///{path}")
    yield opened
    opened.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Callable[[Sequence[Run]], SqlStore]]:
    """`kept([run, ...])`: a store that holds these runs."""
    opened = SqlStore(f"sqlite:///{tmp_path / 'small.db'}")

    def keep(runs: Sequence[Run]) -> SqlStore:
        for run in runs:
            opened.add_run(run)
        return opened

    yield keep
    opened.close()
