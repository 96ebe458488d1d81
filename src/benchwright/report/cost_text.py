"""What work costs on several machines: as a table with what it rests on, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchwright import schema
from benchwright.analysis.best import FRONT
from benchwright.analysis.costs import BreakEven, CostLine, Costs
from benchwright.analysis.price_changes import describe_price
from benchwright.execution.pricing import JOULES
from benchwright.records.costs import ENERGY_COST, ENERGY_PER_ITEM, ENERGY_PER_RUN
from benchwright.records.prices import Market
from benchwright.units import format_number, format_value
from benchwright.units.numbers import cell, line_up, printable, scale_of

if TYPE_CHECKING:
    from rich.console import Console

_HEADS = ("case", "machine", "market", "price", "work", "cost")
_NUMBERS = ("price", "work", "cost")
_MOST_LEFT = 10


def show_costs(console: Console, found: Costs) -> None:
    """Prints the table, the cheapest first, then what follows from it and what it rests on."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if found.lines:
        runs = len({line.run for line in found.lines}) > 1
        drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
        for head in ("run", *_HEADS) if runs else _HEADS:
            title = f"cost of {words}" if head == "cost" and (words := _work_of_all(found.lines)) else head
            drawn.add_column(Text(title), justify="right" if head in _NUMBERS else "left", overflow="fold")
        cells = [_cells(line) for line in found.lines]
        costs = line_up(_costs(found.lines))
        for one, texts, cost in zip(found.lines, cells, costs, strict=True):
            drawn.add_row(*map(Text, (*((printable(one.run),) if runs else ()), *texts, cost)))
        console.print(drawn)
        console.print()
    for line in sentences(found):
        console.print(Text(line), overflow="fold")


def sentences(found: Costs) -> list[str]:
    """What follows from the table, and what it rests on."""
    names = _names(found.lines)
    said = [_choice(found, names)] if found.best is not None else []
    front = [names[i] for i, one in enumerate(found.standings) if one and one.state == FRONT]
    if len(front) > 1:
        told = found.time_words.removeprefix("median ")
        said.append(f"Best in cost and {told} together: {'; '.join(front)}")
    cases = {one.small.row.key for one in found.break_evens}
    said += [_break_even(one, is_alone=len(cases) == 1) for one in found.break_evens]
    apart = [names[i] for i in found.apart]
    if apart:
        said.append(f"Not compared, as paid in another currency or for other work: {'; '.join(apart)}")
    broken = [names[i] for i, line in enumerate(found.lines) if not line.is_kept]
    if broken:
        said.append(f"Not compared, as an objective does not hold for sure: {'; '.join(broken)}")
    said += [_what_if(found.lines), *_energies(found.lines)]
    if found.doubts:
        said.append(f"Old prices: {'; '.join(map(printable, found.doubts))}")
    said.append(_describe_bases(found.lines))
    said = [one for one in said if one]
    for left in found.left[:_MOST_LEFT]:
        said.append(f"No cost for {printable(left.label)}: {printable(left.reason)}")
    if len(found.left) > _MOST_LEFT:
        said.append(f"and for {len(found.left) - _MOST_LEFT} more")
    return said


def _describe_bases(lines: tuple[CostLine, ...]) -> str:
    """What the costs rest on: each price with its source, and how much of its time a machine works."""
    if not lines:
        return ""
    bases = dict.fromkeys(printable(describe_price(line.price)) for line in lines)
    share = ", ".join(f"{100 * one:.3g}%" for one in sorted({line.utilisation for line in lines}))
    return f"It rests on: {'; '.join(bases)}; machines that work {share} of their time"


def costs_data(found: Costs) -> dict[str, Any]:
    """The same for programs."""
    ties = () if found.best is None else found.best.ties
    return {
        "lines": [
            {
                "run": line.run,
                "case": line.row.label,
                "price": schema.encode(line.price),
                "work": {
                    "metric": line.work.metric,
                    "count": line.work.count,
                    "is_rate": line.work.is_rate,
                    "piece": line.work.piece,
                },
                "cost": schema.encode(line.cost),
                "currency": line.price.currency,
                "is_best": found.best is not None and i == found.best.place,
                "is_tied": i in ties,
                "is_kept": line.is_kept,
                "is_apart": i in found.apart,
                "is_what_if": line.is_what_if,
                "standing": standing.state if (standing := found.standings[i]) else None,
                "utilisation": line.utilisation,
                "energy": {
                    one.name: {"unit": one.unit, "estimate": schema.encode(one.estimate)} for one in line.energies
                },
            }
            for i, line in enumerate(found.lines)
        ],
        "left": [{"case": left.label, "reason": left.reason} for left in found.left],
        "break_evens": [
            {
                "small": _name(one.small),
                "large": _name(one.large),
                "load": one.load,
                "band": one.band,
                "piece": one.small.work.piece,
            }
            for one in found.break_evens
        ],
        "doubts": list(found.doubts),
    }


