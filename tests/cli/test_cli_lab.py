"""`benchwright lab` and `run --lab` against a real server; a thread takes jobs from its queue as an agent does."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import page_server
from benchwright import LabRequest, run
from benchwright.errors import OptionError
from benchwright.events import Followed, Noted
from benchwright.records import Status
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore
from lab_stand_in import Lab, empty_queue, machines_at_work, serving_lab

WORDS = ["--samples", "3", "--rounds", "2"]
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serving_lab(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture
def here(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose store is the lab's server; what a test left in the queue is gone after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHWRIGHT_STORE", lab.url)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("benchwright.workflows.lab.follow.PAUSE", 0.05)
    (tmp_path / "tool.sh").write_text("exit 0\n")
    yield tmp_path
    empty_queue(lab)


@pytest.fixture
def working(lab: Lab) -> Iterator[Callable[..., None]]:
    with machines_at_work(lab) as begin:
        yield begin


def _submitted(told: Any) -> str:
    found = re.search(r"run (\d{8}T\d{9}-[0-9a-f]{6})", told.stdout + told.stderr)
    assert found, told.stderr
    return found[1]


def test_a_run_in_a_lab_ends_as_one_here_does(here: Path, inside: Call, working: Callable[..., None]) -> None:
    working("rack7")
    told = inside("run", "--lab", "cpu=*EPYC*", *WORDS, "--report", "report.html", "--", "sh", "tool.sh")
    assert told.returncode == 0, told.stderr
    assert "median latency" in told.stdout
    assert "1 job in the queue for rack7" in told.stderr
    assert (here / "report.html").is_file()
    shown = inside("lab", "fetch", _submitted(told), "--json")
    assert shown.returncode == 0
    document = json.loads(shown.stdout)
    assert document["kind"] == "run"
    data = document["data"]
    assert [one["round"] for one in data["results"]] == [0, 1]
    assert data["planned"] == 2
    assert inside("lab", "follow", _submitted(told)).returncode == 0


def test_a_case_that_failed_there_fails_the_run(here: Path, inside: Call, working: Callable[..., None]) -> None:
    working("rack7", Status.FAILED)
    told = inside("run", "--lab", "machine=rack7", *WORDS, "--", "sh", "tool.sh")
    assert told.returncode == 1
    assert "it went wrong" in told.stdout


def test_each_machine_measures_every_case(here: Path, lab: Lab, inside: Call, working: Callable[..., None]) -> None:
    working("rack7")
    working("rack8")
    told = inside("run", "--lab", "*", "--where", "each", *WORDS, "--json", "--", "sh", "tool.sh")
    assert told.returncode == 0, told.stderr
    results = json.loads(told.stdout)["data"]["results"]
    assert (
        sorted(one["environment"]["system"]["host"]["name"] for one in results) == ["lab:rack7"] * 2 + ["lab:rack8"] * 2
    )
    (parcel,) = {job.parcel for job in lab.store.lab.jobs(json.loads(told.stdout)["data"]["id"])}
    names = [Path(one["path"]).name for one in json.loads(lab.store.lab.parcel(parcel))["files"]]
    assert "tool.sh" in names


def test_who_does_not_wait_is_told_where_it_stands_and_can_cancel(here: Path, inside: Call) -> None:
    told = inside("run", "--lab", "machine=rack8", "--detach", "--priority", "7", *WORDS, "--", "sh", "tool.sh")
    assert told.returncode == 0, told.stderr
    name = _submitted(told)
    assert "queued, 1st" in told.stdout
    assert "rack8 takes it next" in told.stdout
    listed = inside("lab", "list")
    assert re.search(r"rack7\s+free", listed.stdout)
    assert "queue: 1 job" in listed.stdout
    changed = json.loads(inside("lab", "priority", name, "3", "--json").stdout)
    assert changed["kind"] == "lab-submission"
    assert changed["data"]["priority"] == 3
    early = inside("lab", "fetch", name)
    assert "not all of it: queued" in early.stderr
    stopped = json.loads(inside("lab", "cancel", name, "--json").stdout)["data"]
    assert stopped["state"] == "cancelled"
    assert inside("lab", "fetch", name).returncode == 130
    assert json.loads(inside("lab", "show", name, "--json").stdout)["data"]["jobs"][0]["state"] == "cancelled"


def test_a_selector_that_nothing_matches_names_what_is_nearest(here: Path, inside: Call) -> None:
    told = inside("run", "--lab", "cpu=*EPCY*", *WORDS, "--", "true")
    assert told.returncode == 2
    assert "no machine matches cpu=*EPCY*; nearest: rack7, but for cpu=*EPCY* (it is AMD EPYC 9654)" in told.stderr


@pytest.mark.parametrize(
    ("verb", "back", "state"),
    [("drain", "resume", "drained"), ("quarantine", "resume", "quarantined"), ("reserve", "release", "reserved")],
)
def test_a_machine_is_held_and_let_go(here: Path, inside: Call, verb: str, back: str, state: str) -> None:
    told = inside("lab", verb, "rack8", "--reason", "new fan", "--until", "2h", "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert document["kind"] == "lab-machine"
    assert document["data"]["state"] == state
    assert (document["data"]["reserved_until"] or document["data"]["until"]) > time.time() * 1000
    assert state in inside("lab", "list").stdout
    assert json.loads(inside("lab", back, "rack8", "--json").stdout)["data"]["state"] == "free"
    assert json.loads(inside("lab", "list", "--json").stdout)["kind"] == "lab"
    assert inside("lab").stdout == inside("lab", "list").stdout


def test_a_machine_that_will_not_come_back_is_forgotten(here: Path, lab: Lab, inside: Call) -> None:
    lab.machine("old")
    told = inside("lab", "forget", "old", "--json")
    assert told.returncode == 0, told.stderr
    assert "old" not in [one["name"] for one in json.loads(told.stdout)["data"]["machines"]]
    assert inside("lab", "forget", "old").returncode == 2
    lab.machine("old")
    assert inside("lab", "forget", "old").stdout == "old: forgotten\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lab", "drain", "rack9", "--reason", "x"], "no machine 'rack9'"),
        (["lab", "reserve", "rack7"], "a reservation needs an end"),
        (["lab", "drain", "rack7", "--reason", " "], "--reason: give 1 to 500 characters"),
        (["lab", "drain", "rack7"], "Missing option '--reason'"),
        (["lab", "reserve", "rack7", "--until", "2020-01-01"], "--until 2020-01-01 is over"),
        (["lab", "reserve", "rack7", "--until", "noon"], "--until: 'noon' is no instant"),
        (["lab", "priority", "nothing", "500"], "the priority 500 is out of range"),
        (["lab", "show", "nothing"], "no run, tag or commit 'nothing'"),
        (["lab", "list", "--store", "results.db"], "a lab is behind a server"),
        (["run", "--lab", "*", "--store", "results.db", "--", "true"], "a lab is behind a server"),
        (["run", "--lab", "cpu=", "--", "true"], "cpu= says nothing of cpu"),
        (["run", "--lab", "*", "--host", "local", "--", "true"], "--host and --lab exclude each other"),
        (["run", "--lab", "*", "--no-save", "--", "true"], "--no-save and --lab exclude each other"),
        (["run", "--lab", "*", "--priority", "500", "--", "true"], "the priority 500 is out of range"),
        (["run", "--detach", "--", "true"], "--detach is for a lab"),
    ],
)
def test_what_cannot_be_meant_is_refused(here: Path, inside: Call, words: list[str], told: str) -> None:
    answer = inside(*words)
    assert answer.returncode == 2
    assert told in answer.stderr


def test_python_has_the_same_door(here: Path, lab: Lab, working: Callable[..., None]) -> None:
    working("rack7")
    (here / "bench.py").write_text("def encode():\n    return sum(range(10))\n")
    heard: list[object] = []
    found = run("bench.py::encode", rounds=1, duration=0.01, lab="cpu=*epyc*", store=lab.url, listener=heard.append)
    assert found.ok
    assert [type(one) for one in heard if isinstance(one, Noted)] == [Noted]
    assert any("sending files" in one.text for one in heard if isinstance(one, Followed))
    working("rack8")  # which plans the code, whoever waits for results
    left = run("bench.py::encode", rounds=1, lab=LabRequest(selector="machine=rack8", detach=True), store=lab.url)
    assert left.results == ()
    with pytest.raises(OptionError, match="fork and lab exclude"):
        run("bench.py::encode", lab="*", fork=True)


@pytest.mark.parametrize(
    ("name", "times", "code", "said"),
    [
        ("tool.sh", 1, 0, "1 job in the queue"),
        ("tool.sh", 9, 2, "changed while it was sent"),
        ("other.log", 9, 0, "not sent, since somebody writes to it"),
    ],
)
def test_a_file_that_changes_while_it_is_sent_is_looked_at_again(
    here: Path, inside: Call, monkeypatch: pytest.MonkeyPatch, name: str, times: int, code: int, said: str
) -> None:
    from benchwright.workflows.lab.client import LabCaller

    (here / name).write_text("a new one\n")
    asked, left = LabCaller.missing, [*range(times)]

    def change(self: LabCaller, digests: Any) -> set[str]:
        if left:
            (here / name).write_text(f"changed {left.pop()}\n")
        return asked(self, digests)

    monkeypatch.setattr(LabCaller, "missing", change)
    told = inside("run", "--lab", "machine=rack8", "--detach", *WORDS, "--", "sh", "tool.sh")
    assert told.returncode == code, told.stderr
    assert said in told.stderr


def test_a_token_that_may_only_read_is_refused_before_anything_is_sent(tmp_path: Path, inside: Call) -> None:
    url = f"sqlite:///{tmp_path / 'guarded.db'}"
    settings = ServerSettings(store_url=url, artifacts=tmp_path, require_token=True)
    with contextmanager(page_server.serving)(settings) as server:
        store = SqlStore(url)
        token = store.token_add("looker", "read")
        store.close()
        at = server.replace("://", f"://{token}@")
        told = inside("run", "--lab", "*", "--store", at, "--", "true")
        assert told.returncode == 2
        assert "this token may read; to submit needs 'write'" in told.stderr
        assert inside("lab", "list", "--store", at).returncode == 0
        refused = inside("lab", "drain", "rack7", "--reason", "x", "--store", at)
        assert refused.returncode == 2
        assert "needs 'triage'" in refused.stderr
