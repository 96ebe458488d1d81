"""Configurations become results: each is a case of the core's, run by its runner, one after another."""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchwright.compat.neuronperf import handover, inprocess
from benchwright.compat.neuronperf.feeds import CallerInputs, PreparedInputs
from benchwright.compat.neuronperf.handover import Refer
from benchwright.compat.neuronperf.messages import DEBUG, VOICE
from benchwright.compat.neuronperf.plan import Configuration
from benchwright.events import Began, Ended, Event, Listener, Reached, nobody
from benchwright.execution.attempt import INTERRUPTED
from benchwright.execution.rounds import ARTIFACTS, Plan, new_run_id
from benchwright.records import Case, Inputs, Load, Mode, Result, Scalar, Status, Target
from benchwright.records.prices import Price
from benchwright.worker.runtimes.pipeline import parts
from benchwright.worker.runtimes.pipeline.feeds import EXAMPLES
from benchwright.workflows.run import execute

MONITORS = ("process",)
GUESS = 5.0  # seconds that a configuration takes besides its duration, until one has told


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """The settings that all configurations of one call share."""

    runtime: str  # the inner one
    models: Mapping[str, Any]  # by model_filename: the path, or the class or function
    feeds: CallerInputs
    functions: Mapping[str, Any] = field(default_factory=dict)  # the user's own, by the pipeline's names for them
    options: Mapping[str, Scalar] = field(default_factory=dict)  # of the inner runtime
    device: str = "cpu"
    pinned: bool = False  # each copy keeps to CPUs of its own
    loop: bool = False
    column: int | None = None  # of the target, in a data set
    metrics: Sequence[Mapping[str, Any]] = ()
    max_infers: int | None = None
    timeout: float | None = None
    store: str | None = None
    save: bool = False
    price: Price | None = None  # of the machine: results that are kept have what items cost


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResults:
    """The raw results of one configuration."""

    result: Result | None  # None: it could not be begun
    copies: Sequence[parts.CopyReport] = ()
    evaluation: Result | None = None
    cut: bool = False  # the data set had more items than were used
    items: int = 0  # how many were used, if it was cut
    error: str = ""  # why there is no result


def measure(wish: CallSettings, configurations: Sequence[Configuration]) -> list[tuple[Configuration, RawResults]]:
    """One pair for each configuration, in order. After Ctrl-C, those that were finished."""
    with _workshop(configurations) as (folder, refer):
        return _pair_results(configurations, _CallMeasurement(wish, folder, refer).measure(configurations))


def evaluate(wish: CallSettings, configurations: Sequence[Configuration]) -> list[tuple[Configuration, RawResults]]:
    """Measures how right each model is, and times nothing; one pair for each configuration."""
    with _workshop(configurations) as (folder, refer):
        return _pair_results(configurations, _CallMeasurement(wish, folder, refer).evaluate(configurations))


def _pair_results(
    configurations: Sequence[Configuration], found: Mapping[int, RawResults]
) -> list[tuple[Configuration, RawResults]]:
    pairs = [(configuration, found[number]) for number, configuration in enumerate(configurations) if number in found]
    if len(pairs) < len(configurations):
        VOICE.tell(f"interrupted: {len(pairs)} of {len(configurations)} configurations are reported")
    return pairs


@contextmanager
def _workshop(configurations: Sequence[Configuration]) -> Iterator[tuple[Path, Refer]]:
    """A private folder for the exchange, and how objects are referred to."""
    apart = all(each.multiprocess for each in configurations)
    undone = nullcontext() if apart else inprocess.restore_process()
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder, undone:
        if apart:
            yield Path(folder), handover.reference
        else:
            with handover.keep_objects() as refer:
                yield Path(folder), refer


