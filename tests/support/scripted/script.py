"""What the scripted server does about one request."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a body that are written at once."""

    data: bytes
    gap: float = 0.0  # milliseconds since the write before it
    times: int = 1  # written so often, one write each: a huge body that is no huge script


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One answer. Without pieces it is the one that the path has by itself, at another pace."""

    pieces: tuple[Piece, ...] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0  # milliseconds from the whole request to the head of the answer
    pace: float = 0.0  # milliseconds before each piece of the path's own answer
    framing: str = (
        "chunked"  # each piece is a chunk; or "length"; "close": until the end; "raw": pieces are all there is
    )
    length: int | None = None  # what Content-Length says where that is not true
    version: str = "1.1"
    interim: tuple[int, ...] = ()  # statuses before the one that counts, such as 103
    joins_head: bool = False  # head and first piece are one write
    joins_tail: bool = False  # last piece and the mark of the end are one write
    tail: float = 0.0  # milliseconds before the mark of the end
    whole: bool = True  # whether there is a mark of the end (chunked)
    after: str = "keep"  # or "close", as the head says; "leave": close without a word before; "reset"
    linger: float = 0.0  # milliseconds before that; a request that arrives meanwhile is answered when it leaves
    drops_next: str = ""  # "close" or "reset": what the next request on this connection gets instead of an answer


def encode(script: Script) -> dict[str, Any]:
    """The script as JSON has it."""
    document = {one.name: getattr(script, one.name) for one in dataclasses.fields(script)}
    if script.pieces is not None:
        document["pieces"] = [[_encode(p.data), p.gap, p.times] for p in script.pieces]
    return {**document, "headers": dict(script.headers), "interim": list(script.interim)}


def decode(document: Mapping[str, Any]) -> Script:
    """The script out of JSON. A piece may be text, too, and whatever is not said is as usual."""
    given = dict(document)
    if given.get("pieces") is not None:
        given["pieces"] = tuple(_piece(one) for one in given["pieces"])
    return Script(**{**given, "interim": tuple(given.get("interim", ()))})


def pieces_of(data: Iterable[bytes], gaps: Iterable[float] = ()) -> tuple[Piece, ...]:
    """Each of the data a piece, with its gap; the last gap is the one of all that follow."""
    waits, gap, made = iter(gaps), 0.0, []
    for one in data:
        gap = next(waits, gap)
        made.append(Piece(one, gap))
    return tuple(made)


def _piece(given: Any) -> Piece:
    if isinstance(given, str):
        return Piece(given.encode())
    data, *others = given
    return Piece(base64.b64decode(data["base64"]) if isinstance(data, dict) else data.encode(), *others)


def _encode(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}
