"""Right files of every kind, which the hunt makes wrong."""

from __future__ import annotations

import functools
import io
import json
from array import array
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy

import price_lists as price_files
from benchwright import records, schema
from benchwright.records import Verdict, prices
from benchwright.records.findings import Finding
from benchwright.stats import histogram


def run() -> records.Run:
    """A run that has something in every field."""
    calls = array("q", [1000, 1100, 900, 1200])
    samples = records.Samples(
        copy=0,
        calls=8,
        loops=2,
        elapsed=5000,
        columns={"latency": calls, "end": array("q", [1000, 2100, 3000, 4200])},
        histograms={"latency": histogram.fold(calls)},
    )
    metrics = tuple(
        records.Metric(
            name=name,
            unit=unit,
            better=better,
            estimate=records.Estimate(point=value, low=value / 2, high=value * 2, method="bootstrap"),
            count=4,
            values=(value,) * 3,
            most=value * 3,
        )
        for name, unit, better, value in (
            ("latency_p50", "s", records.Better.LOWER, 1e-3),
            ("latency", "s", records.Better.LOWER, 1.1e-3),
            ("throughput", "/s", records.Better.HIGHER, 900.0),
            ("rss_peak", "B", records.Better.LOWER, 1e8),
        )
    )
    environment = records.Environment(
        machine={"cpu": "A CPU", "cores": 2, "memory": 1 << 34, "caches": {"L1": 32768}},
        system={"os": "Linux", "architecture": "x86_64", "host": "box"},
        runtimes={"onnxruntime": "1.24"},
        packages={"numpy": "2.1"},
        knobs={"governor": "powersave"},
        collected_at="2026-01-02T03:04:05+00:00",
    )
    result = records.Result(
        id="r1",
        case=records.Case(
            name="tiny",
            target=records.Target(runtime="fake", uri="a.fake"),
            params={"batch_size": 8, "provider": "cpu"},
        ),
        round=0,
        status=records.Status.OK,
        environment=environment,
        started_at="2026-01-02T03:04:05+00:00",
        duration=1.5,
        revision=records.Revision(vcs="git", id="a" * 40, branch="main", committed_at="2026-01-01T00:00:00+00:00"),
        metrics=metrics,
        samples=(samples,),
        timelines=(records.Timeline(name="rss", unit="B", seconds=(0.0, 1.0), values=(1.0, 2.0)),),
        details={"providers": ["cpu"], "model": {"nodes": 3}},
        instrument={"verdict": "reliable", "clock_cost": 1e-8},
        warnings=(records.ResultWarning(code="few", seen="few calls", remedy="more"),),
        artifacts=(records.Artifact(name="trace", kind="trace", path="/tmp/none", size=3),),
        operators=(records.Operator(name="n", kind="Conv", seconds=1e-3, share=0.5),),
        log_tail="a word\n",
    )
    failed = replace(
        result,
        id="r2",
        status=records.Status.FAILED,
        metrics=(),
        samples=(),
        error=records.Failure(kind="ValueError", message="no", log_tail="line\n"),
    )
    return records.Run(
        id="20260102T030405000-abc",
        started_at="2026-01-02T03:04:05+00:00",
        harness="0.1.0",
        command=("benchwright", "run"),
        results=(result, replace(result, id="r3", round=1), failed),
        tags=("nightly",),
        planned=3,
    )


def document() -> list[bytes]:
    return [schema.dumps(run()).encode()]


def lines() -> list[bytes]:
    return [document()[0] + b"\n" + schema.dumps(replace(run(), id="another")).encode() + b"\n"]


def of(*places: Path) -> Callable[[], list[bytes]]:
    return lambda: [place.read_bytes() for place in places]


CLOUD_SETTINGS = b"[core]\nproject = lab-1\n[compute]\nzone = europe-west4-b\n[defaults]\nlocation = westeurope\n"
CLOUD_PROFILE = b'\xef\xbb\xbf{"subscriptions": [{"id": "0-1", "isDefault": true}, {"id": "2"}]}'
CLUSTERS = (
    b'[{"name": "bw-0123456789abcdef0123456789abcdef", "launched_at": 1795000000, "status": "UP", "region": "x",'
    b' "labels": {"benchwright-expires": "2026-11-18t11-06-40z"}, "resources_str_full": "1x(cpus=2, m6i.large)"}]'
)


def own_prices() -> list[bytes]:
    return [price_files.OWN.encode()]


