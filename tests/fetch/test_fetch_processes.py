"""Several processes after one file, and one that is killed in the middle."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from benchwright.fetch.downloads import fetch

BODY = random.Random(7).randbytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()
_CHILD = """
import sys
from pathlib import Path
from benchwright.fetch.downloads import fetch
print(fetch(sys.argv[1], Path(sys.argv[2]), sha256=sys.argv[3], retries=0).name)
"""


@pytest.fixture
def target(site: Any, tmp_path: Path) -> Path:
    site.files["/model.bin"] = BODY
    return tmp_path / "data" / "model.bin"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _CHILD, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_share_one_download(site: Any, target: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(answer: Any) -> None:
        begun.set()
        go_on.wait(60)
        answer.serve()

    site.script = [slowly] * 2
    with start(site.url("/model.bin"), target, SHA256) as first:
        assert begun.wait(60)
        with start(site.url("/model.bin"), target, SHA256) as second:
            wait_for_lock(second.pid, target.with_name(".model.bin.lock"))
            go_on.set()
            assert first.communicate(timeout=60)[0] == second.communicate(timeout=60)[0] == "model.bin\n"
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(site.requests) == 1 and names(target.parent) == ["model.bin"]


def wait_for_lock(pid: int, lock: Path) -> None:
    """Until the process has the lock file open, and so is about to wait for it or does."""
    deadline = threading.Event()
    for _ in range(600):
        try:
            if any(entry.readlink() == lock for entry in Path(f"/proc/{pid}/fd").iterdir()):
                return
        except FileNotFoundError:
            pass  # closed meanwhile
        deadline.wait(0.1)
    raise AssertionError("the second process never came to the lock")


def test_a_killed_process_leaves_nothing_that_looks_whole_and_is_continued(site: Any, target: Path) -> None:
    held = threading.Event()

    def half(answer: Any) -> None:
        answer.send_response(200)
        answer.send_header("ETag", f'"{hash(BODY)}"')
        answer.send_header("Content-Length", str(len(BODY)))
        answer.end_headers()
        answer.wfile.write(BODY[:200_000])
        answer.wfile.flush()
        held.wait(60)

    site.script = [half]
    left = target.with_name(".model.bin.partial")
    with start(site.url("/model.bin"), target, SHA256) as process:
        for _ in range(600):
            if left.exists() and left.stat().st_size > 0:
                break
            threading.Event().wait(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    held.set()
    size = left.stat().st_size
    assert 0 < size <= 200_000 and not target.exists()
    fetch(site.url("/model.bin"), target, sha256=SHA256)
    assert site.requests[1]["range"] == f"bytes={size}-"
    assert target.read_bytes() == BODY and names(target.parent) == ["model.bin"]
