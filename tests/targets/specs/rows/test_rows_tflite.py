from __future__ import annotations

from typing import Any

import pytest

from benchwright.targets.specs.rows import figures
from benchwright.targets.specs.rows.converters import RowCollector, readers
from benchwright.targets.specs.rows.entries import Entries

HEADER = "\t[node type]\t[start]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]"
ORDER = "============================== Run Order =============================="
TOP = "============================== Top by Computation Time =============================="
TEXT = f"""STARTING!
Initialized session in 0.69ms.
Running benchmark for at least 1 iterations and at least 0.5 seconds.
count=7 first=9e+03 curr=8146 min=7055 max=12036 avg=8779.68 std=1115

Running benchmark for at least 50 iterations and at least 1 seconds.
INFO: count=50 first=1.2e+06 curr=1000016 min=1e+06 max=1.3e+06 avg=1.12345e+06 std=100000

Profiling Info for Benchmark Initialization:
{ORDER}
{HEADER}
\tAllocateTensors\t0.000\t0.0\t5.5\t100%\t100%\t0.000\t1\tAllocateTensors/0

Operator-wise Profiling Info for Regular Benchmark Runs:
{ORDER}
{HEADER}
\tCONV_2D\t0.000\t9.1\t4.25\t42%\t42%\t0.000\t1\t[net/conv0]:0
\tCONV_2D\t9.1\t3.2\t2.0\t20%\t62%\t0.000\t1\t[net/conv1]:1
\tSOFTMAX\t9.9\t1.0\t2.5e-1\t3%\t100%\t0.000\t1\t[net/out]:2

{TOP}
{HEADER}
\tCONV_2D\t0.000\t9.1\t99\t42%\t42%\t0.000\t1\t[net/other]:0
"""


def _read(text: str) -> tuple[Entries, RowCollector]:
    collector = RowCollector(readers(framework="tflite"))
    collector.feed(text.encode())
    return collector.finish(), collector


def test_counts_and_operators_in_run_order() -> None:
    """The older system failed on averages that are printed with an exponent."""
    entries, collector = _read(TEXT)
    told: dict[str, Any] = {entry.key: entry.as_details() for entry in entries}
    assert told.pop("NET latency") == {
        "type": "NET",
        "metric": "latency",
        "unit": "us",
        "values": [],
        "num_runs": 50,
        "summary": {"p0": 1e6, "p100": 1.3e6, "mean": 1.12345e6, "stdev": 1e5},
    }
    assert {key: entry["summary"]["mean"] for key, entry in told.items()} == {
        "net/conv0 latency": 4250.0,
        "net/conv1 latency": 2000.0,
        "net/out latency": 250.0,
        "CONV_2D latency": 6250.0,
        "SOFTMAX latency": 250.0,
    }
    assert collector.bad == 0


def test_its_summary_becomes_a_metric_and_its_nodes_operators() -> None:
    entries, _ = _read(TEXT)
    net = figures.metrics(entries)[0]
    assert (net.name, net.unit, net.count) == ("NET latency", "s", 50)
    assert net.estimate.point == pytest.approx(1.12345)
    assert net.estimate.high == pytest.approx(1.12345 + 2.0096 * 0.1 / 50**0.5, rel=1e-4)
    found = figures.operators(entries)
    assert [(o.name, o.kind, o.seconds) for o in found] == [
        ("net/conv0", "CONV_2D", pytest.approx(4.25e-3)),
        ("net/conv1", "CONV_2D", pytest.approx(2e-3)),
        ("net/out", "SOFTMAX", pytest.approx(0.25e-3)),
    ]
    assert sum(o.share for o in found) == pytest.approx(1)


def test_one_run_has_no_more_than_its_value() -> None:
    entries, _ = _read("Running benchmark for at least 1 iterations\ncount=1 curr=1234\n")
    (entry,) = entries
    assert entry.summary == {"p0": 1234, "p100": 1234, "mean": 1234, "stdev": 0} and entry.runs == 1
    (metric,) = figures.metrics(entries)
    assert metric.estimate.low is None


def test_numbers_that_are_none_are_counted() -> None:
    entries, collector = _read("count=3 avg=fast\ncount=5 avg=2\n")
    assert [entry.runs for entry in entries] == [5] and collector.bad == 1
    assert not len(_read("count=3\n")[0])


def test_columns_are_found_by_their_names_or_missed_loudly() -> None:
    spaced = f"{ORDER}\n  [node type]  [avg ms]  [Name]\n  RELU  1.5  act\n  RELU  2.5  act2\n"
    entries, _ = _read(spaced)
    assert [entry.key for entry in entries] == ["act latency", "act2 latency", "RELU latency"]
    _, collector = _read(f"{ORDER}\n  [node type]  [ms]  [Name]\n  RELU  1.5  act\n")
    assert collector.bad == 1 and "no column 'avg ms'" in collector.example
