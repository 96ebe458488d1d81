"""`benchwright machines`: who measured what, how healthy each is, and quarantine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from benchwright.cli.options import json_option, now, print_json, store_option, who
from benchwright.cli.verbs import machines_check
from benchwright.store import open_configured_store

_SHORT = 12  # digits of a key
_NEWEST = 10  # runs whose health is shown


@click.group("machines")
def command() -> None:
    """Machines that measured into a store: what they are, how healthy they were, and quarantine.

    MACHINE is a key, the beginning of one, or the name that `machines list` shows. Results of a machine in quarantine
    are kept and marked, but not judged.
    """


command.add_command(machines_check.check, "check")
command.add_command(machines_check.control, "control")


@command.command("list")
@store_option
@json_option
def list_(store: str | None, as_json: bool) -> None:
    """List every machine, the one that measured last first."""
    from benchwright.workflows.machines import machine_documents

    with closing(open_configured_store(store)) as results:
        found = machine_documents(results)
    if as_json:
        print_json("machines", found)
        return
    for machine in found:
        _say(_line(machine))
    if not found:
        click.echo("no machines: nothing has been measured yet")


@command.command("show")
@click.argument("machine", metavar="MACHINE")
@store_option
@json_option
def show(machine: str, store: str | None, as_json: bool) -> None:
    """Show one machine: its health in the newest runs, and when it was in quarantine."""
    from benchwright.workflows.machines import machine_document

    with closing(open_configured_store(store)) as results:
        found = machine_document(results, machine)
    if as_json:
        print_json("machine-health", found)
        return
    for line in _lines(found):
        _say(line)


@command.command("quarantine")
@click.argument("machine", metavar="MACHINE")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for those who look later.")
@click.option(
    "--from",
    "since",
    default="",
    metavar="TIME",
    help="From when on: 2026-11-17T08:00, or 2h for two hours ago. Default: now.",
)
@click.option(
    "--until",
    default="",
    metavar="TIME",
    help="Until when: 2026-11-20, or 3d for three days from now. Default: until it is released.",
)
@store_option
@json_option
def quarantine(machine: str, reason: str, since: str, until: str, store: str | None, as_json: bool) -> None:
    """Put a machine into quarantine: its results are kept and marked, but not judged."""
    from benchwright.cli.instants import parse_instant
    from benchwright.records.machines import Quarantine
    from benchwright.workflows.machines import machine_document, put_in_quarantine, show_instant

    begin = parse_instant(since, "--from", sign=-1)
    end = parse_instant(until, "--until", sign=1) if until else None
    wanted = Quarantine(machine="", since=begin, until=end, reason=check_reason(reason), who=who(), made_at=now())
    with closing(open_configured_store(store)) as results:
        name, _ = put_in_quarantine(results, machine, wanted)
        if as_json:
            print_json("machine-health", machine_document(results, machine))
            return
    lasts = f" until {show_instant(end)}" if end is not None else ""
    _say(f"{name}: in quarantine since {show_instant(begin)}{lasts}; its results are kept and not judged")


@command.command("release")
@click.argument("machine", metavar="MACHINE")
@store_option
@json_option
def release(machine: str, store: str | None, as_json: bool) -> None:
    """Release a machine: from now on its results are judged again. Those of the quarantine stay as they are."""
    from benchwright.workflows.machines import machine_document, release_machine

    with closing(open_configured_store(store)) as results:
        name, ended = release_machine(results, machine, who())
        if as_json:
            print_json("machine-health", machine_document(results, machine))
            return
    _say(f"{name}: {'released; its results are judged again' if ended else 'was not in quarantine'}")


def _line(machine: dict[str, Any]) -> str:
    spread = sorted(machine["noise"]["spread"])
    noise = f"noise ± {100 * spread[len(spread) // 2]:.2g} %" if spread else "noise unknown"
    parts = [machine["key"][:_SHORT], machine["name"], f"{machine['results']:,} results", noise]
    if held := machine["quarantine"]:
        parts.append(_describe(held))
    elif machine["trouble"]:
        parts.append(f"out of its usual: {machine['trouble']}")
    return "  ".join(parts)


def _lines(view: dict[str, Any]) -> Iterator[str]:
    from benchwright.units import format_value

    machine = view["line"]
    yield f"{machine['name']}  {machine['key']}"
    yield f"  {machine['results']:,} results, cases: {machine['cases']}, {machine['failed']:,} failed"
    for signal in view["health"]:
        newest = list(zip(signal["values"], signal["limits"], strict=True))[-_NEWEST:]
        shown = " ".join(f"{value:.2g}{'!' if limit is not None and value > limit else ''}" for value, limit in newest)
        limit = newest[-1][1] if newest else None
        usual = f", usual up to {limit:.2g} %" if limit is not None else ""
        yield f"  {signal['title']} (%{usual}): {shown}"
    for part in view.get("control", ()):  # a server that is older tells nothing of it
        shown = " ".join(f"{value:.0f}" for value in part["values"][-_NEWEST:])
        yield f"  Control {part['name']} (% of the usual {format_value(part['usual'], 's')}): {shown}"
    if machine["trouble"]:
        yield f"  out of its usual: {machine['trouble']}"
        if not machine["quarantine"]:
            command = f"benchwright machines quarantine {machine['key'][:_SHORT]} --reason TEXT"
            yield f"  to leave its results unjudged: {command}"
    for held in view["quarantines"]:
        yield f"  {_describe(held)}"


def _describe(held: dict[str, Any]) -> str:
    from benchwright.workflows.machines import show_instant

    end = "" if held["until"] is None else f" until {show_instant(held['until'] * 1000)}"
    by = f" ({held['who']})" if held["who"] else ""
    return f"in quarantine since {show_instant(held['since'] * 1000)}{end}: {held['reason'] or 'no reason given'}{by}"


def check_reason(reason: str) -> str:
    """The reason for a quarantine, which must say something."""
    from benchwright.errors import OptionError

    if not reason.strip() or len(reason) > 500:
        raise OptionError("--reason: give 1 to 500 characters", remedy="say what is wrong with the machine")
    return reason.strip()


def _say(line: str) -> None:
    from benchwright.units.numbers import printable

    click.echo(printable(line))
