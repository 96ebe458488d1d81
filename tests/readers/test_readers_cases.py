"""What was found once stays found: files that ended in a traceback, with the sentence that they end in now."""

from __future__ import annotations

import gzip
import json
from array import array
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from benchwright.schema.parsing import pack_int64
from readers import seeds

Inside = Callable[..., CompletedProcess[str]]
LONG, LONGER = "9" * 400, "9" * 5000
DEEP = "[" * 3000 + "]" * 3000
TASK = '[tasks.a]\ncommand = "true"\n'
FORMATS = (("csv",), ("markdown",), ("perfzero",), ("harness",), ("json",))


def changed(**fields: Any) -> str:
    """The document of a run, with a change in its first result."""
    data = json.loads(seeds.document()[0])
    first = data["data"]["results"][0]
    for place, value in fields.items():
        holder, *path = [first, *place.split("__")]
        for name in path[:-1]:
            holder = holder[int(name) if name.isdigit() else name]
        holder[path[-1]] = value
    return json.dumps(data)


TABLE: dict[str, tuple[str, str, tuple[str, ...], str]] = {  # name -> file, content, verb, what is said
    "settings with 400 digits": ("benchwright.toml", f"duration = {LONG}", ("list",), "more than 100 digits"),
    "settings with 5,000 digits": ("benchwright.toml", f"rounds = {LONGER}", ("list",), "more than 100 digits"),
    "settings 3,000 deep": ("benchwright.toml", f"tags = {DEEP}", ("list",), "more than 100 deep"),
    "settings with a long key": ("benchwright.toml", "a." * 3000 + "a = 1", ("list",), "more than 100 deep"),
    "tasks with 400 digits": (
        "t.toml",
        f"{TASK}timeout = {LONG}",
        ("tasks", "check", "t.toml"),
        "more than 100 digits",
    ),
    "tasks with 5,000 digits": (
        "t.toml",
        f"{TASK}timeout = {LONGER}",
        ("tasks", "check", "t.toml"),
        "more than 100 dig",
    ),
    "tasks 3,000 deep": ("t.toml", f"{TASK}patterns = {DEEP}", ("tasks", "check", "t.toml"), "more than 100 deep"),
    "lines with 400 digits": ("r.jsonl", changed(round=int(LONG)), ("import", "r.jsonl"), "r.jsonl:1: a whole number"),
    "lines with 5,000 digits": (
        "r.jsonl",
        changed(round=5).replace('"round": 5', f'"round": {LONGER}'),
        ("import", "r.jsonl"),
        "more than 100 digits",
    ),
    "lines 3,000 deep": (
        "r.jsonl",
        changed(details="@").replace('"@"', DEEP),
        ("import", "r.jsonl"),
        "more than 100 deep",
    ),
    "a document with 400 digits": ("r.json", changed(duration=int(LONG)), ("show", "r.json"), "more than 100 digits"),
    "a document 3,000 deep": ("r.json", DEEP, ("show", "r.json"), "more than 100 deep"),
    "a round of 2^63": (
        "r.json",
        changed(round=2**63),
        ("show", "r.json"),
        "results[0].round: 9.2234e+18 is a number of",
    ),
    "a confidence of 2^63": (
        "r.json",
        changed(metrics__0__estimate__confidence=2**63),
        ("show", "r.json"),
        "results[0].metrics[0].estimate: confidence 9.22337e+18 is not between 0 and 1",
    ),
    "columns of unequal length": (
        "r.json",
        changed(samples__0__columns__end=pack_int64(array("q", [1]))),
        ("show", "r.json", "--samples"),
        "results[0].samples[0]: columns of 1 and of 4 values",
    ),
    "a timeline of unequal length": (
        "r.json",
        changed(timelines__0__values=[1.0]),
        ("report", "r.json"),
        "results[0].timelines[0]: 1 values at 2 instants",
    ),
    "a value of 1e308, as PerfZero wrote them": (
        "r.json",
        changed(metrics__0__estimate__point=1e308),
        ("show", "r.json", "--format", "perfzero"),
        "results[0].metrics[0].estimate: 1e+308 is larger than anything that is measured",
    ),
    "values of 1e308, as FAI-PEP wrote them": (
        "r.json",
        changed(metrics__0__values=[1e308, 1e308]),
        ("show", "r.json", "--format", "harness"),
        "results[0].metrics[0]: 1e+308 is larger than anything that is measured",
    ),
    "a bucket beyond any value": (
        "r.json",
        changed(samples__0__histograms__latency__counts={"9" * 30: 1}),
        ("show", "r.json"),
        "no value of 64 bits",
    ),
    "google-benchmark 3,000 deep": ("g.json", DEEP, ("import", "g.json", "--format", "google-benchmark"), "100 deep"),
    "pyperf with 5,000 digits": ("p.json", f'{{"a": {LONGER}}}', ("import", "p.json"), "more than 100 digits"),
    "asv with an absurd instant": (
        "a.json",
        '{"version": 2, "commit_hash": "a", "date": 1e300, "results": {}}',
        ("import", "a.json", "--format", "asv"),
        "",
    ),
    "asv with more combinations than memory holds": (
        "a.json",
        json.dumps(
            {
                "version": 2,
                "commit_hash": "a",
                "date": 1,
                "result_columns": ["result", "params"],
                "results": {"time_a": [[1.0], [["1"] * 100] * 6]},
            }
        ),
        ("import", "a.json", "--format", "asv"),
        "has 1,000,000,000,000 combinations, more than 100,000",
    ),
    "a spec with a name that no file has": (
        "s.yaml",
        f"benchwright: 1\nmodel: {{name: a, files: {{model: {'a' * 5000}}}}}\ntests: []\n",
        ("spec", "check", "s.yaml"),
        "s.yaml",
    ),
    "packed lines that are cut off": ("r.jsonl.gz", "", ("import", "r.jsonl.gz"), "it is cut off"),
}


