"""The tables of the HTML report and of notebooks. Everything that comes from a record is escaped here."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchwright.analysis.rows import Row, show_scalar
from benchwright.records import Estimate
from benchwright.report.case_names import name_briefly, name_cases, params_in_columns
from benchwright.report.columns import Column, columns
from benchwright.report.svg import colour, element
from benchwright.units.numbers import Scale, cell, ends, line_up, printable, scale_of

if TYPE_CHECKING:
    from benchwright.analysis.comparison import ComparedMetric, ComparedRow

EVERY_METRIC = "All metrics"
FIGURE_SPACE = "\u2007"
MANY_COLUMNS = 8  # of numbers: from here on they need all the width that there is
WHISKER = 96.0
_NUMBER = ' class="n"'


def escape(words: str) -> str:
    """Text safe in an element and in an attribute; control characters are written out."""
    return html.escape(printable(words, lines=True))


def tag(name: str, content: str, **attributes: str) -> str:
    """An element around markup; attribute values are escaped."""
    pairs = "".join(f' {k.rstrip("_").replace("_", "-")}="{escape(v)}"' for k, v in attributes.items())
    return f"<{name}{pairs}>{content}</{name}>"


def column_head(words: str, *, number: bool = False, unit: str = "") -> str:
    """The head of a column."""
    small = f" {tag('small', escape(unit))}" if unit else ""
    return f'<th scope="col"{_NUMBER if number else ""}>{escape(words)}{small}</th>'


def row_head(words: str, *, before: str = "") -> str:
    """The head of a line, after some markup."""
    return f'<th scope="row">{before}{escape(words)}</th>'


def number_cell(content: str, label: str = "") -> str:
    """A cell whose markup is a number; `label` names its column where a narrow page shows no heads."""
    return f"<td{_NUMBER}{_label_attribute(label)}>{content}</td>"


def facts_line(known: Sequence[tuple[str, str]], written: Mapping[str, str] | None = None) -> str:
    """Name and value pairs in one flowing line; `written` holds values that are markup already, by their names."""
    ready = written or {}
    lines = (
        f"<li>{escape(name)} <b>{ready[name] if name in ready else escape(value)}</b></li>" for name, value in known
    )
    return tag("ul", "".join(lines), class_="facts")


def pairs(title: str, lines: Mapping[str, Sequence[str]], heads: Sequence[str] = ()) -> str:
    """A table of named values, one column for each head."""
    head = tag("thead", tag("tr", "<td></td>" + "".join(map(column_head, heads)))) if heads else ""
    body = "".join(
        tag("tr", row_head(name) + "".join(tag("td", escape(value)) for value in values))
        for name, values in lines.items()
    )
    table = f'<table class="pairs"><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>'
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)


def results_table(table: Sequence[Row], *, swatches: bool = True) -> str:
    """The run's table: a line for each case, every number with its interval."""
    names, found = params_in_columns(table), columns(table)
    head = "".join(map(column_head, ["case", *names]))
    head += "".join(column_head(c.title, number=True, unit=c.scale.unit) for c in found)
    head += column_head("rounds", number=True) + column_head("status")
    drawn = [_numbers(column, table, whiskers=swatches and len(table) > 1) for column in found]
    body = ""
    called = name_briefly(table) if swatches else name_cases(table)
    for i, row in enumerate(table):
        swatch = f'<span class="swatch {colour(i)}"></span>' if swatches and len(table) > 1 else ""
        line = row_head(called[i], before=swatch)
        line += "".join(
            tag("td", escape(show_scalar(row.params[n])) if n in row.params else "", data_label=n) for n in names
        )
        line += "".join(column[i] for column in drawn) + number_cell(str(row.rounds), "rounds") + _status(row)
        body += f"<tr>{line}</tr>\n"
    caption = "Each case with its rounds combined; intervals are at 95 % where enough was measured."
    wide = ' class="wide"' if len(found) >= MANY_COLUMNS else ""
    inner = f"<table{wide}><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return tag("div", inner, class_="scroll results", tabindex="0", role="region", aria_label="Results")


