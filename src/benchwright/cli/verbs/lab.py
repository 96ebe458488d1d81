"""`benchwright lab`: the queue and the machines of a server's lab."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from benchwright.cli.options import F, json_option, print_json, store_option

_RUN = click.argument("run", metavar="RUN")
_MACHINE = click.argument("machine", metavar="MACHINE")
_UNTIL = click.option(
    "--until",
    default="",
    metavar="TIME",
    help="Until when: 17:00 by the clock of this machine, 2026-11-20, or 3d for three days from now.",
)
_REPORT = click.option("--report", type=click.Path(), metavar="FILE", help="Also write an HTML report.")


def _reason(*, required: bool) -> Callable[[F], F]:
    usual: dict[str, Any] = {"required": True} if required else {"default": ""}  # a default of None would be one, too
    return click.option("--reason", metavar="TEXT", help="Why, for those who look later.", **usual)


@click.group("lab", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """The lab of a server: machines whose agents ask it for work, and the queue of what they measure.

    `benchwright run --lab SELECTOR` puts cases into the queue, `benchwright agent` offers a machine. RUN is a run's id,
    the beginning of one, or a tag. The server is that of --store. Without a command: list.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_)


@command.command("list")
@store_option
@json_option
def list_(store: str | None, as_json: bool) -> None:
    """List the machines with what each of them does, and the queue; say why nothing is running."""
    from benchwright.cli.lab_views import lab_lines, say
    from benchwright.workflows.lab.client import LabCaller

    with closing(LabCaller(store)) as lab:
        page = lab.lab()
    if as_json:
        print_json("lab", page)
        return
    for line in lab_lines(page):
        say(line)


@command.command("show")
@_RUN
@store_option
@json_option
def show(run: str, store: str | None, as_json: bool) -> int:
    """Show how far a submission is: each job with its machine, its place in the queue, and why it waits."""
    from benchwright.cli.lab_views import show_submission

    return show_submission(run, store=store, as_json=as_json)


@command.command("follow")
@_RUN
@_REPORT
@store_option
@json_option
def follow(run: str, report: str | None, store: str | None, as_json: bool) -> int:
    """Wait until a submission has ended, then print its table as `run` does. Ctrl-C ends the waiting alone."""
    from benchwright.cli.progress import ProgressLine
    from benchwright.workflows.lab import follow as following
    from benchwright.workflows.lab.client import LabCaller

    _check_report(report)
    with closing(LabCaller(store)) as lab, ProgressLine(sys.stderr) as progress:
        view = following.follow(lab, lab.find(run), progress)
    return _show_run(view.run, report=report, store=store, as_json=as_json)


@command.command("fetch")
@_RUN
@_REPORT
@store_option
@json_option
def fetch(run: str, report: str | None, store: str | None, as_json: bool) -> int:
    """Print the table of what a submission has measured so far, with the exit code that `run` would have."""
    from benchwright.workflows.lab.client import LabCaller
    from benchwright.workflows.lab.follow import ENDED, describe

    _check_report(report)
    with closing(LabCaller(store)) as lab:
        view = lab.submission(lab.find(run))
    if view.state not in ENDED:
        click.echo(f"benchwright: not all of it: {describe(view)}", err=True)
    return _show_run(view.run, report=report, store=store, as_json=as_json)


@command.command("cancel")
@_RUN
@store_option
@json_option
def cancel(run: str, store: str | None, as_json: bool) -> None:
    """Cancel a submission: what waits is dropped, what is being measured ends. What was measured is kept."""
    from benchwright.cli.lab_views import say, submission_lines
    from benchwright.workflows.lab.client import LabCaller

    with closing(LabCaller(store)) as lab:
        view = lab.cancel(lab.find(run))
    if as_json:
        print_json("lab-submission", view)
        return
    for line in submission_lines(view):
        say(line)


@command.command("priority")
@_RUN
@click.argument("priority", type=int, metavar="N")
@store_option
@json_option
def priority(run: str, priority: int, store: str | None, as_json: bool) -> None:
    """Let what waits of a submission go before others (N above theirs) or after them. `-- -5` for a negative N."""
    from benchwright.cli.lab_views import say, submission_lines
    from benchwright.workflows.lab.client import LabCaller
    from benchwright.workflows.lab.submission import check_priority

    check_priority(priority)
    with closing(LabCaller(store)) as lab:
        view = lab.set_priority(lab.find(run), priority)
    if as_json:
        print_json("lab-submission", view)
        return
    for line in submission_lines(view):
        say(line)


