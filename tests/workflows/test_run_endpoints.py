"""`bw.run` of served models, from the address to the stored result: real servers, and one whose instants are known."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import benchwright as bw
from benchwright.errors import BenchwrightError, LoadError
from benchwright.execution.attempt import Attempt
from benchwright.execution.hosts.local import LocalHost
from benchwright.records import Arrivals, Load, Mode, Objective, Result, Status
from benchwright.store import open_store
from benchwright.units import format_value
from benchwright.worker.endpoints import client
from endpoint_runs import make_case, run_endpoint
from scripted import events, faults
from scripted.client import ScriptedServer, closed_port
from scripted.events import Usage

if TYPE_CHECKING:
    from certificates import Authority
    from served.servers import LlamaServer, TransformersServer

CHAT = "/v1/chat/completions"
SHORT = Load(samples=12, warmup=0.05, workers=2)


def _points(result: Result) -> dict[str, float]:
    return {metric.name: metric.estimate.point for metric in result.metrics}


def _run(url: str, tmp_path: Path, load: Load = SHORT, **given: object) -> Result:
    store = f"sqlite:///{tmp_path / 'results.db'}"
    run = bw.run(url, load=load, rounds=1, store=store, **given)  # type: ignore[arg-type]
    (result,) = run.record.results
    return result


@pytest.mark.parametrize("route", ["chat/completions", "completions"])
@pytest.mark.parametrize("stream", [True, False])
def test_llama_cpp_counts_as_we_do(llama_server: LlamaServer, tmp_path: Path, route: str, stream: bool) -> None:
    options = {"tokenizer": str(llama_server.tokenizer), "ignore_eos": True, "stream": stream}
    params = {"model": ["tiny"], "input_tokens": ["40"], "output_tokens": [16]}
    result = _run(f"{llama_server.url}/v1/{route}", tmp_path, params=params, options=options)
    points = _points(result)
    assert result.status is Status.OK and points["errors"] == 0.0, (result.error, result.details)
    assert points["output_tokens"] == 16
    assert 40 <= points["input_tokens"] <= 60  # the template adds some
    assert points["ttft"] <= points["e2e"] <= points["service"] <= points["latency"]
    assert ("itl" in points) is stream
    assert points["output_tokens_rate"] == pytest.approx(16 * points["throughput"])


def test_a_server_s_own_count_makes_the_prompts(llama_server: LlamaServer, tmp_path: Path) -> None:
    params = {"model": ["tiny"], "input_tokens": [100], "output_tokens": [2]}
    result = _run(llama_server.url + CHAT, tmp_path, params=params)
    assert _points(result)["input_tokens"] == pytest.approx(100, abs=8)


def test_embeddings_have_no_tokens_out(llama_server: LlamaServer, tmp_path: Path) -> None:
    result = _run(f"{llama_server.url}/v1/embeddings", tmp_path, params={"model": ["tiny"]})
    points = _points(result)
    assert result.status is Status.OK, result.error
    assert points["latency_p50"] > 0
    assert "ttft" not in points and "output_tokens_rate" not in points


def test_what_is_stored_is_what_was_measured(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    stage = scripted_server.play(events.stream(["a", "b"], usage=Usage(5, 2), gaps=[0, 2, 2]))
    result = _run(stage.url + CHAT, tmp_path, params={"model": ["m"]})
    store = open_store(f"sqlite:///{tmp_path / 'results.db'}")
    try:
        (kept,) = store.run(store.find("last")).results
    finally:
        store.close()
    assert kept.samples == result.samples and len(kept.samples[0].chunks["at"]) == 12 * 6
    assert kept.metrics == result.metrics


def test_copies_share_the_load_and_are_merged(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    stage = scripted_server.play(events.stream(["a"], usage=Usage(5, 1)))
    load = Load(mode=Mode.OPEN, rate=40.0, samples=20, warmup=0.05, copies=2)
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"]})
    assert [samples.calls for samples in result.samples] == [10, 10]
    bodies = [json.loads(seen.request.partition(b"\r\n\r\n")[2]) for seen in stage.log()]
    prompts = [body["messages"][0]["content"] for body in bodies]
    own, earlier = prompts[-20:], prompts[:-20]
    assert len({*own}) == 20 and not {*own} & {*earlier}, "every prompt is unlike the others"
    assert next(m for m in result.metrics if m.name == "errors").count == 20


def test_failures_of_all_copies_are_told(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    good, bad = events.stream(["a"], usage=Usage(5, 1)), faults.broken()
    stage = scripted_server.play(*[good] * 10, *[good, bad] * 100)
    result = _run(stage.url + CHAT, tmp_path, Load(samples=40, warmup=0.0, copies=2), params={"model": ["m"]})
    failed = sum(outcome != 0 for samples in result.samples for outcome in samples.columns["outcome"])
    told = result.details["errors"]
    assert (
        failed
        and isinstance(told, dict)
        and told["status"] == {"count": failed, "first": "HTTP 500: Internal Server Error"}
    )
    assert len(result.details["clients"]) == 2  # type: ignore[arg-type]


def test_nothing_but_failures_is_a_failure_without_times(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    good = events.stream(["a"], usage=Usage(5, 1))
    load = Load(samples=4, warmup=0.0)
    stage = scripted_server.play(*[good] * 5, faults.broken())
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"]})
    if result.status is Status.OK:  # the warm-up took fewer
        stage = scripted_server.play(*[good] * 4, faults.broken())
        result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"]})
    assert result.status is Status.FAILED and result.error is not None
    assert "HTTP 500" in result.error.message
    assert not any(metric.name.startswith(("ttft", "latency")) for metric in result.metrics)


def test_some_failures_are_told_and_break_objectives(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    good = events.stream(["a"], usage=Usage(5, 1))
    stage = scripted_server.play(*[good] * 40, faults.too_many(), *[good] * 3, cycles=False)
    load = Load(samples=60, warmup=0.0)
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"]}, objective=["errors<1%", "ttft_p50<10s"])
    points, told = _points(result), result.instrument["objectives"]
    assert isinstance(told, dict) and points["errors"] == pytest.approx(100 / 60)
    assert [verdict["met"] for verdict in told.values()] == [False, True]  # type: ignore[index, call-overload]
    assert points["goodput"] < points["throughput"] + 1e-9
    assert {warning.code for warning in result.warnings} >= {"requests-failed", "objective-missed"}
    assert result.details["errors"] == {
        "throttled": {"count": 1, "first": "HTTP 429: Rate limit reached (retry after 1)"}
    }


def test_a_server_that_is_not_there_says_so(tmp_path: Path) -> None:
    with closed_port() as port:
        result = _run(f"http://127.0.0.1:{port}{CHAT}", tmp_path, params={"model": ["m"]})
    assert result.status is Status.FAILED and result.error is not None
    assert "no connection to http://127.0.0.1" in result.error.message and result.error.remedy


def test_a_field_that_the_server_refuses_is_left_out(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    good = events.stream(["a"], usage=Usage(5, 1), placed="absent")
    stage = scripted_server.play(faults.unprocessable(), good)
    result = _run(stage.url + CHAT, tmp_path, params={"model": ["m"]})
    assert result.status is Status.OK
    assert "field-refused" in {warning.code for warning in result.warnings}
    requests = [seen.request for seen in stage.log()]
    assert b"stream_options" in requests[0] and not any(b"stream_options" in one for one in requests[1:])


def test_the_highest_rate_that_keeps_the_objectives_is_found(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    stage = scripted_server.play(events.stream(["a"], usage=Usage(5, 1), gaps=[0, 20]), slots=4)
    load = Load(mode=Mode.OPEN, find_rate=True, duration=6.0, warmup=0.05)
    objective = ["ttft_p50<200ms", "errors<20%"]
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"]}, objective=objective)
    points = _points(result)
    assert result.status is Status.OK
    assert 0 < points["max_rate"] < 250  # four slots of 20 ms serve 200 a second at most
    assert points["max_rate"] <= points["rate"] * 1.001  # it is what was sent
    instants = [at for timeline in result.timelines for at in timeline.seconds]
    assert all(0 <= at <= result.samples[0].elapsed / 1e9 for at in instants)  # of the load that is told, not of all
    search = result.details["search"]
    assert search["best_rate"] == points["max_rate"]  # type: ignore[index, call-overload]
    kept = [probe for probe in search["probes"] if probe["meets"]]  # type: ignore[index, call-overload, union-attr]
    assert kept and all(probe["values"]["ttft_p50"] < 0.2 for probe in kept)  # type: ignore[index, call-overload]


def test_a_key_is_sent_and_kept_nowhere(
    scripted_server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("MY_KEY", secret)
    stage = scripted_server.play(events.stream(["a"], usage=Usage(5, 1)))
    _run(stage.url + CHAT, tmp_path, params={"model": ["m"]}, options={"key_env": "MY_KEY"})
    assert all(b"Authorization: Bearer " + secret.encode() in seen.request for seen in stage.log())
    stage = scripted_server.play(faults.unauthorised())
    failed = _run(stage.url + CHAT, tmp_path, params={"model": ["m"]}, options={"key_env": "MY_KEY"})
    assert failed.status is Status.FAILED and secret not in repr(failed)
    assert all(secret.encode() not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("at", [0, 2, 290])
def test_a_key_that_the_server_repeats_is_hidden(
    scripted_server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("MY_KEY", secret)
    refused = faults.refusal(401, f"{'x' * at} no such key: Bearer {secret}")
    params, options = {"model": ["m"], "output_tokens": [1]}, {"key_env": "MY_KEY"}
    stage = scripted_server.play(refused)
    failed = _run(stage.url + CHAT, tmp_path, params=params, options=options)
    assert failed.error is not None and "401" in failed.error.message
    assert "sk-ver" not in repr(failed)
    sound = events.stream(["a"], usage=Usage(5, 1))
    stage = scripted_server.play(
        *[sound] * 20, *[refused, sound, events.of_events([events.event({"error": {"message": f"key {secret}"}})])] * 20
    )
    mixed = _run(stage.url + CHAT, tmp_path, Load(samples=60, warmup=0.0), params=params, options=options)
    assert mixed.status is Status.OK and _points(mixed)["errors"] > 0
    assert "sk-ver" not in repr(mixed)


def test_answers_without_text_are_told_of_and_are_not_good(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    said, silent = events.stream(["a", "b"], usage=Usage(5, 2)), events.stream([], usage=Usage(5, 0))
    stage = scripted_server.play(*[said] * 12, *[said, silent] * 10)
    bound = Objective(metric="ttft_p90", relation="<", bound=30.0)
    load = Load(samples=20, warmup=0.0, objectives=(bound,))
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"], "output_tokens": [2]})
    silent_ones = sum(text < 0 for text in result.samples[0].columns["first_text"])
    assert 0 < silent_ones < 20
    (told,) = [warning for warning in result.warnings if warning.code == "answers-empty"]
    assert told.seen.startswith(f"{silent_ones} of 20 answers hold no text")
    points = _points(result)
    assert points["goodput"] == pytest.approx(points["throughput"] * (20 - silent_ones) / 20)


def test_a_search_tells_of_the_rate_that_it_found(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    """Not of the rate that it tried last, at which everything may have failed."""
    stage = scripted_server.play(events.stream(["a"], usage=Usage(5, 1), gaps=[0, 4]), slots=2)
    bounds = (
        Objective(metric="ttft_p50", relation="<", bound=0.06),
        Objective(metric="errors", relation="<", bound=30),
    )
    load = Load(mode=Mode.OPEN, find_rate=True, objectives=bounds, duration=6.0, warmup=0.05)
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"], "output_tokens": [1]})
    assert result.status is Status.OK and _points(result)["max_rate"] > 0
    assert result.details["prepared_requests"] == result.samples[0].calls
    assert not {"requests-failed"} & {warning.code for warning in result.warnings}


def test_a_search_for_what_cannot_be_says_so(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    stage = scripted_server.play(events.stream(["a"], usage=Usage(5, 1), gaps=[0, 20]))
    bounds = tuple(Objective(metric=name, relation="<", bound=1e-4) for name in ("ttft_p50", "itl_p50"))
    load = Load(mode=Mode.OPEN, find_rate=True, objectives=bounds, duration=60.0, warmup=0.05)
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"], "output_tokens": [1]})
    assert result.status is Status.OK and "max_rate" not in _points(result)
    (missed,) = [warning for warning in result.warnings if warning.code == "objective-missed"]
    assert "ttft_p50 2" in missed.seen and "not < 100 µs" in missed.seen
    assert "itl_p50 is not measured here" in missed.seen
    assert "one user alone breaks ttft_p50" in missed.remedy


def test_a_search_that_is_cut_off_keeps_what_it_found(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(events.stream(["a"], usage=Usage(5, 1), gaps=[0, 4]), slots=2)
    bounds = (Objective(metric="ttft_p50", relation="<", bound=0.5),)
    load = Load(mode=Mode.OPEN, find_rate=True, objectives=bounds, duration=60.0, warmup=0.05)
    heard: list[str] = []
    attempt = Attempt(
        make_case("openai", stage.url + CHAT, load=load, model="m", output_tokens=1),
        LocalHost(),
        on_phase=heard.append,
        should_stop=lambda: any("held so far" in text for text in heard),
    )
    outcome = attempt.run()
    assert outcome.status is Status.KILLED and outcome.failure is not None
    search = outcome.details["search"]
    assert search["best_rate"] > 0 and search["probes"]
    assert f"{format_value(search['best_rate'], '/s')} held for " in outcome.failure.message


def test_a_key_in_what_a_started_server_prints_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("MY_KEY", secret)
    program = tmp_path / "server.py"
    program.write_text("import os\nprint('the key is', os.environ['MY_KEY'], flush=True)\nraise SystemExit(3)\n")
    options = {"key_env": "MY_KEY", "serve": f"{sys.executable} {program}"}
    failed = _run("http://127.0.0.1:{port}" + CHAT, tmp_path, params={"model": ["m"]}, options=options)
    assert failed.error is not None and "the key is ***" in failed.error.log_tail
    assert secret not in repr(failed)


def test_a_certificate_is_checked_unless_people_say_otherwise(
    scripted_server: ScriptedServer, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted_server.play(events.stream(["a"], usage=Usage(5, 1)), name="tls")
    url = f"{scripted_server.listen_tls(*authority.sign())}/@tls{CHAT}"
    refused = _run(url, tmp_path, params={"model": ["m"]})
    assert refused.status is Status.FAILED and refused.error is not None
    assert "certificate is not trusted" in refused.error.message and "--insecure" in refused.error.remedy
    unchecked = _run(url, tmp_path, params={"model": ["m"]}, options={"insecure": True})
    assert unchecked.status is Status.OK, unchecked.error
    assert "tls-unchecked" in {warning.code for warning in unchecked.warnings}
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    trusted = _run(url, tmp_path, params={"model": ["m"]})
    assert trusted.status is Status.OK and "tls-unchecked" not in {warning.code for warning in trusted.warnings}


@pytest.mark.parametrize(
    ("answer", "told"),
    [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "TLS failed: wrong version number"), (b"", "no answer of TLS in 0.2 s")],
    ids=["answers", "waits"],
)
def test_tls_to_a_plain_port_says_so(answer: bytes, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_TIMEOUT", 0.2 if not answer else 10.0)
    held = []  # connections stay open until the end

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                held.append(listening.accept()[0])
                held[-1].sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}{CHAT}"
        with pytest.raises(LoadError, match=told) as failed:
            run_endpoint(make_case("openai", url, model="m"))
        listening.shutdown(socket.SHUT_RDWR)
    for one in held:
        one.close()
    assert "http://" in failed.value.remedy


def test_a_trace_is_sent_at_its_own_instants_with_its_own_lengths(
    scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    rows = [{"timestamp": 20 * i, "input_length": 30 + i, "output_length": 2 + i} for i in range(8)]
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    stage = scripted_server.play(events.stream(["a"], placed="absent"))
    load = Load(mode=Mode.OPEN, arrivals=Arrivals.TRACE, trace=str(trace), warmup=0.0)
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"]})
    assert result.status is Status.OK, result.error
    assert list(result.samples[0].columns["scheduled"]) == [20_000_000 * i for i in range(8)]
    assert list(result.samples[0].columns["asked_tokens"]) == [2 + i for i in range(8)]


def test_turns_of_a_conversation_carry_what_was_said_before(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    stage = scripted_server.play(events.stream(["a"], usage=Usage(5, 1)))
    options = {"turns": 3, "think_time": "5ms", "input_tokens": 8, "output_tokens": 4}
    load = Load(samples=9, workers=3, warmup=0.0)
    result = _run(stage.url + CHAT, tmp_path, load, params={"model": ["m"]}, options=options)
    assert result.status is Status.OK and result.samples[0].calls == 9
    bodies = [json.loads(seen.request.partition(b"\r\n\r\n")[2]) for seen in stage.log()][-9:]
    spoken = [[message["content"] for message in body["messages"]] for body in bodies]
    longest = [texts for texts in spoken if len(texts) == 5]
    assert longest and {len(texts) for texts in spoken} == {1, 3, 5}
    for texts in longest:  # each turn begins with all of the turn before
        assert texts[:1] in spoken and texts[:3] in spoken


def test_bad_requests_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    for options, complaint in (
        ({"nonsense": 1}, "no option 'nonsense'"),
        ({"header.Authorization": "Bearer x"}, "looks like a secret"),
        ({"key_env": "A", "header.X-Api-Key": "x"}, "looks like a secret"),
    ):
        with pytest.raises(BenchwrightError, match=complaint):
            _run("http://127.0.0.1:1" + CHAT, tmp_path, options=options)
    with pytest.raises(BenchwrightError, match="holds a login"):
        _run("http://me:secret@127.0.0.1:1" + CHAT, tmp_path)
    with pytest.raises(BenchwrightError, match="has no parameter 'size'"):
        _run("http://127.0.0.1:1" + CHAT, tmp_path, params={"size": [1]})


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_transformers_sends_its_role_long_before_its_first_word(
    transformers_server: TransformersServer, tmp_path: Path
) -> None:
    params = {"model": [transformers_server.model], "input_tokens": [200], "output_tokens": [8]}
    result = _run(transformers_server.url + CHAT, tmp_path, Load(samples=6, warmup=0.0), params=params)
    points = _points(result)
    assert result.status is Status.OK, result.error
    assert points["ttft_any"] < points["ttft"] <= points["e2e"] and points["errors"] == 0
    assert points["output_tokens"] > 0  # told on the event that ends the answer
    kinds = {kind for samples in result.samples for kind in samples.chunks["kind"]}
    assert not any(kind & 64 for kind in kinds), "it sends no [DONE]"


def test_a_server_that_limits_requests_is_not_said_to_misunderstand_them(
    scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    stage = scripted_server.play(faults.too_many("2"))
    failed = _run(stage.url + CHAT, tmp_path, params={"model": ["m"]})
    assert failed.error is not None and "retry after 2" in failed.error.message
    assert "without that limit" in failed.error.remedy
