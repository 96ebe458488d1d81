"""Which distributions this interpreter can import, read from the heads of their metadata files.

`importlib.metadata` parses each file as a whole e-mail, its long description included, which takes longer than many a
measurement.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

_HEAD = 1024  # bytes; name and version stand in the first lines
_PLACES = ("METADATA", "PKG-INFO", "")  # of a wheel, of an egg's folder, of an egg's single file


def installed_packages(folders: Sequence[str] | None = None) -> dict[str, str]:
    """Distribution name to version for everything on `sys.path`, by name; as `importlib.metadata` spells them.

    With `folders`, for everything that lies in these.
    """
    found: dict[str, str] = {}
    for entry in sys.path if folders is None else folders:
        for name, version in _distributions(entry):
            found.setdefault(name, version)  # the first on the path is the one that is imported
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _distributions(entry: str) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(entry or ".") as listed:
            paths = [item.path for item in listed if item.name.lower().endswith((".dist-info", ".egg-info"))]
    except FileNotFoundError:
        return
    except OSError:  # an archive
        yield from _read_metadata(entry)
        return
    if entry.lower().endswith(".egg"):
        yield from _read_metadata(entry)
        return
    for path in paths:
        name, version = _read_head(path)
        if name and version:  # half-removed packages leave folders without one of them behind
            yield name, version


def _read_head(path: str) -> tuple[str, str]:
    """The first `Name` and `Version` of a distribution's metadata, "" for what it does not tell."""
    for place in _PLACES:
        try:
            with open(os.path.join(path, place) if place else path, "rb") as file:  # noqa: PTH118, PTH123 (speed)
                head = file.read(_HEAD)
                told = _read_fields(head[: head.rfind(b"\n") + 1])  # a line that was cut tells half a name
                if not all(told):
                    told = _read_fields(head + file.read())
        except OSError:
            continue
        if head:
            return told
    return "", ""


def _read_fields(head: bytes) -> tuple[str, str]:
    found = {"name": "", "version": ""}
    for line in head.decode(errors="replace").split("\n"):
        if not line.strip():  # the description follows
            break
        key, _, value = line.partition(":")
        if found.get(key.lower()) == "":
            found[key.lower()] = value.strip()
    return found["name"], found["version"]


def _read_metadata(entry: str) -> Iterator[tuple[str, str]]:
    """Reads the metadata of archives and eggs, the slow way."""
    from importlib.metadata import distributions

    for distribution in distributions(path=[entry]):
        metadata = distribution.metadata
        if metadata is not None and "Name" in metadata and "Version" in metadata:
            yield metadata["Name"], metadata["Version"]
