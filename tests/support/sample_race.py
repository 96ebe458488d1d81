"""A race as `benchwright tune` keeps it, always the same: real rules and proposals, made-up measurements.

Two runtimes, seven batch sizes, one or two copies. Throughput saturates with the batch size; OpenVINO with two copies
is the fastest, with 16 at once as good as with 32; 64 at once in two copies need more memory than there is, and in one
copy they take longer than the objective allows.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

import sample_project as made
from benchwright import schema
from benchwright.analysis.races import make_race, outcome_of
from benchwright.records import Better, Case, Estimate, Failure, Inputs, Load, Metric, Result, Run, Status, Target
from benchwright.records.costs import PER_MILLION
from benchwright.records.races import CELL, RaceAxis, RaceBound, RaceGoal, RaceTerms

BATCHES = (1, 2, 4, 8, 16, 32, 64)
MODEL = "vision/resnet50.onnx"
RUN_ID = "20261002T090000000-00ace0"
_SECONDS = 1.4  # of one process
_HOURLY = 0.34 / 3600  # USD for a second of the machine


def race_terms(*, goals: tuple[RaceGoal, ...] = (RaceGoal(metric="throughput", higher=True),)) -> RaceTerms:
    """The question: the highest throughput whose p99 stays below 50 ms."""
    return RaceTerms(
        axes=(
            RaceAxis(name="runtime", values=("onnxruntime", "openvino"), arguments=("--runtime", "{}")),
            RaceAxis(name="batch_size", values=BATCHES, arguments=("--batch-size", "{}")),
            RaceAxis(name="copies", values=(1, 2), arguments=("--copies", "{}")),
        ),
        goals=goals,
        bounds=(RaceBound(metric="latency_p99", relation="<", limit=0.05),),
        budget=600.0,
        command=(MODEL, "--label", "the team's choice"),
    )


def race_run(terms: RaceTerms | None = None, *, most: int = 1000, id_: str = RUN_ID) -> Run:
    """The run of a race to its end, or until it has had `most` processes."""
    terms = terms or race_terms()
    race, results = make_race(terms), list[Result]()
    while len(results) < most and (block := race.propose()):
        number = race.block
        for cell in block[: most - len(results)]:
            result = _measure(terms, cell, number, len(results), id_)
            race.record(cell, outcome_of(result, terms), block=number)
            results.append(result)
    words = ("--batch-size", "1..64", "--copies", "1,2", "--objective", "p99<50ms", "--budget", "10m")
    return Run(
        id=id_,
        started_at=made.instant(made.START + timedelta(days=31)),
        harness="1.0.0",
        command=("benchwright", "tune", MODEL, "--runtime", "onnxruntime,openvino", *words),
        revision=made.revision(made.COMMITS - 1),
        results=tuple(results),
        race=terms,
    )


def _measure(terms: RaceTerms, cell: int, block: int, place: int, run: str) -> Result:
    settings = terms.settings(cell)
    runtime, batch, copies = str(settings["runtime"]), int(str(settings["batch_size"])), int(str(settings["copies"]))
    bare = Result(
        id=schema.fingerprint([run, cell, block, place])[:20],
        case=Case(
            name=MODEL,
            target=Target(runtime=runtime, uri=f"suite/{MODEL}", precision="fp32"),
            params={"runtime": runtime, "batch_size": batch, "copies": copies},
            inputs=Inputs(batch_size=batch),
            load=Load(duration=0.5, copies=copies),
        ),
        round=block,
        status=Status.OK,
        environment=made.environment(0, made.COMMITS - 1),
        started_at=made.instant(made.START + timedelta(days=31, seconds=_SECONDS * place)),
        duration=_SECONDS,
        details={CELL: cell},
    )
    if batch * copies > 64:
        failure = Failure(kind="MemoryError", message="out of memory: 5.6 GiB wanted, 3.1 GiB free")
        return replace(bare, status=Status.KILLED, error=failure)
    draw = np.random.default_rng([20, cell, block])
    call = (0.9e-3 if runtime == "openvino" else 0.94e-3) * (1 + 0.9 * batch) * (1.18 if copies == 2 else 1.0)
    call *= 1.027 if batch > 16 else 1.0  # beyond the cache
    call *= float(np.exp(draw.normal(0, 0.015)))
    throughput = copies * batch / call
    memory = 210e6 + copies * (95e6 + 2.4e6 * batch) + float(draw.uniform(0, 2e6))
    return replace(
        bare,
        metrics=(
            _metric("throughput", "/s", Better.HIGHER, throughput, 0.006),
            _metric("latency_p50", "s", Better.LOWER, call, 0.004),
            _metric("latency_p99", "s", Better.LOWER, call * 1.3 * float(np.exp(draw.normal(0, 0.02))), 0.02),
            _metric("rss_peak", "B", Better.LOWER, memory, 0.0),
            _metric(PER_MILLION, "USD", Better.LOWER, 1e6 / throughput * _HOURLY, 0.0),
        ),
    )


def _metric(name: str, unit: str, better: Better, point: float, width: float) -> Metric:
    low, high = (point * (1 - width), point * (1 + width)) if width else (None, None)
    estimate = Estimate(point=point, low=low, high=high, method="order statistics" if width else "one observation")
    return Metric(name=name, unit=unit, better=better, estimate=estimate, count=500 if width else 1)
