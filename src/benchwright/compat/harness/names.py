"""Names of files and folders as FAI-PEP forms them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

LONGEST = 200  # characters; a file system takes 255 bytes, and an ending is added


def file_name(text: str) -> str:
    """`NET latency` as `NET-latency`: spaces, colons and slashes become dashes; letters, digits and `_.-` stay.

    The result is always one plain name: not empty, not a `..`, and not longer than a file system takes.
    """
    name = re.sub(r"[^A-Za-z0-9_.-]", "", re.sub(r"[ \\:/]", "-", text))
    if not name.strip("."):
        return "-" * max(1, len(name))
    if len(name) > LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        return f"{name[: LONGEST - 13]}-{digest}"
    return name


def file_names(texts: Iterable[str], *, taken: Iterable[str] = ()) -> dict[str, str]:
    """A name for each text; of two that would share one, the later gets a number."""
    used, found = set(taken), {}
    for text in texts:
        plain = name = file_name(text)
        number = 1
        while name in used:
            number += 1
            name = f"{plain}-{number}"
        used.add(name)
        found[text] = name
    return found
