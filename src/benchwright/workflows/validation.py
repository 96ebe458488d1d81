"""Checks that refuse a request before anything starts: what cannot be measured, and what contradicts itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

from benchwright import config, plugins
from benchwright.errors import MeasureError, OptionError, TargetError
from benchwright.execution.rounds import Plan
from benchwright.records import Arrivals, Case, Inputs, Load, Mode, Objective
from benchwright.records.costs import is_money
from benchwright.targets.sources import Request, find_file, source_of
from benchwright.units.objectives import check_currency
from benchwright.worker.runtimes.user_objects import split

MOST_ROUNDS = 10_000
MOST_AT_ONCE = 1024  # copies, and workers of each
MOST_SAMPLES = 10**9
MOST_RESULTS = 1_000_000
_REFERENCE = re.compile(r"last(~\d+)?(:.*)?|.*\.(json|jsonl|gz|parquet)")  # a place in the store, a file
_ARRAYS = (".npy", ".npz")
_MAGIC = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")  # one array; a zip file of several, or of none


def check(request: Request, rounds: int) -> None:
    """Refuses a request for what it says by itself."""
    load = request.load
    if not request.targets and not request.command:
        raise TargetError("nothing to measure", remedy=_what_to_name())
    _check_dimensions(request)
    check_count("rounds", rounds, most=MOST_ROUNDS)
    check_size(_combinations(request), rounds)
    _check_amounts(load, request.inputs)
    _check_arrivals(request)
    _check_stop(request)
    if load.find_rate:
        _check_search(request)
    _check_input_files(request.inputs)
    if load.mode is Mode.OPEN and load.arrivals is Arrivals.TRACE:
        from benchwright.worker.engine.arrivals import arrivals, holds_requests

        if not (
            holds_requests(load.trace) and all(source_of(target).name == "endpoints" for target in request.targets)
        ):
            arrivals(load)  # says what is wrong with the file


def _what_to_name() -> str:
    """What to do where neither the command line nor `benchwright.toml` names a target."""
    if (file := config.nearest_file(Path.cwd())) is None:
        return "name a target, such as a model file, model.onnx; benchwright init finds some in a project"
    return f'name a target, or put some into "targets" of {file}; tests with the fixture benchmark are run by pytest'


def check_cases(cases: Iterable[Case]) -> None:
    """Refuses what the cases' runtimes know to be wrong before their libraries are imported."""
    for case in cases:
        refuse = getattr(plugins.load("runtimes", case.target.runtime)(), "check", None)
        if refuse is None:
            continue
        try:
            refuse(case.target)
        except MeasureError as error:
            raise OptionError(error.message, remedy=error.remedy) from None


def check_size(cases: int, rounds: int) -> None:
    """Refuses more results than anyone will read."""
    if cases * rounds > MOST_RESULTS:
        raise OptionError(
            f"{cases} cases in {rounds} rounds are more than {MOST_RESULTS} results",
            remedy="ask for fewer combinations or rounds",
        )


def check_tags(tags: Iterable[str]) -> None:
    """Refuses tags by which no run could be found again."""
    for tag in tags:
        if not tag.strip():
            raise OptionError("a tag is empty", remedy="write a word, for example --tag nightly")
        if _REFERENCE.fullmatch(tag):
            raise OptionError(
                f"tag {tag!r}: `benchwright show {tag}` would mean something else",
                remedy="take a word that is neither last, last~N, last:TARGET nor the name of a file",
            )


# ---- numbers ----


def _check_dimensions(request: Request) -> None:
    most = {"batch size": None, "workers": MOST_AT_ONCE, "copies": MOST_AT_ONCE}
    for name, values in (("batch size", request.batch_sizes), ("workers", request.workers), ("copies", request.copies)):
        if not values:
            raise OptionError(f"{name}: [] must be whole numbers of at least 1")
        for value in values:
            check_count(name, value, most=most[name])
    for number in request.processes:
        check_count("processes", number, most=MOST_AT_ONCE)
    for rate in request.rates:
        if rate is not None:
            _check_number("rate", rate, above=True)


def _check_amounts(load: Load, inputs: Inputs) -> None:
    if load.samples is not None:
        check_count("samples", load.samples, most=MOST_SAMPLES)
    check_count("streams", load.streams, most=MOST_SAMPLES)
    check_count("input count", inputs.count, most=MOST_SAMPLES)
    check_count("loops", load.loops, least=0)
    for name, seconds in {"duration": load.duration, "timeout": load.timeout}.items():
        if seconds is not None:
            _check_number(name, seconds, above=True)
    if load.warmup is not None:
        _check_number("warmup", load.warmup, above=False)


