"""A bisection for the terminal and as JSON: who did it, how sure that is, and what is left of everybody else."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchwright import schema
from benchwright.bisected import Bisected
from benchwright.findings import Suspect
from benchwright.report.numbers import printable
from benchwright.units import format_probability

_SHOWN = 12  # suspects that get a line of their own
_ROOM = 30  # columns of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bisected_text(found: Bisected) -> str:
    """The whole of it: a headline, the probability of each suspect, and what it took."""
    parts = [headline(found), "\n".join(_bars(found)), "\n".join(_notes(found))]
    return "\n\n".join(part for part in parts if part)


def bisected_json(found: Bisected) -> str:
    """The record as JSON, with `sure`."""
    return json.dumps({**schema.encode(found), "sure": found.sure}, indent=2, allow_nan=False)


def headline(found: Bisected) -> str:
    """One line: the culprit, or why there is none."""
    if not found.culprits:
        return f"No culprit: {found.why}."
    change = _change(found)
    names = ", ".join(f"{each.revision[:12]}{_quoted(each)}" for each in found.culprits[:3])
    names = f"One of {names}" if len(found.culprits) > 1 else names
    more = f" and {len(found.culprits) - 3} more" if len(found.culprits) > 3 else ""
    how = f"{format_probability(found.probability)} sure"
    if found.sure:
        return f"{names}{more} changed {found.metric} by {change}: {how}."
    return f"{names}{more} may have changed {found.metric} by {change}, but that is only {how}: {found.why}."


def likely(found: Bisected, most: int = _SHOWN) -> list[Suspect]:
    """The suspects worth a line, in the order of history."""
    ranked = sorted(found.commits, key=lambda each: -each.probability)[:most]
    chosen = {each.revision for each in ranked if each.probability >= 0.001}
    return [each for each in found.commits if each.revision in chosen]


def _change(found: Bisected) -> str:
    effect = found.effect
    if effect is None or effect.low is None or effect.high is None:
        return "an unknown amount"
    low, point, high = (100 * (value - 1) for value in (effect.low, effect.point, effect.high))
    return f"{point:+.1f} % [{low:+.1f}, {high:+.1f}]"


def _quoted(suspect: Suspect) -> str:
    author = f", {printable(suspect.author)}" if suspect.author else ""
    return f" ({printable(suspect.subject)}{author})" if suspect.subject or author else ""


def _bars(found: Bisected) -> Iterator[str]:
    if not found.pairs:
        return
    shown = likely(found)
    passed = {each.revision for each in found.passed}
    left = max(0.0, 1 - found.nothing - sum(each.probability for each in shown))
    for each in shown:
        note = " (not measurable)" if each.revision in passed else ""
        yield f"{each.revision[:12]}  {_bar(each.probability)}  {printable(each.subject)}{note}".rstrip()
    others = len(found.commits) - len(shown)
    if others:
        yield f"{f'{others} others':<12}  {_bar(left)}".rstrip()
    yield f"{'no change':<12}  {_bar(found.nothing)}".rstrip()


def _bar(probability: float) -> str:
    eighths = round(8 * _ROOM * min(1.0, probability))
    bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return f"{format_probability(probability):>11}  {bar:<{_ROOM}}"


def _notes(found: Bisected) -> Iterator[str]:
    commits = len(found.commits)
    again = f", {found.again} of them from before" if found.again else ""
    yield (
        f"{found.runs} runs{again} in {len(found.pairs)} pairs against {found.good.id[:12]}, "
        f"{found.built} of {commits + 1} revisions made ready."
    )
    if found.plain is not None and found.sure:
        yield f"Halving the range would take about {found.plain:,} runs to be as sure."
    if len(found.culprits) > 1:
        yield "Nothing that can be measured tells these commits apart."
    for each in found.passed:
        yield f"Passed over {each.revision[:12]}: {printable(each.why)}"
    if not found.culprits and found.pairs:
        yield "Is the change older than the good end, or of another machine? Try an older --good."
    elif not found.sure and not found.interrupted:
        yield "The same command with a larger --most-runs goes on from here."
