"""Archives: every kind, and everything a hostile one may hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchwright.errors import FetchError
from benchwright.fetch.archives import is_archive, unpack
from benchwright.fetch.members import MOST_HEADER, kind_of
from hunting import examples

CONTENT = {"ds/a.txt": b"a\n", "ds/deep/b.bin": bytes(range(256)) * 50, "ds/empty": b""}
PACK: dict[str, Callable[[bytes], bytes]] = {
    "tar": lambda data: data,
    "tar.gz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.xz": lzma.compress,
}
KINDS = [*PACK, "zip"]


def tar_of(*members: tarfile.TarInfo | tuple[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def entry(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_of(*members: tuple[str, bytes], mode: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that come twice are the point of a test
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return buffer.getvalue()


def packed(kind: str) -> bytes:
    members = list(CONTENT.items())
    return zip_of(*members) if kind == "zip" else PACK[kind](tar_of(*members))


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "in" / "archive"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "outer" / "out"


def keep(archive: Path, content: bytes) -> Path:
    archive.parent.mkdir(exist_ok=True)
    archive.write_bytes(content)
    return archive


def refused(archive: Path, place: Path, content: bytes, match: str, **limits: Any) -> None:
    """Refused, into a new folder and into one that is in use, and nothing is left of it in either."""
    keep(archive, content)
    with pytest.raises(FetchError, match=match):
        unpack(archive, place, **limits)
    assert not place.exists() and list(place.parent.iterdir()) == []
    place.mkdir()
    (place / "mine").write_text("mine")
    with pytest.raises(FetchError, match=match):
        unpack(archive, place, **limits)
    assert sorted(path.name for path in place.rglob("*")) == ["mine"]
    assert sorted(path.name for path in place.parent.iterdir()) == ["out"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_known_by_its_content(archive: Path, place: Path, kind: str) -> None:
    keep(archive, packed(kind))
    assert kind_of(archive) == kind and is_archive(archive)
    unpack(archive, place)
    assert tree(place) == CONTENT and archive.exists()
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_form_of_tar(archive: Path, place: Path, form: int) -> None:
    name = f"{'d' * 90}/{'f' * 90}"
    keep(archive, tar_of((name, b"x"), form=form))
    unpack(archive, place)
    assert tree(place) == {name: b"x"}


def test_what_the_programs_make(tmp_path: Path, place: Path) -> None:
    source = tmp_path / "source"
    for name, content in CONTENT.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(content)
    (source / "ds" / "a.txt").chmod(0o4755)
    os.link(source / "ds" / "a.txt", source / "ds" / "hard")
    (source / "ds" / "soft").symlink_to("deep/b.bin")
    with (source / "ds" / "sparse").open("wb") as file:
        file.seek(100_000)
        file.write(b"end")
    subprocess.run(["tar", "-C", source, "--sparse", "-czf", tmp_path / "x.tgz", "./ds"], check=True)
    unpack(tmp_path / "x.tgz", place)
    assert tree(place / "ds").keys() == {"a.txt", "deep/b.bin", "empty", "hard", "soft", "sparse"}
    assert (place / "ds" / "soft").readlink() == Path("deep/b.bin")
    assert (place / "ds" / "hard").read_bytes() == b"a\n"
    assert (place / "ds" / "sparse").read_bytes() == bytes(100_000) + b"end"
    assert not (place / "ds" / "a.txt").stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    assert os.access(place / "ds" / "a.txt", os.X_OK)
    assert not (place / "ds" / "deep" / "b.bin").stat().st_mode & 0o111


@pytest.mark.parametrize(("kind", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_one_packed_file(archive: Path, place: Path, kind: str, pack: Callable[[bytes], bytes]) -> None:
    keep(archive, pack(b"digits"))
    assert kind_of(archive) == kind
    unpack(archive, place, name=f"digits.csv.{kind}")
    unpack(archive, place)
    assert tree(place) == {"digits.csv": b"digits", "archive.unpacked": b"digits"}


@pytest.mark.parametrize("content", [b"", b"text", bytes(2000), b"PK\x03\x04 not really", b"\x1f\x8b", b"BZh9"])
def test_what_is_no_archive(archive: Path, place: Path, content: bytes) -> None:
    keep(archive, content)
    assert not is_archive(archive) and not is_archive(archive.parent) and not is_archive(archive.with_name("none"))
    place.parent.mkdir()
    refused(archive, place, content, "not an archive")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["/abs", "../up", "a/../../up", "a/../b", "/", "x/" * 101 + "x", ".."])
def test_names_that_lead_out(archive: Path, place: Path, kind: str, name: str) -> None:
    place.parent.mkdir()
    bad = (name, b"evil")
    content = zip_of(("good", b""), bad) if kind == "zip" else PACK[kind](tar_of(("good", b""), bad))
    refused(archive, place, content, "would not be below|neither a file")


LEADING_OUT = ["/etc/passwd", "..", "../x", "deep/../../x", "deep/..", "./../../x", ""]


@pytest.mark.parametrize("target", LEADING_OUT)
def test_links_that_lead_out_of_a_tar(archive: Path, place: Path, target: str) -> None:
    place.parent.mkdir()
    refused(archive, place, tar_of(entry("link", tarfile.SYMTYPE, target)), "may lead out")


@pytest.mark.parametrize("target", LEADING_OUT[:-1])
def test_links_that_lead_out_of_a_zip(archive: Path, place: Path, target: str) -> None:
    place.parent.mkdir()
    refused(archive, place, zip_of(("link", target.encode()), mode=stat.S_IFLNK | 0o777), "may lead out")


def test_links_that_stay(archive: Path, place: Path) -> None:
    keep(
        archive, tar_of(("a/x", b"x"), entry("b/c/up", tarfile.SYMTYPE, "../../a/x"), entry("z", tarfile.SYMTYPE, "."))
    )
    unpack(archive, place)
    assert (place / "b" / "c" / "up").read_bytes() == b"x"
    shutil.rmtree(place)
    keep(archive, zip_of(("l", b"d/file"), mode=stat.S_IFLNK | 0o777))
    unpack(archive, place)
    assert (place / "l").readlink() == Path("d/file")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["outer first", "inner first"])
def test_a_link_below_a_link_is_not_where_its_name_says(archive: Path, place: Path, order: tuple[int, int]) -> None:
    place.parent.mkdir()
    links = [entry("p/q/r", tarfile.SYMTYPE, "../../z"), entry("p/q/r/s", tarfile.SYMTYPE, "../../../secret")]
    content = tar_of(entry("z", tarfile.DIRTYPE), *(links[i] for i in order))
    refused(archive, place, content, "which is a link" if order == (0, 1) else "cannot be unpacked")


def test_a_file_through_a_link_of_the_same_archive(archive: Path, place: Path) -> None:
    place.parent.mkdir()
    refused(archive, place, tar_of(entry("l", tarfile.SYMTYPE, "d"), ("l/x", b"")), "cannot be unpacked")


def test_nothing_is_written_through_a_link_that_is_there(archive: Path, place: Path, tmp_path: Path) -> None:
    place.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (place / "ds").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FetchError, match="already there"):
        unpack(keep(archive, packed("tar")), place)
    assert tree(tmp_path / "elsewhere") == {}


@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "not in it", "folder", "link"])
def test_other_names_for_what_is_not_in_it(archive: Path, place: Path, target: str) -> None:
    place.parent.mkdir()
    members = [entry("folder", tarfile.DIRTYPE), entry("link", tarfile.SYMTYPE, "x"), ("x", b"x")]
    refused(archive, place, tar_of(*members, entry("same", tarfile.LNKTYPE, target)), "not be below|not in it")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_and_pipes(archive: Path, place: Path, kind: bytes) -> None:
    place.parent.mkdir()
    refused(archive, place, tar_of(("good", b""), entry("null", kind)), "neither a file nor a folder nor a link")


def test_devices_in_a_zip(archive: Path, place: Path) -> None:
    place.parent.mkdir()
    refused(archive, place, zip_of(("null", b""), mode=stat.S_IFCHR | 0o666), "neither a file")


@pytest.mark.parametrize("kind", KINDS)
def test_too_much_in_it(archive: Path, place: Path, kind: str) -> None:
    place.parent.mkdir()
    refused(archive, place, packed(kind), "more than 12000 bytes", most_bytes=12_000)
    shutil.rmtree(place)
    refused(archive, place, packed(kind), "more than 2 files", most_files=2)


def test_a_packed_file_that_swells(archive: Path, place: Path) -> None:
    place.parent.mkdir()
    refused(archive, place, gzip.compress(bytes(50 << 20)), "more than 1000000 bytes", most_bytes=1_000_000)


def test_a_header_that_swells_is_not_read_into_memory(archive: Path, place: Path) -> None:
    info = tarfile.TarInfo("x")
    info.pax_headers = {"comment": "c" * (MOST_HEADER + 1)}
    place.parent.mkdir()
    refused(archive, place, gzip.compress(tar_of(("good", b""), info)), "header is too long")


@pytest.mark.parametrize("kind", KINDS)
def test_damage_and_cuts(archive: Path, place: Path, kind: str) -> None:
    place.parent.mkdir()
    whole = packed(kind)
    cut = {"tar": 1024 + 512 + 5000, "zip": len(whole) - 30}.get(kind, len(whole) - 12)
    refused(archive, place, whole[:cut], "damaged|not an archive")


@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "gz", "zip"])
def test_a_checksum_that_is_wrong(archive: Path, place: Path, kind: str) -> None:
    body = bytearray(gzip.compress(b"digits" * 1000) if kind == "gz" else packed(kind))
    at = {"tar.gz": -6, "gz": -6, "tar.xz": -20, "zip": 40}[kind]
    body[at] ^= 0xFF
    place.parent.mkdir()
    refused(archive, place, bytes(body), "damaged")


def test_an_encrypted_zip(archive: Path, place: Path) -> None:
    body = bytearray(zip_of(("secret", b"x")))
    body[6] |= 1
    body[body.index(b"PK\x01\x02") + 8] |= 1
    place.parent.mkdir()
    refused(archive, place, bytes(body), "encrypted")


def test_the_later_of_two_members_with_one_name_counts(archive: Path, place: Path) -> None:
    hard = entry("other", tarfile.LNKTYPE, "x")
    unpack(keep(archive, tar_of(("x", b"old"), hard, ("x", b"new"))), place)
    assert tree(place) == {"x": b"new", "other": b"old"}
    shutil.rmtree(place)
    unpack(keep(archive, zip_of(("x", b"old"), ("x", b"new"))), place)
    assert tree(place) == {"x": b"new"}


def test_beside_other_files_and_again(archive: Path, place: Path) -> None:
    (place / "ds").mkdir(parents=True)
    (place / "ds" / "mine").write_text("mine")
    keep(archive, packed("tar.gz"))
    for _ in range(2):
        unpack(archive, place)
        assert tree(place) == CONTENT | {"ds/mine": b"mine"}
    (place / "ds" / "a.txt").unlink()  # as after a cut in the middle of moving in
    unpack(archive, place)
    assert tree(place) == CONTENT | {"ds/mine": b"mine"}


def test_a_file_that_differs_is_never_overwritten(archive: Path, place: Path) -> None:
    (place / "ds" / "deep").mkdir(parents=True)
    (place / "ds" / "deep" / "b.bin").write_text("edited")
    with pytest.raises(FetchError, match=r"b\.bin is already there") as caught:
        unpack(keep(archive, packed("zip")), place)
    assert "nothing was changed" in caught.value.remedy
    assert tree(place) == {"ds/deep/b.bin": b"edited"}


def test_what_a_killed_process_left_is_cleared(archive: Path, place: Path) -> None:
    left = place.parent / ".archive.unpacking" / "ds"
    left.mkdir(parents=True)
    (left / "half").write_text("half")
    unpack(keep(archive, packed("tar")), place)
    assert tree(place.parent) == {f"out/{name}": content for name, content in CONTENT.items()}


def test_permissions_are_those_of_new_files(archive: Path, place: Path) -> None:
    script = (
        "import os, sys; os.umask(0o027)\nfrom pathlib import Path\nfrom benchwright.fetch.archives import unpack\n"
    )
    script += "unpack(Path(sys.argv[1]), Path(sys.argv[2]))"
    info = tarfile.TarInfo("run")
    info.mode = 0o7777
    keep(archive, tar_of(info, ("data", b"")))
    subprocess.run([sys.executable, "-c", script, archive, place], check=True)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place, place / "run", place / "data")}
    assert modes == {"out": 0o750, "run": 0o750, "data": 0o640}


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from([*KINDS, "hostile"]),
    damage=st.lists(st.tuples(st.integers(min_value=0), st.integers(0, 255)), max_size=6),
    cut=st.integers(min_value=0, max_value=40),
)
@example(kind="tar", damage=[], cut=0)
def test_damage_of_any_kind_is_one_error_and_stays_below(
    tmp_path: Path, kind: str, damage: list[tuple[int, int]], cut: int
) -> None:
    links = [entry("l", tarfile.SYMTYPE, "x"), entry("h", tarfile.LNKTYPE, "x"), entry("d", tarfile.DIRTYPE)]
    body = bytearray(tar_of(("x", b"x" * 600), *links) if kind == "hostile" else packed(kind))
    for at, value in damage:
        body[at % len(body)] = value
    room = tmp_path / "room"
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir()
    archive = keep(tmp_path / "in" / "a", bytes(body[: len(body) - cut]))
    try:
        unpack(archive, room / "out", most_bytes=1 << 20, most_files=100)
    except FetchError:
        assert list(room.iterdir()) == []
    else:
        assert list(room.iterdir()) == [room / "out"]
