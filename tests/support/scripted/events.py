"""Streams of server-sent events as OpenAI's protocol has them, and in the forms that other servers give them."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scripted.script import Piece, Script, pieces_of

DONE = b"data: [DONE]\n\n"
HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens went in and came out."""

    prompt: int
    completion: int
    cached: int | None = None  # tokens of the prompt that lay in a cache

    def document(self) -> dict[str, Any]:
        """As the protocol has it."""
        counts: dict[str, Any] = {"prompt_tokens": self.prompt, "completion_tokens": self.completion}
        counts["total_tokens"] = self.prompt + self.completion
        if self.cached is not None:
            counts["prompt_tokens_details"] = {"cached_tokens": self.cached}
        return counts


def event(document: Any, *, space: bool = True, newline: str = "\n", name: str = "") -> bytes:
    """One event. What it carries is written as it is where it is text; each of its lines becomes a line of data."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    lines = [f"event: {name}"] if name else []
    lines += [f"data:{' ' if space else ''}{line}" for line in text.split("\n")]
    return (newline.join(lines) + newline * 2).encode()


def comment(text: str = "ping") -> bytes:
    """A line that keeps a connection alive and means nothing."""
    return f": {text}\n\n".encode()


def chunk(
    delta: dict[str, Any] | str | None, *, finish: str | None = None, usage: Usage | None = None, chat: bool = True
) -> dict[str, Any]:
    """A chunk of a chat (a delta) or of a completion (its text); None is a chunk without choices."""
    choices: list[dict[str, Any]] = []
    if delta is not None:
        text = {"content": delta} if isinstance(delta, str) and chat else delta
        choices = [{"index": 0, "delta" if chat else "text": text, "finish_reason": finish}]
    kind = "chat.completion.chunk" if chat else "text_completion"
    document = {"id": "cmpl-1", "object": kind, "created": 0, "model": "scripted", "choices": choices}
    return {**document, "usage": usage.document()} if usage else document


def whole(text: str, usage: Usage, *, chat: bool = True) -> dict[str, Any]:
    """The answer to a request that wants no stream."""
    said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    kind = "chat.completion" if chat else "text_completion"
    document = {"id": "cmpl-1", "object": kind, "created": 0, "model": "scripted", "usage": usage.document()}
    return {**document, "choices": [{"index": 0, **said, "finish_reason": "length"}]}


def stream(
    texts: Sequence[dict[str, Any] | str],
    *,
    usage: Usage | None = None,
    placed: str = "own",
    gaps: Iterable[float] = (),
    chat: bool = True,
    done: bool = True,
) -> Script:
    """The events of an answer, each a piece: the role in a chat, the texts, the finish, the usage, `[DONE]`.

    A text may be a delta of its own, such as `reasoning("hm")`. Usage is `placed` in a chunk of its "own", on the
    "finish" chunk, on "every" chunk so far, or is "absent". The first gap is the one before the role's chunk.
    """
    usage = usage or Usage(1, len(texts))
    every = placed == "every"
    documents = [chunk({"role": "assistant", "content": ""}, usage=replace(usage, completion=0) if every else None)]
    documents = documents if chat else []
    for count, text in enumerate(texts, 1):
        so_far = replace(usage, completion=count) if every else None
        documents.append(chunk(text, usage=so_far, chat=chat))
    last = usage if placed in ("finish", "every") else None
    documents.append(chunk({} if chat else "", finish="length", usage=last, chat=chat))
    if placed in ("own", "every"):
        documents.append(chunk(None, usage=usage, chat=chat))
    written = [event(document) for document in documents] + [DONE] * done
    return of_events(written, gaps)


def of_events(written: Iterable[bytes], gaps: Iterable[float] = (), **others: Any) -> Script:
    """A stream of pieces that are written already."""
    return Script(pieces=pieces_of(written, gaps), headers=HEADERS, **others)


def reasoning(text: str, key: str = "reasoning_content") -> dict[str, Any]:
    """A delta of thoughts; `reasoning` is the other name that servers have for them."""
    return {key: text}


def tool_call(arguments: str, name: str | None = None) -> dict[str, Any]:
    """A delta of a call of a tool; the first one names it."""
    function = {"arguments": arguments, **({"name": name} if name else {})}
    head = {"id": "call-1", "type": "function"} if name else {}
    return {"tool_calls": [{"index": 0, **head, "function": function}]}


def in_one_write(script: Script) -> Script:
    """The same bytes, all of them in one piece."""
    return replace(script, pieces=(Piece(b"".join(piece.data for piece in script.pieces or ())),))


def cut_at(data: bytes, *places: int, gap: float = 5.0) -> tuple[Piece, ...]:
    """The data in pieces that end at these places: in the middle of a character, say."""
    edges = [0, *places, len(data)]
    return pieces_of((data[begin:end] for begin, end in itertools.pairwise(edges)), [0.0, gap])


def compressed(script: Script) -> Script:
    """The same body in gzip's form; what is written together can be read as soon as it is there."""
    packer = zlib.compressobj(wbits=31)
    made = [
        replace(piece, data=packer.compress(piece.data) + packer.flush(zlib.Z_SYNC_FLUSH))
        for piece in script.pieces or ()
    ]
    made[-1] = replace(made[-1], data=made[-1].data + packer.flush())
    return replace(script, pieces=tuple(made), headers={**script.headers, "Content-Encoding": "gzip"})
