"""One case on two sides: pairs of fresh processes next to each other, in an order that a coin decides.

Whatever the machine does meanwhile, it does to both. The coin is fair and thrown anew for each pair, so that when
nothing changed either side is as likely to come out ahead: that is what the test of `stats.pairs` stands on.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from benchwright.builds import Built
from benchwright.hosts.local import LocalHost
from benchwright.measuring import Measuring, Setting
from benchwright.records import Case, Metric, Result, Status, Value
from benchwright.report.comparison import JUDGED
from benchwright.trials import Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Something to measure, and the run that keeps what is measured of it. Two sides may share a run."""

    name: str  # control, treatment
    built: Built
    measuring: Measuring

    def measure(self, case: Case, number: int, notes: Mapping[str, Value] | None = None) -> Result:
        """Measures a case as this side has it."""
        return self.measuring.measure(case, number, setting(self.built, {"side": self.name, **(notes or {})}))


def setting(built: Built, notes: Mapping[str, Value] | None = None) -> Setting:
    """Where a case of a revision is measured: in its working copy, with its own Python."""
    return Setting(
        host=LocalHost(python=built.python, directory=built.folder, environment=built.environment),
        paths=built.paths,
        revision=built.revision if built.revision.vcs else None,
        notes=notes or {},
    )


class Contest:
    """A case that control and treatment both have: `case` as the control has it, `other` as the treatment does.

    `seed` decides the order inside the pairs; the first metric of those usually judged that both sides have is
    compared, unless one is named.
    """

    def __init__(
        self, control: Side, treatment: Side, case: Case, *, other: Case | None = None, metric: str = "", seed: str = ""
    ) -> None:
        self.case = case
        self._sides = (control, treatment)
        self._cases = (case, other or case)
        self._wanted = metric
        self._coin = random.Random(seed)
        self.metric: Metric | None = None  # the first one seen: its name, unit and direction
        self.pairs: list[Pair] = []

    def pair(self) -> Pair:
        """Measures both sides, saves both results, and says what came of it: a failure makes a pair that does not count."""
        number = len(self.pairs)
        order = self._coin.choice(("AB", "BA"))
        results: dict[int, Result] = {}
        for index in (0, 1) if order == "AB" else (1, 0):
            notes = {"pair": number, "order": order}
            results[index] = self._sides[index].measure(self._cases[index], number, notes)
        pair = self._judged(number, order, results[0], results[1])
        self.pairs.append(pair)
        return pair

    def _judged(self, number: int, order: str, control: Result, treatment: Result) -> Pair:
        why = "; ".join(
            f"{side.name}: {_words(result)}"
            for side, result in zip(self._sides, (control, treatment), strict=True)
            if result.status is not Status.OK
        )
        if not why and self.metric is None:
            self.metric = _chosen(self._wanted, control, treatment)
        name = self.metric.name if self.metric else self._wanted
        a, b = (_value(result, name) for result in (control, treatment))
        if not why and (a is None or b is None):
            why = _missing(self._wanted, control if a is None else treatment)
        if not why and (min(a or 0.0, b or 0.0) <= 0.0):
            why = f"{name} is not above zero, so there is no ratio"
        return Pair(number=number, order=order, control=a, treatment=b, why=why)


def _chosen(wanted: str, control: Result, treatment: Result) -> Metric | None:
    known = {metric.name for metric in treatment.metrics}
    shared = {metric.name: metric for metric in control.metrics if metric.name in known and metric.estimate}
    if wanted:
        return shared.get(wanted)
    directed = [name for name, metric in shared.items() if metric.better is not None]
    return next((shared[name] for name in (*JUDGED, *directed) if name in shared), None)


def _value(result: Result, name: str) -> float | None:
    metric = result.metric(name) if name else None
    return metric.estimate.point if metric is not None and metric.estimate is not None else None


def _words(result: Result) -> str:
    return (result.error.message if result.error else "") or str(result.status)


def _missing(wanted: str, result: Result) -> str:
    if not wanted:
        return "no metric that both sides have says which direction is better"
    return f"no metric {wanted!r} in {result.case.name}; there are {', '.join(metric.name for metric in result.metrics)}"
