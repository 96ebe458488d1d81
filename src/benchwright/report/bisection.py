"""A bisection for the terminal and as JSON: who did it, how sure that is, and what is left of everybody else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchwright import schema
from benchwright.records import Estimate
from benchwright.records.bisections import Bisected
from benchwright.records.findings import Suspect
from benchwright.schema.printed import envelope
from benchwright.units import format_probability
from benchwright.units.numbers import printable

_SHOWN = 12  # suspects that get a line of their own
_NOTABLE = 0.02  # the probability from which on one of them has
_GUESS = 0.5  # a probability below which a commit is a guess, where the ends may be alike
_ROOM = 30  # columns of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bisected_text(found: Bisected) -> str:
    """The whole of it: a headline, the probability of each suspect, and what it took."""
    parts = [headline(found), "\n".join(_bars(found)), "\n".join(_notes(found))]
    return "\n\n".join(part for part in parts if part)


def bisected_json(found: Bisected) -> str:
    """The record as JSON, with `sure`."""
    return envelope("bisection", {**schema.encode(found), "sure": found.sure})


def headline(found: Bisected) -> str:
    """One line: the culprit with the size of its own change, or why there is none; then what lies elsewhere."""
    if not found.culprits:
        return f"No culprit: {found.why}."
    names = _names(found.culprits)
    how = f"{format_probability(found.probability)} sure"
    if not found.sure and found.probability < _GUESS and found.whole and _holds_one(found.whole):
        return f"No culprit: {found.why}.{_whole(found).removesuffix('.')}, which may be nothing."
    if not found.sure:
        size = f" by {change_text(found.effect)}" if found.effect else ""
        return f"{names} may have changed {found.metric}{size}, but that is only {how}: {found.why}.{_whole(found)}"
    told = f"{names} changed {found.metric} by {change_text(found.effect)} against its parent: {how}."
    for other in found.further:
        sure = f"{format_probability(other.probability)} sure"
        told += f" {_names(other.commits)} changed it by {change_text(other.effect)}: {sure}."
    return told + _whole(found)


def likely(found: Bisected, most: int = _SHOWN) -> list[Suspect]:
    """The suspects worth a line, in the order of history."""
    ranked = sorted(found.commits, key=lambda each: -each.probability)[:most]
    least = min(_NOTABLE, ranked[0].probability)  # where nobody stands out, all are alike
    chosen = {each.revision for each in ranked if each.probability >= least} | {one.revision for one in found.culprits}
    return [each for each in found.commits if each.revision in chosen]


def change_text(effect: Estimate | None) -> str:
    """A ratio as a change with its interval: `+10.0 % [+8.0, +12.0]`."""
    if effect is None or effect.low is None or effect.high is None:
        return "an unknown amount"
    low, point, high = (100 * (value - 1) for value in (effect.low, effect.point, effect.high))
    return f"{point:+.1f} % [{low:+.1f}, {high:+.1f}]"


def _whole(found: Bisected) -> str:
    """The difference between both ends, and how much of it is not the named commits'."""
    if found.whole is None:
        return ""
    told = f" The bad end differs from the good one by {change_text(found.whole)}"
    rest = found.elsewhere
    if rest is None or rest.low is None or rest.high is None:
        return f"{told}."
    if _holds_one(rest):
        return f"{told}; little or nothing of it lies elsewhere: {change_text(rest)}."
    return f"{told}; {change_text(rest)} of it lies elsewhere."


def _holds_one(effect: Estimate) -> bool:
    return (effect.low is None or effect.low <= 1.0) and (effect.high is None or effect.high >= 1.0)


def _names(suspects: Sequence[Suspect]) -> str:
    names = ", ".join(f"{each.revision[:12]}{_quoted(each)}" for each in suspects[:3])
    more = f" and {len(suspects) - 3} more" if len(suspects) > 3 else ""
    return f"One of {names}{more}" if len(suspects) > 1 else names


def _quoted(suspect: Suspect) -> str:
    author = f", {printable(suspect.author)}" if suspect.author else ""
    return f" ({printable(suspect.subject)}{author})" if suspect.subject or author else ""


def _bars(found: Bisected) -> Iterator[str]:
    if not found.pairs:
        return
    shown = likely(found)
    passed = {each.revision for each in found.passed}
    named = {each.revision for each in shown}
    left = min(1.0, sum(each.probability for each in found.commits if each.revision not in named))
    for each in shown:
        note = " (not measurable)" if each.revision in passed else ""
        size = f" ({change_text(each.effect)})" if each.effect else ""
        yield f"{each.revision[:12]}  {_bar(each.probability)}  {printable(each.subject)}{size}{note}".rstrip()
    others = len(found.commits) - len(shown)
    if others:
        yield f"{f'{others} others':<12}  {_bar(left)}".rstrip()
    yield f"{'no change':<12}  {_bar(found.nothing)}".rstrip()


def _bar(probability: float) -> str:
    eighths = round(8 * _ROOM * min(1.0, probability))
    bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return f"{format_probability(probability):>11}  {bar:<{_ROOM}}"


def _notes(found: Bisected) -> Iterator[str]:
    again = f", {found.again} of them from before" if found.again else ""
    closing = sum(pair.against not in ("", found.good.id) for pair in found.pairs)
    with_parents = f" and {closing} of a commit and its parent" if closing else ""
    yield (
        f"{found.runs} runs{again}: {len(found.pairs) - closing} pairs against {found.good.id[:12]}{with_parents}, "
        f"{found.built} of {len(found.commits) + 1} revisions made ready."
    )
    if found.length > 1:
        yield f"Pairs told too little at first: the later processes ran {found.length:g} times as long."
    if len(found.culprits) > 1:
        yield "Nothing that can be measured tells these commits apart."
    for each in found.passed:
        yield f"Passed over {each.revision[:12]}: {printable(each.why)}"
    if not found.culprits and found.pairs:
        yield "Is the change older than the good end, or of another machine? Try an older --good."
    elif not found.sure:
        yield from _what_is_known(found)
    elif found.elsewhere and not _holds_one(found.elsewhere) and not found.further:
        yield "--all goes on from here, to the next culprit."


def _what_is_known(found: Bisected) -> Iterator[str]:
    """Where the change is in any case, and what may tell more."""
    places = _nearly_all(found)
    if 1 < len(places) < len(found.commits):
        first, last = (found.commits[place].revision[:12] for place in (places[0], places[-1]))
        yield f"It is probably one of the {len(places)} commits from {first} to {last}."
    if not found.interrupted:
        yield "A longer --duration or a quieter machine tells more in each run; a larger --most-runs goes on from here."


def _nearly_all(found: Bisected) -> range:
    """The shortest stretch of commits that holds 95 % of what is expected to have changed."""
    shares = [each.probability for each in found.commits]
    wanted, best = 0.95 * sum(shares), range(len(shares))
    for begin in range(len(shares)):
        total = 0.0
        for end in range(begin, len(shares)):
            total += shares[end]
            if total >= wanted:
                best = min(best, range(begin, end + 1), key=len)
                break
    return best
