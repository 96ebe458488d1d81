"""The worker's side of a pipeline.

The model is loaded by an inner runtime, or is an object of any class. Where there is nothing to time apart, the
engine calls the inner runtime's own call and nothing is added to it.
"""

from __future__ import annotations

import inspect
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright import plugins
from benchwright.errors import LoadError, MeasureError
from benchwright.records import Case, Scalar
from benchwright.runtimes import Loaded, Report, parts
from benchwright.runtimes.evaluating import Evaluation
from benchwright.runtimes.examples import batch_size
from benchwright.runtimes.feeding import EXAMPLES, Feed, feed_from, items_of, open_data, spread, without_target
from benchwright.runtimes.importing import load_module, load_object, split
from benchwright.runtimes.loading import log_traceback
from benchwright.runtimes.options import boolean, choice, whole
from benchwright.runtimes.pipeline import INNER, OBJECT, ImportedFarEnoughError
from benchwright.runtimes.scratch import OUTPUT_VARIABLE

_hands = threading.local()  # what `handed` gives, in the thread that loads


def handed() -> list[Any]:
    """The examples that the inner runtime is loaded with: its inputs' source names this function."""
    return list(_hands.examples)


class Piping:
    """One copy of one case."""

    def __init__(self, case: Case) -> None:
        self._case, self._options = case, case.target.options
        self._began = time.perf_counter()
        self._copy = int(os.environ.get("BENCHWRIGHT_COPY", "0"))
        self._folder = os.environ.get(OUTPUT_VARIABLE, "")
        self._config: dict[str, Any] = json.loads(str(self._options.get("config", "{}")))
        self._found = _Finder()
        self._column = whole(self._options, "target", 0, least=-99) if "target" in self._options else None
        self._parts = parts.Parts()
        self._warm_up_began = self._warm_up_ended = 0.0

    def loaded(self) -> Loaded:
        before, after = self._function("preprocess"), self._function("postprocess")
        setup = self._function("setup")
        _show_devices(self._options, self._copy)
        if (prepare := self._function("env_setup")) is not None:
            prepare(self._copy, self._config)
        kind = choice(self._options, "data", EXAMPLES, (EXAMPLES, "dataset"))
        data = open_data(kind, self._case.inputs.source, self._found)
        if "evaluate" in self._options:
            inner, whole_call = self._evaluated(data, before, after)
        else:
            share = self._copy, self._case.load.copies
            feed = feed_from(kind, data, self._column, share=share, loop=boolean(self._options, "loop", False))
            inner, whole_call = self._timed(feed, kind, before, after)
        if setup is not None:
            setup(self._copy, self._config, inner.model)
        self._warm_up_began = time.perf_counter()
        return whole_call

    # ---- measured ----

    def _timed(self, feed: Feed, kind: str, before: Any, after: Any) -> tuple[Loaded, Loaded]:
        items = [item for (item,) in feed.arguments] if kind == EXAMPLES else []
        by_name = any(isinstance(item, Mapping) for item in items)  # only `infer` takes any of the model's names
        if before is None and after is None and items and not by_name:
            self._check_batch(feed.first)
            inner = self._inner(items, self._case.inputs.batch_size)
            return inner, replace(inner, begin=self._begin, report=lambda: self._report(inner))
        first = feed.first
        if before is not None:
            first = before(*_arguments(first))
        else:
            self._check_batch(first)
        inner = self._inner([first], batch_size(first))
        call = _timed_call(feed.take, before, _on_arrays(inner, self._case), after, self._parts)

        def begin() -> None:
            self._begin()
            feed.begin()

        return inner, replace(
            inner,
            call=call,
            arguments=feed.arguments,
            items_per_call=self._case.inputs.batch_size,
            begin=begin,
            report=lambda: self._report(inner),
        )

    def _begin(self) -> None:
        self._warm_up_ended = time.perf_counter()
        self._parts.forget()

    def _report(self, inner: Loaded) -> Report:
        told, apart = inner.report(), self._parts.collected()
        if self._folder:
            took, warmup = self._warm_up_began - self._began, self._warm_up_ended - self._warm_up_began
            report = parts.CopyReport(copy=self._copy, load=took, warmup=warmup, parts=apart)
            parts.write(Path(self._folder), report)
        return replace(told, metrics=(*told.metrics, *parts.metrics(apart)))

    # ---- evaluated ----

    def _evaluated(self, data: Any, before: Any, after: Any) -> tuple[Loaded, Loaded]:
        evaluation = Evaluation(str(self._options["evaluate"]), self._found, self._column)
        column = -1 if self._column is None else self._column
        items = items_of(data)
        head = next(items, None)
        if head is None:
            raise LoadError("the data set is empty")
        first = without_target(head, column)
        first = first if before is None else before(*_arguments(first))
        inner = self._inner([first], batch_size(first))
        infer = _on_arrays(inner, self._case)

        def infer_one(item: Any) -> Any:
            args, named = spread(item if before is None else before(*_arguments(item)))
            output = infer(*args, **named)
            return output if after is None else after(output)

        def call() -> None:
            evaluation.run([head], infer_one)
            evaluation.run(items, infer_one)

        def report() -> Report:
            return Report(details={"accuracy": evaluation.figures(), "records": evaluation.records})

        return inner, replace(inner, call=call, arguments=((),), report=report)

    # ---- the model ----

    def _inner(self, items: list[Any], size: int) -> Loaded:
        """The model, loaded with these examples by the runtime that knows it."""
        name, target = str(self._options.get("inner", OBJECT)), self._case.target
        own = {key.removeprefix(INNER): value for key, value in self._options.items() if key.startswith(INNER)}
        uri = self._found.importable(target.uri)
        if name == OBJECT:
            return _object(self._found(uri), uri, items, self._case)
        source = f"{__name__}:{handed.__name__}"
        inputs = replace(self._case.inputs, source=source, batch_size=size, count=len(items))
        case = replace(self._case, target=replace(target, runtime=name, uri=uri, options=own), inputs=inputs)
        _hands.examples = items
        try:
            loaded: Loaded = plugins.load("runtimes", name)().load(case)
        finally:
            del _hands.examples
        return loaded

    def _check_batch(self, example: Any) -> None:
        found, asked = batch_size(example), self._case.inputs.batch_size
        if found != asked:
            raise LoadError(
                f"the inputs have a leading dimension of {found}; the batch size asked for is {asked}",
                remedy="give inputs of that size, or leave batch_sizes out",
            )

    def _function(self, option: str) -> Callable[..., Any] | None:
        reference = str(self._options.get(option, ""))
        if not reference:
            return None
        return _guarded(self._found(reference), f"{option}_fn")


