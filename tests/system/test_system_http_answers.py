"""Whoever asks a server something reads its answer within bounds: notifiers, hooks, reporters, downloads."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import hostile
from benchwright.compat.harness import remote_post
from benchwright.compat.perfzero import tpus
from benchwright.errors import FetchError, UploadError
from benchwright.exchange import perfzero_hook
from benchwright.fetch import web
from benchwright.fetch.downloads import fetch
from benchwright.system import http, http_answers

SLOW = r"the answer comes too slowly: [01] bytes of it in"
KINDS = ("drip", "drip_head", "endless", "continues", "trailers", "bomb", "deep", "long_number")


def notify(address: str) -> Any:
    return http.call("POST", address, headers={}, body=b"{}").json()


def report(address: str) -> Any:
    return remote_post.post(remote_post.Endpoint(url=address, category="c"), {}, timeout=60.0)


def post(address: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHWRIGHT_STORE", address)
        perfzero_hook.perfzero({"a": 1})


def ask(address: str) -> Any:
    return http.call("GET", address, headers={}, timeout=60.0, most=1 << 20).text


def ask_tpu(address: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tpus, "PORT", urlsplit(address).port)
        return tpus._ask("127.0.0.1", "", None)


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    brief = replace(http_answers.QUICK, silence=0.5, start=0.6, longest=5.0)
    monkeypatch.setattr(http_answers, "QUICK", brief)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("caller", [notify, report, post, ask, ask_tpu])
@pytest.mark.usefixtures("hurry")
def test_no_answer_is_read_without_end(caller: Callable[[str], Any], kind: str) -> None:
    begun = time.monotonic()
    with hostile.serving(getattr(hostile, kind)) as address:
        try:
            caller(address)
        except (TimeoutError, http_answers.TooLargeError, http.PassingError, UploadError) as error:
            assert any(
                word in str(error)
                for word in ("slowly", "silent", "timed out", "more than", "not JSON", "digits", "deep")
            )
    assert time.monotonic() - begun < 30  # not the minutes that a drip of 100 kB takes


def test_the_bounds_on_time_name_themselves() -> None:
    clock = http_answers.AnswerClock(http_answers.AnswerLimits(silence=1.0, start=0.0, pace=1.0, longest=10.0))
    clock.saw(5)
    assert 0 < clock.seconds_left() <= 1.0
    late = http_answers.AnswerClock(http_answers.AnswerLimits(silence=1.0, start=-1.0, pace=1.0, longest=10.0))
    with pytest.raises(http_answers.SlowError, match=r"the answer comes too slowly: 0 bytes in 0 s"):
        late.seconds_left()


def test_the_body_of_a_redirect_is_not_read(tmp_path: Path) -> None:
    def led(to: Any) -> None:
        to.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n")
        while True:
            to.sendall(b" " * 65536)

    with hostile.serving(led) as address, pytest.raises(FetchError, match="refused"):
        fetch(f"{address}model.onnx", tmp_path / "model.onnx", retries=0)


def test_a_download_without_a_stated_length_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_UNSTATED", 1 << 20)
    with hostile.serving(hostile.endless) as address, pytest.raises(FetchError, match="its length was not stated"):
        fetch(f"{address}model.onnx", tmp_path / "model.onnx", retries=0)


@pytest.mark.parametrize("stated", ["9" * 5000, "\u00b2", "-1"])
def test_a_length_that_is_none_is_not_stated(stated: str, tmp_path: Path) -> None:
    def told(to: Any) -> None:
        to.sendall(hostile.OK + f"Content-Length: {stated}\r\n\r\nabc".encode("latin-1"))

    with hostile.serving(told) as address:
        fetch(f"{address}model.onnx", tmp_path / "model.onnx", retries=0)
    assert (tmp_path / "model.onnx").read_bytes() == b"abc"


def test_a_download_that_drips_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answers, "DOWNLOAD", replace(http_answers.DOWNLOAD, start=0.3))
    with hostile.serving(hostile.drip) as address, pytest.raises(FetchError, match="comes too slowly"):
        fetch(f"{address}model.onnx", tmp_path / "model.onnx", retries=0, timeout=0.3)


@pytest.mark.parametrize("kind", ["continues", "trailers"])
def test_a_download_of_nothing_but_heads_is_given_up(kind: str, tmp_path: Path) -> None:
    with (
        hostile.serving(getattr(hostile, kind)) as address,
        pytest.raises(FetchError, match=SLOW),
    ):
        fetch(f"{address}model.onnx", tmp_path / "model.onnx", retries=0)


def test_a_body_in_the_smallest_chunks_is_read() -> None:
    def chunked(to: Any) -> None:
        to.sendall(hostile.OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 600_000 + b"0\r\n\r\n")

    with hostile.serving(chunked) as address:
        assert len(ask(address)) == 600_000


@pytest.mark.parametrize(
    ("head", "ok", "may_pass", "pause"),
    [
        (b"200 OK", True, False, 0.0),
        (b"503 Service Unavailable\r\nRetry-After: 7", False, True, 7.0),
        (b"404 Not Found", False, False, 0.0),
        (b"302 Found\r\nLocation: http://127.0.0.1:1/", False, False, 0.0),
    ],
)
def test_a_call_is_answered_whatever_the_status(head: bytes, ok: bool, may_pass: bool, pause: float) -> None:
    with hostile.serving(lambda to: to.sendall(b"HTTP/1.1 " + head + b"\r\nContent-Length: 2\r\n\r\n{}")) as address:
        answer = http.call("POST", address, headers={}, body=b"")
    assert (answer.ok, answer.may_pass, answer.pause, answer.json()) == (ok, may_pass, pause, {})
    assert answer.said == head.partition(b"\r")[0].decode()


def test_no_proxy_is_asked_for_what_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    monkeypatch.delenv("no_proxy", raising=False)
    with hostile.serving(lambda to: to.sendall(hostile.OK + b"Content-Length: 2\r\n\r\n{}")) as address:
        assert http.call("GET", address, headers={}).ok
