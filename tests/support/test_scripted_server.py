"""The scripted server says exactly what is written, waits as long as is written, and keeps the truth about it."""

from __future__ import annotations

import gzip
import itertools
import socket
import ssl
import struct
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import replace

import pytest

from certificates import Authority
from scripted import client, events, faults
from scripted.caller import ASK, Caller, documents_of, fetch
from scripted.client import ScriptedServer, Stage
from scripted.events import Usage
from scripted.script import Piece, Script

MS = 1_000_000


@pytest.fixture
def caller(scripted_server: ScriptedServer) -> Iterator[Caller]:
    made = Caller(scripted_server)
    yield made
    made.line.close()


# ---- instants ----


def test_every_write_is_where_the_script_has_it_and_arrives_after_its_instant(
    scripted_server: ScriptedServer, caller: Caller
) -> None:
    waits = [15.0, 4.0, 30.0]
    pieces = tuple(Piece(data, gap) for data, gap in zip([b"one", b"two", b"three"], waits, strict=True))
    stage = scripted_server.play(Script(pieces=pieces, framing="length", wait=20, tail=5))
    sent = caller.ask(stage)
    data = caller.read(b"three")
    [seen] = stage.log()
    assert data == b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nonetwothree"
    instants = [instant for instant, _ in seen.writes]
    assert [size for _, size in seen.writes] == [len(data) - 11, 3, 3, 5] and seen.written == len(data)
    assert sent < seen.complete_ns < seen.started_ns < instants[0] < seen.end_ns
    gaps = [later - earlier for earlier, later in zip([seen.started_ns, *instants], instants, strict=False)]
    assert all(gap >= wait * MS for gap, wait in zip(gaps, [20, *waits], strict=True)), gaps
    assert seen.end_ns - instants[-1] >= 5 * MS
    # Every byte arrives after the instant of its write: the two clocks are one.
    ends = list(itertools.accumulate(size for _, size in seen.writes))
    assert all(caller.arrival(end) > instant for end, instant in zip(ends, instants, strict=True))


def test_a_stall_delays_what_goes_on_and_what_arrives(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(Script(pieces=(Piece(b"x", 60),), framing="length"))
    before, within = Caller(scripted_server), Caller(scripted_server)
    within.ask(scripted_server.play(Script(pieces=(), framing="length")))  # it is connected now
    within.read(b"\r\n\r\n")
    begin = time.perf_counter_ns() + 40 * MS
    scripted_server.stall(begin_ns=begin, length_ns=150 * MS)
    before.ask(stage)
    while time.perf_counter_ns() < begin + 20 * MS:
        time.sleep(0.001)
    within.ask(stage)
    before.read(b"x")
    within.read(b"x")
    [(stalled, went_on)] = scripted_server.stalls()
    assert begin <= stalled and went_on - stalled >= 150 * MS
    assert before.got[-1][0] > went_on and within.got[-1][0] > went_on
    for one in (before, within):
        one.line.close()


def test_requests_wait_for_slots(scripted_server: ScriptedServer) -> None:
    quick = Script(pieces=(Piece(b"."),), framing="length", wait=5)
    stage = scripted_server.play(faults.silence(), faults.silence(), quick, slots=2)
    callers = [Caller(scripted_server) for _ in range(5)]
    for count, one in enumerate(callers, 1):
        one.ask(stage)
        stage.log(count=count, settle=0)
    text = fetch(scripted_server.url, "/metrics")[1].decode()
    assert 'vllm:num_requests_running{model_name="scripted"} 2' in text
    assert 'vllm:num_requests_waiting{model_name="scripted"} 3' in text
    callers.pop(0).line.close()  # one slot is free
    for one in callers[1:]:
        one.read(b".")
    for one in callers:
        one.line.close()
    first, _, *others = stage.log()
    for earlier, later in itertools.pairwise([first, *others]):
        assert later.started_ns >= earlier.end_ns > earlier.started_ns


# ---- bytes ----


def test_chunks_are_written_as_the_script_cuts_them(scripted_server: ScriptedServer, caller: Caller) -> None:
    word = events.event({"content": "größer"})
    middle = word.index("ö".encode()) + 1
    stage = scripted_server.play(events.of_events([p.data for p in events.cut_at(word, middle)], [0, 20]))
    caller.ask(stage)
    whole = caller.read(b"0\r\n\r\n")
    first, second = b"%x\r\n" % middle + word[:middle] + b"\r\n", b"%x\r\n" % (len(word) - middle) + word[middle:]
    assert whole.endswith(b"\r\n\r\n" + first + second + b"\r\n0\r\n\r\n")
    [seen] = stage.log()
    assert [size for _, size in seen.writes][1:] == [len(first), len(second) + 2, 5]
    assert seen.writes[2][0] - seen.writes[1][0] >= 20 * MS


def test_head_and_end_go_with_their_neighbours_when_told_to(scripted_server: ScriptedServer, caller: Caller) -> None:
    script = Script(pieces=(Piece(b"ab"), Piece(b"cd")), joins_head=True, joins_tail=True)
    stage = scripted_server.play(script)
    caller.ask(stage)
    data = caller.read(b"0\r\n\r\n")
    [seen] = stage.log()
    tail = b"2\r\ncd\r\n0\r\n\r\n"
    assert data.endswith(b"2\r\nab\r\n" + tail) and [n for _, n in seen.writes] == [len(data) - len(tail), len(tail)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (events.event("x", newline="\r\n", space=False), b"data:x\r\n\r\n"),
        (events.event("x\ny", name="error"), b"event: error\ndata: x\ndata: y\n\n"),
        (events.comment(), b": ping\n\n"),
    ],
)
def test_events_have_the_forms_that_there_are(given: bytes, expected: bytes) -> None:
    assert given == expected


