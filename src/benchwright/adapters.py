"""Everything that the author of a plug-in needs: the protocol of each kind of adapter, and what its methods are given.

    from benchwright.adapters import Loaded, Runtime

Names load on first use, so that a runtime does not import what belongs to stores. `docs/extending.md` shows a whole
package with a runtime, a source and a monitor.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from `typing`: a worker imports this for one name
if TYPE_CHECKING:
    from typing import Any

    from benchwright.exchange import Exporter as Exporter
    from benchwright.exchange import Importer as Importer
    from benchwright.execution.hosts import Host as Host
    from benchwright.execution.hosts import Worker as Worker
    from benchwright.machine.devices import Device as Device
    from benchwright.machine.monitors import Monitor as Monitor
    from benchwright.machine.monitors import Observation as Observation
    from benchwright.notify import Sender as Sender
    from benchwright.store import Store as Store
    from benchwright.store.archive import Archive as Archive
    from benchwright.targets.sources import Request as Request
    from benchwright.targets.sources import Source as Source
    from benchwright.worker.profilers import Profiler as Profiler
    from benchwright.worker.profilers.operator_pass import Recorder as Recorder
    from benchwright.worker.profilers.per_call import Spent as Spent
    from benchwright.worker.runtimes import Loaded as Loaded
    from benchwright.worker.runtimes import Runtime as Runtime

_HOMES = {
    "Archive": "benchwright.store.archive",
    "Device": "benchwright.machine.devices",
    "Exporter": "benchwright.exchange",
    "Host": "benchwright.execution.hosts",
    "Importer": "benchwright.exchange",
    "Loaded": "benchwright.worker.runtimes",
    "Monitor": "benchwright.machine.monitors",
    "Observation": "benchwright.machine.monitors",
    "Profiler": "benchwright.worker.profilers",
    "Recorder": "benchwright.worker.profilers.operator_pass",
    "Request": "benchwright.targets.sources",
    "Runtime": "benchwright.worker.runtimes",
    "Sender": "benchwright.notify",
    "Source": "benchwright.targets.sources",
    "Spent": "benchwright.worker.profilers.per_call",
    "Store": "benchwright.store",
    "Worker": "benchwright.execution.hosts",
}

__all__ = [*_HOMES]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'benchwright.adapters' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
