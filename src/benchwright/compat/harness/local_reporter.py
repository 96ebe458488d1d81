"""Results as files, where FAI-PEP puts them: one folder for each run of a test, one file for each entry."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Iterable
from pathlib import Path

from benchwright.compat.harness.documents import HarnessDocument, as_json, commit_date
from benchwright.errors import UploadError
from benchwright.fetch.partials import remove
from benchwright.system import whole_files

META = "meta"
OURS = "benchwright.json"  # the whole document, for readers that need not know the layout
LONGEST = 200  # characters; a file system takes 255 bytes, and an ending is added


def write(root: Path, document: HarnessDocument) -> Path:
    """Writes `<platform>/<framework>/<net>/<metric>/<identifier>/<Y>/<M>/<D>/<commit>/<n>/` below `root`; says where.

    `n` is the first free number, also among processes that write at the same time. The folder appears whole, and
    nothing that is there changes. Of a test that failed there is its meta data.
    """
    folder = root.absolute() / _place(document)
    staging = root.absolute() / f".{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            staging.mkdir()
            for name, text in _texts(document).items():
                (staging / name).write_text(text, encoding="utf-8")
            return _claim_number(staging, folder)
        finally:
            remove(staging)
    except OSError as error:
        raise UploadError(f"{error.filename or folder}: {error.strerror or error}") from error


def write_simple(root: Path, document: HarnessDocument) -> Path:
    """Writes `<identifier>/data.txt` below `root`, over an earlier one; whatever else is there stays."""
    path = root.absolute() / file_name(str(document.meta.get("identifier", ""))) / "data.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_files.write_text(path, as_json(document.entries))
    except OSError as error:
        raise UploadError(f"{error.filename or path}: {error.strerror or error}") from error
    return path


def _place(document: HarnessDocument) -> Path:
    meta, day = document.meta, commit_date(document)
    parts = [meta[name] for name in ("platform", "framework", "net_name", "metric", "identifier")]
    return Path(*(file_name(str(part)) for part in [*parts, day.year, day.month, day.day, meta["commit"]]))


def _texts(document: HarnessDocument) -> dict[str, str]:
    names = file_names(document.data, taken=[META])
    texts = {f"{name}.txt": as_json(document.data[key]) for key, name in names.items()}
    whole = {"meta": document.meta, "data": document.data}
    return {**texts, f"{META}.txt": as_json(document.meta), OURS: as_json(whole)}


def _claim_number(staging: Path, folder: Path) -> Path:
    """Gives the folder its number. A rename onto one that somebody filled meanwhile fails, and the next is tried."""
    number = 0
    while True:
        path = folder / str(number)
        if not os.path.lexists(path):
            try:
                return staging.rename(path)
            except OSError:
                if not os.path.lexists(path):
                    raise
        number += 1


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
