"""Every call of a result as pictures need it: folded, in order of size, and over time; of millions in a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchwright.analysis.calls import WeightedLatencies, calls, per_call, raw_column
from benchwright.analysis.requests import ITL, TTFT, has_requests, request_times, times_over_time
from benchwright.pages.shapes import Distribution
from benchwright.records import Result

if TYPE_CHECKING:
    from benchwright.analysis.calls import Floats

COLUMNS = ("latency", "service", "lateness")
OF_TOKENS = (TTFT, ITL)  # of answers that are streamed
BINS = 60
STEPS = 1000  # stretches of time; each shows its least and its largest call
_WHOLE = 2 * STEPS  # calls that are shown one by one
_BODY = 0.995  # of the calls lie within the bins that are drawn evenly; the rest is in a last, wide one
_SPREADS = 8  # from the middle to nine tenths of the calls: what lies further out is no part of the body
_SHARES = np.unique(np.concatenate([np.linspace(0, 1, 101), 1 - np.logspace(-2, -5, 31)]))


def distributions(result: Result, others: Sequence[Result] = ()) -> list[Distribution]:
    """One for each column that has calls; those of `others`, further rounds, count as well. All must have samples.

    Every call weighs the same, whichever round it is of. Over time the first result alone is drawn.
    """
    return list(_each(result, others))


def _each(result: Result, others: Sequence[Result]) -> Iterator[Distribution]:
    served = has_requests([result])
    for column in (*COLUMNS, *(OF_TOKENS if served else ())):
        of_tokens = column in OF_TOKENS
        found = request_times([result, *others], column) if of_tokens else calls([result, *others], column)
        if found is None:
            continue
        edges = _edges(found)
        shares = _SHARES[1 - 1 / (2 * found.total) >= _SHARES] if found.total > 1 else _SHARES[:1]
        shares = np.unique([*shares, 1.0])
        yield Distribution(
            column=column,
            unit="s",
            count=found.total,
            edges=edges.tolist(),
            counts=found.count_in_bins(edges).tolist(),
            quantiles=list(zip(shares.tolist(), found.quantiles(shares).tolist(), strict=True)),
            over_time=_over_time(result, column) if not of_tokens else _thin(*times_over_time(result, column)),
            of="gap" if column == ITL else "request" if served else "call",
        )


def _edges(found: WeightedLatencies) -> Floats:
    """Even steps over the body; what lies beyond is one step of its own, so that a few stalls do not flatten it all."""
    low, high = found.shortest, found.longest
    if not high > low:
        return np.array([low, 1.001 * low or 1e-9])  # wide enough to be drawn: an axis needs steps between its ends
    middle, upper, body = (float(value) for value in found.quantiles(np.array([0.5, 0.9, _BODY])))
    if upper > middle:  # stalls may be more than the few that _BODY leaves out
        body = min(body, middle + _SPREADS * (upper - middle))
    body = min(high, low + 1.05 * (body - low)) if body > low else high
    edges = np.linspace(low, body, BINS)
    return np.append(edges, high) if high > body else edges


def _over_time(result: Result, column: str) -> list[tuple[float, float]]:
    kept = [s for s in result.samples if len(s.columns.get("end", ())) and len(s.columns.get(column, ()))]
    if not kept:
        return []
    seconds = np.concatenate([raw_column(s, "end") for s in kept]) / 1e9
    values = np.concatenate([per_call(raw_column(s, column), s, result) for s in kept])
    if len(kept) > 1:  # each copy's calls stand in order; together they must be sorted
        order = np.argsort(seconds, kind="stable")
        seconds, values = seconds[order], values[order]
    return _thin(seconds, values)


def _thin(seconds: Floats, values: Floats) -> list[tuple[float, float]]:
    if len(values) > _WHOLE:
        places = _extremes(values)
        seconds, values = seconds[places], values[places]
    return list(zip(seconds.tolist(), values.tolist(), strict=True))


def _extremes(values: Floats) -> Floats:
    """The places of the least and the largest value of each stretch of equally many calls, in order."""
    length = -(-len(values) // STEPS)
    whole = len(values) - len(values) % length
    parts = values[:whole].reshape(-1, length)
    starts = np.arange(len(parts)) * length
    places = [starts + parts.argmin(axis=1), starts + parts.argmax(axis=1)]
    if rest := values[whole:].tolist():
        places.append(np.array([whole + int(np.argmin(rest)), whole + int(np.argmax(rest))]))
    return np.unique(np.concatenate(places))
