"""This installation as a wheel that pip takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchwright._version import VERSION
from benchwright.execution.images import recipes


@pytest.mark.soak
def test_pip_installs_it_and_it_works(tmp_path: Path) -> None:
    wheel = recipes.write_wheel(tmp_path)
    target = tmp_path / "site"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-qq",
        "--no-index",
        "--no-deps",
        "--target",
        target,
        wheel,
    ]
    subprocess.run(command, check=True, capture_output=True)
    code = (
        "import json, benchwright, importlib.metadata as m; d = m.distribution('benchwright');"
        "print(json.dumps([benchwright.__file__, d.version, sorted({p.group for p in d.entry_points})]))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(target)},
        cwd=tmp_path,
    )
    file, version, groups = json.loads(told.stdout)
    assert Path(file).is_relative_to(target)
    assert version == VERSION
    assert {"console_scripts", "benchwright.runtimes", "benchwright.hosts"} <= set(groups)
    assert (target / "benchwright" / "store" / "sql" / "migrations" / "script.py.mako").is_file()  # not only Python
    assert not list(target.rglob("*.pyc.*"))


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert recipes.write_wheel(tmp_path / "a").read_bytes() == recipes.write_wheel(tmp_path / "b").read_bytes()
