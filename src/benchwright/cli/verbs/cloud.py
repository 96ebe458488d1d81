"""`benchwright cloud`: machines of clouds, ordered with an end, listed with what they cost, ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, print_json

if TYPE_CHECKING:
    from datetime import datetime

    from benchwright.cloud.ledger import CloudLedger, LedgerMachine

TOKEN = "BENCHWRIGHT_AGENT_TOKEN"  # noqa: S105 - the variable's name


@click.group("cloud")
def command() -> None:
    """Machines of clouds: each has an end, is in a ledger before it is ordered, and costs your account money.

    SPEC is PROVIDER/SHAPE[@REGION][:MARKET][?zone=ZONE&image=IMAGE&disk=GB&most=PRICE], as in
    aws/c7i.large@eu-central-1:spot. MACHINE is a name or an id that `cloud list` shows. You sign in as for the cloud's
    own tools.
    """


@command.command("up")
@click.argument("spec", metavar="SPEC")
@click.option(
    "--until",
    default="1h",
    show_default=True,
    metavar="TIME",
    help="Until when: 17:00 by the clock of this machine, 2026-11-20, or 3d for three days from now. It then ends "
    "itself.",
)
@click.option("--machine-name", default="", metavar="NAME", help="What to call it. Default: its shape and four digits.")
@click.option(
    "--public-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The ssh key that may sign in, beside Benchwright's own. Default: id_ed25519.pub, id_ecdsa.pub or id_rsa.pub "
    "in ~/.ssh.",
)
@click.option(
    "--price",
    default="",
    metavar="PRICE",
    help="What the machine costs: 0.34USD/h, or a machine of your prices.yaml. Default: what your prices.yaml and "
    "imported lists say of the shape.",
)
@click.option(
    "--package", "packages", multiple=True, metavar="PACKAGE", help="Install this there with pip: benchwright[onnx]."
)
@click.option("--server", default="", metavar="URL", help="The server to work for, such as https://bench.example/.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"A file that holds a token of the scope agent. Default: what {TOKEN} holds.",
)
@json_option
def up(
    spec: str,
    until: str,
    machine_name: str,
    public_key: Path | None,
    price: str,
    packages: Sequence[str],
    server: str,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Order a machine, and wait until it is up. It ends itself at the time of --until, whatever happens here.

    With --server it becomes an agent of that server's lab; without, it is for run --host cloud:NAME.
    """
    import sys
    from datetime import UTC, datetime

    from benchwright.cli import cloud_views
    from benchwright.cli.instants import parse_instant
    from benchwright.cli.options import who
    from benchwright.cli.progress import ProgressLine
    from benchwright.events import Staged
    from benchwright.workflows import cloud

    request = cloud.MachineRequest(
        until=datetime.fromtimestamp(parse_instant(until, "--until", sign=1) / 1e6, UTC),
        name=machine_name,
        owner=who(),
        price=price,
        public_key=public_key,
        packages=packages,
        server=server,
        agent_token=_agent_token(token_file) if server else "",
    )
    plan = cloud.plan_machine(spec, request)
    if not as_json:
        cloud_views.say_lines(cloud_views.plan_lines(plan))
    with ProgressLine(sys.stderr) as progress:
        seen = cloud.bring_up(plan, tell=lambda text: progress(Staged(text=text)))
    if as_json:
        print_json("cloud-machine", cloud_views.document(seen, datetime.now(UTC)))
        return
    cloud_views.say_lines(cloud_views.up_lines(seen))


@command.command("list")
@click.option("--all", "whole", is_flag=True, help="All of them: also those that have ended, with what they cost.")
@json_option
def list_(whole: bool, as_json: bool) -> None:
    """Show the machines that are up: state, until when, what each cost so far and what that rests on.

    What the ledger of this machine knows is held against what the clouds say. Machines with our label that were ordered
    elsewhere stand below.
    """
    from benchwright.cli import cloud_views
    from benchwright.cloud.ledger import CloudLedger
    from benchwright.workflows import cloud

    ledger, now = CloudLedger(), _now()
    found = cloud.see_machines(ledger, whole=whole)
    if as_json:
        print_json("cloud-machines", [cloud_views.document(one, now) for one in found])
        return
    cloud_views.say_lines([*cloud_views.list_lines(found, now), *cloud_views.unread_lines(ledger.unread_lines())])


@command.command("status")
@click.argument("machine", metavar="MACHINE")
@json_option
def status(machine: str, as_json: bool) -> None:
    """Show one machine: where it is, who pays, until when, what it cost, and how to reach and end it."""
    from benchwright.cloud.ledger import CloudLedger

    ledger = CloudLedger()
    _show(ledger.find(machine), ledger, as_json=as_json)


