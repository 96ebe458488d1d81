"""An earlier run's result file, taken away. Light, so that it can be done before anything else is imported."""

from __future__ import annotations

from pathlib import Path

NAME = "dlbenchmark_result.json"


def remove_result_file(folder: Path) -> None:
    """Takes an earlier run's file away, before anything of a new run can go wrong."""
    (folder / NAME).unlink(missing_ok=True)
