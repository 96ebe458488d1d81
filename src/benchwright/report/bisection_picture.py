"""A bisection as a picture file: every pair over the commits, and what they say of each. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from benchwright.records.bisections import Bisected
from benchwright.report.bisection import headline
from benchwright.report.picture import DOTS, SIZE
from benchwright.units.numbers import printable


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
