"""Secrets by reference: `${NAME}` stands for a variable of the environment, `${file:PATH}` for what a file holds.

Files that people commit hold references, never the secrets themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from benchwright.errors import OptionError

REFERENCE = re.compile(r"\$\{(file:)?([^}]+)\}")
_LARGEST = 64 << 10  # bytes of a file with a secret in it


def is_reference(text: str) -> bool:
    """Whether the text is one reference and nothing else."""
    return REFERENCE.fullmatch(text.strip()) is not None


def names_in(text: str) -> list[str]:
    """Returns what the text refers to: names of variables, and `file:PATH`."""
    return [f"{kind or ''}{name}" for kind, name in REFERENCE.findall(text)]


def fill_in(text: str, *, needs: str, written: Callable[[str], str] = str) -> str:
    """Returns the text with each reference replaced by its secret, written as `written` says.

    `needs` names who needs the secret, for the `OptionError` when a reference leads nowhere.
    """
    return REFERENCE.sub(lambda found: written(_value(found, needs)), text)


def values_in(text: str, *, needs: str) -> list[str]:
    """Returns the secrets that the text refers to."""
    return [_value(found, needs) for found in REFERENCE.finditer(text)]


def _value(found: re.Match[str], needs: str) -> str:
    is_file, name = found.groups()
    if not is_file:
        value = os.environ.get(name, "").strip()
        if not value:
            raise OptionError(f"the variable {name} is not set", remedy=f"{needs} needs it: export {name}=")
        return value
    try:
        with Path(name).expanduser().open("rb") as file:
            value = file.read(_LARGEST).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise OptionError(f"{name}: {reason}", remedy=f"{needs} reads its secret there") from None
    if not value:
        raise OptionError(f"{name} is empty", remedy=f"{needs} reads its secret there")
    return value
