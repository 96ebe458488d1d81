"""Files in which the vendors' own programs keep their settings. One that cannot be read counts as not there."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from benchwright.schema.parsing import TextError, json_value

LARGEST = 4 << 20  # bytes


def read_ini(path: Path) -> configparser.ConfigParser:
    """The settings of `gcloud` or `az`; empty where there are none."""
    found = configparser.ConfigParser(interpolation=None)
    try:
        found.read_string(_text(path))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return configparser.ConfigParser(interpolation=None)
    return found


def read_document(path: Path) -> dict[str, Any]:
    """A file of `az`, which begins with a mark of its encoding; empty where there is none."""
    try:
        found = json_value(_text(path))
    except (OSError, UnicodeDecodeError, TextError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LARGEST).decode("utf-8-sig")
