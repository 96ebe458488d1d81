"""What the scripted server keeps about requests and connections: the truth that a client's figures are compared with.

All instants are `time.perf_counter_ns`, which on one machine is the same clock in every process.
"""

from __future__ import annotations

import base64
import dataclasses
from dataclasses import dataclass, field
from typing import Any

MOST_BYTES = 2**16  # kept of one request
MOST_WRITES = 20_000  # kept of one answer


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request and its answer."""

    stage: str  # whose script it was
    connection: int
    method: str
    path: str
    request: bytes  # as it came, at most MOST_BYTES of it
    size: int  # bytes of all of it
    first_ns: int  # its first bytes were read
    complete_ns: int  # its last bytes were read
    started_ns: int = 0  # it had a slot
    writes: list[tuple[int, int]] = field(default_factory=list)  # before each write: the instant, and how many bytes
    written: int = 0  # bytes of the whole answer
    end_ns: int = 0  # after the last write, or when the client was gone
    ended: str = ""  # "whole": as written; "gone": the client left; "dropped": by script; "" while it goes on


@dataclass(slots=True, kw_only=True)
class Connection:
    """One connection."""

    number: int
    opened_ns: int
    tls: bool
    closed_ns: int = 0
    closed_by: str = ""  # "client" or "server"
    requests: int = 0


def encode(exchange: Exchange) -> dict[str, Any]:
    """The exchange as JSON has it."""
    return {**dataclasses.asdict(exchange), "request": base64.b64encode(exchange.request).decode()}


def decode(document: dict[str, Any]) -> Exchange:
    """The exchange out of JSON."""
    writes = [(instant, size) for instant, size in document["writes"]]
    return Exchange(**{**document, "request": base64.b64decode(document["request"]), "writes": writes})
