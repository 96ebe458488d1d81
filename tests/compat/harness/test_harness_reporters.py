"""Files where the older harness puts them, without its races and without what it overwrote; and its screen."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness import local_reporter, reporters
from benchwright.compat.harness.documents import HarnessDocument
from benchwright.compat.harness.local_reporter import file_name, file_names
from benchwright.compat.harness.merge import merge_entries
from benchwright.compat.harness.summaries import SummaryRules
from benchwright.errors import DecodeError, UploadError

META = {
    "platform": "Linux 6.1/x86_64",
    "platform_hash": "box",
    "framework": "caffe2",
    "net_name": "tiny",
    "metric": "delay",
    "identifier": "0",
    "commit": "abc",
    "commit_time": 1521072000,
}
FOLDER = "Linux-6.1-x86_64/caffe2/tiny/delay/0/2018/3/15/abc"
_CHILD = """
import json, sys
from pathlib import Path
from benchwright.compat.harness import local_reporter
from benchwright.compat.harness.documents import HarnessDocument
sys.stdin.readline()
for number in range(20):
    print(local_reporter.write(Path(sys.argv[1]), HarnessDocument(**json.loads(sys.argv[2]))).name)
"""


def entry(*values: float) -> dict[str, Any]:
    return {"type": "NET", "metric": "latency", "unit": "us", "values": [*values]}


@pytest.fixture
def document() -> HarnessDocument:
    return HarnessDocument(meta=dict(META), data=merge_entries({"NET latency": entry(18, 10, 14, 12, 16)}).data)


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock nine hours ahead."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_layout(tmp_path: Path, document: HarnessDocument) -> None:
    path = local_reporter.write(tmp_path, document)
    assert path == tmp_path / FOLDER / "0"
    assert names(path) == ["NET-latency.txt", "benchwright.json", "meta.txt"]
    written = json.loads((path / "NET-latency.txt").read_text())
    assert written == document.data["NET latency"] and written["values"] == [18, 10, 14, 12, 16]
    assert json.loads((path / "meta.txt").read_text()) == META
    assert json.loads((path / "benchwright.json").read_text()) == {"meta": META, "data": document.data}
    again = local_reporter.write(tmp_path, document)
    assert again == tmp_path / FOLDER / "1" and names(tmp_path) == ["Linux-6.1-x86_64"]


def test_the_first_free_number_is_taken_and_nothing_is_overwritten(tmp_path: Path, document: HarnessDocument) -> None:
    for name in ("0", "2"):
        (tmp_path / FOLDER / name).mkdir(parents=True)
    (tmp_path / FOLDER / "1").write_text("a file")
    assert local_reporter.write(tmp_path, document) == tmp_path / FOLDER / "3"
    assert list((tmp_path / FOLDER / "0").iterdir()) == [] and (tmp_path / FOLDER / "1").read_text() == "a file"


def test_processes_do_not_take_one_number_twice(tmp_path: Path, document: HarnessDocument) -> None:
    text = json.dumps({"meta": document.meta, "data": document.data})
    command = [sys.executable, "-c", _CHILD, str(tmp_path), text]
    pipe = subprocess.PIPE
    children = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for child in children:  # both wait for their line: they write at the same time
        assert child.stdin
        child.stdin.write("\n")
        child.stdin.flush()
    numbers = [number for child in children for number in child.communicate(timeout=60)[0].split()]
    assert sorted(map(int, numbers)) == [*range(40)]
    assert all(len(names(tmp_path / FOLDER / number)) == 3 for number in numbers)


@pytest.mark.usefixtures("far_east")
def test_the_date_is_that_of_utc(tmp_path: Path, document: HarnessDocument) -> None:
    late = HarnessDocument(meta=document.meta | {"commit_time": "1521158399.5"}, data=document.data)
    assert local_reporter.write(tmp_path, late) == tmp_path / FOLDER / "0"
    with pytest.raises(DecodeError, match="not a time"):
        local_reporter.write(
            tmp_path, HarnessDocument(meta=document.meta | {"commit_time": "noon"}, data=document.data)
        )


def test_names_that_would_meet_or_lead_out(tmp_path: Path, document: HarnessDocument) -> None:
    data = {key: entry(1.0) for key in ("meta", "a b", "a-b", "../../x", "..", "é", "x" * 400)}
    meta = document.meta | {"identifier": "../../..", "net_name": "..", "platform": "/"}
    path = local_reporter.write(tmp_path, HarnessDocument(meta=meta, data=data))
    assert path is not None and path.parent == tmp_path / "-/caffe2/--/delay/..-..-../2018/3/15/abc"
    assert len(names(path)) == len(data) + 2 and json.loads((path / "meta.txt").read_text()) == meta
    assert {"a-b.txt", "a-b-2.txt", "meta-2.txt", "..-..-x.txt", "--.txt"} < set(names(path))


def test_file_names() -> None:
    assert file_name("Conv:0 a\\b/c(d)_e.f") == "Conv-0-a-b-cd_e.f"
    assert file_names(["a b", "a:b", "a-b-2"]) == {"a b": "a-b", "a:b": "a-b-2", "a-b-2": "a-b-2-2"}


def test_a_test_without_values_has_its_meta_data_and_trouble_is_told(tmp_path: Path, document: HarnessDocument) -> None:
    empty = HarnessDocument(meta=document.meta, data={})
    assert names(local_reporter.write(tmp_path / "whole", empty)) == ["benchwright.json", "meta.txt"]
    simple = local_reporter.write_simple(tmp_path / "simple", empty)
    assert json.loads(simple.read_text()) == {
        "meta": {"treatment_diff": "", "treatment_version": "", "treatment_commit": "abc"}
    }
    (tmp_path / "file").write_text("")
    for write in (local_reporter.write, local_reporter.write_simple):
        with pytest.raises(UploadError, match="file"):
            write(tmp_path / "file", document)


def test_numbers_that_json_cannot_say(tmp_path: Path, document: HarnessDocument) -> None:
    path = local_reporter.write(tmp_path, HarnessDocument(meta=document.meta, data={"x": entry(float("nan"), 1.0)}))
    assert path is not None and json.loads((path / "x.txt").read_text())["values"] == [None, 1.0]


def test_the_simple_one_replaces_its_own_file_only(tmp_path: Path, document: HarnessDocument) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "mine.txt").write_text("kept")
    (tmp_path / "0" / "data.txt").write_text("old")
    path = local_reporter.write_simple(tmp_path, document)
    assert path == tmp_path / "0" / "data.txt"
    built = {"treatment_diff": "", "treatment_version": "", "treatment_commit": "abc"}
    assert json.loads(path.read_text()) == {**document.data, "meta": built}
    meta = {**document.meta, "treatment_version": "v2", "control_diff": "D1", "control_commit": "old"}
    local_reporter.write_simple(tmp_path, HarnessDocument(meta=meta, data={}))
    sides = {"treatment_version": "v2", "control_diff": "D1", "control_commit": "old"}
    assert json.loads(path.read_text()) == {"meta": {**built, **sides}}
    assert names(tmp_path / "0") == ["data.txt", "mine.txt"]


@pytest.mark.usefixtures("far_east")
def test_the_screen(document: HarnessDocument) -> None:
    data = merge_entries(
        {
            "Conv latency": {**entry(1.0), "type": "Conv", "values": [], "summary": {"mean": 2.0, "stdev": 0.5}},
            "Add op_args": {"type": "Add", "metric": "op_args", "info_string": "axis=1"},
            "NET latency": entry(18, 10, 14, 12, 16),
        },
        {"NET latency": entry(9, 5, 7, 6, 8)},
    ).data
    assert reporters.screen_text(HarnessDocument(meta=document.meta, data=data)).splitlines() == [
        "NET: tiny\tMETRIC: delay\tID: 0",
        "PLATFORM: Linux 6.1/x86_64\tHASH: box",
        "FRAMEWORK: caffe2\tCOMMIT: abc\tTIME: 2018-03-15 09:00:00",
        "NET latency: value median 14.00000  MAD: 2.00000",
        "NET latency: diff median 7.00000  MAD: 1.00000",
        "Add op_args: axis=1",
        "Conv latency: value mean 2.00000  stdev: 0.50000",
    ]
    assert json.loads(reporters.simple_screen_text(document)) == document.entries


def test_the_seeds_screen(document: HarnessDocument) -> None:
    data = merge_entries(
        {"NET_DELAY": {"type": "NET_DELAY", "values": [1.5]}, "conv": {"values": [0.7]}}, rules=SummaryRules.SEED
    ).data
    lines = reporters.screen_text(HarnessDocument(meta=document.meta, data=data), rules=SummaryRules.SEED).splitlines()
    assert lines[3:] == [
        "conv: value p0: 0.70  p10: 0.70  p50: 0.70  p90: 0.70  p100: 0.70",
        "NET_DELAY: value p0: 1.50  p10: 1.50  p50: 1.50  p90: 1.50  p100: 1.50",
    ]
