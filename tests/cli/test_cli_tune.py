"""`benchwright tune`: the answer in words and as JSON, the winner again, settings, cutting off and going on."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import onnx
import pytest

import make_model
from benchwright import schema
from benchwright.cli.progress import ProgressLine
from benchwright.events import Planned, Raced, Reached
from benchwright.records import Run, Status
from benchwright.store import open_store

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]

FAKE = "fake:constant?clock=virtual"
RACE = ("tune", FAKE, "--option", "latency=1ms,2ms", "--batch-size", "1..2", "--samples", "5", "--warmup", "0")
HOLDING = """
import os
import time
from pathlib import Path

def bench(size):
    Path(f"begun{os.getpid()}").touch()
    while Path("hold").exists() and len(list(Path().glob("begun*"))) >= 3:
        time.sleep(0.01)
    time.sleep(0.004 * size)
"""
HELD = ("tune", "bench.py::bench", "--param", "size=1,2,3", "--minimize", "p50", "--samples", "5", "--warmup", "0")


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


def _kept(folder: Path, name: str = "last") -> Run:
    with closing(open_store(folder / ".benchwright" / "results.db")) as store:
        return store.run(store.find(name))


def test_the_answer_in_words_and_the_winner_again(benchwright: Benchwright, tmp_path: Path) -> None:
    done = benchwright(*RACE, "--maximize", "throughput", "--plot", "--report", "race.html")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # in a pipe no progress is told
    assert "Winner: batch_size=2 latency=1ms: throughput 2.00 k/s" in done.stdout
    assert "within 2 % of the best of the 4 configurations that were raced" in done.stdout
    assert "Left the race: 3" in done.stdout and "worse at least than the winner" in done.stdout
    assert "◆" in done.stdout and "throughput (up) against p99 (right)" in done.stdout
    run = _kept(tmp_path)
    assert run.command[:3] == ("benchwright", "tune", FAKE)

    (line,) = [line.removeprefix("Again: ") for line in done.stdout.splitlines() if line.startswith("Again: ")]
    again = benchwright(*shlex.split(line)[1:], "--rounds", "1", "--tag", "again")
    assert again.returncode == 0, again.stderr
    repeated = _kept(tmp_path, "again").results[0]
    assert repeated.case.inputs.batch_size == 2 and repeated.case.target.options == {"latency": "1ms"}
    keys = {schema.case_key(result.case) for result in run.results}
    assert schema.case_key(repeated.case) in keys  # so that history and compare know both

    page = (tmp_path / "race.html").read_text(encoding="utf-8")
    assert "<h2>Race</h2>" in page and "Who was in the race" in page and "Winner: batch_size=2" in page
    shown = benchwright("show", run.id, "--plot")
    assert "Winner: batch_size=2 latency=1ms" in shown.stdout and "◆" in shown.stdout
    assert benchwright("compare", run.id, run.id).returncode == 0
    assert "batch_size" in benchwright("history", FAKE).stdout


def test_json_has_the_question_the_answer_and_every_cell(benchwright: Benchwright) -> None:
    done = benchwright(*RACE, "--json", "--objective", "p99<5ms")
    data = json.loads(done.stdout)["data"]
    assert data["winner"]["settings"] == {"batch_size": 2, "latency": "1ms"}
    assert data["question"]["bounds"] == [{"metric": "latency_p99", "relation": "<", "limit": 0.005, "unit": ""}]
    assert 0.9 < data["overall"] <= data["probability"] <= 1
    assert [cell["settings"]["batch_size"] for cell in data["cells"]] == [1, 1, 2, 2]
    assert all(cell["processes"] == 0 or cell["first_block"] is not None for cell in data["cells"])
    assert data["winner"]["metrics"]["throughput"]["point"] == pytest.approx(2000)


def test_exported_settings_are_taken_by_benchwright_toml(benchwright: Benchwright, tmp_path: Path) -> None:
    assert benchwright(*RACE, "--export", "best.toml").returncode == 0
    assert benchwright(*RACE, "--no-save", "--export", "best.toml").returncode == 0  # a race may replace its own
    (tmp_path / "best.toml").rename(tmp_path / "benchwright.toml")
    done = benchwright("run", "--rounds", "1", "--tag", "tuned")
    assert done.returncode == 0, done.stderr
    case = _kept(tmp_path, "tuned").results[0].case
    assert case.inputs.batch_size == 2 and case.target.options == {"latency": "1ms"} and case.load.samples == 5
    benchwright("run", "--batch-size", "8", "--rounds", "1", "--tag", "other")
    other = _kept(tmp_path, "other").results[0].case
    assert other.inputs.batch_size == 8 and other.target.options == {"latency": "1ms"}  # a flag comes before


def test_an_exported_spec_runs(benchwright: Benchwright, tmp_path: Path) -> None:
    onnx.save(make_model.make("tiny"), str(tmp_path / "tiny.onnx"))
    done = benchwright(
        *("tune", "tiny.onnx", "--runtime", "onnxruntime", "--option", "intra_op_num_threads=1,2"),
        *("--samples", "3", "--warmup", "0", "--rounds", "2", "--export", "best.yaml", "--objective", "p99<10s"),
    )
    assert done.returncode == 0, done.stderr
    again = benchwright("run", "best.yaml", "--rounds", "1", "--samples", "3", "--tag", "spec")
    assert again.returncode == 0, again.stderr
    case = _kept(tmp_path, "spec").results[0].case
    assert case.target.runtime == "onnxruntime" and case.target.options["intra_op_num_threads"] in (1, 2)


def _cut_off(folder: Path, number: int) -> tuple[int, str]:
    """Begins a race, and sends it a signal when its third process measures; its exit code and what it said."""
    (folder / "hold").touch()
    command = [sys.executable, "-m", "benchwright", *HELD]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list(folder.glob("begun*"))) < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, number)
    said, _ = process.communicate(timeout=60)
    (folder / "hold").unlink()
    return process.returncode, said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)], ids=["kill -9", "Ctrl-C"])
def test_a_race_that_was_cut_off_goes_on_by_its_own_command_line(
    number: int, code: int, benchwright: Benchwright, tmp_path: Path
) -> None:
    (tmp_path / "bench.py").write_text(HOLDING, encoding="utf-8")
    ended, said = _cut_off(tmp_path, number)
    assert ended == code
    refused = benchwright("run", "--resume", "last")
    assert refused.returncode == 2 and "benchwright tune --resume" in refused.stderr
    if code == 130:
        assert "Given up: interrupted" in said and "Go on: benchwright tune --resume 2" in said
    else:
        assert "Not decided: it was stopped, or it goes on" in benchwright("show", "last").stdout
    begun = _kept(tmp_path)
    before = [result for result in begun.results if result.status is Status.OK]
    assert begun.race is not None and len(before) == 2
    done = benchwright("tune", "--resume", "last")
    assert done.returncode == 0, done.stderr
    assert "Winner: size=1" in done.stdout
    after = _kept(tmp_path)
    assert after.id == begun.id
    assert [result for result in after.results if result.id in {one.id for one in before}] == before
    assert all(result.status is Status.OK for result in after.results)  # what was cut off was measured anew
    assert len({(result.case.params["size"], result.round) for result in after.results}) == len(after.results)


def test_no_feasible_case_ends_with_1(benchwright: Benchwright) -> None:
    done = benchwright(*RACE, "--objective", "p99<0.5ms")
    assert done.returncode == 1
    assert "No configuration keeps every objective" in done.stdout
    assert "latency_p99 < 500 µs rules out 4 of 4; the nearest is" in done.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "name a target"),
        ((FAKE, "--batch-size", "8..1"), "--batch-size: '8..1' goes down"),
        ((FAKE, "--batch-size", "1..4096:1", "--copies", "1,2"), "more than 1000 values"),
        ((FAKE, "--option", "latency"), "is not NAME=VALUE"),
        ((FAKE, "--within", "0%"), "--within"),
        ((FAKE, "--budget", "soon"), "--budget"),
        ((FAKE, "--budget", "10m,5USD"), "--budget is for machines that are leased"),
        ((FAKE, "--export", "best.ini"), "--export: best.ini ends in none of"),
        ((FAKE, "--minimize", "cost_per_million"), "add --price"),
        ((FAKE, "--resume", "last"), "no such store"),
        (("--resume", "last"), "no such store"),
    ],
    ids=str,
)
def test_a_wrong_question_is_refused_with_2(
    words: tuple[str, ...], why: str, benchwright: Benchwright, tmp_path: Path
) -> None:
    done = benchwright("tune", *words)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_no_race_wrote_is_not_replaced(benchwright: Benchwright, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("rounds = 3\n")
    done = benchwright(*RACE, "--export", "mine.toml")
    assert done.returncode == 2 and "no race wrote it" in done.stderr
    assert (tmp_path / "mine.toml").read_text() == "rounds = 3\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_line_tells_who_leads_who_left_and_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    stream = _Terminal()
    line = ProgressLine(stream)
    line(Planned(total=60))
    line(
        Raced(
            leader="batch_size=8 2.00 k/s",
            probability=0.93,
            racing=3,
            left=9,
            last="batch_size=1: 50 % worse at least than the winner, after 2 processes",
            seconds=95.0,
        )
    )
    line(Reached(index=0, phase="measuring"))
    told = stream.getvalue()
    assert "[1 of at most 60] measuring, 95 s left: batch_size=8 2.00 k/s leads (93 %)" in told
    assert "3 in the race, 9 out; last batch_size=1: 50 % worse" in told
    pipe = io.StringIO()
    quiet = ProgressLine(pipe)
    quiet(Planned(total=60))
    quiet(Raced(leader="", probability=0.0, racing=3, left=0, last="", seconds=None))
    quiet(Reached(index=0, phase="measuring"))
    assert pipe.getvalue() == ""