@pytest.mark.parametrize("placed", ["own", "finish", "every", "absent"])
def test_usage_is_where_it_is_placed(scripted_server: ScriptedServer, placed: str) -> None:
    stage = scripted_server.play(events.stream(["a", events.reasoning("b")], usage=Usage(7, 2, 3), placed=placed))
    _, body = fetch(stage.url, "/v1/chat/completions", {})
    *documents, done = documents_of(body)
    counts = [(one.get("usage") or {}).get("completion_tokens") for one in documents]
    expected = {"own": [None] * 4 + [2], "finish": [None] * 3 + [2], "every": [0, 1, 2, 2, 2], "absent": [None] * 4}
    assert done == "[DONE]" and counts == expected[placed]
    assert [one["choices"] for one in documents[4:]] == [[]] * (len(documents) - 4)
    assert documents[2]["choices"][0]["delta"] == {"reasoning_content": "b"}


def test_a_body_is_compressed_piece_by_piece(scripted_server: ScriptedServer) -> None:
    plain = events.stream(["a", "b"], gaps=[0, 10])
    assert plain.pieces
    stage = scripted_server.play(events.compressed(plain))
    answer, body = fetch(stage.url, "/v1/chat/completions", {})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == b"".join(piece.data for piece in plain.pieces)
    assert len(stage.log()[0].writes) == 1 + 6 + 1


def test_statuses_headers_and_versions(scripted_server: ScriptedServer, caller: Caller) -> None:
    late = faults.too_many("7")
    stage = scripted_server.play(late, faults.redirect("http://elsewhere/"), Script(interim=(100, 103), pieces=()))
    answer, body = fetch(stage.url, "/v1/chat/completions", {})
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7") and b"rate_limit" in body
    answer, _ = fetch(stage.url, "/v1/chat/completions", {})
    assert (answer.status, answer.headers["Location"]) == (307, "http://elsewhere/")
    caller.ask(stage)
    expected = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"
    assert caller.read(b"0\r\n\r\n").startswith(expected)
    old = Script(pieces=(Piece(b"old"),), version="1.0", framing="close", after="leave")
    caller.got.clear()
    caller.ask(scripted_server.play(old))
    assert caller.read_all() == b"HTTP/1.0 200 OK\r\n\r\nold"


def test_a_huge_body_is_written_as_it_is_read(scripted_server: ScriptedServer) -> None:
    size = 5 * 2**20 + 7
    stage = scripted_server.play(faults.huge(size, framing="length"))
    _, body = fetch(stage.url, "/v1/chat/completions", {})
    [seen] = stage.log()
    assert body == b"x" * size and len(seen.writes) == 1 + 80 + 1


def test_a_client_that_leaves_ends_what_it_asked_for(scripted_server: ScriptedServer, caller: Caller) -> None:
    endless = scripted_server.play(faults.huge(2**40))
    caller.ask(endless)
    caller.line.recv(10)
    silent, other = scripted_server.play(faults.silence()), Caller(scripted_server)
    other.ask(silent)
    assert silent.log(count=1, settle=0.05)[0].ended == ""
    for one in (caller, other):
        one.line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.line.close()
    assert endless.log()[0].ended == silent.log()[0].ended == "gone"
    assert [one.closed_by for one in scripted_server.connections()] == ["client", "client"]


# ---- ends of connections ----