@command.command("drain")
@_MACHINE
@_reason(required=True)
@_UNTIL
@store_option
@json_option
def drain(machine: str, reason: str, until: str, store: str | None, as_json: bool) -> None:
    """Let a machine finish what it measures, and take nothing more until it is resumed."""
    _change(machine, "drain", _wish(reason, until), store, as_json)


@command.command("resume")
@_MACHINE
@store_option
@json_option
def resume(machine: str, store: str | None, as_json: bool) -> None:
    """Let a machine that was drained or in quarantine take work again."""
    _change(machine, "resume", {}, store, as_json)


@command.command("quarantine")
@_MACHINE
@_reason(required=True)
@_UNTIL
@store_option
@json_option
def quarantine(machine: str, reason: str, until: str, store: str | None, as_json: bool) -> None:
    """Put a machine into quarantine: it takes no work, and what it measured since is kept and not judged."""
    _change(machine, "quarantine", _wish(reason, until), store, as_json)


@command.command("reserve")
@_MACHINE
@_reason(required=False)
@_UNTIL
@click.option("--for", "person", default="", metavar="WHO", help="Somebody else; needs the scope admin.")
@store_option
@json_option
def reserve(machine: str, reason: str, until: str, person: str, store: str | None, as_json: bool) -> None:
    """Keep a machine for your own jobs: `reserve rack7 --until 17:00`. Others' jobs wait, or go elsewhere."""
    if not until:
        from benchwright.errors import OptionError

        raise OptionError("a reservation needs an end", remedy="give --until 17:00, or --until 2h")
    wish = _wish(reason, until, needs_reason=False)
    _change(machine, "reserve", {**wish, **({"who": person} if person else {})}, store, as_json)


@command.command("release")
@_MACHINE
@store_option
@json_option
def release(machine: str, store: str | None, as_json: bool) -> None:
    """End a machine's reservation: it takes everybody's work again."""
    _change(machine, "release", {}, store, as_json)


@command.command("forget")
@_MACHINE
@store_option
@json_option
def forget(machine: str, store: str | None, as_json: bool) -> None:
    """Remove a machine that will not come back. Its results stay; another token may offer its name from then on."""
    from benchwright.cli.lab_views import say
    from benchwright.workflows.lab.client import LabCaller

    with closing(LabCaller(store)) as lab:
        lab.forget_machine(machine)
        if as_json:
            print_json("lab", lab.lab())
            return
    say(f"{machine}: forgotten")


def _wish(reason: str, until: str, *, needs_reason: bool = True) -> dict[str, Any]:
    """The body of a change: why, and until which instant in milliseconds."""
    from benchwright.cli.instants import parse_instant
    from benchwright.cli.verbs.machines import check_reason
    from benchwright.errors import OptionError

    told: dict[str, Any] = {"reason": check_reason(reason) if needs_reason or reason else ""}
    if until:
        told["until"] = parse_instant(until, "--until", sign=1) // 1000
        if told["until"] <= time.time() * 1000:
            raise OptionError(f"--until {until} is over", remedy="give a later one: 17:00, 2h, 2026-11-20")
    return told


def _change(machine: str, action: str, body: Mapping[str, Any], store: str | None, as_json: bool) -> None:
    from benchwright.cli.lab_views import machine_text, say
    from benchwright.workflows.lab.client import LabCaller

    with closing(LabCaller(store)) as lab:
        line = lab.change_machine(machine, action, body)
    if as_json:
        print_json("lab-machine", line)
    else:
        say(f"{line.name}: {machine_text(line)}")


def _check_report(report: str | None) -> None:
    if report:
        from benchwright.report.destination import check_target

        check_target(Path(report), flag="--report")


def _show_run(run: str, *, report: str | None, store: str | None, as_json: bool) -> int:
    """The table of a run, as `run` prints it, and its exit code."""
    from benchwright.cli.views import exit_code, show_outcome
    from benchwright.workflows.lab.submission import fetch as fetch_run

    found = fetch_run(run, store=store)
    show_outcome(found, as_json=as_json, save=True, store=store, report=report)
    return exit_code(found)
