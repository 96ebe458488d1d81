"""`benchwright tune`: the best of many configurations, found in a race."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import COMMAND, json_option, store_option
from benchwright.cli.verbs import run

if TYPE_CHECKING:
    from benchwright.records import Scalar
    from benchwright.workflows.tune.goals import RaceRequest
    from benchwright.workflows.tune.run import TunedRace

# The options that `run` has too, by the names of their parameters, in the order of the help.
_SHARED = (
    *("targets", "runtime", "device", "numeric_precision", "batch_size", "workers", "copies"),
    *("processes", "launcher", "param", "option"),
    *("shape", "dtype", "input_source", "value", "feed_back", "input_count"),
    *("model", "input_tokens", "output_tokens", "data", "shared_prefix", "turns", "think_time", "images", "image_size"),
    *("image_kind", "tokenizer", "body", "answer", "key_env", "key_file", "request_timeout", "serve", "health"),
    *("stream", "insecure", "header", "rate", "arrivals", "streams", "offline", "samples", "warmup", "timeout"),
    *("cpus", "memory_limit", "monitor", "host", "budget", "lease", "keep", "environment", "install", "constraint"),
    *("wheels", "price", "prices", "cost_per_hour", "tag", "reason", "no_save", "report"),
)
# What `run` has beside them, as it is when nobody says anything: a race has no use for it.
_UNUSED: dict[str, Any] = {
    **dict.fromkeys(("ramp_to", "trace", "precision", "profile", "profiler", "lab", "where")),
    **dict.fromkeys(("find_rate", "once", "operators", "fork", "detach", "keep_outputs"), False),
    "loops": 0,
    "retries": 0,
    "golden": "",
    "tolerance": None,
    "instances": 1,
    "priority": 0,
    "phone": "",
}
_LISTS = ("batch_size", "workers", "copies", "processes", "rate")  # flags whose values may be ranges


class TuneCommand(run.RunCommand):
    """Has the targets of the race that it goes on with, where none are named."""

    def has_targets(self, ctx: click.Context) -> bool:
        return bool(ctx.params["resume"]) or super().has_targets(ctx)


@click.command("tune", cls=TuneCommand)
@click.option(
    "--maximize",
    multiple=True,
    metavar="METRIC",
    help="What is to be high: throughput, accuracy, any metric. Repeatable.",
)
@click.option(
    "--minimize",
    multiple=True,
    metavar="METRIC",
    help="What is to be low: latency_p99, cost_per_million, peak_memory, any metric. Repeatable.",
)
@click.option(
    "--objective",
    multiple=True,
    metavar="'p99<20ms'",
    help="A bound that must hold: a configuration that breaks it beyond doubt leaves the race. Repeatable.",
)
@click.option(
    "--within", default="2%", show_default=True, metavar="PERCENT", help="So close to the best is as good as the best."
)
@click.option(
    "--confidence",
    default="99%",
    show_default=True,
    metavar="PERCENT",
    help="How sure an answer must be: the race ends when its winner is as good as the best with this probability.",
)
@click.option(
    "--rounds",
    type=int,
    default=5,
    metavar="N",
    help="Fresh processes per case, interleaved: no more is measured than all of them N times. Default: 5.",
)
@click.option(
    "--duration", metavar="SECONDS", help="Time calls for this long in each process. Default of a race: 0.5 s."
)
@click.option(
    "--seed",
    type=int,
    default=0,
    metavar="N",
    help="Seed of what is drawn at random: inputs, arrivals, the order of the processes.",
)
@click.option(
    "--resume", default="", metavar="RUN", help="Go on with RUN: repeats nothing; alone, with its own command line."
)
@click.option("--plot", is_flag=True, help="Draw it below the table: the front over two metrics.")
@click.option(
    "--export",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the winner's settings: .toml for benchwright.toml, .yaml or .json as a spec.",
)
@store_option
@json_option
@click.pass_context
def command(context: click.Context, /, **given: Any) -> int:
    """Find the best of many configurations of each TARGET in a race of short fresh processes, and say how sure that is.

    Lists (A,B) and ranges are dimensions: 1..64 doubles from 1 to 64, 1..64:8 goes in steps of 8, max is the number of
    CPUs. Also a list in --option is one, and several hosts are. Configurations that are worse than the leader, break an
    objective or fail leave the race; the others go on until one is as good as the best beyond doubt, or --budget ends.
    Two goals give a front. Everything that is measured is kept as a run.

    Exit code 1 when no configuration keeps every objective, 130 when interrupted.
    """
    if given["resume"] and not (given["targets"] or context.meta.get(COMMAND)):
        return _repeat(given)
    from benchwright.cli.progress import ProgressLine
    from benchwright.cli.run_request import plan_of, request_of
    from benchwright.cli.targets import fleet_of, tell_fleet
    from benchwright.errors import StoreError
    from benchwright.execution.new_runs import new_run_id
    from benchwright.workflows.invocation import command_line
    from benchwright.workflows.tune.repeat import check_export
    from benchwright.workflows.tune.run import race

    asked, whole, options = _read(given)
    if given["export"]:
        check_export(given["export"])
    if given["report"]:
        from benchwright.report.destination import check_target

        check_target(Path(given["report"]), flag="--report")
    request = request_of(whole, context.meta.get(COMMAND, []))
    request = replace(request, load=replace(request.load, objectives=()))
    fleet = fleet_of(whole, run=given["resume"] or new_run_id())
    try:
        with ProgressLine(sys.stderr) as progress:
            found = race(
                request,
                options,
                asked,
                replace(plan_of(whole, host=context.obj, fleet=fleet), command=command_line(), by_hand=True),
                more=_plain_arguments(given),
                resume=given["resume"],
                store=given["store"],
                save=not given["no_save"],
                listener=progress,
            )
        failure = None
    except StoreError as error:
        if error.measured is None or error.measured.race is None:
            raise
        from benchwright.analysis.races import tell_race
        from benchwright.workflows.tune.run import TunedRace

        story = tell_race(error.measured)
        assert story is not None
        found, failure = TunedRace(story=story), error
    finally:
        tell_fleet(fleet)
    _show(found, given, is_kept=not given["no_save"] and failure is None)
    if failure is not None:  # measured and shown, but not kept where it was meant to be
        sys.stderr.write(f"benchwright: {failure}\n")
        return 1
    return 130 if found.story.is_interrupted else int(not found.ok)


command.params = [
    *(one for name in _SHARED for one in run.command.params if one.name == name),
    *command.params,
]


def _read(given: Mapping[str, Any]) -> tuple[RaceRequest, dict[str, Any], dict[str, Sequence[Scalar]]]:
    """What is sought; the flags as `run` has them, with ranges written out; and the options that are dimensions."""
    from benchwright.units import parse_percent
    from benchwright.workflows import arguments
    from benchwright.workflows.tune.goals import RaceRequest, parse_budget
    from benchwright.workflows.tune.ranges import expand, expand_values

    seconds, money = parse_budget(given["budget"]) if given["budget"] else (None, None)
    asked = RaceRequest(
        maximize=given["maximize"],
        minimize=given["minimize"],
        objectives=[arguments.objective(text) for text in given["objective"]],
        within=parse_percent(given["within"], "--within", zero=False),
        confidence=parse_percent(given["confidence"], "--confidence", zero=False),
        rounds=given["rounds"],
        budget=seconds,
        seed=given["seed"],
    )
    options: dict[str, Sequence[Scalar]] = {}
    for text in given["option"]:
        name, _, values = text.partition("=")
        arguments.pairs([text], "--option")  # says what is wrong with it
        options[name] = expand_values(name, values, "--option")
    whole = {**_UNUSED, **given, "option": (), "budget": money or None}
    whole |= {name: expand(given[name], _flag(name)) for name in _LISTS if given[name]}
    whole["param"] = [
        f"{name}={expand(values, '--param')}" if equals else text
        for text in given["param"]
        for name, equals, values in [text.partition("=")]
    ]
    return asked, whole, options


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _plain_arguments(given: Mapping[str, Any]) -> list[str]:
    """The arguments that no request holds, for the line that repeats the winner."""
    names = ("cpus", "memory_limit", "price", "cost_per_hour", "monitor", "environment", "store")
    found = [word for name in names if given[name] not in (None, "") for word in (_flag(name), str(given[name]))]
    found += [word for text in given["prices"] for word in ("--price-of", text)]
    if given["host"] and "," not in given["host"]:
        found += ["--host", given["host"]]
    return found


def _repeat(given: Mapping[str, Any]) -> int:
    """Goes on with a race by the command line that began it; what else is asked for comes after that."""
    from benchwright.workflows.resumption import find_begun

    begun = find_begun(given["resume"], given["store"], "tune")
    words = list(begun.words)
    own = ["--resume", begun.run.id]
    for name in ("budget", "export", "report", "store"):
        own += [_flag(name), str(given[name])] if given[name] else []
    own += [flag for flag, is_given in (("--plot", given["plot"]), ("--json", given["as_json"])) if is_given]
    at = words.index("--") if "--" in words else len(words)
    with begun.explain():
        return command.main([*words[:at], *own, *words[at:]], standalone_mode=False) or 0


def _show(found: TunedRace, given: Mapping[str, Any], *, is_kept: bool) -> None:
    from benchwright.report.race_text import print_race, race_json

    if given["export"] and found.winner is not None:
        found.export(given["export"])
    if given["report"]:
        from benchwright.report.html import write_html

        write_html([found.run], Path(given["report"]), flag="--report")
    if given["as_json"]:
        click.echo(race_json(found.story))
        return
    said = _say_next(found, given["store"]) if is_kept else []
    said += [f"report: {given['report']}"] if given["report"] else []
    said += [f"settings: {given['export']}"] if given["export"] and found.winner is not None else []
    print_race(found.story, plot=given["plot"], last="\n".join(said))


def _say_next(found: TunedRace, store: str | None) -> list[str]:
    """Where the race is kept, and what goes on with one that could go on."""
    from benchwright.analysis.races import RaceEnding
    from benchwright.system.masking import mask_url

    name = found.run.id
    named = f"{name} --store {shlex.quote(mask_url(store))}" if store else name
    said = [f"Run {name} is kept. More: benchwright show {named}"]
    if found.story.ending is RaceEnding.INTERRUPTED:
        said.append(f"Go on: benchwright tune --resume {named}")
    if found.story.ending is RaceEnding.TIME:
        said.append(f"Go on: benchwright tune --resume {named} --budget LONGER")
    return said
