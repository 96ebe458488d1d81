"""Checks that the built documentation asks nothing of other hosts: `python scripts/check_site.py site`.

Links that a reader may follow are no matter. What counts is whatever a browser loads by itself when a page is opened:
scripts, styles, fonts, pictures, frames, and early connections to other hosts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_FOREIGN = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_LOADED = {"src", "srcset", "data", "poster", "background"}
_LINKED = {"stylesheet", "preconnect", "dns-prefetch", "preload", "prefetch", "modulepreload", "icon", "manifest"}
_IN_STYLE = re.compile(r"(?:url\(\s*|@import\s+(?!url))[\"']?([^\"')\s;]+)", re.IGNORECASE)
# Words for which the theme's own script fetches a library from elsewhere as soon as a page has them.
_FETCHING = {"mermaid", "glightbox", "pyodide"}


def main(folder: str) -> int:
    """Tells of every foreign thing that a page would load; 1 when there is any."""
    found = list(foreign(Path(folder)))
    for where, what in found:
        sys.stderr.write(f"{where}: loads {what}\n")
    return 1 if found else 0


def foreign(folder: Path) -> Iterator[tuple[str, str]]:
    """Each file of a site with what it would load from another host."""
    pages = sorted(folder.rglob("*.html"))
    if not pages:
        yield str(folder), "nothing: there is no page in it"
    for page in pages:
        reader = _Page()
        reader.feed(page.read_text(encoding="utf-8"))
        yield from ((str(page.relative_to(folder)), what) for what in reader.found)
    for style in sorted(folder.rglob("*.css")):
        yield from ((str(style.relative_to(folder)), what) for what in _in_style(style.read_text(encoding="utf-8")))


class _Page(HTMLParser):
    """Collects what a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        loaded = [value for name, value in given.items() if name in _LOADED]
        if tag == "link" and _LINKED & {*given.get("rel", "").lower().split()}:
            loaded.append(given.get("href", ""))
        parts = (part.strip() for value in loaded for part in value.split(","))
        self.found += [part for part in parts if _FOREIGN.match(part)]
        self.found += _in_style(given.get("style", ""))
        self.found += [f"a library for {word}" for word in sorted(_FETCHING & {*given.get("class", "").split()})]

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found += _in_style(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = self._in_style and tag != "style"


def _in_style(text: str) -> list[str]:
    return [address for address in _IN_STYLE.findall(text) if _FOREIGN.match(address)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
