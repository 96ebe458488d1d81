"""The README's journey: build the image, mount the project, call the script's path inside the container."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import containers
from benchwright.compat.perfzero import images, setup

engine, python_image = containers.engine, containers.python_image


@pytest.fixture
def project(make_project: Callable[..., Any]) -> Any:
    return make_project(shim=True)


@pytest.fixture
def tag(engine: str) -> Iterator[str]:
    name = f"localhost/benchwright-tests/{uuid.uuid4()}:one"
    yield name
    containers.remove(engine, name)


@pytest.mark.soak  # installs into an image; test_setup.py builds one, and the test below calls the shim in a container
@pytest.mark.parametrize("kind", ["CPU", "NVIDIA"])
def test_a_shim_runs_in_the_image_that_setup_builds(
    kind: str, project: Any, python_image: str, engine: str, tag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter that wrote the shims is not in the container. The base is one that is here."""
    monkeypatch.setattr(images, kind, containers.offline(getattr(images, kind), python_image))
    wheel = _wheel(tmp_path, (project.site / "tensorflow.py").read_text())
    arguments = ["--cache", f"--dockerfile_path={images.OURS[kind.lower()]}", f"--docker_tag={tag}"]
    assert setup.main([*arguments, f"--tensorflow_pip_spec={wheel.as_uri()}"], project.root) == 0
    ended = _inside(engine, tag, project, *_lent(tmp_path))
    assert ended.returncode == 0, ended.stderr
    summary = json.loads((project.workspace / "output" / "e" / "perfzero_summary.json").read_text())
    assert summary["benchmark_result"]["succeeded"] is True
    assert summary["ml_framework_info"]["version"] == "2.99.0"
    folders = json.loads(ended.stdout.partition("Benchmark local output directories:\n")[2])
    assert folders["trial_1"] == {"demo_bench.Demo.benchmark_ok": "/workspace/perfzero/workspace/output/e"}
    told = containers.ask(engine, "run", "--rm", tag, "/bin/sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES").stdout
    assert told.strip() == ("all" if kind == "NVIDIA" else "")


def test_a_container_without_benchwright_is_told_what_to_do(engine: str, python_image: str, project: Any) -> None:
    ended = _inside(engine, python_image, project)
    assert ended.returncode == 2
    assert "no Python here has Benchwright; looked at /" in ended.stderr
    assert "pip install benchwright" in ended.stderr and "Traceback" not in ended.stderr


def _lent(folder: Path) -> list[str]:
    """What pip would have fetched for the image, and the libraries it needs, mounted from this machine."""
    packages, libraries = Path(sysconfig.get_path("purelib")), folder / "libraries"
    libraries.mkdir()
    modules = [*packages.glob("psutil/*.so"), *packages.glob("numpy/**/*.so")]
    for path in {linked for module in modules for linked in containers.linked(module)}:
        if not path.name.startswith("libpython"):
            shutil.copy2(path, libraries)
    mounts = ["--volume", f"{packages}:/packages:ro", "--volume", f"{libraries}:/libraries:ro"]
    return [*mounts, "--env", "PYTHONPATH=/packages", "--env", "LD_LIBRARY_PATH=/libraries"]


def _inside(engine: str, image: str, project: Any, *options: str) -> subprocess.CompletedProcess[str]:
    """The README's command."""
    script = "/workspace/perfzero/lib/benchmark.py"
    flags = ["--gcloud_key_file_url=", "--python_path=demo", "--execution_id=e"]
    method = "--benchmark_methods=demo_bench.Demo.benchmark_ok"
    mount = ["--volume", f"{project.folder}:/workspace"]
    done: subprocess.CompletedProcess[str] = containers.ask(
        engine, "run", "--rm", *mount, *options, image, "python3", script, *flags, method
    )
    return done


def _wheel(folder: Path, text: str) -> Path:
    path, info = folder / "tensorflow-9.0-py3-none-any.whl", "tensorflow-9.0.dist-info"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("tensorflow.py", text)
        packed.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tensorflow\nVersion: 9.0\n")
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", "")
    return path
