"""Answers of servers that refuse, fail, break off or talk nonsense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scripted import events
from scripted.script import FOREVER, Piece, Script


def refusal(status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None) -> Script:
    """An error as OpenAI's protocol has it."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code or status}}).encode()
    own = {"Content-Type": "application/json", **(headers or {})}
    return Script(pieces=(Piece(body),), status=status, framing="length", headers=own)


def too_long() -> Script:
    """400: the prompt does not fit."""
    message = "This model's maximum context length is 2048 tokens. However, you requested 4100 tokens."
    return refusal(400, message, code="context_length_exceeded")


def unauthorised() -> Script:
    """401: the key is wrong."""
    return refusal(401, "Incorrect API key provided", code="invalid_api_key")


def unprocessable() -> Script:
    """422, in the words of FastAPI."""
    detail = [{"type": "extra_forbidden", "loc": ["body", "ignore_eos"], "msg": "Extra inputs are not permitted"}]
    body = json.dumps({"detail": detail}).encode()
    headers = {"Content-Type": "application/json"}
    return Script(pieces=(Piece(body),), status=422, framing="length", headers=headers)


def too_many(retry_after: str = "1") -> Script:
    """429, and when to come again."""
    return refusal(429, "Rate limit reached", code="rate_limit_exceeded", headers={"Retry-After": retry_after})


def broken() -> Script:
    """500."""
    return refusal(500, "Internal Server Error")


def unavailable() -> Script:
    """503: the model is still being loaded."""
    return refusal(503, "Loading model", code="unavailable_error")


def redirect(to: str, status: int = 307) -> Script:
    """Somebody else's address."""
    return Script(pieces=(), status=status, framing="length", headers={"Location": to})


def silence() -> Script:
    """No answer, ever."""
    return Script(pieces=(), wait=FOREVER)


def nonsense(data: bytes = b"\x16\x03\x01\x00 this is not HTTP\r\n\r\n") -> Script:
    """Bytes that are no answer."""
    return Script(pieces=(Piece(data),), framing="raw", after="leave")


def nothing() -> Script:
    """The connection is closed without an answer."""
    return Script(pieces=(), framing="raw", after="leave")


def error_inside(script: Script, kept: int, *, named: bool = False) -> Script:
    """A stream that turns into an error after some pieces; `named` as `event: error`."""
    error = {"error": {"message": "the engine died", "type": "server_error", "code": 500}}
    told = events.event(error, name="error" if named else "")
    return replace(script, pieces=(*(script.pieces or ())[:kept], Piece(told)))


def cut(script: Script, kept: int, *, how: str = "leave") -> Script:
    """An answer that ends after some pieces without its mark of the end: closed, or `how="reset"`."""
    pieces = script.pieces or ()
    full = sum(len(piece.data) * piece.times for piece in pieces)
    return replace(script, pieces=pieces[:kept], length=full, whole=False, after=how)


def huge(size: int, *, write: int = 2**16, framing: str = "chunked", **others: Any) -> Script:
    """A body of `size` bytes, in writes of `write` bytes each."""
    full = (Piece(b"x" * write, times=size // write),) if size >= write else ()
    rest = (Piece(b"x" * (size % write)),) if size % write else ()
    return Script(pieces=full + rest, framing=framing, **others)
