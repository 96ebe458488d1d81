"""`benchwright perfzero shims DIR`: the script paths that PerfZero's users call, leading here.

`python3 DIR/perfzero/lib/benchmark.py ...` then runs Benchwright with DIR/perfzero as the project, so that the
workspace is DIR/perfzero/workspace as it always was. DIR may be mounted into a container where the interpreter that
wrote the shims does not exist: a shim looks for one that has Benchwright each time it is called.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchwright.errors import OptionError

SCRIPTS = {"benchmark": "", "setup": "setup", "cloud_manager": "cloud"}  # script -> what it asks the door for
MARK = "# Written by `benchwright perfzero shims`."
# Any Python 3 can run it: what a container calls python3 may be older than what Benchwright needs.
_SHIM = """\
{mark}
\"\"\"Hands its arguments to Benchwright; the project is the folder above this one.\"\"\"

import os
import shutil
import subprocess
import sys

WRITTEN_BY = {python!r}
FIRST = {first!r}
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('benchwright') is None)"
CODE = "import sys; from benchwright.compat.perfzero.door import start; start(sys.argv[1], sys.argv[2:])"


def candidates():
    \"\"\"Interpreters that may have Benchwright: the one that runs this, the one that wrote it, those in PATH.\"\"\"
    found = [sys.executable, WRITTEN_BY, shebang(shutil.which("benchwright"))]
    found += [shutil.which(name) for name in ("python3", "python")]
    found += [shutil.which("python3.%d" % minor) for minor in range(20, 10, -1)]
    return [path for at, path in enumerate(found) if path and path not in found[:at]]


def shebang(program):
    \"\"\"The interpreter that the first line of a script names.\"\"\"
    if program:
        with open(program, "rb") as script:
            line = script.readline(4096).strip()
        if line.startswith(b"#!") and os.path.basename(line).startswith(b"python"):
            return os.fsdecode(line[2:].strip())
    return None


def has_benchwright(python):
    \"\"\"Whether that interpreter is new enough for -P, as Benchwright needs it, and can import Benchwright.\"\"\"
    try:
        quiet = {{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}}
        return subprocess.call([python, "-P", "-c", LOOK], **quiet) == 0
    except OSError:
        return False


tried = candidates()
for python in tried:
    if has_benchwright(python):
        os.execv(python, [python, "-P", "-c", CODE, PROJECT] + FIRST + sys.argv[1:])
sys.stderr.write(
    "benchwright: no Python here has Benchwright; looked at %s\\n"
    "  install it here: python3 -m pip install benchwright, with Python 3.11 or newer\\n"
    "  or use the image that perfzero/lib/setup.py builds, which has it\\n" % ", ".join(tried)
)
sys.exit(2)
"""


def main(arguments: Sequence[str]) -> int:
    """Writes the shims below the folder that is named."""
    parser = argparse.ArgumentParser(
        prog="benchwright perfzero shims",
        description="Write DIR/perfzero/lib/{benchmark,setup,cloud_manager}.py, which call Benchwright.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="The folder that is to hold perfzero/lib.")
    for path in write(parser.parse_args(arguments).folder):
        sys.stdout.write(f"{path}\n")
    return 0


def write(folder: Path) -> list[Path]:
    """Writes the three scripts; one that is there and not ours is left alone, with an error."""
    library = folder / "perfzero" / "lib"
    paths = {library / f"{name}.py": verb for name, verb in SCRIPTS.items()}
    for path in paths:
        if path.exists() and not _is_ours(path):
            raise OptionError(f"{path}: exists, and is not a shim", remedy="name another folder, or move it away")
    try:
        library.mkdir(parents=True, exist_ok=True)
        for path, verb in paths.items():
            first = [verb] if verb else []
            path.write_text(_SHIM.format(mark=MARK, python=sys.executable, first=first), encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return list(paths)


def _is_ours(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(MARK.encode())
