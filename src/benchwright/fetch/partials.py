"""Files and folders on their way: kept beside their place under a hidden name, with a note that says what they are
part of, so that a later attempt continues only what is still the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.schema.parsing import json_value
from benchwright.system import streams, whole_files

Progress = Callable[[int, int | None], None]  # bytes that are here, and in all where that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialNote:
    """What a partial file is part of: its address (hashed, for it may hold a secret), version and whole size."""

    source: str
    validator: str = ""
    total: int | None = None

    @classmethod
    def of(cls, url: str, *, validator: str = "", total: int | None = None) -> PartialNote:
        return cls(source=hashlib.sha256(url.encode()).hexdigest(), validator=validator, total=total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """What is there of `target` so far. Whoever uses it holds the lock of `target`."""

    target: Path

    @property
    def path(self) -> Path:
        """The file or folder that is being filled."""
        return beside(self.target, "partial")

    @property
    def size(self) -> int:
        """How many bytes of a file are here."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def note(self, url: str) -> PartialNote | None:
        """What is known of the bytes that are here, if they can be continued from this address."""
        try:
            note = schema.decode(PartialNote, json_value(streams.read_text(self._note_path)), where="note")
        except (OSError, ValueError, DecodeError):
            return None
        fits = note.source == PartialNote.of(url).source and bool(note.validator) and self.path.exists()
        return note if fits and (note.total is None or self.size <= note.total) else None

    def restart(self, note: PartialNote, *, folder: bool = False) -> None:
        """Begins the download again from nothing, with this note."""
        self.discard()
        self.path.mkdir() if folder else self.path.touch()
        # Written last, and whole: a note must never speak of bytes that another version left behind.
        whole_files.write_text(self._note_path, json.dumps(asdict(note)))

    def discard(self) -> None:
        """Removes the part of a download that is here."""
        self._note_path.unlink(missing_ok=True)
        remove(self.path)

    def finish(self) -> None:
        """Gives what is here its name, in one step that also a power cut cannot split."""
        if self.path.is_file():
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
        self.path.replace(self.target)
        self._note_path.unlink(missing_ok=True)

    @property
    def _note_path(self) -> Path:
        return beside(self.target, "note")


def beside(target: Path, what: str) -> Path:
    """A hidden name next to `target`, for what belongs to it and is not it."""
    return target.with_name(f".{target.name}.{what}")


def remove(path: Path) -> None:
    """Deletes a file, a link or a whole folder; nothing there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
