"""What is sent when, and what waits: against a server that answers as it is told."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Artifact, Result, Run
from benchwright.store import open_store
from benchwright.store.remote import RemoteStore, sender
from benchwright.store.remote.client import SILENCE, Caller
from benchwright.store.remote.request import ServerRequest
from benchwright.store.remote.sender import BRIEF
from benchwright.store.remote.spool import Spool


@pytest.fixture
def results() -> list[Result]:
    """Four results of the run `run-0000`."""
    return [result for i in range(2) for result in made.run_of(i, 0.01).results]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure nothing is sent again by itself while the test looks, however busy the machine is."""
    monkeypatch.setattr(sender, "LEAST_PAUSE", 60.0)


def _puts(results: list[Result], *, start: int = 0) -> list[str]:
    return [f"PUT runs/run-0000/results/{result.id.replace('::', '%3A%3A')}" for result in results[start:]]


def test_what_the_server_takes_at_once_never_touches_the_disk(
    desk: Any, results: list[Result], spool_folder: Path
) -> None:
    store = open_store(desk.address)
    store.begin(_run(results))
    store.add("run-0000", results[0], instead_of="older one")
    store.close()
    assert desk.writes == ["PUT runs/run-0000", _puts(results)[0] + "?instead_of=older%20one"]
    assert not spool_folder.exists()
    _, _, headers, body = desk.seen[-1]
    assert schema.loads(body, Result) == results[0]
    assert headers["Content-Encoding"] == "gzip" and "Authorization" not in headers


@pytest.mark.usefixtures("patient")
def test_a_token_goes_with_every_request_and_into_no_message(
    desk: Any, results: list[Result], caplog: pytest.LogCaptureFixture, spool_folder: Path
) -> None:
    store = RemoteStore(desk.address.replace("//", "//bw_secret@"))
    desk.fail(1)
    store.begin(_run(results))
    assert {headers["Authorization"] for _, _, headers, _ in desk.seen} == {"Bearer bw_secret"}
    kept = b"".join(path.read_bytes() for path in spool_folder.rglob("*") if path.is_file())
    assert b"run-0000" in kept and b"bw_secret" not in kept
    store.close()
    assert caplog.text and "bw_secret" not in caplog.text


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 401, 403])
def test_what_cannot_be_sent_now_waits_and_is_sent_in_order(
    status: int, desk: Any, results: list[Result], caplog: pytest.LogCaptureFixture
) -> None:
    store = RemoteStore(desk.address)
    store.begin(_run(results))
    desk.fail(1, status)
    for result in results:
        store.add("run-0000", result)
    assert len(Spool(desk.address)) == 4 and len(desk.seen) == 3  # it is left in peace for a while
    store.close()
    assert desk.writes[1:] == [_puts(results)[0], *_puts(results)]
    assert Spool(desk.address).is_empty
    assert [f"no ({status})" in caplog.messages[0], "has everything" in caplog.messages[-1]] == [True, True]
    assert len(caplog.messages) == 2


def test_a_server_that_is_away_from_the_beginning_costs_no_result(
    desk: Any, results: list[Result], caplog: pytest.LogCaptureFixture
) -> None:
    desk.fail(3)
    first = RemoteStore(desk.address)
    first.begin(_run(results))
    first.add("run-0000", results[0])
    with pytest.raises(StoreError, match=r"no \(503\)"):
        first.runs()
    first.close()
    assert len(Spool(desk.address)) == 2
    assert f"benchwright store send {desk.address}" in caplog.messages[-1]
    desk.answers.clear()
    second = RemoteStore(desk.address)  # the next use sends it, before what is new
    second.add("run-0000", results[1])
    second.close()
    assert desk.writes[-3:] == ["PUT runs/run-0000", *_puts(results)[:2]]