@pytest.mark.parametrize("how", ["leave", "reset"])
@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_a_stream_is_cut(scripted_server: ScriptedServer, caller: Caller, how: str, framing: str) -> None:
    script = Script(pieces=(Piece(b"abc"), Piece(b"def")), framing=framing)
    stage = scripted_server.play(faults.cut(script, 1, how=how))
    caller.ask(stage)
    body = b"3\r\nabc\r\n" if framing == "chunked" else b"abc"
    if how == "reset":
        with pytest.raises(ConnectionResetError):
            caller.read_all()
    else:
        assert caller.read_all().endswith(b"\r\n\r\n" + body) and b"Connection" not in caller.data
    assert b"Content-Length: 6" in caller.data or framing == "chunked" or how == "reset"


def test_a_kept_connection_is_closed_when_it_idles_and_not_before(
    scripted_server: ScriptedServer, caller: Caller
) -> None:
    answer = Script(pieces=(Piece(b"."),), framing="length", after="leave")
    stage = scripted_server.play(replace(answer, linger=19_000), replace(answer, linger=40))
    for _ in range(2):
        caller.ask(stage)
        caller.read(b".")
        caller.got.clear()
    assert caller.line.recv(1) == b""
    [connection] = scripted_server.connections()
    assert (connection.requests, connection.closed_by) == (2, "server")
    assert connection.closed_ns - stage.log()[1].end_ns >= 40 * MS


def test_a_connection_is_closed_after_so_many_requests(scripted_server: ScriptedServer, caller: Caller) -> None:
    stage = scripted_server.play(Script(pieces=(Piece(b"."),), framing="length"), closes_after=2)
    for _ in range(2):
        caller.ask(stage)
        caller.read(b".")
        caller.got.clear()
    assert caller.line.recv(1) == b"" and len(stage.log()) == 2


@pytest.mark.parametrize("how", ["close", "reset"])
def test_the_next_request_on_a_kept_connection_is_dropped(
    scripted_server: ScriptedServer, caller: Caller, how: str
) -> None:
    stage = scripted_server.play(Script(pieces=(Piece(b"."),), framing="length", drops_next=how))
    caller.ask(stage)
    caller.read(b".")
    caller.ask(stage)
    if how == "reset":
        with pytest.raises(ConnectionResetError):
            caller.line.recv(1)
    else:
        assert caller.line.recv(1) == b""
    assert [one.ended for one in stage.log()] == ["whole", "dropped"]


def test_doors_refuse_slam_and_open_again(scripted_server: ScriptedServer, caller: Caller) -> None:
    caller.ask(scripted_server.play(Script(pieces=(), framing="length")))
    caller.read(b"\r\n\r\n")
    scripted_server.set_door("shut")
    with pytest.raises(ConnectionRefusedError):
        Caller(scripted_server)
    caller.ask(scripted_server.play(Script(pieces=(Piece(b"!"),), framing="length")))  # who is inside stays there
    caller.read(b"!")
    scripted_server.set_door("slam")
    assert _closed(scripted_server)
    scripted_server.set_door("open")
    assert fetch(scripted_server.url, "/health")[0].status == 200
    with client.closed_port() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def _closed(server: ScriptedServer) -> bool:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        return line.recv(1) == b""


def test_nonsense_and_no_answer_at_all(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(faults.nonsense(b"\0garbage"), faults.nothing())
    for expected in (b"\0garbage", b""):
        one = Caller(scripted_server)
        one.ask(stage)
        assert one.read_all() == expected
        one.line.close()


def test_tls_is_signed_by_the_authority_and_by_nobody_else(
    scripted_server: ScriptedServer, authority: Authority
) -> None:
    stage = scripted_server.play(Script(pieces=(Piece(b"secret"),), framing="length"))
    good, expired = (scripted_server.listen_tls(*authority.sign(days=days)) for days in (2, -1))
    trusting = ssl.create_default_context(cafile=str(authority.file))
    assert _with_tls(good, stage, trusting).endswith(b"secret")
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        _with_tls(expired, stage, trusting)
    with pytest.raises(ssl.SSLCertVerificationError):
        _with_tls(good, stage, ssl.create_default_context())
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        _with_tls(scripted_server.listen_tls(*authority.sign("elsewhere.example")), stage, trusting)


def _with_tls(url: str, stage: Stage, context: ssl.SSLContext) -> bytes:
    parts = urllib.parse.urlsplit(url)
    with (
        socket.create_connection(("127.0.0.1", parts.port or 0), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=parts.hostname) as line,
    ):
        line.sendall(ASK % f"/@{stage.name}".encode())
        data = b""
        while not data.endswith(b"secret"):
            data += line.recv(1000)
        return data
