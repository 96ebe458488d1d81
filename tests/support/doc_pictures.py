"""python tests/support/doc_pictures.py FOLDER: the pictures of the documentation, made of the sample store.

`make pictures` writes them into docs/pictures. A terminal becomes an SVG of its text, a page a PNG. What a page says
is kept beside its picture in `pages.json`, as a digest: `tests/browser/test_browser_pictures.py` opens every page again
and fails when a picture has aged. A change that moves things and leaves the words alone is not noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from PIL import Image
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

import browsers
import page_server
import sample_store
from benchwright.server.settings import ServerSettings
from page_places import page_places

PAGES = "pages.json"
WIDTH, HEIGHT, COLOURS = 1280, 800, 128
_CELL, _LINE, _SIZE, _MARGIN = 7.8, 18, 13, 16  # pixels
_GROUND, _INK = "#16181d", "#d7dae0"
# What the terminal's colours are on that ground, with a contrast of 4.5 and more.
_INKS = {1: "#ff8b86", 2: "#7bd88f", 3: "#e8c95a", 6: "#6fd3e0", 8: "#9aa0aa"}
_WORDS = re.compile(r"\S+(?: \S+)*")  # what two spaces part is placed apart
_CHANGING = re.compile(r"benchwright \d\S*|\d+ (?:days?|months?|years?) ago")  # in the words of a page


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One picture of a terminal: the command that people type, and what shows it of the sample store."""

    command: str
    arguments: tuple[str, ...]
    lines: int  # of the output; more is cut, with dots
    columns: int = 150


SCREENS = {
    "run": Screen(
        command="benchwright run suite/ --runtime onnxruntime,openvino,torch",
        arguments=("show", "last~1"),
        lines=14,
    ),
    "compare": Screen(
        command="benchwright compare v1.4 v1.5 --metric latency_p50",
        arguments=("compare", "last~83", "last~21", "--metric", "latency_p50"),
        lines=14,
        columns=185,
    ),
    "findings": Screen(command="benchwright findings", arguments=("findings",), lines=12),
}
# Pages of the dashboard by the names of `page_places`; the HTML report is the sixth.
SHOTS = ("overview", "finding", "one-series", "compare-several", "matrix")


def main(folder: Path) -> None:
    """Writes every picture into the folder, and what the pages say."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, browsers.chromium() as chromium:
        store = Path(scratch, "results.db")
        sample_store.build(store)
        for name, screen in SCREENS.items():
            (folder / f"terminal-{name}.svg").write_text(draw_terminal(screen, store), encoding="utf-8")
        digests = take_pages(chromium, store, folder)
    (folder / PAGES).write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def draw_terminal(screen: Screen, store: Path) -> str:
    """The SVG of a terminal in which the command was typed."""
    printed = subprocess.run(
        [sys.executable, "-m", "benchwright", *screen.arguments, "--store", str(store)],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(screen.columns), "NO_COLOR": "", "TZ": "UTC"},
        stdout=subprocess.PIPE,
        check=False,
    ).stdout.decode()
    lines = printed.splitlines()
    if len(lines) > screen.lines:
        lines = [*lines[: screen.lines], "…"]
    text = Text.assemble(("$ ", "bold"), (screen.command, "bold"), "\n", Text.from_ansi("\n".join(lines)))
    return _to_svg(text, screen)


def _to_svg(text: Text, screen: Screen) -> str:
    console = Console(file=io.StringIO(), width=screen.columns, color_system="standard", force_terminal=True)
    rows = list(Segment.split_lines(console.render(text)))
    wide = _MARGIN * 2 + _CELL * max(sum(part.cell_length for part in row) for row in rows)
    high = _MARGIN * 2 + _LINE * len(rows)
    drawn = [spans for number, row in enumerate(rows) if (spans := _to_spans(row, _MARGIN + _LINE * (number + 0.75)))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img">\n'
        f"<title>{escape(screen.command)}</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{_GROUND}"/>\n'
        f'<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{_SIZE}" '
        f'fill="{_INK}" xml:space="preserve">\n' + "\n".join(drawn) + "\n</g>\n</svg>\n"
    )


def _to_spans(row: list[Segment], y: float) -> str:
    """The parts of a line, each as wide as its cells, so that columns stand one below the other in every font."""
    spans, column = [], 0
    for part in row:
        for words in _WORDS.finditer(part.text):
            x, wide = _MARGIN + _CELL * (column + words.start()), _CELL * len(words[0])
            spans.append(
                f'<text x="{x:.1f}" y="{y:.1f}" textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs"'
                f"{_attributes(part.style)}>{escape(words[0])}</text>"
            )
        column += part.cell_length
    return "".join(spans)


def _attributes(style: Style | None) -> str:
    if style is None:
        return ""
    ink = _INKS.get(style.color.number or 0, "") if style.color else ""
    return (' font-weight="bold"' if style.bold else "") + (f' fill="{ink}"' if ink else "")


def take_pages(chromium: Any, store: Path, folder: Path | None) -> dict[str, str]:
    """What each page of the dashboard says, as a digest; with a folder, its picture is written there."""
    settings = ServerSettings(store_url=f"sqlite:///{store}", artifacts=store.parent)
    digests = {}
    for server in page_server.serving(settings):
        context = chromium.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", timezone_id="UTC", locale="en-GB"
        )
        page = context.new_page()
        shots = {f"dashboard-{name}": server + path for name, path in page_places(server) if name in SHOTS}
        for name, address in {**shots, "report": _write_report(store).as_uri()}.items():
            digests[name] = _read_page(page, address)
            if folder is not None:
                page.wait_for_timeout(800)  # charts and sparklines come late
                _save(page.screenshot(clip=_content(page)), folder / f"{name}.png")
        context.close()
    return digests


def _content(page: Any) -> dict[str, float]:
    """The part of the window that a page fills: below a short one are its foot, with the store's path, and nothing."""
    ends = page.evaluate("[...document.querySelectorAll('main *')].map(e => e.getBoundingClientRect().bottom)")
    return {"x": 0, "y": 0, "width": WIDTH, "height": min(HEIGHT, max(ends, default=HEIGHT) + 24)}


def _write_report(store: Path) -> Path:
    path = store.with_name("report.html")
    words = ["report", "last~1", "--store", str(store), "--output", str(path)]
    subprocess.run([sys.executable, "-m", "benchwright", *words], check=True, capture_output=True)
    return path


def _read_page(page: Any, address: str) -> str:
    page.goto("about:blank")
    page.goto(address)
    page.locator("h1").first.wait_for()
    page.wait_for_load_state("networkidle")
    said, before = _read_words(page), None
    while said != before:  # parts of a page come late, on a busy machine later
        page.wait_for_timeout(1000)
        said, before = _read_words(page), said
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _read_words(page: Any) -> str:
    said = page.evaluate("[...document.querySelectorAll('nav a, h1, h2, h3, th')].map(e => e.innerText)")
    return "\n".join(sorted({_CHANGING.sub("", one).strip() for one in said}))


def _save(taken: bytes, path: Path) -> None:
    """A picture of few colours takes a third of the room."""
    with Image.open(io.BytesIO(taken)) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
