"""What a worker answers, as messages: what it is ready for, and what it measured."""

from __future__ import annotations

from typing import Any

from benchwright import schema
from benchwright.worker import channel
from benchwright.worker.channel import Frame
from benchwright.worker.engine.engine import MeasuredLoad, PreparedLoad
from benchwright.worker.runtimes import Loaded, Report


def ready_facts(loaded: Loaded, prepared: PreparedLoad) -> dict[str, Any]:
    """What a worker tells before time zero: of what it loaded, of its clock, and of the warm-up."""
    warmup, facts = prepared.warmup, prepared.facts
    return {
        "device": loaded.device,
        "items_per_call": loaded.items_per_call,
        "versions": dict(loaded.versions),
        "warnings": schema.encode(tuple(loaded.warnings)),
        "clock": {"read": facts.read, "loop": facts.loop, "resolution": facts.resolution},
        "warmup": {name: getattr(warmup, name) for name in type(warmup).__slots__},
        "oversleep": prepared.oversleep,
        "virtual": loaded.clock is not None,
        "pids": list(loaded.pids),
        "details": dict(loaded.details),  # as far as they are known; all there is of a call that fails
    }


def measured_frame(measured: MeasuredLoad, details: dict[str, Any], report: Report) -> Frame:
    """The answer of a worker when nothing is timed any more: samples, and what the target told of itself."""
    from benchwright.machine.environment import installed_packages  # only now: nothing is timed any more

    data, columns = channel.pack_samples(measured.samples)
    whole = {
        "samples": data,
        "gc_collections": measured.gc_collections,
        "probes": schema.encode(tuple(measured.probes)),
        "rate": measured.rate,
        "began": measured.began,
        "details": details,
        "metrics": schema.encode(tuple(report.metrics)),
        "timelines": schema.encode(tuple(report.timelines)),
        "operators": schema.encode(tuple(report.operators)),
        "warnings": schema.encode(tuple(report.warnings)),
        "failure": schema.encode(report.failure),
        "packages": installed_packages(),
    }
    return Frame(kind="measured", data=whole, arrays=columns)
