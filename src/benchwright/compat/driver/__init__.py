"""The Deep Learning Benchmark driver's command line and result file, on our own runner.

Light, so that an earlier result can be removed before anything else is imported.
"""

from pathlib import Path

NAME = "dlbenchmark_result.json"


def remove_result_file(folder: Path) -> None:
    """Removes an earlier run's result file, before anything of a new run can go wrong."""
    (folder / NAME).unlink(missing_ok=True)
