"""Which models a call is about, and which configurations of them."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright import plugins
from benchwright.compat.neuronperf import model_index
from benchwright.compat.neuronperf.feeds import CallerInputs
from benchwright.compat.neuronperf.plan import (
    MAX,
    Configuration,
    CrossedDimensions,
    Model,
    count_devices,
    count_fitting,
    cross_dimensions,
    read_whole_numbers,
)
from benchwright.errors import OptionError, TargetError
from benchwright.targets.sources import find_file
from benchwright.worker.runtimes.pipeline import OBJECT


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSettings:
    """What `benchmark` was asked for, checked."""

    batch_sizes: Sequence[int] | None = None
    pipeline_sizes: Sequence[int] | None = None
    performance_levels: Any = None
    cast_modes: Any = None
    column: int | None = None  # of the target, in a data set
    prepared: bool = False  # by a preprocess_fn
    loader: Callable[[Any, int], Any] | None = None  # the dataset_loader_fn
    is_loaded_by_name: bool = False  # by a load_fn, to which a name may mean anything
    model_name: str | None = None
    device_type: str = "cpu"
    n_models: Sequence[int | str] | None = None
    workers_per_model: Sequence[int] | None = None
    duration: float = 60.0
    stats_interval: float = 0.5
    multiprocess: bool = True
    multiinterpreter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModels:
    """The models of a call, what is behind their names, and what they are fed."""

    name: str
    models: Sequence[Model]
    handles: Mapping[str, Any]
    feeds: CallerInputs


def choose_models(model: Any, inputs: Any, settings: BenchmarkSettings) -> ChosenModels:
    """The models that were named: a class or function, one file, or those of an index that fit."""
    path = os.fspath(model) if isinstance(model, str | os.PathLike) else ""
    if path.endswith(model_index.ENDING):
        return _choose_from_index(path, inputs, settings)
    feeds = CallerInputs(
        inputs,
        asked=settings.batch_sizes,
        prepared=settings.prepared,
        column=settings.column,
        loader=settings.loader,
    )
    sizes = settings.batch_sizes or feeds.batch_sizes
    for size in sizes:
        feeds.check(size)
    if path:
        shown, handle = path, _model_path(path, settings)
    elif settings.is_loaded_by_name:
        raise TargetError(
            f"load_fn loads what a name stands for; model_filename is {model!r}",
            remedy="give a file's name, or leave load_fn out: npf.cpu.benchmark(model, inputs)",
        )
    else:
        _refuse_instance(model)
        shown, handle = str(getattr(model, "__qualname__", model)), model
    models = [
        Model(filename=shown, batch_size=size, pipeline_size=stages)
        for size in sizes
        for stages in settings.pipeline_sizes or [1]
    ]
    name = settings.model_name or (Path(path).stem if path else shown)
    return ChosenModels(name=name, models=models, handles={shown: handle}, feeds=feeds)


def _choose_from_index(path: str, inputs: Any, settings: BenchmarkSettings) -> ChosenModels:
    """Batch sizes and the like choose among what was prepared."""
    index = model_index.filter(
        path,
        batch_size=settings.batch_sizes,
        pipeline_size=settings.pipeline_sizes,
        performance_level=settings.performance_levels,
        cast_mode=settings.cast_modes,
    )
    if not index["model_configs"]:
        raise TargetError(f"{path}: no model fits what was asked for", remedy="ask for sizes that it has")
    feeds = CallerInputs(
        inputs,
        asked=settings.batch_sizes if settings.prepared else None,
        prepared=settings.prepared,
        column=settings.column,
        loader=settings.loader,
    )
    models, handles, devices = [], {}, count_devices(settings.device_type)
    for config in index["model_configs"]:
        file, error = _locate_prepared(config, path, devices, settings)
        models.append(
            Model(
                filename=config["filename"],
                batch_size=config["batch_size"],
                pipeline_size=config["pipeline_size"],
                performance_level=config["performance_level"],
                cast_mode=config["cast_mode"],
                input_idx=config["input_idx"],
                error=error,
            )
        )
        if not error:
            feeds.check(config["batch_size"])
            handles[config["filename"]] = file
    return ChosenModels(name=settings.model_name or index["model_name"], models=models, handles=handles, feeds=feeds)


def _locate_prepared(
    config: Mapping[str, Any], index: str, devices: int, settings: BenchmarkSettings
) -> tuple[str, str]:
    """A config's file, or why it cannot be measured: that is the report of this one, and the others go on."""
    if config["status"] == "error":
        return "", str(config.get("error") or "it could not be prepared")
    try:
        count_fitting(config["pipeline_size"], devices)
        return _model_path(str(model_index.find(config, index)), settings), ""
    except (OptionError, TargetError) as error:
        return "", f"{error.message}; {error.remedy}" if error.remedy else error.message


