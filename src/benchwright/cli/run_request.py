"""The flags of `benchwright run` as a request and a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from benchwright.cli.endpoint_options import add_endpoint_settings
from benchwright.cli.options import COMMAND
from benchwright.errors import OptionError
from benchwright.execution.hosts import AnyHost
from benchwright.execution.session import MONITORS, Plan
from benchwright.records import Arrivals, Inputs, Load, Mode, Profile
from benchwright.targets.sources import GoldenRequest, Request
from benchwright.units import parse_quantity
from benchwright.workflows import arguments

if TYPE_CHECKING:
    from benchwright.execution.hosts.cloud_fleet import CloudFleet
    from benchwright.workflows.lab.submission import LabRequest
    from benchwright.workflows.resumption import BegunRun


def request_of(given: Mapping[str, Any], command: list[str]) -> Request:
    """Returns the request that the flags describe."""
    return add_endpoint_settings(given, _plain_request(given, command))


def _plain_request(given: Mapping[str, Any], command: list[str]) -> Request:
    return Request(
        targets=given["targets"],
        command=command,
        runtimes=read_words(given["runtime"], "--runtime"),
        devices=read_words(given["device"], "--device"),
        precisions=read_words(given["numeric_precision"], "--numeric-precision") or ("",),
        batch_sizes=arguments.parse_list(given["batch_size"], arguments.whole("--batch-size"), "--batch-size"),
        workers=arguments.parse_list(given["workers"], arguments.whole("--workers"), "--workers"),
        copies=arguments.parse_list(given["copies"], arguments.copies, "--copies"),
        rates=_rates(given["rate"]),
        processes=arguments.process_counts(given["processes"]),
        launcher=given["launcher"],
        params=arguments.parameter_lists(given["param"]),
        options=arguments.pairs(given["option"], "--option"),
        inputs=Inputs(
            source=given["input_source"],
            shapes=arguments.shapes(given["shape"]),
            dtypes=dict(text.rpartition(":")[::2] for text in given["dtype"]),
            seed=given["seed"],
            count=given["input_count"],
            values=arguments.values(given["value"]),
            feed_back=arguments.parse_feedback(given["feed_back"]),
        ),
        load=_load(given),
        tags=given["tag"],
        elsewhere=(bool(given["host"]) and given["host"] != "local") or given["lab"] is not None,
    )


def repeat_given(context: click.Context, given: dict[str, Any]) -> tuple[dict[str, Any], BegunRun | None]:
    """The values of the flags; where `--resume RUN` names no target, those that RUN was begun with, and that run.

    What is typed now stands beside them: `--retries 2`, `--json`. The store is the one in which RUN was found.
    """
    if not given["resume"] or given["targets"] or context.meta.get(COMMAND):
        return given, None
    from benchwright.workflows.resumption import find_begun

    begun = find_begun(given["resume"], given["store"])
    try:
        then = context.command.make_context("run", list(begun.words))
    except click.UsageError as error:
        raise OptionError(
            f"run {begun.run.id} was begun by `{begun.line}`, which is not understood now: {error.format_message()}",
            remedy="write the command line anew, with --resume",
        ) from None
    context.meta[COMMAND] = then.meta.get(COMMAND, [])
    typed = {name for name in given if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    again = {**then.params, **{name: given[name] for name in typed}}
    return {**again, "store": given["store"], "resume": begun.run.id}, begun


def plan_of(given: Mapping[str, Any], host: AnyHost | None = None, fleet: CloudFleet | None = None) -> Plan:
    """The plan that the flags describe; `host` is the one to measure on where they name none.

    `fleet` has the machines of clouds among those that they name.
    """
    memory = given["memory_limit"]
    elsewhere = arguments.is_remote(given["host"]) or given["lab"] is not None
    several = arguments.is_several(given["host"]) or fleet is not None
    names = arguments.host_names(given["host"]) if given["host"] else ()
    if fleet is not None and fleet.terms.instances > 1 and given["where"] == "any":
        raise OptionError("--where any gives each case to one machine, --instances to several", remedy="leave one out")
    plan = Plan(
        run="" if fleet is None or given["resume"] else fleet.terms.run,
        retries=given["retries"],
        cpus=arguments.cpu_list(given["cpus"], elsewhere=elsewhere) if given["cpus"] else (),
        memory=int(arguments.positive(memory, "B", "--memory-limit")) if memory else None,
        reason=given["reason"],
        price=arguments.price(given["price"], given["cost_per_hour"]),
        prices=arguments.named_prices(given["prices"], names) if given["prices"] else {},
        profile=_profile(given),
        operators=given["operators"],
        host=host if several or not given["host"] else arguments.host(given["host"]),
        hosts=arguments.hosts(given["host"], fleet) if several else (),
        spread=given["where"] == "any",
        monitors=read_words(given["monitor"], "--monitor") if given["monitor"] else MONITORS,
    )
    return _in_environment(plan, given)


def _in_environment(plan: Plan, given: Mapping[str, Any]) -> Plan:
    """The plan with the environment that its machines are to have, where one is asked for."""
    from benchwright.targets.asv.config import is_config

    if any(map(is_config, given["targets"])):
        from benchwright.cli.targets import surroundings_of

        return replace(plan, surroundings=surroundings_of(given))
    others = [f"--{name}" for name in ("install", "constraint", "wheels") if given[name]]
    if not given["environment"]:
        if others:
            raise OptionError(
                f"{others[0]} says something of an environment that nobody asked for", remedy="add --environment own"
            )
        return plan
    if given["lab"] is not None:  # its machines make one
        return plan
    from benchwright.cli.targets import surroundings_of
    from benchwright.workflows.elsewhere import place_in_environment

    return place_in_environment(plan, given["host"] or "", surroundings_of(given))


def lab_of(given: Mapping[str, Any]) -> LabRequest | None:
    """What the flags ask of a lab; None where they name none. What a lab cannot do is refused."""
    if given["lab"] is None:
        for flag in ("--detach", "--priority", "--phone"):
            wanted = given[flag.removeprefix("--")]
            if wanted:
                raise OptionError(f"{flag} is for a lab", remedy="add --lab SELECTOR, or leave it out")
        return None
    from benchwright.cli.targets import surroundings_of
    from benchwright.units.selectors import Selector
    from benchwright.workflows.lab.submission import LabRequest

    excluded = {f"--{name}": given[name] for name in ("host", "fork", "resume")}
    for flag, wanted in {**excluded, "--no-save": given["no_save"]}.items():
        if wanted:
            why = "keeps what is measured" if flag == "--no-save" else "chooses where and how it is measured"
            raise OptionError(f"{flag} and --lab exclude each other: a lab {why}", remedy="leave one of them out")
    if given["detach"] and given["report"]:
        raise OptionError("--detach waits for no results, of which --report tells", remedy="leave one of them out")
    return LabRequest(
        selector=Selector.parse(given["lab"]).text,
        where=given["where"] or "any",
        priority=given["priority"],
        detach=given["detach"],
        environment=surroundings_of(given) if given["environment"] else "",
        phone=given["phone"],
    ).check()


def golden_of(given: Mapping[str, Any]) -> GoldenRequest:
    """What the flags want done about the answers of the models."""
    return GoldenRequest(
        source=given["golden"],
        tolerance=arguments.tolerance(given["tolerance"]) if given["tolerance"] else None,
        keep=given["keep_outputs"],
    )


def read_seconds(given: Mapping[str, Any], name: str) -> float | None:
    """The seconds that a flag of this name says; None where it was not given."""
    return None if given[name] is None else arguments.positive(given[name], "s", f"--{name}")


def read_warmup(given: Mapping[str, Any]) -> float | None:
    """The seconds of `--warmup`, which may be 0; None where it was not given."""
    return None if given["warmup"] is None else parse_quantity(given["warmup"], "s", what="--warmup")


def read_words(text: str | None, flag: str) -> list[str]:
    """The words of a list with commas; none where the flag was not given."""
    return arguments.parse_list(text, str, flag) if text else []


def _profile(given: Mapping[str, Any]) -> Profile | None:
    if given["profile"] is None:
        if given["profiler"]:
            raise OptionError("--profiler without a stretch of time", remedy="add --profile 1:2, in seconds")
        return None
    from benchwright.worker import profilers

    return Profile(
        windows=profilers.windows(given["profile"]), tools=tuple(read_words(given["profiler"], "--profiler"))
    )


def _load(given: Mapping[str, Any]) -> Load:
    if given["trace"] and given["arrivals"] != Arrivals.POISSON:
        raise OptionError("a trace sets the arrivals itself", remedy="give --trace or --arrivals, not both")
    for flag in ("samples", "duration"):
        if given["offline"] is not None and given[flag] is not None:
            raise OptionError(f"--offline and --{flag} both say when to stop", remedy="leave one of them out")
    return Load(
        mode=_mode(given),
        arrivals=Arrivals.TRACE if given["trace"] else Arrivals(given["arrivals"]),
        trace=given["trace"] or "",
        streams=1 if given["streams"] is None else given["streams"],
        find_rate=given["find_rate"],
        warmup=read_warmup(given),
        samples=given["samples"] if given["offline"] is None else given["offline"],
        duration=read_seconds(given, "duration"),
        once=given["once"],
        **_precision(given["precision"]),
        loops=given["loops"],
        timeout=read_seconds(given, "timeout"),
        seed=given["seed"],
        objectives=tuple(map(arguments.objective, given["objective"])),
        ramp_to=None if given["ramp_to"] is None else arguments.positive(given["ramp_to"], "/s", "--ramp-to"),
    )


def _precision(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    amount, percentile = arguments.precision(text)
    return {"precision": amount, "precision_of": percentile}


def _mode(given: Mapping[str, Any]) -> Mode:
    asked = {
        Mode.OPEN: bool(given["rate"] or given["trace"] or given["find_rate"]),
        Mode.MULTISTREAM: given["streams"] is not None,
        Mode.OFFLINE: given["offline"] is not None,
    }
    modes = [mode for mode, wanted in asked.items() if wanted]
    if len(modes) > 1:
        raise OptionError(
            f"{modes[0]} and {modes[1]} exclude each other",
            remedy="give one of --rate/--trace/--find-rate, --streams, --offline",
        )
    return modes[0] if modes else Mode.CLOSED


def _rates(text: str | None) -> list[float | None]:
    return (
        [None]
        if not text
        else [*arguments.parse_list(text, lambda item: arguments.positive(item, "/s", "--rate"), "--rate")]
    )
