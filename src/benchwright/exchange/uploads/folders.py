"""A folder to any store: copied file by file, verified, and repeatable.

What is there already and equal is not sent again, so an upload that broke off is simply repeated. A file that differs
is replaced; nothing is ever deleted. Links are not followed: what they lead to is not this folder's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from benchwright.errors import OptionError, UploadError
from benchwright.exchange.uploads import stores
from benchwright.system.masking import mask_url

ATTEMPTS = 4  # a file
PAUSE = 0.5  # seconds before the second attempt; doubles
MOST_IN_A_ROW = 2  # files that fail one after the other before the store is left alone
_BUCKETS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "adl", "az", "oci", "oss"}  # no folders; a typo makes no bucket
_HOPELESS = (PermissionError, FileNotFoundError, IsADirectoryError, NotADirectoryError, NotImplementedError)
_PART = 50 << 20  # bytes of a part, where s3fs sends a large file in several


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSent:
    """The event of one file that is done: sent, or in the store already."""

    name: str
    sent: bool
    done: int
    total: int


Listener = Callable[[FileSent], None]


def upload(folder: Path, url: str, *, listener: Listener = lambda progress: None) -> str:
    """Copies the folder to `<url>/<its name>/` and returns that address, without a login.

    `url` is any address fsspec knows, or a path. Every file is tried several times and compared with what the store
    says it has. An `UploadError` names what could not be sent; the rest has been.
    """
    name = folder.name if folder.name not in ("", "..") else folder.resolve().name
    return upload_as(folder, stores.join_address(url, name), listener=listener)


def upload_as(folder: Path, url: str, *, listener: Listener = lambda progress: None) -> str:
    """Copies as `upload` does, with the content of the folder right below `url`."""
    failures: list[str] = []
    files = _files(folder, failures)
    place = _StoreFolder(url)
    in_a_row = 0
    for done, path in enumerate(files, start=1):
        name = path.relative_to(folder).as_posix()
        try:
            sent = _send_file(path, place, name)
        except OSError as error:  # the file here, not the store
            failures.append(f"{path}: {error.strerror or error}")
            continue
        except UploadError as error:
            failures.append(error.message)
            in_a_row += 1
            if in_a_row == MOST_IN_A_ROW:
                failures += [f"{len(files) - done} more files were not tried"] if done < len(files) else []
                break
            continue
        in_a_row = 0
        listener(FileSent(name=name, sent=sent, done=done, total=len(files)))
    if failures:
        raise UploadError("\n".join(failures), remedy="what has been sent is not sent again when this is repeated")
    return f"{place.shown}/"


def _files(folder: Path, failures: list[str]) -> list[Path]:
    """Every regular file below the folder, by name; what cannot be listed is a failure."""
    if not folder.is_dir():
        raise OptionError(f"{folder}: no such folder", remedy="name a folder that exists")

    def unlistable(error: OSError) -> None:
        failures.append(f"{error.filename}: {error.strerror}")

    found = [Path(here, name) for here, _, names in os.walk(folder, onerror=unlistable) for name in names]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _send_file(path: Path, place: _StoreFolder, name: str) -> bool:
    """Whether the file had to be sent; False when it was there. Raises when no attempt worked."""
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        content = _ContentDigest.of(path)  # anew: a log may have grown meanwhile
        try:
            if place.holds(name, path, content):
                return bool(attempt)  # an attempt that seemed to fail may have worked
            place.put(path, name)
            problem = place.differs(name, content)
        except Exception as error:  # the border to a store's library, which raises what it likes
            missing = "no such bucket or folder: " if isinstance(error, FileNotFoundError) else ""
            problem = missing + stores.reason(error, place.url)
            if isinstance(error, _HOPELESS):
                break
        if not problem:
            return True
    raise UploadError(f"{place.shown}/{name}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ContentDigest:
    """The size and the MD5 of a file. MD5 because stores state it; it guards against accident, not malice."""

    size: int
    md5: str

    @classmethod
    def of(cls, path: Path) -> _ContentDigest:
        with path.open("rb") as file:
            return cls.read(file)

    @classmethod
    def read(cls, file: BinaryIO) -> _ContentDigest:
        size, digest = 0, hashlib.md5(usedforsecurity=False)
        while block := file.read(1 << 20):
            size += len(block)
            digest.update(block)
        return cls(size=size, md5=digest.hexdigest())


class _StoreFolder:
    """A folder in a store."""

    def __init__(self, url: str) -> None:
        self.url, self.shown = url, mask_url(url).rstrip("/")
        self._store, self._root = stores.open_address(url)
        self._folders: set[str] = set()

    def put(self, path: Path, name: str) -> None:
        """Sends the file, in place of what was there."""
        target = f"{self._root}/{name}"
        above = target.rpartition("/")[0]
        if stores.scheme_of(self.url) not in _BUCKETS and above not in self._folders:
            self._store.makedirs(above, exist_ok=True)
            self._folders.add(above)
        self._store.put_file(str(path), target)

    def holds(self, name: str, path: Path, content: _ContentDigest) -> bool:
        """Whether the store holds the file, and certainly the same content."""
        stated = self._describe(name)
        if not stated or stated.get("type") != "file" or stated.get("size") != content.size:
            return False
        if stores.is_near(self.url):
            with self._store.open(f"{self._root}/{name}", "rb") as file:
                return _ContentDigest.read(file) == content
        tag = str(stated.get("ETag", "")).strip('"')
        return content.md5 in (_md5_of_content(stated), tag) or ("-" in tag and tag == _tag_of_parts(path))

    def differs(self, name: str, content: _ContentDigest) -> str:
        """How what the store has now differs from the file; "" when nothing says so."""
        stated = self._describe(name)
        if stated is None:
            return "the store does not have it after taking it"
        if stated and stated.get("size") != content.size:
            return f"the store has {stated.get('size')} bytes of {content.size}"
        # An entity tag that differs proves nothing: with encryption by the owner's key it is no MD5.
        if _md5_of_content(stated) not in (None, content.md5):
            return "the store states another checksum"
        return ""

    def _describe(self, name: str) -> Mapping[str, Any] | None:
        """What the store says of a file: None when it is not there, nothing when the login may only write."""
        try:
            return dict(self._store.info(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None
        except PermissionError:
            return {}


def _md5_of_content(stated: Mapping[str, Any]) -> str | None:
    """The checksum that Google's store states, in hexadecimal."""
    try:
        return base64.b64decode(stated["md5Hash"], validate=True).hex()
    except (KeyError, TypeError, binascii.Error):
        return None


def _tag_of_parts(path: Path) -> str:
    """The entity tag that S3 gives to a file that came in parts: no MD5 of the whole, but one of their MD5s."""
    digests = []
    with path.open("rb") as file:
        while part := file.read(_PART):
            digests.append(hashlib.md5(part, usedforsecurity=False).digest())
    return f"{hashlib.md5(b''.join(digests), usedforsecurity=False).hexdigest()}-{len(digests)}"
