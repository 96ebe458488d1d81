"""What happened to each request, as raw as it came: instants, statuses, and the bytes that arrived."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

MOST_KEPT = 2**30  # bytes of answers that are kept until they are read
MOST_REQUESTS = 2_000_000
Pieces = list[tuple[int, bytes]]  # the instant at which each piece of a body arrived, and the piece


class Outcome(IntEnum):
    """How a request ended. The numbers are kept with results: they never change."""

    OK = 0
    STATUS = 1  # the server answered with an error status
    TOO_LONG = 2  # the server refused the prompt: longer than it takes
    THROTTLED = 3  # the server asked to send less: 429
    TIMEOUT = 4
    REFUSED = 5  # no connection could be made
    CUT = 6  # the connection ended before the answer did
    STREAM_ERROR = 7  # an error inside an answer that had begun well
    MALFORMED = 8  # it is not what the protocol says
    OVERSIZED = 9  # larger than is read


@dataclass(slots=True, kw_only=True)
class RequestLog:
    """One entry a request, in the order in which they were begun. Instants are ns of `time.perf_counter_ns`."""

    scheduled: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)  # which of the prepared requests it was
    sent: list[int] = field(default_factory=list)  # 0: never
    first: list[int] = field(default_factory=list)  # the first byte of the answer; 0: none came
    end: list[int] = field(default_factory=list)  # 0: it has not ended
    status: list[int] = field(default_factory=list)  # of HTTP; 0: none came
    outcome: list[int] = field(default_factory=list)  # as far as the connection can tell
    pieces: list[Pieces] = field(default_factory=list)
    heads: dict[int, bytes] = field(default_factory=dict)  # of answers whose headers matter, by entry
    reasons: dict[int, str] = field(default_factory=dict)  # what a failure said of itself, by entry

    def add(self, scheduled: int, number: int) -> int:
        """A new entry; returns its place."""
        entry = len(self.scheduled)
        self.scheduled.append(scheduled)
        self.number.append(number)
        self.sent.append(0)
        self.first.append(0)
        self.end.append(0)
        self.status.append(0)
        self.outcome.append(0)  # Outcome.OK: to look it up takes longer than all of the above
        self.pieces.append(_NOTHING)
        return entry

    def __len__(self) -> int:
        return len(self.scheduled)


_NOTHING: Pieces = []


@dataclass(slots=True, kw_only=True)
class ClientHealth:
    """What the client itself did while it measured."""

    opened: int = 0  # connections, those made before time zero among them
    reused: int = 0  # requests on a connection that had carried another
    reconnects: int = 0  # requests sent again because the server had closed an idle connection
    queued: int = 0  # requests that waited because no further connection was allowed
    lags: list[int] = field(default_factory=list)  # ns by which the event loop came late to what it was to do
    cpu: float = 0.0  # seconds of this process
    elapsed: float = 0.0  # seconds
    cut_short: str = ""  # why it stopped before its time; "": it did not

    def bound_memory(self, kept: int, requests: int) -> None:
        """Has whoever issues requests stop when what is kept of their answers fills the memory that it may have."""
        if kept > MOST_KEPT:
            self.cut_short = f"the answers are more than {MOST_KEPT >> 20} MiB"
        elif requests >= MOST_REQUESTS:
            self.cut_short = f"there were {MOST_REQUESTS:,} requests"
