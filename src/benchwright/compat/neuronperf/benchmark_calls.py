"""`benchmark`: a model over batch sizes, copies and workers. `evaluate`: how right it is, over a data set."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchwright.compat.neuronperf import choice, measurement
from benchwright.compat.neuronperf.choice import BenchmarkSettings
from benchwright.compat.neuronperf.handover import refuse_nesting
from benchwright.compat.neuronperf.measurement import CallSettings
from benchwright.compat.neuronperf.messages import USUAL, VOICE
from benchwright.compat.neuronperf.metrics import resolve_metrics as asked_metrics
from benchwright.compat.neuronperf.plan import device_of, read_whole_numbers, usable_type
from benchwright.compat.neuronperf.reports import Report, get_reports
from benchwright.errors import OptionError
from benchwright.records import Scalar
from benchwright.records.prices import Price
from benchwright.worker.runtimes import check_installed
from benchwright.worker.runtimes.pipeline import OBJECT

LAST = -1  # the target's column in a data set, unless said
Model = str | os.PathLike[str] | type | Callable[..., Any]


def benchmark(
    model_filename: Model,
    inputs: Any,
    batch_sizes: int | Sequence[int] | None = None,
    duration: float = 60.0,
    n_models: int | str | Sequence[int | str] | None = None,
    pipeline_sizes: int | Sequence[int] | None = None,
    cast_modes: str | Sequence[str] | None = None,
    workers_per_model: int | Sequence[int] | None = None,
    env_setup_fn: Callable[[int, dict[str, Any]], Any] | None = None,
    setup_fn: Callable[[int, dict[str, Any], Any], Any] | None = None,
    preprocess_fn: Callable[..., Any] | None = None,
    postprocess_fn: Callable[[Any], Any] | None = None,
    dataset_loader_fn: Callable[[Any, int], Any] | None = None,
    verbosity: int = USUAL,
    multiprocess: bool = True,
    multiinterpreter: bool = False,
    return_timers: bool = False,
    device_type: str = "cpu",
    *,
    load_fn: Callable[[str, int], Any] | None = None,
    performance_levels: int | Sequence[int] | None = None,
    loop_dataset: bool = False,
    dataloader_kwargs: Mapping[str, Any] | None = None,
    stats_interval: float = 0.5,
    cost_per_hour: float | None = None,
    model_name: str | None = None,
    max_infers: int | None = None,
    eval_metrics: Sequence[Any] | str | None = None,
    eval_target_col: int | None = None,
    runtime: str | None = None,
    runtime_options: Mapping[str, Scalar] | None = None,
    timeout: float | None = None,
    store: str | None = None,
    save: bool = False,
) -> list[Any]:
    """Measures the model in every configuration and returns their reports; with `return_timers`, what
    `get_reports` makes them from.

    Every configuration yields one, whatever becomes of it: see its `status` and `reason`. After Ctrl-C there are those
    of the configurations that were finished. With `duration=0` and `eval_metrics` the data set is gone through once and
    nothing is timed. `runtime` names what loads the model, which follows from what it is unless given, and
    `runtime_options` are its own; `load_fn` loads it instead. With `save`, or a `store`, the results are kept like
    those of `benchwright run`.
    """
    refuse_nesting()
    with VOICE.at(verbosity):
        if dataloader_kwargs:
            raise OptionError(
                "dataloader_kwargs: data sets are read without torch's DataLoader",
                remedy="give dataset_loader_fn=f, where f(dataset, workers) returns DataLoader(dataset, ...)",
            )
        timed = not (eval_metrics and duration == 0)
        device_type = usable_type(device_type)
        settings = BenchmarkSettings(
            batch_sizes=None if batch_sizes is None else read_whole_numbers(batch_sizes, "batch_sizes"),
            pipeline_sizes=None if pipeline_sizes is None else read_whole_numbers(pipeline_sizes, "pipeline_sizes"),
            performance_levels=performance_levels,
            cast_modes=cast_modes,
            column=_target_column(eval_metrics, eval_target_col),
            prepared=preprocess_fn is not None,
            loader=dataset_loader_fn,
            is_loaded_by_name=load_fn is not None,
            model_name=model_name,
            device_type=device_type,
            n_models=choice.read_copies(n_models),
            workers_per_model=None
            if workers_per_model is None
            else read_whole_numbers(workers_per_model, "workers_per_model"),
            duration=choice.check_positive(duration, "duration") if timed else 0.0,
            stats_interval=choice.check_positive(stats_interval, "stats_interval"),
            multiprocess=multiprocess,
            multiinterpreter=multiinterpreter,
        )
        chosen = choice.choose_models(model_filename, inputs, settings)
        functions = {
            "env_setup": env_setup_fn,
            "setup": setup_fn,
            "preprocess": preprocess_fn,
            "postprocess": postprocess_fn,
            "load": load_fn,
            "dataset_loader": dataset_loader_fn,
        }
        wish = CallSettings(
            runtime=OBJECT if load_fn is not None else _choose_runtime(runtime, chosen),
            models=chosen.handles,
            feeds=chosen.feeds,
            functions={name: function for name, function in functions.items() if function is not None},
            options=dict(runtime_options or {}),
            device=device_of(device_type),
            pinned=timed and pipeline_sizes is not None and device_of(device_type) == "cpu",
            loop=loop_dataset,
            column=settings.column,
            metrics=asked_metrics(eval_metrics),
            max_infers=None if max_infers is None else read_whole_numbers(max_infers, "max_infers")[0],
            timeout=timeout,
            store=store,
            save=save or store is not None,
            price=Price.bare(cost_per_hour) if cost_per_hour else None,
        )
        configurations = choice.configurations(chosen, settings, pinned=wish.pinned)
        pairs = measurement.measure(wish, configurations) if timed else measurement.evaluate(wish, configurations)
    if return_timers:
        return [(configuration.as_dict(), raw) for configuration, raw in pairs]
    return get_reports(pairs, cost_per_hour=cost_per_hour)


def evaluate(
    model_filename: Model,
    dataset: Any,
    metrics: Sequence[Any] | str = "accuracy",
    eval_target_col: int | None = None,
    **named: Any,
) -> list[Report]:
    """How right the model is over a data set of (*inputs, target): a report for each file, with a field a metric.

    It is `benchmark` with `duration=0`, one copy and one worker, and takes its other arguments by name.
    """
    if not metrics:
        raise OptionError("metrics is empty", remedy="name one, such as 'accuracy'; npf.list_metrics() prints all")
    usual = {"n_models": 1, "workers_per_model": 1}
    return benchmark(
        model_filename,
        dataset,
        **{**usual, **named, "duration": 0, "eval_metrics": metrics, "eval_target_col": eval_target_col},
    )


def _choose_runtime(asked: str | None, chosen: choice.ChosenModels) -> str:
    """The inner runtime, installed."""
    name = asked or choice.runtime_of(chosen.handles)
    if name != OBJECT:
        check_installed(name)
    return name


def _target_column(asked: Any, column: int | None) -> int | None:
    if not asked:
        return None
    return LAST if column is None else column
