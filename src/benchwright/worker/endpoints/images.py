"""Images of stated sizes for models that see: PNG files written with the standard library, each unlike the others."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Sequence
from hashlib import shake_128
from typing import Any

from benchwright.errors import OptionError
from benchwright.units import whole_number

LARGEST_SIDE = 16_384
MOST_PIXELS = 64_000_000
KINDS = ("smooth", "noise")  # a file of some kilobytes; one of three bytes a pixel, which nothing makes smaller
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLORS = 3
_SIZE = re.compile(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", re.ASCII)


def make_png(width: int, height: int, *, seed: int = 0, number: int = 0, kind: str = "smooth") -> bytes:
    """A PNG file of 8 bits for each of three colors; the same for the same seed and number."""
    if kind not in KINDS:
        raise OptionError(f"{kind!r} is no kind of image", remedy=f"known: {', '.join(KINDS)}")
    _check_size(width, height)
    key = f"{seed} image {number} {width} {height}".encode()
    rows = _noise(key, width, height) if kind == "noise" else _gradient(key, width, height)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(rows, 0 if kind == "noise" else 6)),
            _chunk(b"IEND", b""),
        )
    )


def parse_image_size(text: str, what: str = "--image-size") -> tuple[int, int]:
    """Reads a width and a height, `'640x480'`; `what` is the flag, for errors."""
    match = _SIZE.fullmatch(text)
    sides = [whole_number(side) for side in match.groups()] if match else [None]
    if None in sides:
        raise OptionError(f"{what}: {text[:60]!r} is no size of an image", remedy="write width and height: 640x480")
    width, height = (int(side or 0) for side in sides)
    _check_size(width, height, f"{what}: ")
    return width, height


def data_url(content: bytes, kind: str = "image/png") -> str:
    """The content as an address that holds it."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def image_message(text: str, images: Sequence[bytes], role: str = "user") -> dict[str, Any]:
    """A message of a chat with images before its text, as OpenAI's protocol has it."""
    parts = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in images]
    return {"role": role, "content": [*parts, {"type": "text", "text": text}]}


def _check_size(width: int, height: int, where: str = "") -> None:
    if not (0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE and width * height <= MOST_PIXELS):
        raise OptionError(
            f"{where}an image of {width:,} x {height:,} pixels is not made",
            remedy=f"sides have 1 to {LARGEST_SIDE:,} pixels, and all together at most {MOST_PIXELS:,}",
        )


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _noise(key: bytes, width: int, height: int) -> bytes:
    """Rows of random bytes; the first byte of each, zero, says that nothing was done to it."""
    line = 1 + _COLORS * width
    rows = bytearray(shake_128(key).digest(line * height))
    rows[::line] = bytes(height)
    return bytes(rows)


def _gradient(key: bytes, width: int, height: int) -> bytes:
    """Rows that shade from left to right and from top to bottom, with other steps for each key.

    The first byte of a row, one, says that each pixel is written as what it adds to the one left of it.
    """
    drawn = shake_128(key).digest(3 * _COLORS)
    starts, across, down = drawn[:_COLORS], drawn[_COLORS : 2 * _COLORS], drawn[2 * _COLORS :]
    rest = bytearray(_COLORS * (width - 1))
    for color, shades in enumerate(across):
        rest[color::_COLORS] = bytes((x + 1) * shades // width - x * shades // width for x in range(width - 1))
    rows = []
    for y in range(height):
        first = bytes((start + y * shades // height) % 256 for start, shades in zip(starts, down, strict=True))
        rows.append(b"\1" + first + rest)
    return b"".join(rows)
