"""An environment of its own for each build. It also sees what is installed here, behind what it has itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

from benchwright.errors import FetchError

LIMIT = 300.0  # seconds for making one
_PIP = 'run_module("pip", run_name="__main__", alter_sys=True)'
_SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def make(folder: Path, python: str) -> None:
    """Makes a virtual environment. Packages that it does not have are those of the environment that runs this."""
    command = [python, "-I", "-m", "venv", "--without-pip", str(folder)]  # which would take seconds; see below
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise FetchError(f"no environment could be made: {done.stderr.strip() or done.stdout.strip()}")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}, scheme="venv"))
    # Read after the environment's own packages. `addsitedir` also follows the .pth files there: editable installs.
    behind = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
    lines = [f"import site; site.addsitedir({path!r})" for path in dict.fromkeys(behind)]
    (packages / "zz_benchwright.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("pip", "pip3"):  # the pip of here, run by the environment's Python, installs into the environment
        script = interpreter(folder).with_name(name)
        script.write_text(f"#!{interpreter(folder)}\nfrom runpy import run_module\n\n{_PIP}\n", encoding="utf-8")
        script.chmod(0o755)


def interpreter(folder: Path) -> Path:
    """The environment's Python."""
    return folder / _SCRIPTS / ("python.exe" if os.name == "nt" else "python")


def variables(python: Path, revision: str, work: Path) -> dict[str, str]:
    """What a build and a worker see: their environment first in PATH, and what they belong to."""
    told = {"BENCHWRIGHT_REVISION": revision, "BENCHWRIGHT_WORKTREE": str(work)}
    home = python.parent.parent
    if (home / "pyvenv.cfg").is_file():
        told |= {"VIRTUAL_ENV": str(home), "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])}
    return told


def remove(place: Path) -> None:
    """Deletes what a build left; nothing there is fine."""
    shutil.rmtree(place, ignore_errors=True)
