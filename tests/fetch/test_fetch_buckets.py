"""Objects and folders from buckets, on real servers that speak the clouds' protocols."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import emulators
from benchwright.errors import FetchError
from benchwright.fetch import buckets, clouds
from benchwright.fetch.downloads import fetch, why_unreachable

BODY = random.Random(3).randbytes(70_000)


@pytest.fixture(scope="module", params=["s3", "gs"])
def store(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, str]]]:
    """(scheme, environment) of a server with a bucket called `models`."""
    with (emulators.s3 if request.param == "s3" else emulators.gcs)("models") as environment:
        yield request.param, environment


@pytest.fixture
def put(store: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """`put("a/b", b"...")` keeps an object and gives its address."""
    scheme, environment = store
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # nobody asks the network who we are
    monkeypatch.setattr(buckets, "PAUSE", 0.0)
    files = fsspec.filesystem(scheme, skip_instance_cache=True)

    def keep(key: str, content: bytes = BODY) -> str:
        files.pipe_file(f"models/{key}", content)
        return f"{scheme}://models/{key}"

    return keep


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_an_object_arrives(put: Callable[..., str], tmp_path: Path) -> None:
    heard: list[tuple[int, int | None]] = []
    target = fetch(put("one/model.bin"), tmp_path / "model.bin", progress=lambda *n: heard.append(n))
    assert tree(tmp_path) == {"model.bin": BODY} and target.name == "model.bin"
    assert heard == [(len(BODY), len(BODY))]


def test_an_address_is_looked_at_without_fetching(put: Callable[..., str]) -> None:
    url = put("one/model.bin")
    assert why_unreachable(url) == "" and why_unreachable(url.rpartition("/")[0]) == "", "a folder is something as well"
    assert why_unreachable(f"{url}.gone") == f"{url}.gone is not there"


def test_an_empty_object(put: Callable[..., str], tmp_path: Path) -> None:
    assert fetch(put("empty", b""), tmp_path / "empty").read_bytes() == b""


@pytest.mark.parametrize("ending", ["", "/", "/*"])
def test_a_folder_arrives_whole(
    put: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(buckets, "BATCH", 2)
    content = {f"part {n}#": b"x" * n for n in range(5)} | {"deep/er/x": b"x"}
    for name, body in content.items():
        put(f"set/{name}", body)
    put("set-of-another/y", b"not asked for")
    address = put("set/deep/y", b"y").removesuffix("/deep/y")
    fetch(address + ending, tmp_path / "set")
    assert tree(tmp_path) == {f"set/{name}": body for name, body in (content | {"deep/y": b"y"}).items()}


def test_a_folder_goes_on_after_a_cut(put: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        address = put(f"cut/{name}", name.encode() * 1000).removesuffix(f"/{name}")
    asked: list[str] = []
    connect = clouds.connect

    def cut_short(url: str, *, timeout: float) -> tuple[Any, str]:
        files, path = connect(url, timeout=timeout)
        get = files.get

        def cut(there: list[str], here: list[str]) -> None:
            asked.extend(name[-1] for name in there)
            if len(asked) == 2:
                Path(here[0]).write_bytes(bytes(1000))  # some libraries begin with a file of full size
                raise KeyboardInterrupt
            get(there, here)

        files.get = cut
        return files, path

    monkeypatch.setattr(buckets, "BATCH", 1)
    monkeypatch.setattr(clouds, "connect", cut_short)
    with pytest.raises(KeyboardInterrupt):
        fetch(address, tmp_path / "cut")
    assert not (tmp_path / "cut").exists()
    fetch(address, tmp_path / "cut")
    assert asked == ["a", "b", "b", "c"]
    assert tree(tmp_path) == {f"cut/{name}": name.encode() * 1000 for name in "abc"}


def test_an_object_goes_on_after_a_cut_unless_it_changed(
    put: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(have: int, total: int | None) -> None:
        if have >= 40_000:
            raise KeyboardInterrupt

    monkeypatch.setattr(buckets, "PIECE", 10_000)
    address, heard = put("cut.bin"), list[int]()
    with pytest.raises(KeyboardInterrupt):
        fetch(address, tmp_path / "cut.bin", progress=stop)
    fetch(address, tmp_path / "cut.bin", progress=lambda have, total: heard.append(have))
    assert heard == [50_000, 60_000, 70_000] and tree(tmp_path) == {"cut.bin": BODY}

    (tmp_path / "cut.bin").unlink()
    with pytest.raises(KeyboardInterrupt):
        fetch(address, tmp_path / "cut.bin", progress=stop)
    put("cut.bin", BODY[::-1])
    fetch(address, tmp_path / "cut.bin")
    assert tree(tmp_path) == {"cut.bin": BODY[::-1]}


def test_an_object_that_changes_while_it_is_read_is_read_again(
    put: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "PIECE", 40_000)
    address, heard = put("moving.bin"), list[int]()

    def change_once(have: int, total: int | None) -> None:
        heard.append(have)
        if len(heard) == 1:
            put("moving.bin", BODY[::-1])

    fetch(address, tmp_path / "moving.bin", progress=change_once)
    assert tree(tmp_path) == {"moving.bin": BODY[::-1]} and heard[-2:] == [40_000, 70_000]


@pytest.mark.parametrize("key", ["none", "none/", "none/*"])
def test_what_is_not_there(put: Callable[..., str], tmp_path: Path, key: str) -> None:
    address = put("is-there").replace("is-there", key)
    with pytest.raises(FetchError, match="is not there"):
        fetch(address, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_is_not_there(put: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(FetchError):
        fetch(put("x").replace("models", "no-such-bucket"), tmp_path / "x", retries=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("store", ["s3"], indirect=True)  # the other server falls over such a name
def test_names_that_would_climb_out_are_refused(put: Callable[..., str], tmp_path: Path) -> None:
    put("bad/fine", b"1")
    put("bad/../../evil", b"2")
    with pytest.raises(FetchError, match=r"\.\./\.\./evil"):
        fetch("s3://models/bad", tmp_path / "a" / "bad")
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("store", ["s3"], indirect=True)
def test_without_credentials_the_error_says_what_to_set(
    put: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = put("x")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(FetchError) as caught:
        fetch(address, tmp_path / "x")
    assert "AWS_ACCESS_KEY_ID" in caught.value.remedy and "FSSPEC_S3_ANON" in caught.value.remedy


@pytest.fixture
def google(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server in the place of Google's that does what its script says; nobody is logged in."""
    for name, value in {"STORAGE_EMULATOR_HOST": site.address, "NO_GCE_CHECK": "true", "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setattr(buckets, "PAUSE", 0.0)
    return site


def _times_asked(google: Any) -> int:
    """How often for the object; whether it is a folder is asked beside."""
    return [request["path"] for request in google.requests].count("/storage/v1/b/bucket/o/x")


def test_only_our_own_retries_count(google: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    google.script = [lambda answer: answer.refuse(503)] * 100
    with pytest.raises(FetchError, match="503"):
        fetch("gs://bucket/x", tmp_path / "x", retries=2)
    assert _times_asked(google) == 3
    assert caplog.records == []


@pytest.mark.parametrize("code", [401, 403])
def test_who_may_not_read_a_bucket_is_told_once_and_what_to_set(google: Any, tmp_path: Path, code: int) -> None:
    google.script = [lambda answer: answer.refuse(code)] * 100
    with pytest.raises(FetchError) as caught:
        fetch("gs://bucket/x", tmp_path / "x")
    assert _times_asked(google) == 1
    assert caught.value.message.startswith("gs://bucket/x: ") and "\n" not in caught.value.message
    assert "GOOGLE_APPLICATION_CREDENTIALS" in caught.value.remedy


@pytest.mark.parametrize("asked", ["", "true"], ids=["usually", "asked for"])
def test_google_is_not_asked_about_a_bucket_unless_that_was_asked_for(asked: str) -> None:
    script = (
        "import os, sys\n"
        "from benchwright.fetch import clouds\n"
        "clouds.connect('gs://bucket/x', timeout=1.0)\n"
        "print('gcsfs.extended_gcsfs' in sys.modules, os.environ.get('GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT', ''))\n"
    )
    variables = {"FSSPEC_GS_TOKEN": "anon", "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": asked}
    environment = {**os.environ, **{name: value for name, value in variables.items() if value}}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == (f"True {asked}\n" if asked else "False \n")


@pytest.mark.parametrize("url", ["gs://nobucket/y", "s3://nobucket/y"])
def test_a_store_that_is_out_of_reach_ends_in_one_error_and_no_traceback(url: str, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:1"
    script = (
        "import logging; logging.basicConfig(level=logging.INFO)\n"
        "from pathlib import Path\n"
        "from benchwright.errors import FetchError\n"
        "from benchwright.fetch.downloads import fetch\n"
        f"try: fetch({url!r}, Path('y'))\n"
        "except FetchError as error: print(error)\n"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NO_GCE_CHECK": "true", "AWS_REGION": "x"}
    environment |= {"STORAGE_EMULATOR_HOST": nowhere, "AWS_ENDPOINT_URL": nowhere}
    environment |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    what, remedy = done.stdout.splitlines()
    assert what.startswith(f"{url}: ") and "run it again" in remedy
    assert done.stderr == ""


def test_without_the_package_the_error_says_what_installs_it(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['fsspec'] = None\n"
        "from pathlib import Path\n"
        "from benchwright.fetch.downloads import fetch\n"
        "fetch('gs://bucket/x', Path('x'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "NotInstalledError" in done.stderr and "pip install 'benchwright[data]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["gs://zip::file:///etc/passwd", "s3::http://host/x"])
def test_chained_addresses_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(FetchError):
        fetch(url, tmp_path / "x")
