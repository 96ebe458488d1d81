"""The records of the pages that hold sides, configurations and dimensions against each other.

The dashboard's types are generated from here too (`make types`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchwright.pages.parts import Page
from benchwright.records import Estimate, Scalar, Status, Value, Verdict

# ---- compare ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: `run:ID`, `revision:ID`, `branch:NAME`, `machine:KEY[@RUN]` or `runtime:NAME`."""

    given: str
    label: str
    runs: Sequence[str]
    at: int
    revision: str
    repository: str = ""  # of its revision


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedColumn:
    """One metric of one case on the third or a further side, against the first."""

    after: Estimate | None
    ratio: Estimate | None
    verdict: Verdict
    sentence: str
    result: str  # id of one result, for the distributions; "" where there is none
    series: str  # key; ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLine:
    """One metric of one case on both sides; None where a side has none."""

    case: str
    params: Mapping[str, Scalar]
    metric: str
    unit: str
    better: str
    before: Estimate | None
    after: Estimate | None
    ratio: Estimate | None
    verdict: Verdict
    sentence: str
    before_result: str  # id of one result, for the distributions; "" where there is none
    after_result: str
    series: Sequence[str]  # keys
    machine: str = ""  # its name, where a side has several
    suite: str = ""
    others: Sequence[ComparedColumn] = ()  # the third and further sides


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One fact that differs between the first side and another."""

    what: str  # packages.numpy, knobs.governor, ...
    before: Value
    after: Value
    others: Sequence[Value] = ()  # the third and further sides


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanColumn:
    """The geometric mean of ratios of one side against the first."""

    ratio: Estimate | None  # None: no case has a ratio
    cases: int  # that went into it
    left_out: int  # on one side alone, or with a value that is not positive
    counts: Mapping[str, int]  # by verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRatio:
    """How one metric changed over all cases, or over those of a suite: only metrics with a direction have one."""

    suite: str  # "" for all
    metric: str
    better: str
    columns: Sequence[MeanColumn]  # one for each side but the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Page):
    """GET compare?a=SIDE&b=SIDE: counts and means are of all lines, `lines` are a page of those that were asked for."""

    a: Side
    b: Side
    lines: Sequence[ComparedLine]  # the largest effect first
    differences: Sequence[Difference]
    metrics: Sequence[str]  # that there are
    counts: Mapping[str, int]  # by verdict, of the second side
    notes: Sequence[str]
    across: Sequence[str] = ()  # params in which paired cases may differ
    params: Sequence[str] = ()  # that cases have
    others: Sequence[Side] = ()  # the third and further sides
    other_counts: Sequence[Mapping[str, int]] = ()  # by verdict, of each of them
    means: Sequence[MeanRatio] = ()  # over all cases first, then by suite where there are several
    total: int = 0  # lines
    changed: int = 0  # lines that are called better or worse on any side
    found: int = 0  # lines that fit what was asked for
    fitting: int = 0  # the same, changed or not
    judged: Sequence[str] = ()  # the metrics of all lines
    control: str = ""  # over what the share of false changes is controlled


# ---- matrix ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One place of a matrix."""

    row: int
    column: int
    estimate: Estimate
    relative: float | None  # to the baseline's value of the same row
    series: str
    result: str
    run: str
    standing: str = (
        ""  # "best" of its row, "tied": cannot be told from the best, or "": worse, or nothing to choose from
    )
    is_held: bool = False  # measured in quarantine: shown, and not among those that are chosen from
    price: str = ""  # of a cost: what it rests on


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A place of a matrix whose newest try gave no number; a cell may still show an older one."""

    row: int
    column: int
    status: Status
    reason: str
    run: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """GET matrix?metric=&rows=&columns=&baseline=: newest values by two dimensions."""

    metric: str
    unit: str
    better: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Cell]
    baseline: str  # the column others are relative to, or ""
    metrics: Sequence[str]  # what else could be shown
    dimensions: Sequence[str]  # model, runtime, device, machine, batch_size, ...
    row_dimension: str
    column_dimension: str
    # what is fixed: dimension -> chosen, and what could be chosen
    chosen: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    missing: Sequence[Missing] = ()
    row_count: int = 0  # of all pages
    column_count: int = 0  # of which `columns` may be the first
    next: str = ""  # where the rows go on; "" at their end


# ---- pareto ----


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    """One configuration by two metrics."""

    label: str  # what tells it from the others
    case: str
    params: Mapping[str, Scalar]
    machine: str  # its name
    x: Estimate
    y: Estimate
    standing: str  # "front", "unclear": beaten by points that cannot be told apart, "dominated"
    beaten_by: int | None  # the index of a point that beats it
    series: Sequence[str]  # keys of both metrics
    result: str
    run: str
    is_held: bool = False  # measured in quarantine: "unclear", and beats no other
    price: str = ""  # where an axis is a cost: what it rests on


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto:
    """GET pareto?x=&y=&NAME=VALUE: newest values by two metrics, and which configurations no other beats in both."""

    x: str
    y: str
    x_unit: str
    y_unit: str
    x_better: str
    y_better: str
    points: Sequence[ParetoPoint]  # the front first, by x
    metrics: Sequence[str]  # with a direction: what could be chosen for x and y
    chosen: Mapping[str, str]  # dimension -> what points are narrowed to
    choices: Mapping[str, Sequence[str]]
    left_out: int = 0  # configurations with one of both metrics alone, or beyond the limit
