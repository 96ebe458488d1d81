"""Results as files, where FAI-PEP puts them: one folder for each run of a test, one file for each entry."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from benchwright.compat.harness.documents import HarnessDocument, as_json, commit_date
from benchwright.compat.harness.names import file_name, file_names
from benchwright.errors import UploadError
from benchwright.fetch.partials import remove
from benchwright.system import whole_files

META = "meta"
OURS = "benchwright.json"  # the whole document, for readers that need not know the layout


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
