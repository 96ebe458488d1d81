"""Folders to S3 and to Google Cloud Storage: the real clients against real servers on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import emulators
from benchwright.errors import UploadError
from benchwright.exchange.uploads import folders
from benchwright.exchange.uploads.folders import FileSent, upload

CONTENT = {"summary.json": b"{}", "logs/a b#1?.log": b"line\n" * 1000, "ü/empty": b""}
BUCKET = "benchmarks"


@pytest.fixture(scope="module", params=["s3", "gs"])
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A bucket on a server; the client's file system."""
    scheme: str = request.param
    with (
        (emulators.s3 if scheme == "s3" else emulators.gcs)(BUCKET) as environment,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in environment.items():
            patch.setenv(name, value)
        yield fsspec.filesystem(scheme)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "at1"
    for name, content in CONTENT.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
    return made


@pytest.fixture
def url(store: Any, tmp_path: Path) -> str:
    """A folder of this test's own."""
    return f"{store.protocol[0]}://{BUCKET}/{tmp_path.name}"


def _stored(store: Any, url: str) -> dict[str, bytes]:
    root = url.partition("://")[2]
    store.invalidate_cache()
    return {path.removeprefix(f"{root}/"): store.cat_file(path) for path in store.find(root)}


def test_a_folder_arrives_whole(store: Any, folder: Path, url: str) -> None:
    assert upload(folder, url) == f"{url}/at1/"
    assert _stored(store, url) == {f"at1/{name}": content for name, content in CONTENT.items()}


def test_what_is_there_and_equal_is_not_sent_again(store: Any, folder: Path, url: str) -> None:
    upload(folder, url)
    (folder / "summary.json").write_bytes(b"[]")  # as long, and different
    store.pipe_file(f"{url}/at1/dear", b"of somebody else")
    seen: list[FileSent] = []
    upload(folder, url, listener=seen.append)
    assert [one.name for one in seen if one.sent] == ["summary.json"]
    assert _stored(store, url)["at1/summary.json"] == b"[]"
    assert _stored(store, url)["at1/dear"] == b"of somebody else"


def test_a_bucket_that_is_not_there_is_not_made(store: Any, folder: Path) -> None:
    with pytest.raises(UploadError, match=r"summary\.json: no such bucket or folder"):
        upload(folder, f"{store.protocol[0]}://another-bucket/x")
    assert not store.exists("another-bucket")


@pytest.mark.parametrize("store", ["s3"], indirect=True)
def test_a_large_file_goes_in_parts_and_is_known_again(store: Any, tmp_path: Path, url: str) -> None:
    (tmp_path / "big").mkdir()
    with (tmp_path / "big" / "model.bin").open("wb") as file:
        file.write(b"begin")
        file.truncate(2 * folders._PART + 1)  # two parts and a byte
    seen: list[FileSent] = []
    upload(tmp_path / "big", url, listener=seen.append)
    assert store.info(f"{url}/big/model.bin")["ETag"].strip('"').endswith("-3")
    upload(tmp_path / "big", url, listener=seen.append)
    assert [one.sent for one in seen] == [True, False]


def test_a_server_that_has_gone_is_an_upload_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with emulators.s3(BUCKET) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(folders, "PAUSE", 0.0)
    monkeypatch.setattr(folders, "ATTEMPTS", 1)
    with pytest.raises(UploadError, match="Could not connect to the endpoint URL") as caught:
        upload(folder, f"s3://{BUCKET}/x")
    assert "secret-of-somebody" not in str(caught.value)
    emulators.forget("s3fs")
