"""Fixed work in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchwright.errors import MeasureError

WORKLOADS = ("interpreter", "memory", "matmul")
BUDGET = 0.2  # seconds of repetitions in one process

_PROGRAM = Path(__file__).with_name("workload.py")

# One thread, so that the work is fixed: how a library spreads it over cores is another question.
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")}


def run_process(workload: str, *, budget: float = BUDGET) -> Sequence[float]:
    """The seconds that each repetition took in one fresh process."""
    command = [sys.executable, "-I", str(_PROGRAM), workload, str(budget)]
    try:
        done = subprocess.run(
            command, env=os.environ | _ONE_THREAD, capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        raise MeasureError(f"the noise workload {workload!r} did not end within a minute") from None
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise MeasureError(f"the noise workload {workload!r} failed: {last[0]}")
    return [nanoseconds / 1e9 for nanoseconds in json.loads(done.stdout)]
