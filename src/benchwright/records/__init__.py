"""The vocabulary: frozen records that every other module passes around. No I/O, no behaviour beyond arithmetic.

Times are seconds as floats, except in `Samples`, which holds the nanosecond integers the clock gave.
Instants are ISO 8601 strings in UTC. Mappings and tuples are never changed after construction.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from benchwright.records.code import clean_repository
from benchwright.records.races import RaceTerms

if TYPE_CHECKING:
    Int64s = array[int]
else:  # array cannot be subscripted before Python 3.12
    Int64s = array

Scalar = str | int | float | bool | None
Value = Scalar | list["Value"] | dict[str, "Value"]


class Status(StrEnum):
    """How measuring a case ended."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    KILLED = "killed"
    SKIPPED = "skipped"
    REFUSED = "refused"  # before any call was timed: what was asked for is not what the model takes


class Better(StrEnum):
    """Which direction of a metric is an improvement."""

    LOWER = "lower"
    HIGHER = "higher"


class Verdict(StrEnum):
    """What a comparison says."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNCLEAR = "unclear"


class Mode(StrEnum):
    """How calls are issued."""

    CLOSED = "closed"
    OPEN = "open"
    OFFLINE = "offline"
    MULTISTREAM = "multistream"
    SINGLE = "single"  # one call in all, cold: for what reports its own numbers


class Arrivals(StrEnum):
    """How the instants of an open loop are drawn."""

    CONSTANT = "constant"
    POISSON = "poisson"
    TRACE = "trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A bound that must hold: `metric` `relation` `bound`, the bound in the metric's base unit."""

    metric: str
    relation: str  # "<", "<=", ">", ">="
    bound: float
    unit: str = ""  # of money its currency; of other metrics the unit is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is called: a runtime and what it loads."""

    runtime: str
    uri: str
    device: str = "cpu"
    precision: str = ""
    options: Mapping[str, Scalar] = field(default_factory=dict)
    work: str = ""  # JSON for runtimes that carry out a plan; it names files, so like `uri` it is no part of identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a call is given. `source` is `random`, a path of .npy/.npz files, or `module:callable`."""

    source: str = "random"
    batch_size: int = 1
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # by input name; "" = every input
    dtypes: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    count: int = 1  # distinct inputs that calls cycle through
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of random numbers: [low, high)
    files: Mapping[str, str] = field(default_factory=dict)  # .npy or text files by input name, instead of random ones
    names: Mapping[str, str] = field(default_factory=dict)  # the model's name -> the one that seeds it
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # by input name: one number, or one for each
    feed_back: Mapping[str, str] = field(default_factory=dict)  # input -> the output it takes; "": found by its shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far an output may be from what is expected. What is None is measured and not judged."""

    absolute: float | None = None  # an element is near when |found - expected| <= absolute + relative * |expected|
    relative: float | None = None
    cosine: float | None = None  # similarity at least
    top: int | None = None  # this many largest elements are the same ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a model must answer; asked once, after the last timed call.

    Files are .npy, .npz, or text with one number a line. An output is named as the spec names it.
    """

    outputs: Mapping[str, str] = field(default_factory=dict)  # file by output; none: nothing to compare with
    inputs: Mapping[str, str] = field(default_factory=dict)  # file by the model's input; none: the case's first inputs
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)  # by output; "" for every other one
    names: Mapping[str, str] = field(default_factory=dict)  # output -> what this runtime calls it, where that differs
    keep: bool = False  # leave what the model answered in the attempt's folder: outputs.npz


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How calls are issued, and when to stop."""

    mode: Mode = Mode.CLOSED
    workers: int = 1
    copies: int = 1
    rate: float | None = None
    arrivals: Arrivals = Arrivals.POISSON
    trace: str = ""
    streams: int = 1
    find_rate: bool = False
    warmup: float | None = None  # seconds at most; None = the engine's limit; 0 = none at all
    samples: int | None = None
    duration: float | None = None
    once: bool = False  # stop when every input was used once
    precision: float | None = None  # stop when the relative half-width of a percentile's interval is below
    precision_of: float = 50.0  # that percentile; the median unless said
    loops: int = 0  # calls per sample; 0 = one, or as many as a very fast callable needs
    timeout: float | None = None
    seed: int = 0
    objectives: tuple[Objective, ...] = ()
    ramp_to: float | None = None  # the rate at the end of the duration, which grows or falls to it evenly


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One fully determined thing to measure."""

    name: str
    target: Target
    params: Mapping[str, Scalar] = field(default_factory=dict)
    inputs: Inputs = field(default_factory=Inputs)
    load: Load = field(default_factory=Load)
    version: str = ""  # hash of what is measured: the model file, the source of the callable
    tags: tuple[str, ...] = ()
    expected: Expected | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A point with its interval. Both ends are None only where one observation is all there is."""

    point: float
    low: float | None
    high: float | None
    confidence: float = 0.95
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Log-linear counts. A value v (ns) falls in the bucket of its leading `bits` bits; error below 2**-bits."""

    bits: int
    counts: Mapping[int, int]  # bucket index -> count, empty buckets absent
    total: int
    minimum: int
    maximum: int
    sum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One measured quantity, in base units, with the direction that is better (None: neither)."""

    name: str
    unit: str
    better: Better | None
    estimate: Estimate
    count: int = 1
    values: tuple[float, ...] = ()
    least: float | None = None  # bounds that the benchmark itself set; equality holds
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Raw nanoseconds of one copy's calls, beside what is derived from them.

    `columns` holds int64 arrays of equal length: `latency` and `end` (since the copy's time zero) always; in an open
    loop also `scheduled`, `lateness` and `service`. Beyond the engine's limit the calls live in `histograms` only, by
    the same names. Of streamed answers `chunks` holds every event that arrived, in columns of a length of their own:
    `call` (its row in `columns`), `at` (ns since time zero), `kind`, `size` and `tokens`.
    """

    copy: int
    calls: int  # every call, recorded raw or folded
    loops: int  # calls per sample
    elapsed: int  # ns during which calls were being issued, empty time included
    columns: Mapping[str, Int64s] = field(default_factory=dict)
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    chunks: Mapping[str, Int64s] = field(default_factory=dict)


_CHUNKS = "chunks."  # begins the names that columns of chunks have beside the others


def join_columns(samples: Samples) -> dict[str, Int64s]:
    """Every raw column under one name each: those of chunks begin with `chunks.`."""
    return {**samples.columns, **{_CHUNKS + name: values for name, values in samples.chunks.items()}}


def split_columns(columns: Mapping[str, Int64s]) -> tuple[dict[str, Int64s], dict[str, Int64s]]:
    """The inverse of `join_columns`: the columns of calls, and those of chunks."""
    chunks = {name.removeprefix(_CHUNKS): values for name, values in columns.items() if name.startswith(_CHUNKS)}
    return {name: values for name, values in columns.items() if not name.startswith(_CHUNKS)}, chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultWarning:
    """A warning is data: a code, what was seen, what to do."""

    code: str
    seen: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a case has no numbers, with the end of the worker's log."""

    kind: str  # exception name, "start", "signal", "exit", "timeout", "channel", "interrupted"
    message: str
    remedy: str = ""
    log_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file that a measurement left behind."""

    name: str
    kind: str
    path: str
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is to be profiled: stretches of the timed phase, as seconds since its time zero."""

    windows: tuple[tuple[float, float], ...]
    tools: tuple[str, ...] = ()  # profilers by name; none: the one that fits the runtime
    operators: bool = False  # instead of windows: calls of its own, to learn where the time of a model goes


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Where the time of a model goes: one of its operators, over all calls of a pass of its own."""

    name: str  # the node, or the function where there are no nodes
    kind: str  # Conv, MatMul, aten::linear
    seconds: float  # of its own, in one call of the model
    share: float  # of the time of all operators
    calls: float = 1.0  # in one call of the model
    shapes: str = ""  # as the library tells them


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What a monitor saw over time: seconds since time zero of the timed phase, and one value for each."""

    name: str
    unit: str
    seconds: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine and its state. Facts that could not be read are strings that begin with `unavailable: `."""

    machine: Mapping[str, Value]
    system: Mapping[str, Value]
    accelerators: tuple[Mapping[str, Value], ...] = ()
    runtimes: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    knobs: Mapping[str, Value] = field(default_factory=dict)
    collected_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit of the project under test."""

    vcs: str
    id: str
    branch: str = ""
    dirty: bool = False
    committed_at: str = ""
    subject: str = ""
    author: str = ""  # known where a history was read
    tags: tuple[str, ...] = ()  # what the repository calls it: releases
    repository: str = ""  # its web address, never with a login: anything else is dropped
    pull_request: int = 0  # the number of the pull or merge request that it came with; 0: none is known

    def __post_init__(self) -> None:
        if self.repository:  # it may come from anywhere, and a token in it must not be kept
            object.__setattr__(self, "repository", clean_repository(self.repository))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case measured once, in one round: numbers, or a status that says why there are none."""

    id: str
    case: Case
    round: int
    status: Status
    environment: Environment
    started_at: str
    duration: float
    revision: Revision | None = None
    metrics: tuple[Metric, ...] = ()
    samples: tuple[Samples, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    details: Mapping[str, Value] = field(default_factory=dict)  # what the runtime tells of what it loaded
    instrument: Mapping[str, Value] = field(default_factory=dict)  # what measuring itself cost, and its verdict
    error: Failure | None = None
    log_tail: str = ""  # the end of what the worker printed
    warnings: tuple[ResultWarning, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    operators: tuple[Operator, ...] = ()  # the longest first

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, or None."""
        return next((m for m in self.metrics if m.name == name), None)


SKIPS = ("skipped", "SkipNotImplemented")  # kinds of failure by which a benchmark says that it does not apply


def is_sound(result: Result) -> bool:
    """Whether a result is as it should be: it has numbers, or its benchmark says itself that it does not apply."""
    left_out = result.status is Status.SKIPPED and result.error is not None and result.error.kind in SKIPS
    return result.status is Status.OK or left_out


CALIBRATION_TAG = "benchwright-calibration"  # of the runs that keep what `env --calibrate` found; no list shows them
CALIBRATION = "calibration of this machine"  # the name of their only case
CONTROL_TAG = "benchwright-control"  # of the runs of a machine's control benchmark; no list shows them
CONTROL = "machine control: "  # how the names of their cases begin
MORE_ROUNDS = 4  # times as many rounds at most, when a precision was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The results of one invocation."""

    id: str
    started_at: str
    harness: str  # our own version
    command: tuple[str, ...] = ()
    reason: str = ""
    revision: Revision | None = None
    baseline: str = ""
    results: tuple[Result, ...] = ()
    tags: tuple[str, ...] = ()
    planned: int = 0  # results it was to have at least; fewer are a run that was cut off. 0: nobody said
    race: RaceTerms | None = None  # what `benchwright tune` searched in it
