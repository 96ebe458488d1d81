"""Links on a terminal: behind the words where the terminal shows them (OSC 8), else as plain addresses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchwright.records.code import safe_link
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from rich.console import Console

FORCE = "FORCE_HYPERLINK"  # as other programs read it: 0 for never, anything else for always
_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby", "zed"})  # TERM_PROGRAM
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")  # how TERM begins
_THERE = ("KITTY_WINDOW_ID", "WT_SESSION", "DOMTERM", "KONSOLE_VERSION", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR")
_VTE = 5000  # the first version of VTE that shows links


def shows_hyperlinks(console: Console, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the console is a terminal that shows links behind words, as far as its environment tells."""
    forced = environment.get(FORCE, "")
    if forced:
        return forced != "0" and console.is_terminal
    if not console.is_terminal or console.is_dumb_terminal or environment.get("CI"):
        return False
    version = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM", "") in _PROGRAMS
        or environment.get("TERM", "").startswith(_TERMS)
        or any(environment.get(name) for name in _THERE)
        or (version.isascii() and version.isdecimal() and int(version) >= _VTE)
    )


def print_line(console: Console, line: str, links: Sequence[tuple[str, str]] = ()) -> None:
    """Prints a line in which each of the words leads to its address; the addresses stand below where no link is shown.

    Words that the line does not have are only below it, or nowhere.
    """
    from rich.style import Style
    from rich.text import Text

    text = Text(printable(line))
    good = [(printable(words), url) for words, url in links if words and safe_link(url)]
    behind = shows_hyperlinks(console)
    start = 0
    for words, url in good if behind else ():
        place = text.plain.find(words, start)
        if place >= 0:
            start = place + len(words)
            text.stylize(Style(link=url), place, start)
    console.print(text, overflow="fold")
    if not behind:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        for url in dict.fromkeys(url for _, url in good):
            console.print(Text(f"{indent}{url}", style="dim"), overflow="fold", soft_wrap=True)
