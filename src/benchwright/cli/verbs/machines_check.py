"""`benchwright machines check` and `machines control`: is a machine fit to measure, and is it as fast as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, print_json, store_option

if TYPE_CHECKING:
    from benchwright.execution.hosts import AnyHost
    from benchwright.machine.fitness import Fitness

host_option = click.option(
    "--host",
    metavar="KIND:NAME,...",
    help="Where it runs: ssh:NAME, slurm:PARTITION, ray:ADDRESS; several with commas. Default: here.",
)


@click.command()
@host_option
@json_option
def check(host: str | None, as_json: bool) -> int:
    """Say whether a machine is fit to measure now, and if not, why.

    Looked at are free disk, memory, temperature, limits of the CPU's frequency and time, the load of others and the
    clock. Exit code 1 when one is unfit. What `[machines]` in benchwright.toml ignores is only doubtful.
    """
    found = {}
    for name in _names(host):
        with _opened(name) as machine:
            found[name] = _look(machine)
    if as_json:
        print_json("machine-check", [_document(name, one) for name, one in found.items()])
    else:
        for name, one in found.items():
            _show(name if host else "", one)
    return 0 if all(one.is_fit for one in found.values()) else 1


@click.command()
@host_option
@click.option("--no-save", is_flag=True, help="Keep nothing in the store.")
@store_option
@json_option
def control(host: str | None, no_save: bool, store: str | None, as_json: bool) -> int:
    """Run the control benchmark of a machine and keep it: a few seconds of fixed work, the same for ever.

    Its history says whether the machine is still as fast as it was. A server puts a machine whose control became slower
    into quarantine. Exit code 1 when a part of it failed.
    """
    import sys

    from benchwright.cli.progress import ProgressLine
    from benchwright.errors import OptionError
    from benchwright.records import Status
    from benchwright.report.table import print_run
    from benchwright.workflows.control import run_control
    from benchwright.workflows.invocation import command_line

    runs = {}
    for name in _names(host):
        if name.startswith("adb:"):
            raise OptionError(
                f"{name}: the control benchmark is Python, which a phone does not run",
                remedy="measure a program of yours there now and then",
            )
        with _opened(name) as machine, ProgressLine(sys.stderr) as progress:
            runs[name] = run_control(
                host=machine, store=store, save=not no_save, command=command_line(), listener=progress
            )
    if as_json:
        print_json("machine-control", [{"host": name, "run": run} for name, run in runs.items()])
    else:
        for run in runs.values():
            print_run(run)
    return 0 if all(result.status is Status.OK for run in runs.values() for result in run.results) else 1


def _names(text: str | None) -> list[str]:
    from benchwright.workflows import arguments

    return arguments.host_names(text) if text else ["local"]


@contextmanager
def _opened(name: str) -> Iterator[AnyHost | None]:
    """The host of that name, closed afterwards; None for this machine."""
    from benchwright.workflows import arguments

    one = arguments.host(name)
    try:
        yield one
    finally:
        arguments.close_host(one)


def _look(host: AnyHost | None) -> Fitness:
    from benchwright.errors import OptionError
    from benchwright.execution.outposts.host import OutpostHost
    from benchwright.machine.fitness import check_machine, configured_limits

    if isinstance(host, OutpostHost):
        return host.check_fitness()
    if host is not None:
        raise OptionError("--host: this kind of machine cannot be checked", remedy="check ssh:NAME, slurm:PARTITION")
    return check_machine(limits=configured_limits())


def _document(name: str, one: Fitness) -> dict[str, object]:
    verdict = "fit" if one.is_fit else "unfit"
    return {"host": name, "verdict": verdict, "reasons": one.reasons, "doubts": one.doubts, "facts": one.facts}


def _show(name: str, one: Fitness) -> None:
    from benchwright.units.numbers import printable

    begin = f"{name}: " if name else ""
    click.echo(printable(f"{begin}{'fit' if one.is_fit else 'unfit'}"))
    for kind, told in (("unfit", one.reasons), ("doubtful", one.doubts)):
        for warning in told:
            click.echo(printable(f"  {kind}: {warning.seen} ({warning.code})"))
            click.echo(printable(f"    {warning.remedy}"))
