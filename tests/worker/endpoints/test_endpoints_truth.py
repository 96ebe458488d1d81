"""What the client says of requests, against what the scripted server knows of them."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from benchwright.records import Load, Scalar
from benchwright.worker.endpoints.client import ClientSettings, HttpClient
from benchwright.worker.endpoints.dialect import TEXT, UNKNOWN, ChunkKind
from benchwright.worker.endpoints.driver import group_turns
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.loads import run_closed, run_open
from benchwright.worker.endpoints.reading import NEVER, ReadTraffic, read_traffic
from benchwright.worker.endpoints.traffic import Outcome, RequestLog
from benchwright.worker.endpoints.wire import parse_address, read_headers, request_bytes
from benchwright.worker.runtimes.openai import OpenAiDialect, route_of
from scripted import client as peers
from scripted import events, faults
from scripted.client import ScriptedServer, Stage
from scripted.events import Usage
from scripted.script import Piece, Script, pieces_of

MS = 1_000_000
CHAT = "/v1/chat/completions"


class Asked:
    """A client, what it sent, and how the answers were read."""

    def __init__(self, url: str, options: Mapping[str, Scalar] | None = None, **settings: Any) -> None:
        options = {"model": "scripted", **(options or {})}
        self.address = parse_address(url)
        self.dialect = OpenAiDialect(route_of(url), options)
        self.headers = read_headers(options, self.dialect.accept)
        self.client = HttpClient(ClientSettings(address=self.address, **settings))

    def closed(self, load: Load, exchanges: Sequence[Exchange] | None = None) -> ReadTraffic:
        chosen = list(exchanges or _prompts(load.samples or 100))
        self.client.reset([self._bytes(one) for one in chosen])
        zero = time.perf_counter_ns()
        return self._read(run_closed(self.client, load, group_turns(chosen, 0), zero), chosen, zero)

    def open(self, instants: Sequence[int], exchanges: Sequence[Exchange] | None = None, think: int = 0) -> ReadTraffic:
        chosen = list(exchanges or _prompts(len(instants)))
        self.client.reset([self._bytes(one) for one in chosen])
        zero = time.perf_counter_ns() + 5 * MS
        traffic = run_open(self.client, array("q", instants), group_turns(chosen, think), zero)
        return self._read(traffic, chosen, zero)

    def _bytes(self, exchange: Exchange) -> bytes:
        return request_bytes(self.address, self.dialect.encode(exchange), self.headers)

    def _read(self, traffic: RequestLog, exchanges: Sequence[Exchange], zero: int) -> ReadTraffic:
        self.zero = zero
        return read_traffic(traffic, self.dialect, exchanges, zero=zero, copy=0)


@contextmanager
def asking(url: str, options: Mapping[str, Scalar] | None = None, **settings: Any) -> Iterator[Asked]:
    asked = Asked(url, options, **settings)
    try:
        yield asked
    finally:
        asked.client.close()


def _prompts(count: int) -> list[Exchange]:
    return [
        Exchange(messages=(("user", f"prompt {number}"),), output_tokens=3, session=number) for number in range(count)
    ]


def _ask_once(stage: Stage, **settings: Any) -> tuple[ReadTraffic, Asked]:
    with asking(stage.url + CHAT, **settings) as asked:
        return asked.closed(Load(samples=1)), asked


def _row(read: ReadTraffic, place: int = 0) -> dict[str, int]:
    return {name: values[place] for name, values in read.samples.columns.items()}


def _kinds(read: ReadTraffic) -> list[ChunkKind]:
    return [ChunkKind(kind) for kind in read.samples.chunks["kind"]]


# ---- instants ----


def test_every_instant_follows_the_server_s_own(scripted_server: ScriptedServer) -> None:
    script = events.stream(["one", " two", " three"], usage=Usage(7, 3), gaps=[10, 20, 30, 5])
    stage = scripted_server.play(replace(script, wait=15, tail=10))
    with asking(stage.url + CHAT) as asked:
        read = asked.closed(Load(samples=3))
    for place, seen in enumerate(stage.log()):
        row = _row(read, place)
        sent = asked.zero + row["scheduled"] + row["lateness"]
        head, role, first, second, third = [instant for instant, _ in seen.writes[:5]]
        assert row["outcome"] == Outcome.OK and row["status"] == 200
        assert sent < seen.complete_ns < head < asked.zero + row["first_byte"]
        texts = [at for at, kind, call in _chunks(read) if kind & TEXT and call == place]
        for written, at in zip((role, first, second, third), (row["first_any"], *texts), strict=True):
            assert written < asked.zero + at
        assert row["first_any"] <= texts[0] <= texts[1] <= texts[2] <= row["end"]
        assert (row["first_text"], row["last_text"]) == (texts[0], texts[-1])
        assert asked.zero + row["end"] > seen.writes[-1][0]
        assert (row["input_tokens"], row["output_tokens"], row["asked_tokens"]) == (7, 3, 3)


def _chunks(read: ReadTraffic) -> list[tuple[int, int, int]]:
    chunks = read.samples.chunks
    return list(zip(chunks["at"], chunks["kind"], chunks["call"], strict=True))


def test_the_role_is_not_the_first_token(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(events.stream(["late"], gaps=[0, 80]))
    read, asked = _ask_once(stage)
    row, [seen] = _row(read), stage.log()
    assert asked.zero + row["first_text"] > seen.writes[2][0]  # after the head and the role
    assert row["first_any"] < row["first_text"] == row["last_text"] == row["first_content"]


def test_reasoning_and_answer_have_instants_of_their_own(scripted_server: ScriptedServer) -> None:
    for key in ("reasoning_content", "reasoning"):
        texts: list[dict[str, Any] | str] = [events.reasoning("hm", key), events.reasoning("so", key), "yes"]
        read, _ = _ask_once(scripted_server.play(events.stream(texts, gaps=[0, 5, 5, 30])))
        row = _row(read)
        assert row["first_text"] == row["first_reasoning"] < row["first_content"] == row["last_text"]
        assert ChunkKind.REASONING in _kinds(read)


def test_a_stall_shows_in_every_request_that_it_delayed(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(Script(pieces=events.stream(["a"]).pieces, headers=events.HEADERS))
    with asking(stage.url + CHAT) as asked:
        asked.closed(Load(samples=1))
        begin = time.perf_counter_ns() + 100 * MS
        scripted_server.stall(begin_ns=begin, length_ns=400 * MS)
        read = asked.open([i * 10 * MS for i in range(60)])
    [(stalled, went_on)] = scripted_server.stalls()
    rows = [_row(read, place) for place in range(60)]
    delayed = [row for row in rows if stalled < asked.zero + row["scheduled"] < went_on]
    assert delayed
    for row in delayed:
        assert row["latency"] >= went_on - asked.zero - row["scheduled"]
    assert all(row["outcome"] == Outcome.OK for row in rows)


def test_arrivals_keep_to_their_schedule_whatever_the_answers_do(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(replace(events.stream(["a"]), wait=150))
    with asking(stage.url + CHAT) as asked:
        asked.closed(Load(samples=1))
        instants = [i * 5 * MS for i in range(40)]
        read = asked.open(instants)
    assert list(read.samples.columns["scheduled"]) == instants
    assert all(value >= 0 for value in read.samples.columns["lateness"])
    latest = sorted(read.samples.columns["lateness"])
    assert latest[len(latest) // 2] < 100 * MS  # the machine may be busy; one that waited would be 150 ms late and more
    assert read.failed == 0 and asked.client.health.opened > 10


# ---- what a stream may look like ----


WORDS = ["größer", " tür", " 日本"]


def _variants() -> dict[str, Script]:
    plain = events.stream(WORDS, usage=Usage(5, 9))
    documents = [events.chunk({"role": "assistant"}), *(events.chunk(word) for word in WORDS)]
    last = [events.chunk({}, finish="stop"), events.chunk(None, usage=Usage(5, 9))]

    def written(**form: Any) -> list[bytes]:
        return [events.event(one, **form) for one in (*documents, *last)]

    whole = b"".join(written())
    middle = whole.index("ö".encode()) + 1
    return {
        "plain": plain,
        "one write": events.in_one_write(plain),
        "split in a character": Script(pieces=events.cut_at(whole + events.DONE, middle), headers=events.HEADERS),
        "a byte at a time": Script(pieces=pieces_of([bytes([b]) for b in whole + events.DONE]), headers=events.HEADERS),
        "crlf": events.of_events([*written(newline="\r\n"), b"data: [DONE]\r\n\r\n"]),
        "cr": events.of_events([*written(newline="\r"), b"data: [DONE]\r\r"]),
        "no space": events.of_events([*written(space=False), events.DONE]),
        "comments": events.of_events([x for one in written() for x in (events.comment(), one)] + [events.DONE]),
        "no done": events.stream(WORDS, usage=Usage(5, 9), done=False),
        "usage on finish": events.stream(WORDS, usage=Usage(5, 9), placed="finish"),
        "until close": replace(plain, framing="close", after="close"),
        "one point nought": replace(plain, version="1.0", framing="close", after="close"),
        "interim": replace(plain, interim=(103,)),
        "length": replace(plain, framing="length"),
        "gzip": events.compressed(plain),
    }


@pytest.mark.parametrize("name", _variants())
def test_a_stream_in_any_form_is_read_alike(scripted_server: ScriptedServer, name: str) -> None:
    read, _ = _ask_once(scripted_server.play(_variants()[name]))
    row = _row(read)
    assert read.failures == {}
    assert (row["outcome"], row["input_tokens"], row["output_tokens"]) == (Outcome.OK, 5, 9)
    kinds = _kinds(read)
    assert sum(bool(kind & TEXT) for kind in kinds) == 3
    sizes = [s for s, k in zip(read.samples.chunks["size"], read.samples.chunks["kind"], strict=True) if k & TEXT]
    assert sizes == [len(word.encode()) for word in WORDS]


def test_tokens_of_each_event_are_known_where_every_event_counts(scripted_server: ScriptedServer) -> None:
    read, _ = _ask_once(scripted_server.play(events.stream(["a", "b", "c"], placed="every")))
    tokens = [t for t, k in zip(read.samples.chunks["tokens"], read.samples.chunks["kind"], strict=True) if k & TEXT]
    assert tokens == [1, 1, 1]


def test_usage_that_is_absent_is_unknown_and_not_nought(scripted_server: ScriptedServer) -> None:
    row = _row(_ask_once(scripted_server.play(events.stream(["a"], placed="absent")))[0])
    assert (row["input_tokens"], row["output_tokens"], row["cached_tokens"]) == (-1, -1, -1)


def test_tokens_out_of_a_cache_are_counted(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(events.stream(["a"], usage=Usage(9, 1, cached=8)))
    assert _row(_ask_once(stage)[0])["cached_tokens"] == 8


# ---- failures, each of its class ----


def _failing() -> dict[str, tuple[Script, Outcome, str]]:
    plain = events.stream(["a", "b", "c"], gaps=[0, 5])
    return {
        "too long": (faults.too_long(), Outcome.TOO_LONG, "maximum context length"),
        "unauthorised": (faults.unauthorised(), Outcome.STATUS, "HTTP 401: Incorrect API key"),
        "unprocessable": (faults.unprocessable(), Outcome.STATUS, "HTTP 422"),
        "throttled": (faults.too_many("7"), Outcome.THROTTLED, "retry after 7"),
        "broken": (faults.broken(), Outcome.STATUS, "HTTP 500"),
        "redirect": (
            faults.redirect("http://127.0.0.1:1/"),
            Outcome.STATUS,
            "HTTP 307: it points to http://127.0.0.1:1/",
        ),
        "nonsense": (faults.nonsense(), Outcome.MALFORMED, "not HTTP"),
        "no answer": (faults.nothing(), Outcome.CUT, "ended before the answer"),
        "cut": (faults.cut(plain, 2), Outcome.CUT, "ended before the answer"),
        "reset": (faults.cut(plain, 2, how="reset"), Outcome.CUT, "ended before the answer"),
        "error inside": (faults.error_inside(plain, 2), Outcome.STREAM_ERROR, "the engine died"),
        "error event": (faults.error_inside(plain, 2, named=True), Outcome.STREAM_ERROR, "the engine died"),
        "not json": (events.of_events([b"data: {oops\n\n"]), Outcome.MALFORMED, "not JSON"),
        "no end": (events.of_events([events.event(events.chunk("a"))]), Outcome.CUT, "without a finish_reason"),
        "closed without an end": (
            events.of_events([events.event(events.chunk("a"))], framing="close", after="close"),
            *(Outcome.CUT, "without a finish_reason"),
        ),
        "no events": (events.of_events([b"\n"]), Outcome.MALFORMED, "no event"),
    }


@pytest.mark.parametrize("name", _failing())
def test_a_failure_is_of_its_class_and_says_why(scripted_server: ScriptedServer, name: str) -> None:
    script, outcome, words = _failing()[name]
    read, asked = _ask_once(scripted_server.play(script))
    assert _row(read)["outcome"] == outcome
    assert words in read.failures[outcome].first and read.failed == 1
    assert asked.client.health.reconnects == 0


def test_users_who_find_nobody_do_not_knock_without_end() -> None:
    with peers.closed_port() as port, asking(f"http://127.0.0.1:{port}{CHAT}") as asked:
        read = asked.closed(Load(workers=3, duration=0.35))
    assert read.failures[Outcome.REFUSED].count == read.samples.calls
    assert 3 <= read.samples.calls <= 3 * 4  # at 0, 100, 200 and 300 ms
    with peers.closed_port() as port, asking(f"http://127.0.0.1:{port}{CHAT}") as asked:
        assert asked.closed(Load(workers=2, samples=5)).samples.calls == 5


def test_a_count_of_no_tokens_for_a_text_is_no_count(scripted_server: ScriptedServer) -> None:
    row = _row(_ask_once(scripted_server.play(events.stream(["a", "b"], usage=Usage(0, 0))))[0])
    assert row["output_tokens"] == row["input_tokens"] == UNKNOWN
    row = _row(_ask_once(scripted_server.play(events.stream([], usage=Usage(7, 0))))[0])
    assert (row["input_tokens"], row["output_tokens"]) == (7, 0)  # it has none


def test_what_was_there_before_a_cut_is_kept(scripted_server: ScriptedServer) -> None:
    read, _ = _ask_once(scripted_server.play(faults.cut(events.stream(["a", "b", "c"], gaps=[0, 5]), 3)))
    row = _row(read)
    assert row["outcome"] == Outcome.CUT and row["first_text"] != NEVER < row["last_text"]


def test_silence_is_a_timeout(scripted_server: ScriptedServer) -> None:
    read, _ = _ask_once(scripted_server.play(faults.silence()), timeout=0.2)
    row = _row(read)
    assert row["outcome"] == Outcome.TIMEOUT and row["service"] >= 200 * MS
    assert "no whole answer in 0.2 s" in read.failures[Outcome.TIMEOUT].first


def test_a_shut_door_is_refused() -> None:
    with peers.closed_port() as port, asking(f"http://127.0.0.1:{port}{CHAT}") as asked:
        read = asked.closed(Load(samples=2))
    assert [_row(read, place)["outcome"] for place in (0, 1)] == [Outcome.REFUSED] * 2
    assert "refused" in read.failures[Outcome.REFUSED].first.lower()


def test_a_huge_answer_is_not_read_to_its_end(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchwright.worker.endpoints.connection.MOST_BODY", 2**20)
    read, _ = _ask_once(scripted_server.play(faults.huge(2**22)))
    assert _row(read)["outcome"] == Outcome.OVERSIZED


def test_endless_headers_are_not_read_to_their_end(scripted_server: ScriptedServer) -> None:
    line = b"X-Filler: " + b"x" * 60_000 + b"\r\n"
    script = Script(pieces=(Piece(b"HTTP/1.1 200 OK\r\n"), Piece(line, times=100)), framing="raw", after="leave")
    assert _row(_ask_once(scripted_server.play(script))[0])["outcome"] in (Outcome.OVERSIZED, Outcome.MALFORMED)


# ---- connections ----


def test_connections_are_kept_and_used_again(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(events.stream(["a"]))
    with asking(stage.url + CHAT) as asked:
        asked.closed(Load(samples=20, workers=2))
        assert asked.client.health.opened == 2 and asked.client.health.reused == 18
    assert len({seen.connection for seen in stage.log()}) == 2


def test_a_connection_that_died_idle_is_no_failure_of_the_server(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(replace(events.stream(["a"]), drops_next="close"))
    with asking(stage.url + CHAT) as asked:
        read = asked.closed(Load(samples=6))
    assert read.failures == {} and asked.client.health.reconnects >= 1


def test_no_more_connections_than_allowed(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(replace(events.stream(["a"]), wait=30))
    with asking(stage.url + CHAT, connections=2) as asked:
        read = asked.open([0] * 8)
    assert read.failed == 0 and asked.client.health.opened == 2 and asked.client.health.queued >= 6
    assert sorted(read.samples.columns["lateness"])[-1] >= 60 * MS  # the wait shows as the client's own


# ---- conversations ----


def test_turns_of_a_conversation_follow_each_other(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(replace(events.stream(["a"]), wait=5))
    turns = [
        Exchange(messages=(("user", f"{session}/{turn}"),), session=session, turn=turn)
        for session in range(3)
        for turn in range(3)
    ]
    with asking(stage.url + CHAT) as asked:
        read = asked.open([0, MS, 2 * MS], turns, think=20 * MS)
    assert read.samples.calls == 9 and read.failed == 0
    by_session: dict[bytes, list[tuple[int, int]]] = {}
    for seen in stage.log():
        text = seen.request.rpartition(b'"content": "')[2].partition(b'"')[0]
        by_session.setdefault(text.split(b"/")[0], []).append((seen.complete_ns, seen.writes[-1][0]))
    for turns_seen in by_session.values():
        for (_, end), (begin, _) in pairwise(turns_seen):
            assert begin - end >= 20 * MS


@pytest.mark.timeout(30)
def test_whoever_waits_gets_another_connection_when_one_is_closed(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(replace(events.stream(["a"]), after="close"))
    with asking(stage.url + CHAT, connections=2) as asked:
        read = asked.open([0] * 8)
    assert read.failed == 0 and asked.client.health.opened == 8


@pytest.mark.timeout(30)
def test_whoever_waits_at_a_shut_door_is_refused_too() -> None:
    with peers.closed_port() as port, asking(f"http://127.0.0.1:{port}{CHAT}", connections=2) as asked:
        read = asked.open([0] * 8)
    assert read.failures[Outcome.REFUSED].count == 8


def test_an_answer_that_nobody_asked_for_reaches_nobody(scripted_server: ScriptedServer) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
    own = b'{"choices": [{"message": {"content": "own"}}]}'
    for surplus in (answer % (5, b"other"), b"HTTP/1.1 200 OK\r\nConte", b"nonsense"):
        both = Piece(answer % (len(own), own) + surplus)
        stage = scripted_server.play(Script(pieces=(both,), framing="raw", after="leave"))
        with asking(stage.url + CHAT, {"stream": False}) as asked:
            read = asked.closed(Load(samples=3))
        assert read.failures == {} and asked.client.health.opened == 3, surplus


def test_headers_of_the_answer_that_counts_are_the_ones_read(scripted_server: ScriptedServer) -> None:
    packed = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 429 Too Many\r\nRetry-After: 7\r\n"
    raw = Piece(packed + b"Content-Length: 0\r\n\r\n")
    read, _ = _ask_once(scripted_server.play(Script(pieces=(raw,), framing="raw", after="leave")))
    assert _row(read)["status"] == 429 and "retry after 7" in read.failures[Outcome.THROTTLED].first
