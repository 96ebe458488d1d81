"""A cloud for tests of hosts: one for all of them, because it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import leased_machine
from aws_faults import Faults
from leased_machine import LeasedMachines


@pytest.fixture(scope="session")
def rented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LeasedMachines]:
    with leased_machine.running(tmp_path_factory.mktemp("rented"), day=f"{datetime.now(UTC):%Y-%m-%d}") as found:
        yield found


@pytest.fixture
def machines(rented: LeasedMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LeasedMachines]:
    """The cloud with a ledger of each test's own; no test leaves a machine."""
    for name, value in rented.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BENCHWRIGHT_CLOUD_LEDGER", str(tmp_path / "ledger.jsonl"))
    rented.cloud.faults = Faults()
    yield rented
    assert rented.alive() == []
