"""The acceptance cases of the older harness, end to end: its files in, its files out, through our own runner."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness.door import main
from benchwright.errors import FetchError
from benchwright.events import nobody
from benchwright.records import Run
from benchwright.store import open_store

INIT, PREDICT = b"hello\n", b"world\n"
INIT_MD5, PREDICT_MD5 = "b1946ac92492d2347c6235b4d2611184", "591785b794601e212b260e25925636fd"
WHEN = 1521072000  # 2018-03-15, UTC
ROW = 'Caffe2Observer {"type":"NET","metric":"latency","unit":"us","value":"%s"}'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("USER", raising=False)  # a container has none


def _program(path: Path, body: str) -> Path:
    """A program that writes its arguments to a file beside it, one call a line, and then does `body`."""
    path.write_text(f'#!/bin/sh\necho "$@" >> {path}.calls\n{body}\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def _rows(values: Sequence[float]) -> str:
    return "\n".join(f"echo '{ROW % value}'" for value in values)


def _calls(program: Path) -> list[str]:
    return Path(f"{program}.calls").read_text(encoding="utf-8").splitlines()


def _model(folder: Path, **more: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    (folder / "init_net.pb").write_bytes(INIT)
    (folder / "predict_net.pb").write_bytes(PREDICT)
    files = {
        "init": {"filename": "init_net.pb", "location": "init_net.pb", "md5": INIT_MD5},
        "predict": {"filename": "predict_net.pb", "location": "predict_net.pb", "md5": PREDICT_MD5},
    }
    return {"name": "tiny", "format": "caffe2", "files": files, **more}


def _spec(folder: Path, tests: list[dict[str, Any]], **model: Any) -> Path:
    file = folder / "spec.json"
    whole = {"model": _model(folder, **model), "tests": tests}
    file.write_text(json.dumps(whole), encoding="utf-8")
    return file


def _side(program: Path, commit: str) -> dict[str, Any]:
    return {"commit": commit, "commit_time": WHEN, "programs": {"program": {"location": str(program)}}}


def _harness(file: Path, program: Path, *more: str, control: Path | None = None) -> int:
    info = {"treatment": _side(program, "abc"), **({"control": _side(control, "base")} if control else {})}
    needed = ["-b", str(file), "--framework", "caffe2", "--platform", "host", "--model_cache", "cache"]
    words = [*needed, "--info", json.dumps(info), "--cooldown", "0", "--local_reporter", "reports", *more]
    return main(words, lambda: contextlib.nullcontext(nobody))


def _kept() -> Run:
    with contextlib.closing(open_store(".benchwright/results.db", create=False)) as store:
        return store.run(store.find("last"))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _reports(pattern: str) -> list[Path]:
    return sorted(Path("reports").glob(pattern))


COMMAND = "{program} --net {files.predict} --init_net {files.init} --warmup {warmup} --iter {iter}"


def test_delay_on_this_machine(tmp_path: Path) -> None:
    """T1: today's form."""
    test = {"identifier": "{ID}", "metric": "delay", "iter": 5, "warmup": 1, "commands": [COMMAND]}
    file = _spec(tmp_path / "specs", [test, test])
    before = file.read_bytes()
    program = _program(tmp_path / "bench", _rows([18, 10, 14, 12, 16]))

    assert _harness(file, program) == 0

    for call in _calls(program):
        net, init = call.split()[1], call.split()[3]
        assert call == f"--net {net} --init_net {init} --warmup 1 --iter 5"
        assert (Path(net).name, Path(init).name) == ("predict_net.pb", "init_net.pb")
    assert len(_calls(program)) == 2
    assert Path("cache/caffe2/tiny/init_net.pb").read_bytes() == INIT
    (folder,) = _reports("*/caffe2/tiny/delay/0/2018/3/15/abc/0")
    assert _reports("*/caffe2/tiny/delay/1/2018/3/15/abc/0")
    entry = _read(folder / "NET-latency.txt")
    assert {name: entry[name] for name in ("type", "metric", "unit", "num_runs", "values")} == {
        "type": "NET",
        "metric": "latency",
        "unit": "us",
        "num_runs": 5,
        "values": [18, 10, 14, 12, 16],
    }
    expected = {"mean": 14, "p0": 10, "p10": 10.8, "p50": 14, "p90": 17.2, "p100": 18, "stdev": 2.8284271247, "MAD": 2}
    assert entry["summary"] == pytest.approx({**expected, "cv": 0.2020305089}, abs=1e-9)
    meta = _read(folder / "meta.txt")
    assert meta["platform"] and meta["platform"] != "null" and meta["platform_hash"]
    assert (meta["commit"], meta["commit_time"], meta["identifier"], meta["run_type"]) == (
        "abc",
        WHEN,
        "0",
        "benchmark",
    )
    assert (meta["net_name"], meta["framework"], meta["backend"], meta["metric"]) == ("tiny", "caffe2", "host", "delay")
    assert meta["user"]
    assert file.read_bytes() == before

    assert _harness(file, program) == 0  # a second run is put beside the first
    assert _read(folder.parent / "1" / "NET-latency.txt")["values"] == [18, 10, 14, 12, 16]
    latency = _kept().results[0].metric("NET latency")
    assert latency is not None and latency.estimate.point == pytest.approx(14e-6)


