"""Which of PerfZero's programs is meant: benchmark.py unless a word says otherwise."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchwright.errors import BenchwrightError

# word -> the module whose `main(arguments)` does it
PROGRAMS = {
    "setup": "benchwright.compat.perfzero.setup",
    "cloud": "benchwright.compat.perfzero.cloud",
    "plot": "benchwright.compat.perfzero.plots",
    "diff": "benchwright.compat.perfzero.differences",
    "shims": "benchwright.compat.perfzero.shims",
}


def main(arguments: Sequence[str], project: Path | None = None) -> int:
    """Runs the program that the first word names, benchmark.py when it is a flag; the exit code.

    `project` is the folder that holds the workspace: the present one unless a shim names its own.
    """
    word = arguments[0] if arguments else ""
    if word not in PROGRAMS:
        from benchwright.compat.perfzero import run

        return run.main(list(arguments), project or Path.cwd())
    program = importlib.import_module(PROGRAMS[word])
    rest = list(arguments[1:])
    return int(program.main(rest, project=project) if word == "setup" else program.main(rest))


def start(project: str, arguments: Sequence[str]) -> None:
    """The entry of a shim's process."""
    try:
        code = main(arguments, Path(project))
    except BenchwrightError as error:
        sys.stderr.write(f"benchwright: {error}\n")
        code = 2
    except KeyboardInterrupt:
        code = 130
    raise SystemExit(code)
