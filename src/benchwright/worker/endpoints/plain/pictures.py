"""Random pictures as files of PNG, written with the standard library alone."""

from __future__ import annotations

import base64
import random
import re
import struct
import zlib

from benchwright.errors import RequestError

USUAL = "224x224"
MOST_PIXELS = 4096 * 4096
_SIZE = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB, _BITS = 2, 8
_FASTEST = 1  # of zlib: noise does not shrink


def parse_size(text: str) -> tuple[int, int]:
    """Width and height of `{image:640x480}`; those of `{image}` are usual ones."""
    found = _SIZE.fullmatch(text or USUAL)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 0 < size[0] * size[1] <= MOST_PIXELS:
        raise RequestError(
            f"--body: {{image:{text[:40]}}} is not a picture of up to {MOST_PIXELS:,} pixels",
            remedy="write width and height, as in {image:640x480}",
        )
    return size


def make_picture(size: tuple[int, int], seed: str) -> bytes:
    """A picture of random colours; the same seed gives the same one."""
    width, height = size
    draw = random.Random(seed).randbytes
    rows = b"".join(b"\0" + draw(3 * width) for _ in range(height))  # each row begins with its filter: none
    head = struct.pack(">IIBBBBB", width, height, _BITS, _RGB, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, _FASTEST)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def encode_picture(size: tuple[int, int], seed: str) -> str:
    """The same in base 64."""
    return base64.b64encode(make_picture(size, seed)).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
