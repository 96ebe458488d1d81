"""Where the calls of a pipeline get what they are given: examples in memory, or a data set of the user's own.

A data set is asked for its items while calls are timed, so what it takes counts as waiting for the input. Before the
timed phase begins it is not used up: warming up has its first item only.
"""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.errors import LoadError
from benchwright.runtimes import examples

EXAMPLES, DATA_SET = "examples", "dataset"  # kinds of data: a folder of files, or what a reference names
_END = object()
Given = tuple[tuple[Any, ...], Mapping[str, Any]]  # a call's arguments, in order and by name


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """`take(*argument)` gives one item for each of `arguments`, which the engine goes through."""

    first: Any
    arguments: Sequence[tuple[Any, ...]]
    take: Callable[..., Any]
    begin: Callable[[], None] = lambda: None


def spread(value: Any) -> Given:
    """What a model is called with: a tuple is several arguments, a mapping is arguments by name, all else is one."""
    if isinstance(value, tuple):
        return value, {}
    if isinstance(value, Mapping):
        return (), value
    return (value,), {}


def without_target(item: Any, column: int | None) -> Any:
    """The inputs of an item that holds its target, too. One input is itself, several are a tuple."""
    if column is None:
        return item
    parts = _parts(item, column)
    del parts[column]
    return parts[0] if len(parts) == 1 else tuple(parts)


def target_of(item: Any, column: int) -> Any:
    """What would be right for an item."""
    return _parts(item, column)[column]


def _parts(item: Any, column: int) -> list[Any]:
    if not isinstance(item, tuple | list) or not -len(item) <= column < len(item):
        raise LoadError(
            f"an item of the data set has no column {column} for the target: {type(item).__name__}",
            remedy="yield (*inputs, target), and name the column with eval_target_col when it is not the last",
        )
    return list(item)


def open_data(kind: str, source: str, find: Callable[[str], Any]) -> Any:
    """The items: read from a folder, or what a reference names; a function or class is called for it."""
    if kind == EXAMPLES:
        return examples.read(Path(source))
    found = find(source)
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        return found
    made = found()
    return _Remade(found) if hasattr(made, "__next__") else made


def items_of(data: Any) -> Iterator[Any]:
    """Every item once; one that is a list, as loaders make them, is a tuple."""
    if is_map_style(data):
        return (_as_item(data[index]) for index in range(len(data)))
    return map(_as_item, iter(data))


def is_map_style(data: Any) -> bool:
    """Whether items are had by number."""
    return hasattr(data, "__getitem__") and hasattr(data, "__len__")


def feed_from(kind: str, data: Any, column: int | None, *, share: tuple[int, int], loop: bool) -> Feed:
    """The feed of the copy `share[0]` of `share[1]`; examples in memory are their own arguments."""
    if kind == EXAMPLES:
        kept = [without_target(item, column) for item in data]
        return Feed(first=kept[0], arguments=[(item,) for item in kept], take=lambda item: item)
    return _Pulled(data, column, share=share, loop=loop).feed()


class _Remade:
    """What a generator function makes, made anew whenever it is iterated."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make())


class _Pulled:
    """A data set whose items the threads of a copy pull one after another, each copy its own share of them."""

    def __init__(self, data: Any, column: int | None, *, share: tuple[int, int], loop: bool) -> None:
        self._data, self._column, self._share, self._loop = data, column, share, loop
        self._by_number = is_map_style(data)
        self._lock = threading.Lock()
        self._tickets = self._anew()
        try:
            self._first = next(self._tickets)
        except StopIteration:
            many = f"fewer items than the {share[1]} copies" if share[1] > 1 else "no items"
            raise LoadError(f"the data set has {many}", remedy="use fewer copies, or loop_dataset=True") from None
        self._begun = False

    def feed(self) -> Feed:
        return Feed(first=self._item(self._first), arguments=((),), take=self._take, begin=self._begin)

    def _begin(self) -> None:
        self._tickets, self._begun = itertools.chain((self._first,), self._tickets), True

    def _take(self) -> Any:
        """The next item. At the end of the data set StopIteration ends the engine's loop, as its own iterators do."""
        if not self._begun:
            return self._item(self._first)
        with self._lock:
            ticket = next(self._tickets, _END)
            if ticket is _END and self._loop:
                self._tickets = self._anew()
                ticket = next(self._tickets, _END)
        if ticket is _END:
            raise StopIteration
        return self._item(ticket)

    def _item(self, ticket: Any) -> Any:
        """What a ticket stands for: the item of a number, fetched outside the lock, or the item itself."""
        item = self._data[ticket] if self._by_number else ticket
        return without_target(_as_item(item), self._column)

    def _anew(self) -> Iterator[Any]:
        tickets = iter(range(len(self._data)) if self._by_number else self._data)
        copy, copies = (0, 1) if self._loop else self._share
        return itertools.islice(tickets, copy, None, copies)


def _as_item(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item
