"""Files and folders by address: fetched once, whole or not at all, shared by all processes that want them.

Data sets that come packed are unpacked beside; and an address can be asked whether anything is behind it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial as bound
from pathlib import Path
from typing import TypedDict, Unpack

from benchwright.errors import FetchError, UserError, did_you_mean
from benchwright.fetch.archives import is_archive, unpack
from benchwright.fetch.digests import Digest, mismatch, parse_digests
from benchwright.fetch.partials import Partial, Progress, beside
from benchwright.system.addresses import local_path, name_of, scheme_of
from benchwright.system.locks import hold_lock
from benchwright.system.masking import mask_url

BUCKETS = ("abfs", "az", "ftp", "gs", "hdfs", "hf", "oci", "oss", "s3", "s3a", "sftp", "smb", "ssh", "webhdfs")
SCHEMES = tuple(sorted(("http", "https", "file", *BUCKETS)))
_PACKED = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip", ".gz")
_SILENCE = 10.0  # seconds after which a server that is only asked counts as out of reach


class FetchOptions(TypedDict, total=False):
    """The keywords of `fetch`, for those who pass them on."""

    sha256: str
    md5: str
    retries: int
    timeout: float
    progress: Progress | None


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str = "",
    md5: str = "",
    retries: int = 3,
    timeout: float = 60.0,
    progress: Progress | None = None,
    before_done: Callable[[Path], None] | None = None,
) -> Path:
    """What is behind `url`, at `target`, which appears only when it is whole and has the digests asked for.

    A target that is already there is left as it is; with a digest it is checked, and another one is a `FetchError`.
    What a cut or a killed process left is continued. Processes that want one target at a time share one download.
    `timeout` is the longest silence in seconds, `retries` how often trouble that may pass is met again, `progress`
    hears of bytes here and bytes in all. `before_done` gets the verified file just before it takes its name: what it
    does is done when the target is there; when it raises, the target does not appear.
    """
    digests = parse_digests(sha256=sha256, md5=md5)
    get = bound(_choose_getter(url), retries=retries, timeout=timeout, progress=progress)
    target = Path(target).absolute()
    try:
        if not _is_there(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with hold_lock(beside(target, "lock")):
                if not _is_there(target):
                    _bring(url, Partial(target=target), get, digests, before_done)
                    return target
        _check(target, digests)
    except OSError as error:
        raise FetchError(f"{error.filename or target}: {error.strerror or error}") from error
    return target


def _bring(
    url: str,
    partial: Partial,
    get: Callable[[str, Partial], None],
    digests: tuple[Digest, ...],
    before_done: Callable[[Path], None] | None,
) -> None:
    continued = partial.path.exists()
    get(url, partial)
    try:
        wrong = _mismatch(partial.path, digests)
        if wrong and continued:  # what was here before may be to blame, so once more from nothing
            partial.discard()
            get(url, partial)
            wrong = _mismatch(partial.path, digests)
        if wrong:
            raise FetchError(
                f"{mask_url(url)} has {wrong[1]}, and {wrong[0]} was asked for",
                remedy="correct the digest or the address",
            )
        if before_done is not None:
            before_done(partial.path)
    except FetchError as error:
        partial.discard()  # it will not become better by being continued
        # The hidden file is gone, and was no name that anybody knows.
        raise FetchError(error.message.replace(str(partial.path), mask_url(url)), remedy=error.remedy) from None
    partial.finish()


def _is_there(target: Path) -> bool:
    if target.is_symlink() and not target.exists():
        raise FetchError(f"{target} is a link to nothing", remedy="remove it, or what it should lead to is missing")
    return target.exists()


def _check(target: Path, digests: tuple[Digest, ...]) -> None:
    if wrong := _mismatch(target, digests):
        raise FetchError(
            f"{target} is there with {wrong[1]}, and {wrong[0]} was asked for",
            remedy="remove it to fetch it again, or correct the digest; it was not touched",
        )


def _mismatch(path: Path, digests: tuple[Digest, ...]) -> tuple[Digest, Digest] | None:
    if digests and path.is_dir():
        raise FetchError(f"{path} is a folder, and a digest was given", remedy="digests are of single files")
    return mismatch(path, digests)


def _choose_getter(url: str) -> Callable[..., None]:
    scheme = scheme_of(url)
    if scheme in ("http", "https"):
        from benchwright.fetch import web

        return web.download
    if scheme in BUCKETS:
        from benchwright.fetch import buckets

        return buckets.download
    if scheme == "file":
        return _copy
    known = ", ".join(f"{name}://" for name in SCHEMES)
    if not scheme:
        raise FetchError(f"{mask_url(url)} is not an address", remedy=f"an address begins with one of {known}")
    raise FetchError(
        f"unknown scheme {scheme!r} in {mask_url(url)}; known: {known}", remedy=did_you_mean(scheme, SCHEMES)
    )


def _copy(url: str, partial: Partial, *, retries: int, timeout: float, progress: Progress | None) -> None:
    """A file or folder of this machine; `retries` and `timeout` have no meaning here."""
    source = local_path(url)
    partial.discard()
    if source.is_dir():
        if partial.target.is_relative_to(source.absolute()):
            raise FetchError(f"{mask_url(url)} would be copied into itself", remedy="give another place")
        shutil.copytree(source, partial.path, symlinks=True)
        return
    if not source.is_file():
        raise FetchError(f"{source} is not there" if not source.exists() else f"{source} is not a file")
    shutil.copyfile(source, partial.path)
    if progress is not None:
        progress(partial.size, partial.size)


def fetch_data(url: str, target: Path, **how: Unpack[FetchOptions]) -> Path:
    """As `fetch`; what is called and is an archive is also unpacked into the target's folder, and kept.

    The target appears last: once it is there, so is everything that was in it. Formats that merely are zip files
    inside, such as `.npz` or `.pt`, are left alone.
    """

    def unpack_beside(file: Path) -> None:
        named = any(name.lower().endswith(_PACKED) for name in (name_of(url), target.name))
        if named and is_archive(file):
            unpack(file, target.absolute().parent, name=target.name)

    return fetch(url, target, before_done=unpack_beside, **how)


def why_unreachable(url: str) -> str:
    """Why what is behind `url` cannot be had, or "" when it can. At most one byte of it is asked for."""
    scheme = scheme_of(url)
    try:
        if scheme in ("http", "https"):
            from benchwright.fetch import web

            return web.why_unreachable(url, timeout=_SILENCE)
        if scheme in BUCKETS:
            from benchwright.fetch import buckets

            buckets.check_exists(url, timeout=_SILENCE)
            return ""
        if scheme == "file":
            return "" if local_path(url).exists() else f"{local_path(url)} is not there"
    except UserError as error:
        return error.message
    raise FetchError(f"unknown scheme {scheme!r} in {mask_url(url)}")
