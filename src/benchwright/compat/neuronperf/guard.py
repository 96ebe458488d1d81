"""What is being measured must not measure: each worker would start workers without end."""

from __future__ import annotations

import os
import sys

from benchwright.errors import TargetError
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.worker.runtimes import user_objects
from benchwright.worker.runtimes.pipeline import ImportedFarEnoughError


def refuse_nesting() -> None:
    """Ends the import of a script that a worker imports for its classes and functions, at its first benchmark.

    So a script needs no `if __name__ == "__main__":`, as long as it defines what it hands over before that.
    """
    if user_objects.import_underway():
        raise ImportedFarEnoughError
    if JOB_VARIABLE in os.environ and "benchwright.worker.main" in sys.modules:
        raise TargetError("a benchmark was asked for by what is being measured", remedy="measure from outside it")
