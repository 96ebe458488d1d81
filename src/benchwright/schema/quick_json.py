"""Compact JSON in ASCII, written and read: orjson does it where it is installed, the standard library says the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from benchwright.schema.plain_values import encode


def dumps(data: Any) -> bytes:
    """Plain values, or records among them, as JSON. Who gives records has seen to it that their numbers are finite."""
    fast = _orjson()
    if fast is not None:
        try:
            if (text := fast[0](data)).isascii():
                return text
        except TypeError:  # a number beyond 64 bits, half a character: rare, and JSON can say them
            pass
    return json.dumps(encode(data), separators=(",", ":"), allow_nan=False).encode("ascii")


def can_read() -> bool:
    """Whether `loads` is quick."""
    return _orjson() is not None


def loads(text: str | bytes) -> Any:
    """The value of a JSON text; a `ValueError` where there is none, or none that is read quickly.

    A whole number of more than 64 bits becomes a floating-point number, and nothing bounds how deep lists are nested:
    who reads what comes from elsewhere looks at both.
    """
    fast = _orjson()
    return json.loads(text) if fast is None else fast[1](text)


@cache
def _orjson() -> tuple[Callable[[Any], bytes], Callable[[str | bytes], Any]] | None:
    try:
        import orjson
    except ImportError:
        return None
    return orjson.dumps, orjson.loads
