"""What is made ready before the first method: keys, data, repositories, TPUs."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero import flags, preparation, tpus
from benchwright.compat.perfzero.preparation import Download, parse_downloads
from benchwright.errors import FetchError, OptionError

OK = "--benchmark_methods=demo_bench.Demo.benchmark_ok"
TPU = {"name": "mine", "project": "p", "zone": "z", "size": "v3-8", "version": "nightly"}


# ---- data ----


@pytest.mark.parametrize(
    ("text", "url", "path"),
    [
        ("gs://b/dir/", "gs://b/dir", "dir"),
        ("gs://b/dir/*", "gs://b/dir", "dir"),
        ("gs://b/dir/*;there", "gs://b/dir", "there"),
        ("https://h/a/data.bin", "https://h/a/data.bin", "data.bin"),
        ("https://h/a/data.bin;sub/x.bin", "https://h/a/data.bin", "sub/x.bin"),
        ("file:///d/ds.tar.gz", "file:///d/ds.tar.gz", "ds.tar.gz"),
    ],
)
def test_what_a_download_is_called(text: str, url: str, path: str) -> None:
    """Defect 13: a folder has a name, so it is never mistaken for one that is there."""
    assert parse_downloads([text]) == [Download(url=url, path=path)]


@pytest.mark.parametrize(
    ("url", "prefix"), [("gcs://b/x", "prefix gcs"), ("ftp://h/x", "prefix ftp"), ("/x", "no prefix")]
)
def test_an_unknown_prefix_is_named(url: str, prefix: str) -> None:
    with pytest.raises(OptionError, match=prefix):
        parse_downloads([url])


class _Pages(BaseHTTPRequestHandler):
    """Serves `pages`; everything else is a 404 with a body."""

    pages: dict[str, bytes]

    def do_GET(self) -> None:
        page = self.pages.get(self.path)
        body = page if page is not None else b"<html>not here</html>"
        self.send_response(200 if page is not None else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, bytes]]]:
    pages: dict[str, bytes] = {}
    handler = type("Pages", (_Pages,), {"pages": pages})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}", pages
        http.shutdown()
        thread.join()


def _download(root: Path, text: str) -> None:
    preparation.download_data(flags.parse([f"--root_data_dir={root}", f"--data_downloads={text}"]))


def test_a_download_may_have_another_name_here(server: tuple[str, dict[str, bytes]], tmp_path: Path) -> None:
    """Defect 11."""
    url, pages = server
    pages["/a.bin"] = b"content"
    _download(tmp_path, f"{url}/a.bin;sub/other.bin")
    assert (tmp_path / "sub/other.bin").read_bytes() == b"content"


def test_a_page_that_says_404_is_no_data(server: tuple[str, dict[str, bytes]], tmp_path: Path) -> None:
    """Defect 12."""
    with pytest.raises(FetchError, match="404"):
        _download(tmp_path, f"{server[0]}/gone.bin")
    assert not (tmp_path / "gone.bin").exists()


def test_a_gz_that_is_no_tar_is_one_packed_file(server: tuple[str, dict[str, bytes]], tmp_path: Path) -> None:
    """Defect 12."""
    url, pages = server
    pages["/images.gz"] = gzip.compress(b"pixels")
    _download(tmp_path, f"{url}/images.gz")
    assert (tmp_path / "images").read_bytes() == b"pixels"
    assert (tmp_path / "images.gz").is_file()


def test_what_cannot_be_unpacked_is_not_there(server: tuple[str, dict[str, bytes]], tmp_path: Path) -> None:
    """Defect 12: what has its name is whole, and has been unpacked."""
    url, pages = server
    pages["/images.gz"] = gzip.compress(b"pixels" * 1000)[:-9]
    with pytest.raises(FetchError):
        _download(tmp_path, f"{url}/images.gz")
    assert not (tmp_path / "images.gz").exists()
    pages["/images.gz"] = gzip.compress(b"pixels")
    _download(tmp_path, f"{url}/images.gz")
    assert (tmp_path / "images").read_bytes() == b"pixels"


def test_older_downloads_come_first_and_zips_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "one.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    root = tmp_path / "data"
    source = f"file://{tmp_path}/one.zip"
    preparation.download_data(
        flags.parse([f"--root_data_dir={root}", f"--gcs_downloads={source}", f"--data_downloads={source};two.zip"])
    )
    assert sorted(p.name for p in root.iterdir()) == ["one.zip", "two.zip"]


# ---- repositories ----


def test_edits_in_the_workspace_are_never_lost(project: Any, tmp_path: Path) -> None:
    """Defect 19."""
    work = tmp_path / "lib1"
    work.mkdir()
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    (work / "lib1.py").write_text("VALUE = 1\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=work, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=work, check=True, capture_output=True, text=True)
    flag = f"--git_repos=file://{work};main"
    assert project.run(OK, flag).code == 0
    edited = project.workspace / "site-packages" / "lib1" / "lib1.py"
    edited.write_text("VALUE = 'mine'\n")
    (work / "lib1.py").write_text("VALUE = 2\n")
    subprocess.run(["git", *identity, "commit", "-qam", "two"], cwd=work, check=True)
    for extra in ([flag], [f"{flag};{head.stdout.strip()}"], [flag, "--use_cached_site_packages"]):
        project.run(*extra)
        assert edited.read_text() == "VALUE = 'mine'\n"


def test_flags_are_never_a_shells_to_read(project: Any, tmp_path: Path) -> None:
    """Defect 18."""
    mark = tmp_path / "mark"
    hostile = f"$(touch {mark})`touch {mark}`"
    ended = project.run(
        OK, f"--execution_label={hostile}", f"--data_downloads=file:///no/{hostile}", f"--platform_name=;touch {mark}"
    )
    assert ended.code == 1
    assert not mark.exists()
    assert ended.summaries() == []


def test_secrets_do_not_reach_the_summary(project: Any, tmp_path: Path) -> None:
    """Defect 18."""
    url = f"file://user:hunter2@{tmp_path}/nowhere"
    ended = project.run(OK, f"--output_gcs_url={url}", "--execution_id=s")
    written = (ended.output / "s" / "perfzero_summary.json").read_text()
    assert "hunter2" not in written + ended.out + ended.err
    assert not [p for p in project.folder.rglob("*") if p.is_file() and b"hunter2" in p.read_bytes()]
    assert json.loads(written)["benchmark_info"]["flags"]["output_gcs_url"] == f"file://***@{tmp_path}/nowhere"


# ---- Google's programs: only when asked ----


@pytest.fixture
def calls(project: Any, tmp_path: Path) -> Path:
    """A gcloud and a gsutil on the PATH that write down how they were called; what `describe` answers is in `told`."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    script = (
        "#!/usr/bin/env python3\nimport json, os, sys\n"
        f'open({str(calls)!r}, "a").write(json.dumps(sys.argv) + "\\n")\n'
        'if "describe" in sys.argv: print(os.environ.get("TOLD", "{}"))\n'
        'sys.exit(int("delete" in sys.argv and os.environ.get("STAYS", "0")))\n'
    )
    for name in ("gcloud", "gsutil"):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    project.environment["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return calls


def _told(calls: Path) -> list[list[str]]:
    return [[Path(words[0]).name, *words[1:]] for words in map(json.loads, calls.read_text().splitlines())]


def test_nothing_of_google_is_touched_unless_asked(project: Any, calls: Path) -> None:
    """PerfZero's default key is Google's own: it counts as unset."""
    ended = project.run("--python_path=demo", OK, base=False)
    assert ended.code == 0, ended.err
    assert not calls.exists()
    assert {p.name for p in project.workspace.iterdir()} == {"site-packages", "output"}


def test_a_key_that_is_asked_for_is_fetched_and_used(project: Any, calls: Path, tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text("{}")
    ended = project.run("--python_path=demo", f"--gcloud_key_file_url=file://{tmp_path}/key.json", OK, base=False)
    assert ended.code == 0, ended.err
    key = project.workspace / "key.json"
    assert key.stat().st_mode & 0o777 == 0o600
    assert "INFO: Activated gcloud service account credential\n" in ended.out
    assert _told(calls) == [["gcloud", "auth", "activate-service-account", "--key-file", str(key)]]
    assert ended.summaries()[0]["benchmark_info"]["flags"]["gcloud_key_file_url"] == "***"


def test_a_tpu_is_started_and_deleted(project: Any, calls: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    ended = project.run(
        OK, f"--tpu_parameters={json.dumps(TPU)}", env={"TOLD": '{"health": "HEALTHY"}', "SEEN": str(seen)}
    )
    assert ended.code == 0, ended.err
    place = ["--project=p", "--zone=z"]
    groups = ["gcloud", "compute", "tpus", "execution-groups"]
    assert _told(calls) == [
        [
            *groups,
            "create",
            "--tpu-only",
            "--name=mine",
            *place,
            "--accelerator-type=v3-8",
            "--tf-version=nightly",
            "--quiet",
        ],
        ["gcloud", "compute", "tpus", "describe", "mine", *place, "--format=json"],
        [*groups, "delete", "mine", *place, "--tpu-only", "--quiet"],
    ]
    assert json.loads(seen.read_text())["kwargs"] == {"tpu": "mine"}
    info = ended.summaries()[0]["benchmark_info"]["site_package_info"]
    assert info == {"tpu_version": {"url": "", "hash": "", "branch": "nightly", "piper_id": ""}}
    assert "start_tpu" in ended.block("Benchmark execution time in seconds by operation:")


def test_a_tpu_that_stays_is_a_failure_and_one_that_ran_before_is_left_alone(project: Any, calls: Path) -> None:
    told = {"TOLD": '{"health": "HEALTHY"}'}
    assert project.run(f"--tpu_parameters={json.dumps(TPU)}", env={**told, "STAYS": "1"}).code == 1
    calls.unlink()
    mine = json.dumps({**TPU, "using_prestarted_tpu": "true"})
    assert project.run(f"--tpu_parameters={mine}", env=told).code == 0
    assert [words[3] for words in _told(calls)] == ["describe"]


def test_the_version_of_a_tpu_is_asked_of_it(
    monkeypatch: pytest.MonkeyPatch, server: tuple[str, dict[str, bytes]]
) -> None:
    url, pages = server
    pages["/requestversion"] = b'{"currentVersion": "abc", "piperOriginRevId": "7"}'
    monkeypatch.setattr(tpus, "PORT", int(url.rpartition(":")[2]))
    monkeypatch.setattr(tpus, "_wait_until_healthy", lambda tpu: "127.0.0.1")
    tpu = tpus.parse(json.dumps({**TPU, "using_prestarted_tpu": "true"}))
    assert tpu is not None
    assert tpus.start(tpu) == {"url": "", "hash": "abc", "branch": "nightly", "piper_id": "7"}


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "n", "project": "p"}'])
def test_a_tpu_that_is_not_described_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="tpu_parameters"):
        tpus.parse(text)
