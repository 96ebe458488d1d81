"""The project whose benchmarks `sample_store` keeps: its commits, machines, cases and what each run measured."""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

import numpy as np

from benchwright import schema
from benchwright.records import (
    Artifact,
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Inputs,
    Load,
    Metric,
    Operator,
    Result,
    ResultWarning,
    Revision,
    Run,
    Samples,
    Scalar,
    Status,
    Target,
    Timeline,
    Value,
)

COMMITS = 60
ROUNDS = 2
CALLS = 2000
START = datetime(2026, 9, 1, 3, 0, tzinfo=UTC)
REGRESSION, IMPROVEMENT, MEMORY, SLOW_FROM, SLOW_TO, FAILING = 41, 25, 33, 10, 18, 50  # commits
AUTHORS = ("Ada Byron", "Grace Murray", "Katherine Goble", "Barbara Huberman")
SUBJECTS = (
    "Read shapes from the model",
    "Cache the tokenizer",
    "Free buffers earlier",
    "Bump numpy",
    "Tidy the loader",
    "Fuse bias and activation",
    "Log less",
    "Reuse the session",
)
CULPRIT_SUBJECT = "Copy every input before the call"
PERCENTILE = "order statistics"


class Measured(NamedTuple):
    """A case and about how long one call of it takes."""

    case: Case
    seconds: float
    memory: float


# ---- runs ----


def run(number: int) -> Run:
    """The run of that number: even ones on the first machine, odd ones on the second."""
    commit, machine = divmod(number, 2)
    at = START + timedelta(hours=12 * commit + machine)
    results = tuple(result(number, one, i) for i in range(ROUNDS) for one in cases())
    return Run(
        id=run_id(number),
        started_at=instant(at),
        harness="1.0.0",
        command=("benchwright", "run", "suite/", "--runtime", "onnxruntime,openvino,torch", "--rounds", "2"),
        reason=f"commit {revision(commit).id[:12]} on main" if commit else "the first of all",
        revision=revision(commit),
        results=results,
        tags=("nightly", "release-2.0") if commit == 30 else ("nightly",),
        planned=len(results),
    )


def run_id(number: int) -> str:
    """The id of a run."""
    return f"{START + timedelta(hours=12 * (number // 2) + number % 2):%Y%m%dT%H%M%S}000-{number:06x}"


@cache
def revision(commit: int) -> Revision:
    """A commit of the project that is measured."""
    subject = CULPRIT_SUBJECT if commit == REGRESSION else SUBJECTS[commit % len(SUBJECTS)]
    return Revision(
        vcs="git",
        id=hashlib.sha1(f"commit {commit}".encode()).hexdigest(),
        branch="main",
        committed_at=instant(START + timedelta(hours=12 * commit - 1)),
        subject=subject,
        author=AUTHORS[commit % len(AUTHORS)],
    )


@cache
def environment(machine: int, commit: int) -> Environment:
    """One of two machines; numpy was upgraded on both, the kernel on the second."""
    cpu = ("Example Core 9000", "Example Server 7")[machine]
    return Environment(
        machine={
            "cpu": cpu,
            "cores": (8, 32)[machine],
            "threads": (16, 64)[machine],
            "memory": (32 << 30, 256 << 30)[machine],
        },
        system={
            "os": "Linux",
            "architecture": "x86_64",
            "kernel": "6.8.0" if machine and commit >= 45 else "6.1.0",
            "distribution": "Debian GNU/Linux 12 (bookworm)",
            "host": ("bench-desk", "bench-rack")[machine],
            "python": "3.11.9",
        },
        runtimes={"onnxruntime": "1.23.0", "openvino": "2026.3.0", "torch": "2.9.1"},
        packages={"numpy": "2.3.2" if commit >= 27 else "2.3.1", "onnx": "1.19.0", "tokenizers": "0.22.1"},
        knobs={"governor": "performance", "turbo": "off", "aslr": "full", "at_start": {"load": [0.2 + machine]}},
        collected_at=instant(START + timedelta(hours=12 * commit + machine)),
    )