SEED_PROGRAM = """\
folder=
while [ $# -gt 0 ]; do
  case "$1" in --output_folder) folder=$2;; esac
  shift
done
if [ -n "$folder" ]; then
  printf '0.1\\n0.2\\n0.7\\n' > "$folder/softmaxout.txt"
  exit 0
fi
i=0
while [ $i -lt 50 ]; do
  echo 'Caffe2Observer Delay Start' >&2
  echo 'Caffe2Observer NET_DELAY - 1.5 (ms)' >&2
  echo 'Caffe2Observer Delay End' >&2
  echo 'Caffe2Observer Delay Start' >&2
  echo 'Caffe2Observer NET_DELAY - 9.5 (ms)' >&2
  echo 'Caffe2Observer ID_0_Conv_conv1 - 0.7 (ms)' >&2
  echo 'Caffe2Observer Delay End' >&2
  i=$((i + 1))
done
"""


def _seed_spec(folder: Path) -> Path:
    tests = folder / "tests" / "test0"
    tests.mkdir(parents=True)
    (tests / "data.txt").write_text("1\n2\n", encoding="utf-8")
    (tests / "softmaxout.txt").write_text("0.1\n0.25\n0.65\n", encoding="utf-8")
    error = {
        "identifier": "{ID}",
        "metric": "error",
        "iter": 1,
        "warmup": 0,
        "input_files": {"data": "tests/test0/data.txt"},
        "output_files": {"softmaxout": "tests/test0/softmaxout.txt"},
        "inputs": {"data": {"shapes": [[1, 3, 224, 224]], "type": "float"}},
    }
    delay = {
        "identifier": "{ID}",
        "metric": "delay",
        "iter": 50,
        "warmup": 1,
        "inputs": {"data": {"shapes": [[1, 3, 30, 30], [64, 3, 30, 30], [1, 3, 224, 224]], "type": "float"}},
        "commands": {"caffe2": {"run_individual": "true"}},
    }
    return _spec(folder, [error, delay])


def test_the_seed_form(tmp_path: Path) -> None:
    """T2: shapes, a map of commands, golden outputs, text blocks. Metric error has no control."""
    file = _seed_spec(tmp_path / "specs")
    program = _program(tmp_path / "bench", SEED_PROGRAM)

    assert _harness(file, program, "--rules", "seed") == 0

    calls = _calls(program)
    assert len(calls) == 4
    assert "--input_file" in calls[0] and "--input_dims" not in calls[0]
    assert "--output softmaxout --text_output true --output_folder" in calls[0]
    flags = ["input data", "input_dims 64,3,30,30", "input_type float", "run_individual true", "warmup 1", "iter 50"]
    assert {*flags} <= {*f" {calls[2]}".split(" --")}
    (error,) = _reports("*/caffe2/tiny/error/0/*/*/*/abc/0/softmaxout.txt")
    entry = _read(error)
    seed = {"p0": -0.05, "p10": -0.05, "p50": 0, "p90": 0.05, "p100": 0.05}
    assert {name: entry["diff_summary"][name] for name in seed} == pytest.approx(seed, abs=1e-12)
    assert entry["summary"]["p50"] == pytest.approx(0.2) and entry["control_summary"]["p50"] == pytest.approx(0.25)
    for identifier in "123":
        (folder,) = _reports(f"*/caffe2/tiny/delay/{identifier}/*/*/*/abc/0")
        assert _read(folder / "NET_DELAY.txt")["values"] == [1.5] * 50
        assert _read(folder / "ID_0_Conv_conv1.txt")["values"] == [0.7] * 50
    assert [operator.name for operator in _kept().results[1].operators] == ["ID_0_Conv_conv1"]


