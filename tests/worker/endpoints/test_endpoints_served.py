"""Servers that are started for a measurement: real ones, good and bad."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.errors import BenchwrightError, LoadError
from benchwright.execution import rounds
from benchwright.records import Case, Load, Result, Scalar, Status, Target
from benchwright.targets.sources import Request, plan
from benchwright.worker.endpoints import served
from benchwright.worker.endpoints.serve_options import PORT_OPTION, choose_port, place
from benchwright.worker.endpoints.wire import parse_address

FICKLE = Path(__file__).parents[2] / "support" / "fickle_server.py"
ADDRESS = "http://127.0.0.1:{port}/v1/chat/completions"
QUICK = Load(duration=0.15, warmup=0.05)
MARK = "BENCHWRIGHT_TEST_SERVED"


def command(folder: Path, *how: str) -> str:
    return shlex.join([sys.executable, str(FICKLE), "{port}", str(folder), *how])


def measure(
    folder: Path, *how: str, load: Load = QUICK, many: int = 1, uri: str = ADDRESS, **options: Scalar
) -> list[Result]:
    known: dict[str, Scalar] = {"model": "words", "output_tokens": 4, "serve": command(folder, *how), **options}
    case = Case(name="words", target=Target(runtime="openai", uri=uri, options=known), load=load)
    asked = rounds.Plan(cases=[case], rounds=many, monitors=("process", "pressure"), directory=folder)
    return list(rounds.execute(asked).results)


def number(result: Result, name: str) -> float:
    return next(metric.estimate.point for metric in result.metrics if metric.name == name)


def starts(folder: Path) -> list[list[int]]:
    return [[int(word) for word in line.split()] for line in (folder / "starts").read_text().splitlines()]


def is_gone(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def wait_for(holds: Callable[[], object], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_each_round_has_a_fresh_server_that_is_ended_politely(tmp_path: Path) -> None:
    first, second = measure(tmp_path, many=2)
    assert (first.status, second.status) == (Status.OK, Status.OK), first.error
    begun = starts(tmp_path)
    assert len(begun) == 2 and all(is_gone(pid) for pid, _ in begun)
    assert (tmp_path / "ends").read_text() == "SIGTERM\n" * 2
    assert "a word of the server" in first.log_tail
    # Records keep {port}, so that histories go on; only the details know which one it was.
    assert first.case == second.case and first.case.target.uri == ADDRESS
    assert PORT_OPTION not in first.case.target.options
    assert first.details["address"] == ADDRESS.replace("{port}", str(begun[0][1]))


def test_time_until_ready_memory_and_cpu_are_the_server_s(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, "loading=0.6", "health=200", metrics="off")
    told = result.details["served"]
    assert isinstance(told, dict)
    assert told["health"] == "/health"
    assert number(result, "load_time") == told["ready_after"]
    assert number(result, "load_time") > 0.6
    # Whoever asks has libraries loaded and takes several times as much as this server.
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert 5e6 < number(result, "rss_peak") < own
    assert number(result, "threads") <= 3
    assert number(result, "cpu_others") >= 0


def test_a_server_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    begin = time.monotonic()
    (result,) = measure(tmp_path, "exit=3")
    assert time.monotonic() - begin < 60  # not as long as a server may take
    assert result.status is Status.FAILED and result.error is not None
    assert result.error.message == "the server ended with exit code 3 before it was ready"
    assert "no memory left for the model" in result.error.log_tail


def test_a_server_that_ends_under_the_load_fails_the_result(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, "die_after=60", load=Load(samples=200, warmup=0.0))
    assert result.status is Status.FAILED and result.error is not None
    assert result.error.message == "the server ended with exit code 3 while it was measured"
    assert "the last word of the server" in result.error.log_tail
    assert number(result, "errors") > 0  # what came after its end is not dropped


def test_a_server_that_ends_with_the_first_request_is_told_too(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, "die_after=0", "code=7")
    assert result.error is not None
    assert result.error.message == "the server ended with exit code 7 while it was warmed up"


def test_a_server_that_does_not_get_ready_is_given_up(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, "health=503", serve_timeout="4s")
    assert result.error is not None
    assert result.error.message == "the server was not ready after 4 s: /health answers with status 503"
    assert all(is_gone(pid) for pid, _ in starts(tmp_path))


def test_the_path_that_is_named_decides(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, "loading=0.5", health="/ready")
    told = result.details["served"]
    assert isinstance(told, dict) and told["health"] == "/ready" and float(str(told["ready_after"])) > 0.5
    (result,) = measure(tmp_path, health="/not-there", serve_timeout="4s")
    assert result.error is not None and "/not-there answers with status 404" in result.error.message


def test_a_server_without_any_of_the_usual_paths_is_ready_when_it_answers(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, "nothing=1")
    assert result.status is Status.OK
    assert result.details["served"]["health"] == "it answers, though at none of the usual paths"  # type: ignore[index, call-overload]


def test_what_listens_already_is_not_taken_for_the_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"http://127.0.0.1:{other.getsockname()[1]}/v1/chat/completions"
        (result,) = measure(tmp_path, uri=taken)
    assert result.error is not None and "before the server is started" in result.error.message
    assert not (tmp_path / "starts").exists()


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, serve="./no-such-server {port}")
    assert result.error is not None
    assert result.error.message == "--serve: ./no-such-server could not be started: No such file or directory"


def test_nothing_that_a_server_started_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, str(tmp_path))
    (result,) = measure(tmp_path, "hidden=1")
    assert result.status is Status.OK
    wait_for(lambda: not marked(str(tmp_path)))


def test_a_server_that_does_not_listen_to_signals_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "GRACE", 0.2)
    options: dict[str, Scalar] = {"serve": command(tmp_path, "deaf=1")}
    case, order = place(Case(name="words", target=Target(runtime="openai", uri=ADDRESS, options=options)))
    assert order is not None
    server = served.ServedProcess(order, parse_address(case.target.uri), {})
    server.start()
    server.wait_until_ready()
    assert not server.describe_end()
    server.end()
    assert server.describe_end() == "the server was ended by SIGKILL" and is_gone(server.pid)


@pytest.mark.serial  # a busy machine may miss a look at the server's figures
def test_of_several_copies_one_starts_the_server_and_all_use_it(tmp_path: Path) -> None:
    (result,) = measure(tmp_path, "metrics=1", load=Load(duration=0.3, warmup=0.05, copies=3))
    assert result.status is Status.OK, result.error
    assert len(starts(tmp_path)) == 1 and len(result.samples) == 3
    assert number(result, "errors") == 0
    assert (tmp_path / "ends").read_text() == "SIGTERM\n"
    assert [line.name for line in result.timelines].count("server:words_requests_total") == 1


def test_copies_hear_of_one_port() -> None:
    target = Target(runtime="openai", uri=ADDRESS, options={"serve": "server {port}"})
    case = choose_port(Case(name="words", target=target))
    (first, order), (second, other) = place(case), place(case)
    assert first == second and order == other and order is not None
    assert order.command == ("server", str(order.port)) and f":{order.port}/" in first.target.uri


@pytest.mark.parametrize("whom", ["command", "worker", "keeper"])
def test_nothing_is_left_whoever_is_killed(whom: str, tmp_path: Path) -> None:
    arguments = ["run", ADDRESS, "--serve", command(tmp_path, "metrics=1"), "--model", "words", "--duration", "60"]
    started = subprocess.Popen(
        [sys.executable, "-m", "benchwright", *arguments],
        cwd=tmp_path,
        env={**os.environ, MARK: str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(lambda: (tmp_path / "starts").exists() and starts(tmp_path))
        server = starts(tmp_path)[0][0]
        wait_for(lambda: len(marked(str(tmp_path))) >= 5)  # command, keeper, worker, server, who asks for figures
        worker = parent_of(server)
        os.kill({"command": started.pid, "worker": worker, "keeper": parent_of(worker)}[whom], signal.SIGKILL)
        wait_for(lambda: is_gone(server) and is_gone(worker))
        if whom == "command":
            started.wait()
            wait_for(lambda: not marked(str(tmp_path)))
    finally:
        started.kill()
        started.wait()


def marked(mark: str) -> list[int]:
    """Processes that inherited the mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    ("uri", "options", "says"),
    [
        (ADDRESS, {}, "{port} is the port of a server that --serve starts"),
        ("http://127.0.0.1:80/v1/completions", {"health": "/h"}, "about a server that is started"),
        ("http://127.0.0.1:80/v1/completions", {"serve": "server {port}"}, "the address has not"),
        (ADDRESS, {"serve": "server 'x"}, "cannot be split into words"),
        (ADDRESS, {"serve": " "}, "the command is empty"),
        (ADDRESS, {"serve": "server {port} --api-key abc"}, "--api-key looks like a secret"),
        (ADDRESS, {"serve": "server {port} --hf-token=abc"}, "--hf-token looks like a secret"),
        (ADDRESS, {"serve": "server {port}", "serve_timeout": "0s"}, "must be above zero"),
        (ADDRESS, {"serve": "server {port}", "health": "ftp://x/"}, "is not an address"),
        (ADDRESS, {"serve": "server {port}", "metrics": "http://host:8002"}, "has no path"),
        (ADDRESS, {"serve": "server {port}", "metrics": "sometimes"}, "is not an address"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_started(uri: str, options: dict[str, Scalar], says: str) -> None:
    from benchwright.workflows.validation import check_cases

    with pytest.raises(BenchwrightError) as error:
        check_cases(list(plan(Request(targets=[uri], options=options))))
    assert says in error.value.message


def test_words_about_tokens_are_no_secrets() -> None:
    options: dict[str, Scalar] = {
        "serve": "vllm serve m --port {port} --max-tokens 5 --tokenizer t --tokenizer-mode auto"
    }
    assert list(plan(Request(targets=[ADDRESS], options=options)))


def test_a_load_error_is_what_a_failed_start_raises(tmp_path: Path) -> None:
    options: dict[str, Scalar] = {"serve": command(tmp_path, "exit=0")}
    case, order = place(Case(name="words", target=Target(runtime="openai", uri=ADDRESS, options=options)))
    assert order is not None
    server = served.ServedProcess(order, parse_address(case.target.uri), {})
    server.start()
    with pytest.raises(LoadError, match="exit code 0 before it was ready"):
        server.wait_until_ready()
    server.end()


def test_a_key_goes_to_its_server_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchwright.worker.endpoints import company

    given: list[dict[str, str]] = []
    monkeypatch.setattr(company, "FigureReader", lambda address, *, headers, **_: given.append(dict(headers)))
    monkeypatch.setenv("THE_KEY", "s3cr3t")
    for metrics in ("/metrics", "http://elsewhere:80/metrics"):
        options: dict[str, Scalar] = {"key_env": "THE_KEY", "metrics": metrics}
        target = Target(runtime="openai", uri="http://127.0.0.1:9/v1/completions", options=options)
        company.Company(Case(name="words", target=target), None).start()
    assert [headers.get("Authorization") for headers in given] == ["Bearer s3cr3t", None]
