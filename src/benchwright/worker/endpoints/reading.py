"""From raw traffic to columns: every answer is read once nothing is timed any more."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from benchwright.records import Int64s, Samples
from benchwright.worker.endpoints.dialect import (
    TEXT,
    UNKNOWN,
    Chunk,
    ChunkKind,
    Dialect,
    RawAnswer,
    ReadAnswer,
    read_answer,
)
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.traffic import Outcome, RequestLog

NEVER = -1  # of an instant: it did not happen
MOST_CHUNKS = 4_000_000  # events that are kept one by one, of one copy
# As plain numbers: with those of an enumeration each look at an event takes five times as long.
_TEXT, _CHOICE = int(TEXT), int(ChunkKind.ROLE | TEXT | ChunkKind.FINISH)
_REASONING, _CONTENT = int(ChunkKind.REASONING), int(ChunkKind.CONTENT)
CountTokens = Callable[[Sequence[str]], Sequence[int]]
_COLUMNS = (
    *("latency", "end", "scheduled", "lateness", "service", "outcome", "status"),
    *("first_byte", "first_any", "first_text", "first_reasoning", "first_content", "last_text"),
    *("asked_tokens", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "counted_tokens"),
)


@dataclass(slots=True, kw_only=True)
class Failures:
    """The requests of one kind of failure: how many, and what the first of them said."""

    count: int = 0
    first: str = ""


@dataclass(slots=True, kw_only=True)
class ReadTraffic:
    """A load as columns, and what does not fit into columns."""

    samples: Samples
    failures: dict[Outcome, Failures] = field(default_factory=dict)
    unread_chunks: int = 0  # events beyond those that are kept one by one
    streamed: int = 0  # answers that came as a stream

    @property
    def failed(self) -> int:
        """How many requests failed."""
        return sum(kind.count for kind in self.failures.values())


def read_traffic(
    traffic: RequestLog,
    dialect: Dialect,
    exchanges: Sequence[Exchange],
    *,
    zero: int,
    copy: int,
    span: int = 0,
    count: CountTokens | None = None,
) -> ReadTraffic:
    """Reads every answer. `span` is how long arrivals were to go on, in ns; `count` counts the tokens of texts."""
    columns: dict[str, Int64s] = {name: array("q") for name in _COLUMNS}
    chunks: dict[str, Int64s] = {name: array("q") for name in ("call", "at", "kind", "size", "tokens")}
    whole = ReadTraffic(samples=Samples(copy=copy, calls=0, loops=1, elapsed=0))
    texts: list[str] = []
    for entry in range(len(traffic)):
        answer = read_entry(traffic, entry, dialect)
        if answer.outcome is not Outcome.OK:
            kind = whole.failures.setdefault(answer.outcome, Failures(first=answer.reason))
            kind.count += 1
        whole.streamed += answer.streamed
        _add_row(columns, traffic, entry, answer, zero)
        columns["asked_tokens"].append(_known(exchanges[traffic.number[entry]].output_tokens))
        texts.append(answer.text if count is not None else "")
        room = MOST_CHUNKS - len(chunks["call"])
        whole.unread_chunks += max(0, len(answer.chunks) - room)
        _add_chunks(chunks, answer.chunks[:room], entry, zero)
    columns["counted_tokens"].extend(count(texts) if count is not None else [UNKNOWN] * len(traffic))
    elapsed = max(max(columns["end"], default=0), span)
    whole.samples = Samples(
        copy=copy,
        calls=len(traffic),
        loops=1,
        elapsed=elapsed,
        columns=columns,
        chunks=chunks if chunks["call"] else {},
    )
    return whole


def read_entry(traffic: RequestLog, entry: int, dialect: Dialect) -> ReadAnswer:
    """The answer of one request. Of one that was cut off, what arrived before is read as well."""
    outcome = Outcome(traffic.outcome[entry])
    raw = RawAnswer(
        status=traffic.status[entry],
        end=traffic.end[entry],
        pieces=traffic.pieces[entry],
        head=traffic.heads.get(entry, b""),
    )
    if outcome is Outcome.OK:
        answer = read_answer(dialect, raw)
    elif raw.pieces and raw.status == 200:
        answer = dialect.read(raw)
        answer.outcome, answer.reason = outcome, traffic.reasons.get(entry, "")
    else:
        answer = ReadAnswer(outcome=outcome, reason=traffic.reasons.get(entry, ""))
    traffic.pieces[entry] = []  # read: what is kept from here on is in columns
    return answer


def _add_chunks(chunks: dict[str, Int64s], found: Sequence[Chunk], entry: int, zero: int) -> None:
    if not found:
        return
    instants, kinds, sizes, tokens = zip(*found, strict=True)
    chunks["call"].extend(repeat(entry, len(found)))
    chunks["at"].extend([at - zero for at in instants])
    chunks["kind"].extend(kinds)
    chunks["size"].extend(sizes)
    chunks["tokens"].extend(tokens)


def _add_row(columns: dict[str, Int64s], traffic: RequestLog, entry: int, answer: ReadAnswer, zero: int) -> None:
    scheduled, end = traffic.scheduled[entry], traffic.end[entry]
    sent = traffic.sent[entry] or end  # one that no connection took waited all the time
    first = traffic.first[entry]
    row = {
        "latency": end - scheduled,
        "end": end - zero,
        "scheduled": scheduled - zero,
        "lateness": sent - scheduled,
        "service": end - sent,
        "outcome": int(answer.outcome),
        "status": traffic.status[entry],
        "first_byte": first - zero if first else NEVER,
        "first_any": _instant(answer, _CHOICE, zero),
        "first_text": _instant(answer, _TEXT, zero),
        "first_reasoning": _instant(answer, _REASONING, zero),
        "first_content": _instant(answer, _CONTENT, zero),
        "last_text": _instant(answer, _TEXT, zero, last=True),
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cached_tokens": answer.cached_tokens,
        "reasoning_tokens": answer.reasoning_tokens,
    }
    for name, value in row.items():
        columns[name].append(value)


def _instant(answer: ReadAnswer, kinds: int, zero: int, *, last: bool = False) -> int:
    """When the first (or the last) event of one of these kinds was there, in ns since time zero; -1: there was none."""
    chunks = reversed(answer.chunks) if last else answer.chunks
    return next((at - zero for at, kind, _, _ in chunks if kind & kinds), NEVER)


def _known(value: int | None) -> int:
    return UNKNOWN if value is None else value
