"""A bisection for the terminal, as JSON and as a picture: the commit behind a change, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchwright import schema
from benchwright.records import Estimate
from benchwright.records.bisections import Bisected
from benchwright.records.findings import Suspect
from benchwright.report.picture import DOTS, SIZE
from benchwright.schema.printed import envelope
from benchwright.units import format_probability
from benchwright.units.numbers import printable

_SHOWN = 12  # suspects that get a line of their own
_NOTABLE = 0.02  # the probability from which on one of them has
_GUESS = 0.5  # a probability below which a commit is a guess, where the ends may be alike
_ROOM = 30  # columns of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bisected_text(found: Bisected) -> str:
    """A bisection in full: a headline, the probability of each suspect, and how much was measured."""
    parts = [headline(found), "\n".join(_bars(found)), "\n".join(bisection_notes(found))]
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
        return f"No culprit: {found.why}.{_describe_whole(found).removesuffix('.')}, which may be nothing."
    if not found.sure:
        size = f" by {change_text(found.effect)}" if found.effect else ""
        unsure = f"but that is only {how}: {found.why}.{_describe_whole(found)}"
        return f"{names} may have changed {found.metric}{size}, {unsure}"
    told = f"{names} changed {found.metric} by {change_text(found.effect)} against its parent: {how}."
    for other in found.further:
        sure = f"{format_probability(other.probability)} sure"
        told += f" {_names(other.commits)} changed it by {change_text(other.effect)}: {sure}."
    return told + _describe_whole(found)


def likely_suspects(found: Bisected, most: int = _SHOWN) -> list[Suspect]:
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


def _describe_whole(found: Bisected) -> str:
    """The difference between both ends, and how much of it the named commits do not explain."""
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
    names = ", ".join(f"{each.revision[:12]}{_describe_suspect(each)}" for each in suspects[:3])
    more = f" and {len(suspects) - 3} more" if len(suspects) > 3 else ""
    return f"One of {names}{more}" if len(suspects) > 1 else names


def _describe_suspect(suspect: Suspect) -> str:
    author = f", {printable(suspect.author)}" if suspect.author else ""
    return f" ({printable(suspect.subject)}{author})" if suspect.subject or author else ""


def _bars(found: Bisected) -> Iterator[str]:
    if not found.pairs:
        return
    shown = likely_suspects(found)
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


def bisection_notes(found: Bisected) -> Iterator[str]:
    """The notes below a bisection: how much was measured, what was passed over, and what to try next."""
    again = f", {found.again} of them from before" if found.again else ""
    closing = sum(pair.against not in ("", found.good.id) for pair in found.pairs)
    with_parents = f" and {closing} of a commit and its parent" if closing else ""
    yield (
        f"{found.runs} runs{again}: {len(found.pairs) - closing} pairs against {found.good.id[:12]}{with_parents}, "
        f"{found.built} of {len(found.commits) + 1} revisions made ready."
    )
    if found.length > 1:
        yield f"The first pairs were too noisy, so later processes ran {found.length:g} times as long."
    if len(found.culprits) > 1:
        yield "Nothing that can be measured tells these commits apart."
    for each in found.passed:
        yield f"Passed over {each.revision[:12]}: {printable(each.why)}"
    if not found.culprits and found.pairs:
        yield "Perhaps the change is older than the good end, or comes from another machine. Try an older --good."
    elif not found.sure:
        yield from _hints_when_unsure(found)
    elif found.elsewhere and not _holds_one(found.elsewhere) and not found.further:
        yield "--all goes on from here, to the next culprit."


def _hints_when_unsure(found: Bisected) -> Iterator[str]:
    """Hints where no commit is sure: the range that probably holds it, and how to find out more."""
    places = _probable_stretch(found)
    if 1 < len(places) < len(found.commits):
        first, last = (found.commits[place].revision[:12] for place in (places[0], places[-1]))
        yield f"It is probably one of the {len(places)} commits from {first} to {last}."
    if not found.interrupted:
        yield "A longer --duration or a quieter machine tells more in each run; a larger --most-runs goes on from here."


def _probable_stretch(found: Bisected) -> range:
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


# ---- as a picture file ----


def write_bisected(found: Bisected, path: Path) -> Path:
    """Draws the pairs above and the probabilities below, over the commits in the order of history."""
    from matplotlib.figure import Figure

    places = {each.revision: place for place, each in enumerate(found.commits)}
    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.axhline(0.0, color="0.5", linewidth=0.8)
    against_good = [pair for pair in found.pairs if pair.against in ("", found.good.id)]
    above.plot(
        [places[pair.revision] for pair in against_good],
        [100 * (pair.ratio - 1) for pair in against_good],
        ".",
        color="0.3",
        alpha=0.6,
    )
    for each in found.passed:
        above.axvspan(places[each.revision] - 0.5, places[each.revision] + 0.5, color="0.9", zorder=0)
    above.set_ylabel(f"{printable(found.metric)} against the good one, %", fontsize=8)
    below.bar(range(len(found.commits)), [100 * each.probability for each in found.commits], color="tab:red")
    below.set_ylabel("probability, %", fontsize=8)
    below.set_ylim(0, 100)
    last = len(found.commits) - 1
    ticks = sorted({0, last, *(places[each.revision] for each in found.culprits[:3])})
    below.set_xticks(ticks, [found.commits[place].revision[:8] for place in ticks], fontsize=7, rotation=20)
    below.set_xlabel("commits, oldest first; grey: not measurable")
    above.set_title(printable(headline(found)), fontsize=8, loc="left", wrap=True)
    figure.savefig(path)
    return path
