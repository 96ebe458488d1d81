"""A server's answer is read within bounds on bytes, on unpacked bytes and on time, whatever the server does."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from subprocess import CompletedProcess

import pytest

import hostile
from benchwright.errors import StoreError
from benchwright.store import remote
from benchwright.store.remote import client
from benchwright.store.remote.client import ServerAwayError
from benchwright.system.http_answers import AnswerLimits

ABOUT = hostile.plain(b'{"version": "1", "scopes": ["read", "write"]}')


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bounds on time, a hundredth of them."""
    brief = replace(AnswerLimits(), silence=0.5, start=0.6, longest=5.0)
    monkeypatch.setattr(client, "AnswerLimits", lambda **_: brief)


@pytest.mark.parametrize("kind", ["drip", "drip_head", "continues"])
@pytest.mark.usefixtures("hurry")
def test_an_answer_that_drips_is_given_up(kind: str) -> None:
    with hostile.serving(getattr(hostile, kind), ABOUT) as address:
        store = remote.RemoteStore(address)
        with pytest.raises(ServerAwayError, match=r"the answer comes too slowly: [0-9,]+ bytes (of it )?in [\d,]+ "):
            store.runs()
        store.close()


@pytest.mark.parametrize("kind", ["drip", "drip_head", "endless", "continues", "trailers", "bomb", "deep"])
@pytest.mark.usefixtures("hurry")
def test_a_stranger_is_not_listened_to_for_long(
    kind: str, monkeypatch: pytest.MonkeyPatch, inside: Callable[..., CompletedProcess[str]]
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_LARGEST", "2")
    with hostile.serving(getattr(hostile, kind)) as address:
        done = inside("list", "--store", address)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"benchwright: {address}") and "Traceback" not in done.stderr


@pytest.mark.usefixtures("hurry")
def test_a_wait_in_vain_is_not_begun_anew_by_the_first_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "LONG", 0.1)
    asked = []

    def silent(to: socket.socket) -> None:
        asked.append(to)
        to.recv(1)

    with hostile.serving(silent) as address:
        store = remote.RemoteStore(address)
        with pytest.raises(ServerAwayError, match="no answer in time"):
            store.runs()
        assert len(asked) == 1
        with pytest.raises(ServerAwayError, match="no answer in time"):  # later ones are asked
            store.run("a")
        assert len(asked) == 2
        store.close()


@pytest.mark.parametrize("pause", ["²", "9" * 400, "Mon, 99 Jan 99999 99:99:99 +9999", "1 Jan 1 00:00 +2359", "-1", ""])
def test_a_pause_that_is_none(pause: str) -> None:
    told = f"HTTP/1.1 503 No\r\nRetry-After: {pause}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with hostile.serving(lambda to: to.sendall(told.encode("latin-1"))) as address:
        store = remote.RemoteStore(address)
        with pytest.raises(ServerAwayError, match="503 No"):
            store.runs()
        store.close()


def test_an_endless_answer_ends_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_LARGEST", "2")
    with hostile.serving(hostile.endless, ABOUT) as address:
        store = remote.RemoteStore(address)
        with pytest.raises(StoreError, match=r"the answer to store/runs is too large: more than 2 MiB\n.*_LARGEST"):
            store.runs()
        with pytest.raises(StoreError, match=r"the answer to runs/a/document is too large: more than 2 MiB"):
            store.run("a")
        store.close()


def test_what_unpacks_to_an_absurd_size_is_refused() -> None:
    with hostile.serving(hostile.bomb, ABOUT) as address:
        store = remote.RemoteStore(address)
        with pytest.raises(StoreError, match="unpacks to more than 500 times its size"):
            store.runs()
        store.close()


@pytest.mark.parametrize("body", [b'{"answer": %s}' % (b"[" * 3000 + b"]" * 3000), b'{"answer": %s}' % (b"9" * 5000)])
def test_answers_beyond_the_bounds_of_parsing_are_no_answers(body: bytes) -> None:
    with hostile.serving(hostile.plain(body), ABOUT) as address:
        store = remote.RemoteStore(address)
        with pytest.raises(StoreError, match="is it a Benchwright server"):
            store.runs()
        store.close()


def test_another_packing_than_was_asked_for_is_no_answer() -> None:
    def packed(to: object) -> None:
        to.sendall(hostile.OK + b"Content-Encoding: br\r\nContent-Length: 1\r\n\r\n.")  # type: ignore[attr-defined]

    with hostile.serving(packed, ABOUT) as address:
        store = remote.RemoteStore(address)
        with pytest.raises(ServerAwayError, match="packed with 'br', which was not asked for"):
            store.runs()
        store.close()
