"""The Python door: `benchwright.run(...)` and what it returns."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import asking, config, runner, sources
from benchwright.errors import OptionError, TargetError
from benchwright.events import Listener, nobody
from benchwright.records import Arrivals, Inputs, Load, Mode, Result, Run, Scalar, Status
from benchwright.saving import Keeper
from benchwright.sources import Request

if TYPE_CHECKING:
    import pandas


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
    *targets: str | Callable[..., Any],
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
    whole_load = load or Load()
    if duration is not None:
        whole_load = replace(whole_load, duration=duration)
    request = Request(
        targets=[target if isinstance(target, str) else name_of(target) for target in targets],
        runtimes=asking.one_or_many(runtime, ()),
        devices=asking.one_or_many(device, ("cpu",)),
        precisions=asking.one_or_many(numeric_precision, ("",)),
        batch_sizes=asking.one_or_many(batch_size, (1,)),
        workers=asking.one_or_many(workers, (1,)),
        copies=[asking.copies(str(c)) for c in asking.one_or_many(copies, (1,))],  # type: ignore[arg-type]
        rates=asking.one_or_many(rate, (None,)),
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
    check(request, rounds)
    cases = sources.plan(request)
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


def check(request: Request, rounds: int) -> None:
    """Refuses what cannot be measured, before anything starts."""
    load = request.load
    if not request.targets and not request.command:
        raise TargetError("nothing to run", remedy="name a target, for example: benchwright run model.onnx")
    for name, values in (("batch size", request.batch_sizes), ("workers", request.workers), ("copies", request.copies)):
        if not values or any(not isinstance(v, int) or v < 1 for v in values):
            raise OptionError(f"{name}: {list(values)} must be whole numbers of at least 1")
    if rounds < 1:
        raise OptionError(f"rounds: {rounds} is below 1")
    _check_amounts(load, request.inputs)
    if load.find_rate:
        _check_search(load, request.copies)
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


def _check_amounts(load: Load, inputs: Inputs) -> None:
    counts = {"samples": load.samples, "streams": load.streams, "input count": inputs.count}
    for name, count in counts.items():
        if count is not None and count < 1:
            raise OptionError(f"{name}: {count} is below 1")
    for name, seconds in {"duration": load.duration, "timeout": load.timeout}.items():
        if seconds is not None and not seconds > 0:
            raise OptionError(f"{name}: {seconds} is not above zero")
    for name, least_zero in {"warmup": load.warmup, "loops": load.loops}.items():
        if least_zero is not None and least_zero < 0:
            raise OptionError(f"{name}: {least_zero} is below zero")


def _check_search(load: Load, copies: Sequence[int]) -> None:
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
    if tuple(copies) != (1,):
        raise OptionError("--find-rate searches with one copy", remedy="leave --copies out, or use --workers")


def name_of(function: Callable[..., Any]) -> str:
    """The target text of a callable that lives in a file or module."""
    if not callable(function):
        raise TargetError(f"{function!r} is neither a target's name nor a callable")
    name = getattr(function, "__qualname__", "")
    module = getattr(function, "__module__", "")
    if not name or "<" in name or "." in name:
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
