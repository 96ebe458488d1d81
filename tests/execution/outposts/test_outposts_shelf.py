"""The shelf of files on a machine that measures: what is old goes, and what was used just now stays."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from benchwright.execution.outposts.shelf import IN_USE, KEPT_DAYS, TIDIED, FileShelf


def _put(shelf: FileShelf, folder: Path, content: bytes, *, age: float) -> str:
    digest = hashlib.sha256(content).hexdigest()
    assert shelf.add(digest, content, last=True)
    at = time.time() - age
    os.utime(folder / f"{digest}.mark", (at, at))
    return digest


def test_room_is_made_by_dropping_what_was_not_used_for_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = FileShelf(tmp_path)
    ages = {b"oldest": 4 * IN_USE, b"needed": 3 * IN_USE, b"older": 2 * IN_USE, b"fresh": 0.0}
    oldest, needed, older, fresh = (_put(shelf, tmp_path, content, age=age) for content, age in ages.items())

    def there() -> list[str]:
        return [one for one in (oldest, needed, older, fresh) if (tmp_path / one).exists()]

    # As if the disk were full, and each file that is dropped gave ten bytes.
    monkeypatch.setattr(FileShelf, "free", property(lambda self: 10 * (4 - len(there()))))
    shelf.make_room(10, keep={needed})
    assert there() == [needed, older, fresh]
    shelf.make_room(40, keep={needed})  # more than there is to drop
    assert there() == [needed, fresh]


def test_a_shelf_that_lives_long_forgets_what_nobody_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = FileShelf(tmp_path)
    old = _put(shelf, tmp_path, b"old", age=2 * KEPT_DAYS * 86400)
    shelf.make_room(0)
    assert (tmp_path / old).exists()  # it has just been looked at
    monkeypatch.setattr(shelf, "_tidied_at", time.time() - 2 * TIDIED)
    shelf.make_room(0)
    assert not (tmp_path / old).exists()
