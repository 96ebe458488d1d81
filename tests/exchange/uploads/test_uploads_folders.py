"""Folders to stores: files and memory, and a store that fails in every way a store can."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from benchwright.errors import NotInstalledError, OptionError, UploadError
from benchwright.exchange.uploads import folders
from benchwright.exchange.uploads.folders import FileSent, upload
from benchwright.system.masking import mask_url

CONTENT = {
    "summary.json": b"{}",
    "logs/a b.log": b"line\n" * 1000,
    "logs/deep/#1?.bin": bytes(range(256)),
    "empty": b"",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder named `at1`."""
    made = tmp_path / "output" / "at1"
    for name, content in CONTENT.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
    return made


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(folders, "PAUSE", 0.0)
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def _tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _names(progress: list[FileSent], *, sent: bool) -> set[str]:
    return {one.name for one in progress if one.sent is sent}


@pytest.mark.parametrize("ending", ["", "/", "//"])
def test_a_folder_arrives_whole_below_its_name(folder: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / "far" / "away"
    assert upload(folder, f"file://{target}{ending}") == f"file://{target}/at1/"
    assert _tree(target) == {f"at1/{name}": content for name, content in CONTENT.items()}


def test_a_path_is_an_address_too(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert upload(folder, "share") == "share/at1/"
    assert _tree(tmp_path / "share" / "at1") == CONTENT
    monkeypatch.chdir(folder)
    assert upload(Path(), str(tmp_path / "other")) == f"{tmp_path}/other/at1/"


def test_memory_is_a_store(folder: Path) -> None:
    assert upload(folder, "memory://bucket/x") == "memory://bucket/x/at1/"
    store = fsspec.filesystem("memory")
    assert {name: store.cat_file(f"/bucket/x/at1/{name}") for name in CONTENT} == CONTENT


def test_what_is_there_and_equal_is_not_sent_again(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "far"
    seen: list[FileSent] = []
    upload(folder, str(target), listener=seen.append)
    assert _names(seen, sent=True) == CONTENT.keys()
    assert [(one.done, one.total) for one in seen] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    (target / "at1" / "summary.json").write_bytes(b"[]")  # as long, and different
    (target / "at1" / "empty").unlink()
    (target / "at1" / "dear").write_bytes(b"of somebody else")
    seen.clear()
    upload(folder, str(target), listener=seen.append)
    assert _names(seen, sent=True) == {"summary.json", "empty"}
    assert _tree(target / "at1") == CONTENT | {"dear": b"of somebody else"}  # nothing is ever deleted


def test_an_upload_that_broke_off_is_finished(folder: Path, tmp_path: Path) -> None:
    half = tmp_path / "far" / "at1" / "logs"
    half.mkdir(parents=True)
    (half / "a b.log").write_bytes(CONTENT["logs/a b.log"][:100])
    upload(folder, str(tmp_path / "far"))
    assert _tree(tmp_path / "far" / "at1") == CONTENT


def test_links_pipes_and_what_lies_outside_stay_here(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("k")
    (folder / "link").symlink_to(tmp_path / "secret" / "key")
    (folder / "folder").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    upload(folder, str(tmp_path / "far"))
    assert _tree(tmp_path / "far" / "at1") == CONTENT


def test_a_folder_without_files_has_an_address_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "at1").mkdir()
    assert upload(tmp_path / "at1", "memory://x") == "memory://x/at1/"


def test_a_missing_folder_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no such folder"):
        upload(tmp_path / "none", "memory://x")


def test_a_file_that_cannot_be_read_does_not_hold_the_others_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(path: Path, *arguments: Any, **options: Any) -> Any:  # root may read everything
        if path.name == "empty":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    opened = Path.open
    monkeypatch.setattr(Path, "open", unreadable)
    with pytest.raises(UploadError, match="at1/empty: Permission denied"):
        upload(folder, str(tmp_path / "far"))
    assert {path.name for path in (tmp_path / "far").rglob("*") if path.is_file()} == {
        "summary.json",
        "a b.log",
        "#1?.bin",
    }


# ---- a store that fails ----


class Frail(MemoryFileSystem):
    """Fails as told: `faults` are raised by the next puts, in order; None lets one through."""

    protocol = "frail"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    faults: ClassVar[list[Exception | None]] = []
    puts: ClassVar[list[str]] = []
    made: ClassVar[list[str]] = []
    cuts: ClassVar[int] = 0  # this many puts lose their last byte
    spoils: ClassVar[int] = 0  # and this many change it
    blind: ClassVar[bool] = False
    tags: ClassVar[bool] = False  # states entity tags that are no MD5, as S3 does of what it encrypts

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("frail://").rpartition("@")[2].strip("/")

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        Frail.puts.append(rpath)
        fault = Frail.faults.pop(0) if Frail.faults else None
        if fault:
            raise fault
        content = Path(lpath).read_bytes()
        if Frail.cuts:
            Frail.cuts -= 1
            content = content[:-1]
        if Frail.spoils:
            Frail.spoils -= 1
            content = content[:-1] + b"!"
        self.pipe_file(rpath, content)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        Frail.made.append(path)
        super().makedirs(path, exist_ok=exist_ok)

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        if Frail.blind:
            raise PermissionError("Access Denied")
        found: dict[str, Any] = super().info(path, **options)
        if found["type"] == "file":
            digest = hashlib.md5(self.cat_file(path)).digest()
            found |= {"ETag": f'"{"0" * 32}"'} if Frail.tags else {"md5Hash": base64.b64encode(digest).decode()}
        return found


@pytest.fixture
def frail() -> Iterator[type[Frail]]:
    fsspec.register_implementation("frail", Frail, clobber=True)
    for name, value in {
        "faults": [],
        "puts": [],
        "made": [],
        "cuts": 0,
        "spoils": 0,
        "blind": False,
        "tags": False,
    }.items():
        setattr(Frail, name, value)
    Frail.store.clear()
    yield Frail
    Frail.store.clear()


def _stored(frail: type[Frail]) -> dict[str, bytes]:
    return {name.removeprefix("/x/at1/"): file.getvalue() for name, file in frail.store.items()}


def test_a_store_that_falters_is_asked_again(folder: Path, frail: type[Frail]) -> None:
    frail.faults += [TimeoutError("slow"), None, ConnectionResetError("cut"), RuntimeError("library's own")]
    assert upload(folder, "frail://x") == "frail://x/at1/"
    assert _stored(frail) == CONTENT
    assert len(frail.puts) == len(CONTENT) + 3


@pytest.mark.parametrize("damage", ["cuts", "spoils"])
def test_what_arrived_damaged_is_sent_again(folder: Path, frail: type[Frail], damage: str) -> None:
    setattr(frail, damage, 2)
    for name in ("empty", "logs/a b.log", "logs/deep/#1?.bin"):
        (folder / name).unlink()
    upload(folder, "frail://x")
    assert _stored(frail) == {"summary.json": b"{}"}
    assert len(frail.puts) == 3


@pytest.mark.parametrize(
    ("damage", "says"), [("cuts", "the store has 1 bytes of 2"), ("spoils", "the store states another checksum")]
)
def test_what_stays_damaged_is_an_error(folder: Path, frail: type[Frail], damage: str, says: str) -> None:
    setattr(frail, damage, 99)
    for name in ("empty", "logs/a b.log", "logs/deep/#1?.bin"):
        (folder / name).unlink()
    with pytest.raises(UploadError) as caught:
        upload(folder, "frail://x")
    assert f"frail://x/at1/summary.json: {says}" in caught.value.message


def test_one_file_that_fails_does_not_hold_the_others_back(folder: Path, frail: type[Frail]) -> None:
    frail.faults += [None, *[TimeoutError("slow")] * folders.ATTEMPTS]
    with pytest.raises(UploadError) as caught:
        upload(folder, "frail://x")
    assert caught.value.message == "frail://x/at1/logs/a b.log: slow"
    assert "not sent again" in caught.value.remedy
    assert _stored(frail).keys() == CONTENT.keys() - {"logs/a b.log"}
    frail.puts.clear()
    upload(folder, "frail://x")
    assert frail.puts == ["/x/at1/logs/a b.log"]
    assert _stored(frail) == CONTENT


def test_a_store_that_has_gone_is_left_alone_soon(folder: Path, frail: type[Frail]) -> None:
    frail.faults += [TimeoutError("gone")] * 99
    with pytest.raises(UploadError, match="2 more files were not tried"):
        upload(folder, "frail://x")
    assert len(frail.puts) == 2 * folders.ATTEMPTS


def test_a_refusal_is_not_asked_for_twice(folder: Path, frail: type[Frail]) -> None:
    frail.faults += [PermissionError("Access Denied")] * 99
    with pytest.raises(UploadError, match="Access Denied"):
        upload(folder, "frail://x")
    assert len(frail.puts) == 2


def test_a_login_that_may_only_write_is_enough(folder: Path, frail: type[Frail]) -> None:
    frail.blind = True
    upload(folder, "frail://x")
    assert _stored(frail) == CONTENT


def test_a_tag_that_is_no_checksum_is_no_reason_to_fail_and_none_to_skip(folder: Path, frail: type[Frail]) -> None:
    frail.tags = True
    upload(folder, "frail://x")
    assert len(frail.puts) == len(CONTENT)
    upload(folder, "frail://x")
    assert len(frail.puts) == 2 * len(CONTENT)
    assert _stored(frail) == CONTENT


def test_a_file_that_grows_meanwhile_arrives_as_it_is_at_the_end(
    folder: Path, frail: type[Frail], monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Frail.put_file

    def put_and_grow(self: Frail, lpath: str, rpath: str, **options: Any) -> None:
        if len(Frail.puts) < 2 and lpath.endswith("a b.log"):
            Path(lpath).write_bytes(Path(lpath).read_bytes() + b"more\n")
        put(self, lpath, rpath, **options)

    monkeypatch.setattr(Frail, "put_file", put_and_grow)
    upload(folder, "frail://x")
    assert _stored(frail)["logs/a b.log"] == CONTENT["logs/a b.log"] + b"more\n"


# ---- addresses ----


def test_a_login_is_never_shown(folder: Path, frail: type[Frail]) -> None:
    url = "frail://somebody:pa%73s@host/x"
    assert upload(folder, url) == "frail://***@host/x/at1/"
    (folder / "empty").write_bytes(b"new")
    frail.faults += [OSError(f"no answer from {url} for somebody with pass")] * folders.ATTEMPTS
    with pytest.raises(UploadError) as caught:
        upload(folder, url)
    assert (
        caught.value.message == "frail://***@host/x/at1/empty: no answer from frail://***@host/x for somebody with ***"
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/folder@2", "s3://bucket/folder@2"),
        ("ftp://me:pw@host:21/x", "ftp://***@host:21/x"),
        ("sftp://me@host/x", "sftp://***@host/x"),
        ("s3://bucket/x?X-Amz-Signature=abc", "s3://bucket/x?X-Amz-Signature=***"),
        ("abfs://container@account.example/x", "abfs://container@account.example/x"),
        ("file:///tmp/what?", "file:///tmp/what?"),
        ("/tmp/a#b", "/tmp/a#b"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert mask_url(url) == shown


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s4://bucket", "did you mean 's3'?"),
        ("https://me:pw@example.com/x", "https://***@example.com/x/at1: a web server takes no folders"),
        ("zip://a::s3://b", "several addresses in one"),
        ("s3://me:pw@bucket/x", "s3://***@bucket/x/at1: takes no login in its address"),
        ("gs://me:pw@bucket/x", "set GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
def test_a_wrong_address_is_a_wrong_request(folder: Path, url: str, says: str) -> None:
    with pytest.raises(OptionError) as caught:
        upload(folder, url)
    assert says in str(caught.value)
    assert "pw" not in str(caught.value)


def test_a_missing_package_says_what_installs_it(folder: Path) -> None:
    with pytest.raises(NotInstalledError, match="adlfs, which abfs:// needs, is not installed") as caught:
        upload(folder, "abfs://container/x")
    assert caught.value.remedy == "pip install adlfs"


@pytest.mark.parametrize(("absent", "scheme"), [("s3fs", "s3"), ("gcsfs", "gs"), ("fsspec", "file")])
def test_the_extra_is_named(absent: str, scheme: str) -> None:
    code = (
        f"import sys; sys.modules[{absent!r}] = None\n"
        f"from benchwright.exchange.uploads import stores\nstores.check('{scheme}://bucket/x')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"{absent}, which" in ended.stderr
    assert "pip install 'benchwright[data]'" in ended.stderr


def test_a_store_that_cannot_be_opened_is_an_upload_error(folder: Path) -> None:
    with pytest.raises(UploadError, match="cannot be opened") as caught:
        upload(folder, "ftp://me:geheim@127.0.0.1:1/x")
    assert "geheim" not in str(caught.value)
