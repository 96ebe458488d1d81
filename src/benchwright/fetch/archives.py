"""Unpacks archives from elsewhere: all of one or nothing, never outside its folder, never over other files."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from benchwright.errors import FetchError
from benchwright.fetch.members import DAMAGE, PIECE, Member, MemberKind, kind_of, members_of
from benchwright.fetch.partials import remove
from benchwright.system.locks import hold_lock

MOST_BYTES = 256 << 30
MOST_FILES = 5_000_000
MOST_DEEP = 100


def is_archive(path: Path) -> bool:
    """Whether `unpack` takes this file, judged by its content. Many other formats are zip files inside."""
    return path.is_file() and bool(kind_of(path))


def unpack(
    archive: Path, folder: Path, *, name: str = "", most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES
) -> None:
    """Unpacks a tar, tar.gz, tar.bz2, tar.xz, zip or gz into `folder`, made if need be; the archive stays.

    Everything is unpacked beside first. An absolute path, a `..`, a link that leads out, a device, damage, or more than
    `most_bytes` or `most_files`, is a `FetchError`, and then nothing of it is there. A file that is already in the
    folder stays if it is the same, and is a `FetchError` if not. Owners, times and all permissions except whether a
    file can be executed are left behind. One packed file loses its `.gz`; `name` is the archive's name for that.
    """
    name = name or archive.name
    # On the disk of the folder, so that names can be given in one step, and in it if it may be all that is writable.
    room = folder if folder.is_dir() else folder.parent
    staging = room / f".{name}.unpacking"
    try:
        room.mkdir(parents=True, exist_ok=True)
        with hold_lock(room / f".{name}.unpacking.lock"):
            try:
                remove(staging)
                staging.mkdir()
                writer = _Writer(staging, most_bytes=most_bytes, most_files=most_files)
                _write_all(archive, name, writer)
                _move_in(staging, folder, name)
            finally:
                remove(staging)
    except FetchError as error:
        raise FetchError(f"{archive}: {error.message}", remedy=error.remedy) from None
    except OSError as error:
        raise FetchError(f"{archive} cannot be unpacked into {folder}: {error.strerror or error}") from error


def _write_all(archive: Path, name: str, writer: _Writer) -> None:
    try:
        for member in members_of(archive, name):
            writer.add(member)
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FetchError(f"damaged, or not whole: {error or type(error).__name__}", remedy="fetch it again") from None
    writer.add_links()


class _Writer:
    """Writes members into an empty folder, and refuses what does not belong."""

    def __init__(self, root: Path, *, most_bytes: int, most_files: int) -> None:
        self._root, self._most_bytes, self._most_files = root, most_bytes, most_files
        self._bytes = self._files = 0
        self._links: dict[Path, str] = {}

    def add(self, member: Member) -> None:
        self._files += 1
        if self._files > self._most_files:
            raise FetchError(f"holds more than {self._most_files} files", remedy="unpack it by hand if you trust it")
        parts = _safe_parts(member.name)
        path = self._root.joinpath(*parts)
        if member.kind is MemberKind.FOLDER:
            path.mkdir(parents=True, exist_ok=True)
        elif member.kind is MemberKind.OTHER or not parts:
            raise FetchError(f"{member.name!r} in it is neither a file nor a folder nor a link")
        elif member.kind is MemberKind.LINK:
            # Made when all files are written, so that nothing is ever written through one.
            self._links[path] = _safe_target(member, parts)
        elif member.kind is MemberKind.SAME:
            self._same(member, path)
        else:
            self._file(member, path)

    def add_links(self) -> None:
        for path, target in self._links.items():
            self._check_not_below_a_link(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)

    def _check_not_below_a_link(self, path: Path) -> None:
        """A link is judged by the folder that its name puts it in; below another link it would be in a different one.

        The disk is asked, since some take two spellings for one name.
        """
        for folder in path.parents[: len(path.relative_to(self._root).parts) - 1]:
            if folder.is_symlink():
                inside, outer = path.relative_to(self._root).as_posix(), folder.relative_to(self._root).as_posix()
                raise FetchError(
                    f"{inside!r} in it lies below {outer!r}, which is a link", remedy="do not trust this archive"
                )

    def _file(self, member: Member, path: Path) -> None:
        assert member.content is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # a later member of one name is the one that counts
        with path.open("xb") as file:
            while piece := member.content.read(PIECE):
                self._bytes += len(piece)
                if self._bytes > self._most_bytes:
                    raise FetchError(
                        f"holds more than {self._most_bytes} bytes", remedy="unpack it by hand if you trust it"
                    )
                file.write(piece)
            if member.executable:
                mode = os.fstat(file.fileno()).st_mode
                os.fchmod(file.fileno(), mode | (mode & 0o444) >> 2)  # for all who may read it

    def _same(self, member: Member, path: Path) -> None:
        first = self._root.joinpath(*_safe_parts(member.target))
        if not first.is_file():
            raise FetchError(f"{member.name!r} in it is a link to {member.target!r}, which is not in it")
        if first != path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            os.link(first, path)


def _safe_parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or len(path.parts) > MOST_DEEP:
        raise FetchError(f"{name[:200]!r} in it would not be below the folder", remedy="do not trust this archive")
    return path.parts


def _safe_target(member: Member, parts: tuple[str, ...]) -> str:
    """The target of a link, which may climb first and then only descend.

    A climb after a descent could begin at another link, and so come out anywhere; without one, every link ends below
    the folder as long as all others do, and lies where its name says.
    """
    target = PurePosixPath(member.target)
    climbs = [index for index, part in enumerate(target.parts) if part == ".."]
    leads_out = target.is_absolute() or len(climbs) >= len(parts) or climbs != list(range(len(climbs)))
    if leads_out or not member.target or "\0" in member.target:
        raise FetchError(
            f"{member.name!r} in it is a link to {member.target[:200]!r}, which may lead out of the folder",
            remedy="do not trust this archive",
        )
    return member.target


def _move_in(staging: Path, folder: Path, name: str) -> None:
    if not folder.exists():
        try:
            staging.rename(folder)
            return
        except OSError:
            if not folder.is_dir():  # otherwise somebody else made it meanwhile
                raise
    for source, place in list(_moves(staging, folder)):  # all of them are known to be possible before the first
        source.rename(place)


def _moves(staged: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    for entry in sorted(staged.iterdir()):
        place = folder / entry.name
        if not os.path.lexists(place):
            yield entry, place
        elif _is_folder(entry) and _is_folder(place):
            yield from _moves(entry, place)
        elif not _same(entry, place):
            raise FetchError(
                f"{place} is already there with another content",
                remedy="remove it or unpack elsewhere; nothing was changed",
            )


def _same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
