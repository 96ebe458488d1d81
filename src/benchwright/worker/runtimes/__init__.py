"""Runtimes load a model and call it; each wraps one third-party library, imported only inside `load`.

A runtime's module is imported in the worker and, for its class attributes alone, in the parent; so importing it must
not import the library.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from benchwright import plugins
from benchwright.errors import NotInstalledError
from benchwright.records import Case, Failure, Load, Metric, Operator, ResultWarning, Timeline, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the target told of itself while it was called. Numbers are finite; names are unlike those we measure."""

    metrics: Sequence[Metric] = ()
    timelines: Sequence[Timeline] = ()
    warnings: Sequence[ResultWarning] = ()
    details: Mapping[str, Value] = field(default_factory=dict)
    operators: Sequence[Operator] = ()
    failure: Failure | None = None  # it ended badly after all; what it told until then is kept


@dataclass(slots=True, kw_only=True)
class Loaded:
    """A model ready to be called: `call(*arguments[i])` for each sample, i going round."""

    call: Callable[..., Any]
    arguments: Sequence[tuple[Any, ...]] = ((),)
    device: str = "cpu"  # the one that is really used
    is_async: bool = False  # `call` returns an awaitable
    items_per_call: int = 1  # what throughput counts: the batch size
    versions: Mapping[str, str] = field(default_factory=dict)  # library -> version
    details: Mapping[str, Value] = field(default_factory=dict)  # inputs, outputs, providers; read after the last call
    warnings: Sequence[ResultWarning] = ()
    clock: Any = None  # a worker.engine.clock.Clock, from runtimes that live in virtual time
    begin: Callable[[], None] = lambda: None  # called when every copy is warm, just before time zero; must be quick
    report: Callable[[], Report] = Report  # asked once, after the last call
    close: Callable[[], None] = lambda: None
    leave: Callable[[], None] | None = None  # ends what all copies use: called when the last of them has answered
    load_time: float | None = None  # seconds, where another process than this one loads the model
    pids: Sequence[int] = ()  # the processes that are measured, where this one only asks them
    infer: Callable[..., Any] | None = None  # the model on any arrays, in its order or by name; gives its outputs
    feed: Mapping[str, Any] | None = None  # the first call's inputs by name, in order, as `infer` takes them
    drawn: bool = False  # the inputs are random numbers, which a model need not like
    model: Any = None  # what the library itself calls its model, for who sets it up further
    prepare: Callable[[Load, int], Any] | None = None  # issues the load of a copy by itself: gives a `PreparedLoad`
    tell: Callable[[str], None] = lambda text: None  # set by the worker: shows a line to whoever watches the run
    keep: Callable[[Mapping[str, Value]], None] = lambda known: None  # likewise: details to keep if it is cut off


class Runtime(Protocol):
    """What every runtime offers.

    One that has a method `enclose(case, measure)` as well is asked for that instead of `load`: it calls `measure` with
    what it loaded, from inside of whatever must be around the calls. What was measured counts when `enclose` returns,
    which gives further details of it.
    """

    name: ClassVar[str]
    extensions: ClassVar[tuple[str, ...]]  # file name endings it loads, with the dot
    requires: ClassVar[str]  # what pip installs, "" when nothing is needed
    module: ClassVar[str]  # what `import` needs, "" when nothing is needed

    def load(self, case: Case) -> Loaded:
        """Loads the case's target on its device with its inputs, or raises a `MeasureError`."""
        ...


def is_installed(name: str) -> bool:
    """Whether the library behind the runtime `name` can be imported here; it is not imported to find out."""
    module = plugins.load("runtimes", name).module
    return not module or importlib.util.find_spec(module) is not None


def check_installed(name: str) -> None:
    """Raises `NotInstalledError`, with the command that installs it, when the library of `name` is absent."""
    if not is_installed(name):
        raise NotInstalledError(f"runtime {name}", plugins.load("runtimes", name).requires)
