"""`benchwright harness --lab`: FAI-PEP's run_remote.py against a real server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness import lab_flags
from benchwright.errors import OptionError
from lab_stand_in import Lab, empty_queue, machines_at_work, serving_lab

Call = Callable[..., Any]
INFO = json.dumps(
    {
        "treatment": {"commit": "new", "commit_time": 1521072000, "program": "harness/sort_words.py"},
        "control": {"commit": "old", "program": "harness/sort_words.py"},
    }
)
SUBMIT = ["harness", "--lab", "-b", "harness/spec.json", "--framework", "generic", "--platform", "host"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serving_lab(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture
def here(lab: Lab, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("BENCHWRIGHT_STORE", lab.url)
    monkeypatch.setattr("benchwright.workflows.lab.follow.PAUSE", 0.05)
    shutil.copytree(root / "examples" / "harness", tmp_path / "harness")
    yield tmp_path
    empty_queue(lab)


def test_every_device_that_is_named_measures_treatment_and_control(here: Path, lab: Lab, inside: Call) -> None:
    with machines_at_work(lab) as begin:
        begin("rack7")
        begin("rack8")
        told = inside(
            *SUBMIT,
            "--info",
            INFO,
            "--devices",
            "rack7,rack8",
            "--user_identifier",
            "4711",
            "--local_reporter",
            "reports",
        )
    assert told.returncode == 0, told.stderr
    documents = json.loads(told.stdout)
    assert sorted(one["meta"]["platform_hash"] for one in documents) == ["lab:rack7", "lab:rack8"]
    assert all("diff_summary" in entry for one in documents for entry in one["data"].values())
    assert len(list((here / "reports").rglob("meta.txt"))) == 2
    assert "4 jobs in the queue for rack7, rack8" in told.stderr
    again = inside("harness", "--lab", "--fetch_result", "--user_identifier", "4711")
    assert json.loads(again.stdout) == documents
    assert "4711: done: 4 of 4 done" in inside("harness", "--lab", "--fetch_status", "--user_identifier", "4711").stdout


def test_who_does_not_wait_can_ask_and_cancel(here: Path, inside: Call) -> None:
    told = inside(*SUBMIT, "--info", INFO, "--hashes", "rack8", "--async_submit", "--user_identifier", "12")
    assert told.returncode == 0, told.stderr
    (here / "ids").write_text("12\n")
    status = json.loads(inside("harness", "--lab", "--fetch_status", "--user_identifier", "12", "--json").stdout)
    assert [job["machine"] for job in status["jobs"]] == ["rack8", "rack8"]
    assert "12: cancelled" in inside("harness", "--lab", "--kill", "ids").stderr
    assert inside("harness", "--lab", "--fetch_result", "--user_identifier", "12").returncode == 1


def test_the_lab_is_listed_in_the_words_of_before(here: Path, lab: Lab, inside: Call) -> None:
    listed = json.loads(inside("harness", "--lab", "--list_devices", "--json", "--server_addr", lab.url).stdout)
    assert [(one["kind"], one["hash"], one["status"]) for one in listed] == [
        ("host", "rack7", "free"),
        ("host", "rack8", "free"),
    ]
    assert json.loads(inside("harness", "--lab", "--query_num_devices", "rack*").stdout) == {"rack*": 2}
    assert "rack7" in inside("harness", "--remote", "--list_devices").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--claimer_id", "x"], "benchwright agent"),
        (["--token", "secret"], "BENCHWRIGHT_TOKEN"),
        (["--adhoc"], "no specs in the package"),
        (["--fetch_status"], "needs --user_identifier"),
        (["--list_devices", "--list_job_queues"], "exclude each other"),
        (["--user_identifier", "me"], "is not a whole number"),
        (["--devices", "a,b", "--hashes", "c"], "different numbers of devices"),
        (["--kill", "nowhere"], "--kill nowhere"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(OptionError) as refused:
        lab_flags.parse(["--lab", *words])
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("words", "platform", "selector"),
    [
        ([], "host", "kind=host"),
        (["--devices", "rack7,rack8"], "linux/clang", "kind=host,machine=rack7|rack8"),
        (["--devices", "pixel*"], "android", "kind=phone,device=pixel*"),
        (["--hashes", "R58"], "android", "kind=phone,machine=*R58"),
        (["--job_queue", "perf"], "host", "kind=host,job_queue=perf"),
        (["--job_queue", "aibench_interactive"], "", "*"),
    ],
)
def test_the_flags_of_before_are_a_selector(words: list[str], platform: str, selector: str) -> None:
    assert lab_flags.parse(["--lab", *words])[0].selector_for(platform) == selector
    also = lab_flags.parse(["--lab", "team=vision", *words])[0].selector_for(platform)
    assert also == (f"team=vision,{selector}" if selector != "*" else "team=vision")


def test_a_flag_that_wired_the_server_is_said_to_do_nothing(here: Path, inside: Call) -> None:
    told = inside("harness", "--lab", "--list_devices", "--benchmark_db", "django", "--cache_config", "c.json")
    assert "--benchmark_db does nothing here: the server has one database" in told.stderr
    assert "--cache_config does nothing here" in told.stderr
