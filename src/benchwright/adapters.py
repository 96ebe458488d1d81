"""Everything that the author of a plug-in needs: the protocol of each kind of adapter, and what its methods are given.

    from benchwright.adapters import Loaded, Runtime

Names load on first use, so that a runtime does not import what belongs to stores. `docs/extending.md` shows a whole
package with a runtime, a source and a monitor.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from `typing`: a worker imports this for one name
if TYPE_CHECKING:
    from typing import Any

    from benchwright.cloud.orders import Instance as Instance
    from benchwright.cloud.orders import InstanceState as InstanceState
    from benchwright.cloud.orders import MachineShape as MachineShape
    from benchwright.cloud.orders import Order as Order
    from benchwright.cloud.provider import CloudProvider as CloudProvider
    from benchwright.exchange import Exporter as Exporter
    from benchwright.exchange import Importer as Importer
    from benchwright.exchange.importers.source_file import Given as Given
    from benchwright.execution.hosts import Host as Host
    from benchwright.execution.hosts import Worker as Worker
    from benchwright.machine.devices import Device as Device
    from benchwright.machine.devices import DeviceFacts as DeviceFacts
    from benchwright.machine.devices import ProgramEnd as ProgramEnd
    from benchwright.machine.monitors import Monitor as Monitor
    from benchwright.machine.monitors import Observation as Observation
    from benchwright.notify import Sender as Sender
    from benchwright.notify import Withdrawing as Withdrawing
    from benchwright.notify.addresses import NotifyAddress as NotifyAddress
    from benchwright.notify.messages import Message as Message
    from benchwright.notify.messages import Notice as Notice
    from benchwright.store import Miss as Miss
    from benchwright.store import Point as Point
    from benchwright.store import RunSummary as RunSummary
    from benchwright.store import Series as Series
    from benchwright.store import Store as Store
    from benchwright.store.archive import Annotation as Annotation
    from benchwright.store.archive import Archive as Archive
    from benchwright.store.archive import Columns as Columns
    from benchwright.store.archive import CommitFacts as CommitFacts
    from benchwright.store.archive import FacetCounts as FacetCounts
    from benchwright.store.archive import FacetValues as FacetValues
    from benchwright.store.archive import ListedSeries as ListedSeries
    from benchwright.store.archive import Machine as Machine
    from benchwright.store.archive import NamedView as NamedView
    from benchwright.store.archive import ResultOutcome as ResultOutcome
    from benchwright.store.archive import RunChoice as RunChoice
    from benchwright.store.archive import RunLabels as RunLabels
    from benchwright.store.archive import SeriesFilter as SeriesFilter
    from benchwright.store.archive import Valued as Valued
    from benchwright.store.live import Progress as Progress
    from benchwright.targets.sources import Request as Request
    from benchwright.targets.sources import Source as Source
    from benchwright.worker.channel import Frame as Frame
    from benchwright.worker.channel import Job as Job
    from benchwright.worker.profilers import Profiler as Profiler
    from benchwright.worker.profilers.operator_pass import RecordedCalls as RecordedCalls
    from benchwright.worker.profilers.operator_pass import Recorder as Recorder
    from benchwright.worker.profilers.per_call import Spent as Spent
    from benchwright.worker.runtimes import Loaded as Loaded
    from benchwright.worker.runtimes import Report as Report
    from benchwright.worker.runtimes import Runtime as Runtime

_HOMES = {
    "Annotation": "benchwright.store.archive",
    "Archive": "benchwright.store.archive",
    "CloudProvider": "benchwright.cloud.provider",
    "Columns": "benchwright.store.archive",
    "CommitFacts": "benchwright.store.archive",
    "FacetCounts": "benchwright.store.archive",
    "FacetValues": "benchwright.store.archive",
    "Device": "benchwright.machine.devices",
    "DeviceFacts": "benchwright.machine.devices",
    "Exporter": "benchwright.exchange",
    "Frame": "benchwright.worker.channel",
    "Given": "benchwright.exchange.importers.source_file",
    "Host": "benchwright.execution.hosts",
    "Importer": "benchwright.exchange",
    "Instance": "benchwright.cloud.orders",
    "InstanceState": "benchwright.cloud.orders",
    "Job": "benchwright.worker.channel",
    "ListedSeries": "benchwright.store.archive",
    "Loaded": "benchwright.worker.runtimes",
    "Machine": "benchwright.store.archive",
    "MachineShape": "benchwright.cloud.orders",
    "NamedView": "benchwright.store.archive",
    "Message": "benchwright.notify.messages",
    "Miss": "benchwright.store",
    "Monitor": "benchwright.machine.monitors",
    "Notice": "benchwright.notify.messages",
    "NotifyAddress": "benchwright.notify.addresses",
    "Observation": "benchwright.machine.monitors",
    "Order": "benchwright.cloud.orders",
    "Point": "benchwright.store",
    "Profiler": "benchwright.worker.profilers",
    "ProgramEnd": "benchwright.machine.devices",
    "Progress": "benchwright.store.live",
    "RecordedCalls": "benchwright.worker.profilers.operator_pass",
    "Recorder": "benchwright.worker.profilers.operator_pass",
    "Report": "benchwright.worker.runtimes",
    "Request": "benchwright.targets.sources",
    "ResultOutcome": "benchwright.store.archive",
    "RunChoice": "benchwright.store.archive",
    "RunLabels": "benchwright.store.archive",
    "RunSummary": "benchwright.store",
    "Runtime": "benchwright.worker.runtimes",
    "Sender": "benchwright.notify",
    "Series": "benchwright.store",
    "SeriesFilter": "benchwright.store.archive",
    "Source": "benchwright.targets.sources",
    "Spent": "benchwright.worker.profilers.per_call",
    "Store": "benchwright.store",
    "Valued": "benchwright.store.archive",
    "Withdrawing": "benchwright.notify",
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
