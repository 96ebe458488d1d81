"""The parent's end of a container's line, with programs that play the engine: what a real one does rarely."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from benchwright.execution.hosts import container_worker
from benchwright.execution.hosts.container_worker import ContainerWorker

CONNECT = (
    "import json, socket, sys, time; line = socket.socket(socket.AF_UNIX); line.connect(sys.argv[1] + '/socket')\n"
)
TOLD = {"cpus": [], "folder": "/", "variables": {}, "same_root": False}


def _worker(code: str, engine: str = "true") -> ContainerWorker:
    command = [sys.executable, "-c", code]
    return ContainerWorker(engine=engine, command=lambda name, folder: [*command, str(folder), name], told=TOLD)


def _until_connected(worker: ContainerWorker) -> None:
    while worker._init is None:
        worker.hear()


def test_a_memory_limit_is_told_in_the_log() -> None:
    end = json.dumps({"exit": -9, "out_of_memory": True})
    worker = _worker(f"{CONNECT}line.sendall({end.encode()!r}); time.sleep(0.1)")
    _until_connected(worker)
    assert worker.end(30) == -signal.SIGKILL
    assert "memory limit" in worker.log_tail()


def test_an_engine_that_ends_without_a_word_gives_its_own_exit_code() -> None:
    assert _worker("import sys; sys.exit('no such image')").end(30) == 1
    assert _worker("raise SystemExit(137)").end(30) == -signal.SIGKILL  # as engines report a signal
    worker = _worker("raise SystemExit('why not')")
    worker.end(30)
    assert worker.log_tail() == "why not\n"


def test_a_first_process_that_is_killed_is_noticed() -> None:
    worker = _worker(f"{CONNECT}import os; os.kill(os.getpid(), 15)")
    _until_connected(worker)
    assert worker.end(30) == -signal.SIGTERM


def test_an_engine_that_does_not_remove_its_container_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_worker, "REMOVAL", 0.5)
    engine = tmp_path / "engine"
    engine.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n', encoding="utf-8")
    engine.chmod(0o755)
    worker = _worker("import time; time.sleep(1000)", str(engine))
    assert not worker.gone()
    assert worker.end(0) == -signal.SIGKILL
    assert (tmp_path / "asked").read_text(encoding="utf-8") == f"rm --force {worker._name}\n"


def test_nothing_is_left_of_an_engine_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        ContainerWorker(engine="true", command=lambda name, folder: ["/no/such/engine"], told=TOLD)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_with_a_long_path_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    _worker("pass").end(30)
    assert list(deep.iterdir()) == []
