"""What makes a class a benchmark: how it is constructed, which of its methods count, which parameters they take.

Three styles are told apart: `plain` is our own, and that of asv; `perfzero` and `tf_benchmark` are classes with a
`report_benchmark`, with and without PerfZero's constructor. Standard library only: the class is already imported.
"""

from __future__ import annotations

import inspect
import math
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchwright.errors import LoadError
from benchwright.records import Scalar

PERFZERO, TF_BENCHMARK, PLAIN = "perfzero", "tf_benchmark", "plain"
TIME, TRACK, SIZE, PEAK, SINGLE = "time", "track", "mem", "peakmem", "single"
HANDED = ("output_dir", "root_data_dir", "tpu")  # what PerfZero hands to a constructor
DATA_DIR = "data_dir"  # what its README calls root_data_dir
# Dimensions of the matrix that say how calls are issued: no parameter of a benchmark's own can have such a name.
ISSUING = frozenset({"runtime", "workers", "copies", "rate"})
REPORT = "report"  # the parameter through which a method reports
_PLAIN_METHOD = re.compile(r"(?:time|track|mem|peakmem|benchmark)_\w+|benchmark[A-Z]\w*")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassParameters:
    """The parameters that a class declares, as its author wrote their values."""

    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    positional: bool = False  # asv's way: handed in order, not by name

    def values_of_case(self) -> dict[str, tuple[Scalar, ...]]:
        """The values as a case holds them; two of one look would be one case."""
        found = {name: tuple(map(value_of_case, values)) for name, values in self.values.items()}
        for name, values in found.items():
            for value in values:
                if sum(map(_same(value), values)) > 1:
                    raise LoadError(f"params: {name} has two values that look like {value!r}")
        return found

    def value(self, name: str, given: Scalar) -> Any:
        """What the author wrote for a case's value; a value that was asked for by hand is itself."""
        return next((value for value in self.values.get(name, ()) if _same(given)(value_of_case(value))), given)


def style_of(cls: type) -> str:
    """The style that a class has by itself."""
    if hasattr(cls, "report_benchmark"):
        return PERFZERO if accepted_keywords(cls) else TF_BENCHMARK
    parameters = _parameters(cls)
    return PERFZERO if "root_data_dir" in parameters or {"output_dir", DATA_DIR} <= set(parameters) else PLAIN


def accepted_keywords(cls: type) -> tuple[str, ...]:
    """Which of PerfZero's keywords the constructor takes."""
    parameters = _parameters(cls)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return tuple(name for name in HANDED if takes_any or name in parameters)


def construct(
    cls: type,
    style: str,
    *,
    output_dir: str,
    root_data_dir: str,
    tpu: str | None,
    more: Mapping[str, Any] | None = None,
) -> Any:
    """An instance, handed `more` and, in PerfZero's style, those of its keywords that the constructor takes."""
    keywords = {"output_dir": output_dir, "root_data_dir": root_data_dir, "tpu": tpu, DATA_DIR: root_data_dir}
    wanted = (*accepted_keywords(cls), *([DATA_DIR] if _waits_for_data_dir(cls) else [])) if style == PERFZERO else ()
    return cls(**{**{name: keywords[name] for name in wanted}, **(more or {})})


def _waits_for_data_dir(cls: type) -> bool:
    """Whether a constructor takes the data folder under the README's name.

    PerfZero itself hands over `root_data_dir` alone. So a value of the class's own stays, as does that of a class that
    takes both and can do without.
    """
    parameters = _parameters(cls)
    parameter = parameters.get(DATA_DIR)
    if parameter is None or parameter.kind is parameter.VAR_KEYWORD:
        return False
    is_empty = parameter.default is None or parameter.default == ""
    return parameter.default is parameter.empty or (is_empty and "root_data_dir" not in parameters)