def metric_table(row: Row) -> str:
    """Every metric of a case: combined, then each round."""
    if not row.metrics:
        return ""
    rounds = row.ok
    head = column_head("metric") + column_head("all rounds", number=True) + column_head("interval")
    head += column_head("method")
    if len(rounds) > 1:
        head += "".join(column_head(f"round {r.round + 1}", number=True) for r in rounds)
    body = ""
    for name, metric in row.metrics.items():
        scale = scale_of([metric.estimate.point], metric.unit)
        line = row_head(name) + number_cell(_format_point(metric.estimate, scale))
        line += f"<td>{_both_ends(metric.estimate, scale)}</td>"
        line += tag("td", escape(metric.estimate.method), class_="soft method")
        if len(rounds) > 1:
            found = [r.metric(name) for r in rounds]
            line += "".join(number_cell(cell(m.estimate, scale).point if m else "") for m in found)
        body += tag("tr", line)
    inner = f"<caption>{EVERY_METRIC}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    inner = tag("table", inner, class_="dense")
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=f"Metrics of {row.label}")


def comparison_table(compared: Sequence[ComparedRow]) -> str:
    """Two runs side by side: for each case its metrics, with ratio, interval and verdict in words."""
    heads = ("metric", "before", "after", "ratio", "verdict")
    body = ""
    for row in (r for r in compared if r.metrics):
        label = f'<tr class="case"><th scope="rowgroup" colspan="{len(heads)}">{escape(row.label)}</th></tr>'
        body += tag("tbody", label + "".join(_comparison_row(metric, heads) for metric in row.metrics))
    if not body:
        return ""
    inner = tag("table", tag("thead", tag("tr", "".join(map(column_head, heads)))) + body)
    return tag("div", inner, class_="scroll results compared", tabindex="0", role="region", aria_label="Comparison")


def _comparison_row(metric: ComparedMetric, heads: Sequence[str]) -> str:
    words = (metric.before_text, metric.after_text, metric.ratio_text)
    cells = "".join(tag("td", escape(w), data_label=head) for w, head in zip(words, heads[1:], strict=False))
    verdict = tag("span", escape(metric.sentence), class_=metric.verdict)
    return tag("tr", row_head(metric.name) + cells + tag("td", verdict, data_label=heads[-1]))


def _numbers(column: Column, table: Sequence[Row], *, whiskers: bool) -> list[str]:
    points = line_up([c.point if c else "–" for c in column.cells], space=FIGURE_SPACE)
    found = [row.metrics.get(column.metric) for row in table]
    ends = [v for m in found if m for v in (m.estimate.low, m.estimate.point, m.estimate.high) if v is not None]
    drawn = []
    for point, c, metric in zip(points, column.cells, found, strict=True):
        interval = f' <span class="interval">{escape(c.interval)}</span>' if c and c.interval else ""
        whisker = _whisker(metric.estimate, max(ends)) if whiskers and metric else ""
        drawn.append(number_cell(f"<span>{_mark_padding(point)}{interval}</span>{whisker}", column.heading))
    return drawn


def _mark_padding(point: str) -> str:
    """The spaces that line up decimal points, marked: a narrow page, which has no columns, leaves them out."""
    bare = point.strip(FIGURE_SPACE)
    before, _, after = point.partition(bare)
    return "".join(
        tag("span", part, class_="pad") if part in (before, after) and part else part for part in (before, bare, after)
    )


def _whisker(estimate: Estimate, most: float) -> str:
    """A bar from zero with its interval, so that a column can be compared by eye."""
    if most <= 0 or estimate.point < 0:
        return ""
    x = WHISKER * estimate.point / most
    inner = element("rect", class_="bar", x=0.0, y=1.5, width=x, height=3.0, rx=1.5)
    if estimate.low is not None and estimate.high is not None:
        low, high = WHISKER * max(0.0, estimate.low) / most, WHISKER * estimate.high / most
        inner += element("rect", class_="range", x=low, y=0.0, width=max(1.0, high - low), height=6.0)
    return element("svg", inner, class_="whisk", width=WHISKER + 1, height=6.0, aria_hidden="true")


def _status(row: Row) -> str:
    worst = next((s for s in row.statuses if s != "ok"), "ok")
    count = len(row.warnings)
    noted = " " + tag("span", f"{count} warning{'s' * (count > 1)}", class_="warned") if count else ""
    words = tag("span", escape(row.status), class_=worst)
    return f"<td{_label_attribute('status')}><span>{words}{noted}</span></td>"


def _label_attribute(label: str) -> str:
    return f' data-label="{escape(label)}"' if label else ""


def _format_point(estimate: Estimate, scale: Scale) -> str:
    return f"{cell(estimate, scale).point} {escape(scale.unit)}".strip()


def _both_ends(estimate: Estimate, scale: Scale) -> str:
    both = ends(estimate, scale)
    return f"{both[0]} to {both[1]}" if both else ""
