"""What docs/platforms.md promises of Python and of other systems: the pure parts with those systems faked."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import other_platform
import sample_store
from benchwright.cli.dispatch import MEASURING

# What people do with results, each with what its output must hold.
LOOKS = {
    ("list",): "vision/resnet50.onnx",
    ("show", "last"): "vision/resnet50.onnx",
    ("compare", "last~3", "last~1", "--metric", "latency_p50", "--smallest", "90%"): "latency_p50",
    ("history", "vision/resnet50.onnx", "--metric", "latency_p50"): "20260930T160000000",
    ("findings",): "Copy every input before the call",
    ("report", "last", "--output", "report.html"): "wrote report.html",
    ("export", "-"): "20260930T160000000",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("elsewhere") / "results.db"
    sample_store.build_small(path)
    return path


def _call(system: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, other_platform.__file__, system, *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("system", ["win32", pytest.param("darwin", marks=pytest.mark.soak)])
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look[0])
def test_results_are_looked_at_on_every_system(system: str, look: tuple[str, ...], store: Path, tmp_path: Path) -> None:
    ended = _call(system, tmp_path, *look, "--store", str(store))
    assert ended.returncode == 0, ended.stderr
    assert LOOKS[look] in ended.stdout


@pytest.mark.parametrize("verb", ["run", "watch"])
def test_windows_says_where_to_measure_instead(verb: str, tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text("def one(): pass\n", encoding="utf-8")
    ended = _call("win32", tmp_path, verb, "bench.py")
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        f"benchwright: 'benchwright {verb}' measures on Linux and macOS, not on Windows itself\n"
    )
    assert "WSL" in ended.stderr and "Traceback" not in ended.stderr
    assert _call("win32", tmp_path, verb, "--help").returncode == 0


@pytest.mark.soak
def test_every_module_can_be_imported_on_macos() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import other_platform; other_platform.pretend('darwin')\n"
        "import importlib, pkgutil, benchwright\n"
        "for one in pkgutil.walk_packages(benchwright.__path__, 'benchwright.'):\n"
        "    one.name.endswith('__main__') or importlib.import_module(one.name)\n"
    )
    folder = str(Path(other_platform.__file__).parent)
    ended = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_the_page_names_every_verb_that_measures(root: Path) -> None:
    page = (root / "docs" / "platforms.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| measure"))
    assert set(re.findall(r"`([a-z-]+)`", row)) == MEASURING


def test_the_supported_pythons_are_stated_alike(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = re.findall(r":: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    assert stated == ["3.11", "3.12", "3.13", "3.14"]
    assert project["requires-python"] == f">={stated[0]}"
    page = (root / "docs" / "platforms.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (3\.\d+) ", page, re.MULTILINE) == stated
