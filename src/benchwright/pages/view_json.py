"""Views as JSON. orjson does it where it is installed; the standard library says the same, more slowly."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from benchwright.system.masking import name_people


def dumps(view: Any) -> bytes:
    """A view as JSON in UTF-8, its arrays as lists. NaN and infinity become null: a page shows a gap there."""
    fast = _orjson()
    if fast is None:
        return dumps_plainly(view)
    try:
        return fast(view)
    except TypeError:  # a byte of a log that is no text, a number beyond 64 bits: rare, and JSON can say them
        return dumps_plainly(view)


# What people write, or are named by. A quote within a string is escaped, so none of this begins inside of one.
_STRING = rb'"(?:[^"\\]|\\.)*"'
_OF_PEOPLE = re.compile(
    rb'("(?:who|assignee|assignees|released_by|reason|text|author|subject)":)(%s|\[(?:%s,?)*\])' % (_STRING, _STRING)
)


def hide_mail(page: bytes) -> bytes:
    """The same page, as JSON of `dumps`, without the e-mail addresses of people: `Ada <ada@example.com>` is `Ada`.

    Of an address that stands without a name, what is before the `@` stays. Addresses are looked for in what people
    write and are named by, and nowhere else: `git@example.com:team/code` is no person.
    """
    return _OF_PEOPLE.sub(_hide_in_field, page)


def _hide_in_field(field: re.Match[bytes]) -> bytes:
    name, value = field.groups()
    if b"@" not in value:
        return name + value
    told = json.loads(value)
    hidden = [name_people(one) for one in told] if isinstance(told, list) else name_people(told)
    return name + json.dumps(hidden, separators=(",", ":")).encode("ascii")


def dumps_plainly(view: Any) -> bytes:
    """Writes JSON as `dumps` does, with the standard library alone."""
    return json.dumps(_convert(view), ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


@cache
def _orjson() -> Callable[[Any], bytes] | None:
    try:
        import orjson
    except ImportError:
        return None
    options = orjson.OPT_SERIALIZE_NUMPY
    return lambda view: orjson.dumps(view, option=options, default=_convert_unknown)


def _convert_unknown(value: Any) -> Any:
    """What orjson does not know: other mappings and sequences, arrays that do not lie in one piece."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value) if not value.flags.c_contiguous else value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")


def _convert(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray | np.generic):
        return _convert(value.tolist())
    if dataclasses.is_dataclass(value):
        return {field.name: _convert(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _convert(item) for name, item in value.items()}
    if isinstance(value, str | int):
        return value
    if hasattr(value, "__iter__"):
        return [_convert(item) for item in value]
    raise TypeError(f"cannot write a {kind.__name__} as JSON")
