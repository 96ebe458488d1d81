"""Requests to served models in block characters: how long tokens took, and the waterfall of the slowest requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchwright.analysis.requests import (
    ITL,
    TTFT,
    RequestSpan,
    are_scattered,
    request_times,
    requests_around,
    slowest_requests,
)
from benchwright.analysis.rows import Row
from benchwright.records.request_metrics import TIMES
from benchwright.units import format_value
from benchwright.units.numbers import printable

SLOWEST = 12  # requests of a waterfall
BINS = 10
_SIGNS = {"wait": "·", "server": "░", "prefill": "▒", "tokens": "─", "tick": "┼", "failed": "×"}


def token_histograms(row: Row, width: int = 80) -> Iterator[str]:
    """How often first tokens and gaps between tokens took how long."""
    from benchwright.report.terminal import histogram

    for name, what in ((TTFT, "requests"), (ITL, "gaps")):
        if found := request_times(row.ok, name):
            title = f"{row.label} {TIMES[name].title}"
            yield histogram(found, title, width, BINS, count=f"{found.total:,} {what}")


def waterfall_text(row: Row, width: int = 80, around: float | None = None) -> Iterator[str]:
    """A line for each of the slowest requests of the slowest round; or, of each round, of those around an instant."""
    if around is not None:
        for result in row.ok:
            if spans := requests_around(result, around, SLOWEST):
                when = f"round {result.round + 1}, the {len(spans)} requests nearest to {format_value(around, 's', 3)}"
                yield _draw_waterfall(row, spans, when, width)
        return
    found = [spans for result in row.ok if (spans := slowest_requests(result, SLOWEST))]
    if found:
        spans = max(found, key=lambda one: max(span.latency for span in one))
        yield _draw_waterfall(row, spans, f"the {len(spans)} slowest requests", width)


def _draw_waterfall(row: Row, spans: Sequence[RequestSpan], what: str, width: int) -> str:
    begin, end = min(span.scheduled for span in spans), max(span.end for span in spans)
    scattered, longest = are_scattered(spans), max(span.latency for span in spans)
    sides = [f"{format_value(span.latency, 's', 3)}{f' {span.outcome}' if span.outcome else ''}" for span in spans]
    if scattered:
        sides = [f"{side} at {format_value(span.scheduled, 's', 3)}" for span, side in zip(spans, sides, strict=True)]
    room = max(20, width - max(map(len, sides)) - 4)
    signs = _SIGNS
    key = (
        f"{signs['wait']} waiting to be sent  {signs['server']} until the first byte  {signs['prefill']} until the "
        f"first token  {signs['tick']} tokens  {signs['failed']} failed"
    )
    when = "each from its own instant" if scattered else f"{format_value(begin, 's', 3)} to {format_value(end, 's', 3)}"
    lines = [f"{printable(row.label)}   {what}, {when}"]
    for span, side in zip(spans, sides, strict=True):
        zero, last = (span.scheduled, span.scheduled + longest) if scattered else (begin, end)
        lines.append(f"  {_line(span, zero, last, room)} {side}")
    return "\n".join([*lines, f"  {key}"])


def _line(span: RequestSpan, begin: float, end: float, room: int) -> str:
    """One request along a line of that many signs."""

    def place(instant: float) -> int:
        return min(room - 1, int((instant - begin) / max(end - begin, 1e-12) * room))

    signs = [" "] * room
    first_text = span.first_text if span.first_text is not None else span.end
    first_byte = span.first_byte if span.first_byte is not None else span.end
    for kind, start, stop in (
        ("wait", span.scheduled, span.sent),
        ("server", span.sent, first_byte),
        ("prefill", first_byte, first_text),
        ("tokens", first_text, span.end),
    ):
        for i in range(place(start), place(stop) + 1):
            signs[i] = _SIGNS[kind]
    for tick in span.ticks:
        signs[place(tick)] = _SIGNS["tick"]
    if span.outcome:
        signs[place(span.end)] = _SIGNS["failed"]
    return "".join(signs)
