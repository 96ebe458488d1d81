"""What is measured, for every verb that measures; those that measure revisions have fewer options than `run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
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
    "--rounds", type=int, metavar="N", help="Fresh processes per case, interleaved. Default: 5, 1 if called once."
)
TIMEOUT = click.option("--timeout", metavar="SECONDS", help="Kill a worker that takes longer.")
CPUS = click.option("--cpus", metavar="0,2-3", help="CPUs the workers may use.")
TAG = click.option("--tag", multiple=True, metavar="WORD", help="A word to find the runs by.")
_OPTIONS = (RUNTIME, DEVICE, BATCH_SIZE, WORKERS, PARAM, OPTION, DURATION, SAMPLES, WARMUP, TIMEOUT, CPUS, TAG)
_BUILDING = (
    click.option("--repo", default=".", show_default=True, metavar="FOLDER", help="The git or Mercurial repository."),
    click.option("--build", default="", metavar="COMMAND", help="Run in each revision's own copy and environment."),
    click.option(
        "--build-timeout", default="1h", show_default=True, metavar="SECONDS", help="End a build that takes longer."
    ),
    click.option("--rebuild", is_flag=True, help="Build again what was built before, or failed."),
    click.option(
        "--environment",
        type=click.Choice(["own", "here"]),
        default="own",
        show_default=True,
        help="Packages of a revision: what its files ask for, or also what is installed here.",
    ),
    click.option("--install", multiple=True, metavar="PACKAGE", help="Also put this into each revision's environment."),
    click.option("--constraint", multiple=True, metavar="FILE", help="A constraint file of pip, for every revision."),
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
    return click.argument("targets", nargs=-1, metavar="TARGET...")(_add_options(_OPTIONS, function))


def build_options(function: F) -> F:
    """Adds the repository and how its revisions are built; `build_spec_of` reads the values."""
    return _add_options(_BUILDING, function)


def request_of(given: Mapping[str, Any], command: Sequence[str] = ()) -> Request:
    """The request that these options describe; what they do not say is as a `Request` has it by default."""
    from benchwright.cli.run_request import read_seconds, read_warmup, read_words
    from benchwright.records import Load
    from benchwright.targets.sources import Request
    from benchwright.workflows import arguments

    return Request(
        targets=given["targets"],
        command=list(command),
        runtimes=read_words(given["runtime"], "--runtime"),
        devices=read_words(given["device"], "--device"),
        batch_sizes=arguments.parse_list(given["batch_size"], arguments.whole("--batch-size"), "--batch-size"),
        workers=arguments.parse_list(given["workers"], arguments.whole("--workers"), "--workers"),
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


def cpus_of(given: Mapping[str, Any]) -> Sequence[int]:
    """Returns the CPUs that `--cpus` chooses; an empty tuple means any CPU."""
    from benchwright.workflows import arguments

    return arguments.cpu_list(given["cpus"]) if given["cpus"] else ()


def build_spec_of(given: Mapping[str, Any]) -> BuildSpec:
    """Returns how revisions are built, as these options say."""
    from benchwright.execution.builds.surroundings import Surroundings
    from benchwright.workflows import arguments
    from benchwright.workflows.ab.run import BuildSpec

    return BuildSpec(
        repo=Path(given["repo"]),
        command=given["build"],
        timeout=arguments.positive(given["build_timeout"], "s", "--build-timeout"),
        again=given["rebuild"],
        surroundings=Surroundings(
            environment=given["environment"],
            install=tuple(given["install"]),
            constraints=tuple(Path(file) for file in given["constraint"]),
            submodules=given["submodules"],
        ),
        targets_from=given["targets_from"],
    )


def _add_options(options: Sequence[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function
