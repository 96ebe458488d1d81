"""How a view asks its archive."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from benchwright.store.archive import Archive

P = ParamSpec("P")
View = TypeVar("View")


def at_once(view: Callable[Concatenate[Archive, P], View]) -> Callable[Concatenate[Archive, P], View]:
    """A view that asks over one connection: it has ten questions, and each would say hello first."""

    @wraps(view)
    def asked(archive: Archive, /, *arguments: P.args, **named: P.kwargs) -> View:
        with archive.at_once():
            return view(archive, *arguments, **named)

    return asked
