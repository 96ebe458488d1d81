"""Fixtures: servers of models, on loopback, that any test can ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from scripted import client
from scripted.client import ScriptedServer

if TYPE_CHECKING:
    from certificates import Authority


@pytest.fixture(scope="session")
def _scripted_process() -> Iterator[ScriptedServer]:
    with client.running() as server:
        yield server


@pytest.fixture
def scripted_server(_scripted_process: ScriptedServer) -> Iterator[ScriptedServer]:
    """A server that plays what tests write, with known instants; empty again after each test."""
    yield _scripted_process
    _scripted_process.reset()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Certificates for servers on loopback, and the file that clients check them with."""
    import certificates  # and a library of cryptography, which few tests need

    return certificates.make_authority(tmp_path_factory.mktemp("authority"))
