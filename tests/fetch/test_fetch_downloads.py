"""Addresses, files of this machine, packed data, and the lock that processes share."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from benchwright.errors import FetchError
from benchwright.fetch.digests import digest_of
from benchwright.fetch.downloads import fetch, fetch_data
from benchwright.system.addresses import local_path, name_of, scheme_of, without_login
from benchwright.system.locks import hold_lock
from benchwright.system.masking import mask_message, mask_url


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    with tarfile.open(folder / "ds.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("ds/a.txt")
        info.size = 1
        tar.addfile(info, io.BytesIO(b"a"))
    return folder


@pytest.mark.parametrize("url", ["gcs://b/x", "ftps://b/x", "data://b/x", "memory://x"])
def test_an_unknown_scheme_is_named_with_the_known_ones(tmp_path: Path, url: str) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(url, tmp_path / "x")
    assert f"unknown scheme {url.partition(':')[0]!r}" in str(caught.value)
    assert "gs://" in str(caught.value) and "https://" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_an_address(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="not an address"):
        fetch("models/x.onnx", tmp_path / "x")


def test_a_file_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "a b#1?.bin").write_bytes(b"x" * 10)
    heard: list[tuple[int, int | None]] = []
    for url in (f"file://{tmp_path}/a b#1?.bin", f"FILE://localhost{tmp_path}/a%20b%231%3F.bin"):
        target = fetch(url, tmp_path / "out" / "x", progress=lambda *n: heard.append(n))
        assert target.read_bytes() == b"x" * 10
        target.unlink()
    assert heard == [(10, 10)] * 2 and list((tmp_path / "out").iterdir()) == []


def test_a_folder_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "set" / "deep").mkdir(parents=True)
    (tmp_path / "set" / "deep" / "x").write_bytes(b"x")
    fetch(f"file://{tmp_path}/set", tmp_path / "out" / "set")
    assert tree(tmp_path / "out") == {"set/deep/x": b"x"}
    with pytest.raises(FetchError, match="into itself"):
        fetch(f"file://{tmp_path}/set", tmp_path / "set" / "copy")
    with pytest.raises(FetchError, match="digest"):
        fetch(f"file://{tmp_path}/set", tmp_path / "out" / "other", md5="0" * 32)
    assert tree(tmp_path) == {"set/deep/x": b"x", "out/set/deep/x": b"x"}


def test_what_is_no_file_of_this_machine(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for url in (f"file://{tmp_path}/none", f"file://{tmp_path}/pipe", "file:///dev/zero", "file://host/x", "file://x"):
        with pytest.raises(FetchError):
            fetch(url, tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_copy_with_the_wrong_digest_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    with pytest.raises(FetchError, match="was asked for"):
        fetch(f"file://{tmp_path}/x", tmp_path / "out" / "x", md5="0" * 32)
    assert list((tmp_path / "out").iterdir()) == []


def test_the_target_appears_only_after_what_was_to_be_done_before(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    target = tmp_path / "out" / "x"
    seen: list[tuple[bytes, bool]] = []
    fetch(f"file://{tmp_path}/x", target, before_done=lambda file: seen.append((file.read_bytes(), target.exists())))
    assert seen == [(b"x", False)] and target.exists()

    def fail(file: Path) -> None:
        raise FetchError("no")

    with pytest.raises(FetchError, match="no"):
        fetch(f"file://{tmp_path}/x", tmp_path / "out" / "y", before_done=fail)
    assert [path.name for path in target.parent.iterdir()] == ["x"]


def test_packed_data_is_unpacked_beside_and_kept(source: Path, tmp_path: Path) -> None:
    packed = (source / "ds.tar.gz").read_bytes()
    url = f"file://{source}/ds.tar.gz"
    for target in ("ds.tar.gz", "sub/x.gz", "named/otherwise"):
        fetch_data(url, tmp_path / "data" / target)
    (source / "ds.tar.gz").write_bytes(b"changed")
    (tmp_path / "data" / "ds" / "a.txt").write_bytes(b"edited")
    fetch_data(url, tmp_path / "data" / "ds.tar.gz")  # is there, so nothing is done
    assert tree(tmp_path / "data") == {
        "ds.tar.gz": packed,
        "ds/a.txt": b"edited",
        "sub/x.gz": packed,
        "sub/ds/a.txt": b"a",
        "named/otherwise": packed,
        "named/ds/a.txt": b"a",
    }


def test_data_whose_unpacking_fails_is_not_there(source: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "ds").mkdir(parents=True)
    (tmp_path / "data" / "ds" / "a.txt").write_bytes(b"edited")
    with pytest.raises(FetchError, match="already there"):
        fetch_data(f"file://{source}/ds.tar.gz", tmp_path / "data" / "ds.tar.gz")
    assert tree(tmp_path / "data") == {"ds/a.txt": b"edited"}


def test_a_damaged_download_is_called_by_its_address(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 1000)[:-9])
    with pytest.raises(FetchError) as caught:
        fetch_data(f"file://{tmp_path}/cut.gz", tmp_path / "data" / "x.gz")
    assert caught.value.message.startswith(f"file://{tmp_path}/cut.gz: damaged")
    assert ".partial" not in str(caught.value) and tree(tmp_path / "data") == {}


def test_one_packed_file_loses_its_ending(tmp_path: Path) -> None:
    (tmp_path / "digits.idx.gz").write_bytes(gzip.compress(b"digits"))
    fetch_data(f"file://{tmp_path}/digits.idx.gz", tmp_path / "data" / "d.idx.gz")
    assert tree(tmp_path / "data").keys() == {"d.idx.gz", "d.idx"}


def test_formats_that_are_zip_files_inside_are_left_alone(tmp_path: Path) -> None:
    for name in ("arrays.npz", "model.pt"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("x", "x")
        fetch_data(f"file://{tmp_path}/{name}", tmp_path / "data" / name)
    (tmp_path / "not.gz").write_bytes(b"named so, and is not")
    fetch_data(f"file://{tmp_path}/not.gz", tmp_path / "data" / "not.gz")
    assert tree(tmp_path / "data").keys() == {"arrays.npz", "model.pt", "not.gz"}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://x.org/a/b.tar.gz?token=1", "b.tar.gz"),
        ("https://x.org/a%20b", "a b"),
        ("gs://bucket/dir/", "dir"),
        ("gs://bucket/dir/*", "dir"),
        ("gs://bucket", "bucket"),
        ("s3://bucket/what?", "what?"),
        ("file:///a/b", "b"),
    ],
)
def test_what_to_call_it(url: str, name: str) -> None:
    assert name_of(url) == name


@pytest.mark.parametrize(
    "url", ["https://x.org", "https://x.org/?q=/x", "gs://", "https://x.org/a/..", "https://x/%2e%2e%2f"]
)
def test_what_has_no_name(url: str) -> None:
    with pytest.raises(FetchError, match="no name"):
        name_of(url)


def test_addresses_are_shown_without_their_secrets() -> None:
    assert mask_url("https://ada:pw@x.org/a?sig=1#f") == "https://***@x.org/a?sig=***#***"
    assert without_login("https://ada:p@w@x.org/a?sig=1#f") == "https://x.org/a"
    assert mask_url("https://x.org/at@sign") == "https://x.org/at@sign"
    assert mask_url("file:///a#b?c") == without_login("file:///a#b?c") == "file:///a#b?c"
    url = "https://ada:pw@x.org/a?sig=1"
    assert mask_message(f"cannot read {url}: see https://bob:pw@y.org/", url) == (
        "cannot read https://***@x.org/a?sig=***: see https://***@y.org/"
    )
    assert scheme_of("HTTPS://x") == "https" and scheme_of("C:\\x") == scheme_of("/a://b") == ""
    assert local_path("file:///a%20b") == Path("/a b")


def test_digests(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    assert digest_of(tmp_path / "x").value == hashlib.sha256(b"x").hexdigest()
    assert str(digest_of(tmp_path / "x", "md5")) == f"md5 {hashlib.md5(b'x').hexdigest()}"


def test_one_at_a_time_among_threads(tmp_path: Path) -> None:
    inside, most, guard = [0], [0], threading.Lock()

    def work() -> None:
        for _ in range(30):
            with hold_lock(tmp_path / "lock"):
                with guard:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                with guard:
                    inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] and list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    script = "import sys, os\nfrom pathlib import Path\nfrom benchwright.system.locks import hold_lock\n"
    script += "with hold_lock(Path(sys.argv[1])):\n    os._exit(0)"
    subprocess.run([sys.executable, "-c", script, tmp_path / "lock"], check=True)
    assert (tmp_path / "lock").exists()
    with hold_lock(tmp_path / "lock"):
        pass
    assert not (tmp_path / "lock").exists()


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    script = "import sys\nfrom benchwright.fetch import archives, downloads; from benchwright.vcs import checkouts\n"
    script += "assert not {'fsspec', 'urllib.request', 'numpy'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