def _timed_call(
    take: Callable[..., Any],
    before: Callable[..., Any] | None,
    infer: Callable[..., Any],
    after: Callable[..., Any] | None,
    written: parts.Parts,
) -> Callable[..., Any]:
    """One call with its parts timed apart."""
    now = time.perf_counter_ns

    def call(*argument: Any) -> Any:
        began = now()
        item = take(*argument)
        taken = now()
        if before is not None:
            item = before(*_arguments(item))
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


def _on_arrays(inner: Loaded, case: Case) -> Callable[..., Any]:
    if inner.infer is None or inner.is_async:
        raise LoadError(
            f"{case.target.options.get('inner')} cannot be called with arrays of the moment, or is asynchronous",
            remedy="leave out preprocess_fn, postprocess_fn and data sets, or give its runtime an `infer`",
        )
    return inner.infer


def _guarded(function: Any, name: str) -> Callable[..., Any]:
    """The function, whose failures say which of the user's functions it was; a call costs one frame more."""
    if not callable(function):
        raise LoadError(f"{name} is {type(function).__name__}, which cannot be called")

    def guarded(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:  # the border to the user's code
            log_traceback(error)
            raise MeasureError(f"{name} failed: {type(error).__name__}: {error}", remedy="see the log") from error

    return guarded


def _object(found: Any, uri: str, items: list[Any], case: Case) -> Loaded:
    """Whatever can be called: a class is constructed first, without arguments."""
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as error:  # the border to the user's code
            log_traceback(error)
            raise LoadError(
                f"{uri} could not be constructed: {type(error).__name__}: {error}", remedy="see the log"
            ) from error
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