class _CallMeasurement:
    """Measures the configurations of one call: plans the cases, runs them, and collects their results."""

    def __init__(self, wish: CallSettings, folder: Path, refer: Refer) -> None:
        self._wish, self._folder, self._refer = wish, folder, refer
        self._kept = Path.cwd() / ARTIFACTS / new_run_id() if wish.save else folder / "output"
        self._interrupted = False

    def measure(self, configurations: Sequence[Configuration]) -> dict[int, RawResults]:
        """Returns the raw results by number, of all configurations that came to an end."""
        found, planned = self._plan(configurations)
        progress = _Progress([each.configuration for each in planned])
        for cpus, group in itertools.groupby(planned, key=lambda each: self._cpus(each.configuration)):
            for each, result in self._execute(list(group), cpus, progress):
                if not self._is_interruption(result):
                    copies = parts.read(self._output(each.number))
                    found[each.number] = self._raw_results(each, result, copies)
            if self._interrupted:
                return found
        return self._add_accuracy(planned, found) if self._wish.metrics else found

    def evaluate(self, configurations: Sequence[Configuration]) -> dict[int, RawResults]:
        """Returns the accuracy of each configuration by number, without timing."""
        found, planned = self._plan(configurations)
        return self._add_accuracy(planned, found)

    def _plan(self, configurations: Sequence[Configuration]) -> tuple[dict[int, RawResults], list[_PlannedCase]]:
        """Returns the configurations that cannot be begun, and the cases of the others."""
        found = {n: RawResults(result=None, error=each.error) for n, each in enumerate(configurations) if each.error}
        return found, [
            _PlannedCase(n, each, self._case(each)) for n, each in enumerate(configurations) if not each.error
        ]

    def _execute(
        self, planned: Sequence[_PlannedCase], cpus: tuple[int, ...], listener: Listener
    ) -> Iterator[tuple[_PlannedCase, Result]]:
        """Runs the cases in one run of the core's."""
        numbers = {id(each.case): each.number for each in planned}
        plan = Plan(
            cases=[each.case for each in planned],
            rounds=1,
            host=None if planned[0].configuration.multiprocess else inprocess.ThreadHost(),
            paths=[str(Path(sys.path[0] or ".").resolve()), str(Path.cwd())],
            last_paths=[path for path in sys.path if path and Path(path).exists()],
            folder=lambda case, _: self._output(numbers[id(case)]),
            cpus=cpus,
            monitors=MONITORS,
            price=self._wish.price,
        )
        run = execute(plan, store=self._wish.store, save=self._wish.save, listener=listener)
        return zip(planned, run.results, strict=True)

    def _add_accuracy(self, planned: Sequence[_PlannedCase], found: dict[int, RawResults]) -> dict[int, RawResults]:
        """Adds how right each model is, which neither copies nor workers change: one pass for each file and size."""
        passes: dict[tuple[str, int], _PlannedCase] = {}
        for each in planned:
            passes.setdefault(each.model, replace(each, number=-1 - len(passes), case=self._evaluation(each)))
        if not passes:
            return found
        VOICE.tell(f"accuracy: {_count_text(len(passes), 'pass', 'passes')} over the data set")
        results = {each.model: result for each, result in self._execute(list(passes.values()), (), nobody)}
        for each in planned:
            if not self._is_interruption(results[each.model]):
                timed = found.get(each.number) or self._raw_results(each, None)
                found[each.number] = replace(timed, evaluation=results[each.model])
        return found

    def _raw_results(
        self, planned: _PlannedCase, result: Result | None, copies: Sequence[parts.CopyReport] = ()
    ) -> RawResults:
        fed = self._feed(planned.configuration)
        return RawResults(result=result, copies=copies, cut=fed.cut, items=fed.count if fed.cut else 0)

    # ---- cases ----

    def _case(self, configuration: Configuration) -> Case:
        fed, wish = self._feed(configuration), self._wish
        return Case(
            name=configuration.model_name,
            target=self._target(configuration, fed),
            params={
                "runtime": wish.runtime,
                "batch_size": configuration.batch_size,
                "workers": configuration.workers_per_model,
                "copies": configuration.n_models,
            },
            inputs=Inputs(source=fed.source, batch_size=configuration.batch_size),
            load=Load(
                workers=configuration.workers_per_model,
                copies=configuration.n_models,
                duration=configuration.duration,
                samples=wish.max_infers,
                once=wish.feeds.is_dataset and fed.kind == EXAMPLES and not wish.loop and not self._is_loaded,
                loops=1,
                timeout=wish.timeout,
            ),
        )

    def _evaluation(self, planned: _PlannedCase) -> Case:
        """Returns a case that runs the model over the whole data set, once."""
        options = {**planned.case.target.options, "evaluate": json.dumps(list(map(self._metric, self._wish.metrics)))}
        target = replace(planned.case.target, options=options)
        return replace(planned.case, target=target, load=Load(mode=Mode.SINGLE, timeout=self._wish.timeout))

    def _metric(self, metric: Mapping[str, Any]) -> dict[str, Any]:
        kind = metric["metric"]
        return {**metric, "metric": kind if isinstance(kind, str) else self._refer(kind, f"metric {metric['name']}")}

    def _target(self, configuration: Configuration, fed: PreparedInputs) -> Target:
        wish, options = self._wish, dict[str, Scalar]()
        for name, function in wish.functions.items():
            options[name] = self._refer(function, f"{name}_fn")
        options |= {"inner": wish.runtime, "data": fed.kind, "config": json.dumps(configuration.as_dict())}
        options |= {"loop": True} if wish.loop else {}
        options |= {"batched": True} if wish.feeds.is_dataset else {}
        options |= {"target": wish.column} if wish.column is not None else {}
        if wish.device != "cpu":
            options |= {"devices": configuration.n_devices, "devices_per_copy": configuration.pipeline_size}
        options |= {f"inner.{name}": value for name, value in wish.options.items()}
        model = wish.models[configuration.model_filename]
        uri = model if isinstance(model, str) else self._refer(model, "the model")
        return Target(runtime="pipeline", uri=uri, device=wish.device, options=options)

    def _feed(self, configuration: Configuration) -> PreparedInputs:
        size, number = configuration.batch_size, configuration.input_idx
        return self._wish.feeds.prepare(size, self._folder / "inputs", self._refer, number)

    @property
    def _is_loaded(self) -> bool:
        """Whether the user's own loader makes batches of the data set, which are pulled until they end."""
        return "dataset_loader" in self._wish.functions

    def _output(self, number: int) -> Path:
        """Where the copies of a configuration leave the parts of their calls; kept results name these files."""
        return self._kept / (str(number) if number >= 0 else f"accuracy{-number}")

    def _cpus(self, configuration: Configuration) -> tuple[int, ...]:
        """CPUs for all copies, each its own; none named where they share what there is."""
        if not self._wish.pinned or not hasattr(os, "sched_getaffinity"):
            return ()
        available = sorted(os.sched_getaffinity(0))
        return tuple(available[: configuration.n_models * configuration.pipeline_size])

    def _is_interruption(self, result: Result) -> bool:
        interrupted = result.error is not None and result.error.kind == INTERRUPTED
        self._interrupted = self._interrupted or interrupted
        return interrupted


