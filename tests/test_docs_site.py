"""The built documentation asks nothing of other hosts; `make docs` checks it with the same function."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
foreign: Callable[[Path], Iterator[tuple[str, str]]] = runpy.run_path(f"{ROOT}/scripts/check_site.py")["foreign"]


@pytest.mark.parametrize(
    ("page", "loads"),
    [
        ('<a href="https://example.org/">a link is followed by people</a>', []),
        ('<link rel="stylesheet" href="assets/main.css"><script src="assets/app.js"></script>', []),
        ('<link rel="canonical" href="https://example.org/page.html">', []),
        ('<link rel="preconnect" href="https://fonts.example" crossorigin>', ["https://fonts.example"]),
        ('<link rel="stylesheet" href="//fonts.example/css">', ["//fonts.example/css"]),
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<img srcset="a.png, https://cdn.example/b.png 2x">', ["https://cdn.example/b.png 2x"]),
        ("<style>@import url('https://fonts.example/a.css');</style>", ["https://fonts.example/a.css"]),
        ('<p style="background: url(https://cdn.example/p.png)">', ["https://cdn.example/p.png"]),
        ('<pre class="mermaid"><code>graph</code></pre>', ["a library for mermaid"]),
    ],
)
def test_what_a_page_loads_by_itself_is_found(tmp_path: Path, page: str, loads: list[str]) -> None:
    (tmp_path / "page.html").write_text(f"<!doctype html><html><body>{page}</body></html>")
    assert list(foreign(tmp_path)) == [("page.html", what) for what in loads]


def test_styles_are_looked_into_and_an_empty_site_is_none(tmp_path: Path) -> None:
    assert [what for _, what in foreign(tmp_path)] == ["nothing: there is no page in it"]
    (tmp_path / "index.html").write_text("<p>Hello</p>")
    (tmp_path / "a.css").write_text('@font-face { src: url("https://fonts.example/x.woff2"), url(local.woff2) }')
    assert list(foreign(tmp_path)) == [("a.css", "https://fonts.example/x.woff2")]


def test_the_settings_of_the_documentation_name_no_other_host(root: Path) -> None:
    """Fonts come from elsewhere unless the theme is told not to; analytics and a repository's figures only if asked."""
    settings = (root / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.search(r"^  font: false\b", settings, re.MULTILINE)
    assert not re.search(r"^\s*(?:repo_url|analytics|extra_javascript|extra_css):", settings, re.MULTILINE)
    assert not any("```mermaid" in page.read_text(encoding="utf-8") for page in (root / "docs").rglob("*.md"))
