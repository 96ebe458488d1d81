"""Speed-up and efficiency of cases that differ in nothing but their number of processes, and how many are worth it.

With strong scaling all processes together do the same work (G. Amdahl, AFIPS 1967), with weak scaling each process has
as much as the only one had (J. Gustafson, CACM 31(5), 1988). A speed-up by a rate, such as samples a second, is the
same in both: how much more is done in a second. By a time it is not: with weak scaling n processes that take as long as
one did n times the work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.analysis import doubt, notes
from benchwright.analysis.best import Alternative, Respect, find_best
from benchwright.analysis.rows import Row, check_metric_names, repeated_estimates, show_scalar
from benchwright.records import Better, Estimate, Metric
from benchwright.records.processes import EXPOSED, PROCESSES, WEAK
from benchwright.stats.compare import compare
from benchwright.stats.summary import scale_estimate

WORTH = 0.5  # of what more processes could add at best: less of a gain is called not worth it
_ALLOWANCE = 0.10  # how far single rounds of two numbers of processes may lie apart and still be no choice


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUpPoint:
    """One number of processes: what was measured, and how it stands against the first."""

    processes: int
    place: int  # of the row in its table
    row: Row
    value: Metric
    speedup: Estimate | None  # None where a value is not positive
    efficiency: Estimate | None  # share of what the processes could do at best

    @property
    def communication(self) -> Estimate | None:
        """The share of time in which processes waited for one another, in percent, where a profiler told it."""
        found = self.row.metrics.get(EXPOSED)
        return found.estimate if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """Cases that differ in their number of processes alone, in ascending order of it."""

    label: str
    kind: str  # strong, weak, or "" where nobody said
    metric: str
    points: tuple[SpeedUpPoint, ...]

    @property
    def base(self) -> int:
        """Returns the number of processes that all are compared with: one, or the fewest that there are."""
        return self.points[0].processes

    @property
    def title(self) -> str:
        """Returns what is shown, in one line."""
        kind = f", {self.kind} scaling" if self.kind else ""
        of = f" of {self.label}" if self.label else ""
        return f"Speed-up{of} by {self.metric}, against {count_processes(self.base)}{kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingStep:
    """From one number of processes to the next: which share of what could be gained was gained."""

    before: int
    after: int
    gained: Estimate  # 1: all that the further processes could add; 0: nothing

    @property
    def is_worth_it(self) -> bool | None:
        """Whether enough was gained; None where the interval does not tell."""
        low, high = (self.gained.point if end is None else end for end in (self.gained.low, self.gained.high))
        return True if low >= WORTH else False if high < WORTH else None


def find_speedups(table: Sequence[Row], *, metric: str = "", kind: str = "") -> list[SpeedUp]:
    """Every group of cases that differ in their number of processes alone.

    Without a `metric`, by the first rate that a task reports, else its first time, else by how long it took. `kind`
    says what nobody said when it was measured, or says otherwise.
    """
    groups: dict[str, list[tuple[int, Row]]] = {}
    for place, row in enumerate(table):
        if type(row.case.params.get(PROCESSES)) is int and row.ok and not row.is_held:
            groups.setdefault(_rest(row), []).append((place, row))
    several = {key: group for key, group in groups.items() if len({_processes(row) for _, row in group}) > 1}
    if metric and several:
        check_metric_names([metric], [row for group in several.values() for _, row in group])
    found = (_speed_up(group, metric, kind, several=len(several) > 1) for group in several.values())
    return [one for one in found if one]


def steps_of(speedup: SpeedUp) -> list[ScalingStep]:
    """What each further step of processes gained."""
    found = []
    for one, two in zip(speedup.points, speedup.points[1:], strict=False):
        ratio = _ratio(speedup, one, two)
        if ratio is not None:
            ideal = two.processes / one.processes
            gained = scale_estimate(_shift(ratio, -1.0), 1.0 / (ideal - 1.0))
            found.append(ScalingStep(before=one.processes, after=two.processes, gained=gained))
    return found


def advise_processes(speedup: SpeedUp) -> list[str]:
    """Which number of processes is fastest, and up to which each step is worth it, in words."""
    points = [point for point in speedup.points if point.speedup]
    better = points[0].value.better if points else None
    if len(points) < 2 or better is None:
        return []
    alternatives = [Alternative(_rounds(p), p.value.estimate.point, notes.is_unreliable(p.row.results)) for p in points]
    if speedup.kind == WEAK and better is Better.LOWER:  # a longer time that does more work is no slower
        return [_worth(speedup)]
    best = find_best(alternatives, Respect(metric=speedup.metric, better=better, allowance=_ALLOWANCE))
    assert best is not None
    fastest = points[best.place]
    ties = sorted(points[i].processes for i in best.ties)
    told = f"Fastest: {count_processes(fastest.processes)} ({format_times(fastest.speedup)})"
    if ties:
        told = f"Fastest: {count_processes(fastest.processes)}, which cannot be told from {_list(ties)}"
    return [told, _worth(speedup)]


def warn_of_speedup(speedup: SpeedUp) -> list[str]:
    """What a reader must know before trusting the speed-up; empty where it is sound."""
    found = []
    if speedup.base != 1:
        found.append(f"No case has one process: everything is against {count_processes(speedup.base)}.")
    if not speedup.kind and speedup.points[0].value.better is Better.LOWER:
        found.append(
            "Counted as strong scaling: the same work for any number of processes. Where each process has as much as "
            'the only one, say scaling = "weak" in the task, or --kind weak.'
        )
    if any(len(point.row.ok) == 1 for point in speedup.points):
        found.append("Some cases were measured in one round, which says nothing about the next: give more --rounds.")
    if any(notes.is_unreliable(point.row.results) for point in speedup.points):
        found.append(
            "The instrument calls some of these cases unreliable, for instance because others used the machine: only "
            f"differences above {doubt.ALLOWANCE:.0%} are told apart there. Measure on a quieter machine."
        )
    return found


def speedup_advice(table: Sequence[Row]) -> list[str]:
    """What to know of all speed-ups of a table and which number of processes to choose, each with its name."""
    found = find_speedups(table)
    lines = []
    for one in found:
        about = f"{one.label}: " if len(found) > 1 else ""
        lines += [f"{about}{line}" for line in (*warn_of_speedup(one), *advise_processes(one))]
    return lines


def count_processes(number: int) -> str:
    """`1 process`, `4 processes`."""
    return f"{number} process{'es' * (number != 1)}"


def format_times(speedup: Estimate | None) -> str:
    """A speed-up with its interval: `1.85x [1.81, 1.90]`."""
    return _with_interval(speedup, ".3g", "×")


def format_share(share: Estimate | None) -> str:
    """A share with its interval, in percent: `93 % [90, 95]`."""
    return _with_interval(None if share is None else scale_estimate(share, 100.0), ".0f", " %")


def format_percent(value: Estimate | None) -> str:
    """A number of percent with its interval: `3.2 % [2.9, 3.5]`."""
    return _with_interval(value, ".1f", " %")


def _with_interval(value: Estimate | None, form: str, unit: str) -> str:
    if value is None:
        return "-"
    ends = "" if value.low is None or value.high is None else f" [{value.low:{form}}, {value.high:{form}}]"
    return f"{value.point:{form}}{unit}{ends}"


# ---- making one ----


def _speed_up(group: Sequence[tuple[int, Row]], metric: str, kind: str, *, several: bool) -> SpeedUp | None:
    ordered = sorted(group, key=lambda one: _processes(one[1]))
    name = metric or _choose_metric([row for _, row in ordered])
    known = [(place, row) for place, row in ordered if name in row.metrics and row.metrics[name].better]
    if len(known) < 2:
        return None
    told = kind or _kind_of([row for _, row in known])
    first = known[0][1]
    bare = SpeedUp(label=_label(first) if several else first.name, kind=told, metric=name, points=())
    base = _processes(first)
    points: list[SpeedUpPoint] = []
    for place, row in known:
        point = SpeedUpPoint(
            processes=_processes(row), place=place, row=row, value=row.metrics[name], speedup=None, efficiency=None
        )
        start = points[0] if points else point
        ratio = _ratio(bare, start, point) if points else _ONE
        share = scale_estimate(ratio, base / point.processes) if ratio else None
        points.append(
            SpeedUpPoint(
                processes=point.processes, place=place, row=row, value=point.value, speedup=ratio, efficiency=share
            )
        )
    return SpeedUp(label=bare.label, kind=told, metric=name, points=tuple(points))


def _ratio(speedup: SpeedUp, one: SpeedUpPoint, two: SpeedUpPoint) -> Estimate | None:
    """How much more `two` does in a second than `one`, with its interval."""
    before, after = _rounds(one), _rounds(two)
    if one.value.better is Better.HIGHER:
        return compare(before, after, better=Better.HIGHER).ratio
    ratio = compare(after, before, better=Better.HIGHER).ratio
    if ratio is None or speedup.kind != WEAK:
        return ratio
    return scale_estimate(ratio, two.processes / one.processes)


def _worth(speedup: SpeedUp) -> str:
    """Up to which number of processes each step is worth it."""
    reached, doubtful = speedup.base, 0
    for step in steps_of(speedup):
        if step.is_worth_it is None:
            doubtful = step.after
        if not step.is_worth_it:
            break
        reached = step.after
    rule = f"each step up to there gains at least {WORTH:.0%} of what it could"
    if doubtful:
        return f"Worth it: {count_processes(reached)}; whether {doubtful} are, the rounds do not tell ({rule})"
    if reached == speedup.base:
        return f"Worth it: {count_processes(reached)}; more gain less than {WORTH:.0%} of what they could"
    return f"Worth it: {count_processes(reached)}; {rule}"


def _choose_metric(group: Sequence[Row]) -> str:
    """The metric that says how fast it is: a task's own rate, then its own time; of a command how long it takes."""
    shared = [name for name in group[0].metrics if all(name in row.metrics for row in group)]
    own = [name for name in shared if _is_own(group[0], name)]
    for better, end in ((Better.HIGHER, "/s"), (Better.LOWER, "s")):
        for name in own:
            metric = group[0].metrics[name]
            if metric.better is better and metric.unit.endswith(end) and (end == "/s" or metric.unit == end):
                return name
    return next((name for name in ("latency_p50", "wall_time") if name in shared), "")


