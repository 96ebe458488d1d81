"""The worker's own life, driven by hand over its three pipes; from the source tree and packed as one file."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright.execution import worker_archive
from benchwright.records import Arrivals, Case, Load, Mode, Target
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.system.process import carriers
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.worker import channel
from benchwright.worker.channel import PROTOCOL, Frame, Job

SOURCE = "import sys; sys.path.insert(0, {root!r}); from benchwright.worker.main import start; start()"


NEED_LIBRARIES = (
    *(f"worker.runtimes.inputs.{name}" for name in ("array_files", "feeds")),
    *(f"worker.runtimes.outputs.{name}" for name in ("answers", "comparison", "tensors")),
    *(f"worker.runtimes.pipeline.{name}" for name in ("batches", "calls", "evaluation", "examples", "feeds")),
    *(f"worker.endpoints.{name}" for name in ("arrays", "client", "connection", "driver", "endpoint", "grpc_client")),
    *(
        f"worker.endpoints.{name}"
        for name in ("settings", "kserve.descriptions", "kserve.dialect", "kserve.feed_maker")
    ),
    *(f"worker.endpoints.kserve.{name}" for name in ("grpc", "http", "messages", "tensors")),
    "targets.specs.rows.figures",
    "stats.errors",
    "stats.summary",
)


class ByHand:
    """A parent that has nothing but pipes."""

    def __init__(self, command: list[str]) -> None:
        self.token = os.urandom(TOKEN_BYTES)
        control, self.control = os.pipe()
        self.answer, answer = os.pipe()
        lifeline, self.lifeline = os.pipe()
        ends = (control, answer, lifeline)
        self.process = subprocess.Popen(
            [*command, *map(str, ends)],
            pass_fds=ends,
            start_new_session=True,
            env={JOB_VARIABLE: self.token.hex(), "PATH": os.environ["PATH"]},
            stderr=subprocess.PIPE,
            text=True,
        )
        for fd in ends:
            os.close(fd)

    def say(self, kind: str, data: dict[str, Any]) -> None:
        channel.write_message(self.control, self.token, Frame(kind=kind, data=data))

    def hear(self, seconds: float = 30) -> Frame | None:
        assert select.select([self.answer], [], [], seconds)[0], "the worker says nothing"
        return channel.read_message(self.answer, self.token)

    def close(self) -> None:
        for fd in (self.control, self.answer, self.lifeline):
            if fd >= 0:
                os.close(fd)
        self.process.wait(20)
        assert self.process.stderr is not None
        self.process.stderr.close()
        deadline = time.monotonic() + 60
        while carriers(JOB_VARIABLE, self.token.hex()) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert carriers(JOB_VARIABLE, self.token.hex()) == []


def _case(uri: str = "fake:constant?ms=1", **load: Any) -> Case:
    runtime = "fake" if uri.startswith("fake:") else "python"
    return Case(name="c", target=Target(runtime=runtime, uri=uri), load=Load(**{"samples": 20, "warmup": 0.0, **load}))


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worker_archive.pack(tmp_path_factory.mktemp("packed") / "worker.pyz")


@pytest.fixture(params=["source", "packed"])
def parent(request: pytest.FixtureRequest, packed: Path, root: Path) -> Iterator[ByHand]:
    """`-I -S`: no site-packages, no present folder; the standard library is all there is."""
    what = [str(packed)] if request.param == "packed" else ["-c", SOURCE.format(root=str(root / "src"))]
    started = ByHand([sys.executable, "-I", "-S", *what])
    yield started
    started.close()


def _measured(parent: ByHand, case: Case) -> tuple[Frame, Frame]:
    parent.say("job", schema.encode(Job(protocol=PROTOCOL, case=case)))
    kinds = []
    while (message := parent.hear()) is not None:
        kinds.append(message.kind)
        if message.kind == "ready":
            ready = message
            parent.say("go", {"zero": time.perf_counter_ns() + 3_000_000})
        elif message.kind not in ("loading", "warming", "done"):
            break
    assert kinds == ["loading", "warming", "ready", "done", "measured"], message
    assert message is not None
    return ready, message


def test_a_job_goes_in_and_an_answer_comes_out(parent: ByHand) -> None:
    ready, answer = _measured(parent, _case("fake:script?script=1ms,2ms&clock=virtual"))
    samples = channel.unpack_samples(answer.data["samples"], answer.arrays)
    assert list(samples.columns["latency"]) == [2_000_000, 1_000_000] * 10
    assert ready.data["virtual"] is True
    assert ready.data["load_time"] >= 0
    assert parent.hear() is None
    assert parent.process.wait(10) == 0


def test_the_open_loops_generator_works_from_there_too(parent: ByHand) -> None:
    case = _case(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=500.0, workers=2)
    _, answer = _measured(parent, case)
    assert len(answer.arrays["lateness"]) == 20


def test_a_python_callable_needs_nothing_but_python(parent: ByHand, tmp_path: Path) -> None:
    file = tmp_path / "bench.py"
    file.write_text(
        "import sys\ndef f():\n    assert not any('site-packages' in p for p in sys.path)\n", encoding="utf-8"
    )
    _, answer = _measured(parent, _case(f"{file}::f", loops=1))
    assert len(answer.arrays["latency"]) == 20


def test_importing_the_worker_pulls_in_no_other_package(packed: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(packed)!r}); import benchwright.worker.main\n"
        "loaded = {m.partition('.')[0] for m in sys.modules}\n"
        "print(sorted(loaded - set(sys.stdlib_module_names) - {'benchwright', '__main__'}))\n"
        "print(benchwright.worker.main.__file__)"
    )
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    foreign, place = ended.stdout.splitlines()
    assert foreign == "[]"
    assert place.startswith(str(packed))


def test_the_packed_worker_holds_what_it_imports_and_the_same_bytes_every_time(packed: Path, tmp_path: Path) -> None:
    again = worker_archive.pack(tmp_path / "again.pyz")
    assert again.read_bytes() == packed.read_bytes()
    assert os.access(packed, os.X_OK)
    assert [path.name for path in tmp_path.iterdir()] == ["again.pyz"]
    names = zipfile.ZipFile(packed).namelist()
    assert "__main__.py" in names
    folders = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert folders == {"machine", "records", "schema", "stats", "system", "targets", "units", "worker"}
    modules = [n.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for n in names if n != "__main__.py"]
    for (
        name
    ) in NEED_LIBRARIES:  # only with a framework or a client of served models, which bring them, or with result rows
        modules.remove(f"benchwright.{name}")
    script = f"import importlib, sys; sys.path[:0] = [{str(packed)!r}]; list(map(importlib.import_module, {modules}))"
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)


def test_a_parent_of_another_protocol_is_refused(parent: ByHand) -> None:
    parent.say("job", schema.encode(Job(protocol=PROTOCOL + 1, case=_case())))
    message = parent.hear()
    assert message is not None
    assert (message.kind, message.data["kind"]) == ("failed", "BenchwrightError")
    assert f"protocol {PROTOCOL + 1}" in message.data["message"]
    assert parent.process.wait(10) == 1


def test_a_job_with_an_unknown_key_is_refused_with_the_nearest(parent: ByHand) -> None:
    parent.say("job", {**schema.encode(Job(protocol=PROTOCOL, case=_case())), "memry": 5})
    message = parent.hear()
    assert message is not None
    assert "unknown key 'memry'" in message.data["message"]
    assert "'memory'" in message.data["remedy"]


def test_a_job_confines_the_worker(parent: ByHand, tmp_path: Path) -> None:
    file = tmp_path / "where.py"
    file.write_text(
        "import os, resource, helper\n"
        "def f():\n"
        "    assert os.sched_getaffinity(0) == {CPU}\n"
        "    assert resource.getrlimit(resource.RLIMIT_AS) == (1 << 33, 1 << 33)\n"
        "    assert helper.HERE\n".replace("CPU", str(min(os.sched_getaffinity(0)))),
        encoding="utf-8",
    )
    (tmp_path / "paths").mkdir()
    (tmp_path / "paths" / "helper.py").write_text("HERE = True\n", encoding="utf-8")
    job = Job(
        protocol=PROTOCOL,
        case=_case(f"{file}::f"),
        cpus=(min(os.sched_getaffinity(0)),),
        memory=1 << 33,
        paths=(str(tmp_path / "paths"),),
    )
    parent.say("job", schema.encode(job))
    kinds = []
    while (message := parent.hear()) is not None and message.kind not in ("ready", "failed"):
        kinds.append(message.kind)
    assert message is not None
    assert message.kind == "ready", message.data


@pytest.mark.parametrize("uri", ["fake:constant?crash=hang", "fake:constant?latency=3600s&wait=hold"])
def test_when_the_lifeline_closes_the_worker_dies_whatever_it_does(uri: str, root: Path) -> None:
    parent = ByHand([sys.executable, "-I", "-S", "-c", SOURCE.format(root=str(root / "src"))])
    parent.say("job", schema.encode(Job(protocol=PROTOCOL, case=_case(uri))))
    while (message := parent.hear()) is not None and message.kind != "warming":
        pass
    time.sleep(0.05)
    os.close(parent.lifeline)
    parent.lifeline = -1
    assert parent.process.wait(30) == -signal.SIGKILL
    parent.close()


def test_when_the_lifeline_closes_those_who_left_the_session_die_too(root: Path, tmp_path: Path) -> None:
    parent = ByHand([sys.executable, "-I", "-S", "-c", SOURCE.format(root=str(root / "src"))])
    case = _case(f"fake:constant?ms=1&crash=fork&pid_file={tmp_path / 'pid'}")
    parent.say("job", schema.encode(Job(protocol=PROTOCOL, case=case)))
    while (message := parent.hear()) is not None and message.kind != "ready":
        pass
    grandchild = int((tmp_path / "pid").read_text(encoding="ascii"))
    os.kill(grandchild, 0)
    os.close(parent.lifeline)
    parent.lifeline = -1
    deadline = time.monotonic() + 60
    while carriers(JOB_VARIABLE, parent.token.hex()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert carriers(JOB_VARIABLE, parent.token.hex()) == []
    parent.close()


def test_a_worker_whose_parent_never_was_ends_at_once(root: Path) -> None:
    parent = ByHand(
        [sys.executable, "-I", "-S", "-c", "import time; time.sleep(0.3);" + SOURCE.format(root=str(root / "src"))]
    )
    os.close(parent.lifeline)  # before the worker could ask the kernel to watch it
    parent.lifeline = -1
    assert parent.process.wait(20) == 1
    parent.close()


def test_the_guard_costs_the_measured_process_nothing(parent: ByHand) -> None:
    """It is no child of the worker, so no monitor of the worker's tree counts it, and it holds no line open."""
    case = _case()
    parent.say("job", schema.encode(Job(protocol=PROTOCOL, case=replace(case, name="guarded"))))
    while (message := parent.hear()) is not None and message.kind != "ready":
        pass
    (guard,) = [pid for pid in carriers(JOB_VARIABLE, parent.token.hex()) if pid != parent.process.pid]
    status = Path(f"/proc/{guard}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    assert int(status[1]) != parent.process.pid  # its parent
    held = {str(entry.readlink()) for entry in Path(f"/proc/{guard}/fd").iterdir()}
    assert len([name for name in held if name.startswith("pipe:")]) == 1  # the lifeline
