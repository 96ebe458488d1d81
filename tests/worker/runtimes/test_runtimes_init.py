"""Whether a runtime's library is there is found out without importing it."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from benchwright import plugins
from benchwright.errors import NotInstalledError, OptionError
from benchwright.worker.runtimes import check_installed, is_installed

_FRAMEWORKS = ("torch", "onnxruntime", "openvino", "jax", "ai_edge_litert", "numpy")
_ELSEWHERE = {"tensorflow"}  # has an environment of its own, and tests there


@pytest.mark.parametrize("name", plugins.BUILTIN["runtimes"])
def test_every_runtime_declares_itself_and_is_installed_here(name: str) -> None:
    runtime = plugins.load("runtimes", name)
    assert runtime.name == name
    assert all(ending.startswith(".") for ending in runtime.extensions)
    assert bool(runtime.module) == bool(runtime.requires)
    assert is_installed(name) == (name not in _ELSEWHERE)


def test_asking_imports_no_framework() -> None:
    script = (
        "import sys; from benchwright import plugins; from benchwright.worker.runtimes import check_installed\n"
        f"[check_installed(name) for name in plugins.BUILTIN['runtimes'] if name not in {_ELSEWHERE}]\n"
        f"print([name for name in {_FRAMEWORKS} if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_what_is_not_installed_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "openvino" else real(name))
    with pytest.raises(NotInstalledError, match="runtime openvino is not installed\n  pip install openvino"):
        check_installed("openvino")


def test_an_unknown_runtime_names_the_nearest() -> None:
    with pytest.raises(OptionError, match="did you mean 'onnxruntime'"):
        check_installed("onxruntime")


def test_the_modules_stay_importable_without_their_library(tmp_path: Path) -> None:
    for name in ("torch", "onnxruntime", "openvino"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')")
    script = "from benchwright.worker.runtimes import onnxruntime, openvino, torch"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_every_option_is_documented(root: Path) -> None:
    page = (root / "docs" / "runtimes.md").read_text(encoding="utf-8")
    known = {
        *importlib.import_module("benchwright.worker.runtimes.fake").OPTIONS,
        *importlib.import_module("benchwright.worker.runtimes.command").OPTIONS,
        *importlib.import_module("benchwright.worker.runtimes.torch").OPTIONS,
        *importlib.import_module("benchwright.worker.runtimes.onnxruntime").OWN_OPTIONS,
        *importlib.import_module("benchwright.worker.runtimes.openvino").OWN_OPTIONS,
    } - {"distribution"}  # written after the colon
    assert [name for name in sorted(known) if f"`{name}`" not in page] == []
