"""`benchwright perfzero shims DIR`: the script paths that PerfZero's users call, leading here.

`python3 DIR/perfzero/lib/benchmark.py ...` then runs this installation, with DIR/perfzero as the project, so that the
workspace is DIR/perfzero/workspace as it always was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchwright.errors import OptionError

SCRIPTS = {"benchmark": "", "setup": "setup", "cloud_manager": "cloud"}  # script -> what it asks the door for
MARK = "# Written by `benchwright perfzero shims`."
_SHIM = """\
{mark}
\"\"\"Hands its arguments to Benchwright; the project is the folder above this one.\"\"\"

import os
import sys

PYTHON = {python!r}
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = "import sys; from benchwright.compat.perfzero.door import start; start(sys.argv[1], sys.argv[2:])"

os.execv(PYTHON, [PYTHON, "-P", "-c", CODE, PROJECT, {first}*sys.argv[1:]])
"""


def main(arguments: Sequence[str]) -> int:
    """Writes the shims below the folder that is named."""
    parser = argparse.ArgumentParser(
        prog="benchwright perfzero shims",
        description="Write DIR/perfzero/lib/{benchmark,setup,cloud_manager}.py, which call this installation.",
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
            raise OptionError(f"{path}: is there, and is not a shim", remedy="name another folder, or move it away")
    try:
        library.mkdir(parents=True, exist_ok=True)
        for path, verb in paths.items():
            first = f"{verb!r}, " if verb else ""
            path.write_text(_SHIM.format(mark=MARK, python=sys.executable, first=first), encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return list(paths)


def _is_ours(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(MARK.encode())
