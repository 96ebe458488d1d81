"""Names of cases in which `*` stands for anything, as a condition that the database checks."""

from __future__ import annotations

import re

from sqlalchemy import Column, ColumnElement, Connection

from benchwright.store.sql.codec import plain


def is_named(connection: Connection, column: Column[str], case: str) -> ColumnElement[bool]:
    """Whether the name in `column` is one that `case` matches, in which `*` stands for anything.

    The database compares: the names that fit may be more than a statement takes parameters.
    """
    name = plain(case)
    if "*" not in name:
        return column == name
    if not name.strip("*"):
        return column.is_not(None)
    if connection.dialect.name == "sqlite":  # whose LIKE ignores case
        return column.op("GLOB", is_comparison=True)(re.sub(r"([\[?])", r"[\1]", name))
    return column.like(re.sub(r"([%_\\])", r"\\\1", name).replace("*", "%"), escape="\\")
