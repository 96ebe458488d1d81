"""What measured work costs on several machines: which is cheapest, which cannot be told apart, and from which load on.

A cost is a price over a rate, or a price times a time, so its interval is that of the metric, seen through the price.
A price has no interval of its own: it is a fact of its day.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchwright.analysis import notes
from benchwright.analysis.best import DOMINATED, Alternative, Best, Respect, Standing, find_best, find_standings
from benchwright.analysis.rows import Row, repeated_estimates
from benchwright.analysis.scaling import is_kept
from benchwright.errors import OptionError, did_you_mean
from benchwright.execution.pricing import cost_of, energies_of, items_per_call, power_of
from benchwright.execution.works import Work, any_work, works_of
from benchwright.records import Better, Estimate, Metric, Objective
from benchwright.records.costs import AT_MAX_RATE, PER_EPOCH, PER_MILLION, PER_RUN, PER_TOKENS, is_cost, is_money
from benchwright.records.prices import Market, Price
from benchwright.units.objectives import check_currency

COST = "cost"
LATENCY, OF_A_PIECE = "latency_p50", "time of a piece"  # what a cost is held against, the first that is known
_FIRST = (AT_MAX_RATE, PER_MILLION, PER_TOKENS, PER_EPOCH, PER_RUN)  # what is paid for, where nobody says what
_MOST = 10_000  # machines of one kind that a load is spread over
_ROUNDING = 1e-9  # relative: two prices that differ by less are one


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """One case on one machine at one price."""

    run: str
    row: Row
    price: Price
    work: Work
    cost: Estimate  # of `work.count` items, in the price's currency
    rounds: tuple[Estimate, ...]  # the same of each round; of each instance, where several measured
    is_kept: bool = True  # whether every objective that was asked for holds, with its interval
    utilisation: float = 1.0  # the share of its time that the machine works
    energies: tuple[Metric, ...] = ()  # of an item or a run, and what they cost, where the power is known

    @property
    def label(self) -> str:
        """The case, and on what."""
        return f"{self.row.label} on {self.price.name}" if self.price.shape else self.row.label

    def times(self, kind: str) -> list[Estimate]:
        """A time of the work in each round, and last of all rounds together: its latency, or that of one piece."""
        if kind == LATENCY:
            rounds, whole = self._of(LATENCY)
            return [*rounds, *whole]
        rounds, whole = self._of(self.work.metric)
        return [*(self._of_a_piece(one) for one in rounds if one.point > 0), *map(self._of_a_piece, whole)]

    def _of(self, name: str) -> tuple[list[Estimate], list[Estimate]]:
        whole = self.row.metrics.get(name)
        return ([], []) if whole is None else ([*repeated_estimates(self.row.ok, whole)], [whole.estimate])

    def _of_a_piece(self, told: Estimate) -> Estimate:
        ends = [None if end is None or end <= 0 else 1 / self.work.rate(end) for end in (told.low, told.high)]
        low, high = (ends[1], ends[0]) if self.work.is_rate else (ends[0], ends[1])
        low, high = (None, None) if low is None or high is None else (low, high)
        return replace(told, point=1 / self.work.rate(told.point), low=low, high=high)

    @property
    def is_what_if(self) -> bool:
        """Whether the price is of a shape that the case was not measured on, as far as its results tell."""
        if not self.price.shape or self.price.market is Market.OWN:
            return False
        told = self.row.ok[0].environment.system.get("instance")
        shape = str(told.get("shape", "")) if isinstance(told, dict) else ""
        priced, measured = self.price.shape.lower(), shape.lower()
        # A flexible shape is priced with its size: VM.Standard.E5.Flex.2.16
        return not shape or (priced != measured and not priced.startswith(f"{measured}."))

    @property
    def rate(self) -> float:
        """Pieces in a second while it works."""
        return self.work.rate(self.row.metrics[self.work.metric].estimate.point)

    @property
    def capacity(self) -> float:
        """Pieces in a second over all of its time."""
        return self.rate * self.utilisation


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A row that has no cost, and why."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """From which load on another machine costs no more than as many as it takes of the one with the lowest price."""

    small: CostLine
    large: CostLine
    load: float | None  # pieces in a second, above which it never costs more; None: there is no such load
    band: tuple[float, float] | None  # the first loads for which it costs less, from and to; None: for none


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What work costs on every machine, the cheapest first; lines of other currencies and works are apart."""

    lines: tuple[CostLine, ...]
    left: tuple[Left, ...]
    best: Best | None  # among those that keep the objectives
    standings: tuple[Standing | None, ...]  # in cost and time; None for what is not compared
    break_evens: tuple[BreakEven, ...]
    apart: tuple[int, ...] = ()  # lines that are paid in another currency, or for other work, than those compared
    doubts: tuple[str, ...] = ()  # what speaks against the prices: their age
    time: str = LATENCY  # which time that is: LATENCY, or OF_A_PIECE

    @property
    def time_words(self) -> str:
        """The time that costs are held against, in words."""
        pieces = [line.work.piece for line, one in zip(self.lines, self.standings, strict=True) if one]
        return "median latency" if self.time == LATENCY or not pieces else f"time of one {pieces[0]}"