@dataclass(frozen=True, slots=True)
class _PlannedCase:
    number: int
    configuration: Configuration
    case: Case

    @property
    def model(self) -> tuple[str, int]:
        return self.configuration.model_filename, self.configuration.batch_size


class _Progress:
    """Says what is under way and how long the rest will take about."""

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        self._all, self._done = configurations, 0
        self._began = 0.0
        self._besides: list[float] = []  # seconds that each took beyond its duration

    def __call__(self, event: Event) -> None:
        if isinstance(event, Began):
            self._began = time.monotonic()
            now = self._all[self._done]
            VOICE.tell(
                f"{self._done + 1}/{len(self._all)} {now.model_name}: batch {now.batch_size}, "
                f"{_count_text(now.n_models, 'copy', 'copies')}, "
                f"{_count_text(now.workers_per_model, 'worker', 'workers')}; "
                f"about {_duration_text(self._left())} left"
            )
        elif isinstance(event, Reached):
            VOICE.tell(f"  {event.phase}", DEBUG)
        elif isinstance(event, Ended):
            self._besides.append(time.monotonic() - self._began - self._all[self._done].duration)
            self._done += 1
            if event.result.status is not Status.OK and event.result.error is not None:
                VOICE.tell(f"  {event.result.status}: {event.result.error.message}")
                VOICE.tell(event.result.error.log_tail, DEBUG)

    def _left(self) -> float:
        extra = sum(self._besides) / len(self._besides) if self._besides else GUESS
        return sum(max(0.0, each.duration + extra) for each in self._all[self._done :])


def _count_text(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _duration_text(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
