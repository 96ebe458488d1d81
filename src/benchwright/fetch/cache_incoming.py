"""What comes into a cache: brought to a place of its own and checked there, before anything knows of it."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path

from benchwright.errors import FetchError
from benchwright.fetch.digests import Content, Digest, content_of
from benchwright.fetch.downloads import fetch
from benchwright.fetch.partials import Partial, Progress, remove
from benchwright.system.addresses import local_path, scheme_of
from benchwright.system.masking import mask_url

ROOM = "free some: benchwright cache prune --keep 10GB"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def bring(
    location: str,
    target: Path,
    wanted: tuple[Digest, ...] = (),
    progress: Progress | None = None,
    *,
    room: str = ROOM,
) -> Content:
    """A fresh copy of what is at `location`, an address or an absolute path, at `target`; its content.

    Whoever calls it holds a lock on `target`, and what is there is replaced. Content with another digest is a
    `FetchError` that names both, and is gone. A download that broke off is continued; a copy, or whatever met a full
    disk, leaves nothing. Links in a folder of this machine are copied as what they lead to. `room` says how to make
    some on that disk.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove(target)  # an earlier attempt may have ended before it was checked
        continued = Partial(target=target).path.exists()
        content = _get(location, target, progress, room)
        wrong = content.mismatch(wanted)
        if wrong and continued:  # what was here before may be to blame, so once more from nothing
            remove(target)
            content = _get(location, target, progress, room)
            wrong = content.mismatch(wanted)
    except OSError as error:
        raise FetchError(f"{error.filename or mask_url(location)}: {error.strerror or error}") from error
    if wrong:
        remove(target)
        raise FetchError(
            f"{mask_url(location)} has {wrong[1]}, and {wrong[0]} was asked for",
            remedy="correct the digest if the new content is the right one, or the address",
        )
    return content


def local_path_of(location: str) -> Path | None:
    """The path that a location means on this machine, or None for an address elsewhere."""
    scheme = scheme_of(location)
    if scheme == "file":
        return local_path(location)
    if scheme:
        return None
    path = Path(location)
    if not path.is_absolute():
        raise FetchError(
            f"{location!r} is neither an address nor an absolute path", remedy="write https://... or /the/whole/path"
        )
    return path


def _get(location: str, target: Path, progress: Progress | None, room: str) -> Content:
    source = local_path_of(location)
    try:
        if source is None:
            fetch(location, target, progress=progress)
        else:
            _copy(source, target)
    except (FetchError, OSError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        full = isinstance(cause, OSError) and cause.errno in _FULL
        if source is not None or full:  # room is what is missing now, not a beginning to continue from
            remove(target)
            Partial(target=target).discard()
        if full:
            raise FetchError(
                f"no room for {mask_url(location)} in {target.parent}",
                remedy=f"{room}; no partial file was left there",
            ) from error
        raise
    return content_of(target)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        if target.is_relative_to(source.absolute()):
            raise FetchError(f"{source} would be copied into itself", remedy="choose another cache folder")
        try:
            shutil.copytree(source, target)
        except shutil.Error as error:  # a list of texts, of which the first says enough
            path, _, reason = error.args[0][0]
            number = re.match(r"\[Errno (\d+)\] (.*?)(?:: '|$)", str(reason))
            raise OSError(int(number[1]) if number else 0, number[2] if number else reason, path) from None
    elif source.is_file():
        shutil.copyfile(source, target)
    else:
        raise FetchError(f"{source} is not a file" if source.exists() else f"{source} is not there")
