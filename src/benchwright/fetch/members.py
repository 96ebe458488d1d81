"""What is in an archive, one member after another, whichever kind it is. Nothing is written here.

Kinds are told by content: `tar`, `tar.gz`, `tar.bz2`, `tar.xz`, `zip`, and `gz`, `bz2`, `xz` for one packed file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, cast

from benchwright.errors import FetchError

PIECE = 1 << 20
MOST_HEADER = 1 << 20  # bytes of tar that may come between two members; names of any sane length fit many times over
MOST_TARGET = 4096  # the longest link target that the system takes

_PACKED = {
    "gz": re.compile(rb"\x1f\x8b\x08"),
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
}
# What the libraries raise for bytes that are not what they should be; OSError only where it comes without a number.
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    ValueError,
    OverflowError,
)


class MemberKind(Enum):
    """The kinds of members of an archive."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"  # `target` is a path as the link would hold it
    SAME = "same"  # another name for the member called `target`
    OTHER = "other"  # a device, a pipe, a socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member. `content` of a file is to be read before the next member is asked for."""

    name: str
    kind: MemberKind
    executable: bool = False
    target: str = ""
    content: IO[bytes] | None = None


def kind_of(path: Path) -> str:
    """Which kind of archive a file is, by its content, or "" for anything else."""
    with path.open("rb") as file:
        head = file.read(tarfile.BLOCKSIZE)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip" if zipfile.is_zipfile(path) else ""
    for packing, mark in _PACKED.items():
        if mark.match(head):
            return f"tar.{packing}" if _is_tar(_first_block(path, packing)) else packing
    return "tar" if _is_tar(head) else ""


def members_of(path: Path, name: str) -> Iterator[Member]:
    """Every member in order. `name` is what the archive is called, which names the file inside one without names."""
    kind = kind_of(path)
    if kind == "zip":
        yield from _zip(path)
    elif kind == "tar" or kind.startswith("tar."):
        yield from _tar(path, kind.removeprefix("tar").removeprefix("."))
    elif kind:
        inner = name.removesuffix(f".{kind}")
        with _stream(path, kind) as content:
            yield Member(name=inner if inner != name else f"{name}.unpacked", kind=MemberKind.FILE, content=content)
    else:
        raise FetchError(f"{name} is not an archive", remedy="tar, tar.gz, tar.bz2, tar.xz, zip and gz can be unpacked")


class _Reader(io.RawIOBase):
    """A stream of tar that may read `allowance` more bytes, or any number when that is None.

    The tar library holds a whole header in memory, and headers may be packed so that a few bytes become gigabytes.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.allowance: int | None = None

    def read(self, size: int = -1) -> bytes:
        if self.allowance is not None:
            self.allowance -= size
            if size < 0 or self.allowance < 0:
                raise tarfile.ReadError("a header is too long")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


def _tar(path: Path, packing: str) -> Iterator[Member]:
    with _stream(path, packing) as stream:
        reader = _Reader(stream)
        reader.allowance = MOST_HEADER
        with tarfile.open(fileobj=reader, mode="r:", errorlevel=2) as tar:
            while True:
                reader.allowance = MOST_HEADER
                member = tar.next()
                reader.allowance = None
                if member is None:
                    break
                yield _of_tar(tar, member)
                vars(tar)["members"].clear()  # the library keeps every header it has seen
        while packing and reader.read(PIECE):
            pass  # to the end, where the packing has its checksum


def _of_tar(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Member:
    if member.isreg():
        content = tar.extractfile(member)
        return Member(name=member.name, kind=MemberKind.FILE, executable=bool(member.mode & 0o100), content=content)
    if member.isdir():
        return Member(name=member.name, kind=MemberKind.FOLDER)
    if member.issym() or member.islnk():
        return Member(
            name=member.name, kind=MemberKind.LINK if member.issym() else MemberKind.SAME, target=member.linkname
        )
    return Member(name=member.name, kind=MemberKind.OTHER)


def _zip(path: Path) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise FetchError(f"{info.filename!r} in it is encrypted", remedy="unpack it by hand")
            mode = info.external_attr >> 16
            if info.filename.endswith("/"):
                yield Member(name=info.filename, kind=MemberKind.FOLDER)
            elif stat.S_ISLNK(mode):
                with archive.open(info) as content:
                    target = content.read(MOST_TARGET).decode("utf-8", "surrogateescape")
                yield Member(name=info.filename, kind=MemberKind.LINK, target=target)
            elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                yield Member(name=info.filename, kind=MemberKind.OTHER)
            else:
                with archive.open(info) as content:
                    executable = bool(mode & 0o100)
                    yield Member(name=info.filename, kind=MemberKind.FILE, executable=executable, content=content)


def _stream(path: Path, packing: str) -> IO[bytes]:
    if packing == "gz":
        return cast(IO[bytes], gzip.GzipFile(path, "rb"))
    if packing == "bz2":
        return cast(IO[bytes], bz2.BZ2File(path, "rb"))
    if packing == "xz":
        return cast(IO[bytes], lzma.LZMAFile(path, "rb"))
    return path.open("rb")


def _first_block(path: Path, packing: str) -> bytes:
    try:
        with _stream(path, packing) as stream:
            return stream.read(tarfile.BLOCKSIZE)
    except (*DAMAGE, OSError):
        return b""


def _is_tar(block: bytes) -> bool:
    """Whether this is a header of tar: its checksum holds."""
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.TarError:
        return False
    return True