def test_a_server_that_hangs_costs_a_run_little_time(
    desk: Any, results: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    once = Caller._ask_once

    def noted(self: Caller, request: Any, silence: float, *rest: Any) -> Any:
        given.append(silence)
        return once(self, request, silence, *rest)

    store = RemoteStore(desk.address)
    desk.fail(3)
    monkeypatch.setattr(Caller, "_ask_once", noted)
    store.begin(_run(results))
    for result in results[:2]:
        store._outbox._not_before = 0.0  # as if time had passed
        store.add("run-0000", result)
    store.close()  # at the end nothing is disturbed any more
    assert given == [SILENCE, BRIEF, BRIEF, *[SILENCE] * 2] and Spool(desk.address).is_empty


def test_a_question_is_asked_after_what_waits_was_sent(desk: Any, results: list[Result]) -> None:
    store = RemoteStore(desk.address)
    desk.fail(2)
    store.begin(_run(results))
    store.close()
    desk.answers += [(200, {}, {"version": "1", "scopes": ["read"]}), (200, {}, {}), (200, {}, {"answer": ["a"]})]
    again = RemoteStore(desk.address)
    assert again.case_names() == ["a"]
    assert desk.writes[-2:] == ["PUT runs/run-0000", "POST store/case_names"]
    again.close()


def test_a_server_that_asks_to_wait_is_waited_for_at_the_end(
    desk: Any, results: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(sender.time, "sleep", slept.append)  # type: ignore[attr-defined]
    store = RemoteStore(desk.address)
    desk.fail(3, 429, Retry_After="4")
    store.begin(_run(results))
    store.close()
    assert slept == [4.0, 4.0] and Spool(desk.address).is_empty


def test_what_is_refused_is_moved_aside_and_does_not_block_the_rest(
    desk: Any, results: list[Result], caplog: pytest.LogCaptureFixture
) -> None:
    store = RemoteStore(desk.address)
    desk.fail(1)
    for result in results:
        store.add("run-0000", result)
    desk.fail(1, 405)  # a server of before, which takes them one by one
    desk.answers.append((200, {}, {"id": "x"}))
    desk.fail(1, 413)
    store.close()
    assert [len(Spool(desk.address)), Spool(desk.address).refused_count] == [0, 1]
    assert any(f"result {results[1].id} is refused" in text for text in caplog.messages)
    (sent,) = sender.send_waiting(refused=True)
    assert (sent.sent, sent.refused, sent.waiting) == (1, 0, 0)
    assert desk.writes[-1] == _puts(results)[1]


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422])
def test_what_is_refused_at_once_is_an_error_at_once(status: int, desk: Any, results: list[Result]) -> None:
    store = RemoteStore(desk.address)
    desk.fail(1, status)
    with pytest.raises(StoreError, match=rf"no \({status}\)"):
        store.add("run-0000", results[0])
    assert Spool(desk.address).is_empty
    store.close()


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, b"<html>please log in</html>"),
        (404, {}, b"<html>not here</html>"),
        (302, {"Location": "https://u:secret@elsewhere.example/?t=secret"}, b""),
        (204, {}, b""),
    ],
)
def test_an_answer_in_words_that_are_not_ours_counts_for_nothing(
    answer: Any, desk: Any, results: list[Result], caplog: pytest.LogCaptureFixture
) -> None:
    store = RemoteStore(desk.address)
    desk.answers.append(answer)
    store.add("run-0000", results[0])
    assert len(Spool(desk.address)) == 1
    store.close()
    assert desk.writes == _puts(results)[:1] * 2 and "secret" not in caplog.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {}, b"<html>hello</html>"), "no Benchwright server"),
        ((200, {}, {"name": "another JSON"}), "no Benchwright server"),
        ((404, {}, b"not found"), "no Benchwright server"),
        ((404, {}, {"error": "no such path", "remedy": ""}), "no Benchwright server"),
        ((308, {"Location": "https://elsewhere.example/"}, b""), "the server redirects to https://elsewhere.example/"),
        ((401, {}, {"error": "this token is not known here", "remedy": "x"}), "token is not known"),
        ((200, {}, {"version": "1", "scopes": []}), "asks for a token"),
    ],
)
def test_what_is_wrong_with_the_server_or_the_token_shows_before_anything_is_measured(
    answer: Any, said: str, desk: Any
) -> None:
    desk.answers.append(answer)
    with pytest.raises(StoreError, match=said):
        open_store(desk.address)
    assert len(desk.seen) == 1  # nothing was led elsewhere


def test_a_token_that_may_only_read_cannot_begin_a_run(desk: Any, results: list[Result]) -> None:
    desk.answers.append((200, {}, {"version": "1", "scopes": ["read"]}))
    store = RemoteStore(desk.address)
    with pytest.raises(StoreError, match="may only read") as caught:
        store.begin(_run(results))
    assert "--scope write" in caught.value.remedy and desk.writes == []
    store.close()


def test_a_server_that_nobody_answers_for_is_away(results: list[Result], caplog: pytest.LogCaptureFixture) -> None:
    store = RemoteStore("http://127.0.0.1:1/")
    store.begin(_run(results))
    with pytest.raises(StoreError, match="cannot be reached: Connection refused"):
        store.find("last")
    store.close()
    assert len(Spool("http://127.0.0.1:1/")) == 1 and "Connection refused" in caplog.messages[0]