@cache
def cases() -> tuple[Measured, ...]:
    """Every case of a run."""
    runtimes = ("onnxruntime", "openvino", "torch")
    found = [
        Measured(_model("vision/resnet50.onnx", runtime, batch), seconds * batch**0.8, 310e6)
        for runtime, seconds in zip(runtimes, (4.1e-3, 3.4e-3, 5.6e-3), strict=True)
        for batch in (1, 8)
    ]
    found += [
        Measured(_model("text/bert.onnx", runtime, 1), seconds, 920e6)
        for runtime, seconds in zip(runtimes, (11e-3, 9.2e-3, 14e-3), strict=True)
    ]
    encode = Case(
        name="tokenizer.py::encode", target=Target(runtime="python", uri="tokenizer.py::encode"), params={"words": 512}
    )
    found.append(Measured(encode, 180e-6, 96e6))
    found.append(Measured(_model("audio/whisper.onnx", "onnxruntime", 1), 62e-3, 1.4e9))
    return tuple(found)


def _model(name: str, runtime: str, batch: int) -> Case:
    params: dict[str, Scalar] = {"runtime": runtime, "device": "cpu", "batch_size": batch}
    return Case(
        name=name,
        target=Target(runtime=runtime, uri=f"suite/{name}", precision="fp32"),
        params=params,
        inputs=Inputs(batch_size=batch),
        load=Load(duration=10.0),
        version=hashlib.sha256(name.encode()).hexdigest()[:16],
    )


# ---- results ----


def result(number: int, one: Measured, i: int) -> Result:
    """One case of a run in round `i`."""
    commit, machine = divmod(number, 2)
    name = one.case.name
    at = START + timedelta(hours=12 * commit + machine, seconds=40 * i)
    bare = Result(
        id=schema.fingerprint([run_id(number), name, dict(one.case.params), i])[:20],
        case=one.case,
        round=i,
        status=Status.OK,
        environment=environment(machine, commit),
        started_at=instant(at),
        duration=12.4,
    )
    if name.startswith("audio/") and machine == 1 and commit >= FAILING:
        return replace(bare, status=Status.FAILED, duration=0.7, error=_failure())
    draw = np.random.default_rng(
        [number, i, *f"{name} {one.case.target.runtime} {one.case.inputs.batch_size}".encode()]
    )
    seconds = one.seconds * level(one.case, commit) * (0.8, 1.0)[1 - machine] * float(np.exp(draw.normal(0, 0.002)))
    memory = one.memory * memory_level(one.case, commit) * float(np.exp(draw.normal(0, 0.001)))
    rich = number >= 2 * COMMITS - 4 and machine == 0
    found = replace(
        bare, metrics=_metrics(one.case, seconds, memory, draw), instrument=_instrument(draw), details={"device": "cpu"}
    )
    return _with_all(found, seconds, memory, draw) if rich else found


def level(case: Case, commit: int) -> float:
    """How long a call takes at that commit, as a share of what it took at first."""
    runtime = case.target.runtime
    if case.name.startswith("vision/") and runtime == "onnxruntime" and commit >= REGRESSION:
        return 1.12
    if case.name.startswith("vision/") and runtime == "openvino" and commit >= IMPROVEMENT:
        return 0.85
    if case.name.startswith("tokenizer") and SLOW_FROM <= commit < SLOW_TO:
        return 1.3
    return 1.0


def memory_level(case: Case, commit: int) -> float:
    """The same for memory."""
    return 1.09 if case.name.startswith("text/") and case.target.runtime == "torch" and commit >= MEMORY else 1.0


def _metrics(case: Case, seconds: float, memory: float, draw: np.random.Generator) -> tuple[Metric, ...]:
    tail = 1.6 * float(np.exp(draw.normal(0, 0.006)))
    batch = case.inputs.batch_size
    return (
        _metric("latency", "s", Better.LOWER, 1.04 * seconds, 0.004, "mean"),
        _metric("latency_p50", "s", Better.LOWER, seconds, 0.003),
        _metric("latency_p90", "s", Better.LOWER, 1.2 * seconds, 0.008),
        _metric("latency_p99", "s", Better.LOWER, tail * seconds, 0.01),
        _metric("throughput", "/s", Better.HIGHER, batch / (1.04 * seconds), 0.004, "completions over time"),
        _metric("load_time", "s", Better.LOWER, 0.4 + memory / 2e9, 0.0, "one observation"),
        _metric("rss_peak", "B", Better.LOWER, memory, 0.0, "one observation"),
    )


def _metric(name: str, unit: str, better: Better, point: float, width: float, method: str = PERCENTILE) -> Metric:
    low, high = (point * (1 - width), point * (1 + width)) if width else (None, None)
    estimate = Estimate(point=point, low=low, high=high, method=method)
    return Metric(name=name, unit=unit, better=better, estimate=estimate, count=CALLS if width else 1)


