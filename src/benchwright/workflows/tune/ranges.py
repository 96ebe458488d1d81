"""Lists and ranges that people write for a dimension: `1,2,4`, `1..64`, `1..max`, `8..64:8`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from benchwright.errors import OptionError
from benchwright.records import Scalar
from benchwright.records.races import show_setting
from benchwright.workflows import arguments

MOST_VALUES = 1000  # of one dimension
_RANGE = re.compile(r"(?P<low>[^.:,\s]+(?:\.\d+)?)\.\.(?P<high>[^:,\s]+?)(?::(?P<step>[^:,\s]+))?")
_HALF = re.compile(r"\d+\.\.|\.\.\d+")


def expand(text: str, flag: str) -> str:
    """A list in which every range is written out: `1..8,12` is `1,2,4,8,12`.

    A range doubles from its beginning and has both ends; with `:STEP` it goes on in steps. `max` is the CPUs that this
    process may use.
    """
    items = [item.strip() for item in text.split(",")]
    found = [word for item in items for word in _expand_item(item, flag)]
    return ",".join(dict.fromkeys(found))


def expand_values(name: str, text: str, flag: str) -> list[Scalar]:
    """The values of an option or a parameter: those that the list and its ranges name, each once."""
    if not text:
        raise OptionError(f"{flag}: {name!r} has no value", remedy=f"write {flag} {name}=A,B")
    return [arguments.scalar(word) for word in expand(text, flag).split(",")]


def _expand_item(item: str, flag: str) -> Iterable[str]:
    match = _RANGE.fullmatch(item)
    if match is None:
        if _HALF.fullmatch(item):
            raise OptionError(f"{flag}: {item!r} is a range with one end", remedy=f"write {flag} 1..64 or 1..max")
        return [item]
    low, high = (_number(match[name], item, flag) for name in ("low", "high"))
    step = None if match["step"] is None else _number(match["step"], item, flag)
    if not low <= high:
        raise OptionError(f"{flag}: {item!r} goes down", remedy=f"write {flag} {match['high']}..{match['low']}")
    if step is None and low <= 0:
        raise OptionError(
            f"{flag}: {item!r} doubles from its beginning, which must be above zero",
            remedy=f"give it a step: {flag} {item}:1",
        )
    if step is not None and step <= 0:
        raise OptionError(f"{flag}: {item!r} has no step above zero", remedy=f"write {flag} {item.partition(':')[0]}:1")
    following: Callable[[float], float] = (lambda at: 2 * at) if step is None else (lambda at: at + step)
    found, at = [], low
    while at < high:
        found.append(at)
        if len(found) >= MOST_VALUES:
            raise OptionError(
                f"{flag}: {item!r} has more than {MOST_VALUES} values", remedy="give it a larger step, or none"
            )
        at = following(at)
    return [show_setting(_plain(value)) for value in (*found, high)]


def _number(word: str, item: str, flag: str) -> float:
    if word == "max":
        return float(arguments.available_cpus())
    found = arguments.scalar(word)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise OptionError(f"{flag}: {word!r} in {item!r} is not a number", remedy=f"write {flag} 1..64 or 1..64:8")
    return float(found)


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() else value
