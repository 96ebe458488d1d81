"""FAI-PEP's model cache: `<format>/<model>/<file>` below one folder, read in both of its layouts.

Early files are called `<stem>_<md5><ending>`, later ones as the spec says, so that two versions of one model took each
other's place. Here a file has both names, which share their bytes: the plain one is the version that was fetched last,
and the one that is given out cannot become another version under somebody who measures. The spec is never written to.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from benchwright.errors import FetchError
from benchwright.fetch.cache_incoming import bring, local_path_of
from benchwright.fetch.digests import Digest, content_of, parse_digests
from benchwright.fetch.partials import beside, remove
from benchwright.system.locks import hold_lock
from benchwright.system.masking import mask_url

UNCHECKED = "directory"  # what a spec writes for the md5 of a folder that is not to be checked


def obtain(
    model_cache: Path,
    *,
    format: str,  # noqa: A002 - the spec's word
    model: str,
    filename: str,
    location: str,
    md5: str,
) -> Path:
    """Where the file, or folder, that a spec names lies now.

    `location` is an address or an absolute path. With an md5 it comes from the cache, into which it is fetched unless
    it is there with that md5; when the source has another one too, a `FetchError` names both and the cache stays as it
    was. Without an md5 a path is used where it lies, and an address is fetched anew.
    """
    md5 = md5.strip().lower()
    wanted = () if md5 == UNCHECKED else parse_digests(md5=md5)
    source = local_path_of(location)
    if source is not None and not md5:
        if not source.exists():
            raise FetchError(f"{source} is not there", remedy="correct the location in the spec")
        return source
    plain = Path(model_cache).absolute().joinpath(*(_check_part(part) for part in (format, model, filename)))
    try:
        plain.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(beside(plain, "lock")):
            if not md5:
                return _fetch(location, plain, (), model_cache)
            if not wanted:
                return plain if plain.exists() else _fetch(location, plain, (), model_cache)
            return _obtain_version(location, plain, wanted, model_cache)
    except OSError as error:
        raise FetchError(f"{error.filename or plain}: {error.strerror or error}") from error


def _obtain_version(location: str, plain: Path, wanted: tuple[Digest, ...], root: Path) -> Path:
    """Returns the file under the name of its version, which no other version can take; links its plain name too."""
    versioned = plain.with_name(f"{plain.stem}_{wanted[0].value}{plain.suffix}")
    if _matches(versioned, wanted):
        if not plain.exists():  # another version that is there stays: somebody may want it again
            _link(versioned, plain)
        return versioned
    if not _matches(plain, wanted):
        _fetch(location, plain, wanted, root)
    return _link(plain, versioned)


def _fetch(location: str, plain: Path, wanted: tuple[Digest, ...], root: Path) -> Path:
    """Fetches the file, and replaces the present one once the new one was checked."""
    fresh = beside(plain, "fresh")
    try:
        bring(location, fresh, wanted, room=f"remove from {root} what no spec needs any more, or choose another place")
    except FetchError as error:
        wrong = content_of(plain).mismatch(wanted) if plain.exists() else None
        kept = f"; {plain} in the cache has {wrong[1]}" if wrong else ""
        raise FetchError(f"{error.message}{kept}", remedy=error.remedy) from error
    if plain.is_dir() or fresh.is_dir():
        remove(plain)
    fresh.replace(plain)
    return plain


def _matches(path: Path, wanted: tuple[Digest, ...]) -> bool:
    return path.exists() and content_of(path).mismatch(wanted) is None


def _link(known: Path, path: Path) -> Path:
    """A second name for a file; what cannot have one, a folder or a file on some disks, keeps its own."""
    if known.is_dir():
        return known
    fresh = beside(path, "fresh")
    remove(fresh)
    try:
        os.link(known, fresh)
    except OSError:
        return known
    fresh.replace(path)
    return path


def _check_part(part: str) -> PurePosixPath:
    """A part of the layout, which a spec cannot lead out of the cache."""
    path = PurePosixPath(part)
    if not part or "\0" in part or "\\" in part or path.is_absolute() or ".." in path.parts or not path.parts:
        raise FetchError(
            f"{mask_url(part)!r} is not a name inside a model cache",
            remedy="a format, model or file name has no .. in it",
        )
    return path
