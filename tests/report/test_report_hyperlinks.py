"""Links on terminals: behind words where they are shown, else as addresses, and nothing where there are none."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from benchwright.report.hyperlinks import print_line, shows_hyperlinks

URL = "https://github.com/o/n/commit/c0ffee1"
TERMINALS = [
    ({"TERM": "xterm-256color", "VTE_VERSION": "6800"}, True),
    ({"TERM": "xterm-256color", "VTE_VERSION": "4205"}, False),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, True),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
    ({"TERM": "xterm-kitty"}, True),
    ({"TERM": "xterm-256color"}, False),
    ({"TERM": "xterm-256color", "FORCE_HYPERLINK": "1"}, True),
    ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
    ({"TERM": "xterm-kitty", "CI": "true"}, False),
    ({"TERM": "dumb", "VTE_VERSION": "6800"}, False),
]


def console(**more: object) -> Console:
    return Console(file=io.StringIO(), width=200, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("environment", "shown"), TERMINALS)
def test_only_terminals_that_show_links_get_them(
    environment: dict[str, str], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", environment["TERM"])
    assert shows_hyperlinks(console(force_terminal=True), environment) is shown
    assert not shows_hyperlinks(console(force_terminal=False), environment)


def test_a_link_is_behind_its_word_or_below_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    rich = console(force_terminal=True)
    print_line(rich, "  97 %  c0ffee1  Use a list", [("c0ffee1", URL)])
    drawn = rich.file.getvalue()  # type: ignore[attr-defined]
    assert f";{URL}\x1b\\c0ffee1\x1b]8;;\x1b\\" in drawn and drawn.count(URL) == 1
    plain = console(force_terminal=False)
    print_line(plain, "  97 %  c0ffee1  Use a list", [("c0ffee1", URL), ("gone", "javascript:alert(1)")])
    assert plain.file.getvalue() == f"  97 %  c0ffee1  Use a list\n    {URL}\n"  # type: ignore[attr-defined]


def test_nothing_that_is_no_address_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-kitty")
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    for url in ("javascript:alert(1)", "https://h/\x1b]8;;x", "https://u:p@h/"):
        rich = console(force_terminal=True)
        print_line(rich, "c0ffee1", [("c0ffee1", url)])
        assert rich.file.getvalue() == "c0ffee1\n"  # type: ignore[attr-defined]