def configurations(chosen: ChosenModels, settings: BenchmarkSettings, *, pinned: bool) -> list[Configuration]:
    """Every row of the reports, in the order in which they are measured."""
    devices = count_devices(settings.device_type)
    dimensions = CrossedDimensions(
        n_models=settings.n_models, workers_per_model=settings.workers_per_model, devices=devices
    )
    found = [
        Configuration(
            model_filename=model.filename,
            model_name=chosen.name,
            device_type=settings.device_type,
            batch_size=model.batch_size,
            n_models=copies,
            workers_per_model=workers,
            pipeline_size=model.pipeline_size,
            n_devices=devices,
            performance_level=model.performance_level,
            cast_mode=model.cast_mode,
            input_idx=model.input_idx,
            multiprocess=settings.multiprocess,
            multiinterpreter=settings.multiinterpreter,
            stats_interval=settings.stats_interval,
            duration=settings.duration,
            error=model.error,
        )
        for model, copies, workers in cross_dimensions(chosen.models, dimensions)
    ]
    for each in found:
        if pinned and not each.error and each.n_models * each.pipeline_size > devices:
            raise OptionError(
                f"{each.n_models} copies of {each.pipeline_size} CPUs each need {each.n_models * each.pipeline_size}; "
                f"there are {devices}",
                remedy="leave pipeline_sizes out to let copies share the CPUs",
            )
    return found


def _model_path(text: str, settings: BenchmarkSettings) -> str:
    """A model's absolute path; a SavedModel's folder stands for the file in it, unless a load_fn loads it."""
    path = Path(text).expanduser()
    if settings.is_loaded_by_name:
        return str(path.resolve()) if path.exists() else text
    if (path / "saved_model.pb").is_file():
        path = path / "saved_model.pb"
    return str(find_file(str(path)))


def _refuse_instance(model: Any) -> None:
    if inspect.isclass(model) or inspect.isroutine(model):
        return
    raise TargetError(
        f"the model is a {type(model).__name__} object, which cannot be handed to another process",
        remedy="give its class, or a function without arguments that makes it; or prepare files with compile",
    )


def runtime_of(handles: Mapping[str, Any]) -> str:
    """What loads them: by a file's ending, by a class's kin. Raises an error when that is not installed."""
    model = next(iter(handles.values()), "")
    if isinstance(model, str):
        names = [
            name
            for name in plugins.BUILTIN["runtimes"]
            if model.endswith(plugins.load("runtimes", name).extensions or ("\0",))
        ]
        if not names and model:
            raise TargetError(f"no runtime loads {Path(model).name}", remedy="name one: npf.torch.benchmark(...)")
        return names[0] if names else OBJECT
    torch = sys.modules.get("torch")
    is_module = torch is not None and inspect.isclass(model) and issubclass(model, torch.nn.Module)
    return "torch" if is_module else OBJECT


def read_copies(asked: int | str | Sequence[int | str] | None) -> list[int | str] | None:
    """Numbers of copies, of which one may be `max`."""
    if asked is None:
        return None
    several = list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
    found: list[int | str] = []
    for each in several:
        found += (
            [each.lower()] if isinstance(each, str) and each.lower() == MAX else read_whole_numbers(each, "n_models")
        )
    return found


def check_positive(value: float, name: str) -> float:
    """The value as a float, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise OptionError(f"{name}: {value!r} is not a number above 0")
    return float(value)
