"""The worker's side of a pipeline.

The model is loaded by an inner runtime, or is an object of any class. Where there is nothing to time apart, the
engine calls the inner runtime's own call and nothing is added to it.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright import plugins
from benchwright.errors import LoadError, MeasureError
from benchwright.records import Case, Scalar
from benchwright.system.scratch import OUTPUT_VARIABLE
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.failures import log_traceback
from benchwright.worker.runtimes.options import boolean, choice, whole
from benchwright.worker.runtimes.pipeline import INNER, OBJECT, ImportedFarEnoughError, parts
from benchwright.worker.runtimes.pipeline.batches import (
    AS_THEY_ARE,
    BatchGrouping,
    chunks,
    first_rows,
    grouping,
    put_together,
    size_error,
)
from benchwright.worker.runtimes.pipeline.evaluation import LAST, Evaluation
from benchwright.worker.runtimes.pipeline.examples import batch_size
from benchwright.worker.runtimes.pipeline.feeds import (
    DATA_SET,
    EXAMPLES,
    Feed,
    apply_loader,
    feed_from,
    items_of,
    open_data,
    spread,
    target_of,
    without_target,
)
from benchwright.worker.runtimes.user_objects import load_module, load_object, split

_of_thread = threading.local()  # what `examples_of_thread` and `model_of_thread` give, in the thread that loads


def examples_of_thread() -> list[Any]:
    """The examples that the inner runtime is loaded with: its inputs' source names this function."""
    return list(_of_thread.examples)


def model_of_thread() -> Any:
    """The model that the user's own function loaded: the inner target's URI names this function."""
    return _of_thread.model


