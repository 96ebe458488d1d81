"""What traces of torch's profiler tell of communication."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchwright.worker.tasks import traces
from benchwright.worker.tasks.traces import read_communication


def _event(name: str, begin: float, length: float, *, cat: str = "cpu_op", tid: int = 1) -> dict[str, Any]:
    return {"ph": "X", "name": name, "cat": cat, "ts": begin, "dur": length, "tid": tid}


# 100 microseconds, a collective from 20 to 60, of which 20 to 30 and 55 to 60 are computed through
GLOO = [
    _event("ProfilerStep#3", 0, 100, cat="user_annotation"),
    _event("autograd::engine", 5, 60),  # around all the others: it waits, too
    _event("aten::mm", 10, 20),
    _event("aten::add", 12, 5),
    _event("aten::mm", 55, 20),
    _event("c10d::allreduce_", 19, 2),
    _event("gloo:all_reduce", 20, 40, cat="user_annotation", tid=7),
]
NCCL = [
    _event("nccl:all_reduce", 0, 1, cat="user_annotation"),
    _event("ncclDevKernel_AllReduce_Sum_f32", 20, 40, cat="kernel", tid=9),
    _event("gemm", 0, 30, cat="kernel", tid=8),
    _event("gemm", 50, 50, cat="kernel", tid=8),
]


def _write(folder: Path, events: list[dict[str, Any]], rank: int = 0, **more: Any) -> Path:
    path = folder / f"rank{rank}.1.pt.trace.json"
    told = {"distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2}, "traceEvents": events, **more}
    path.write_text(json.dumps(told))
    return path


def _shares(folder: Path) -> dict[str, float]:
    return {metric.name: round(metric.estimate.point, 6) for metric in read_communication(folder).metrics}


def test_collectives_of_gloo_and_what_is_not_hidden_by_computing(tmp_path: Path) -> None:
    _write(tmp_path, GLOO)
    # aten::mm holds aten::add, so only aten::add of its time is sure to be computing: none of it in the collective
    assert _shares(tmp_path) == {"communication_share": 40.0, "communication_exposed": 35.0}
    assert read_communication(tmp_path).ranks == (
        {"rank": 0, "whole": 1e-4, "collectives": pytest.approx(4e-5), "exposed": pytest.approx(3.5e-5)},
    )


def test_kernels_of_nccl_are_what_counts_on_a_device(tmp_path: Path) -> None:
    _write(tmp_path, NCCL)
    assert _shares(tmp_path) == {"communication_share": 40.0, "communication_exposed": 20.0}


def test_ranks_are_averaged_and_a_packed_trace_is_read(tmp_path: Path) -> None:
    path = _write(tmp_path, NCCL, 1)
    (tmp_path / "rank1.2.pt.trace.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    _write(tmp_path, [event for event in GLOO if not event["name"].startswith("gloo")], 0)
    assert _shares(tmp_path) == {"communication_share": 20.0, "communication_exposed": 10.0}


def test_without_traces_of_several_ranks_nothing_is_told(tmp_path: Path) -> None:
    assert read_communication(tmp_path / "nowhere") == read_communication(tmp_path)
    _write(tmp_path, GLOO, distributedInfo=None)
    _write(tmp_path, GLOO[:1], 1)  # a last cycle in which nothing ran
    (tmp_path / "other.json").write_text("{")
    found = read_communication(tmp_path)
    assert (found.metrics, found.ranks, found.warnings) == ((), (), ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "Expecting property name"),
        (b"[" * 100_000, ""),
        (b"\x1f\x8b nothing", ""),
        (json.dumps({"distributedInfo": {}, "traceEvents": 3}).encode(), "not iterable"),
        (
            json.dumps({"distributedInfo": {}, "traceEvents": [_event("nccl:x", 0, 1), _event("a", 0, 1)]}).encode(),
            "CUDA",
        ),
    ],
)
def test_a_trace_that_cannot_be_read_is_a_warning(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.pt.trace.json").write_bytes(content)
    _write(tmp_path, GLOO)
    found = read_communication(tmp_path)
    assert [warning.code for warning in found.warnings] == ["trace-unread"] and reason in found.warnings[0].seen
    assert len(found.metrics) == 2


def test_too_large_and_too_many_traces_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(3):
        _write(tmp_path, GLOO, rank)
    monkeypatch.setattr(traces, "MOST", 2)
    found = read_communication(tmp_path)
    assert len(found.ranks) == 2 and "1 more traces" in found.warnings[0].seen
    monkeypatch.setattr(traces, "LARGEST", 100)
    assert all("larger" in one.seen for one in read_communication(tmp_path).warnings[:2])
