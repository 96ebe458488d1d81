"""Whether a page fits the width of its screen."""

from __future__ import annotations

from typing import Any


def check_width(page: Any) -> None:
    """Fail unless nothing of the page lies beside the screen once it has been drawn anew.

    Plots follow a change of the screen one frame later, so this waits, for seconds at most.
    """
    page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth", timeout=15_000)


def check_phone(page: Any) -> None:
    """Fail unless all of the page can be seen on a phone without scrolling sideways."""
    page.set_viewport_size({"width": 360, "height": 800})
    check_width(page)
