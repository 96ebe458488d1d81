"""What the monitors saw of a method, as PerfZero's process_info: lines over time, and the largest values."""

from __future__ import annotations

import bisect
import json
from typing import Any

from benchwright.records import Result, Timeline


def maxima(result: Result) -> dict[str, Any]:
    """The largest resident and virtual memory and CPU use; zeros when nothing was seen.

    The kernel counts CPU time in ticks: a method too short for one window of the monitor has no CPU use to tell.
    """
    return {
        "max_rss": int(max([*_values(result, "rss"), _metric(result, "rss_peak")])),
        "max_vms": int(max([*_values(result, "vms"), _metric(result, "vms_peak")])),
        "max_cpu_percent": round(max(_values(result, "cpu"), default=0.0), 1),
    }


def lines(result: Result) -> str:
    """One JSON object a line, the first at time zero. The whole process tree is counted."""
    rss = _timeline(result, "rss")
    if rss is None:
        return ""
    vms, cpu = _timeline(result, "vms"), _timeline(result, "cpu")
    told = []
    for at, value in zip(rss.seconds, rss.values, strict=True):
        line = {
            "time": round(at, 6),
            "rss": int(value),
            "vms": int(_value_at(vms, at)),
            "cpu_percent": round(_value_at(cpu, at), 1),
        }
        told.append(json.dumps(line) + "\n")
    return "".join(told)


def _value_at(timeline: Timeline | None, instant: float) -> float:
    """The newest value at that instant; the first one before there is any, but 0 for what needs a stretch of time."""
    if timeline is None:
        return 0.0
    # Monitors look one after the other: what was seen a moment later belongs to the same look.
    index = bisect.bisect_right(timeline.seconds, instant + 0.05) - 1
    return timeline.values[index] if index >= 0 else 0.0


def _timeline(result: Result, name: str) -> Timeline | None:
    # From behind: what a benchmark told of itself comes first, what the monitors saw last.
    return next((t for t in reversed(result.timelines) if t.name == name and t.values), None)


def _values(result: Result, name: str) -> tuple[float, ...]:
    found = _timeline(result, name)
    return found.values if found else ()


def _metric(result: Result, name: str) -> float:
    found = result.metric(name)
    return found.estimate.point if found else 0.0
