"""The operators of a case: where the time of its model goes. Pure.

Operators come from a pass of its own, the latency of a call from the measured rounds. What a call takes beyond its
operators is outside operators: the framework's own work, copies, the caller.
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from benchwright.analysis.rows import Row
from benchwright.records import Mode, Operator
from benchwright.units.numbers import number

# What a program tells of its net; else the median of the measured calls; of a task, which is one call, its whole time.
LATENCIES = ("NET latency", "latency_p50", "wall_time")
OUTSIDE = "outside operators"
_DETAIL = "operator_pass"
_SLOWED = 1.1  # times the measured latency, from which recording is said to have slowed the calls

# What libraries call the same work, by the first of these words that is in an operator's kind.
FAMILIES = {
    "convolution": ("conv",),
    "matrix product": ("gemm", "matmul", "fullyconnected", "addmm", "bmm", "aten::mm", "linear", "einsum"),
    "attention": ("attention",),
    "normalisation": ("batchnorm", "layernorm", "groupnorm", "rmsnorm", "normalization", "mvn"),
    "pooling": ("pool", "reducemean", "aten::mean"),
    "softmax": ("softmax",),
    "activation": ("relu", "gelu", "silu", "swish", "sigmoid", "tanh", "clamp", "erf", "activation"),
    "layout": ("reorder", "transpose", "permute", "reshape", "view", "flatten", "squeeze", "strided"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOperators:
    """The operators of one case, and how long a measured call takes."""

    row: Row
    operators: tuple[Operator, ...]  # the longest first
    latency: float | None  # seconds of a measured call
    metric: str = ""  # the name of that metric
    passed: float | None = None  # seconds of a recorded call
    calls: int | None = None  # that were recorded

    @property
    def total(self) -> float:
        """Seconds of all operators in one call."""
        return sum(operator.seconds for operator in self.operators)

    @property
    def outside(self) -> float | None:
        """What a measured call takes beyond its operators; negative where those overlap or recording slowed them."""
        return None if self.latency is None else self.latency - self.total

    @property
    def is_crowded(self) -> bool:
        """Whether measured calls ran beside other calls, while recorded ones ran alone."""
        load = self.row.case.load
        return load.workers * load.copies > 1 or load.mode not in (Mode.CLOSED, Mode.SINGLE)

    @property
    def slowdown(self) -> float | None:
        """How many times as long a recorded call took as a measured one; None where that is not worth a note."""
        if not self.passed or not self.latency or self.passed < _SLOWED * self.latency:
            return None
        return self.passed / self.latency


def recorded_operators(row: Row) -> CaseOperators | None:
    """The operators of a case, its rounds combined where several have them; None when no round has any."""
    found = [result for result in row.ok if result.operators]
    if not found:
        return None
    metric = next((name for name in LATENCIES if name in row.metrics), "")
    about = found[0].details.get(_DETAIL)
    told = about if isinstance(about, dict) else {}
    calls = number(told.get("calls"))
    return CaseOperators(
        row=row,
        operators=tuple(_combine_rounds([result.operators for result in found])),
        latency=row.metrics[metric].estimate.point if metric else None,
        metric=metric,
        passed=number(told.get("latency")),
        calls=None if calls is None else int(calls),
    )


def by_kind(operators: Iterable[Operator]) -> list[Operator]:
    """One operator for each kind, its nodes added up, the longest first; its name is the kind."""
    groups: dict[str, list[Operator]] = {}
    for operator in operators:
        groups.setdefault(operator.kind, []).append(operator)
    found = [
        Operator(
            name=kind,
            kind=kind,
            seconds=sum(operator.seconds for operator in group),
            share=sum(operator.share for operator in group),
            calls=sum(operator.calls for operator in group),
        )
        for kind, group in groups.items()
    ]
    return sorted(found, key=lambda operator: -operator.seconds)


def family(kind: str) -> str:
    """What an operator does, in a word that holds for every library; its own kind where none is known."""
    low = kind.lower().replace("_", "")
    return next((name for name, words in FAMILIES.items() if any(word in low for word in words)), kind)


def by_family(operators: Iterable[Operator]) -> list[Operator]:
    """One operator for each family of kinds, for what different libraries call differently."""
    return by_kind(replace(operator, kind=family(operator.kind)) for operator in operators)


def _combine_rounds(rounds: Sequence[Sequence[Operator]]) -> list[Operator]:
    """Each operator once, with the middle one of its times; one that a round lacks took no time there."""
    if len(rounds) == 1:
        return list(rounds[0])
    groups: dict[Hashable, list[Operator]] = {}
    for operators in rounds:
        for operator in operators:
            groups.setdefault((operator.name, operator.kind, operator.shapes), []).append(operator)
    found = [
        replace(
            group[0],
            seconds=statistics.median([o.seconds for o in group] + [0.0] * (len(rounds) - len(group))),
            calls=statistics.median(o.calls for o in group),
        )
        for group in groups.values()
    ]
    whole = sum(operator.seconds for operator in found)
    shared = [replace(operator, share=operator.seconds / whole if whole else 0.0) for operator in found]
    return sorted(shared, key=lambda operator: -operator.seconds)
