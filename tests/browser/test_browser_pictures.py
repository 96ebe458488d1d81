"""The pictures of the documentation show what the program shows today; `make pictures` makes them anew."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import doc_pictures as pictures

AGED = "a picture of the documentation has aged: run make pictures, look at what it made, and commit it"


@pytest.fixture(scope="module")
def album(root: Path) -> Path:
    return root / "docs" / "pictures"


@pytest.mark.soak
@pytest.mark.parametrize("name", pictures.SCREENS)
def test_a_terminal_shows_what_the_command_prints_today(name: str, album: Path, sample: Path) -> None:
    drawn = pictures.draw_terminal(pictures.SCREENS[name], sample)
    assert (album / f"terminal-{name}.svg").read_text(encoding="utf-8") == drawn, AGED


def test_a_page_says_what_it_said_when_its_picture_was_taken(
    album: Path, sample: Path, browser: Any, tmp_path: Path
) -> None:
    store = Path(shutil.copy(sample, tmp_path / "results.db"))
    kept = json.loads((album / pictures.PAGES).read_text(encoding="utf-8"))
    assert pictures.take_pages(browser, store, None) == kept, AGED


def test_every_picture_is_made_and_is_shown_on_a_page(root: Path, album: Path) -> None:
    made = {f"terminal-{name}.svg" for name in pictures.SCREENS}
    made |= {f"{name}.png" for name in json.loads((album / pictures.PAGES).read_text(encoding="utf-8"))}
    assert {path.name for path in album.iterdir()} - {pictures.PAGES} == made
    pages = [path.read_text(encoding="utf-8") for path in (root / "docs").rglob("*.md")]
    shown = {name for text in pages for name in re.findall(r"!\[[^\]]+\]\([./]*pictures/([\w.-]+)\)", text)}
    assert shown == made


def test_pictures_of_terminals_ask_nothing_of_other_hosts(album: Path) -> None:
    for path in album.glob("*.svg"):
        addresses = re.findall(r"https?://[^\s\"'<]+", path.read_text(encoding="utf-8"))
        assert set(addresses) == {"http://www.w3.org/2000/svg"}
