"""The one door for adapters: built-ins are declared like everybody else's."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchwright import plugins
from benchwright.errors import OptionError

HEAVY = ("torch", "onnxruntime", "openvino", "tensorflow", "jax", "sqlalchemy", "pandas", "pyarrow", "scipy")
EVERY = [(group, name) for group, adapters in plugins.BUILTIN.items() for name in adapters]


def test_the_table_repeats_the_declared_entry_points(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {group: names for group, names in project["entry-points"].items() if group.startswith("benchwright.")}
    declared = {group.removeprefix("benchwright."): names for group, names in ours.items()}
    assert declared == plugins.BUILTIN


@pytest.mark.parametrize(("group", "name"), EVERY, ids=lambda value: value)
def test_every_built_in_loads(group: str, name: str) -> None:
    assert callable(plugins.load(group, name))


@pytest.mark.parametrize(("group", "name"), [pair for pair in EVERY if pair[0] not in ("stores", "hosts")])
def test_an_adapter_says_its_own_name(group: str, name: str) -> None:
    assert plugins.load(group, name).name == name


def test_importing_every_runtime_source_and_monitor_imports_no_library() -> None:
    script = (
        "import sys\nfrom benchwright import plugins\n"
        "for group in ('runtimes', 'sources', 'monitors'):\n"
        "    for name in plugins.BUILTIN[group]: plugins.load(group, name)\n"
        f"print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert loaded.stdout.split() == []


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"unknown runtime 'onnxruntimee'\n  did you mean 'onnxruntime'\?"):
        plugins.load("runtimes", "onnxruntimee")


def test_an_installed_package_adds_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "guest-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[benchwright.runtimes]\nguest = guest_runtime:Guest\n")
    (tmp_path / "guest_runtime.py").write_text("class Guest:\n    name = 'guest'\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert plugins.load("runtimes", "guest").name == "guest"
    assert plugins.names("runtimes") == [*plugins.BUILTIN["runtimes"], "guest"]


def test_a_guest_cannot_replace_a_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "guest-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[benchwright.runtimes]\nfake = guest_runtime:Guest\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert plugins.load("runtimes", "fake").__module__ == "benchwright.worker.runtimes.fake"
