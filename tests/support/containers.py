"""A container engine that really runs, and a small image with this interpreter in it.

Test modules take its fixtures by name: `engine = containers.engine`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "BENCHWRIGHT_CONTAINER_ENGINE"
WRAPPER = Path(__file__).parents[2] / "scripts" / "podman"
_LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "site-packages")


@pytest.fixture(scope="session")
def engine() -> Iterator[str]:
    """The engine's program, which BENCHWRIGHT_CONTAINER_ENGINE names while tests use it."""
    named = os.environ.get(VARIABLE)
    if not named and shutil.which("podman") is None:
        pytest.fail("podman is missing: `scripts/need podman podman` and `scripts/need crun crun` install it")
    program = named or str(WRAPPER)
    tried = ask(program, "run", "--rm", "--rootfs", "/:O", "true")
    if tried.returncode != 0:
        pytest.skip(f"no container can run here: {tried.stderr.strip()}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, program)
        yield program


@pytest.fixture(scope="session")
def python_image(engine: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image that holds this interpreter, pip and a shell: made once, kept for the next time."""
    told = f"{sys.version} {sys.base_prefix} {Path(__file__).read_text(encoding='utf-8')}"
    name = f"localhost/benchwright-tests/python:{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    if ask(engine, "image", "inspect", name).returncode != 0:
        folder = tmp_path_factory.mktemp("image")
        fill(folder)
        (folder / "Dockerfile").write_text("FROM scratch\nCOPY . /\nENV WHOSE=image\n", encoding="utf-8")
        built = ask(engine, "build", "--tag", name, str(folder))
        shutil.rmtree(folder)
        assert built.returncode == 0, built.stderr
    return name


def ask(*command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, **options)


def offline(dockerfile: str, image: str) -> str:
    """A Dockerfile of ours on a base that is here, without the steps that need a registry or a package index."""
    without = "python3 -m pip install --no-cache-dir --no-index --no-deps"
    text = dockerfile.replace("python:3.12-slim", image).replace("python3 -m pip install --no-cache-dir", without)
    return "".join(line for line in text.replace(" absl-py", "").splitlines(keepends=True) if "apt-get" not in line)


def remove(engine: str, name: str) -> None:
    """Removes an image; one that is not there is no error."""
    ask(engine, "rmi", "--force", name)


def fill(root: Path) -> None:
    """Copies the interpreter with what it is linked to, its library, pip and a shell to the same paths below `root`."""
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    modules = [path for path in (library / "lib-dynload").glob("*.so") if "_tkinter" not in path.name]
    programs = [Path(sys.executable).resolve(), Path("/bin/sh").resolve()]
    for path in {*programs, *(found for program in (*programs, *modules) for found in linked(program))}:
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    ignored = shutil.ignore_patterns(*_LEFT_OUT, "__pycache__", "config-*", "_tkinter*")
    shutil.copytree(library, root / library.relative_to("/"), ignore=ignored, dirs_exist_ok=True)
    _copy_pip(root / library.relative_to("/") / "site-packages")
    for folder in ("bin", "usr/bin", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for place, program in (("usr/bin/python3", programs[0]), ("bin/sh", programs[1])):
        if not (root / place).exists():
            (root / place).symlink_to(program)


def _copy_pip(target: Path) -> None:
    import pip

    shutil.copytree(Path(pip.__file__).parent, target / "pip", ignore=shutil.ignore_patterns("__pycache__"))


def linked(program: Path) -> list[Path]:
    return [Path(word) for word in re.findall(r"(/\S+) \(0x", ask("ldd", str(program)).stdout)]
