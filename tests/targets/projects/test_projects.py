"""What is found in a project, by reading alone."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchwright.targets.projects import FoundTarget, files, find_targets
from benchwright.targets.projects.model_files import POINTER, model_kind

BENCHMARKS = """\
import benchwright as bw
from benchwright import benchmark as measured

@bw.benchmark
def first(): ...

@measured(params={"n": [1]})
def second(n): ...

def bench_plain(n=3, *, deep=True): ...

def bench_open(text, n=3): ...

class Suite:
    def time_it(self): ...
    def track_it(self): ...
    def helper(self): ...

class _Hidden:
    def time_it(self): ...

raise SystemExit("this file is never imported")
"""


def _write(folder: Path, **files: Any) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _found(folder: Path) -> dict[str, FoundTarget]:
    return {one.target: one for one in find_targets(folder).targets}


def test_functions_and_classes_are_found_without_importing_the_file(tmp_path: Path) -> None:
    _write(tmp_path, **{"bench/speed.py": BENCHMARKS})
    found = _found(tmp_path)
    assert list(found) == ["bench/speed.py", "bench/speed.py::bench_plain", "bench/speed.py::bench_open"]
    assert found["bench/speed.py"].about == "4 benchmarks: first, second, Suite.time_it, Suite.track_it"
    assert "--param text=VALUE" in found["bench/speed.py::bench_open"].lacks


def test_a_file_whose_imports_are_not_installed_is_told_and_left_out(tmp_path: Path) -> None:
    code = "import os, {}\ntry:\n    import not_here\nexcept ImportError: pass\ndef bench_a(): ...\n"
    _write(
        tmp_path, **{"bench_a.py": code.format("nowhere.inner"), "bench_b.py": code.format("beside"), "beside.py": ""}
    )
    found = _found(tmp_path)
    assert found["bench_a.py::bench_a"].lacks == "imports nowhere, which is not installed here"
    assert found["bench_b.py::bench_a"].lacks == ""


def test_a_method_that_only_sounds_like_a_benchmark_is_none(tmp_path: Path) -> None:
    """`time_left` of a game is not measured; the same in a class or a folder that says what it is for is."""
    code = "class {}:\n    def time_left(self): ...\n"
    _write(tmp_path, **{"src/game.py": code.format("Game"), "src/other.py": code.format("ClockBenchmark")})
    assert list(_found(tmp_path)) == ["src/other.py"]


def test_tests_with_the_fixture_are_told_and_left_to_pytest(tmp_path: Path) -> None:
    code = "def test_a(benchmark): ...\nclass TestB:\n    def test_c(self, benchmark): ...\ndef test_d(): ...\n"
    _write(tmp_path, **{"tests/test_speed.py": code})
    (one,) = find_targets(tmp_path).targets
    assert (one.kind, one.about) == ("pytest", "2 pytest benchmarks: test_a, TestB::test_c")
    assert "pytest tests/test_speed.py" in one.lacks


def test_commands_that_are_shown_can_be_pasted(tmp_path: Path) -> None:
    _write(tmp_path, **{"my tests/test_a.py": "def test_a(benchmark): ...", "my bench.py": "def bench_n(n): ..."})
    found = _found(tmp_path)
    assert "pytest 'my tests/test_a.py'" in found["my tests/test_a.py"].lacks
    assert "benchwright run 'my bench.py::bench_n' --param" in found["my bench.py::bench_n"].lacks


def test_an_asv_suite_is_a_target_alone_and_has_its_own_command_beside_others(tmp_path: Path) -> None:
    suite = {"asv.conf.json": '{"repo": "."}', "benchmarks/sums.py": "def time_sum(): sum(range(9))"}
    _write(tmp_path, **suite)
    (one,) = find_targets(tmp_path).targets
    assert (one.kind, one.target, one.lacks) == ("asv", "asv.conf.json", "")
    _write(tmp_path, **{"bench_a.py": "def bench_a(): ..."})
    found = _found(tmp_path)
    assert found["asv.conf.json"].lacks.endswith("benchwright run asv.conf.json")
    assert found["bench_a.py::bench_a"].lacks == ""


def test_an_asv_suite_that_cannot_be_measured_says_why(tmp_path: Path) -> None:
    _write(tmp_path, **{"asv.conf.json": "{}", "other/asv.conf.json": '{"repo": ".."}'})
    found = _found(tmp_path)
    assert "there is no repo" in found["asv.conf.json"].lacks
    assert "no benchmark folder" in found["other/asv.conf.json"].lacks


def test_what_git_ignores_is_left_out(tmp_path: Path) -> None:
    _write(
        tmp_path,
        **{"bench_a.py": "def bench_a(): ...", "made/bench_b.py": "def bench_b(): ...", ".gitignore": "made/\n"},
    )
    assert list(_found(tmp_path)) == ["bench_a.py::bench_a"]  # without a repository too
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert list(_found(tmp_path)) == ["bench_a.py::bench_a"]
    (tmp_path / ".gitignore").unlink()
    assert len(_found(tmp_path)) == 2


def test_without_git_what_is_made_or_installed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code = "def bench_a(): ..."
    places = ["bench_a.py", ".hidden/bench_a.py", "node_modules/x/bench_a.py", "my/venv3/lib/bench_a.py"]
    _write(tmp_path, **dict.fromkeys(places, code), **{"my/venv3/pyvenv.cfg": ""})
    (tmp_path / "loop").symlink_to(tmp_path)
    assert list(_found(tmp_path)) == ["bench_a.py::bench_a"]


def test_files_that_cannot_be_read_are_told_and_stop_nothing(tmp_path: Path) -> None:
    _write(tmp_path, **{"bench_a.py": "def bench_a(): ...", "bench_b.py": "bench = (", "bench_c.py": b"bench\0"})
    _write(tmp_path, **{"bench_d.py": "bench = " + "(" * 5000, "bench_e.py": "# bench\n" + "x" * 2_000_000})
    os.mkfifo(tmp_path / "bench_f.py")
    (tmp_path / os.fsdecode(b"bench_\xff.py")).write_text("def bench_g(): ...")
    found = find_targets(tmp_path)
    assert [one.target for one in found.targets] == ["bench_a.py::bench_a"]
    assert set(found.unread) == {"bench_b.py", "bench_c.py", "bench_d.py"}


def test_a_large_project_is_looked_at_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, **{f"bench_{i}.py": "def bench_a(): ..." for i in range(5)})
    monkeypatch.setattr(files, "MOST_FILES", 3)
    found = find_targets(tmp_path)
    assert len(found.targets) == 3 and "first 3 files" in found.cut


def test_tasks_and_specs_are_found_with_what_is_wrong_with_them(tmp_path: Path) -> None:
    _write(
        tmp_path,
        **{
            "tasks.toml": '[tasks.one]\ncommand = "true"\n',
            "wrong.toml": '[tasks.one]\ncomand = "true"\n',
            "pyproject.toml": "[project]\nname = 'x'\n",
            "specs/a.yaml": "benchwright: 1\nmodel: nonsense: here\n",
            "data.json": "{}",
        },
    )
    found = _found(tmp_path)
    assert {name: one.kind for name, one in found.items()} == {
        "specs/a.yaml": "spec",
        "tasks.toml": "task",
        "wrong.toml": "task",
    }
    assert found["tasks.toml"].lacks == ""
    assert "did you mean 'command'" in found["wrong.toml"].lacks and found["specs/a.yaml"].lacks


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("m.tflite", b"\0\0\0\0TFL3more", "TensorFlow Lite"),
        ("m.tflite", b"text", ""),
        ("m.onnx", b"\x08\x08:\xd1", "ONNX"),
        ("m.onnx", b"a text", ""),
        ("m.onnx", b"", ""),
        ("m.onnx", b"version https://git-lfs.github.com/spec/v1\n", POINTER),
        ("m.ts", b"export const x = 1", ""),
        ("m.xml", b"<net name='x'>", ""),  # its weights are not beside it
        ("graph.pb", b"\x08", ""),
        ("m.pt", b"PK\x03\x04broken", ""),
    ],
)
def test_a_model_is_known_by_its_beginning(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert model_kind(tmp_path / name) == kind


def test_weights_are_not_a_model(tmp_path: Path) -> None:
    for name, entry in (("weights.pt", "weights/data.pkl"), ("program.pt", "program/code/__torch__.py")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(entry, "x")
    assert [model_kind(tmp_path / name) for name in ("weights.pt", "program.pt")] == ["", "TorchScript"]