def _is_own(row: Row, name: str) -> bool:
    """Whether the task reports it, by its log: what is measured around it has no hits in one."""
    hits = row.ok[0].details.get("log")
    return isinstance(hits, dict) and name in hits


def _kind_of(group: Sequence[Row]) -> str:
    said = {str(result.details.get("scaling", "")) for row in group for result in row.ok}
    return said.pop() if len(said) == 1 else ""


def _label(row: Row) -> str:
    rest = [f"{name}={show_scalar(value)}" for name, value in row.params.items() if name != PROCESSES]
    return " ".join([row.name, *rest])


def _rest(row: Row) -> str:
    """What a case is but for its number of processes."""
    case = row.case
    params = {name: value for name, value in case.params.items() if name != PROCESSES}
    return json.dumps([case.name, sorted(params.items()), sorted(case.target.options.items()), row.machine])


def _rounds(point: SpeedUpPoint) -> tuple[Estimate, ...]:
    return repeated_estimates(point.row.ok, point.value)


def _processes(row: Row) -> int:
    number = row.case.params[PROCESSES]
    assert isinstance(number, int), "chosen so"
    return number


def _shift(estimate: Estimate, by: float) -> Estimate:
    ends = [None if end is None else end + by for end in (estimate.low, estimate.high)]
    return Estimate(point=estimate.point + by, low=ends[0], high=ends[1], method=estimate.method)


def _list(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))


_ONE = Estimate(point=1.0, low=None, high=None, method="itself")
