"""The readers of what served models answer, and of what people say of them."""

from __future__ import annotations

import random
from pathlib import Path

from benchwright.worker.endpoints import settings, wire
from benchwright.worker.endpoints.dialect import RawAnswer, read_answer
from benchwright.worker.endpoints.exposition import Figures
from benchwright.worker.endpoints.openai_answers import read_embedding
from benchwright.worker.runtimes.openai import OpenAiDialect
from readers.kinds import TEXT, Reader
from scripted import events
from scripted.events import Usage


def _streams() -> list[bytes]:
    words = ["größer", " tür"]
    forms = [events.stream(words, usage=Usage(5, 2), placed=placed) for placed in ("own", "finish", "every")]
    return [b"".join(piece.data for piece in form.pieces or ()) for form in forms]


def _answers() -> list[bytes]:
    usage = b'"usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}'
    return [
        b'{"choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}], ' + usage + b"}",
        b'{"data": [{"embedding": [0.1, 0.2]}], ' + usage + b"}",
        b'{"error": {"message": "no such model", "type": "error", "code": 404}}',
        b'{"detail": [{"loc": ["body"], "msg": "missing"}]}',
    ]


def read_any_answer(path: Path, draw: random.Random) -> None:
    """Reads an answer of any status as each of the routes would, cut into pieces anywhere."""
    body = path.read_bytes()
    cut = draw.randrange(len(body) + 1)
    pieces = [(1, body[:cut]), (2, body[cut:])]
    for status in (200, 400, 429, 500):
        answer = RawAnswer(status=status, end=3, pieces=pieces, head=b"HTTP/1.1 200 OK\r\nRetry-After: 1\r\n\r\n")
        for route in ("chat/completions", "completions", "embeddings"):
            for stream in (True, False):
                read_answer(OpenAiDialect(route, {"stream": stream}), answer)
    read_embedding(RawAnswer(status=200, end=1, pieces=pieces))


def read_any_option(path: Path, draw: random.Random) -> None:
    """Reads a text as an option that is a JSON object, as lengths and as an address."""
    text = path.read_bytes().decode(errors="replace")
    if text.startswith("{"):
        settings.read_object({"body": text}, "body")
    else:
        wire.parse_address(text)


def read_figures(path: Path, draw: random.Random) -> None:
    """Reads a text as the figures of a server, twice."""
    found = Figures()
    for at in (1, 2):
        found.add(at, path.read_bytes().decode(errors="replace"))


SERVED: dict[str, Reader] = {
    "figures of a server": Reader(
        file="metrics",
        bodies=lambda: [
            b'# TYPE a counter\na_total{b="c\\"d"} 4 1700000000\n# TYPE h histogram\nh_sum 2.5e3\nh_count 3\n'
        ],
        call=read_figures,
        modules=("worker.endpoints.exposition",),
        ways=TEXT,
    ),
    "stream of a served model": Reader(
        file="answer",
        bodies=_streams,
        call=read_any_answer,
        modules=("worker.endpoints.dialect",),
        ways=TEXT,
    ),
    "answer of a served model": Reader(
        file="answer", bodies=_answers, call=read_any_answer, modules=("worker.endpoints.dialect",)
    ),
    "options of a served model": Reader(
        file="options",
        bodies=lambda: [b'{"temperature": 0, "a": [1]}', b"http://host:80/v1/completions"],
        call=read_any_option,
        modules=("worker.endpoints.settings", "worker.endpoints.wire"),
        ways=TEXT,
    ),
}
