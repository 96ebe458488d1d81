"""The views that people keep: pages with everything that was chosen on them, under a name."""

from __future__ import annotations

import re

from benchwright.errors import OptionError
from benchwright.pages.lines import milliseconds
from benchwright.pages.shapes import ViewLine, ViewsPage
from benchwright.store.archive import Archive, NamedView

_PAGE = re.compile(r"[a-z]+(/[^?#]*)?(\?[^#]*)?")


def views_page(archive: Archive) -> ViewsPage:
    """Every view, by name."""
    return ViewsPage(views=[view_line(one) for one in archive.views()])


def home_address(archive: Archive) -> str:
    """The address of the page that opens first; "" for the overview."""
    return next((one.address for one in archive.views() if one.is_home), "")


def view_line(view: NamedView) -> ViewLine:
    """A view in a list."""
    return ViewLine(
        id=view.id,
        name=view.name,
        address=view.address,
        who=view.who,
        made_at=milliseconds(view.made_at),
        is_home=view.is_home,
    )


def clean_address(address: str) -> str:
    """What follows `#/` in an address of the dashboard; an address of no page is an `OptionError`."""
    inner = address.rpartition("#")[2].removeprefix("/").strip()
    if not _PAGE.fullmatch(inner):
        raise OptionError(
            f"{address[:60]!r} is not the address of a page of the dashboard",
            remedy="give what follows #/ in the browser, such as series?metric=latency_p50",
        )
    return inner


def describe_changes(before: NamedView, after: NamedView) -> str:
    """What is different now, for the audit log."""
    told = [
        f"{name} {str(old)[:100]} -> {str(new)[:100]}"
        for name, old, new in (
            ("name", before.name, after.name),
            ("address", before.address, after.address),
            ("home", before.is_home, after.is_home),
        )
        if old != new
    ]
    return ", ".join(told) or "nothing changed"
