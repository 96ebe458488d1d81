"""The cache of models: by content, verified, shared, and never half."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import FetchError, OptionError
from benchwright.fetch import cache as caches
from benchwright.fetch.cache import Cache, default_root
from benchwright.fetch.digests import content_of

BODY = random.Random(5).randbytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()
MD5 = hashlib.md5(BODY).hexdigest()
_CHILD = """
import sys
from pathlib import Path
from benchwright.errors import FetchError
from benchwright.fetch.cache import Cache
for location in sys.argv[2:]:
    try:
        print(Cache(Path(sys.argv[1])).obtain(location, md5=%r).path)
    except FetchError as error:
        print(error)
"""


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def url(site: Any) -> str:
    site.files["/models/net.onnx"] = BODY
    return str(site.url("/models/net.onnx"))


def files(cache: Cache) -> list[str]:
    return sorted(path.relative_to(cache.root).as_posix() for path in cache.root.rglob("*") if path.is_file())


def test_what_is_fetched_is_kept_by_content_and_not_fetched_again(site: Any, cache: Cache, url: str) -> None:
    heard: list[tuple[int, int | None]] = []
    held = cache.obtain(url, sha256=SHA256.upper(), progress=lambda *n: heard.append(n))
    assert held.path == cache.root / "sha256" / SHA256[:2] / SHA256 / "net.onnx"
    assert held.path.read_bytes() == BODY and not held.path.stat().st_mode & 0o222
    assert (held.sha256, held.md5, held.size, held.name) == (SHA256, MD5, len(BODY), "net.onnx")
    assert heard[-1] == (len(BODY), len(BODY))
    assert cache.obtain(url, sha256=SHA256) == cache.obtain(url, md5=MD5) == cache.obtain(url, sha256=SHA256, md5=MD5)
    assert len(site.requests) == 1
    note, index = f"sha256/{SHA256[:2]}/{SHA256}.json", f"md5/{MD5[:2]}/{MD5}"
    assert files(cache) == [index, note, f"sha256/{SHA256[:2]}/{SHA256}/net.onnx"]  # and no lock, nothing half


def test_names_of_one_content_share_its_bytes(site: Any, cache: Cache, url: str) -> None:
    first = cache.obtain(url, md5=MD5)
    second = cache.obtain("https://elsewhere.invalid/x", name="renamed.ort", md5=MD5)  # known, so not asked for
    assert second.path.name == "renamed.ort" and second.path.samefile(first.path)
    [entry] = cache.entries()
    assert set(entry.names) == {"net.onnx", "renamed.ort"} and len(site.requests) == 1


def test_names_are_copied_where_they_cannot_be_linked(cache: Cache, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    first, second = cache.obtain(url, md5=MD5), cache.obtain(url, name="other", md5=MD5)
    assert second.path.read_bytes() == BODY and not second.path.samefile(first.path)
    assert cache.obtain(url, name="other", md5=MD5) == second


def test_another_digest_names_both_and_leaves_nothing(cache: Cache, url: str) -> None:
    with pytest.raises(FetchError) as caught:
        cache.obtain(url, md5="0" * 32)
    assert MD5 in str(caught.value) and "0" * 32 in str(caught.value)
    assert files(cache) == [] and list((cache.root / "incoming").iterdir()) == []


def test_digests_that_contradict_each_other(cache: Cache, url: str) -> None:
    cache.obtain(url, sha256=SHA256)
    with pytest.raises(FetchError, match=MD5):
        cache.obtain(url, sha256=SHA256, md5="0" * 32)
    with pytest.raises(OptionError, match="is not a digest"):
        cache.obtain(url, sha256="abc")


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "/etc/passwd"])
def test_a_name_cannot_lead_out(cache: Cache, url: str, name: str) -> None:
    with pytest.raises(FetchError, match="cannot be the name of a file"):
        cache.obtain(url, name=name, md5=MD5)
    assert not cache.root.exists()


def test_a_damaged_file_is_fetched_again_and_a_touched_one_is_not(site: Any, cache: Cache, url: str) -> None:
    path = cache.obtain(url, md5=MD5).path
    os.utime(path, (1, 1))
    assert cache.obtain(url, md5=MD5).path.read_bytes() == BODY and len(site.requests) == 1
    path.chmod(0o644)
    path.write_bytes(b"rubbish")
    assert cache.obtain(url, md5=MD5).path.read_bytes() == BODY and len(site.requests) == 2
    path.unlink()
    assert cache.obtain(url, md5=MD5).path.read_bytes() == BODY and len(site.requests) == 3
    cache.shelf.lead("md5", MD5, "f" * 64)  # an index that leads astray
    assert cache.obtain(url, md5=MD5).sha256 == SHA256


def test_an_address_without_a_digest_is_remembered_and_a_path_is_read(site: Any, cache: Cache, url: str) -> None:
    assert cache.obtain(url) == cache.obtain(url) and len(site.requests) == 1
    file = cache.root.parent / "a b.bin"
    for body in (b"one", b"two"):
        file.write_bytes(body)
        held = cache.obtain(str(file))
        assert held == cache.obtain(f"file://{file}") and held.path.read_bytes() == body
    assert stat.S_IMODE(file.stat().st_mode) & 0o200  # the user's own file is not made read-only
    with pytest.raises(FetchError, match="neither an address nor an absolute path"):
        cache.obtain("models/x.onnx")
    with pytest.raises(FetchError, match="not there"):
        cache.obtain(str(file.with_name("none")), md5="0" * 32)


def test_a_broken_off_download_is_continued(site: Any, cache: Cache, url: str) -> None:
    site.script = [lambda answer: answer.serve(cut=200_000)] + [lambda answer: answer.refuse(503)] * 3
    with pytest.raises(FetchError, match="goes on where it stopped"):
        cache.obtain(url, md5=MD5)
    assert cache.entries() == []
    assert cache.obtain(url, md5=MD5).path.read_bytes() == BODY
    assert site.requests[-1]["range"] == "bytes=200000-"


def test_a_beginning_that_was_damaged_is_not_continued_twice(site: Any, cache: Cache, url: str) -> None:
    site.script = [lambda answer: answer.serve(cut=200_000)] + [lambda answer: answer.refuse(503)] * 3
    with pytest.raises(FetchError):
        cache.obtain(url, sha256=SHA256)
    [half] = cache.root.rglob(".content.partial")
    half.write_bytes(b"x" * 200_000)
    assert cache.obtain(url, sha256=SHA256).path.read_bytes() == BODY
    assert site.requests[-2]["range"] == "bytes=200000-" and "range" not in site.requests[-1]


def test_folders(cache: Cache, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    (folder / "variables").mkdir(parents=True)
    (folder / "model.pb").write_bytes(b"graph")
    (folder / "variables" / "data").write_bytes(b"weights")
    (folder / "link").symlink_to("model.pb")
    members = [hashlib.md5(body).hexdigest() for body in (b"graph", b"graph", b"weights")]
    md5 = hashlib.md5("".join(members).encode()).hexdigest()
    held = cache.obtain(str(folder), md5=md5)
    assert (held.path / "variables" / "data").read_bytes() == b"weights" and held.size == 17
    assert (held.path / "link").read_bytes() == b"graph" and not (held.path / "link").is_symlink()
    other = cache.obtain(str(folder), name="again", md5=md5)
    assert (other.path / "model.pb").samefile(held.path / "model.pb")
    (held.path / "model.pb").unlink()
    assert (cache.obtain(str(folder), md5=md5).path / "model.pb").read_bytes() == b"graph"
    (folder / "variables").rename(folder / "weights")  # the same bytes: sha256 tells the two apart
    assert cache.obtain(str(folder)).sha256 != held.sha256
    (folder / "model.pb").unlink()
    with pytest.raises(FetchError, match="saved/link: No such file"):
        cache.obtain(str(folder))
    assert list((cache.root / "incoming").iterdir()) == []


def test_a_folders_older_digest_follows_the_walk(tmp_path: Path) -> None:
    bodies = {"z": b"1", "a/b/c": b"2", "a/z": b"3", "a.d": b"4"}
    for name, body in bodies.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(body)
    order = ["a.d", "z", "a/z", "a/b/c"]  # a folder's own files first, then the folders in it
    joined = "".join(hashlib.md5(bodies[name]).hexdigest() for name in order)
    assert content_of(tmp_path).md5 == hashlib.md5(joined.encode()).hexdigest()


def test_processes_share_one_download(site: Any, cache: Cache, url: str) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(answer: Any) -> None:
        begun.set()
        go_on.wait(60)
        answer.serve()

    site.script = [slowly]
    command = [sys.executable, "-c", _CHILD % MD5, str(cache.root), url]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert begun.wait(60)
    go_on.set()
    printed = {child.communicate(timeout=60)[0].strip() for child in children}
    assert printed == {str(cache.root / "sha256" / SHA256[:2] / SHA256 / "net.onnx")}
    assert len(site.requests) == 1 and Path(printed.pop()).read_bytes() == BODY


def test_a_full_disk_leaves_nothing_half(
    url: str, tmp_path: Path, private_mounts: tuple[str, ...], cache: Cache
) -> None:
    (tmp_path / "net.onnx").write_bytes(BODY)
    (tmp_path / "small").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part").write_bytes(BODY)
    (tmp_path / "child.py").write_text(_CHILD % MD5)
    script = """mount -t tmpfs -o size=100k tmpfs small
        "$0" child.py small "$1" "$PWD/net.onnx" "$PWD/folder" && find small -type f"""
    ended = subprocess.run(
        [*private_mounts, "sh", "-c", script, sys.executable, url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = ended.stdout.splitlines()
    assert [line.split(" for ")[0] for line in lines if "room" in line] == ["no room"] * 3, ended
    assert "small/" not in ended.stdout.replace(str(tmp_path / "small" / "incoming"), "")


def test_a_cache_that_cannot_be_written_to_is_read(cache: Cache, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = cache.obtain(url, md5=MD5)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(caches, "hold_lock", refuse)
    assert cache.obtain(url, md5=MD5) == held


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCHWRIGHT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert default_root() == Path("/var/xdg/benchwright")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/someone")
    folder = "Library/Caches" if sys.platform == "darwin" else ".cache"
    assert default_root() == Path("/home/someone") / folder / "benchwright"
    (tmp_path / "benchwright.toml").write_text('cache = "models"')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert default_root() == tmp_path / "models"
    monkeypatch.setenv("BENCHWRIGHT_CACHE", "~/kept")
    assert default_root() == Path("/home/someone/kept")
