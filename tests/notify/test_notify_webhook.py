"""Signed JSON to a server."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import pytest

from benchwright import schema
from benchwright.errors import OptionError, UploadError
from benchwright.notify import Message, Notice, sender_at, try_target
from benchwright.records.findings import Finding
from benchwright.system.http import PassingError

Make = Callable[..., Finding]


def message(finding: Finding) -> Message:
    return Message(id="m1", notices=(Notice(finding=finding, link="https://x/1", sketch="▁│█", picture=b"PNG"),))


@pytest.mark.parametrize(
    ("secret", "key"), [("sesame", b"sesame"), ("whsec_" + base64.b64encode(b"\x00\xffkey").decode(), b"\x00\xffkey")]
)
def test_the_signature_is_over_id_time_and_body(
    secret: str, key: bytes, peer: Any, found: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", secret)
    said = sender_at(f"webhook+http://${{HOOK}}@{peer.host}/a/b?c=d").send(message(found()))
    (request,) = peer.requests
    headers = request.headers
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), request.body])
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert request.path == "/a/b?c=d" and "authorization" not in headers and said == "200 OK, signed"


def test_the_body_holds_the_finding_its_link_and_its_picture(peer: Any, found: Make) -> None:
    said = sender_at(f"webhook+http://{peer.host}/").send(message(found()))
    body = peer.requests[0].json()
    (entry,) = body["findings"]
    assert (body["type"], body["version"], body["id"]) == ("benchwright.findings", 1, "m1")
    assert schema.open_document(entry["finding"], Finding) == found()
    assert (entry["commit"], entry["link"], entry["sketch"]) == ("c0ffee", "https://x/1", "▁│█")
    assert base64.b64decode(entry["picture"]) == b"PNG"
    assert "webhook-signature" not in peer.requests[0].headers and "not signed" in said


@pytest.mark.parametrize(("status", "error"), [(503, PassingError), (403, UploadError), (404, UploadError)])
def test_a_refusal_is_told_from_trouble_that_may_pass(
    status: int, error: type[Exception], peer: Any, found: Make
) -> None:
    peer.answer = lambda _: (status, {}, {})
    with pytest.raises(error, match=str(status)):
        sender_at(f"webhook+http://{peer.host}/").send(message(found()))


def test_it_is_not_led_elsewhere(peer: Any, found: Make) -> None:
    peer.answer = lambda _: (307, {"Location": "/elsewhere"}, {})
    with pytest.raises(UploadError, match="moved"):
        sender_at(f"webhook+http://{peer.host}/").send(message(found()))
    assert [request.path for request in peer.requests] == ["/"]


def test_a_secret_that_is_not_base64_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "whsec_dead beef")
    with pytest.raises(OptionError) as raised:
        sender_at("webhook+http://${HOOK}@127.0.0.1/")
    assert "dead" not in str(raised.value)


def test_a_test_says_that_it_is_one_and_has_a_picture(peer: Any) -> None:
    try_target(f"webhook+http://{peer.host}/")
    body = peer.requests[0].json()
    assert body["type"] == "benchwright.test" and body["title"].startswith("Test: ")
    assert base64.b64decode(body["findings"][0]["picture"]).startswith(b"\x89PNG")
