"""`--site_package_downloads`: folders copied into the workspace, each complete or not there; edits are never lost."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright.compat.perfzero.console import log
from benchwright.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePackageCopy:
    """A folder, and the name it gets in the workspace's site-packages."""

    source: Path
    name: str


def parse(text: str) -> list[SitePackageCopy]:
    """The entries of the flag: `abs_src:newname,...`. All are checked before anything is copied."""
    return [_entry(part.strip()) for part in text.split(",") if part.strip()]


def copy(entry: SitePackageCopy, packages: Path) -> None:
    """Makes `packages/name` equal to the source. A copy of ours that nobody has changed is replaced; anything else that
    is there is kept under another name.
    """
    packages.mkdir(parents=True, exist_ok=True)
    target = packages / entry.name
    fresh = packages / f".{entry.name}.{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        shutil.copytree(entry.source, fresh, symlinks=True)
        digest = _digest(fresh)
        if os.path.lexists(target):
            _make_room(target, digest)
        if not target.exists():
            fresh.rename(target)
        _mark(target).write_text(digest, encoding="ascii")
    except OSError as error:
        raise OptionError(f"{entry.source} cannot be copied to {target}: {error}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    log.info("copied %s to %s", entry.source, target)


def _entry(part: str) -> SitePackageCopy:
    source, colon, name = part.rpartition(":")
    if not colon or not Path(source).is_absolute() or Path(name).name != name or name in ("", ".", ".."):
        raise OptionError(
            f"--site_package_downloads: {part!r} is not a folder and its new name",
            remedy="for example --site_package_downloads=/home/me/models:models",
        )
    if not Path(source).is_dir():
        raise OptionError(f"--site_package_downloads: there is no folder {source}")
    return SitePackageCopy(source=Path(source), name=name)


def _make_room(target: Path, wanted: str) -> None:
    present = _digest(target) if target.is_dir() and not target.is_symlink() else ""
    if present == wanted:
        return
    with contextlib.suppress(OSError):
        if present and present == _mark(target).read_text(encoding="ascii"):
            shutil.rmtree(target)
            return
    aside = next(path for path in _aside_names(target) if not os.path.lexists(path))
    target.rename(aside)
    log.warning("%s was changed by hand: it is kept as %s", target, aside)


def _aside_names(target: Path) -> Iterator[Path]:
    count = 1
    while True:
        yield target.with_name(f"{target.name}.kept-{count}")
        count += 1


def _mark(target: Path) -> Path:
    """Returns the file that holds the digest of what was copied."""
    return target.with_name(f".{target.name}.copied")


def _digest(folder: Path) -> str:
    """Returns the digest of every name and content below a folder, without Python's caches."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        content = b""
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).digest()
        name = os.fsencode(path.relative_to(folder))
        whole.update(f"{len(name)} {len(content)} {path.is_dir()} ".encode() + name + content)
    return whole.hexdigest()