@pytest.mark.parametrize("name", TABLE)
def test_it_ends_in_a_sentence(name: str, tmp_path: Path, inside: Inside) -> None:
    file, content, verb, said = TABLE[name]
    body = gzip.compress(seeds.lines()[0])[:-50] if file.endswith(".gz") else content.encode()
    (tmp_path / file).write_bytes(body)
    done = inside(*verb)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert len(done.stderr) < 2000 and "Traceback" not in done.stderr


@pytest.mark.parametrize("form", FORMATS, ids="-".join)
@pytest.mark.parametrize("value", [1e150, -1e150, 5e-324, 0.0])
def test_the_largest_numbers_can_be_shown(form: tuple[str, ...], value: float, tmp_path: Path, inside: Inside) -> None:
    estimate = {"point": value, "low": value, "high": value, "confidence": 0.95, "method": "m"}
    metrics = [
        {"name": name, "unit": unit, "better": "lower", "estimate": estimate, "count": 3, "values": [value] * 3}
        for name, unit in (("latency", "s"), ("latency_p50", "s"), ("throughput", "/s"), ("wall_time", "s"))
    ]
    (tmp_path / "r.json").write_text(changed(metrics=metrics, duration=value))
    done = inside("show", "r.json", "--format", *form)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", ["\ud800", "a\0b", "\u202e"])
@pytest.mark.parametrize("form", [*FORMATS, ("csv", "--samples")], ids="-".join)
def test_text_that_is_none_can_be_shown(form: tuple[str, ...], text: str, tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "r.json").write_text(changed(case__name=text, case__params={text: text}, log_tail=text))
    done = inside("show", "r.json", "--format", *form)
    assert done.returncode == 0, done.stderr


def test_an_instant_that_no_calendar_holds_is_none(tmp_path: Path, inside: Inside) -> None:
    told = json.loads((Path(__file__).parents[1] / "exchange" / "files" / "pytest-benchmark.json").read_bytes())
    told["datetime"] = "0001-01-01T00:00:00+23:59"
    (tmp_path / "p.json").write_text(json.dumps(told))
    assert inside("import", "p.json").returncode in (0, 2)


def test_a_parquet_file_with_text_that_is_none(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "r.parquet").write_bytes(seeds.parquet_file()[0].replace(b"run_id", b"run_\xae\xae"))
    done = inside("import", "r.parquet")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not a Parquet file that can be read" in done.stderr


def test_what_is_little_and_becomes_much_is_refused(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b" " * (40 << 20)))
    done = inside("import", "bomb.jsonl.gz")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bomb.jsonl.gz:1: it unpacks to more than 500 times its size" in done.stderr
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * (40 << 20)))
    assert "it unpacks to more than 500 times its size" in inside("import", "bomb.json.gz").stderr


def test_columns_that_unpack_to_more_than_all_may_are_refused(tmp_path: Path, inside: Inside) -> None:
    zeros = pack_int64(array("q", bytes(8 << 20)))  # 1 Mi values in 8 KiB
    sample = {"copy": 0, "calls": 1, "loops": 1, "elapsed": 1, "columns": {"latency": zeros}}
    (tmp_path / "r.json").write_text(changed(samples=[sample] * 5))
    done = inside("show", "r.json", env={"BENCHWRIGHT_LARGEST": "32", "PATH": ""})
    assert done.returncode == 2
    assert "samples[4].columns.latency: not a packed int64 array: it unpacks to more than 0 bytes" in done.stderr
    assert inside("show", "r.json").returncode == 0
