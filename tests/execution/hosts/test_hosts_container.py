"""Workers in containers: the same protocol, the same answers, and nothing left over."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import containers
from benchwright.errors import OptionError
from benchwright.execution.attempt import Attempt
from benchwright.execution.hosts import container, engines
from benchwright.execution.hosts.container import ContainerHost
from benchwright.execution.hosts.container_worker import ContainerWorker
from benchwright.execution.hosts.engines import Engine
from benchwright.records import Case, Load, Status, Target
from benchwright.worker.channel import PROTOCOL, Frame, Job

engine, python_image = containers.engine, containers.python_image


def _case(uri: str, **load: object) -> Case:
    runtime = "fake" if uri.startswith("fake:") else "python"
    whole = Load(**{"samples": 5, "warmup": 0, "timeout": 60, **load})  # type: ignore[arg-type]
    return Case(name="case", target=Target(runtime=runtime, uri=uri), load=whole)


def _next(worker: ContainerWorker, kind: str, seconds: float = 60) -> Frame:
    """Waits for a message of that kind and passes the others over."""
    deadline = time.monotonic() + seconds
    while select.select([worker], [], [], max(0, deadline - time.monotonic()))[0]:
        heard = worker.hear()
        assert heard is not None, worker.log_tail()
        for message in heard:
            if message.kind == kind:
                return message
    raise AssertionError(f"no {kind} within {seconds} s: {worker.log_tail()}")


def _is_gone(worker: ContainerWorker, engine: str) -> bool:
    listed = containers.ask(engine, "ps", "--all", "--quiet", "--filter", f"name={worker._name}").stdout
    return not listed.strip() and not Path(f"/proc/{worker.pid}").exists()


@pytest.fixture
def launch() -> Iterator[Callable[[ContainerHost, str], ContainerWorker]]:
    """Starts workers that must not outlive their test."""
    workers: list[ContainerWorker] = []

    def start(host: ContainerHost, uri: str, **fields: object) -> ContainerWorker:
        workers.append(host.launch(Job(protocol=PROTOCOL, case=_case(uri), **fields)))  # type: ignore[arg-type]
        return workers[-1]

    yield start
    for worker in workers:
        worker.end(0)


@pytest.fixture(scope="module")
def host(python_image: str) -> ContainerHost:
    return ContainerHost(python_image)


def _told(host: ContainerHost, folder: Path, source: str) -> dict[str, object]:
    """What `tell()` of a file returns inside a container, by way of the folder where it may leave files."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    code = (
        "\ndef f():\n    with open(os.environ['BENCHWRIGHT_OUTPUT'] + '/told', 'w') as file: json.dump(tell(), file)\n"
    )
    (folder / "bench.py").write_text(f"import json, os, sys\n{source}{code}", encoding="utf-8")
    outcome = Attempt(_case(f"{folder}/bench.py::f", samples=1), host, folder=out).run()
    assert outcome.status is Status.OK, outcome.failure
    found: dict[str, object] = json.loads((out / "told").read_text(encoding="utf-8"))
    return found


def test_a_worker_answers_from_an_image_and_its_container_is_removed(
    launch: Callable[..., ContainerWorker], host: ContainerHost, engine: str
) -> None:
    worker = launch(host, "fake:constant?ms=1")
    assert worker.pid == 0 and not worker.gone()
    assert _next(worker, "ready").data["device"] == "cpu"
    worker.tell(Frame(kind="go", data={"zero": time.perf_counter_ns()}))
    assert len(_next(worker, "measured").arrays["latency"]) == 5
    assert worker.end(10) == 0 == worker.end(0)
    assert _is_gone(worker, engine)


