"""A race as HTML: a part of the report, and a fragment for notebooks."""

from __future__ import annotations

from benchwright.analysis.races import CellState, RaceStory
from benchwright.report.markup import column_head, escape, number_cell, tag
from benchwright.report.race_plots import race_plots
from benchwright.report.race_text import (
    answer_lines,
    command_lines,
    departed,
    headline,
    left_lines,
    survivors,
    table_cells,
)
from benchwright.report.svg import Plot

MOST_LEFT = 200  # lines of those that left


def race_section(story: RaceStory) -> tuple[str, list[Plot]]:
    """The answer, the survivors and who left, as markup; and the pictures of the race."""
    said, again = answer_lines(story), command_lines(story)
    mood = "good" if story.front else "bad"
    first = tag("p", "<br>".join(escape(line.strip()) for line in said), class_=f"note {mood}")
    lines = "".join(tag("pre", tag("code", escape(line))) for line in again)
    parts = [tag("p", escape(headline(story)), class_="soft"), first, lines, _survivors(story), _left(story)]
    return "".join(parts), race_plots(story)


def race_fragment(story: RaceStory) -> str:
    """The race for a notebook: no script, no style, no picture."""
    said = [escape(line.strip()) for line in answer_lines(story)]
    said += [tag("code", escape(line)) for line in command_lines(story)]
    return tag("div", tag("p", f"<b>{escape(headline(story))}</b>") + _survivors(story) + tag("p", "<br>".join(said)))


def _survivors(story: RaceStory) -> str:
    shown = survivors(story)
    if not shown:
        return ""
    heads, lines = table_cells(story, shown)
    head = tag("thead", tag("tr", "".join(column_head(words, number=right) for words, right in heads)))
    body = ""
    for one, line in zip(shown, lines, strict=True):
        cells = "".join(
            number_cell(escape(word), words) if right else tag("td", escape(word), data_label=words)
            for (words, right), word in zip(heads, line, strict=True)
        )
        body += tag("tr", cells, class_="chosen") if one.state is CellState.LEADS else tag("tr", cells)
    return tag("div", tag("table", head + tag("tbody", body)), class_="scroll")


def _left(story: RaceStory) -> str:
    gone = departed(story)
    if not gone:
        return ""
    listed = "".join(tag("li", escape(line.strip())) for line in left_lines(story, MOST_LEFT))
    title = f"<summary>Left the race: {len(gone)}</summary>"
    return f'<details>{title}<div class="inside">{tag("ul", listed)}</div></details>'
