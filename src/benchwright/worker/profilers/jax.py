"""jax.profiler: what XLA made of a function's operators, from the trace of each call.

XLA fuses operators, and tells of the fused ones: `broadcast_maximum_fusion.1` is a node of the kind
`broadcast_maximum_fusion`.
"""

from __future__ import annotations

import bisect
import gzip
import json
import re
from pathlib import Path
from typing import Any, ClassVar

from benchwright.errors import MeasureError
from benchwright.records import Case
from benchwright.worker.profilers.operator_pass import RecordedCalls
from benchwright.worker.profilers.per_call import Spent, own_times
from benchwright.worker.runtimes import Loaded

_CALL = "benchwright.call"  # a span of our own in the trace
_TRACE = "perfetto_trace.json.gz"
_NUMBER = re.compile(r"(\.\d+)+$")


class JaxOperators:
    """The thunks that XLA executed, on whichever thread or device."""

    name: ClassVar[str] = "jax"

    def __init__(self) -> None:
        self._folder = Path()

    def prepare(self, case: Case, folder: Path) -> Case:
        """Nothing has to be loaded differently; the trace goes to `folder`."""
        self._folder = folder
        return case

    def record(self, loaded: Loaded, calls: RecordedCalls) -> list[list[Spent]]:
        """Makes the calls within one trace and reads it."""
        import jax

        with jax.profiler.trace(self._folder, create_perfetto_trace=True):
            for call in calls:
                with jax.profiler.TraceAnnotation(_CALL):
                    call()
        traces = list(self._folder.rglob(_TRACE))
        if len(traces) != 1:
            raise MeasureError(f"jax wrote {len(traces)} traces", remedy="install a newer jax")
        return _by_call(json.loads(gzip.decompress(traces[0].read_bytes()))["traceEvents"])


def _by_call(events: list[dict[str, Any]]) -> list[list[Spent]]:
    complete = [event for event in events if event.get("ph") == "X"]
    begins = sorted(float(event["ts"]) for event in complete if event["name"] == _CALL)
    found: list[list[Spent]] = [[] for _ in begins]
    for event, own in own_times(event for event in complete if "hlo_op" in event.get("args", {})):
        index = bisect.bisect_right(begins, float(event["ts"])) - 1
        if index >= 0:
            name = str(event["args"]["hlo_op"])
            found[index].append(Spent(name=name, kind=_NUMBER.sub("", name), seconds=own / 1e6))
    return found
