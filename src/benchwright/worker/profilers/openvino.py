"""OpenVINO's counters: after each call, how long every node that was executed took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchwright.errors import MeasureError
from benchwright.records import Case
from benchwright.worker.profilers.operator_pass import RecordedCalls
from benchwright.worker.profilers.per_call import Spent
from benchwright.worker.runtimes import Loaded

_MERGED = "originalLayersNames"


class OpenVinoOperators:
    """Nodes that were merged into one are named together: `conv1 + relu1`."""

    name: ClassVar[str] = "openvino"

    def prepare(self, case: Case, folder: Path) -> Case:
        """The case with the option that makes OpenVINO count how long each node takes."""
        options = {name: value for name, value in case.target.options.items() if name.upper() != "PERF_COUNT"}
        return replace(case, target=replace(case.target, options={**options, "PERF_COUNT": True}))

    def record(self, loaded: Loaded, calls: RecordedCalls) -> list[list[Spent]]:
        """Reads the counters of the request that made the call, after each."""
        from benchwright.worker.runtimes.openvino import counting_request

        request = counting_request(loaded.model)
        if request is None:
            raise MeasureError("openvino does not count on this device", remedy="record on cpu")
        counters = []
        for call in calls:
            call()
            counters.append(request.get_profiling_info())
        executed = {info.node_name for call_counters in counters for info in call_counters if _is_executed(info)}
        nodes = _nodes(loaded.model)
        return [[_spent_in_node(info, nodes) for info in each if info.node_name in executed] for each in counters]


def _is_executed(info: Any) -> bool:
    """Whether a counter says that its node ran: it does not where the node took less than one microsecond."""
    return str(info.status).endswith(".EXECUTED")


def _spent_in_node(info: Any, nodes: Mapping[str, tuple[str, str]]) -> Spent:
    name, shapes = nodes.get(info.node_name, (info.node_name, ""))
    return Spent(name=name, kind=info.node_type, shapes=shapes, seconds=info.real_time.total_seconds())


def _nodes(compiled: Any) -> dict[str, tuple[str, str]]:
    """By node of what is really executed: the names of the model's own nodes in it, and the shapes it takes."""
    found = {}
    for node in compiled.get_runtime_model().get_ordered_ops():
        told, name = node.get_rt_info(), node.get_friendly_name()
        merged = [part for part in told[_MERGED].astype(str).split(",") if part] if _MERGED in told else []
        shapes = " ".join(str(port.get_partial_shape()).replace(",", "x") for port in node.inputs())
        found[name] = (" + ".join(merged) if len(merged) > 1 else name, shapes)
    return found
