"""Objects and whole folders from cloud buckets and other stores, through fsspec. The one module that imports it here.

An object is read in pieces and continued after a cut. A folder is filled beside its place, several objects at once.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from benchwright.errors import FetchError, NotInstalledError, UserError
from benchwright.fetch import clouds
from benchwright.fetch.partials import Partial, PartialNote, Progress, remove
from benchwright.system.addresses import scheme_of
from benchwright.system.masking import mask_message, mask_url

T = TypeVar("T")

EXTRA = "'benchwright[data]'"
PIECE = 16 << 20
BATCH = 64  # objects of a folder that are asked for at once
PAUSE = 0.5

_VERSIONS = ("ETag", "etag", "generation", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "modify")
_AGAIN = "run it again: it goes on"
_ARRIVING = ".benchwright-arriving"  # where objects of a folder are until they are whole


def download(
    url: str, partial: Partial, *, retries: int = 3, timeout: float = 60.0, progress: Progress | None = None
) -> None:
    """Fills `partial` with the object behind `url`, or with everything below it when it is a folder.

    `gs://bucket/folder`, `gs://bucket/folder/` and `gs://bucket/folder/*` all mean that folder.
    """
    plain = url.removesuffix("*").rstrip("/")
    store = _Store(plain, retries=retries, timeout=timeout)
    for _ in range(retries + 1):
        about = store.ask(lambda: store.files.info(store.path))
        if about.get("type") == "directory" or url.endswith(("/", "/*")):
            _fetch_folder(store, partial, progress)
            return
        if _fetch_object(store, about, partial, progress):
            return
    raise FetchError(
        f"{mask_url(url)} keeps changing while it is read", remedy="fetch it again when nothing writes to it"
    )


def check_exists(url: str, *, timeout: float) -> None:
    """Asks for what is behind `url` without fetching it; a `FetchError` when there is nothing."""
    store = _Store(url.removesuffix("*").rstrip("/"), retries=0, timeout=timeout)
    store.ask(lambda: store.files.info(store.path))


class _Store:
    """A file system of fsspec that is asked again when that may help, and whose refusals are ours."""

    def __init__(self, url: str, *, retries: int, timeout: float) -> None:
        self.url, self.retries = url, 0
        self.files, self.path = self.ask(lambda: _connect(url, timeout))
        self.retries = retries

    def ask(self, question: Callable[[], T]) -> T:
        for attempt in range(self.retries + 1):
            try:
                with clouds.hush_loggers():
                    return question()
            except UserError:
                raise
            except FileNotFoundError:
                raise FetchError(f"{mask_url(self.url)} is not there", remedy="check the address") from None
            except Exception as error:  # the border to the clouds' libraries: each raises kinds of its own
                if final := self._refusal(error, last=attempt == self.retries):
                    raise final from None
            time.sleep(PAUSE * 2**attempt * random.uniform(0.5, 1.0))
        raise AssertionError("the last attempt returns or raises")

    def _refusal(self, error: Exception, *, last: bool) -> FetchError | None:
        """The error to end with, or None when another attempt may help."""
        said = " ".join(mask_message(f"{type(error).__name__}: {error}", self.url).split())
        if clouds.wants_login(error):
            return FetchError(f"{mask_url(self.url)}: {said}", remedy=_credentials(self.url))
        if isinstance(error, ValueError):
            return FetchError(f"{mask_url(self.url)}: {said}", remedy="check the address")
        return (
            FetchError(f"{mask_url(self.url)}: {said}", remedy=f"can this machine reach it? {_AGAIN}") if last else None
        )


def _fetch_object(store: _Store, about: Mapping[str, Any], partial: Partial, progress: Progress | None) -> bool:
    """Whether the object arrived; False when it changed on the way."""
    note = PartialNote.of(store.url, validator=_version(about), total=int(about["size"]))
    if partial.note(store.url) != note or not partial.path.is_file():
        partial.restart(note)
    have, total = partial.size, int(about["size"])
    with partial.path.open("ab") as file:
        while have < total:
            start, end = have, min(have + PIECE, total)
            piece = store.ask(lambda: store.files.cat_file(store.path, start=start, end=end))  # noqa: B023 - asked here
            if len(piece) != end - start:
                return False
            file.write(piece)
            have = end
            if progress is not None:
                progress(have, total)
    return _version(store.ask(lambda: store.files.info(store.path))) == note.validator


def _fetch_folder(store: _Store, partial: Partial, progress: Progress | None) -> None:
    members = _list_members(store)
    total = sum(size for size, _ in members.values())
    listing = hashlib.sha256(repr(sorted(members.items())).encode()).hexdigest()
    note = PartialNote.of(store.url, validator=listing, total=total)
    if partial.note(store.url) != note or not partial.path.is_dir():
        partial.restart(note, folder=True)
    missing = [name for name, (size, _) in members.items() if _size(partial.path / name) != size]
    have = total - sum(members[name][0] for name in missing)
    for first in range(0, len(missing), BATCH):
        batch = missing[first : first + BATCH]
        _fetch_batch(store, {name: members[name][0] for name in batch}, partial.path)
        have += sum(members[name][0] for name in batch)
        if progress is not None:
            progress(have, total)


def _fetch_batch(store: _Store, sizes: Mapping[str, int], folder: Path) -> None:
    """Brings these objects. Each takes its name when it is whole: some libraries make a file full size at first."""
    arriving = folder / _ARRIVING
    remove(arriving)
    arriving.mkdir()
    there = [f"{store.path}/{name}" for name in sizes]
    here = [arriving / str(number) for number in range(len(sizes))]
    store.ask(lambda: store.files.get(there, [str(file) for file in here]))
    for file, (name, size) in zip(here, sizes.items(), strict=True):
        if _size(file) != size:
            raise FetchError(f"{mask_url(store.url)}/{name} did not arrive whole", remedy=_AGAIN)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        file.replace(folder / name)
    remove(arriving)


def _list_members(store: _Store) -> dict[str, tuple[int, str]]:
    """Everything below the folder, by its name there: size and version."""
    found = store.ask(lambda: store.files.find(store.path, detail=True))
    members = {}
    for path, about in found.items():
        name = path.removeprefix(store.path).removeprefix("/")
        if not name or name.endswith("/") or about.get("type") == "directory":
            continue  # some tools mark a folder with an empty object
        if PurePosixPath(name).is_absolute() or {"", ".", ".."} & set(name.split("/")):
            raise FetchError(f"{mask_url(store.url)} holds {name!r}, which cannot be a file's name here")
        members[name] = (int(about["size"]), _version(about))
    if not members:
        raise FetchError(f"{mask_url(store.url)} is not there, or is empty", remedy="check the address")
    return members


def _connect(url: str, timeout: float) -> tuple[Any, str]:
    if "::" in url:
        raise FetchError(f"{mask_url(url)} chains several addresses", remedy="give the one that holds the file")
    try:
        import fsspec  # noqa: F401 - to tell what is missing
    except ImportError:
        raise NotInstalledError("fsspec, which reads buckets,", EXTRA) from None
    try:
        return clouds.connect(url, timeout=timeout)
    except ImportError as error:
        if scheme_of(url) in ("gs", "s3", "s3a"):
            raise NotInstalledError(f"what reads {scheme_of(url)}:// addresses", EXTRA) from None
        raise FetchError(f"{mask_url(url)}: {error}") from None


def _credentials(url: str) -> str:
    if scheme_of(url) in ("s3", "s3a"):
        return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or FSSPEC_S3_ANON=true for a public bucket"
    if scheme_of(url) == "gs":
        return "set GOOGLE_APPLICATION_CREDENTIALS to the path of a key, or FSSPEC_GS_TOKEN=anon for a public bucket"
    return "this store wants credentials, or others"


def _version(about: Mapping[str, Any]) -> str:
    return "|".join(str(about[key]) for key in _VERSIONS if key in about) or f"size {about.get('size')}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
