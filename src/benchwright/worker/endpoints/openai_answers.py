"""What answers of OpenAI's protocol say: streams of events, whole answers, embeddings. Servers differ in the details.

Counts of tokens come on a last event of their own, on the event that ends the answer, on every event, or not at all; a
stream may lack its mark at the end; an error may come inside a stream that began with 200.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchwright.worker.endpoints.dialect import (
    TEXT,
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
from benchwright.worker.endpoints.event_templates import TemplateReader
from benchwright.worker.endpoints.events import Event, read_events
from benchwright.worker.endpoints.traffic import Outcome

_REASONING = ("reasoning_content", "reasoning")  # servers do not agree on the name
_MOST_TOKENS = 2**53
_MERE_TEXT = (ChunkKind.CONTENT, ChunkKind.REASONING)
_ENDS = int(ChunkKind.FINISH | ChunkKind.DONE)  # how a stream says that it is whole; servers send one of them, or both


def read_stream(answer: RawAnswer) -> ReadAnswer:
    """Reads a stream of events."""
    whole = ReadAnswer(streamed=True)
    texts: list[str] = []
    templates = TemplateReader(read_json, _read_mere_text)
    for event in read_events(answer.pieces):
        known = templates.match(event.data) if not event.kind else None
        if known is not None:
            kind, raw, text = known
            whole.chunks.append((event.at, kind, len(raw), UNKNOWN))
            texts.append(text)
        else:
            _add_event(whole, event, texts, templates)
    whole.text = join_texts(texts)
    _forget_no_count(whole)
    if whole.outcome is Outcome.OK and not whole.chunks:
        return malformed("the stream held no event")
    if whole.outcome is Outcome.OK and not any(kind & _ENDS for _, kind, _, _ in reversed(whole.chunks)):
        whole.outcome = Outcome.CUT
        whole.reason = "the stream ended without a finish_reason and without [DONE]"
    return whole


def _add_event(whole: ReadAnswer, event: Event, texts: list[str], templates: TemplateReader) -> None:
    if event.data.strip() == b"[DONE]":
        whole.chunks.append((event.at, int(ChunkKind.DONE), 0, UNKNOWN))
        return
    try:
        told = read_json(event.data)
    except ValueError as error:
        _fail(whole, event, Outcome.MALFORMED, f"an event is not JSON: {error}: {shown(event.data, 80)!r}")
        return
    if event.kind == "error" or not isinstance(told, dict) or told.get("error"):
        _fail(whole, event, Outcome.STREAM_ERROR, error_text(event.data))
        return
    kind, text = _read_choice(told.get("choices"), "delta")
    tokens = UNKNOWN
    if isinstance(usage := told.get("usage"), Mapping):
        before = max(0, whole.output_tokens)
        _add_usage(whole, usage)
        kind |= ChunkKind.USAGE
        if kind & TEXT and whole.output_tokens >= before:  # counts come with every event
            tokens = whole.output_tokens - before
    elif not event.kind and kind in _MERE_TEXT:
        templates.learn(event.data, int(kind), text)
    texts.append(text)
    whole.chunks.append((event.at, int(kind), count_bytes(text), tokens))


def _read_mere_text(told: Any) -> tuple[int, str] | None:
    """The kind and the text of an event that holds nothing but text; None of any other."""
    if not isinstance(told, dict) or told.get("error") or isinstance(told.get("usage"), Mapping):
        return None
    kind, text = _read_choice(told.get("choices"), "delta")
    return (int(kind), text) if kind in _MERE_TEXT else None


def read_whole(answer: RawAnswer) -> ReadAnswer:
    """Reads an answer that came in one piece of JSON."""
    try:
        told = read_json(answer.body())
    except ValueError as error:
        return malformed(f"the answer is not JSON: {error}")
    if not isinstance(told, dict):
        return malformed("the answer is not a JSON object")
    if told.get("error"):
        return ReadAnswer(outcome=Outcome.STREAM_ERROR, reason=error_text(answer.body()))
    kind, text = _read_choice(told.get("choices"), "message")
    if not kind:
        return malformed("the answer has no choices")
    whole = ReadAnswer(text=join_texts([text]), chunks=[(answer.end, int(kind), count_bytes(text), UNKNOWN)])
    if isinstance(usage := told.get("usage"), Mapping):
        _add_usage(whole, usage)
    _forget_no_count(whole)
    return whole


def read_embedding(answer: RawAnswer) -> ReadAnswer:
    """Reads an embedding: that there is one, and how many tokens went into it."""
    try:
        told = read_json(answer.body())
    except ValueError as error:
        return malformed(f"the answer is not JSON: {error}")
    data = told.get("data") if isinstance(told, dict) else None
    if not isinstance(data, list) or not data or not isinstance(data[0], dict) or not data[0].get("embedding"):
        return malformed("the answer holds no embedding")
    whole = ReadAnswer()
    if isinstance(usage := told.get("usage"), Mapping):
        _add_usage(whole, usage)
    return whole


def _read_choice(choices: Any, part: str) -> tuple[ChunkKind, str]:
    """What the first choice brought, and its text."""
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping):
        return ChunkKind.NOTHING, ""
    kind, texts = ChunkKind.NOTHING, []
    inner = first.get(part)
    delta = inner if isinstance(inner, Mapping) else {}
    if delta.get("role"):
        kind |= ChunkKind.ROLE
    for name, flag in (("content", ChunkKind.CONTENT), *((name, ChunkKind.REASONING) for name in _REASONING)):
        if isinstance(text := delta.get(name), str) and text:
            kind |= flag
            texts.append(text)
    if isinstance(text := first.get("text"), str) and text:  # completions have no delta
        kind |= ChunkKind.CONTENT
        texts.append(text)
    if delta.get("tool_calls"):
        kind |= ChunkKind.TOOL
    if first.get("finish_reason"):
        kind |= ChunkKind.FINISH
    return kind, "".join(texts)


def _add_usage(whole: ReadAnswer, usage: Mapping[str, Any]) -> None:
    whole.input_tokens = _count(usage, "prompt_tokens", whole.input_tokens)
    whole.output_tokens = _count(usage, "completion_tokens", whole.output_tokens)
    for details, name, field in (
        ("prompt_tokens_details", "cached_tokens", "cached_tokens"),
        ("completion_tokens_details", "reasoning_tokens", "reasoning_tokens"),
    ):
        if isinstance(inner := usage.get(details), Mapping):
            setattr(whole, field, _count(inner, name, getattr(whole, field)))


def _forget_no_count(whole: ReadAnswer) -> None:
    """Takes a count of no tokens at all, for an answer that has text, as what it is: the server does not count."""
    if whole.text and whole.output_tokens == 0:
        whole.output_tokens = UNKNOWN
        whole.input_tokens = whole.input_tokens or UNKNOWN


def _count(told: Mapping[str, Any], name: str, before: int) -> int:
    value = told.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS
    return value if is_count else before  # type: ignore[return-value]


def _fail(whole: ReadAnswer, event: Event, outcome: Outcome, reason: str) -> None:
    whole.chunks.append((event.at, int(ChunkKind.ERROR), 0, UNKNOWN))
    if whole.outcome is Outcome.OK:
        whole.outcome, whole.reason = outcome, reason
