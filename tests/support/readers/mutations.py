"""Wrong files made of right ones, reproducibly: by structure, by token, by byte."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from typing import Any

_RAW = "@raw-%d@"  # stands in a value for a text that no value has
TOKENS = (
    *("9" * 400, "9" * 5000, str(2**63), str(2**63 - 1), str(2**64), str(-(2**63) - 1), "-1", "0", "1", "-0.0"),
    *("1e308", "-1e308", "1e400", "1e-400", "NaN", "Infinity", "-Infinity", "nan", "inf", "0x10", "1_0", "00"),
    *("null", "true", "false", "[]", "{}", '""', '" "', '"1"', '"nan"', '"\\ud800"', '"a\\u0000b"', '"\\u202e"'),
    *("[" * 3000 + "]" * 3000, '{"a":' * 1500 + "1" + "}" * 1500, '"' + "x" * 100_000 + '"', '"/../../etc"'),
    *(
        "[null]",
        "[[]]",
        '[1, "a", {}]',
        '{"": ""}',
        '"2026-01-01"',
        '"9999999-01-01T00:00:00"',
        '"0001-01-01T00:00:00+23:59"',
    ),
)
_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\w+')


def by_structure(body: bytes, draw: random.Random) -> bytes:
    """JSON in which some values, keys or items are others."""
    value = json.loads(body)
    raw: list[str] = []
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        value = _changed(value, draw, raw)
    text = json.dumps(value)
    for number, token in enumerate(raw):
        text = text.replace(f'"{_RAW % number}"', token)
    return text.encode("utf-8", "surrogatepass")


def by_token(body: bytes, draw: random.Random) -> bytes:
    """Text in which some words, numbers or quoted texts are others."""
    for _ in range(draw.choice((1, 1, 2))):
        found = list(_TOKEN.finditer(body))
        if not found:
            break
        at = draw.choice(found)
        new = draw.choice(
            (draw.choice(TOKENS).encode(), draw.choice(found)[0], b"", at[0] * 2, b"." * 200, b"a." * 200)
        )
        body = body[: at.start()] + new + body[at.end() :]
    return body


def by_byte(body: bytes, draw: random.Random) -> bytes:
    """Bytes that were cut, flipped, doubled, moved, or are of another encoding."""
    at, to = sorted((draw.randrange(len(body) + 1), draw.randrange(len(body) + 1)))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: body[:at],
        lambda: body[at:],
        lambda: body[:at] + body[to:],
        lambda: body[:to] + body[at:],
        lambda: body[:at] + bytes([draw.randrange(256)]) + body[at + 1 :],
        lambda: body[:at] + bytes([(body[at : at + 1] or b"0")[0] ^ 1 << draw.randrange(8)]) + body[at + 1 :],
        lambda: body[:at] + b"\0" + body[at:],
        lambda: body[:at] + b"\xff\xfe\xed\xa0\x80" + body[at:],
        lambda: body[:at] + b"\n" * draw.randrange(1, 50) + body[at:],
        lambda: body[:at] + b"A" * 200_000 + body[at:],
        lambda: body.decode("utf-8", "replace").encode("utf-16"),
        lambda: b"\xef\xbb\xbf" + body,
        lambda: b"",
    )
    return draw.choice(ways)()


def _changed(value: Any, draw: random.Random, raw: list[str]) -> Any:
    value = copy.deepcopy(value)
    places = _places(value)
    if not places:
        return _token(draw, raw)
    holder, key = draw.choice(places)
    way = draw.randrange(8)
    if way < 5:
        holder[key] = _token(draw, raw)
    elif way == 5:
        del holder[key]
    elif way == 6:
        other, name = draw.choice(places)
        holder[key] = copy.deepcopy(other[name])
    elif isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[key]) for _ in range(draw.choice((1, 100))))
    else:
        holder[draw.choice(("", "unknown", "\ud800", "a\0b", "-1", "9" * 400, f"{key}x"))] = holder.pop(key)
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    holders = [value]
    while holders:
        holder = holders.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, item in items:
            found.append((holder, key))
            holders.append(item)
    return found


def _token(draw: random.Random, raw: list[str]) -> str:
    raw.append(draw.choice(TOKENS))
    return _RAW % (len(raw) - 1)
