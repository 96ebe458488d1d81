import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.store import open_store
from sample_runs import make_run

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in its usual place, and an exported run."""
    store = open_store(tmp_path / ".benchwright" / "results.db")
    store.add_run(make_run("01AAAA", calls=200))
    store.close()
    (tmp_path / "other.jsonl").write_text(schema.dumps(make_run("01BBBB", calls=200, slower=1.3)) + "\n")
    return tmp_path


@pytest.fixture
def report(inside: Call) -> Call:
    """`report(folder, "last")` is what the verb does in that folder."""
    return lambda folder, *arguments: inside("report", *arguments, cwd=folder)


def test_the_last_run_under_the_usual_name(folder: Path, report: Call) -> None:
    done = report(folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wrote benchwright-report.html (")
    assert "01AAAA" in (folder / "benchwright-report.html").read_text()
    assert report(folder).returncode == 0  # our own file may be replaced


def test_several_runs_from_the_store_and_from_files(folder: Path, report: Call) -> None:
    done = report(folder, "last", "other.jsonl", "-o", "both.html", "--json")
    assert json.loads(done.stdout)["data"] == {"written": ["both.html"]}
    assert "01BBBB (nightly) against 01AAAA (nightly)" in (folder / "both.html").read_text()


def test_plots_as_files(folder: Path, report: Call) -> None:
    done = report(folder, "--svg", "plots")
    assert done.returncode == 0
    assert (folder / "plots" / "01AAAA-percentiles.svg").read_text().startswith("<svg")


def test_a_strange_file_is_not_overwritten(folder: Path, report: Call) -> None:
    (folder / "mine.html").write_text("mine")
    done = report(folder, "-o", "mine.html")
    assert done.returncode == 2 and "Benchwright did not write it" in done.stderr and "--force" in done.stderr
    assert (folder / "mine.html").read_text() == "mine"
    assert report(folder, "-o", "mine.html", "--force").returncode == 0
    assert (folder / "mine.html").read_text() != "mine"


@pytest.mark.parametrize(
    ("path", "words"), [(".", "'.' is a folder; name a file"), ("none/x.html", "there is no folder none")]
)
def test_a_place_that_takes_no_file_is_a_wrong_request(folder: Path, path: str, words: str, report: Call) -> None:
    done = report(folder, "last", "-o", path)
    assert done.returncode == 2 and words in done.stderr and "-o" in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_run_writes_nothing(folder: Path, report: Call) -> None:
    done = report(folder, "nothing")
    assert done.returncode == 2 and not (folder / "benchwright-report.html").exists()
