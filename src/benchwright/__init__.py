"""Benchwright: one benchmark platform for machine learning.

    import benchwright as bw
    run = bw.run("model.onnx", batch_size=[1, 8])

Names load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from benchwright import _version

TYPE_CHECKING = False  # not from `typing`, which takes longer to import than all that is asked of this package at first
if TYPE_CHECKING:
    from typing import Any

    from benchwright.api import MeasuredRun as MeasuredRun
    from benchwright.api import run as run
    from benchwright.culprits import bisect as bisect
    from benchwright.errors import BenchwrightError as BenchwrightError
    from benchwright.errors import UserError as UserError
    from benchwright.marks import benchmark as benchmark
    from benchwright.records import Inputs as Inputs
    from benchwright.records import Load as Load
    from benchwright.records import Objective as Objective
    from benchwright.records import Run as Run
    from benchwright.records import Tolerance as Tolerance
    from benchwright.store import open_store as open_store
    from benchwright.versus import MeasuredTrial as MeasuredTrial
    from benchwright.versus import ab as ab

__version__ = _version.VERSION

_HOMES = {
    "MeasuredRun": "benchwright.api",
    "run": "benchwright.api",
    "bisect": "benchwright.culprits",
    "BenchwrightError": "benchwright.errors",
    "UserError": "benchwright.errors",
    "benchmark": "benchwright.marks",
    "Inputs": "benchwright.records",
    "Load": "benchwright.records",
    "Objective": "benchwright.records",
    "Run": "benchwright.records",
    "Tolerance": "benchwright.records",
    "open_store": "benchwright.store",
    "MeasuredTrial": "benchwright.versus",
    "ab": "benchwright.versus",
}

__all__ = [*sorted(_HOMES), "__version__"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'benchwright' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
