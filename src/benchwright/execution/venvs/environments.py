"""The environment that a revision is built and measured in: its own packages, and nothing else unless asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from benchwright.errors import FetchError
from benchwright.machine.environment.packages import installed_packages
from benchwright.system import lent_package

LIMIT = 300.0  # seconds for making one
OF_REVISION = ("BENCHWRIGHT_REVISION", "BENCHWRIGHT_WORKTREE")  # variables that tell what a process belongs to
_PIP = 'run_module("pip", run_name="__main__", alter_sys=True)'
_SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def make(folder: Path, python: str, *, sees_here: bool = False) -> None:
    """Makes a virtual environment in which `pip` and `python -m pip` install into it.

    With `sees_here`, packages that it does not have are those of the environment that runs this.
    """
    _run([python, "-I", "-m", "venv", "--without-pip", str(folder)])  # pip would take seconds; see below
    lines = [lent_package.code_for("pass", lent=["pip"])]
    if sees_here:
        # Read after the environment's own packages. `addsitedir` also follows the .pth files there: editable installs.
        behind = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
        lines += [f"import site; site.addsitedir({path!r})" for path in dict.fromkeys(behind)]
    (_packages_of(folder) / "zz_benchwright.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if not lent_package.is_here("pip"):
        _run([str(interpreter(folder)), "-I", "-m", "ensurepip"])
    for name in ("pip", "pip3"):  # the pip of here, run by the environment's Python, installs into the environment
        script = interpreter(folder).with_name(name)
        script.write_text(f"#!{interpreter(folder)}\nfrom runpy import run_module\n\n{_PIP}\n", encoding="utf-8")
        script.chmod(0o755)


def install_command(folder: Path, arguments: Sequence[str]) -> list[str]:
    """The program that installs into an environment, with its arguments."""
    quiet = ["--no-input", "--disable-pip-version-check"]
    return [str(interpreter(folder)), "-m", "pip", "install", *quiet, *arguments]


def interpreter(folder: Path) -> Path:
    """The environment's Python."""
    return folder / _SCRIPTS / ("python.exe" if os.name == "nt" else "python")


def packages(python: Path) -> dict[str, str]:
    """Name and version of what is installed in the environment of an interpreter that `make` made.

    Without what was installed from a folder: that is the project itself.
    """
    return _without_projects([str(_packages_of(python.parent.parent))])


def packages_here() -> dict[str, str]:
    """The same of what this interpreter can import."""
    return _without_projects(sys.path)


def _without_projects(folders: Sequence[str]) -> dict[str, str]:
    own = {
        path.parent.name.partition("-")[0].lower()
        for folder in folders
        for path in Path(folder).glob("*.dist-info/direct_url.json")
    }
    found = installed_packages(folders)
    return {name: version for name, version in found.items() if name.replace("-", "_").lower() not in own}


def variables(python: Path, revision: str, work: Path, *, own: bool = False) -> dict[str, str]:
    """What a build and a worker see: their environment first in PATH, and what they belong to."""
    told = dict(zip(OF_REVISION, (revision, str(work)), strict=True))
    home = python.parent.parent
    if (home / "pyvenv.cfg").is_file():
        told |= {"VIRTUAL_ENV": str(home), "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])}
    if own:
        told["PYTHONPATH"] = ""  # what the user's shell adds is not the revision's
    return told


def remove(place: Path) -> None:
    """Deletes what a build left; nothing there is fine."""
    shutil.rmtree(place, ignore_errors=True)


def _packages_of(folder: Path) -> Path:
    """The folder of its packages, which is named after its Python: that need not be the one that runs this."""
    usual = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}, scheme="venv"))
    return usual if usual.is_dir() else next(folder.glob("lib/python*/site-packages"), usual)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise FetchError(f"no environment could be made: {done.stderr.strip() or done.stdout.strip()}")