def test_the_process_id_is_that_of_the_worker_out_here(
    launch: Callable[..., ContainerWorker], host: ContainerHost
) -> None:
    worker = launch(host, "fake:constant?ms=1")
    _next(worker, "ready")
    assert b"benchwright.worker.main" in Path(f"/proc/{worker.pid}/cmdline").read_bytes()
    status = Path(f"/proc/{worker.pid}/status").read_text(encoding="ascii")
    out_here, inside = status.partition("NSpid:")[2].splitlines()[0].split()
    assert int(out_here) == worker.pid and int(inside) > 1  # never the container's first process
    assert str(Path(f"/proc/{worker.pid}/fd/0").readlink()) == os.devnull


def test_this_machines_own_root_needs_no_image(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONLY_HERE", "1")
    here = ContainerHost.from_text("rootfs:/")
    assert here.system["container"] == "podman"
    source = (
        "def tell():\n"
        "    open('/a-file-of-a-test', 'w').close()\n"
        "    return [sys.executable, os.environ['ONLY_HERE'], os.getcwd()]\n"
    )
    assert _told(here, tmp_path, source) == [sys.executable, "1", str(tmp_path)]
    assert not Path("/a-file-of-a-test").exists()  # the layer it was written to is gone


def test_what_it_ran_in_is_known(host: ContainerHost, python_image: str, engine: str) -> None:
    image = host.system["image"]
    assert isinstance(image, dict)
    inspected = json.loads(containers.ask(engine, "image", "inspect", python_image).stdout)[0]
    assert image["name"] == python_image and image["id"] == f"sha256:{inspected['Id']}"
    assert str(image["engine"]).startswith("podman ")
    assert host.system["python"] == sys.version.split()[0]
    assert str(host.system["distribution"]).startswith("unavailable")  # the image has no such file; this machine does


@pytest.mark.parametrize(("fault", "status"), [("exit", 3), ("segfault", -signal.SIGSEGV), ("kill", -signal.SIGKILL)])
def test_how_a_worker_ended_is_told_exactly(
    fault: str, status: int, launch: Callable[..., ContainerWorker], host: ContainerHost, engine: str
) -> None:
    worker = launch(host, f"fake:constant?crash={fault}&crash_at=load")
    deadline = time.monotonic() + 60
    while not worker.gone() and time.monotonic() < deadline:
        select.select([worker], [], [], 0.1)
        worker.hear()
    assert worker.end(0) == status, worker.log_tail()
    assert _is_gone(worker, engine)


def test_ending_takes_everything_with_it(
    launch: Callable[..., ContainerWorker], host: ContainerHost, engine: str, tmp_path: Path
) -> None:
    (tmp_path / "daemon.py").write_text(
        "import os, time\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    os.environ.clear()\n"
        "    os.closerange(0, 1000)\n"
        "    os.execve('/usr/bin/python3', ['daemon', '-c', 'import time; time.sleep(1000)'], {})\n"
        "def f(): time.sleep(1000)\n",
        encoding="utf-8",
    )
    worker = launch(host, f"{tmp_path}/daemon.py::f")
    _next(worker, "warming")
    assert not worker.gone()
    space = Path(f"/proc/{worker.pid}/ns/pid").readlink()
    assert worker.end(0.05) == -signal.SIGKILL
    assert _is_gone(worker, engine)
    assert space not in _namespaces()


def _namespaces() -> set[Path]:
    found = set()
    for process in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            found.add(process.readlink())
        except OSError:  # gone meanwhile
            continue
    return found


def test_a_container_ends_with_a_parent_that_is_killed(python_image: str, engine: str, tmp_path: Path) -> None:
    script = (
        "import sys, select, time\n"
        "from benchwright.worker.channel import PROTOCOL, Job\n"
        "from benchwright.execution.hosts.container import ContainerHost\n"
        "from benchwright.records import Case, Load, Target\n"
        "case = Case(name='c', target=Target(runtime='fake', uri='fake:constant?crash=hang'), load=Load())\n"
        f"worker = ContainerHost({python_image!r}).launch(Job(protocol=PROTOCOL, case=case))\n"
        "while not any(message.kind == 'warming' for message in worker.hear()): select.select([worker], [], [])\n"
        "print(worker._name, worker.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert parent.stdout is not None
    name, pid = parent.stdout.readline().split()
    assert Path(f"/proc/{pid}").exists()
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    listing = (engine, "ps", "--all", "--quiet", "--filter", f"name={name}")
    while time.monotonic() < deadline and (Path(f"/proc/{pid}").exists() or containers.ask(*listing).stdout):
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists() and not containers.ask(*listing).stdout


def test_files_are_where_they_are_here_and_only_one_folder_is_writable(
    host: ContainerHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "a, b"
    elsewhere.mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    source = (
        "def tell():\n"
        "    try: open('new', 'w')\n"
        "    except OSError as error: return [os.getcwd(), error.strerror, os.getuid()]\n"
    )
    assert _told(host, elsewhere, source) == [str(tmp_path / "here"), "Read-only file system", os.getuid()]
    assert (elsewhere / "out" / "told").stat().st_uid == os.getuid()


def test_variables_pass_but_those_of_this_machine_and_the_image_wins(
    host: ContainerHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"OMP_NUM_THREADS": "3", "WHOSE": "parent", "LD_LIBRARY_PATH": "/x", "PYTHONPATH": "/y", "SSH_AGENT": "z"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    told = _told(host, tmp_path, "def tell(): return dict(os.environ)\n")
    assert told["OMP_NUM_THREADS"] == "3" and told["WHOSE"] == "image"
    assert not told.keys() & {"LD_LIBRARY_PATH", "PYTHONPATH", "SSH_AGENT"}
    assert told["PATH"] != os.environ["PATH"]


def test_affinity_passes_and_there_is_no_network(host: ContainerHost, tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    chosen = max(before)
    source = (
        "import socket\ndef tell(): return [sorted(os.sched_getaffinity(0)), [n for _, n in socket.if_nameindex()]]\n"
    )
    try:
        os.sched_setaffinity(0, {chosen})
        assert _told(host, tmp_path, source) == [[chosen], ["lo"]]
    finally:
        os.sched_setaffinity(0, before)


def test_options_reach_the_engine_and_secrets_in_them_are_not_kept(
    python_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(container.OPTIONS, "--env 'A KEY=hush hush' --env=B=hush --network=none")
    host = ContainerHost.from_text(python_image)
    assert "hush" not in json.dumps(host.system)
    told = _told(host, tmp_path, "def tell(): return [os.environ['A KEY'], os.environ['B']]\n")
    assert told == ["hush hush", "hush"]


def test_an_attempt_measures_and_watches_a_worker_in_a_container(host: ContainerHost) -> None:
    outcome = Attempt(_case("fake:constant?ms=20", copies=2, samples=20), host, monitors=("process",)).run()
    assert outcome.status is Status.OK, outcome.failure
    assert [len(answer.samples.columns["latency"]) for answer in outcome.answers] == [10, 10]
    seen = {metric.name: metric.estimate.point for metric in outcome.observation.metrics}
    assert seen["rss_peak"] > 2 * (4 << 20)  # two interpreters, not two clients of an engine


def test_what_a_worker_prints_is_in_its_log(host: ContainerHost, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("def f():\n    print('out of the box')\n    1 / 0\n", encoding="utf-8")
    outcome = Attempt(_case(f"{tmp_path}/loud.py::f"), host).run()
    assert outcome.failure is not None and outcome.failure.kind == "ZeroDivisionError"
    assert "out of the box" in outcome.failure.log_tail


def test_docker_is_asked_in_its_own_words(python_image: str, engine: str, tmp_path: Path) -> None:
    """A docker that is podman underneath: every argument must be one that both take."""
    docker = tmp_path / "docker"
    docker.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "Docker version 28.2.2, build 0"; exit; fi\n'
        'if [ "$1" = version ]; then test "$3" = "{{.Server.Version}}" && echo 28.2.2; exit; fi\n'
        f'exec {engine} "$@"\n',
        encoding="utf-8",
    )
    docker.chmod(0o755)
    found = Engine(path=str(docker), kind="docker", version="28.2.2")
    host = ContainerHost(python_image, engine=found)
    assert Attempt(_case("fake:constant?ms=1"), host).run().status is Status.OK
    with pytest.raises(OptionError, match="only podman"):
        ContainerHost("rootfs:/", engine=found)


def test_an_image_that_is_not_here_is_refused_before_anything_runs(engine: str) -> None:
    with pytest.raises(OptionError, match="no image 'localhost/nowhere'") as refused:
        ContainerHost("localhost/nowhere")
    assert "pull" in refused.value.remedy


def test_an_image_without_python_is_refused_before_anything_runs(engine: str, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n", encoding="utf-8")
    name = f"localhost/benchwright-tests/nothing-{uuid.uuid4()}"
    assert containers.ask(engine, "build", "--tag", name, str(tmp_path)).returncode == 0
    try:
        with pytest.raises(OptionError, match=r"cannot measure in .*nothing.*python3") as refused:
            ContainerHost(name)
        assert "benchwright image build" in refused.value.remedy
    finally:
        containers.remove(engine, name)


@pytest.mark.parametrize("text", ["", "rootfs:/no/such/folder", "rootfs:relative"])
def test_a_text_that_names_nothing_is_refused(text: str, engine: str) -> None:
    with pytest.raises(OptionError):
        ContainerHost.from_text(text)


def test_the_command_line_measures_in_a_container(
    benchwright: Callable[..., subprocess.CompletedProcess[str]], python_image: str, tmp_path: Path
) -> None:
    (tmp_path / "bench.py").write_text("def add(): return 1 + 1\n", encoding="utf-8")
    ended = benchwright(
        *("run", "bench.py::add", "--host", f"container:{python_image}", "--rounds", "1", "--samples", "10", "--json")
    )
    assert ended.returncode == 0, ended.stderr
    (result,) = json.loads(ended.stdout)["data"]["results"]
    assert result["status"] == "ok" and result["environment"]["packages"].keys() <= {"pip"}
    assert result["environment"]["system"]["image"]["name"] == python_image


def test_the_command_line_refuses_an_image_that_is_not_here(
    benchwright: Callable[..., subprocess.CompletedProcess[str]], engine: str
) -> None:
    ended = benchwright("run", "fake:constant?ms=1", "--host", "container:localhost/nowhere")
    assert ended.returncode == 2 and "no image" in ended.stderr


def test_engines_are_found_by_name_and_by_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(engines.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match="neither podman nor docker is installed"):
        engines.find()
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\n[ $1 = --version ] && echo Docker version 1 || { echo no daemon >&2; exit 1; }\n")
    program.chmod(0o755)
    with pytest.raises(OptionError, match="no daemon") as refused:
        engines.find()
    assert "daemon" in refused.value.remedy
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\n[ $1 = --version ] && echo podman version 9.9 || echo 9.9\n")
    other.chmod(0o755)
    monkeypatch.setenv(engines.VARIABLE, "other")
    assert engines.find() == Engine(path=str(other), kind="podman", version="9.9")
    other.rename(tmp_path / "podman")
    monkeypatch.delenv(engines.VARIABLE)
    assert engines.find().kind == "podman"
    (tmp_path / "podman").write_text("#!/bin/sh\nexit 3\n")
    program.write_text("#!/bin/sh\n[ $1 = --version ] && echo Docker version 1 || echo 1\n")
    assert engines.find().kind == "docker"  # the one that answers
    monkeypatch.setenv(engines.VARIABLE, "nothing")
    with pytest.raises(OptionError, match="there is no program 'nothing'"):
        engines.find()