def _cells(line: CostLine) -> tuple[str, ...]:
    price = line.price
    machine = price.name or line.row.machine or "this machine"
    place = f" {price.region}" if price.region else ""
    metric = line.row.metrics[line.work.metric]
    return (
        printable(line.row.label),
        printable(f"{machine}{place}"),
        price.market.value,
        f"{format_number(price.per_hour)} {price.currency}/h".replace(" /", "/"),
        f"{format_value(metric.estimate.point, metric.unit)} {line.work.metric}".strip(),
    )


def _what_if(lines: tuple[CostLine, ...]) -> str:
    """Which lines are priced as a shape that they were not measured on: another machine has another speed."""
    pairs = dict.fromkeys(f"{printable(line.run)} as {printable(line.price.name)}" for line in lines if line.is_what_if)
    if not pairs:
        return ""
    return f"What if: priced as a shape, and not measured on it: {'; '.join(pairs)}"


def _work_of_all(lines: tuple[CostLine, ...]) -> str:
    """What every cost is of, in words; "" where they are of several works."""
    works = {line.work.words for line in lines}
    return works.pop() if len(works) == 1 else ""


def _energies(lines: tuple[CostLine, ...]) -> list[str]:
    """The energy of the work on each machine, in joules, kilowatt-hours and money, and who says so."""
    said = []
    for line in lines:
        known = {one.name: one for one in line.energies}
        one = known.get(ENERGY_PER_ITEM) or known.get(ENERGY_PER_RUN)
        if one is None:
            continue
        is_item = one.name == ENERGY_PER_ITEM
        count = line.work.count if is_item and line.work.is_rate else 1.0
        hours = one.estimate.point * count / JOULES
        piece, of = ("an item", f"{count:,.10g} items") if is_item else ("one run", "it")
        paid = known.get(ENERGY_COST)
        money = f", {format_number(paid.estimate.point * count / 1e6)} {paid.unit}" if paid and is_item else ""
        who = one.estimate.method.partition(";")[0]
        said.append(
            f"Energy of {_name(line)}: {format_value(one.estimate.point, 'J')} for {piece}, "
            f"{format_number(hours)} kWh{money} for {of} ({who})"
        )
    return list(dict.fromkeys(said))[:_MOST_LEFT]


def _costs(lines: tuple[CostLine, ...]) -> list[str]:
    shown = []
    of_all = _work_of_all(lines)
    for line in lines:
        number = str(cell(line.cost, scale_of([line.cost.point], "")))
        mark = "" if line.is_kept else " (objective not kept)"
        held = " (quarantine)" if line.row.is_held else ""
        of = "" if of_all else f" for {line.work.words}"
        shown.append(f"{number} {line.price.currency}".rstrip() + of + mark + held)
    return shown


def _choice(found: Costs, names: Sequence[str]) -> str:
    assert found.best is not None
    alike = [names[i] for i in (found.best.place, *found.best.ties)]
    if len(alike) == 1:
        return f"Cheapest: {alike[0]}"
    return f"Cheapest: one of {len(alike)} that cannot be told apart: {'; '.join(alike)}"


def _break_even(one: BreakEven, *, is_alone: bool) -> str:
    """From which load on the larger machine is worth it; with the case, where there are several."""
    case = "" if is_alone else f"{printable(one.small.row.label)}: "
    large, as_many = _machine(one.large), f"as many {_machine(one.small)} as it takes"
    band = f"from {format_number(one.band[0])} to {format_number(one.band[1])}" if one.band else ""
    unit, how = f"{one.small.work.piece}s a second", "(by points, whole machines)"
    if one.load is not None:
        sooner = f", and less {band} already" if one.band and one.band[0] < one.load else ""
        return f"{case}Above {format_number(one.load)} {unit} {large} costs no more than {as_many}{sooner} {how}"
    if band:
        return f"{case}{large} is cheaper than {as_many} at some loads alone, as {band} {unit} {how}"
    return f"{case}{large} is at no load cheaper than {as_many}"


def _machine(line: CostLine) -> str:
    return printable(f"{line.price.name}, {line.price.market.value}")


def _names(lines: Sequence[CostLine]) -> list[str]:
    """A name for each line; of those that would have the same one, with the run."""
    names = [_name(line) for line in lines]
    return [
        f"{name} ({printable(line.run)})" if names.count(name) > 1 else name
        for name, line in zip(names, lines, strict=True)
    ]


def _name(line: CostLine) -> str:
    if not line.price.shape or line.price.market is Market.OWN:
        return printable(f"{line.label} of {line.run}")
    return printable(f"{line.label}, {line.price.market.value}")
