"""How a published site names the answers it holds: `fileName` in dashboard/src/api.ts is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from urllib.parse import quote

_LONGEST = 150  # signs of a file's name: file systems end at 255 bytes


def answer_name(*parts: str, query: Mapping[str, str] | None = None) -> str:
    """The name of what a path gives; the path is in its parts, not yet encoded for an address."""
    pairs = [f"{name}={value}" for name, value in (query or {}).items() if value]
    words = sorted(pairs, key=lambda word: word.encode("utf-16-be", "surrogatepass"))  # as JavaScript sorts
    return ".".join(_safe(text) for text in (*parts, *words))


class Stems:
    """Names of files, without their ending: the answers' own, unless a file system could mistake one for another."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}  # small letters -> answer

    def of(self, name: str) -> str:
        """The same for the same name."""
        stem = name
        if len(name) > _LONGEST or self._taken.setdefault(name.lower(), name) != name:
            stem = f"{name[:40]}.{hashlib.sha256(name.encode('ascii')).hexdigest()[:20]}"
        return stem


def _safe(text: str) -> str:
    """Letters, digits and `-`; any other byte of UTF-8 as `_` and two digits."""
    # What cannot be said in UTF-8, half of a pair, is what a browser makes of it: the sign for "unknown".
    whole = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    quoted = quote(whole, safe="").replace("_", "%5F").replace(".", "%2E").replace("~", "%7E")
    return "".join(part if i == 0 else f"_{part[:2].lower()}{part[2:]}" for i, part in enumerate(quoted.split("%")))
