"""SVG text: elements with everything escaped, and plots that are complete drawings or parts of a page."""

from __future__ import annotations

import html
from dataclasses import dataclass
from importlib.resources import files

from benchwright.units.numbers import printable

NUMBER_OF_COLOURS = 8  # then the same colours again, dashed


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A drawing: its name, what it says in words, and its elements."""

    name: str  # letters, digits and dashes: an id in a page, a file name on disk
    title: str
    description: str
    width: float
    height: float
    body: str
    heading: str = ""  # a shorter title, where a page says already which case it is


def element(name: str, content: str = "", **attributes: str | float | None) -> str:
    """An element; `content` is markup already, attribute values are escaped. `class_` and `data_x` lose their marks."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def text(x: float, y: float, words: str, **attributes: str | float | None) -> str:
    """A `text` element with escaped words."""
    return element("text", html.escape(printable(words)), x=x, y=y, **attributes)


def path(points: list[tuple[float, float]], *, closed: bool = False) -> str:
    """The `d` of a line through the points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + ("Z" if closed else "")


def tips(points: list[tuple[float, float]], words: list[str]) -> dict[str, str]:
    """Attributes from which the page's script shows what lies nearest to the pointer."""
    return {
        "data_x": " ".join(f"{x:.1f}" for x, _ in points),
        "data_y": " ".join(f"{y:.1f}" for _, y in points),
        "data_tips": "|".join(word.replace("|", "/") for word in words),
    }


def colour(index: int) -> str:
    """The classes of the n-th series."""
    return f"c{index % NUMBER_OF_COLOURS}" + (" dashed" if index >= NUMBER_OF_COLOURS else "")


def drawing(plot: Plot, *, prefix: str = "", standalone: bool = False) -> str:
    """The plot as an `svg` element; a standalone one brings its colours along."""
    identity = f"{prefix}{plot.name}"
    head = element("title", html.escape(printable(plot.title)), id=f"{identity}-title")
    head += element("desc", html.escape(printable(plot.description, lines=True)), id=f"{identity}-desc")
    if standalone:
        style = (files("benchwright.report") / "page" / "plot.css").read_text(encoding="utf-8")
        head += element("style", style) + element("rect", class_="paper", width=plot.width, height=plot.height)
    return element(
        "svg",
        head + plot.body,
        id=identity,
        class_="plot",
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
        viewBox=f"0 0 {plot.width:g} {plot.height:g}",
        xmlns="http://www.w3.org/2000/svg" if standalone else None,
    )


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return html.escape(value).replace("\n", "&#10;")  # XML would read a bare one as a space
    return f"{value:.1f}".removesuffix(".0")