def price_lists() -> list[bytes]:
    made = ("LIBCLOUD", "AWS", "GET_PRODUCTS", "AZURE", "GOOGLE", "ORACLE")
    return [json.dumps(getattr(price_files, name)).encode() for name in made]


def price_tables() -> list[bytes]:
    return [text.encode() for text in (price_files.AWS_TABLE, price_files.SKYPILOT, price_files.GPUHUNT)]


def kept_prices() -> list[bytes]:
    kept = prices.Price(provider="aws", shape="c7i.large", region="eu-west-1", amount=0.1, fetched_at="2026-11-02")
    return [json.dumps(schema.encode(kept)).encode() + b"\n"]


def parquet_file() -> list[bytes]:
    from benchwright.store.files import parquet

    file = io.BytesIO()
    parquet.write([run()], file)
    return [file.getvalue()]


def arrays() -> list[bytes]:
    stored, packed = io.BytesIO(), io.BytesIO()
    numpy.savez(stored, a=numpy.arange(6.0).reshape(2, 3), b=numpy.arange(3))
    numpy.savez_compressed(packed, a=numpy.arange(6.0).reshape(2, 3))
    return [stored.getvalue(), packed.getvalue()]


def array_file() -> list[bytes]:
    file = io.BytesIO()
    numpy.save(file, numpy.arange(6.0).reshape(2, 3))
    return [file.getvalue()]


def finding() -> Finding:
    estimate = records.Estimate(point=1.0, low=0.9, high=1.1)
    return Finding(
        id="f1",
        series="s",
        before=estimate,
        after=estimate,
        effect=estimate,
        method="changepoint",
        verdict=Verdict.WORSE,
        case="tiny",
        params='{"batch_size":8}',
        metric="latency_p50",
        unit="s",
        confidence=0.99,
        found_at="2026-01-02T03:04:05+00:00",
        why={"packages": ["numpy"]},
    )


def spool_entry() -> list[bytes]:
    head = {"spool": 1, "length": 2, "at": 1.0, "method": "PUT", "path": "runs/a", "kind": "application/json"}
    head |= {"packed": False, "file": "", "size": 0, "what": "run a", "repeatable": True}
    return [json.dumps(head).encode() + b"\n{}"]


def journal() -> list[bytes]:
    due = {
        "at": "2026-01-02T03:04:05+00:00",
        "what": "due",
        "targets": ["webhook"],
        "finding": json.loads(schema.dumps(finding())),
    }
    more = [
        {"at": due["at"], "what": what, "target": "webhook", "findings": ["f1"], "pause": 1.0}
        for what in ("trying", "failed", "told", "over", "withdrawn", "dropped")
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in (due, *more))]


def watch_journal() -> list[bytes]:
    entries = [
        {"what": "started", "revision": "a", "at": "2026-01-02T03:04:05+00:00"},
        {"what": "ended", "revision": "a", "outcome": "measured", "run": "r"},
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in entries)]


def ledger() -> list[bytes]:
    at = "2026-01-01T03:04:05+00:00"
    order = {"token": "a" * 32, "provider": "aws", "shape": "m", "region": "r", "expires": at, "options": {"net": "n"}}
    price = {"provider": "aws", "shape": "m", "amount": 1.5}
    lines = [
        {"v": 1, "at": at, "event": "ordered", "token": "a" * 32, "order": order, "price": price, "payer": "me"},
        {"v": 1, "at": at, "event": "created", "token": "a" * 32, "id": "i-1", "launched_at": at},
        *(
            {"v": 1, "at": at, "event": event, "token": "a" * 32}
            for event in ("running", "stopped", "started", "ended")
        ),
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in lines)]


def summary() -> list[bytes]:
    from benchwright.compat.perfzero import export

    return [export.document(replace(run(), results=run().results[:1])).encode()]


def noted() -> list[bytes]:
    from benchwright.fetch.partials import PartialNote

    return [json.dumps(asdict(PartialNote.of("http://127.0.0.1:1/model.onnx", validator='"a"', total=10))).encode()]


def server_answers() -> list[bytes]:
    encoded = schema.encode([finding()])
    return [
        json.dumps({"version": "1", "scopes": ["read"], "answer": []}).encode(),
        json.dumps({"answer": encoded}).encode(),
        json.dumps({"error": "no", "remedy": "yes"}).encode(),
        json.dumps({"answer": schema.encode(run().results[0].samples)}).encode(),
        document()[0],
    ]