def work_of(row: Row, asked: str, count: float | None) -> Work | None:
    """What is paid for in a row: the metric that is asked for, else the rate under objectives, a rate, a time.

    A time until an accuracy comes before that of a whole run.
    """
    works = works_of(_own(row), items_per_call(row.ok[0]))
    if asked:
        known = next((work for work in works.values() if work.metric == asked and work.piece == "item"), None)
        work = known or (any_work(row.metrics[asked]) if asked in row.metrics else None)
    else:
        work = next((works[name] for name in _FIRST if name in works), None)
    return replace(work, count=count) if work and count else work


def cost_line(
    run: str,
    row: Row,
    price: Price,
    *,
    work: str = "",
    count: float | None = None,
    objectives: Sequence[Objective] = (),
    utilisation: float = 1.0,
) -> CostLine | Left:
    """What a row costs at a price, or why that cannot be told."""
    label = f"{row.label} of run {run}"
    chosen = work_of(row, work, count)
    if chosen is None:
        known = ", ".join(list(row.metrics)[:8]) or "none"
        return Left(label=label, reason=f"no metric says how much work was done (it has: {known})")
    metric = row.metrics[chosen.metric]
    whole = cost_of(metric, price, chosen, utilisation)
    if whole is None:
        return Left(label=label, reason=f"{chosen.metric} is not above zero")
    rounds = [
        cost
        for one in repeated_estimates(row.ok, metric)
        if (cost := cost_of(replace(metric, estimate=one), price, chosen, utilisation))
    ]
    return CostLine(
        run=run,
        row=row,
        price=price,
        work=chosen,
        cost=whole,
        rounds=tuple(rounds) or (whole,),
        is_kept=all(_keeps(row, price, utilisation, one) for one in objectives),
        utilisation=utilisation,
        energies=tuple(_energies(row, price)),
    )


def _energies(row: Row, price: Price) -> list[Metric]:
    """The energy of the row's work: as it was measured, else by what is written on the machine."""
    metrics = _own(row)
    return energies_of(metrics, power_of(metrics, price), price)


def _own(row: Row) -> list[Metric]:
    """What was measured, without what it cost at the price of that time."""
    return [metric for name, metric in row.metrics.items() if not is_cost(name)]


def _keeps(row: Row, price: Price, utilisation: float, bound: Objective) -> bool:
    """Whether the row keeps a bound with its whole interval; a bound of a cost is of that at the price of this line."""
    if not is_money(bound.metric):
        metric = row.metrics.get(bound.metric)
        return metric is not None and is_kept(metric.estimate, bound)
    check_currency(bound, price.currency)
    work = works_of(_own(row), items_per_call(row.ok[0])).get(bound.metric)
    cost = cost_of(row.metrics[work.metric], price, work, utilisation) if work else None
    return cost is not None and is_kept(cost, bound)


def summarise_costs(found: Sequence[CostLine | Left]) -> Costs:
    """All lines, the cheapest first, with the best one, those that cannot be told from it, and where others overtake.

    Only what is paid in one currency for the same kind of work is compared: that of most lines.
    """
    lines = sorted((one for one in found if isinstance(one, CostLine)), key=lambda one: one.cost.point)
    left = tuple(one for one in found if isinstance(one, Left))
    alike = _alike(lines)
    compared = [i for i in alike if lines[i].is_kept and not lines[i].row.is_held]
    dearer = _find_dearer(lines, compared)
    chosen = [i for i in compared if i not in dearer]
    best = find_best([_alternative(lines[i]) for i in chosen], Respect(metric=COST, better=Better.LOWER))
    if best is not None:
        best = Best(chosen[best.place], tuple(chosen[i] for i in best.ties)) if len(alike) > 1 else None
    time = LATENCY if any(LATENCY in lines[i].row.metrics for i in compared) else OF_A_PIECE
    return Costs(
        lines=tuple(lines),
        left=left,
        best=best,
        standings=_standings(lines, chosen, dearer, time),
        apart=tuple(i for i in range(len(lines)) if i not in alike),
        time=time,
        break_evens=tuple(_break_evens([lines[i] for i in compared])),
    )


