"""The Open Inference Protocol over gRPC: real messages, every kind of failure, TLS, several connections."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import pytest

import grpc_peer
from benchwright.errors import LoadError, MeasureError
from benchwright.records import Expected, Inputs, Load, Mode
from benchwright.worker.endpoints.client import ClientSettings
from benchwright.worker.endpoints.grpc_client import STREAMS, GrpcClient, classify
from benchwright.worker.endpoints.kserve.grpc import GrpcTensors
from benchwright.worker.endpoints.kserve.messages import INFER
from benchwright.worker.endpoints.kserve.places import find_place
from benchwright.worker.endpoints.reading import read_entry
from benchwright.worker.endpoints.traffic import Outcome
from endpoint_runs import make_case, run_endpoint
from grpc_peer import GrpcPeer
from scripted.client import closed_port
from served.servers import KserveServer

if TYPE_CHECKING:
    from certificates import Authority

FEED: dict[str, Any] = {"x": np.zeros((1, 4), np.float32), "n": np.zeros((1, 2), np.int64)}


@pytest.fixture(scope="module")
def peer(authority: Authority) -> Iterator[GrpcPeer]:
    with grpc_peer.running(*authority.sign("localhost")) as server:
        yield server


@contextmanager
def calling(peer: GrpcPeer, model: str, **settings: Any) -> Iterator[tuple[GrpcClient, GrpcTensors]]:
    place = find_place(f"grpc://{peer.place}/{model}")
    client = GrpcClient(ClientSettings(address=place.address, **settings), method=INFER, headers={})
    try:
        client.run(client.open_connections(1))
        yield client, GrpcTensors(place)
    finally:
        client.close()


def _outcome(peer: GrpcPeer, model: str, feed: Any = None, **settings: Any) -> tuple[Outcome, str]:
    with calling(peer, model, **settings) as (client, dialect):
        entry = client.call(dialect.pack(feed or FEED).body)
        read = read_entry(client.traffic, entry, dialect)
    return read.outcome, read.reason


@pytest.mark.parametrize("model", ["plus", "plus/2", "typed"])
def test_a_load_is_sent_and_read(peer: GrpcPeer, model: str) -> None:
    load = Load(samples=30, workers=3, warmup=0.0)
    run = run_endpoint(
        make_case("kserve", f"grpc://{peer.place}/{model}", inputs=Inputs(batch_size=2, count=2), load=load)
    )
    assert run.samples.calls == 30 and run.errors == {} and run.warnings == []
    assert run.details["inputs"] == {"x": "float32[2x4]", "n": "int64[2x2]"}
    assert run.details["model_versions"] == ["1", "2"] and run.details["tensors"] == "binary"
    columns = run.samples.columns
    assert all(service > 0 for service in columns["service"]) and set(columns["status"]) == {200}
    assert set(columns["first_byte"]) == {-1}  # the library hands over whole messages
    assert run.details["client"]["connections_opened"] == 1


@pytest.mark.parametrize("model", ["plus", "typed"])
def test_answers_are_compared(peer: GrpcPeer, model: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "o.npz", x=np.full((1, 4), 3.0, np.float32), n=np.full((1, 2), 8))
    case = make_case("kserve", f"grpc://{peer.place}/{model}", inputs=Inputs(values={"x": (2.0,), "n": (7.0,)}))
    expected = Expected(outputs={name: f"{tmp_path / 'o.npz'}::{name}" for name in ("x", "n")})
    run = run_endpoint(case, expected=expected)
    assert run.report.failure is None and run.warnings == [] and set(run.details["answers"]) == {"x", "n"}


@pytest.mark.parametrize(
    ("model", "outcome", "why"),
    [
        ("invalid", Outcome.STATUS, "gRPC INVALID_ARGUMENT: unexpected shape for input 'x'"),
        ("broken", Outcome.STATUS, "gRPC INTERNAL: the engine died"),
        ("busy", Outcome.THROTTLED, "gRPC RESOURCE_EXHAUSTED: too many requests"),
        ("away", Outcome.CUT, "gRPC UNAVAILABLE: the model is being unloaded"),
        ("secret", Outcome.STATUS, "gRPC UNAUTHENTICATED"),
        ("chatty", Outcome.STATUS, "gRPC UNKNOWN: no no"),
        ("huge", Outcome.OVERSIZED, "larger than max"),
        ("nonsense", Outcome.MALFORMED, "cut off, or is none"),
        ("short", Outcome.MALFORMED, "elements, not those of"),
    ],
)
def test_failures_have_their_kind_and_their_reason(peer: GrpcPeer, model: str, outcome: Outcome, why: str) -> None:
    found, reason = _outcome(peer, model)
    assert found is outcome and why in reason and len(reason) <= 300


def test_a_request_has_a_deadline(peer: GrpcPeer) -> None:
    outcome, reason = _outcome(peer, "slow", timeout=0.2)
    assert outcome is Outcome.TIMEOUT and "DEADLINE_EXCEEDED" in reason


def test_a_request_that_the_server_finds_too_large(peer: GrpcPeer) -> None:
    outcome, _ = _outcome(peer, "plus", {"x": np.zeros((1, 2**19), np.float32)})
    assert outcome is Outcome.TOO_LONG


def test_a_missing_output_is_found(peer: GrpcPeer) -> None:
    with pytest.raises(MeasureError, match="no output 'n', only x"):
        run_endpoint(make_case("kserve", f"grpc://{peer.place}/single"))


@pytest.mark.parametrize(("model", "why"), [("absent", "gRPC NOT_FOUND: no such model"), ("mute", "understood")])
def test_a_model_that_is_not_described(peer: GrpcPeer, model: str, why: str) -> None:
    with pytest.raises(LoadError, match=why):
        run_endpoint(make_case("kserve", f"grpc://{peer.place}/{model}"))


def test_no_server_is_told_as_such() -> None:
    with closed_port() as port, pytest.raises(LoadError, match=r"no connection to grpc://.*refused"):
        run_endpoint(make_case("kserve", f"grpc://127.0.0.1:{port}/plus"))


def test_a_server_that_goes_away_is_counted(authority: Authority) -> None:
    with grpc_peer.running(*authority.sign("localhost")) as peer, calling(peer, "plus") as (client, dialect):
        body = dialect.pack(FEED).body
        assert client.call(body) == 0 and client.traffic.outcome[0] == Outcome.OK
        peer.end()
        client.call(body)
        assert client.traffic.outcome[0] in (Outcome.CUT, Outcome.REFUSED)
        client.call(body)
        assert client.traffic.outcome[0] == Outcome.REFUSED and "refused" in client.traffic.reasons[0].lower()


def test_the_key_goes_along_as_metadata(peer: GrpcPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESAME", "sesame")
    case = make_case("kserve", f"grpc://{peer.place}/secret", key_env="SESAME")
    run = run_endpoint(case)
    assert run.errors == {} and "sesame" not in str(run.details).lower().replace(str(case.target.uri), "")


def test_certificates_are_checked(peer: GrpcPeer, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case("kserve", f"grpcs://{peer.secure}/plus")
    with pytest.raises(LoadError, match="no connection to grpcs://") as caught:
        run_endpoint(case)
    assert "SSL_CERT_FILE" in caught.value.remedy
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert run_endpoint(case).errors == {}


def test_many_requests_at_a_time_have_several_connections(peer: GrpcPeer) -> None:
    users = STREAMS + 1
    case = make_case("kserve", f"grpc://{peer.place}/plus", load=Load(samples=2 * users, workers=users, warmup=0.0))
    run = run_endpoint(case)
    assert run.errors == {} and run.details["client"]["connections_opened"] == 2
    one = make_case("kserve", f"grpc://{peer.place}/plus", load=case.load, connections=1)
    assert run_endpoint(one).details["client"]["connections_opened"] == 1


def test_an_open_loop_keeps_its_schedule(peer: GrpcPeer) -> None:
    load = Load(mode=Mode.OPEN, rate=100.0, samples=15, warmup=0.0)
    run = run_endpoint(make_case("kserve", f"grpc://{peer.place}/plus", load=load))
    columns = run.samples.columns
    assert run.samples.calls == 15 and run.errors == {}
    assert all(late >= 0 for late in columns["lateness"])
    assert list(columns["scheduled"]) == sorted(columns["scheduled"])


@pytest.mark.parametrize(
    ("code", "details", "outcome"),
    [
        ("UNAVAILABLE", "failed to connect to all addresses; Connection refused", Outcome.REFUSED),
        ("UNAVAILABLE", "Socket closed", Outcome.CUT),
        ("INTERNAL", "Received RST_STREAM with error code 2", Outcome.CUT),
        ("CANCELLED", "", Outcome.CUT),
        ("DATA_LOSS", "", Outcome.MALFORMED),
        ("NOT_FOUND", "", Outcome.STATUS),
        ("RESOURCE_EXHAUSTED", "CLIENT: Received message larger than max (70000000 vs. 67108864)", Outcome.OVERSIZED),
    ],
)
def test_codes_become_outcomes(code: str, details: str, outcome: Outcome) -> None:
    found, reason = classify(grpc.StatusCode[code], details)
    assert found is outcome and reason == f"gRPC {code}: {details}".rstrip(": ")


def test_mlserver_is_measured_over_grpc(kserve_server: KserveServer) -> None:
    uri = f"grpc://{kserve_server.grpc}/{kserve_server.model}"
    load = Load(samples=20, workers=2, warmup=0.0)
    begin = time.perf_counter_ns()
    run = run_endpoint(make_case("kserve", uri, inputs=Inputs(batch_size=3), load=load))
    assert run.errors == {} and run.samples.calls == 20
    assert run.details["inputs"] == {"x": "float32[3x4]", "n": "int64[3x2]", "s": "str[3]"}
    assert run.samples.elapsed < time.perf_counter_ns() - begin
