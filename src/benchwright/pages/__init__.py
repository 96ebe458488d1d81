"""What each page of the dashboard shows, as plain records: the server sends them, a published site holds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from benchwright.store.archive import Archive

P = ParamSpec("P")
View = TypeVar("View")


def at_once(view: Callable[Concatenate[Archive, P], View]) -> Callable[Concatenate[Archive, P], View]:
    """Lets a view ask its archive over one connection: it has ten questions, and each would open one first."""

    @wraps(view)
    def view_at_once(archive: Archive, /, *arguments: P.args, **named: P.kwargs) -> View:
        with archive.at_once():
            return view(archive, *arguments, **named)

    return view_at_once
