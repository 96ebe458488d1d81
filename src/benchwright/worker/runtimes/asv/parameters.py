"""The values of asv's parameters: how asv writes them down, and how a case holds them.

asv tells two values apart by what they look like. Cases do the same, so that what asv measured before and what is
measured now have the same parameters. Standard library only.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchwright.errors import LoadError
from benchwright.records import Scalar

MOST_COMBINATIONS = 100_000  # of one benchmark
_ADDRESS = re.compile(r"^(<.*) at 0x[0-9a-fA-F]+(>)$", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d{1,300}(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_WORDS: dict[str, Scalar] = {"True": True, "False": False, "None": None}


def label_values(values: Sequence[Any]) -> list[str]:
    """What asv calls each value of one parameter: its look without its address; equal looks are numbered."""
    looks = [_ADDRESS.sub(r"\1\2", repr(value)) for value in values]
    several = {look: itertools.count() for look, count in Counter(looks).items() if count > 1}
    return [f"{look} ({next(several[look])})" if look in several else look for look in looks]


def value_of_label(label: str) -> Scalar:
    """A label as a case holds it: quoted texts lose their quotes, numbers become numbers."""
    if len(label) >= 2 and label[0] == label[-1] and label[0] in "'\"":
        return label[1:-1]
    if label in _WORDS:
        return _WORDS[label]
    number = _NUMBER.fullmatch(label)
    if number is None or not math.isfinite(float(label)):
        return label
    return float(label) if number[1] or number[2] else int(label)


def read_parameters(params: Any, names: Any) -> dict[str, tuple[Any, ...]]:
    """The values of every parameter by its name, as a suite's author wrote them; a `LoadError` says what is wrong.

    One list that holds no lists is the values of one parameter. Parameters without a name are `param1`, `param2`.
    """
    try:
        lists = list(params)
        if lists and not isinstance(lists[0], list | tuple):
            lists = [lists]
        columns = [tuple(values) for values in lists]
        stated = [str(name) for name in names][: len(columns)]
    except TypeError:
        raise LoadError("params is not a list of values, or of lists of values") from None
    stated += [f"param{number + 1}" for number in range(len(stated), len(columns))]
    if len(set(stated)) < len(stated):
        raise LoadError(f"param_names has a name twice: {', '.join(stated)}")
    found = dict(zip(stated, columns, strict=True))
    if empty := next((name for name, values in found.items() if not values), None):
        raise LoadError(f"params: {empty} has no value", remedy="give it one, or leave it out")
    count = 1
    for values in columns:
        count *= len(values)
        if count > MOST_COMBINATIONS:
            raise LoadError(f"params has more than {MOST_COMBINATIONS:,} combinations")
    return found


def combine(parameters: Mapping[str, Sequence[Any]]) -> Iterator[tuple[dict[str, Scalar], tuple[Any, ...]]]:
    """Every combination, the first parameter varying slowest: as a case holds it, and the values themselves."""
    columns = [
        [(value_of_label(label), value) for label, value in zip(label_values(values), values, strict=True)]
        for values in parameters.values()
    ]
    for combination in itertools.product(*columns):
        shown = {name: pair[0] for name, pair in zip(parameters, combination, strict=True)}
        yield shown, tuple(pair[1] for pair in combination)


def choose_values(parameters: Mapping[str, Sequence[Any]], given: Mapping[str, Scalar]) -> tuple[Any, ...]:
    """The values that a case's parameters stand for; one that was asked for by hand is itself."""
    chosen: list[Any] = []
    for name, values in parameters.items():
        known = {_key(value_of_label(label)): value for label, value in zip(label_values(values), values, strict=True)}
        chosen.append(known.get(_key(given.get(name)), given.get(name)))
    return tuple(chosen)


def _key(value: Scalar) -> tuple[type, Scalar]:
    return type(value), value
