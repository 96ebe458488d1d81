import csv
import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.records import Run
from benchwright.store import open_store
from sample_runs import make_run

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two runs."""
    path = tmp_path / "results.db"
    opened = open_store(path)
    opened.add_run(make_run("01AAAA", calls=200))
    opened.add_run(make_run("01BBBB", calls=200, seed=8))
    opened.close()
    return path


@pytest.fixture
def show(inside: Call) -> Call:
    """`show(folder, "last")` is what the verb does in that folder."""
    return lambda folder, *arguments: inside("show", *arguments, cwd=folder)


def test_the_last_run_by_default(store: Path, show: Call) -> None:
    done = show(store.parent, "--store", str(store))
    assert done.returncode == 0, done.stderr
    assert "median latency" in done.stdout and "Run 01BBBB" in done.stdout and "\x1b" not in done.stdout
    assert done.stderr == ""


def test_a_reference_and_json(store: Path, show: Call) -> None:
    done = show(store.parent, "last~1", "--store", str(store), "--json")
    assert schema.loads(done.stdout, Run).id == "01AAAA"
    assert schema.loads(done.stdout, Run).results[0].samples == ()
    with_samples = show(store.parent, "01A", "--store", str(store), "--json", "--raw-samples").stdout
    assert schema.loads(with_samples, Run) == make_run("01AAAA", calls=200)


def test_a_file_needs_no_store(tmp_path: Path, show: Call) -> None:
    (tmp_path / "run.jsonl").write_text(schema.dumps(make_run("01CCCC", calls=50)) + "\n")
    done = show(tmp_path, "run.jsonl")
    assert done.returncode == 0 and "Run 01CCCC" in done.stdout
    assert not (tmp_path / ".benchwright").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "markdown"], "| case | runtime |"),
        (["--plot"], "600 calls, ms"),
        (["--worker-log"], "loading shard 0"),
        (["--raw-samples"], "latency_ns,end_ns"),
    ],
)
def test_forms(store: Path, arguments: list[str], words: str, show: Call) -> None:
    done = show(store.parent, "--store", str(store), *arguments)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


def test_csv(store: Path, show: Call) -> None:
    done = show(store.parent, "--store", str(store), "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {line["run"] for line in lines} == {"01BBBB"} and {line["status"] for line in lines} == {"ok", "failed"}


def test_two_formats_at_once_are_a_wrong_request(store: Path, show: Call) -> None:
    done = show(store.parent, "--store", str(store), "--format", "csv", "--json")
    assert done.returncode == 2 and "--json and --format csv" in done.stderr and done.stdout == ""
    assert show(store.parent, "--store", str(store), "--format", "json", "--json").returncode == 0


def test_an_ascii_terminal_gets_plots_in_ascii(store: Path) -> None:
    command = [sys.executable, "-m", "benchwright", "show", "--store", str(store), "--plot"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"@@@" in done.stdout and b"\\u" not in done.stdout


def test_an_unknown_run_is_a_wrong_request(store: Path, show: Call) -> None:
    done = show(store.parent, "nothing", "--store", str(store))
    assert done.returncode == 2 and "nothing" in done.stderr and "Traceback" not in done.stderr
    missing = show(store.parent, "missing.jsonl")
    assert missing.returncode == 2 and "no such file" in missing.stderr


def test_a_terminal_gets_colour_and_a_pipe_does_not(store: Path) -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "benchwright", "show", "--store", str(store)]
    with subprocess.Popen(command, stdout=follower, env=environment) as process:
        os.close(follower)
        output = b""
        while chunk := _read(leader):
            output += chunk
    os.close(leader)
    assert process.returncode == 0
    assert b"\x1b[32m" in output and b"median latency" in output


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scaling", "--operators"], "--scaling and --operators are two views"),
        (["--top", "3"], "--top belongs to --operators\n  add --operators"),
        (["--smallest", "1%", "--scaling"], "--smallest belongs to --operators"),
        (["--objective", "p99<2ms"], "--objective belongs to --scaling"),
        (["-o", "x.png"], "--output belongs to --scaling or --operators"),
        (["last~1", "last"], "a second run (last) belongs to --operators"),
        (["--operators", "--plot"], "--plot does not belong to --operators"),
        (["--scaling", "--format", "csv"], "--format does not belong to --scaling"),
    ],
)
def test_a_flag_of_another_view_is_refused(store: Path, show: Call, arguments: list[str], words: str) -> None:
    done = show(store.parent, *arguments, "--store", str(store))
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and "Traceback" not in done.stderr


def test_requests_around_an_instant(served_sweep: Run, tmp_path: Path, show: Call) -> None:
    path = tmp_path / "served.db"
    opened = open_store(path)
    opened.add_run(served_sweep)
    opened.close()
    instant = max(end for result in served_sweep.results for end in result.samples[0].columns["end"]) / 2e9
    done = show(tmp_path, "--store", str(path), "--around", f"{instant:.4f}s")
    assert done.returncode == 0, done.stderr
    assert "requests nearest to" in done.stdout and "slowest requests" not in done.stdout
    refused = show(tmp_path, "--store", str(path), "--around", "soon")
    assert refused.returncode == 2 and "--around" in refused.stderr


def test_around_an_instant_needs_requests(store: Path, show: Call) -> None:
    refused = show(store.parent, "--store", str(store), "--around", "1")
    assert refused.returncode == 2 and "the run holds no requests" in refused.stderr
