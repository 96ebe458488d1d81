"""The records of pages about served models: single requests, what failed, and sweeps of users or rates.

The dashboard's types are generated from here too (`make types`). Instants are seconds since time zero of a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.records import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLine:
    """One request of a waterfall."""

    copy: int
    number: int  # in its copy, from 0
    scheduled: float
    sent: float
    first_byte: float | None
    first_text: float | None
    end: float
    ticks: Sequence[float]  # events that brought text, at most 128
    outcome: str  # "" where it succeeded, else the class of its failure
    output_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureKind:
    """The requests of one class of failure."""

    kind: str
    words: str  # what happened to them
    count: int
    first: str  # what the first of them said


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsView:
    """The requests of a result."""

    made: int
    failures: Sequence[FailureKind]
    slowest: Sequence[RequestLine]  # at most 50, in the order of scheduling
    failed_at: Sequence[tuple[float, float, str]]  # (seconds, latency, class) of each that failed, at most 2,000


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepMark:
    """One case of a sweep."""

    load: float
    words: str  # how much was asked of the server: `4 users`, `50.0/s`
    case: str  # its label
    result: str  # its first result
    throughput: Estimate
    latency: Estimate  # the median
    goodput: Estimate | None  # where there were objectives


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepLine:
    """Cases of one served model that differ in nothing but how much is asked of it."""

    label: str  # "" where a run has one only
    kind: str  # users, rate
    points: Sequence[SweepMark]  # in order of load
    knee: int  # the place among the points
    text: str  # where the knee is, and how sure that is