class PipelineLoader:
    """Loads one copy of one case: the data, the model and the user's functions around it."""

    def __init__(self, case: Case) -> None:
        self._case, self._options = case, case.target.options
        self._began = time.perf_counter()
        self._copy = int(os.environ.get("BENCHWRIGHT_COPY", "0"))
        self._folder = os.environ.get(OUTPUT_VARIABLE, "")
        self._config: dict[str, Any] = json.loads(str(self._options.get("config", "{}")))
        self._found = _Finder()
        self._column = whole(self._options, "target", 0, least=-99) if "target" in self._options else None
        self._parts = parts.CallParts()
        self._warm_up_began = self._warm_up_ended = 0.0

    def load(self) -> Loaded:
        before, after = _make_item_function(self._function("preprocess")), self._function("postprocess")
        setup, loader = self._function("setup"), self._function("dataset_loader")
        _show_devices(self._options, self._copy)
        if (prepare := self._function("env_setup")) is not None:
            prepare(self._copy, self._config)
        kind = choice(self._options, "data", EXAMPLES, (EXAMPLES, "dataset"))
        data = open_data(kind, self._case.inputs.source, self._found)
        if loader is not None:
            data, kind = apply_loader(loader, data, self._case.load.workers), DATA_SET
        if "evaluate" in self._options:
            inner, whole_call = self._load_evaluation(data, before, after)
        else:
            share, loop = (self._copy, self._case.load.copies), boolean(self._options, "loop", False)
            group = self._choose_grouping(before) if boolean(self._options, "batched", False) else None
            feed = feed_from(kind, data, self._column, share=share, loop=loop, group=group)
            inner, whole_call = self._load_timed(feed, kind, before, after)
        if setup is not None:
            setup(self._copy, self._config, inner.model)
        self._warm_up_began = time.perf_counter()
        return whole_call

    # ---- measured ----

    def _load_timed(self, feed: Feed, kind: str, before: Any, after: Any) -> tuple[Loaded, Loaded]:
        items = [item for (item,) in feed.arguments] if kind == EXAMPLES else []
        by_name = any(isinstance(item, Mapping) for item in items)  # only `infer` takes any of the model's names
        if before is None and after is None and items and not by_name:
            self._check_batch(feed.first)
            inner = self._inner(items, self._case.inputs.batch_size)
            return inner, replace(inner, begin=self._begin, report=lambda: self._report(inner, feed))
        first = feed.first
        if before is not None:
            first = before(first)
        if before is None or boolean(self._options, "batched", False):
            self._check_batch(first, "preprocess_fn's results" if before is not None else "the inputs")
        inner = self._inner([first], batch_size(first))
        call = _timed_call(feed.take, before, _require_infer(inner, self._case), after, self._parts)

        def begin() -> None:
            self._begin()
            feed.begin()

        return inner, replace(
            inner,
            call=call,
            arguments=feed.arguments,
            items_per_call=self._case.inputs.batch_size,
            begin=begin,
            report=lambda: self._report(inner, feed),
        )

    def _choose_grouping(self, before: Callable[[Any], Any] | None) -> Callable[[Any, Any], BatchGrouping]:
        """How a data set's items become batches of the size asked for; a loader's are batches already."""
        size, column = self._case.inputs.batch_size, self._column

        def prepare(item: Any) -> Any:
            assert before is not None
            return before(without_target(item, column))

        def group(data: Any, item: Any) -> BatchGrouping:
            if self._options.get("dataset_loader"):
                return AS_THEY_ARE if before is not None else BatchGrouping(size=self._check_size(item, column, size))
            return grouping(data, item, size, column, None if before is None else prepare)

        return group

    @staticmethod
    def _check_size(item: Any, column: int | None, size: int) -> int:
        found = batch_size(without_target(item, column))
        if found != size:
            raise size_error("the batches of dataset_loader_fn", found, size)
        return size

    def _begin(self) -> None:
        self._warm_up_ended = time.perf_counter()
        self._parts.forget()

    def _report(self, inner: Loaded, feed: Feed) -> Report:
        told, apart = inner.report(), self._parts.collect()
        if self._folder:
            took, warmup = self._warm_up_began - self._began, self._warm_up_ended - self._warm_up_began
            report = parts.CopyReport(copy=self._copy, load=took, warmup=warmup, parts=apart)
            parts.write(Path(self._folder), report)
        grouped = {"items_a_call": feed.grouping.together, "items_left_out": feed.left_out}
        details = {**told.details, **{name: count for name, count in grouped.items() if count}}
        return replace(told, metrics=(*told.metrics, *parts.metrics(apart)), details=details)

    # ---- evaluated ----

    def _load_evaluation(self, data: Any, before: Any, after: Any) -> tuple[Loaded, Loaded]:
        evaluation = Evaluation(str(self._options["evaluate"]), self._found)
        column, size = LAST if self._column is None else self._column, self._case.inputs.batch_size
        items = items_of(data)
        head = next(items, None)
        if head is None:
            raise LoadError("the data set is empty")
        group = self._choose_grouping(before)(data, head) if boolean(self._options, "batched", False) else AS_THEY_ARE
        count = group.together or 1

        def batch_of(chunk: list[Any]) -> Any:
            """A whole batch, as a model of one size needs it: a last item stands for those that are missing."""
            return put_together([*chunk, *chunk[-1:] * (count - len(chunk))]) if group.together else chunk[0]

        every = chunks(itertools.chain((head,), items), count)
        head_chunk = next(every)
        first = without_target(batch_of(head_chunk), column)
        first = first if before is None else before(first)
        if group.together:
            self._check_batch(first, "preprocess_fn's results" if before is not None else "the inputs")
        inner = self._inner([first], batch_size(first))
        infer = _require_infer(inner, self._case)

        def see(chunk: list[Any]) -> None:
            batch = batch_of(chunk)
            item = without_target(batch, column)
            args, named = spread(item if before is None else before(item))
            output = infer(*args, **named)
            output, target = output if after is None else after(output), target_of(batch, column)
            if len(chunk) < count:
                output, target = first_rows(output, len(chunk), size), first_rows(target, len(chunk), size)
            evaluation.see(output, target, len(chunk))

        def call() -> None:
            for chunk in itertools.chain((head_chunk,), every):
                see(chunk)

        def report() -> Report:
            return Report(details={"accuracy": evaluation.figures(), "records": evaluation.records})

        return inner, replace(inner, call=call, arguments=((),), report=report)

    # ---- the model ----

    def _inner(self, items: list[Any], size: int) -> Loaded:
        """The model, loaded with these examples by the runtime that knows it."""
        name, target = str(self._options.get("inner", OBJECT)), self._case.target
        own = {key.removeprefix(INNER): value for key, value in self._options.items() if key.startswith(INNER)}
        uri = self._found.importable(target.uri)
        if (load := self._function("load")) is not None:
            _of_thread.model = load(uri, self._copy * int(self._config.get("pipeline_size", 1)))
            if not _is_torch_module(_of_thread.model):
                return _load_object_model(_of_thread.model, uri, items, self._case)
            name, uri = "torch", f"{__name__}:{model_of_thread.__name__}"
        if name == OBJECT:
            return _load_object_model(self._found(uri), uri, items, self._case)
        source = f"{__name__}:{examples_of_thread.__name__}"
        inputs = replace(self._case.inputs, source=source, batch_size=size, count=len(items))
        case = replace(self._case, target=replace(target, runtime=name, uri=uri, options=own), inputs=inputs)
        _of_thread.examples = items
        try:
            loaded: Loaded = plugins.load("runtimes", name)().load(case)
        finally:
            del _of_thread.examples
        return loaded

    def _check_batch(self, example: Any, what: str = "the inputs") -> None:
        found, wanted = batch_size(example), self._case.inputs.batch_size
        if found != wanted:
            raise size_error(what, found, wanted)

    def _function(self, option: str) -> Callable[..., Any] | None:
        reference = str(self._options.get(option, ""))
        if not reference:
            return None
        return _name_failures(self._found(reference), f"{option}_fn")


