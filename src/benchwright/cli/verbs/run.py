"""`benchwright run`: measure, print a table, save a run."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from benchwright.cli.configured_targets import TargetCommand
from benchwright.cli.endpoint_options import endpoint_options
from benchwright.cli.options import COMMAND, json_option, store_option
from benchwright.cli.targets import (
    BATCH_SIZE,
    BUDGET,
    CONSTRAINT,
    CPUS,
    DEVICE,
    DURATION,
    ENVIRONMENT,
    HOST,
    INSTALL,
    KEEP,
    LAUNCHER,
    LEASE,
    OPTION,
    PARAM,
    PROCESSES,
    ROUNDS,
    RUNTIME,
    SAMPLES,
    TAG,
    TIMEOUT,
    WARMUP,
    WHEELS,
    WORKERS,
)


class RunCommand(TargetCommand):
    """Keeps what follows `--` apart: it is a command to measure, not targets."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def has_targets(self, ctx: click.Context) -> bool:
        return COMMAND in ctx.meta or super().has_targets(ctx)


@click.command(cls=RunCommand)
@click.argument("targets", nargs=-1, metavar="[TARGET]... [-- COMMAND...]")
@RUNTIME
@DEVICE
@click.option("--numeric-precision", default="", metavar="A,B", help="fp32, fp16, bf16, where the runtime can.")
@BATCH_SIZE
@WORKERS
@click.option("--copies", default="1", metavar="N,max", help="Processes, each with the model loaded; max: one per CPU.")
@PROCESSES
@LAUNCHER
@click.option("--shape", multiple=True, metavar="NAME:1x3x224x224", help="Fills dynamic dimensions of an input.")
@click.option("--dtype", multiple=True, metavar="NAME:int64", help="Element type of an input.")
@click.option(
    "--input", "input_source", default="random", metavar="SOURCE", help="random, a .npy/.npz file, FILE::CALLABLE."
)
@click.option("--value", multiple=True, metavar="NAME=NUMBER", help="A number for an input: --value sr=16000.")
@click.option(
    "--feed-back", multiple=True, metavar="INPUT=OUTPUT", help="Each call's OUTPUT is the next call's INPUT: state."
)
@click.option("--input-count", type=int, default=1, help="Distinct inputs that calls go through in turn.")
@PARAM
@OPTION
@endpoint_options
@click.option("--rate", metavar="R,S", help="Open loop: arrivals per second.")
@click.option("--ramp-to", metavar="R", help="Open loop: the rate goes evenly from --rate to this, over --duration.")
@click.option("--arrivals", type=click.Choice(["poisson", "constant"]), default="poisson", help="How they are spread.")
@click.option("--trace", type=click.Path(), help="Open loop: arrival instants in seconds from a file, one a line.")
@click.option("--find-rate", is_flag=True, help="Search the highest rate that meets the objective.")
@click.option(
    "--objective", multiple=True, metavar="'p99<20ms'", help="A bound that must hold: missed means exit 1. Repeatable."
)
@click.option("--streams", type=int, help="Multi-stream: each query is this many calls at once.")
@click.option("--offline", type=int, metavar="N", help="Offline: N calls, all due at time zero.")
@DURATION
@SAMPLES
@click.option("--once", is_flag=True, help="End after one pass: every input is used once.")
@click.option("--precision", metavar="1%", help="Stop when the median, or p99:5%, is known this well (95 %).")
@WARMUP
@click.option("--loops", type=int, default=0, help="Calls per sample. Default: one, more only for very fast callables.")
@ROUNDS
@click.option("--retries", type=click.IntRange(min=0), default=0, help="How often to try a failed case again.")
@TIMEOUT
@CPUS
@click.option("--memory-limit", metavar="4GiB", help="Address space a worker may use.")
@click.option("--monitor", metavar="A,B", help="What watches the workers. Default: process, pressure, gpu, power.")
@click.option(
    "--operators", is_flag=True, help="Where a model's time goes: record it; `benchwright show --operators` shows it."
)
@click.option("--profile", metavar="10:20,30:40", help="Profile these seconds of the timed phase in a pass of its own.")
@click.option("--profiler", metavar="A,B", help="Profilers: torch, onnxruntime, tensorflow, py-spy, perf.")
@click.option("--golden", default="", metavar="RUNTIME|PATH", help="Expected outputs: a runtime's, or saved ones.")
@click.option("--tolerance", metavar="1e-3", help="How far outputs may be off; or relative=,absolute=,cosine=,top=.")
@click.option("--keep-outputs", is_flag=True, help="Save what the models answer with the run's files: outputs.npz.")
@HOST
@click.option(
    "--lab",
    metavar="SELECTOR",
    help="Have machines of the server's lab measure it: cpu=*EPYC*,device=pixel*; * for any of them.",
)
@click.option(
    "--where",
    type=click.Choice(["each", "any"]),
    help="Of several hosts: on each, or every case on one of them. Default: each; of a lab's machines, any.",
)
@BUDGET
@LEASE
@KEEP
@click.option(
    "--instances",
    type=int,
    default=1,
    metavar="N",
    help="Machines of each shape of a cloud: they share the rounds out, so that what differs between them is measured.",
)
@ENVIRONMENT
@INSTALL
@CONSTRAINT
@WHEELS
@click.option(
    "--priority", type=int, default=0, metavar="N", help="In the queue of a lab: higher goes first. Default: 0."
)
@click.option(
    "--phone",
    default="",
    metavar="WISHES",
    help="With --lab: on phones alone, each as it is to be when a case begins: "
    "cool=35C&screen=off&charging=off&reboot=before.",
)
@click.option("--detach", is_flag=True, help="With --lab: do not wait; benchwright lab follow RUN does.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of what is drawn at random: inputs and arrivals.")
@click.option(
    "--price",
    metavar="PRICE",
    default="",
    help="What the machine costs: 0.34USD/h, a machine of your prices.yaml, aws/c7i.large@eu-central-1[:spot], or "
    "`here` for the cloud instance that this is. Adds the cost of 1,000,000 items.",
)
@click.option(
    "--price-of",
    "prices",
    multiple=True,
    metavar="NAME=PRICE",
    help="What the machine NAME costs. Of several hosts, as --host calls it. Repeatable.",
)
@click.option(
    "--cost-per-hour", type=float, metavar="1.18", help="The machine's price: adds the cost of 1,000,000 items."
)
@click.option("--fork", is_flag=True, help="Import a Python file once a round, and fork for each of its cases.")
@click.option(
    "--resume",
    default="",
    metavar="RUN",
    help="Go on with RUN: measure what is missing or failed there. Without a TARGET, as RUN was begun.",
)
@TAG
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who look later.")
@click.option("--no-save", is_flag=True, help="Keep nothing in the store.")
@click.option("--report", type=click.Path(), metavar="FILE", help="Also write an HTML report.")
@store_option
@json_option
def command(**given: Any) -> int:
    """Measure each TARGET: a model file, a model spec or a folder of them, FILE.py::CALLABLE, package.module:callable,
    a benchmark class or one of its methods (package.module.Class.method, FILE.py::Class), a task of a task file, an asv
    project (asv.conf.json), or any command after `--`. Without one: the targets and options of [run] in
    benchwright.toml, which `benchwright init` writes.

    A list (A,B) in an option is a dimension: every combination becomes a case. Each case is measured in several fresh
    processes. Exit code 1 when a case failed, an objective was missed or an output is out of tolerance.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.cli.run_request import golden_of, lab_of, plan_of, repeat_given, request_of
    from benchwright.cli.targets import fleet_of, tell_fleet
    from benchwright.errors import StoreError
    from benchwright.execution.new_runs import new_run_id
    from benchwright.workflows.invocation import command_line
    from benchwright.workflows.run import measure

    context = click.get_current_context()
    given, begun = repeat_given(context, given)
    if given["report"]:
        from benchwright.report.destination import check_target

        check_target(Path(given["report"]), flag="--report")
    if given["fork"] and given["host"] not in (None, "local"):
        from benchwright.errors import OptionError

        raise OptionError("--fork is for this machine", remedy="leave out --host or --fork")
    lab = lab_of(given)
    request = request_of(given, context.meta.get(COMMAND, []))
    keep = not given["no_save"]
    fleet = fleet_of(given, run=given["resume"] or new_run_id())
    try:
        with ProgressLine(sys.stderr) as progress, begun.explain() if begun else nullcontext():
            measured = measure(
                request,
                replace(plan_of(given, host=context.obj, fleet=fleet), command=command_line(), by_hand=True),
                rounds=given["rounds"],
                resume=given["resume"],
                fork=given["fork"],
                golden=golden_of(given),
                store=given["store"],
                save=keep,
                lab=lab,
                listener=progress,
            )
        run, failure = measured.record, None
    except StoreError as error:
        if error.measured is None:
            raise
        run, failure, keep = error.measured, error, False
    finally:
        tell_fleet(fleet)
    if lab is not None and lab.detach:
        from benchwright.cli.lab_views import show_submission

        return show_submission(run.id, store=given["store"], as_json=given["as_json"])
    from benchwright.cli.views import exit_code, show_outcome  # here: no worker need wait for what shows a run

    show_outcome(run, as_json=given["as_json"], save=keep, store=given["store"], report=given["report"])
    if failure is not None:  # measured and shown, but not kept where it was meant to be
        sys.stderr.write(f"benchwright: {failure}\n")
        return 1
    return exit_code(run)
