"""What a protocol says: the body of each request, and what an answer to it means. Adapters are in `worker.runtimes`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, Protocol

from benchwright.system.masking import hide_secrets, mask_url
from benchwright.system.texts import shorten
from benchwright.worker.endpoints.events import inflate_pieces
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.traffic import Outcome, Pieces

MOST_UNPACKED = 64 * 2**20  # bytes of one answer
LONGEST_REASON = 300  # characters
UNKNOWN = -1  # a count that nobody told
Chunk = tuple[int, int, int, int]  # of an event: instant, ChunkKind, bytes of text, tokens
_TOO_LONG = re.compile(r"context|too long|too many tokens|maximum.{0,40}(token|length)|exceed", re.IGNORECASE)
_LATER = (429, 503)  # too many requests, not available at the moment: what a server may ask patience for
_PACKED = re.compile(rb"\ncontent-encoding:\s*(?:gzip|x-gzip|deflate)", re.IGNORECASE)


class ChunkKind(IntFlag):
    """What an event of a streamed answer carried. The numbers are kept with results: they never change."""

    NOTHING = 0
    ROLE = 1  # who speaks, and no text
    CONTENT = 2
    REASONING = 4
    TOOL = 8  # a part of a call of a tool
    USAGE = 16  # counts of tokens
    FINISH = 32  # why the answer ends
    DONE = 64  # the mark at the end of a stream
    ERROR = 128


TEXT = ChunkKind.CONTENT | ChunkKind.REASONING | ChunkKind.TOOL  # what a model generates


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    """What arrived for one request whose connection brought a whole answer."""

    status: int
    end: int  # the instant
    pieces: Pieces
    head: bytes = b""

    def body(self) -> bytes:
        """All of the body."""
        return b"".join(piece for _, piece in self.pieces)


@dataclass(slots=True, kw_only=True)
class ReadAnswer:
    """What an answer means."""

    outcome: Outcome = Outcome.OK
    reason: str = ""  # why it is not what was asked for
    chunks: list[Chunk] = field(default_factory=list)
    input_tokens: int = UNKNOWN  # as the server counts
    output_tokens: int = UNKNOWN
    cached_tokens: int = UNKNOWN
    reasoning_tokens: int = UNKNOWN
    text: str = ""  # what the model generated, for a count of our own
    streamed: bool = False
    retry_after: str = ""  # the header of that name, of a refusal


class Dialect(Protocol):
    """What every protocol offers."""

    accept: str  # the header of that name

    def encode(self, exchange: Exchange) -> bytes:
        """The body of a request."""
        ...

    def headers(self, exchange: Exchange) -> Mapping[str, str]:
        """The headers of one request beside those of all."""
        ...

    def read(self, answer: RawAnswer) -> ReadAnswer:
        """Reads an answer; whatever it holds, it is an outcome and never an exception."""
        ...

    def relax(self) -> str:
        """Leaves out a field that a server may not know; returns its name, or "" when there is none left."""
        ...


def read_answer(dialect: Dialect, answer: RawAnswer) -> ReadAnswer:
    """Reads an answer that has any status and may be packed."""
    if _PACKED.search(answer.head.partition(b"\r\n\r\n")[0]):
        plain = inflate_pieces(answer.pieces, MOST_UNPACKED)
        answer = RawAnswer(status=answer.status, end=answer.end, pieces=plain)
    if not 200 <= answer.status < 300:
        return _refused(answer)
    return dialect.read(answer)


def read_json(text: bytes) -> Any:
    """A JSON value; a `ValueError` for anything else, however deep or long it is."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def count_bytes(text: str) -> int:
    """The bytes of a text, of which a server may have sent half a sign: JSON can name one half of a pair alone."""
    return len(text.encode("utf-8", "surrogatepass"))


def join_texts(texts: Sequence[str]) -> str:
    """The texts as one. Halves of a sign that were sent apart become one again; one without its other is replaced."""
    whole = "".join(texts)
    try:
        whole.encode()
    except UnicodeEncodeError:
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole


def malformed(reason: str) -> ReadAnswer:
    """An answer that is not what the protocol says."""
    return ReadAnswer(outcome=Outcome.MALFORMED, reason=_say(reason))


def error_text(body: bytes) -> str:
    """What the body of a refusal says, in as few words as it has: its `error.message`, or its beginning."""
    try:
        told = read_json(body[: 64 * 2**10])
    except ValueError:
        told = None
    for key in ("error", "message", "detail"):
        if isinstance(told, dict) and key in told:
            told = told[key]
    if isinstance(told, dict) and "message" in told:
        told = told["message"]
    text = told if isinstance(told, str) else body[:4096].decode(errors="replace") if told is None else json.dumps(told)
    return _say(" ".join(text.split()))


def shown(body: bytes, most: int) -> str:
    """The beginning of what a server sent, as it may be shown."""
    return hide_secrets(body[:4096].decode(errors="replace"))[:most]


def _say(text: str) -> str:
    """What may be shown of a server's words: no key, which it may repeat, and not too much."""
    return shorten(hide_secrets(text), LONGEST_REASON)


def _refused(answer: RawAnswer) -> ReadAnswer:
    told = error_text(answer.body())
    outcome = Outcome.STATUS
    found = re.search(rb"\nretry-after:\s*([^\r\n]{1,60})", answer.head, re.IGNORECASE)
    later = found[1].decode(errors="replace") if found and answer.status in _LATER else ""
    told += f" (retry after {later})" if later else ""
    if answer.status == 429:
        outcome = Outcome.THROTTLED
    elif 300 <= answer.status < 400 and (
        place := re.search(rb"\nlocation:\s*([^\r\n]{1,300})", answer.head, re.IGNORECASE)
    ):
        told = f"it points to {hide_secrets(mask_url(place[1].decode(errors='replace')))}"
    elif answer.status in (400, 413, 422) and _TOO_LONG.search(told):
        outcome = Outcome.TOO_LONG
    reason = f"HTTP {answer.status}: {told}".rstrip(": ")
    return ReadAnswer(outcome=outcome, reason=reason, retry_after=later)
