"""Fixtures: servers of models, on loopback, that any test can ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from scripted import client
from scripted.client import ScriptedServer
from served import servers
from served.servers import KserveServer, LitServer, LlamaServer, TransformersServer

if TYPE_CHECKING:
    from benchwright.records import Run
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
def served_sweep(_scripted_process: ScriptedServer) -> Run:
    """A run of 1 to 8 users of a server that serves three at a time: real requests, every chunk kept."""
    return _measured(_scripted_process, "measure_sweep")


@pytest.fixture(scope="session")
def served_rates(_scripted_process: ScriptedServer) -> Run:
    """A run at three rates with an objective, the last beyond what the server can serve."""
    return _measured(_scripted_process, "measure_rates")


@pytest.fixture(scope="session")
def served_failures(_scripted_process: ScriptedServer) -> Run:
    """A run in which some requests are throttled, cut off, or fail within the stream."""
    return _measured(_scripted_process, "measure_failures")


@pytest.fixture(scope="session")
def served_embeddings(_scripted_process: ScriptedServer) -> Run:
    """A run of embeddings: answers that are not streamed."""
    return _measured(_scripted_process, "measure_embeddings")


def _measured(server: ScriptedServer, name: str) -> Run:
    import served_runs  # not before it is needed: it measures

    run: Run = getattr(served_runs, name)(server)
    assert all(result.status == "ok" for result in run.results), [result.error for result in run.results]
    server.reset()
    return run


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Certificates for servers on loopback, and the file that clients check them with."""
    import certificates  # and a library of cryptography, which few tests need

    return certificates.make_authority(tmp_path_factory.mktemp("authority"))


# Real ones, with tiny models that are made for them. They start when they are first asked for, once in each process of
# tests (it costs a second of CPU time), so that nobody else's requests disturb what a test measures.


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """llama.cpp's own server with a random Llama."""
    with servers.llama(tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture(scope="session")
def kserve_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KserveServer]:
    """MLServer: the Open Inference Protocol over HTTP and gRPC."""
    with servers.mlserver(tmp_path_factory.mktemp("mlserver")) as server:
        yield server


@pytest.fixture(scope="session")
def lit_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LitServer]:
    """LitServe: a plain POST, and a chat."""
    with servers.litserve(tmp_path_factory.mktemp("litserve")) as server:
        yield server


@pytest.fixture(scope="session")
def transformers_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TransformersServer]:
    """`transformers serve`, for tests that are marked `soak`: `make test` does not install it."""
    with servers.transformers(tmp_path_factory.mktemp("transformers")) as server:
        yield server
