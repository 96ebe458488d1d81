"""`benchwright init`, and `benchwright run` without arguments afterwards."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import config

Call = Callable[..., "subprocess.CompletedProcess[str]"]
BENCH = "def bench_sum():\n    return sum(range(10))\n\ndef bench_n(n):\n    return n\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "bench_it.py").write_text(BENCH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_then_run_measures_what_was_found(project: Path, inside: Call) -> None:
    ended = inside("init", cwd=project)
    assert ended.returncode == 0 and ended.stdout.splitlines()[-1] == "Next: benchwright run"
    text = (project / "benchwright.toml").read_text()
    assert tomllib.loads(text)["run"]["targets"] == ["speed/bench_it.py::bench_sum"]
    assert "--param n=VALUE" in text
    ended = inside("run", "--rounds", "1", "--duration", "10ms", cwd=project)
    assert ended.returncode == 0 and "bench_it.py::bench_sum" in ended.stdout
    assert (project / ".benchwright" / "results.db").exists()


def test_settings_count_from_folders_below_and_the_command_line_goes_first(project: Path, inside: Call) -> None:
    (project / "benchwright.toml").write_text(
        'store = "kept.db"\n[run]\ntargets = ["speed/bench_it.py::bench_n"]\n'
        '[run.options]\nrounds = 1\nsamples = 5\nparam = ["n=7"]\ntag = ["nightly"]\nonce = false\n'
    )
    below = project / "speed"
    run = json.loads(inside("run", "--json", cwd=below).stdout)["data"]
    assert (run["tags"], len(run["results"])) == (["nightly"], 1)
    assert run["results"][0]["case"]["params"]["n"] == 7
    run = json.loads(inside("run", "--json", "--param", "n=8,9", "--rounds", "2", cwd=below).stdout)["data"]
    assert [one["case"]["params"]["n"] for one in run["results"]] == [8, 9, 8, 9]
    assert (project / "kept.db").exists()
    named = json.loads(inside("run", "--json", "bench_it.py::bench_sum", "--samples", "2", cwd=below).stdout)["data"]
    assert named["tags"] == []  # options of [run] belong to its targets


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[run]\ntargets = ["x.py"]\n[run.options]\nruonds = 1', "no flag --ruonds\n  did you mean 'rounds'?"),
        ('[run]\ntargets = ["x.py"]\n[run.options]\nrounds = "many"', "run.options.rounds: 'many' is not a valid"),
        ('[run]\ntargets = ["x.py"]\n[run.options]\nrounds = {a = 1}', "run.options.rounds is neither a text"),
        ('[run]\ntargets = "x.py"', "run.targets"),
        ('[run]\ntarget = ["x.py"]', "did you mean 'targets'"),
        ("[run]\ntargets = []", 'put some into "targets" of'),
        ("", 'put some into "targets" of'),
    ],
)
@pytest.mark.parametrize("verb", ["run", "ab"])
def test_settings_that_make_no_sense_are_refused(
    project: Path, inside: Call, verb: str, settings: str, said: str
) -> None:
    (project / "benchwright.toml").write_text(settings)
    ended = inside(verb, cwd=project)
    assert ended.returncode == 2 and said in ended.stderr


def test_a_file_that_is_there_is_kept_unless_forced(project: Path, inside: Call) -> None:
    (project / "benchwright.toml").write_text("rounds = 2\n")
    ended = inside("init", cwd=project)
    assert ended.returncode == 2 and "--force" in ended.stderr
    assert (project / "benchwright.toml").read_text() == "rounds = 2\n"
    shown = inside("init", "--print", cwd=project).stdout
    assert (project / "benchwright.toml").read_text() == "rounds = 2\n"
    assert inside("init", "--force", cwd=project).returncode == 0
    assert (project / "benchwright.toml").read_text() == shown


def test_init_says_what_it_found_as_json_and_what_hides_a_file_above(project: Path, inside: Call) -> None:
    (project / "benchwright.toml").write_text("")
    document = json.loads(inside("init", "speed", "--print", "--json", cwd=project).stdout)
    assert document["kind"] == "project" and document["data"]["written"] is None
    assert document["data"]["measured"] == ["bench_it.py::bench_sum"]
    told = inside("init", "speed", cwd=project).stdout
    assert f"{project / 'benchwright.toml'} no longer counts" in told and "Next: cd speed && benchwright run" in told


def test_an_empty_folder_gets_a_file_with_examples(tmp_path: Path, inside: Call) -> None:
    ended = inside("init", cwd=tmp_path)
    assert ended.returncode == 0 and "Found nothing to measure" in ended.stdout
    assert "Next: benchwright run model.onnx" in ended.stdout
    assert tomllib.loads((tmp_path / "benchwright.toml").read_text())["run"]["targets"] == []
    assert inside("init", "nowhere", cwd=tmp_path).returncode == 2


def test_whatever_a_file_is_called_the_settings_can_be_read(
    tmp_path: Path, inside: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ['bench "x\\y.py', "bench_\U0001f600\x7f\x1b.py", "bench_\n# [run].py"]
    for name in names:
        (tmp_path / name).write_text("def bench_a(): ...\n")
    ended = inside("init", cwd=tmp_path)
    assert ended.returncode == 0 and "\x1b" not in ended.stdout
    assert sorted(config.load().run.targets) == sorted(f"{name}::bench_a" for name in names)


def test_results_that_git_would_take_are_pointed_out(project: Path, inside: Call) -> None:
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    assert "Add .benchwright/ to .gitignore" in inside("init", cwd=project).stdout
    (project / ".gitignore").write_text(".benchwright/\n")
    assert ".gitignore" not in inside("init", "--force", cwd=project).stdout


def test_tests_of_several_files_are_run_by_one_command_and_run_says_who_runs_them(tmp_path: Path, inside: Call) -> None:
    for name in ("tests/speed/test_a.py", "tests/speed/test_b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("def test_it(benchmark):\n    benchmark(sorted, [1])\n")
    told = inside("init", cwd=tmp_path).stdout
    assert told.splitlines()[-1] == "Next: pytest --benchmark-only tests/speed"
    refused = inside("run", cwd=tmp_path)
    assert refused.returncode == 2 and "are run by pytest" in refused.stderr
    (tmp_path / "test_c.py").write_text("def test_it(benchmark):\n    benchmark(sorted, [1])\n")
    assert inside("init", "--force", cwd=tmp_path).stdout.splitlines()[-1] == "Next: pytest --benchmark-only"
