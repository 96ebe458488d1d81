"""What is measured, for every verb that measures; those that measure revisions have fewer options than `run`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from benchwright.cli.endpoint_options import add_endpoint_settings, endpoint_options
from benchwright.system.interrupts import end_as_ctrl_c

if TYPE_CHECKING:
    from benchwright.execution.builds.surroundings import Surroundings
    from benchwright.execution.hosts.cloud_fleet import CloudFleet
    from benchwright.targets.sources import Request
    from benchwright.workflows.ab.run import BuildSpec

F = TypeVar("F", bound=Callable[..., Any])

RUNTIME = click.option(
    "--runtime", metavar="A,B", help="Runtimes to measure on. Default: the first installed that loads it."
)
DEVICE = click.option(
    "--device", default="cpu", metavar="A,B", help="Devices: cpu, cuda, ... A case that does not use its device fails."
)
BATCH_SIZE = click.option("--batch-size", default="1", metavar="N,M", help="Items per call.")
WORKERS = click.option("--workers", default="1", metavar="N,M", help="Threads that issue calls, per copy.")
PROCESSES = click.option(
    "--processes", metavar="N,M", help="Processes that a launcher starts of a task or a command; speed-up is shown."
)
LAUNCHER = click.option(
    "--launcher",
    default="",
    metavar="NAME|TEMPLATE",
    help="What starts these processes: torchrun, mpirun, or words with {processes} in them. Default: the task's own.",
)
PARAM = click.option("--param", multiple=True, metavar="NAME=A,B", help="A callable's own parameter.")
OPTION = click.option("--option", multiple=True, metavar="NAME=VALUE", help="Handed to the runtime.")
DURATION = click.option(
    "--duration", metavar="SECONDS", help="Time calls for this long in each process. Default: 1 s a round."
)
SAMPLES = click.option(
    "--samples", type=int, metavar="N", help="Stop after N samples; a sample is a call, or a loop of calls."
)
WARMUP = click.option(
    "--warmup", metavar="SECONDS", help="Warm up for at most this long; 0: not at all. Default: until steady, 5 s."
)
ROUNDS = click.option(
    "--rounds",
    type=int,
    metavar="N",
    help="Fresh processes per case, interleaved. Default: 5; 1 if called once, or if an endpoint's rate is searched.",
)
TIMEOUT = click.option("--timeout", metavar="SECONDS", help="Kill a worker that takes longer.")
CPUS = click.option("--cpus", metavar="0,2-3", help="CPUs the workers may use.")
TAG = click.option("--tag", multiple=True, metavar="WORD", help="A word to find the runs by.")
HOST = click.option(
    "--host",
    metavar="KIND:NAME,...",
    help="Where it runs: ssh:NAME, slurm:PARTITION, ray:ADDRESS, cloud:aws/SHAPE@REGION, container:IMAGE, adb:SERIAL; "
    "several with commas.",
)
_ONE_HOST = click.option(
    "--host",
    metavar="KIND:NAME,...",
    help="Where it runs: ssh:NAME, slurm:PARTITION, ray:ADDRESS, cloud:aws/SHAPE@REGION; `watch` takes several.",
)
BUDGET = click.option(
    "--budget",
    metavar="AMOUNT",
    help="What may be spent: 5USD on machines of clouds together, of which none is started that would exceed it; "
    "of `tune` also time, 10m.",
)
LEASE = click.option(
    "--lease",
    metavar="TIME",
    help="How long a machine of a cloud is leased; then it ends by itself. Default: 1h.",
)
KEEP = click.option(
    "--keep",
    default="",
    metavar="NAME",
    help="Keep the machines of clouds until their lease is over; --host cloud:NAME uses them again.",
)
CLOUD_OPTIONS = (BUDGET, LEASE, KEEP)
ENVIRONMENT = click.option(
    "--environment",
    metavar="own|here|FILE",
    help="The packages to measure with: what the project's files ask for, what is installed here, a file of versions.",
)
INSTALL = click.option("--install", multiple=True, metavar="PACKAGE", help="Also put this into each environment.")
CONSTRAINT = click.option(
    "--constraint", multiple=True, metavar="FILE", help="A constraint file of pip, for every environment."
)
WHEELS = click.option(
    "--wheels",
    metavar="FOLDER",
    help="Packages come from the wheels in this folder, which are sent along: no index is asked.",
)
_OPTIONS = (
    RUNTIME,
    DEVICE,
    BATCH_SIZE,
    WORKERS,
    PROCESSES,
    LAUNCHER,
    PARAM,
    OPTION,
    DURATION,
    SAMPLES,
    WARMUP,
    TIMEOUT,
    CPUS,
    TAG,
)
_BUILDING = (
    click.option("--repo", default=".", show_default=True, metavar="FOLDER", help="The git or Mercurial repository."),
    click.option("--build", default="", metavar="COMMAND", help="Run in each revision's own copy and environment."),
    click.option(
        "--build-timeout", default="1h", show_default=True, metavar="SECONDS", help="End a build that takes longer."
    ),
    click.option("--rebuild", is_flag=True, help="Build again what was built before, or failed."),
    _ONE_HOST,
    ENVIRONMENT,
    INSTALL,
    CONSTRAINT,
    WHEELS,
    click.option(
        "--submodules",
        type=click.Choice(["no", "needed", "all"]),
        default="needed",
        show_default=True,
        help="no: none; needed: those that can be fetched; all: all, or the revision is not built.",
    ),
    click.option(
        "--targets-from",
        type=click.Choice(["auto", "here", "revision"]),
        default="auto",
        show_default=True,
        help="Whose benchmark file: yours for all revisions, or each revision's own. auto: yours if it is not tracked.",
    ),
)


def target_options(function: F) -> F:
    """Adds targets and how each is measured; `request_of` and `cpus_of` read the values."""
    return click.argument("targets", nargs=-1, metavar="[TARGET]...")(
        _add_options(_OPTIONS, endpoint_options(function))
    )


def build_options(function: F) -> F:
    """Adds the repository and how its revisions are built; `build_spec_of` reads the values."""
    return _add_options(_BUILDING, function)


def cloud_options(function: F) -> F:
    """Adds on which terms machines of clouds are leased; `fleet_of` reads the values."""
    return _add_options(CLOUD_OPTIONS, function)


def request_of(given: Mapping[str, Any], command: Sequence[str] = ()) -> Request:
    """The request that these options describe; what they do not say is as a `Request` has it by default."""
    from benchwright.cli.run_request import read_seconds, read_warmup, read_words
    from benchwright.records import Load
    from benchwright.targets.sources import Request
    from benchwright.workflows import arguments

    plain = Request(
        targets=given["targets"],
        command=list(command),
        runtimes=read_words(given["runtime"], "--runtime"),
        devices=read_words(given["device"], "--device"),
        batch_sizes=arguments.parse_list(given["batch_size"], arguments.whole("--batch-size"), "--batch-size"),
        workers=arguments.parse_list(given["workers"], arguments.whole("--workers"), "--workers"),
        processes=arguments.process_counts(given["processes"]),
        launcher=given["launcher"],
        params=arguments.parameter_lists(given["param"]),
        options=arguments.pairs(given["option"], "--option"),
        load=Load(
            warmup=read_warmup(given),
            samples=given["samples"],
            duration=read_seconds(given, "duration"),
            timeout=read_seconds(given, "timeout"),
        ),
        tags=given["tag"],
    )
    return add_endpoint_settings(given, plain)


def cpus_of(given: Mapping[str, Any]) -> Sequence[int]:
    """Returns the CPUs that `--cpus` chooses; an empty tuple means any CPU."""
    from benchwright.workflows import arguments

    elsewhere = arguments.is_remote(given["host"])
    return arguments.cpu_list(given["cpus"], elsewhere=elsewhere) if given["cpus"] else ()


def build_spec_of(given: Mapping[str, Any]) -> BuildSpec:
    """Returns how revisions are built, as these options say, without the machine (`arguments.machine`)."""
    from benchwright.workflows import arguments
    from benchwright.workflows.ab.run import BuildSpec

    return BuildSpec(
        repo=Path(given["repo"]),
        command=given["build"],
        timeout=arguments.positive(given["build_timeout"], "s", "--build-timeout"),
        again=given["rebuild"],
        surroundings=surroundings_of(given),
        targets_from=given["targets_from"],
    )


def surroundings_of(given: Mapping[str, Any]) -> Surroundings:
    """Returns the packages to measure with, as these options say."""
    from benchwright.execution.builds.surroundings import OWN, Surroundings
    from benchwright.vcs.history import NEEDED

    return Surroundings(
        environment=given["environment"] or OWN,
        install=tuple(given["install"]),
        constraints=tuple(Path(file) for file in given["constraint"]),
        submodules=given.get("submodules", NEEDED),
        wheels=Path(given["wheels"]) if given["wheels"] else None,
    )


@contextmanager
def build_specs_there(given: Mapping[str, Any]) -> Iterator[list[BuildSpec]]:
    """How revisions are built, on each of several equal machines; they are left in the end, whatever happens."""
    from benchwright.workflows import arguments

    making, hosts = build_spec_of(given), arguments.machines(given["host"])
    if arguments.is_cloud(given["host"]):
        from benchwright.execution.hosts.cloud_fleet import refuse_new

        refuse_new(hosts, "`watch`")
    try:
        yield [replace(making, host=host) for host in hosts] or [making]
    finally:
        for host in hosts:
            arguments.close_host(host)


@contextmanager
def build_spec_there(given: Mapping[str, Any]) -> Iterator[BuildSpec]:
    """How and where revisions are built; the machine is left in the end, whatever happens."""
    from benchwright.workflows import arguments

    fleet = fleet_of(given)
    host = arguments.machine(given["host"], fleet)
    with end_as_ctrl_c() if host else nullcontext():
        try:
            yield replace(build_spec_of(given), host=host)
        finally:
            arguments.close_host(host)
            tell_fleet(fleet)


def fleet_of(given: Mapping[str, Any], *, run: str = "") -> CloudFleet | None:
    """The machines of clouds that these options ask for; None where they name none. `run` becomes a label of them."""
    from benchwright.cli.options import who
    from benchwright.workflows import cloud_machines

    return cloud_machines.fleet_of(
        given["host"],
        budget=given["budget"],
        lease=given["lease"],
        keep=given["keep"],
        instances=given.get("instances", 1),
        run=run,
        owner=who(),
    )


def tell_fleet(fleet: CloudFleet | None) -> None:
    """Tells which machines of clouds stay, and which could not be given back."""
    if fleet is not None:
        from benchwright.execution.hosts.cloud_fleet import describe_fleet

        for line in describe_fleet(fleet):
            click.echo(f"benchwright: {line}", err=True)


def _add_options(options: Sequence[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function
