"""What `benchwright cloud` shows: who pays, until when, what to type to end it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from benchwright import schema
from benchwright.cloud import keys
from benchwright.cloud.ledger import LedgerCost, LedgerMachine, ledger_path
from benchwright.cloud.orders import Instance, InstanceState
from benchwright.cloud.provider import OnlyStops
from benchwright.cloud.sweep import SweepReport, SweptMachine
from benchwright.execution.pricing import warn_if_old
from benchwright.records.prices import Market
from benchwright.units import format_number, format_value
from benchwright.units.numbers import printable
from benchwright.workflows.cloud import MachinePlan, SeenMachine, total_costs

_MOST_NUMBERS = 8


def say_lines(lines: Iterable[str]) -> None:
    """Prints lines, without what a terminal would obey: names and reasons come from clouds."""
    for line in lines:
        click.echo(printable(line))


def plan_lines(plan: MachinePlan) -> list[str]:
    """What is about to be ordered, before it costs anything."""
    shape, order = plan.shape, plan.order
    parts = [
        f"{shape.vcpus} vCPU" + (f" ({shape.cores} {'core' if shape.cores == 1 else 'cores'})" if shape.cores else "")
    ]
    parts += [format_value(shape.memory_bytes, "B", 2)] if shape.memory_bytes else []
    parts += [shape.architecture, *_counted(shape.accelerators)]
    market = " on the spot market" if order.market is Market.SPOT else ""
    lines = [f"{order.provider}/{order.shape} in {order.zone or order.region}{market}: {', '.join(parts)}"]
    lines.append(f"paid by {plan.payer}")
    end = f"until {_clock(order.expires)}, when it ends itself"
    if plan.price is None:
        lines.append(f"no price is known, so its cost cannot be told: name one with --price; {end}")
    else:
        lines.append(f"at most {_money(plan.most or 0.0, plan.price.currency)} {end} ({_per_hour(plan.price)})")
        if doubt := warn_if_old(plan.price, datetime.now(UTC).date()):
            lines.append(f"{doubt.seen}: {doubt.remedy}")
    if isinstance(plan.provider, OnlyStops):
        lines.append(f"at {order.provider} that means: {plan.provider.at_expiry}")
    return lines


def up_lines(seen: SeenMachine) -> list[str]:
    """A machine that has just come up: how to reach it, and how to end it."""
    machine = seen.known
    assert machine is not None
    lines = [f"{machine.name} ({machine.id}) is up until {_clock(machine.order.expires)}"]
    if machine.address:
        lines.append(f"  sign in:    {_sign_in(machine)}")
        lines.append(f"  measure:    benchwright run TARGET --host cloud:{machine.name}")
    return [*lines, f"  end it:     benchwright cloud down {machine.name}"]


def machine_lines(seen: SeenMachine, now: datetime) -> list[str]:
    """One machine in full."""
    machine = seen.known
    assert machine is not None
    order, is_stopped = machine.order, seen.state == InstanceState.STOPPED
    lines = [f"{machine.name}  {_what(machine)}  {seen.state}"]
    facts = {
        "id": machine.id,
        "zone": machine.zone,
        "image": machine.image,
        "ordered": f"{_clock(machine.ordered_at)}" + (f" by {order.owner}" if order.owner else ""),
        "paid by": machine.payer,
        "ends": _ends(machine, is_stopped=is_stopped) if machine.is_open else "",
        "ended": _clock(machine.at) if not machine.is_open else "",
        "why": machine.reason,
        "cost": _cost(machine.cost(now)),
        "sign in": _sign_in(machine) if machine.is_open and machine.address and not is_stopped else "",
        "end it": f"benchwright cloud down {machine.name}" if machine.is_open else "",
    }
    lines += [f"  {name + ':':<9} {value}" for name, value in facts.items() if value]
    if seen.trouble:
        lines.append(f"  the cloud could not be asked: {seen.trouble}")
    return lines


def list_lines(found: Sequence[SeenMachine], now: datetime) -> list[str]:
    """All machines, one a line, and what they cost together."""
    mine = [one for one in found if one.known is not None]
    lines = [_list_line(one, now) for one in mine]
    lines += [_elsewhere_line(one.instance) for one in found if one.known is None and one.instance]
    if not lines:
        return ["no machine is up"]
    totals = total_costs((one.known for one in mine if one.known), now)
    if totals:
        lines.append(f"together {' and '.join(_money(amount, name) for name, amount in totals.items())} so far")
    if trouble := sorted({one.trouble for one in found if one.trouble}):
        lines += [f"could not be asked: {text}" for text in trouble]
    if any(one.known and one.known.is_open for one in mine):
        lines.append("end one: benchwright cloud down NAME; all: benchwright cloud down --all")
    return lines


def ended_lines(machines: Sequence[LedgerMachine], now: datetime) -> list[str]:
    """Machines that were ended, with what each cost."""
    return [
        f"{machine.name} has ended: {_cost(machine.cost(now))}" if machine.id else f"{machine.name}: {machine.reason}"
        for machine in machines
    ]


def sweep_lines(report: SweepReport, *, is_dry: bool) -> list[str]:
    """What a sweep did."""
    done = "would be ended" if is_dry else "ended"
    lines = [f"{done}: {_swept(one)}" for one in report.ended]
    lines += [f"gone already: {_swept(one)}" for one in report.gone]
    lines += [f"left: {_swept(one)}" for one in report.left]
    lines += [f"not to be told yet: {_swept(one)}" for one in report.unsettled]
    lines += [f"could not be looked at: {_swept(one)}" for one in report.failed]
    return [*(lines or ["nothing to sweep: no machine is up"]), *unread_lines(report.unread)]


def unread_lines(numbers: Sequence[int]) -> list[str]:
    """What is said of a ledger of which lines cannot be read; nothing where all can."""
    if not numbers:
        return []
    which = ", ".join(map(str, numbers[:_MOST_NUMBERS])) + (" ..." if len(numbers) > _MOST_NUMBERS else "")
    return [
        f"{ledger_path()}: line {which} cannot be read, and a machine may be missing here: look for it in its region "
        "with `benchwright cloud sweep aws@REGION`, then delete the line"
    ]


def sweep_document(report: SweepReport) -> dict[str, Any]:
    """The same as data."""
    return asdict(report)


def document(seen: SeenMachine, now: datetime) -> dict[str, Any]:
    """A machine as `--json` prints it."""
    if seen.known is None:
        assert seen.instance is not None
        return _elsewhere_document(seen.instance)
    machine, order, cost = seen.known, seen.known.order, seen.known.cost(now)
    return {
        "name": machine.name,
        "id": machine.id,
        "token": machine.token,
        "provider": order.provider,
        "shape": order.shape,
        "region": order.region,
        "zone": machine.zone or order.zone,
        "market": order.market.value,
        "image": machine.image,
        "state": seen.state,
        "address": machine.address,
        "login": order.login or machine.login,
        "ordered_at": machine.ordered_at,
        "ended_at": "" if machine.is_open else machine.at,
        "expires": order.expires,
        "owner": order.owner,
        "payer": machine.payer,
        "run": order.run,
        "kept": machine.is_kept,
        "reason": machine.reason,
        "seconds": cost.seconds,
        "cost": cost.amount,
        "currency": cost.currency,
        "price": schema.encode(machine.price) if machine.price else None,
        "trouble": seen.trouble,
        "ordered_here": True,
    }


def _elsewhere_document(instance: Instance) -> dict[str, Any]:
    names = ("name", "id", "token", "provider", "shape", "region", "zone", "image", "address", "expires")
    told = {name: getattr(instance, name) for name in names}
    return {**told, "market": instance.market.value, "state": instance.state.value, "ordered_here": False}


def _list_line(seen: SeenMachine, now: datetime) -> str:
    machine = seen.known
    assert machine is not None
    parts = [f"{machine.name:<20}", _what(machine), seen.state]
    if machine.is_open:
        parts.append(_until(machine, now, is_stopped=seen.state == InstanceState.STOPPED))
    return "  ".join([*parts, _cost(machine.cost(now))])


def _elsewhere_line(instance: Instance) -> str:
    until = f"until {_clock(instance.expires)}" if instance.expires else "without an end"
    name, what = instance.name or instance.id, f"{instance.provider}/{instance.shape}@{instance.region}"
    return f"{name:<20}  {what}  {instance.state.value}  {until}  ordered elsewhere"


def _ends(machine: LedgerMachine, *, is_stopped: bool) -> str:
    """When and how a machine ends: one that is stopped runs no timer."""
    how = "by `benchwright cloud sweep`: it is stopped, and its disk costs until then" if is_stopped else "by itself"
    return f"{_clock(machine.order.expires)}, {how}"


def _until(machine: LedgerMachine, now: datetime, *, is_stopped: bool) -> str:
    left = (datetime.fromisoformat(machine.order.expires) - now).total_seconds() if machine.order.expires else 0.0
    if left <= 0:
        return "expired: benchwright cloud sweep"
    then = ", then `benchwright cloud sweep`" if is_stopped else ""
    return f"until {_clock(machine.order.expires)} ({_duration(left)} left{then})"


def _what(machine: LedgerMachine) -> str:
    order = machine.order
    market = ":spot" if order.market is Market.SPOT else ""
    return f"{order.provider}/{order.shape}@{machine.zone or order.zone or order.region}{market}"


def _cost(cost: LedgerCost) -> str:
    if cost.amount is None or cost.price is None:
        return f"up for {_duration(cost.seconds)}, no price is known"
    return f"{_money(cost.amount, cost.currency)} for {_duration(cost.seconds)} ({_per_hour(cost.price)})"


def _per_hour(price: Any) -> str:
    basis = price.basis
    return basis if "an hour" in basis else f"{format_number(price.per_hour)} {price.currency} an hour: {basis}"


def _money(amount: float, currency: str) -> str:
    return f"{format_number(amount, 2 if amount < 1 else 3)} {currency}".strip()


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _clock(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC" if text else "?"


def _sign_in(machine: LedgerMachine) -> str:
    login = machine.order.login or machine.login
    target = f"{login}@{machine.address}" if login else machine.address
    return shlex.join(["ssh", "-i", str(keys.key_path()), target])


def _counted(names: Sequence[str]) -> list[str]:
    return [f"{names.count(name)} × {name}" for name in dict.fromkeys(names)]


def _swept(machine: SweptMachine) -> str:
    name = machine.name if machine.name == machine.id or not machine.id else f"{machine.name} ({machine.id})"
    place = f"{machine.provider}@{machine.region}"
    return ": ".join(part for part in (" ".join(filter(None, (name, place))), machine.why) if part)
