"""The sample store, opened once, and small ones made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import sample_store
from benchwright.records import Run
from benchwright.store.sql import SqlStore


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    """The sample store. Nothing may be added to it."""
    path = tmp_path_factory.mktemp("views") / "sample.db"
    sample_store.build(path)
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
