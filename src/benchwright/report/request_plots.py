"""The plots of requests to a served model: waterfall, requests over time with what went on beside, distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchwright.analysis.calls import Track, WeightedLatencies, thin
from benchwright.analysis.requests import (
    ITL,
    MOST_REQUESTS,
    TTFT,
    RequestSpan,
    are_scattered,
    failures_over_time,
    has_requests,
    request_times,
    slowest_requests,
    times_over_time,
)
from benchwright.analysis.rows import Row
from benchwright.records import Result, Timeline
from benchwright.records.request_metrics import TIMES
from benchwright.report.axes import Axis, axis, bottom, exact
from benchwright.report.svg import Plot, colour, element, path, text, tips
from benchwright.units.numbers import printable

WIDTH = 560.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 28.0, 48.0
LINE = 9.0  # a request of a waterfall
STRIP = 74.0  # a distribution, or a timeline below the requests
TALL = 190.0  # the requests over time
BINS = 60
SLOTS = 300
MOST_MARKS = 2000  # requests that are drawn one by one
_KEYS = (("wait", "waiting to be sent"), ("server", "until the first byte"), ("prefill", "until the first token"))


def request_plots(row: Row, index: int) -> list[Plot]:
    """The plots of one case of a served model; none of other cases."""
    if not has_requests(row.ok):
        return []
    drawn = [over_time(row, index), waterfall(row, index), token_times(row, index)]
    return [plot for plot in drawn if plot]


def waterfall(row: Row, index: int) -> Plot | None:
    """A bar for each of the slowest requests of the slowest round: waiting, first byte, first token, then tokens."""
    found = [(result, spans) for result in row.ok if (spans := slowest_requests(result))]
    if not found:
        return None
    result, spans = max(found, key=lambda one: max(span.latency for span in one[1]))
    height = TOP + LINE * len(spans) + BOTTOM
    scattered = are_scattered(spans)
    zeros = [span.scheduled if scattered else 0.0 for span in spans]
    ends = [at - zero for span, zero in zip(spans, zeros, strict=True) for at in (span.scheduled, span.end)]
    across = axis(ends, "s", 12.0, WIDTH - RIGHT, log=False)
    since = "since each was scheduled" if scattered else "since the clock started"
    body = bottom(across, height - BOTTOM, since, top=TOP - 4)
    for place, (span, zero) in enumerate(zip(spans, zeros, strict=True)):
        body += _bar(across, TOP + LINE * place, span, zero)
    of = f" of round {result.round + 1}" if len(row.ok) > 1 else ""
    number = f"The {len(spans)} slowest requests{of}" if len(spans) == MOST_REQUESTS else f"All requests{of}"
    return Plot(
        name=f"case-{index}-waterfall",
        title=f"Waterfall of requests: {printable(row.label)}",
        heading="Waterfall of the slowest requests",
        description=f"{number}, in the order in which they were scheduled: waiting to be sent, until the first byte, "
        "until the first token, then a tick for each event that brought text. Failed requests are outlined.",
        width=WIDTH,
        height=height,
        body=_waterfall_key() + body,
    )


def over_time(row: Row, index: int) -> Plot | None:
    """Every request of a round by when it ended, failures marked; below on the same axis what was recorded beside."""
    result = max(row.ok, key=lambda one: len(failures_over_time(one)))
    tracks = {name: times_over_time(result, name) for name in ("latency", TTFT)}
    failed = failures_over_time(result)
    seconds = [float(s) for moments, _ in tracks.values() for s in moments[-1:]] + [end for end, _, _ in failed[-1:]]
    if not seconds:
        return None
    lines = [line for line in result.timelines if len(line.seconds) > 1]
    height = TOP + TALL + STRIP * len(lines) + BOTTOM
    across = axis([0.0, *seconds], "s", LEFT, WIDTH - RIGHT, zero=True)
    values = [float(v) for _, found in tracks.values() for v in found] + [latency for _, latency, _ in failed]
    up = axis(values, "s", TOP + TALL - 12, TOP, zero=True)
    body = _grid(across, up, "latency and TTFT") + bottom(across, height - BOTTOM, "since the clock started", top=TOP)
    for place, (name, (moments, found)) in enumerate(tracks.items()):
        body += _marks(across, up, TIMES[name].title, place, moments, found)
    body += "".join(_cross(across, up, *one) for one in failed[:MOST_MARKS])
    body += _key([TIMES[name].title for name, (moments, _) in tracks.items() if len(moments)], failed=bool(failed))
    for place, line in enumerate(lines):
        body += _timeline(across, TOP + TALL + STRIP * place, line, place + 2)
    of = f" of round {result.round + 1}" if len(row.ok) > 1 else ""
    failures = f", {len(failed):,} failed" if failed else ""
    beside = " Below, what was recorded beside them at the same time." if lines else ""
    return Plot(
        name=f"case-{index}-requests",
        title=f"Requests over time: {printable(row.label)}",
        heading="Requests over time",
        description=f"{_count(result):,} requests{of} by when they ended{failures}.{beside}",
        width=WIDTH,
        height=height,
        body=body,
    )


def token_times(row: Row, index: int) -> Plot | None:
    """How long first tokens and the gaps between tokens took: two distributions, each on its own axis."""
    known = [(name, found) for name in (TTFT, ITL) if (found := request_times(row.ok, name))]
    if not known:
        return None
    room = STRIP + 44.0
    body = "".join(
        _distribution(name, found, TOP + room * (place + 1) - 44, place) for place, (name, found) in enumerate(known)
    )
    return Plot(
        name=f"case-{index}-tokens",
        title=f"Time to first token and between tokens: {printable(row.label)}",
        heading="Time to first token and between tokens",
        description="How many requests waited how long for their first token, and how many gaps between events that "
        "brought text were how long; marks at the median and the 99th percentile.",
        width=WIDTH,
        height=TOP + room * len(known) + 6,
        body=body,
    )


# ---- waterfall ----


def _bar(across: Axis, top: float, span: RequestSpan, zero: float) -> str:
    """One request. The bar ends where the answer did; a part that never came is left out."""
    ends = [span.scheduled - zero, span.sent - zero]
    ends += [instant - zero for instant in (span.first_byte, span.first_text) if instant is not None]
    kinds = [kind for kind, _ in _KEYS[: len(ends) - 1]]
    body = ""
    for kind, begin, end in zip(kinds, ends, ends[1:], strict=False):
        body += _part(across, top, kind, begin, end)
    rest = "tokens" if span.first_text is not None else "server"
    body += _part(across, top, rest, ends[-1], span.end - zero)
    drawn = [(across.at(at - zero), top) for at in span.ticks]
    body += (
        element("path", class_="tick-marks", d="".join(f"M{x:.1f} {y + 1:.1f}v{LINE - 3:g}" for x, y in drawn))
        if drawn
        else ""
    )
    x1, x2 = across.at(span.scheduled - zero), across.at(span.end - zero)
    outline = " failed" if span.outcome else ""
    body += element(
        "rect", class_=f"request{outline}", x=x1, y=top, width=max(1.0, x2 - x1), height=LINE - 2, data_tip=_tell(span)
    )
    return element("g", body, class_="series c0")


def _part(across: Axis, top: float, kind: str, begin: float, end: float) -> str:
    x1, x2 = across.at(begin), across.at(end)
    return element("rect", class_=f"part {kind}", x=x1, y=top, width=x2 - x1, height=LINE - 2) if x2 > x1 else ""


def _tell(span: RequestSpan) -> str:
    parts = [f"request {span.number + 1}{f' of copy {span.copy + 1}' if span.copy else ''}"]
    parts += [f"failed: {span.outcome}"] if span.outcome else []
    parts.append(f"scheduled at {exact(span.scheduled, 's')}, sent {exact(span.sent - span.scheduled, 's')} later")
    for words, instant in (("first byte", span.first_byte), ("first token", span.first_text)):
        parts += [f"{words} after {exact(instant - span.sent, 's')}"] if instant is not None else []
    parts.append(f"end after {exact(span.end - span.sent, 's')}")
    parts += [f"{span.output_tokens:,} tokens"] if span.output_tokens is not None else []
    return "\n".join(parts)


def _waterfall_key() -> str:
    body, x = "", 12.0
    for kind, words in (*_KEYS, ("tokens", "tokens")):
        body += element("rect", class_=f"part {kind}", x=x, y=6.0, width=10.0, height=8.0)
        body += text(x + 14, 14, words, class_="tick")
        x += 30 + 6.1 * len(words)
    return element("g", body, class_="key c0")


# ---- over time ----


def _grid(across: Axis, up: Axis, title: str) -> str:
    body = text(4, 14, title, class_="axis-title")
    for value, words in up.ticks():
        y = up.at(value)
        body += element("line", class_="grid", x1=across.start, x2=across.end, y1=y, y2=y)
        body += text(across.start - 8, y + 4, words, class_="tick", text_anchor="end")
    return body


def _marks(across: Axis, up: Axis, words: str, place: int, moments: np.ndarray, values: np.ndarray) -> str:
    if not len(moments):
        return ""
    if len(moments) > MOST_MARKS:
        return element(
            "g", _band(across, up, thin(moments, values, SLOTS), words, "s"), class_=f"series {colour(place)}"
        )
    points = [(across.at(float(x)), up.at(float(y))) for x, y in zip(moments, values, strict=True)]
    said = [f"{words} {exact(float(y), 's')}\nat {float(x):.3g} s" for x, y in zip(moments, values, strict=True)]
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return element("g", element("path", class_="dots", d=dots, **tips(points, said)), class_=f"series {colour(place)}")


def _cross(across: Axis, up: Axis, end: float, latency: float, kind: str) -> str:
    x, y = across.at(end), up.at(latency)
    said = f"failed: {kind}\nafter {exact(latency, 's')}\nat {end:.3g} s"
    return element("path", class_="cross", d=f"M{x - 4:.1f} {y - 4:.1f}l8 8m0-8l-8 8", data_tip=said)


def _key(names: Sequence[str], *, failed: bool) -> str:
    x, body = WIDTH - RIGHT, ""
    for place, words in reversed([*enumerate(names), *([(-1, "failed")] if failed else [])]):
        x -= 6.4 * len(words)
        body += text(x, 14, words, class_="tick")
        if place < 0:
            body += element("path", class_="cross", d=f"M{x - 13:.1f} 6l8 8m0-8l-8 8")
        else:
            body += element("g", element("path", class_="dots", d=f"M{x - 9:.1f} 10h0"), class_=colour(place))
        x -= 24
    return element("g", body, class_="key")


def _timeline(across: Axis, top: float, line: Timeline, place: int) -> str:
    from benchwright.report.timeplots import TITLES

    track = thin(np.array(line.seconds), np.array(line.values), SLOTS)
    up = axis([float(track.low.min()), float(track.high.max())], line.unit, top + STRIP - 10, top + 20, zero=True)
    title = TITLES.get(line.name, printable(line.name))
    body = text(4, top + 10, title, class_="axis-title")
    for value, words in (up.ticks() or [(0.0, "0")])[:: max(1, len(up.ticks()) - 1)]:
        y = up.at(value)
        body += element("line", class_="grid", x1=across.start, x2=across.end, y1=y, y2=y)
        body += text(across.start - 8, y + 4, words, class_="tick", text_anchor="end")
    return body + element("g", _band(across, up, track, title, line.unit), class_=f"series {colour(place)}")


def _band(across: Axis, up: Axis, track: Track, words: str, unit: str) -> str:
    xs = [across.at(float(s)) for s in track.seconds]
    low, middle, high = ([up.at(float(v)) for v in side] for side in (track.low, track.middle, track.high))
    body = ""
    if (track.high > track.low).any():
        around = [*zip(xs, high, strict=True), *reversed(list(zip(xs, low, strict=True)))]
        body += element("path", class_="band", d=path(around, closed=True), style="fill-opacity:0.18")
    points = list(zip(xs, middle, strict=True))
    said = [
        f"{words} {exact(float(value), unit)}\nat {float(at):.3g} s"
        for at, value in zip(track.seconds, track.middle, strict=True)
    ]
    return body + element("path", class_="line thin", d=path(points), **tips(points, said))


def _count(result: Result) -> int:
    return sum(len(samples.columns.get("outcome", ())) for samples in result.samples)


# ---- distributions ----


def _distribution(name: str, found: WeightedLatencies, base: float, place: int) -> str:
    across = axis([max(found.shortest, 1e-9), max(found.longest, 1e-9)], "s", 12.0, WIDTH - RIGHT)
    places = np.linspace(across.start, across.end, BINS + 1)
    share = (places - across.start) / (across.end - across.start)
    edges = (
        across.low * (across.high / across.low) ** share
        if across.log
        else across.low + share * (across.high - across.low)
    )
    # Events that arrive together have no gap between them, which no logarithm shows: they are in the first bin.
    edges[0], edges[-1] = min(edges[0], found.shortest), max(edges[-1], found.longest)
    counts = found.count_in_bins(edges)
    tall = (STRIP - 22) / max(1, int(counts.max()))
    outline = [(float(places[0]), base)]
    for k, count in enumerate(counts):
        outline += [(float(places[k]), base - float(count) * tall), (float(places[k + 1]), base - float(count) * tall)]
    outline.append((float(places[-1]), base))
    filled = [k for k, count in enumerate(counts) if count]
    middles = [(float(places[k] + places[k + 1]) / 2, base - float(counts[k]) * tall) for k in filled]
    said = [f"{exact(edges[k], 's')} to {exact(edges[k + 1], 's')}\n{int(counts[k]):,}" for k in filled]
    inner = element("path", class_="area", d=path(outline, closed=True), **tips(middles, said))
    for level, words, length in ((0.5, "median", 16.0), (0.99, "p99", 10.0)):
        value = float(found.quantiles(np.array([level]))[0])
        x = across.at(value)
        inner += element(
            "line", class_="mark", x1=x, x2=x, y1=base + 2, y2=base - length, data_tip=f"{words} {exact(value, 's')}"
        )
    title = f"{TIMES[name].title}, {found.total:,} {'gaps' if name == ITL else 'requests'}"
    body = text(12, base - STRIP + 14, title, class_="axis-title") + bottom(across, base, "")
    return body + element("g", inner, class_=f"series {colour(place)}")