def test_files_follow_their_result_small_ones_by_way_of_the_spool_large_ones_from_their_place(
    desk: Any, results: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "COPIED", 10)
    result = _with_files(results[0], tmp_path, {"small.txt": b"0123", "deep/large.bin": b"x" * 3000})
    store = RemoteStore(desk.address)
    store.add("run-0000", result)
    whole = {path.rpartition("/artifacts/")[2]: body for _, path, _, body in desk.seen[2:]}
    assert whole == {"small.txt": b"0123", "deep/large.bin": b"x" * 3000}
    desk.fail(1)
    store.add("run-0000", result)
    (tmp_path / "small.txt").unlink()
    store.close()
    assert [body for _, _, _, body in desk.seen[-2:]] == [b"0123", b"x" * 3000]
    assert desk.seen[-1][2]["Content-Length"] == "3000"


def test_a_file_that_vanished_or_changed_is_told_of_and_blocks_nothing(
    desk: Any, results: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sender, "COPIED", 1)
    result = _with_files(results[0], tmp_path, {"gone.bin": b"12345", "shorter.bin": b"12345", "here.bin": b"12345"})
    store = RemoteStore(desk.address)
    desk.fail(1)
    store.add("run-0000", result)
    (tmp_path / "gone.bin").unlink()
    (tmp_path / "shorter.bin").write_bytes(b"1")
    store.close()
    assert desk.seen[-1][1].endswith("here.bin") and Spool(desk.address).refused_count == 2
    assert sum("is refused" in text for text in caplog.messages) == 2


def test_a_record_from_elsewhere_sends_only_files_whose_digest_it_knows(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"private")
    named = Artifact(name="secret", kind="file", path=str(tmp_path / "secret"), size=7)
    run = made.run_of(0, 0.01)
    for sha256, sent in (("", False), ("0" * 64, False), (_digest(b"private"), True)):
        first = replace(run.results[0], artifacts=(replace(named, sha256=sha256),))
        store = RemoteStore(desk.address)
        assert store.add_run(replace(run, results=(first,)))
        store.close()
        assert desk.writes[-1].endswith("artifacts/secret") is sent


def test_a_client_that_is_killed_between_spool_and_sending_leaves_everything_to_the_next(
    desk: Any, spool_folder: Path
) -> None:
    script = (
        "import os, sys; from benchwright.store.remote.spool import Spool\n"
        "from benchwright.store.remote.request import ServerRequest\n"
        f"spool = Spool({desk.address!r})\n"
        "for i in range(3): spool.add(ServerRequest(method='PUT', path=f'runs/{i}', body=b'{}'))\n"
        "with spool.sending(): os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    RemoteStore(desk.address).close()
    assert desk.writes == ["PUT runs/0", "PUT runs/1", "PUT runs/2"]


def test_every_outage_of_a_store_that_stays_open_is_told_of_once_and_so_is_its_end(
    desk: Any, results: list[Result], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "MOST_PAUSE", 0.0)
    store = RemoteStore(desk.address)
    for result in results[:2]:
        desk.fail(2)
        store.add("run-0000", result)  # it waits, and so it does at the second try
        store.add("run-0000", result)
    assert ["no (503)" in text for text in caplog.messages] == [True, False, True, False]
    store.close()
    assert len(caplog.messages) == 4


def test_a_spool_that_cannot_be_used_is_told_of_and_ends_no_run(
    desk: Any, results: list[Result], spool_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = RemoteStore(desk.address)
    desk.fail(1)
    spool_folder.write_text("no folder", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot wait here"):  # which the run answers with a rescue file
        store.add("run-0000", results[0])
    spool_folder.unlink()
    spool = Spool(desk.address)
    spool.add(ServerRequest(method="PUT", path="runs/0", body=b"{}"))
    (spool.folder / "lock").mkdir()
    store.close()
    assert "Is a directory" in caplog.messages[-1] and len(spool) == 1


def test_a_name_that_no_address_can_hold_costs_no_run(desk: Any, results: list[Result], tmp_path: Path) -> None:
    named = _with_files(results[0], tmp_path, {"odd-\udcff.txt": b"1"})
    store = RemoteStore(desk.address)
    store.add("run-0000", named)
    store.close()
    assert desk.writes[-1].endswith("artifacts/odd-%3F.txt")


def test_notes_go_to_standard_error_when_nobody_listens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda self: False)
    sender.tell("three wait")
    assert capsys.readouterr().err == "benchwright: three wait\n"


def _run(results: list[Result]) -> Run:
    return Run(id="run-0000", started_at=results[0].started_at, harness="1", results=tuple(results))


def _with_files(result: Result, folder: Path, contents: dict[str, bytes]) -> Result:
    named = []
    for name, content in contents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
        named.append(
            Artifact(name=name, kind="file", path=str(folder / name), size=len(content), sha256=_digest(content))
        )
    return replace(result, artifacts=tuple(named))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
