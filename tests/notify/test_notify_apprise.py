"""Services through apprise: chat and mail, with servers in their place."""

from __future__ import annotations

import email
import logging
import sys
from collections.abc import Callable
from email import policy
from typing import Any

import pytest

from benchwright.errors import NotInstalledError, UploadError
from benchwright.notify import Message, Notice, sender_at
from benchwright.records.findings import Finding

Make = Callable[..., Finding]
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 64


def message(finding: Finding) -> Message:
    return Message(id="m1", notices=(Notice(finding=finding, link="https://x/1", sketch="▁│█", picture=PNG),))


def test_mail_has_the_text_and_the_picture(post: Any, found: Make) -> None:
    url = f"mailto://127.0.0.1:{post.port}?from=bench@example.com&to=ann@example.com&format=text"
    assert "pictures" in sender_at(url).send(message(found()))
    (letter,) = (email.message_from_string(text, policy=policy.default) for text in post.letters)
    assert letter["To"] == "ann@example.com" and "10 % slower" in letter["Subject"]
    body = letter.get_body(("plain",))
    assert body is not None and "▁│█" in body.get_content() and "https://x/1" in body.get_content()
    assert [part.get_content() for part in letter.iter_attachments()] == [PNG]


def test_a_chat_gets_title_and_text(peer: Any, found: Make) -> None:
    sender_at(f"mmost://{peer.host}/t0ken").send(message(found()))  # Mattermost speaks as Slack does
    (request,) = peer.posts()
    assert request.path == "/hooks/t0ken"
    assert "bench.py::encode" in request.json()["text"] and "https://x/1" in request.json()["text"]


def test_a_failure_shows_no_secret_anywhere(
    peer: Any, found: Make, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda _: (403, {}, {"error": "invalid token deadbeef"})
    caplog.set_level(logging.DEBUG)
    with pytest.raises(UploadError) as raised:
        sender_at(f"mmost://{peer.host}/deadbeef").send(message(found()))
    printed = capfd.readouterr()
    assert "403" in str(raised.value)
    assert "deadbeef" not in str(raised.value) + printed.out + printed.err + caplog.text


def test_without_the_library_it_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(NotInstalledError, match=r"benchwright\[notify\]"):
        sender_at("slack://a/b/c")
