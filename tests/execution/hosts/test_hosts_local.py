"""Workers on this machine: a fresh interpreter, a session of its own, a log, a private line."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright.execution.hosts import local
from benchwright.execution.hosts.local import TAIL, LocalHost, LocalWorker
from benchwright.records import Case, Load, Target
from benchwright.system.process import carriers
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.worker.channel import PROTOCOL, Frame, Job

pytestmark = pytest.mark.fresh  # how a worker starts and ends is what is tested


def _job(uri: str, **fields: object) -> Job:
    load = Load(samples=5, warmup=0)
    case = Case(name="case", target=Target(runtime="fake" if uri.startswith("fake:") else "python", uri=uri), load=load)
    return Job(protocol=PROTOCOL, case=case, **fields)  # type: ignore[arg-type]


def _next(worker: LocalWorker, kind: str, seconds: float = 30) -> Frame:
    """Waits for a message of that kind and passes the others over."""
    deadline = time.monotonic() + seconds
    while select.select([worker], [], [], deadline - time.monotonic())[0]:
        heard = worker.hear()
        assert heard is not None, worker.log_tail()
        for message in heard:
            if message.kind == kind:
                return message
    raise AssertionError(f"no {kind} within {seconds} s: {worker.log_tail()}")


@pytest.fixture
def launched() -> Iterator[list[LocalWorker]]:
    """Workers that must not outlive their test."""
    workers: list[LocalWorker] = []
    yield workers
    for worker in workers:
        worker.end(0)


def _launch(launched: list[LocalWorker], job: Job) -> LocalWorker:
    launched.append(LocalHost().launch(job))
    return launched[-1]


def _token_of(pid: int) -> str:
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    (found,) = [item for item in environment if item.startswith(JOB_VARIABLE.encode())]
    return found.partition(b"=")[2].decode()


def test_a_worker_answers_and_ends(launched: list[LocalWorker]) -> None:
    worker = _launch(launched, _job("fake:constant?ms=1"))
    assert _next(worker, "ready").data["device"] == "cpu"
    worker.tell(Frame(kind="go", data={"zero": time.perf_counter_ns()}))
    answer = _next(worker, "measured")
    assert len(answer.arrays["latency"]) == 5
    assert worker.end(10) == 0
    assert worker.gone()
    assert worker.end(0) == 0  # and again: the same answer


def test_a_worker_leads_a_session_of_its_own(launched: list[LocalWorker]) -> None:
    worker = _launch(launched, _job("fake:constant?ms=1"))
    _next(worker, "ready")
    assert os.getsid(worker.pid) == os.getpgid(worker.pid) == worker.pid != os.getsid(0)
    assert str(Path(f"/proc/{worker.pid}/fd/0").readlink()) == os.devnull


def test_a_token_is_used_for_one_worker_only(launched: list[LocalWorker]) -> None:
    workers = [_launch(launched, _job("fake:constant?ms=1")) for _ in range(2)]
    for worker in workers:
        _next(worker, "ready")
    assert len({_token_of(worker.pid) for worker in workers}) == 2


def test_ending_kills_a_worker_that_would_not(launched: list[LocalWorker]) -> None:
    worker = _launch(launched, _job("fake:constant?crash=hang"))
    _next(worker, "warming")
    assert not worker.gone()
    assert worker.end(0.05) == -signal.SIGKILL


def test_ending_finds_what_left_the_session(launched: list[LocalWorker], tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    worker = _launch(launched, _job(f"fake:constant?ms=1&crash=fork&pid_file={pid_file}"))
    _next(worker, "ready")
    grandchild = int(pid_file.read_text(encoding="ascii"))
    assert os.getsid(grandchild) != worker.pid
    token = _token_of(worker.pid)
    assert grandchild in carriers(JOB_VARIABLE, token)
    worker.end(0)
    assert carriers(JOB_VARIABLE, token) == []


def test_the_log_is_kept_to_its_tail_whatever_is_in_it(launched: list[LocalWorker], tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    file.write_text(
        "import os\n"
        "def f():\n"
        "    os.write(1, b'x' * 50_000 + b'\\xff out ')\n"
        "    os.write(2, b'err\\n')\n"
        "    raise KeyError\n",
        encoding="utf-8",
    )
    worker = _launch(launched, _job(f"{file}::f"))
    assert _next(worker, "failed").data["kind"] == "KeyError"
    worker.end(10)
    tail = worker.log_tail()
    assert len(tail) <= TAIL
    assert "\ufffd out err\n" in tail
    assert tail.rstrip().endswith("KeyError")


def test_a_log_that_grows_beyond_reason_is_cut(
    launched: list[LocalWorker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MOST_LOG", 10_000)
    file = tmp_path / "loud.py"
    file.write_text("import os, time\nos.write(1, b'x' * 20_000)\nf = time.sleep\n", encoding="utf-8")
    job = _job(f"{file}::f")
    worker = _launch(launched, job)
    _next(worker, "failed")  # sleep wants an argument
    worker.bound_log()
    assert "x" * 100 not in worker.log_tail()


def test_the_worker_uses_this_interpreter_and_not_the_present_folder(
    launched: list[LocalWorker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    worker = _launch(launched, _job("fake:constant?ms=1"))
    _next(worker, "ready")
    assert Path(f"/proc/{worker.pid}/exe").resolve() == Path(sys.executable).resolve()


def test_telling_a_worker_that_has_gone_is_no_error(launched: list[LocalWorker]) -> None:
    worker = _launch(launched, _job("fake:constant?crash=exit&crash_at=load"))
    deadline = time.monotonic() + 30
    while not worker.gone() and time.monotonic() < deadline:
        time.sleep(0.01)
    worker.tell(Frame(kind="go", data={}))
    assert worker.end(0) == 3


@pytest.mark.fresh
def test_a_worker_started_ahead_gets_the_first_job_and_no_other(launched: list[LocalWorker]) -> None:
    host = LocalHost()
    host.get_ready()
    host.get_ready()  # once is enough
    ahead = host._waiting
    assert ahead is not None
    launched.append(host.launch(_job("fake:constant?ms=1")))
    launched.append(host.launch(_job("fake:constant?ms=1")))
    assert launched[0] is ahead and launched[1] is not ahead
    for worker in launched:
        _next(worker, "ready")
    host.close()


@pytest.mark.fresh
def test_a_worker_started_ahead_that_gets_no_job_is_ended() -> None:
    host = LocalHost()
    host.get_ready()
    waiting = host._waiting
    assert waiting is not None and not waiting.gone()
    host.close()
    assert waiting.gone()
    LocalHost().close()  # nothing was started: nothing to end
