"""The first five minutes of a new user: the wheel in an empty environment, the front page's commands as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ADA = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
ADA |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
BENCH = "import benchwright as bw\n\n\n@bw.benchmark\ndef encode():\n    return ','.join(map(str, range(1000)))\n"
OPENER = '#!/bin/sh\necho "$1" > "$OPENED"\n'


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment, and then the wheel in it, with the extra that the front page names."""
    folder = tmp_path_factory.mktemp("new")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, root / "scripts" / "install.py", f"{wheel}[onnx]"], check=True, cwd=folder)
    return folder / "venv" / "bin"


@pytest.fixture
def project(root: Path, tmp_path: Path, model: Path) -> Path:
    """What the page assumes: a model, a benchmark, a repository. Measured shortly, whatever the page says."""
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "benchwright.toml").write_text("rounds = 1\nduration = 0.02\nwarmup = 0.02\n", encoding="utf-8")
    (folder / "model.onnx").write_bytes(model.read_bytes())
    (folder / "bench.py").write_text(BENCH, encoding="utf-8")
    opener = tmp_path / "opener"
    opener.write_text(OPENER, encoding="utf-8")
    opener.chmod(0o755)
    for words in (["init", "-q"], ["add", "bench.py"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=folder, env={**os.environ, **ADA}, check=True)
    return folder


@pytest.fixture(scope="module")
def model(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    subprocess.run([sys.executable, root / "examples" / "make_model.py", "tiny", path], check=True)
    return path


@pytest.mark.fresh
@pytest.mark.timeout(600)
def test_the_front_page_is_walked_from_the_wheel(root: Path, installed: Path, project: Path) -> None:
    page = (root / "docs" / "index.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ ([^#\n]+?)\s*(?:#.*)?$", page, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["run", "compare", "report", "watch"]
    commands.insert(0, commands[0])  # what is compared was measured twice
    opened = project.parent / "opened"
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENCHWRIGHT", "PYTHON", "PYTEST"))
    }
    env |= {"PATH": f"{installed}{os.pathsep}{os.environ['PATH']}", "OPENED": str(opened)}
    env |= {"BROWSER": f"{project.parent / 'opener'} %s", "BENCHWRIGHT_CACHE": str(project.parent / "cache")}
    printed = {}
    for command in commands:
        ended = subprocess.run(command.split(), cwd=project, env=env, capture_output=True, text=True, check=False)
        assert ended.returncode in ({0, 1} if "compare" in command else {0}), f"{command}\n{ended.stdout}{ended.stderr}"
        printed[command.split()[1]] = ended.stdout
    assert "model.onnx" in printed["run"] and "median latency" in printed["run"]
    assert "latency_p50" in printed["compare"]
    assert opened.read_text(encoding="utf-8").strip() == (project / "benchwright-report.html").as_uri()
    assert "measured" in printed["watch"] and "first" in printed["watch"]


def test_the_wheel_carries_the_dashboard(installed: Path) -> None:
    script = "from importlib.resources import files; print(files('benchwright') / 'pages/dashboard/bundle/index.html')"
    found = subprocess.run([installed / "python", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    path = Path(found.stdout.strip())
    assert path.is_file() and installed.parent in path.parents
