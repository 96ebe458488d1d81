"""Benchwright: one benchmark platform for machine learning.

    import benchwright as bw
    run = bw.run("model.onnx", batch_size=[1, 8])

Names load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from benchwright import _moved, _version

TYPE_CHECKING = False  # not from `typing`, which takes longer to import than all that is asked of this package at first
if TYPE_CHECKING:
    from typing import Any

    from benchwright.cli.magics import load_ipython_extension as load_ipython_extension
    from benchwright.decorator import benchmark as benchmark
    from benchwright.errors import BenchwrightError as BenchwrightError
    from benchwright.errors import UserError as UserError
    from benchwright.records import Inputs as Inputs
    from benchwright.records import Load as Load
    from benchwright.records import Objective as Objective
    from benchwright.records import Run as Run
    from benchwright.records import Tolerance as Tolerance
    from benchwright.store import open_store as open_store
    from benchwright.workflows.ab.run import MeasuredTrial as MeasuredTrial
    from benchwright.workflows.ab.run import ab as ab
    from benchwright.workflows.bisect.run import MeasuredBisection as MeasuredBisection
    from benchwright.workflows.bisect.run import bisect as bisect
    from benchwright.workflows.comparison import BaselineComparison as BaselineComparison
    from benchwright.workflows.comparison import ComparedRuns as ComparedRuns
    from benchwright.workflows.comparison import compare as compare
    from benchwright.workflows.comparison import compare_several as compare_several
    from benchwright.workflows.findings import FindingList as FindingList
    from benchwright.workflows.findings import findings as findings
    from benchwright.workflows.history import TargetHistory as TargetHistory
    from benchwright.workflows.history import history as history
    from benchwright.workflows.lab.submission import LabRequest as LabRequest
    from benchwright.workflows.run import MeasuredRun as MeasuredRun
    from benchwright.workflows.run import run as run
    from benchwright.workflows.tune.run import TunedRace as TunedRace
    from benchwright.workflows.tune.run import tune as tune

__version__ = _version.VERSION
_moved.install()

_HOMES = {
    "load_ipython_extension": "benchwright.cli.magics",
    "MeasuredRun": "benchwright.workflows.run",
    "run": "benchwright.workflows.run",
    "MeasuredBisection": "benchwright.workflows.bisect.run",
    "bisect": "benchwright.workflows.bisect.run",
    "BaselineComparison": "benchwright.workflows.comparison",
    "ComparedRuns": "benchwright.workflows.comparison",
    "compare": "benchwright.workflows.comparison",
    "compare_several": "benchwright.workflows.comparison",
    "FindingList": "benchwright.workflows.findings",
    "findings": "benchwright.workflows.findings",
    "LabRequest": "benchwright.workflows.lab.submission",
    "TargetHistory": "benchwright.workflows.history",
    "history": "benchwright.workflows.history",
    "BenchwrightError": "benchwright.errors",
    "UserError": "benchwright.errors",
    "benchmark": "benchwright.decorator",
    "Inputs": "benchwright.records",
    "Load": "benchwright.records",
    "Objective": "benchwright.records",
    "Run": "benchwright.records",
    "Tolerance": "benchwright.records",
    "open_store": "benchwright.store",
    "MeasuredTrial": "benchwright.workflows.ab.run",
    "ab": "benchwright.workflows.ab.run",
    "TunedRace": "benchwright.workflows.tune.run",
    "tune": "benchwright.workflows.tune.run",
}

__all__ = [*sorted(_HOMES), "__version__"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'benchwright' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