@command.command("start")
@click.argument("machine", metavar="MACHINE")
@json_option
def start(machine: str, as_json: bool) -> None:
    """Start a machine that was stopped. The time at which it ends itself stays."""
    from benchwright.cloud.ledger import CloudLedger
    from benchwright.workflows import cloud

    ledger = CloudLedger()
    _show(cloud.start(ledger.find(machine), ledger=ledger), ledger, as_json=as_json)


@command.command("stop")
@click.argument("machine", metavar="MACHINE")
@json_option
def stop(machine: str, as_json: bool) -> None:
    """Stop a machine: its disk stays, and costs, until the machine is ended or `cloud sweep` finds it expired."""
    from benchwright.cloud.ledger import CloudLedger
    from benchwright.workflows import cloud

    ledger = CloudLedger()
    _show(cloud.stop(ledger.find(machine), ledger=ledger), ledger, as_json=as_json)


@command.command("down")
@click.argument("machines", nargs=-1, metavar="MACHINE...")
@click.option("--all", "whole", is_flag=True, help="All of them: every machine that was ordered from here and is up.")
@json_option
def down(machines: Sequence[str], whole: bool, as_json: bool) -> int:
    """End machines, for ever, with their disks; say what they cost."""
    from benchwright.cli import cloud_views
    from benchwright.cloud.ledger import CloudLedger
    from benchwright.errors import BenchwrightError, OptionError
    from benchwright.workflows import cloud

    ledger = CloudLedger()
    if bool(machines) == whole:
        raise OptionError("name the machines to end, or all of them", remedy="benchwright cloud down NAME, or --all")
    chosen = ledger.open_machines() if whole else [ledger.find(text) for text in machines]
    ended, failed = [], False
    for machine in chosen:
        try:
            ended.append(cloud.down(machine, ledger=ledger))
        except BenchwrightError as error:  # one that cannot be ended must not keep the others up
            click.echo(f"benchwright: {machine.name}: {error}", err=True)
            failed = True
    now = _now()
    if as_json:
        print_json("cloud-machines", [cloud_views.document(cloud.SeenMachine(known=one), now) for one in ended])
    else:
        cloud_views.say_lines(cloud_views.ended_lines(ended, now) or ["no machine is up"])
    return 1 if failed else 0


@command.command("sweep")
@click.argument("places", nargs=-1, metavar="[PROVIDER@REGION]...")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@json_option
def sweep(places: Sequence[str], dry_run: bool, as_json: bool) -> int:
    """End what nobody looks after: machines that have expired, and those whose command was killed.

    Looks in every region that the ledger of this machine names, and in each PROVIDER@REGION. Only machines with our
    label are touched; of those that were ordered elsewhere, only what has expired. Ends with 1 where a cloud could not
    be asked, or an order is so new that its machine may still appear.
    """
    from benchwright.cli import cloud_views
    from benchwright.cloud import sweep as sweeping

    report = sweeping.sweep(places=[_place(text) for text in places], is_dry=dry_run)
    if as_json:
        print_json("cloud-sweep", {**cloud_views.sweep_document(report), "dry_run": dry_run})
    else:
        cloud_views.say_lines(cloud_views.sweep_lines(report, is_dry=dry_run))
    return 0 if report.is_clean else 1


def _show(machine: LedgerMachine, ledger: CloudLedger, *, as_json: bool) -> None:
    from benchwright.cli import cloud_views
    from benchwright.workflows import cloud

    seen, now = cloud.see_machine(machine, ledger=ledger), _now()
    if as_json:
        print_json("cloud-machine", cloud_views.document(seen, now))
        return
    cloud_views.say_lines(cloud_views.machine_lines(seen, now))


def _place(text: str) -> tuple[str, str]:
    from benchwright.errors import OptionError

    provider, sign, region = text.partition("@")
    if not (provider and sign and region):
        raise OptionError(f"{text!r} names no region of a cloud", remedy="write it as aws@eu-central-1")
    return provider.lower(), region


def _agent_token(path: Path | None) -> str:
    from benchwright.cli.verbs.agent import read_token
    from benchwright.errors import OptionError

    token = read_token(path) if path is not None else os.environ.get(TOKEN, "").strip()
    if not token:
        raise OptionError(
            "--server: an agent needs a token of the scope agent", remedy=f"--token-file FILE, or {TOKEN}"
        )
    return token


def _now() -> datetime:
    from datetime import UTC, datetime

    return datetime.now(UTC)