def check_metric(tables: Mapping[str, Sequence[Row]], work: str) -> None:
    """Refuses a metric that no row has."""
    known = {name for table in tables.values() for row in table for name in row.metrics}
    if work and work not in known:
        raise OptionError(f"--work: no case has {work!r}", remedy=did_you_mean(work, known))


def _alike(lines: Sequence[CostLine]) -> list[int]:
    kinds: dict[tuple[str, str, bool, float], list[int]] = {}
    for i, line in enumerate(lines):
        kind = (line.price.currency, line.work.piece, line.work.is_rate, line.work.count)
        kinds.setdefault(kind, []).append(i)
    return max(kinds.values(), key=len, default=[])


def _find_dearer(lines: Sequence[CostLine], compared: Sequence[int]) -> dict[int, int]:
    """Lines of one measurement that have a cheaper price elsewhere, with the place of the cheapest.

    What was measured is the same, so only the prices differ, and no noise can hide that.
    """
    found: dict[int, int] = {}
    for i in compared:
        same = [j for j in compared if lines[j].row is lines[i].row and lines[j].work == lines[i].work]
        cheapest = min(same, key=lambda j: lines[j].price.per_hour)
        if lines[cheapest].price.per_hour < lines[i].price.per_hour * (1 - _ROUNDING):
            found[i] = cheapest
    return found


def _alternative(line: CostLine) -> Alternative:
    return Alternative(line.rounds, line.cost.point, notes.is_unreliable(line.row.results))


def _standings(
    lines: Sequence[CostLine], compared: Sequence[int], dearer: Mapping[int, int], time: str
) -> tuple[Standing | None, ...]:
    """How each stands in cost and time at once, where it has that time."""
    times = {i: told for i in compared if (told := lines[i].times(time))}
    with_latency = list(times)
    latencies = [
        Alternative(told[:-1] or told, told[-1].point, notes.is_unreliable(lines[i].row.results))
        for i, told in times.items()
    ]
    costs = [_alternative(lines[i]) for i in with_latency]
    # The front is sought where the first is low and the second high: a latency counts as high when it is low.
    respects = (Respect(metric=COST, better=Better.LOWER), Respect(metric=time, better=Better.LOWER))
    found = find_standings(costs, latencies, respects) if with_latency else []
    by_place = {
        place: Standing(one.state, None if one.by is None else with_latency[one.by])
        for place, one in zip(with_latency, found, strict=True)
    }
    by_place |= {i: Standing(DOMINATED, by) for i, by in dearer.items() if by in by_place}
    return tuple(by_place.get(i) for i in range(len(lines)))


def _break_evens(lines: Sequence[CostLine]) -> list[BreakEven]:
    """For each case: the machine with the lowest price, against each that does more for more money."""
    found = []
    groups: dict[str, list[CostLine]] = {}
    for line in lines:
        if line.work.is_rate and line.price.shape:
            groups.setdefault(line.row.key, []).append(line)
    for group in groups.values():
        small = min(group, key=lambda line: line.price.per_hour)
        found += [
            BreakEven(small=small, large=large, load=load_from(small, large), band=first_band(small, large))
            for large in group
            if large.price.per_hour > small.price.per_hour and large.rate > small.rate
        ]
    return found


def load_from(small: CostLine, large: CostLine) -> float | None:
    """The load, in pieces a second, above which machines of the larger kind never cost more than the small it needs.

    Machines are rented whole: `n` of them serve up to `n` times what one does. So just above what the larger ones serve
    another one is needed, and costs may cross several times; this is the last. None where there is no last.
    """
    served, price = large.capacity / small.capacity, large.price.per_hour / small.price.per_hour  # of a large, in small
    if price >= served * (1 - _ROUNDING):  # each piece costs as much, or more
        return None
    most = math.ceil(price / (served - price))  # from here on one more large that is empty is outweighed
    for full in range(min(most, _MOST), -1, -1):  # a little more is served than so many large can
        paid = (full + 1) * price
        if paid > (math.floor(full * served * (1 + _ROUNDING)) + 1) * (1 + _ROUNDING):
            return (math.ceil(paid * (1 - _ROUNDING)) - 1) * small.capacity
    return 0.0


def first_band(small: CostLine, large: CostLine) -> tuple[float, float] | None:
    """The first loads for which the larger kind costs less, from and to; None where there are none."""
    served, price = large.capacity / small.capacity, large.price.per_hour / small.price.per_hour
    for full in range(1, _MOST):  # so many small ones are full, and a little more is served
        needed = math.floor(full / served * (1 + _ROUNDING)) + 1
        if needed * price < (full + 1) * (1 - _ROUNDING):
            return full * small.capacity, needed * large.capacity
    return None
