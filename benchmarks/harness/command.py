"""The command line as a user would call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchwright import schema
from benchwright.records import Result, Run, Status

ONE_THREAD = ("--runtime", "onnxruntime", "--option", "intra_op_num_threads=1")


def program() -> list[str]:
    """The installed script, or the module where there is none beside this interpreter."""
    script = Path(sys.executable).parent / "benchwright"
    return [str(script)] if script.exists() else [sys.executable, "-m", "benchwright"]


def run(*arguments: str, folder: Path) -> Run:
    """`benchwright run ... --json` in `folder`: the run it printed."""
    return read(outcome([*program(), "run", *arguments, "--json"], folder).stdout)


def outcome(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that must end well."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}")
    return done


def read(text: str) -> Run:
    """A run from its JSON; one that was not measured raises."""
    found = schema.loads(text, Run)
    for result in found.results:
        if result.status is not Status.OK:
            raise RuntimeError(f"not measured: {result.error}")
    return found


def point(result: Result, name: str) -> float:
    """The point estimate of a metric that must be there."""
    metric = result.metric(name)
    assert metric is not None, name
    return metric.estimate.point