def methods_of(cls: type, style: str = "") -> list[str]:
    """The names of its benchmark methods, a base's before its own, without what TensorFlow's own classes bring."""
    plain = (style or style_of(cls)) == PLAIN
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("tensorflow."):
            names |= dict.fromkeys(vars(base))
    counted = _PLAIN_METHOD.fullmatch if plain else re.compile(r"benchmark\w*").fullmatch
    return [name for name in names if counted(name) and callable(getattr(cls, name, None))]


def kind_of(name: str, style: str) -> str:
    """How a method is called: `time` over and over; the others once.

    Of `track` the number that it returns is kept, of `mem` the size of what it returns, of `peakmem` the most that the
    process held.
    """
    if style != PLAIN:
        return SINGLE
    return next((kind for kind in (TIME, TRACK, SIZE, PEAK) if name.startswith(f"{kind}_")), SINGLE)


def dimensions_of(cls: type, name: str, style: str) -> ClassParameters:
    """The parameters of a method: its own attribute `params`, else the class's."""
    if style != PLAIN:
        return ClassParameters()
    method = getattr(cls, name, None)
    holder = method if hasattr(method, "params") else cls
    params: Any = getattr(holder, "params", None)
    if isinstance(params, Mapping):
        return ClassParameters(values={str(key): _check_values(key, values) for key, values in params.items()})
    if not isinstance(params, list | tuple) or not params:
        return ClassParameters()
    lists = params if isinstance(params[0], list | tuple) else [params]  # asv: one list stands for one parameter
    stated = getattr(holder, "param_names", None) or getattr(cls, "param_names", None) or ()
    names = [*map(str, stated), *(f"param{i + 1}" for i in range(len(stated), len(lists)))]
    values = {key: _check_values(key, each) for key, each in zip(names, lists, strict=False)}
    return ClassParameters(values=values, positional=True)


def parameters_of(cls: type, name: str, style: str) -> list[inspect.Parameter]:
    """The parameters of everything that is handed any: setup, the method, teardown."""
    parts = ("setup", name, "teardown") if style == PLAIN else (name,)
    return [parameter for part in parts for parameter in _own_parameters(cls, part, style)]


def arguments_of(
    function: Callable[..., Any], dimensions: ClassParameters, given: Mapping[str, Scalar]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a bound function is handed of a case's parameters: all of them in order, or those it names."""
    values = {name: dimensions.value(name, value) for name, value in given.items()}
    if dimensions.positional:
        return tuple(values[name] for name in dimensions.values), {}
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return (), {}
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return (), values
    return (), {name: value for name, value in values.items() if name in parameters}


def value_of_case(value: Any) -> Scalar:
    """A parameter's value as a case holds it: itself, a name, or what it looks like without its address."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, numbers.Integral):  # numpy's numbers are these, too
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else _ADDRESS.sub("", repr(value))


def summary_of(thing: Any) -> str:
    """The first line of a docstring, "" when there is none of its own."""
    text = getattr(thing, "__doc__", None)
    lines = inspect.cleandoc(text).splitlines() if isinstance(text, str) else []
    return lines[0].strip() if lines else ""


def _same(one: Scalar) -> Callable[[Scalar], bool]:
    return lambda other: type(one) is type(other) and one == other


def _check_values(name: object, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        raise LoadError(f"params: {name} must be a list of values, not {values!r}")
    listed = tuple(values)
    if not listed:
        raise LoadError(f"params: {name} has no value", remedy="give it one, or leave it out")
    return listed


def _parameters(cls: type) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(cls).parameters
    except (TypeError, ValueError):  # a class that tells no signature takes what it takes
        return {}


def _own_parameters(cls: type, name: str, style: str) -> list[inspect.Parameter]:
    """The parameters of one part, without the instance and without what `setup_cache` made."""
    function = getattr(cls, name, None)
    if not callable(function):
        return []
    bound = inspect.ismethod(function) or isinstance(inspect.getattr_static(cls, name), staticmethod)
    hidden = (not bound) + (style == PLAIN and callable(getattr(cls, "setup_cache", None)))
    try:
        return list(inspect.signature(function).parameters.values())[hidden:]
    except (TypeError, ValueError):  # something that tells no signature
        return []
