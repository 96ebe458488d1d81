"""Any run as documents of the older harness: `benchwright show RUN --format harness`."""

from __future__ import annotations

from benchwright.compat.harness.documents import as_json
from benchwright.compat.harness.outcome import make_reports
from benchwright.records import Run


def document(run: Run) -> str:
    """A list with `{"meta": ..., "data": ...}` for each test that was measured; no file is read."""
    return as_json([{"meta": one.document.meta, "data": one.document.data} for one in make_reports(run)])
