"""FAI-PEP's model cache: its layouts are read, its races and rewriting are gone."""

from __future__ import annotations

import errno
import hashlib
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness import model_cache
from benchwright.errors import FetchError, OptionError


def md5_of(body: bytes) -> str:
    return hashlib.md5(body).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "init_net.pb"
    path.write_bytes(b"hello\n")
    return path


def obtain(tmp_path: Path, location: object, md5: str, **changed: str) -> Path:
    asked = {"format": "caffe2", "model": "tiny", "filename": "init_net.pb"} | changed
    return model_cache.obtain(tmp_path / "cache", location=str(location), md5=md5, **asked)


def test_the_layout(tmp_path: Path, source: Path) -> None:
    path = obtain(tmp_path, source, "b1946ac92492d2347c6235b4d2611184")
    folder = tmp_path / "cache" / "caffe2" / "tiny"
    assert names(folder) == ["init_net.pb", "init_net_b1946ac92492d2347c6235b4d2611184.pb"]
    assert (folder / "init_net.pb").samefile(path) and path.read_bytes() == b"hello\n"
    source.unlink()  # what is in the cache needs no source
    assert obtain(tmp_path, source, "B1946AC92492D2347C6235B4D2611184") == path


def test_both_names_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "caffe2" / "tiny"
    folder.mkdir(parents=True)
    (folder / f"init_net_{md5_of(b'early')}.pb").write_bytes(b"early")
    (folder / "init_net.pb").write_bytes(b"late")
    for body in (b"early", b"late"):
        assert obtain(tmp_path, "/nowhere/init_net.pb", md5_of(body)).read_bytes() == body


def test_a_full_cache_is_told_with_its_own_remedy(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(FetchError, match="no room for") as caught:
        obtain(tmp_path, source, md5_of(b"hello\n"))
    assert f"remove from {tmp_path / 'cache'}" in str(caught.value) and "cache prune" not in str(caught.value)


def test_versions_do_not_take_each_others_place(tmp_path: Path, source: Path) -> None:
    first = obtain(tmp_path, source, md5_of(b"hello\n"))
    source.write_bytes(b"world\n")
    second = obtain(tmp_path, source, md5_of(b"world\n"))
    assert (first.read_bytes(), second.read_bytes()) == (b"hello\n", b"world\n")
    assert (first.parent / "init_net.pb").read_bytes() == b"world\n"


def test_wrong_bytes_in_the_cache_are_replaced(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "cache" / "caffe2" / "tiny"
    folder.mkdir(parents=True)
    for name in ("init_net.pb", "init_net_b1946ac92492d2347c6235b4d2611184.pb"):
        (folder / name).write_bytes(b"wrong")
    assert obtain(tmp_path, source, md5_of(b"hello\n")).read_bytes() == b"hello\n"
    assert (folder / "init_net.pb").read_bytes() == b"hello\n"


def test_a_source_with_another_md5_names_both_and_changes_nothing(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "cache" / "caffe2" / "tiny"
    folder.mkdir(parents=True)
    (folder / "init_net.pb").write_bytes(b"stale")
    with pytest.raises(FetchError) as caught:
        obtain(tmp_path, source, "0" * 32)
    assert md5_of(b"hello\n") in caught.value.message and "0" * 32 in caught.value.message
    assert names(folder) == ["init_net.pb"] and (folder / "init_net.pb").read_bytes() == b"stale"


def test_an_answer_that_is_not_the_file_is_no_model(site: Any, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="404"):
        obtain(tmp_path, site.url("/none.pb"), md5_of(b"x"))
    assert names(tmp_path / "cache" / "caffe2" / "tiny") == []


def test_two_at_once_share_one_download(site: Any, tmp_path: Path) -> None:
    begun, go_on, paths = threading.Event(), threading.Event(), []
    site.files["/net.pb"] = b"net"

    def slowly(answer: Any) -> None:
        begun.set()
        go_on.wait(60)
        answer.serve()

    def want() -> None:
        paths.append(obtain(tmp_path, site.url("/net.pb"), md5_of(b"net")))

    site.script = [slowly] * 2
    threads = [threading.Thread(target=want) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert len(paths) == 2 and len(set(paths)) == 1 and len(site.requests) == 1


def test_without_a_md5(site: Any, tmp_path: Path, source: Path) -> None:
    assert obtain(tmp_path, source, "") == source and not (tmp_path / "cache").exists()
    for body in (b"one", b"two"):  # nothing says which version is meant, so the newest
        site.files["/net.pb"] = body
        assert obtain(tmp_path, site.url("/net.pb"), "").read_bytes() == body
    with pytest.raises(FetchError, match="not there"):
        obtain(tmp_path, source.with_name("none"), "")


def test_folders_checked_and_unchecked(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a").write_bytes(b"1")
    md5 = md5_of(md5_of(b"1").encode())
    assert (obtain(tmp_path, folder, md5, filename="checked") / "a").read_bytes() == b"1"
    with pytest.raises(FetchError, match=md5):
        obtain(tmp_path, folder, "1" * 32, filename="checked")
    assert (obtain(tmp_path, folder, "directory", filename="unchecked") / "a").read_bytes() == b"1"
    (folder / "a").write_bytes(b"2")
    assert (obtain(tmp_path, folder, "directory", filename="unchecked") / "a").read_bytes() == b"1"


@pytest.mark.parametrize(
    "changed", [{"filename": "../../x"}, {"model": "/etc"}, {"format": ".."}, {"filename": ""}, {"model": "a\\..\\b"}]
)
def test_a_spec_cannot_lead_out_of_the_cache(tmp_path: Path, source: Path, changed: dict[str, str]) -> None:
    with pytest.raises(FetchError, match="not a name inside a model cache"):
        obtain(tmp_path, source, md5_of(b"hello\n"), **changed)
    assert not (tmp_path / "cache").exists()


def test_what_is_no_md5(tmp_path: Path, source: Path) -> None:
    with pytest.raises(OptionError, match="is not a digest"):
        obtain(tmp_path, source, "12345")
