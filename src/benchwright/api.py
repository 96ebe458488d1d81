"""The Python door: `benchwright.run(...)` and what it returns."""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import asking, config, runner, sources
from benchwright.errors import OptionError, TargetError
from benchwright.events import Listener, nobody
from benchwright.orphans import TOKEN_VARIABLE
from benchwright.records import Arrivals, Inputs, Load, Mode, Result, Run, Scalar, Status
from benchwright.runtimes import importing
from benchwright.saving import Keeper
from benchwright.sources import Request

if TYPE_CHECKING:
    import pandas

MOST_ROUNDS = 10_000
MOST_AT_ONCE = 1024  # copies, and workers of each
MOST_SAMPLES = 10**9
MOST_RESULTS = 1_000_000


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A finished run: prints as a table, in a terminal and in a notebook."""

    record: Run

    @property
    def results(self) -> tuple[Result, ...]:
        """One for each case and round."""
        return self.record.results

    @property
    def ok(self) -> bool:
        """Whether every case was measured."""
        return all(result.status is Status.OK for result in self.results)

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each result and metric. Needs pandas."""
        from benchwright.report.frames import to_pandas

        return to_pandas(self.record)

    def __str__(self) -> str:
        from benchwright.report.table import run_text

        return run_text(self.record)

    def __repr__(self) -> str:
        return f"<MeasuredRun {self.record.id}: {len(self.results)} results>"

    def _repr_html_(self) -> str:
        from benchwright.report.notebook import html_table

        return html_table(self.record)


def run(
    *targets: str | os.PathLike[str] | Callable[..., Any],
    runtime: str | Sequence[str] | None = None,
    device: str | Sequence[str] | None = None,
    numeric_precision: str | Sequence[str] | None = None,
    batch_size: int | Sequence[int] | None = None,
    workers: int | Sequence[int] | None = None,
    copies: int | str | Sequence[int | str] | None = None,
    rate: float | Sequence[float] | None = None,
    params: Mapping[str, Sequence[Scalar]] | None = None,
    options: Mapping[str, Scalar] | None = None,
    inputs: Inputs | None = None,
    load: Load | None = None,
    duration: float | None = None,
    rounds: int = runner.DEFAULT_ROUNDS,
    tags: Sequence[str] = (),
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
) -> MeasuredRun:
    """Measures the targets and returns the run; a list in a keyword is a dimension of the matrix.

    `load` says how calls are issued and when to stop (`benchwright.Load`), `inputs` what they are given
    (`benchwright.Inputs`). The run is saved in the store unless `save` is false.
    """
    _refuse_nesting()
    for name, given, kind in (("load", load, Load), ("inputs", inputs, Inputs)):
        if not (given is None or isinstance(given, kind)):
            raise OptionError(f"{name}: {given!r} is not a benchwright.{kind.__name__}")
    whole_load = load or Load()
    if duration is not None:
        whole_load = replace(whole_load, duration=duration)
    request = Request(
        targets=[_target(target) for target in targets],
        runtimes=asking.one_or_many(runtime, ()),
        devices=asking.one_or_many(device, ("cpu",)),
        precisions=asking.one_or_many(numeric_precision, ("",)),
        batch_sizes=asking.one_or_many(batch_size, (1,)),
        workers=asking.one_or_many(workers, (whole_load.workers,)),
        copies=[asking.copies(str(c)) for c in asking.one_or_many(copies, (whole_load.copies,))],  # type: ignore[arg-type]
        rates=asking.one_or_many(rate, (whole_load.rate,)),
        params=params or {},
        options=asking.frozen(options),
        inputs=inputs or Inputs(),
        load=whole_load,
        tags=tags,
    )
    return measure(request, rounds=rounds, store=store, save=save, listener=listener)


def measure(
    request: Request,
    *,
    rounds: int = runner.DEFAULT_ROUNDS,
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
    **plan: Any,
) -> MeasuredRun:
    """Plans a request, runs it, keeps it. `plan` goes to `runner.Plan`."""
    _refuse_nesting()
    check(request, rounds)
    cases = sources.plan(request)
    _check_size(len(cases), rounds)
    whole = runner.Plan(
        cases=cases,
        rounds=rounds,
        paths=plan.pop("paths", (str(Path.cwd()),)),
        tags=(*config.load().tags, *request.tags),
        **plan,
    )
    if not save:
        return MeasuredRun(runner.execute(whole, None, listener))
    from benchwright.store.glance import looks_ready

    url = config.store_url(store)
    measured = runner.execute(whole, lambda: _open(url), listener, looks_ready=lambda: looks_ready(url))
    return MeasuredRun(measured)


def _refuse_nesting() -> None:
    """What is being measured cannot measure: a file or function that measures itself would start processes without end.

    A command that is measured is a program of its own, and may.
    """
    file = importing.underway()
    if file:
        raise TargetError(
            f"bw.run was called while {Path(file).name} was being imported",
            remedy="put it under if __name__ == '__main__':",
        )
    if TOKEN_VARIABLE in os.environ and "benchwright.worker" in sys.modules:
        raise TargetError(
            "bw.run was called by what is being measured", remedy="name the target of that bw.run instead"
        )


