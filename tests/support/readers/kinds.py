"""What a reader of files from elsewhere is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Call = Callable[[Path, random.Random], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Files of one kind: `file` is the name that they need, `bodies` are right ones, `modules` read them."""

    file: str
    bodies: Callable[[], list[bytes]]
    call: Call
    modules: tuple[str, ...]
    ways: tuple[str, ...] = ("by_structure", "by_token", "by_byte")


TEXT = ("by_token", "by_byte")
BYTES = ("by_byte",)