def _instrument(draw: np.random.Generator) -> dict[str, Value]:
    return {
        "clock_cost_ns": 41,
        "recorded_calls": CALLS,
        "folded_calls": 0,
        "steady": True,
        "warmup_calls": 380,
        "cpu_others_percent": round(float(draw.uniform(0.1, 1.5)), 2),
        "verdict": "trustworthy",
    }


def _failure() -> Failure:
    log = [f"loading shard {i} of 12" for i in range(1, 10)]
    log += ["Traceback (most recent call last):", '  File "load.py", line 41, in load', "MemoryError: 5.6 GiB wanted"]
    return Failure(
        kind="LoadError",
        message="onnxruntime cannot load audio/whisper.onnx: 5.6 GiB wanted, 3.1 GiB free",
        remedy="free memory on that machine, or measure the quantised model",
        log_tail="\n".join(log),
    )


# ---- results that have everything ----


def _with_all(bare: Result, seconds: float, memory: float, draw: np.random.Generator) -> Result:
    values = seconds * np.exp(draw.normal(0, 0.05, CALLS))
    values[: CALLS // 50] *= 1.3
    values[draw.integers(0, CALLS, CALLS // 150)] *= draw.uniform(2, 4)
    latency = (values * 1e9).astype(np.int64)
    end = np.cumsum(latency)
    columns = {"latency": array("q", latency.tobytes()), "end": array("q", end.tobytes())}
    elapsed = float(end[-1]) / 1e9
    return replace(
        bare,
        samples=(Samples(copy=0, calls=CALLS, loops=1, elapsed=int(end[-1]), columns=columns),),
        timelines=_timelines(elapsed, memory, draw),
        operators=_operators(bare.case, seconds, bare.started_at),
        warnings=_warnings(bare),
        artifacts=_artifacts(bare),
        log_tail="loading suite\ngraph optimised: 176 nodes\nready",
        details={"device": "cpu", "providers": ["CPUExecutionProvider"], "inputs": {"data": [1, 3, 224, 224]}},
    )


def _timelines(elapsed: float, memory: float, draw: np.random.Generator) -> tuple[Timeline, ...]:
    seconds = np.linspace(0, elapsed, 60)
    rss = memory * (1 - 0.3 * np.exp(-np.arange(60) / 5))
    cpu = 100 + draw.normal(0, 3, 60)
    at = tuple(seconds.tolist())
    return (
        Timeline(name="rss", unit="B", seconds=at, values=tuple(rss.tolist())),
        Timeline(name="cpu", unit="%", seconds=at, values=tuple(cpu.tolist())),
    )


def _operators(case: Case, seconds: float, started_at: str) -> tuple[Operator, ...]:
    """Convolutions and others; in the newest run one of them is slower, and one is new."""
    if "onnx" not in case.name or case.target.runtime == "torch":
        return ()
    newest = started_at >= instant(START + timedelta(hours=12 * (COMMITS - 1)))
    shares = {"conv1": 0.31, "layer1.0.conv2": 0.22, "layer3.5.conv1": 0.17, "relu1": 0.08, "fc": 0.06, "pool": 0.02}
    if newest:
        shares |= {"conv1": 0.38, "input_copy": 0.05}
    kinds = {"relu1": "Relu", "fc": "Gemm", "pool": "MaxPool", "input_copy": "Identity"}
    whole = sum(shares.values())
    found = [
        Operator(name=name, kind=kinds.get(name, "Conv"), seconds=share * seconds, share=share / whole)
        for name, share in shares.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.seconds))


def _warnings(bare: Result) -> tuple[ResultWarning, ...]:
    if bare.round != 1 or bare.case.target.runtime != "torch":
        return ()
    return (ResultWarning(code="noisy-machine", seen="others took 12 % of the CPU", remedy="stop what else runs here"),)


def _artifacts(bare: Result) -> tuple[Artifact, ...]:
    content = f"log of {bare.id}\n".encode()
    digest = hashlib.sha256(content).hexdigest()
    return (
        Artifact(
            name="worker.log", kind="log", path=f"artifacts/{bare.id}/worker.log", size=len(content), sha256=digest
        ),
        Artifact(
            name="calls.trace.json", kind="chrome trace", path=f"artifacts/{bare.id}/calls.trace.json", size=48_213
        ),
    )


def instant(moment: datetime) -> str:
    """As records write it."""
    return moment.isoformat(timespec="seconds")
