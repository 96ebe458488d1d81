"""Data frames, for people who have pandas."""

from __future__ import annotations

from typing import Any

from benchwright.errors import NotInstalledError
from benchwright.records import Run
from benchwright.report.csv import tidy


def to_pandas(run: Run) -> Any:
    """A tidy `pandas.DataFrame`: one row for each result and metric, in base units, params as columns."""
    try:
        import pandas
    except ImportError:
        raise NotInstalledError("pandas", "'benchwright[pandas]'") from None
    frame = pandas.DataFrame(list(tidy(run)))
    if "error" in frame:
        frame.insert(len(frame.columns) - 1, "error", frame.pop("error"))
    return frame
