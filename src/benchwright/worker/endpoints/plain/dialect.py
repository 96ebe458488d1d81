"""Requests and answers of a plain route: whether the answer is there, and when each piece of a streamed one came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright.records import ResultWarning
from benchwright.worker.endpoints.dialect import (
    UNKNOWN,
    ChunkKind,
    RawAnswer,
    ReadAnswer,
    count_bytes,
    error_text,
    join_texts,
    malformed,
    read_json,
    shown,
)
from benchwright.worker.endpoints.events import Event, read_events
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.plain.answer_paths import AnswerPath, MissingError, show_path, value_at
from benchwright.worker.endpoints.plain.bodies import BodyWriter, rows_of
from benchwright.worker.endpoints.prompt_maker import PromptMaker
from benchwright.worker.endpoints.traffic import Outcome, Pieces

if TYPE_CHECKING:
    from benchwright.worker.endpoints.driver import EndpointDriver

MOST_BYTES = 256 * 2**20  # of requests that are made ready, where each is another
_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_DONE = b"[DONE]"


class PlainDialect:
    """One route: bodies of a writer, answers with something at a path (or anything at all)."""

    accept = "*/*"

    def __init__(self, writer: BodyWriter, path: AnswerPath = (), *, streams: bool = False) -> None:
        self._writer, self._path, self._streams = writer, path, streams

    def encode(self, exchange: Exchange) -> bytes:
        """The body of a request."""
        return self._writer.write(exchange)

    def headers(self, exchange: Exchange) -> Mapping[str, str]:
        """No header is of one request alone."""
        return {}

    def relax(self) -> str:
        """Nothing can be left out."""
        return ""

    def read(self, answer: RawAnswer) -> ReadAnswer:
        """Whether the answer is there, and its pieces where they count."""
        if self._streams:
            return self._read_stream(answer)
        if not self._path:
            return ReadAnswer()
        try:
            told = read_json(answer.body())
        except ValueError as error:
            return malformed(f"the answer is not JSON: {error}")
        try:
            return ReadAnswer(text=_text_of(value_at(self._path, told)))
        except MissingError as error:
            if isinstance(told, dict) and told.get("error"):
                return ReadAnswer(outcome=Outcome.STREAM_ERROR, reason=error_text(answer.body()))
            return malformed(f"{error}: {shown(answer.body(), 120)}")

    # ---- answers that come in pieces ----

    def _read_stream(self, answer: RawAnswer) -> ReadAnswer:
        whole = ReadAnswer(streamed=True)
        texts: list[str] = []
        for event in _split(answer.pieces, by_line=bool(self._path)):
            self._add(whole, event, texts)
        whole.text = join_texts(texts)
        if whole.outcome is Outcome.OK and not any(kind & ChunkKind.CONTENT for _, kind, _, _ in whole.chunks):
            what = f"no {show_path(self._path)}" if self._path else "nothing"
            return malformed(f"the stream brought {what}")
        return whole

    def _add(self, whole: ReadAnswer, event: Event, texts: list[str]) -> None:
        kind, size = ChunkKind.CONTENT, len(event.data)
        if event.data.strip() == _DONE:
            kind, size = ChunkKind.DONE, 0
        elif event.kind == "error":
            kind, size = ChunkKind.ERROR, 0
            if whole.outcome is Outcome.OK:
                whole.outcome, whole.reason = Outcome.STREAM_ERROR, error_text(event.data)
        elif self._path:
            text = self._text_in(event.data)
            kind = ChunkKind.NOTHING if text is None else ChunkKind.CONTENT
            size = count_bytes(text or "")
            texts.append(text or "")
        whole.chunks.append((event.at, int(kind), size, UNKNOWN))

    def _text_in(self, data: bytes) -> str | None:
        """What an event brought; None where it has nothing at the path."""
        try:
            value = value_at(self._path, read_json(data))
        except (ValueError, MissingError):
            return None
        return None if value == "" else _text_of(value)


def _split(pieces: Pieces, *, by_line: bool) -> Iterator[Event]:
    """The parts that a stream is read in: events, lines where something is looked for in them, or its pieces."""
    first = next((piece for _, piece in pieces if piece.strip()), b"").lstrip()
    if first.startswith(_EVENT_FIELDS):
        yield from read_events(pieces)
    elif by_line:
        yield from _read_lines(pieces)
    else:
        yield from (Event(at=at, kind="", data=piece) for at, piece in pieces if piece)


def _read_lines(pieces: Pieces) -> Iterator[Event]:
    """The lines of a stream, each with the instant of the piece that completed it."""
    unfinished: list[bytes] = []
    at = 0
    for at, piece in pieces:
        *whole, rest = piece.split(b"\n")
        for line in whole:
            full = b"".join((*unfinished, line))
            unfinished = []
            if full.strip():
                yield Event(at=at, kind="", data=full)
        unfinished.append(rest)
    if (full := b"".join(unfinished)).strip():
        yield Event(at=at, kind="", data=full)


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


class BodyMaker:
    """Makes the requests of a plain route: with prompts, with the rows of a file, or of a template alone."""

    def __init__(self, writer: BodyWriter, *, prompts: PromptMaker | None, rows: str, is_unique: bool) -> None:
        self._writer, self._prompts, self._rows, self._is_unique = writer, prompts, rows, is_unique
        self.repeats = not is_unique and not rows
        self.warnings: list[ResultWarning] = [] if prompts is None else prompts.warnings

    def __call__(self, count: int, seed: int, *, copy: int = 0, copies: int = 1) -> Sequence[Exchange]:
        """So many requests; fewer where they are the same again, a file has no more, or memory would not hold them."""
        if self._prompts is not None:
            return self._prompts(count, seed, copy=copy, copies=copies)
        if self._rows:
            return rows_of(Path(self._rows), count, copy=copy, copies=copies)
        if not self._is_unique:
            return [Exchange(messages=(), session=place) for place in range(self._writer.distinct)]
        size = len(self._writer.write(Exchange(messages=())))
        most = min(count, MOST_BYTES // max(1, size)) or 1
        return [Exchange(messages=(), session=place * copies + copy) for place in range(most)]

    def warm_up(self, count: int, seed: int) -> Sequence[Exchange]:
        """Requests like them; of a file the first, for only the file knows what the server takes."""
        if self._prompts is not None:
            return self._prompts.warm_up(count, seed)
        return self(1 if self._rows else count, seed)

    def settle(self, driver: EndpointDriver) -> None:
        """Learns how the server counts tokens, where it is sent prompts."""
        if self._prompts is not None:
            self._prompts.settle(driver)