def check(request: Request, rounds: int) -> None:
    """Refuses what cannot be measured, before anything starts."""
    load = request.load
    if not request.targets and not request.command:
        raise TargetError("nothing to run", remedy="name a target, for example: benchwright run model.onnx")
    _check_dimensions(request)
    _check_count("rounds", rounds, most=MOST_ROUNDS)
    _check_size(_combinations(request), rounds)
    _check_amounts(load, request.inputs)
    if load.arrivals is Arrivals.TRACE and any(rate is not None for rate in request.rates):
        raise OptionError("a trace has the rate it has", remedy="give --rate or --trace, not both")
    if load.find_rate:
        _check_search(request)
    if load.precision is not None and max(request.copies) > 1:
        raise OptionError("copies cannot stop together at a precision", remedy="use --duration with several copies")
    if load.mode is Mode.OPEN and (load.once or load.precision is not None):
        raise OptionError(
            "an open loop ends after a time or a count, not at a precision or the end of the inputs",
            remedy="give --duration or --samples",
        )
    if load.mode is Mode.OPEN and load.arrivals is Arrivals.TRACE:
        from benchwright.measure.load import arrivals

        arrivals(load)  # says what is wrong with the file
    elif load.mode is Mode.OPEN and not load.find_rate and None in request.rates:
        raise OptionError("an open loop needs a rate", remedy="add --rate 200")


def _check_dimensions(request: Request) -> None:
    most = {"batch size": None, "workers": MOST_AT_ONCE, "copies": MOST_AT_ONCE}
    for name, values in (("batch size", request.batch_sizes), ("workers", request.workers), ("copies", request.copies)):
        if not values:
            raise OptionError(f"{name}: [] must be whole numbers of at least 1")
        for value in values:
            _check_count(name, value, most=most[name])
    for rate in request.rates:
        if rate is not None:
            _check_number("rate", rate, above=True)


def _check_amounts(load: Load, inputs: Inputs) -> None:
    if load.samples is not None:
        _check_count("samples", load.samples, most=MOST_SAMPLES)
    _check_count("streams", load.streams, most=MOST_SAMPLES)
    _check_count("input count", inputs.count, most=MOST_SAMPLES)
    _check_count("loops", load.loops, least=0)
    for name, seconds in {"duration": load.duration, "timeout": load.timeout}.items():
        if seconds is not None:
            _check_number(name, seconds, above=True)
    if load.warmup is not None:
        _check_number("warmup", load.warmup, above=False)


def _check_count(name: str, count: object, *, least: int = 1, most: int | None = None) -> None:
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
    return math.prod(map(len, (*dimensions, request.rates, *request.params.values()))) * max(1, len(request.runtimes))


def _check_size(cases: int, rounds: int) -> None:
    if cases * rounds > MOST_RESULTS:
        raise OptionError(
            f"{cases} cases in {rounds} rounds are more than {MOST_RESULTS} results",
            remedy="ask for fewer combinations or rounds",
        )


def _check_search(request: Request) -> None:
    load = request.load
    if any(rate is not None for rate in request.rates):
        raise OptionError("--find-rate searches the rate by itself", remedy="give --find-rate or --rate, not both")
    if not load.objectives:
        raise OptionError("--find-rate needs to know what to meet", remedy="add --objective 'p99<20ms'")
    for objective in load.objectives:
        if not objective.metric.startswith("latency_p") or not objective.relation.startswith("<"):
            raise OptionError(
                f"--find-rate cannot aim at {objective.metric}{objective.relation}{objective.bound:g}",
                remedy="bound percentiles of the latency from above, for example --objective 'p99<20ms'",
            )
    if load.arrivals is Arrivals.TRACE:
        raise OptionError("a trace has the rate it has", remedy="give --find-rate or --trace, not both")
    if tuple(request.copies) != (1,):
        raise OptionError("--find-rate searches with one copy", remedy="leave --copies out, or use --workers")


def _target(target: str | os.PathLike[str] | Callable[..., Any]) -> str:
    return os.fspath(target) if isinstance(target, str | os.PathLike) else name_of(target)


def name_of(function: Callable[..., Any]) -> str:
    """The target text of a callable that lives in a file or module."""
    if not callable(function):
        raise TargetError(f"{function!r} is neither a target's name nor a callable")
    name = getattr(function, "__qualname__", "")
    module = getattr(function, "__module__", "")
    if not name or not module or "<" in name or "." in name:
        raise TargetError(f"{function!r} has no name that a fresh process could import", remedy="define it in a file")
    if module != "__main__":
        return f"{module}:{name}"
    file = inspect.getsourcefile(function) or ""
    if not Path(file).is_file():
        raise TargetError(f"{name} exists only in this session", remedy="write it to a file and name it file.py::name")
    return f"{file}::{name}"


def _open(url: str) -> Keeper:
    from benchwright.store import open_store

    return open_store(url)


def command_line() -> tuple[str, ...]:
    """The command that repeats this run, as it was typed."""
    return config.shown_arguments(("benchwright", *sys.argv[1:]))