def check_count(name: str, count: object, *, least: int = 1, most: int | None = None) -> None:
    """Refuses what is no whole number from `least` to `most`."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise OptionError(f"{name}: {count!r} is not a whole number")
    if count < least:
        raise OptionError(f"{name}: {count} is below {least}")
    if most is not None and count > most:
        raise OptionError(f"{name}: {count} is above {most}, the most that can be asked for")


def _check_number(name: str, number: object, *, above: bool) -> None:
    """Refuses what is no finite number of at least zero, or above it."""
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise OptionError(f"{name}: {number!r} is not a number")
    if not (math.isfinite(number) and (number > 0 if above else number >= 0)):
        raise OptionError(f"{name}: {number} is not {'above zero' if above else 'zero or above'} and finite")


def _combinations(request: Request) -> int:
    """How many cases the request's own dimensions make; a mark's parameters are not known yet."""
    dimensions = (request.devices, request.precisions, request.batch_sizes, request.workers, request.copies)
    sizes = map(len, (*dimensions, request.rates, *request.params.values()))
    return math.prod(sizes) * max(1, len(request.runtimes)) * max(1, len(request.processes))


# ---- what contradicts itself ----


def _check_arrivals(request: Request) -> None:
    load, rated = request.load, any(rate is not None for rate in request.rates)
    if load.arrivals is Arrivals.TRACE and rated:
        raise OptionError("a trace sets the rate itself", remedy="give --rate or --trace, not both")
    if load.arrivals is Arrivals.CONSTANT and not rated and load.mode is not Mode.OPEN:
        raise OptionError("--arrivals applies to an open loop only", remedy="add --rate 200")
    if load.ramp_to is not None and (not rated or load.samples is not None or load.arrivals is Arrivals.TRACE):
        raise OptionError("--ramp-to goes on from a rate, for a time", remedy="give --rate and --duration with it")
    if load.mode is Mode.OPEN and load.arrivals is not Arrivals.TRACE and not load.find_rate and None in request.rates:
        raise OptionError("an open loop needs a rate", remedy="add --rate 200")


def _check_stop(request: Request) -> None:
    load, rated = request.load, any(rate is not None for rate in request.rates)
    if load.precision is not None and max(request.copies) > 1:
        raise OptionError("copies cannot stop together at a precision", remedy="use --duration with several copies")
    if (load.mode is Mode.OPEN or rated) and (load.once or load.precision is not None):
        raise OptionError(
            "an open loop ends after a time or a count, not at a precision or the end of the inputs",
            remedy="give --duration or --samples",
        )
    if load.precision is not None and load.samples is not None:
        raise OptionError(
            "a precision and a count of samples are two rules for when to stop",
            remedy="give --precision or a count, not both; --duration bounds either",
        )


def _check_search(request: Request) -> None:
    load = request.load
    if any(rate is not None for rate in request.rates):
        raise OptionError("--find-rate searches the rate by itself", remedy="give --find-rate or --rate, not both")
    if not load.objectives:
        raise OptionError("--find-rate needs an objective to meet", remedy="add --objective 'p99<20ms'")
    for objective in load.objectives:
        if not _can_aim(objective) or not objective.relation.startswith("<"):
            raise OptionError(
                f"--find-rate cannot aim at {objective.metric}{objective.relation}{objective.bound:g}",
                remedy="bound percentiles of the latency from above, for example --objective 'p99<20ms'",
            )
    if load.arrivals is Arrivals.TRACE:
        raise OptionError("a trace sets the rate itself", remedy="give --find-rate or --trace, not both")
    if tuple(request.copies) != (1,):
        raise OptionError("--find-rate searches with one copy", remedy="leave --copies out, or use --workers")


def _can_aim(objective: Objective) -> bool:
    """Whether a rate can be searched for that keeps the bound: a percentile, or what only served models have."""
    if objective.metric.startswith("latency_p"):
        return True
    from benchwright.worker.endpoints.request_times import is_timed

    return is_timed(objective.metric)


# ---- files of inputs ----


def _check_input_files(inputs: Inputs) -> None:
    """Refuses inputs that are not there or are no arrays; what is in them is for the model to judge."""
    if inputs.source == "random":
        return
    where, name = split(inputs.source)
    if name:
        _check_data_set(where)
        return
    path = Path(where)
    try:
        files = sorted(f for f in path.iterdir() if f.suffix in _ARRAYS) if path.is_dir() else [path]
        for file in files:
            _check_arrays(file)
    except OSError as error:
        raise OptionError(
            f"inputs {error.filename or path}: {error.strerror}", remedy="give --input a file that can be read"
        ) from None
    if not files:
        raise OptionError(f"inputs {path} holds no .npy or .npz file", remedy="name the folder that does, or a file")


def _check_arrays(file: Path) -> None:
    with file.open("rb") as stream:
        head = stream.read(max(map(len, _MAGIC)))
    if file.suffix not in _ARRAYS:
        raise OptionError(f"inputs {file}: unknown ending", remedy="known: .npy, .npz, file.py::name, module:name")
    if not head.startswith(_MAGIC):
        seen = f"it begins with {head!r}" if head else "it is empty"
        raise OptionError(f"inputs {file}: not a NumPy file; {seen}", remedy="write it with numpy.save or numpy.savez")


def _check_data_set(where: str) -> None:
    if where.endswith(".py"):
        find_file(where)
        return
    from benchwright.targets.sources import discovery

    if discovery.locate(where) is None:
        raise OptionError(f"inputs: there is no module {where!r} here", remedy="is its folder the present one?")


def check_cost(plan: Plan) -> None:
    """Refuses a price that is no number above zero, and bounds of costs in no currency, or another than the price's."""
    known = [*([plan.price] if plan.price else ()), *plan.prices.values()]
    for price in known:
        _check_number("cost per hour", price.amount, above=True)
    bounds = {bound for case in plan.cases for bound in case.load.objectives if is_money(bound.metric)}
    for bound in sorted(bounds, key=lambda one: one.metric):
        if not known and not any(getattr(host, "price", None) for host in (plan.host, *plan.hosts)):
            raise OptionError(
                f"--objective: {bound.metric} is known where the machine has a price", remedy="add --price 0.34USD/h"
            )
        for price in known:
            check_currency(bound, price.currency)


def check_profile(plan: Plan) -> None:
    """Says now what could not be profiled; what another host has installed shows there."""
    if plan.profile is None:
        return
    from benchwright.execution.hosts.local import LocalHost
    from benchwright.worker import profilers

    if plan.host is None or isinstance(plan.host, LocalHost):
        for case in plan.cases:
            profilers.choose_profilers(plan.profile, case)
