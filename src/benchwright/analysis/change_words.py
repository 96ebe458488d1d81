"""Ratios and verdicts in words."""

from __future__ import annotations

from benchwright.records import Estimate, Verdict

WORDS = {"s": ("slower", "faster", "long"), "B": ("more", "less", "much")}  # above one, below one, "times as ..."
TELLING = 100.0  # an interval that reaches a ratio beyond this tells nothing worth printing


def sentence_of(verdict: Verdict, ratio: Estimate | None, unit: str, smallest: float, why: str) -> str:
    """A verdict in words: `worse: 3.1 % slower`."""
    if ratio is None:
        return f"{verdict}: {why}"
    once = ratio.low is None or ratio.high is None
    if verdict is Verdict.SAME and (once or ratio.low == ratio.high == 1.0):
        return f"same: {why}"
    if verdict is Verdict.SAME:
        return f"same: within ±{format_percent(smallest)}"
    if verdict is not Verdict.UNCLEAR:
        return f"{verdict}: {describe_change(ratio.point, unit)}{', seen once on each side' if once else ''}"
    if ratio.low is None or ratio.high is None:
        return f"unclear: {describe_change(ratio.point, unit)}, without an interval"
    if ratio.low < 1 / TELLING or ratio.high > TELLING:
        return "unclear: the intervals are too wide to tell anything"
    return f"unclear: between {describe_change(ratio.low, unit)} and {describe_change(ratio.high, unit)}"


def describe_change(ratio: float, unit: str) -> str:
    """A ratio as a change: `3.1 % slower`, `2.5 times as high`."""
    above, below, times = WORDS.get(unit, ("higher", "lower", "high"))
    if ratio >= 2:
        return f"{ratio:.3g} times as {times}"
    return f"{format_percent(abs(ratio - 1))} {above if ratio >= 1 else below}"


def describe_points(effect: Estimate) -> str:
    """How many points a share changed by, of an effect that is one plus the difference: `5 points more [4.2, 5.8]`."""
    sign = 1.0 if effect.point >= 1.0 else -1.0
    size = f"{format_points(effect.point)} points {'more' if sign > 0 else 'less'}"
    if effect.low is None or effect.high is None:
        return size
    low, high = sorted(sign * (end - 1.0) for end in (effect.low, effect.high))
    return f"{size} [{_format_points(low)}, {_format_points(high)}]"


def format_points(effect: float) -> str:
    """The points of an effect that is one plus a difference, without its sign: `5`, `0.25`."""
    return _format_points(abs(effect - 1.0))


def _format_points(share: float) -> str:
    return f"{100 * share:.2g}" if abs(share) < 0.0995 else f"{100 * share:.3g}"


def format_ratio(ratio: Estimate) -> str:
    """A ratio with its interval, where it has one: `1.031 [1.012, 1.050]`."""
    if ratio.low is None or ratio.high is None:
        return f"{ratio.point:.3f}"
    return f"{ratio.point:.3f} [{_format_end(ratio.low)}, {_format_end(ratio.high)}]"


def _format_end(ratio: float) -> str:
    if ratio > TELLING:
        return f"over {TELLING:g}"
    return f"{ratio:.3f}" if ratio > 1 / TELLING else f"under {1 / TELLING:g}"


def format_percent(share: float) -> str:
    """A share in per cent, with two or three digits: `3.1 %`, `12.3 %`."""
    return f"{100 * share:.2g} %" if abs(share) < 0.0995 else f"{100 * share:.3g} %"
