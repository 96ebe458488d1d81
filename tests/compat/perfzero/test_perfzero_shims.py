"""Shims: PerfZero's script paths, leading to this installation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero import shims
from benchwright.errors import OptionError


def test_the_workspace_is_the_projects_wherever_it_is_called_from(make_project: Callable[..., Any]) -> None:
    """Defect 14."""
    project = make_project(shim=True)
    library = project.folder / "perfzero" / "lib"
    command = [sys.executable, "benchmark.py", "--python_path=demo", "--execution_id=e"]
    ended = subprocess.run(
        [*command, "--benchmark_methods=demo_bench.Demo.benchmark_ok"],
        cwd=library,
        env={"PATH": "", "PYTHONPATH": str(project.site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert (project.workspace / "output" / "e" / "perfzero_summary.json").is_file()
    assert not (library / "workspace").exists()
    assert not (library / ".benchwright").exists()
    assert (project.root / ".benchwright" / "results.db").is_file()


@pytest.mark.parametrize(("name", "word"), [("setup", "--dockerfile_path"), ("cloud_manager", "create")])
def test_the_other_programs_have_paths_too(tmp_path: Path, name: str, word: str) -> None:
    shims.write(tmp_path)
    script = tmp_path / "perfzero" / "lib" / f"{name}.py"
    ended = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert word in ended.stdout


def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    library = tmp_path / "perfzero" / "lib"
    library.mkdir(parents=True)
    (library / "setup.py").write_text("somebody's own")
    with pytest.raises(OptionError, match=r"setup\.py: exists"):
        shims.write(tmp_path)
    assert [p.name for p in library.iterdir()] == ["setup.py"]
    (library / "setup.py").unlink()
    assert len(shims.write(tmp_path)) == len(shims.write(tmp_path)) == 3  # ours may be written again


def test_errors_of_a_shim_are_one_line(tmp_path: Path) -> None:
    shims.write(tmp_path)
    script = tmp_path / "perfzero" / "lib" / "benchmark.py"
    ended = subprocess.run([sys.executable, script, "plot", "nowhere"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("benchwright: nowhere: cannot be read")