def test_outputs_of_another_length_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T2: the older one compared as many numbers as there were."""
    file = _seed_spec(tmp_path / "specs")
    whole = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**whole, "tests": whole["tests"][:1]}), encoding="utf-8")
    program = _program(tmp_path / "bench", SEED_PROGRAM.replace("0.2\\n0.7", "0.2"))
    assert _harness(file, program, "--screen_reporter") == 1
    said = capsys.readouterr().err
    assert "failed: output softmaxout has 2 numbers, golden has 3\n" in said
    (folder,) = _reports("*/caffe2/tiny/error/0/*/*/*/abc/0")
    assert sorted(path.name for path in folder.iterdir()) == ["benchwright.json", "meta.txt"]  # it has no entries


def test_treatment_and_control(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T3: both programs run, treatment first; the summaries are merged."""
    test = {"identifier": "{ID}", "metric": "delay", "iter": 10, "commands": ["{program} $AIBENCH"]}
    file = _spec(tmp_path / "specs", [test])
    own = '\necho \'Caffe2Observer {"type":"ADDED","metric":"latency","unit":"us","value":1}\''
    group = f'\necho "$AIBENCH_TREATMENT_GROUP" >> {tmp_path}/order'
    program = _program(tmp_path / "new", _rows(range(100, 120, 2)) + own + group)
    control = _program(tmp_path / "old", _rows(range(90, 100)) + group)

    assert _harness(file, program, control=control) == 0

    assert (tmp_path / "order").read_text(encoding="utf-8").split() == ["1", "0"]
    (folder,) = _reports("*/caffe2/tiny/delay/0/*/*/*/abc/0")
    entry = _read(folder / "NET-latency.txt")
    summary = {"p10": 101.8, "p50": 109, "p90": 116.2, "mean": 109}
    control_summary = {"p10": 90.9, "p50": 94.5, "p90": 98.1}
    diff = {"p0": 1, "p10": 3.7, "p50": 14.5, "p90": 25.3, "p100": 28, "mean": 14.5, "stdev": 2.8722813233, "MAD": 2.5}
    for name, expected in (("summary", summary), ("control_summary", control_summary), ("diff_summary", diff)):
        assert {key: entry[name][key] for key in expected} == pytest.approx(expected, abs=1e-9)
    assert entry["control_values"] == [*range(90, 100)]
    added = _read(folder / "ADDED-latency.txt")
    assert added["summary"]["p50"] == 1 and "diff_summary" not in added
    assert "ADDED latency" in capsys.readouterr().err
    assert _read(folder / "meta.txt")["control_commit"] == "base"
    cases = [result.case for result in _kept().results]
    assert [case.params["side"] for case in cases] == ["treatment", "control"]
    cores = [json.loads(case.target.work)["cpus"] for case in cases]
    assert cores[0] == cores[1]  # the older one drew a core for each


def test_a_list_its_merge_and_the_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T4: a list of specs, tokens, and a cached file that is damaged."""
    command = "{program} --n {per} --i {INDEX} --d {DATA} --u {nope}"
    test = {"identifier": "{ID}", "metric": "delay", "iter": 1, "commands": [command]}
    spec = _spec(tmp_path / "m", [test], total=500, repeat=2, per="{total}/{repeat}")
    file = tmp_path / "list.json"
    meta = {"group": "G", "command_args": "--backend mkl"}
    file.write_text(json.dumps({"meta": meta, "benchmarks": ["m/spec.json"]}), encoding="utf-8")
    before = [path.read_bytes() for path in (spec, file)]
    damaged = Path("cache/caffe2/tiny/predict_net.pb")
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"wrong\n")
    program = _program(tmp_path / "bench", _rows([7]))
    words = ["--string_map", '{"DATA": "/d"}', "--command_args", "--x 1"]

    assert _harness(file, program, *words) == 0

    assert _calls(program) == [f"--n 500/2 --i {index} --d /d --u {{nope}} --backend mkl" for index in (0, 1)]
    said = capsys.readouterr()
    assert "--x 1" in said.err and "nope" in said.err + said.out
    (folder,) = _reports("*/caffe2/tiny/delay/0/*/*/*/abc/0")
    assert _read(folder / "meta.txt")["group"] == "G"
    assert damaged.read_bytes() == PREDICT
    assert [path.read_bytes() for path in (spec, file)] == before

    (tmp_path / "m" / "predict_net.pb").write_bytes(b"other\n")
    cached = [*damaged.parent.glob("predict_net*")]
    assert len(cached) == 2  # under its plain name, and under that with the md5
    for path in cached:
        path.unlink()  # the two share their bytes
        path.write_bytes(b"rotten\n")
    with pytest.raises(FetchError) as caught:
        _harness(file, program, *words)
    there, here = (hashlib.md5(body).hexdigest() for body in (b"other\n", b"rotten\n"))
    assert f"has md5 {there}, and md5 {PREDICT_MD5} was asked for" in str(caught.value)
    assert f"{damaged.absolute()} in the cache has md5 {here}" in str(caught.value)
    assert [path.read_bytes() for path in cached] == [b"rotten\n"] * 2
    assert len(_calls(program)) == 2  # nothing ran
    assert [path.read_bytes() for path in (spec, file)] == before