OLDER_TASKS = b"""[task]
patterns = ["speed (\\\\d+)", "loss (.*)"]
metrics = ["speed", "loss"]
compute_method = ["average", "last"]
command_to_execute = python3 train.py --gpus {0}
num_gpus = 1
"""
SETTINGS = b"""store = "results.db"
tags = ["a"]
rounds = 3
duration = 1.5
[notify]
targets = ["webhook+https://127.0.0.1/"]
per_hour = 3
[retention]
samples = "90d"
"""
INDEX = b"""{"version": "1", "model_name": "m", "model_configs": [{"filename": "a.onnx", "input_idx": 0,
 "batch_size": 1, "pipeline_size": 1, "performance_level": 1, "cast_mode": "", "compile_s": 1.0}]}"""
DIALOGUES = b"""[{"id": "a", "conversations": [{"from": "human", "value": "One?"}, {"from": "gpt", "value": "1"}]},
 {"conversations": [{"from": "system", "value": "Be"}, {"from": "human", "value": "Two?"}]}]"""
PROMPTS = b"""{"prompt": "a", "max_tokens": 5, "seconds": 0.5}
{"messages": [{"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}], "seconds": 1}
{"messages": [{"role": "user", "content": [{"type": "text", "text": "d"}, {"type": "image_url"}]}]}
{"custom_id": "1", "body": {"model": "m", "messages": [{"role": "user", "content": "e"}], "max_tokens": 3}}
"""
REQUESTS = b"""{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}
{"timestamp": 27, "input_length": 20, "output_length": 6, "hash_ids": [0]}
"""
REQUEST_TABLE = b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,37,4\n2023-11-16 18:15:47,9,5\n"
PROCESS = b'{"time": 1.0, "cpu": 3.0, "rss": 100}\n{"time": 2.0, "cpu": 4.0, "rss": 110}\n'
MARK = b'{"failure": {"kind": "a", "message": "b"}, "seconds": 1.5, "python": "/", "warnings": ["a"]}'
PROJECT = b"""[project]
name = "a"
dynamic = ["version"]
dependencies = ["numpy>=2", "click"]
[tool.poetry]
name = "a"
"""

# What torch.export writes of a model with an embedding, as far as it is read.
EXPORTED = json.dumps(
    {
        "graph_module": {
            "graph": {
                "tensor_values": {
                    name: {"dtype": kind, "sizes": [{"as_int": 1}, {"as_expr": {"expr_str": "s0"}}]}
                    for name, kind in (("x", 5), ("weight", 7), ("y", 7))
                },
                "nodes": [
                    {
                        "target": "torch.ops.aten.embedding.default",
                        "inputs": [
                            {"name": "weight", "arg": {"as_tensor": {"name": "weight"}}},
                            {"name": "indices", "arg": {"as_tensor": {"name": "x"}}},
                        ],
                    }
                ],
            },
            "signature": {
                "input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}],
            },
        }
    }
).encode()


@functools.cache
def models() -> list[bytes]:
    """A model with an image of any size, whole numbers that index a table, and state."""
    from onnx import TensorProto, helper, numpy_helper

    table = numpy_helper.from_array(numpy.zeros((7, 4), numpy.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "ids"], ["found"]), helper.make_node("Identity", ["h"], ["hn"])]
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", None]),
        helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 4]),
    ]
    outputs = [
        helper.make_tensor_value_info("found", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("hn", TensorProto.FLOAT, [1, 4]),
    ]
    graph = helper.make_graph(nodes, "small", inputs, outputs, [table])
    return [helper.make_model(graph).SerializeToString()]


def made_environments() -> list[bytes]:
    from benchwright.execution.outposts.orders import MadeEnvironment

    made = MadeEnvironment(python="/usr/bin/python3", packages={"needed": "2.0"}, seconds=3.5)
    return [json.dumps(schema.encode(made)).encode()]


ASV_SETTINGS = b"""{
    // as asv writes it
    "version": 1, "project": "tool", "repo": ".", "branches": ["main"], /* more [ of them ] */
    "pythons": ["3.11"], "matrix": {"req": {"numpy": ["", "2.0"]}, "env": {"A": ["1", null]}},
    "exclude": [{"python": "3.9"}], "include": [{"req": {"numpy": "1.26"}}],
    "benchmark_dir": "benchmarks", "build_command": ["python -m build"], "default_benchmark_timeout": 20.5,
}
"""
TRACE = b"""{"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.0, "dur": 5.0},
  {"ph": "X", "cat": "cpu_op", "name": "gloo:all_reduce", "pid": 1, "tid": 2, "ts": 12.0, "dur": 9.0}]}
"""