def _timed_call(
    take: Callable[..., Any],
    before: Callable[..., Any] | None,
    infer: Callable[..., Any],
    after: Callable[..., Any] | None,
    written: parts.CallParts,
) -> Callable[..., Any]:
    """Makes the function that makes one call and times each of its parts."""
    now = time.perf_counter_ns

    def call(*argument: Any) -> Any:
        began = now()
        item = take(*argument)
        taken = now()
        if before is not None:
            item = before(item)
        prepared = now()
        args, named = spread(item)
        output = infer(*args, **named)
        inferred = now()
        if after is not None:
            output = after(output)
        ended = now()
        written.writer()(taken - began, prepared - taken, inferred - prepared, ended - inferred)
        return output

    return call


def _arguments(item: Any) -> tuple[Any, ...]:
    """What preprocess gets: a tuple's parts, or the one thing there is."""
    return item if isinstance(item, tuple) else (item,)


def _make_item_function(function: Callable[..., Any] | None) -> Callable[[Any], Any] | None:
    """The user's function of an item: it gets a tuple's parts, or the tuple itself where it takes one argument."""
    if function is None:
        return None

    def on_item(item: Any) -> Any:
        return function(*_arguments(item))

    def on_whole(item: Any) -> Any:
        return function(item) if isinstance(item, tuple) and len(item) > 1 else function(*_arguments(item))

    return on_whole if _takes_one(function) else on_item


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function of a library in C may have none
        return False
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return False
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(positional) == 1


def _is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _require_infer(inner: Loaded, case: Case) -> Callable[..., Any]:
    if inner.infer is None or inner.is_async:
        raise LoadError(
            f"{case.target.options.get('inner')} cannot be called with new arrays for each call, or is asynchronous",
            remedy="leave out preprocess_fn, postprocess_fn and data sets, or give its runtime an `infer`",
        )
    return inner.infer


def _name_failures(function: Any, name: str) -> Callable[..., Any]:
    """The function, whose failures say which of the user's functions it was; a call costs one frame more."""
    if not callable(function):
        raise LoadError(f"{name} is {type(function).__name__}, which cannot be called")

    @functools.wraps(function, updated=())
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:  # the border to the user's code
            log_traceback(error)
            raise MeasureError(f"{name} failed: {describe_error(error)}", remedy="see the log") from error

    return call


def _load_object_model(found: Any, uri: str, items: list[Any], case: Case) -> Loaded:
    """Whatever can be called: a class is constructed first, without arguments."""
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as error:  # the border to the user's code
            log_traceback(error)
            raise LoadError(f"{uri} could not be constructed: {describe_error(error)}", remedy="see the log") from error
    if not callable(found):
        raise LoadError(f"{uri} makes {type(found).__name__}, which cannot be called", remedy="give it a __call__")
    return Loaded(
        call=found,
        infer=found,
        model=found,
        arguments=[_arguments(item) for item in items],
        is_async=inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(type(found).__call__),
        device=case.target.device,
        items_per_call=case.inputs.batch_size,
        versions={"python": platform.python_version()},
    )


def _show_devices(options: Mapping[str, Scalar], copy: int) -> None:
    """Lets a copy see the devices that are its own, before any library looks for them."""
    each, count = whole(options, "devices_per_copy", 0), whole(options, "devices", 0)
    if not each or not count:
        return
    shown = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    shown = shown or [str(index) for index in range(count)]
    mine = [shown[(copy * each + i) % len(shown)] for i in range(each)]
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(mine)


class _Finder:
    """Objects by reference. A file is imported once, however many of its names are asked for."""

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}

    def __call__(self, reference: str) -> Any:
        return load_object(self.importable(reference))

    def importable(self, reference: str) -> str:
        """The same name in a module that is imported already; what names no Python file is left as it is."""
        where, name = split(reference)
        if not where.endswith(".py") or not name:
            return reference
        if where not in self._modules:
            self._modules[where] = Path(where).stem
            try:
                load_module(where)
            except LoadError as error:
                if not isinstance(error.__context__, ImportedFarEnoughError):
                    raise
        return f"{self._modules[where]}:{name}"
