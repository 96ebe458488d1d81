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
from benchwright.worker.runtimes.pipeline import examples
from benchwright.worker.runtimes.pipeline.batches import AS_THEY_ARE, BatchGrouping, chunks, put_together

EXAMPLES, DATA_SET = "examples", "dataset"  # kinds of data: a folder of files, or what a reference names
_END = object()
Given = tuple[tuple[Any, ...], Mapping[str, Any]]  # a call's arguments, in order and by name
Group = Callable[[Any, Any], BatchGrouping]  # a data set and its first item -> how its items become calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """`take(*argument)` gives one item for each of `arguments`, which the engine goes through."""

    first: Any
    arguments: Sequence[tuple[Any, ...]]
    take: Callable[..., Any]
    begin: Callable[[], None] = lambda: None
    grouping: BatchGrouping = AS_THEY_ARE
    left_out: int = 0  # items that make no whole batch, as far as that is known beforehand


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
    """The target of an item: the answer that would be right."""
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
    return _RestartedData(found) if hasattr(made, "__next__") else made


def items_of(data: Any) -> Iterator[Any]:
    """Every item once; one that is a list, as loaders make them, is a tuple."""
    if is_map_style(data):
        return (_as_item(data[index]) for index in range(len(data)))
    return map(_as_item, iter(data))


def is_map_style(data: Any) -> bool:
    """Whether the items of a data set can be asked for by number."""
    return hasattr(data, "__getitem__") and hasattr(data, "__len__")


def apply_loader(loader: Callable[[Any, int], Any], data: Any, workers: int) -> Any:
    """What the user's own loader makes of the data set, made anew whenever it is iterated.

    A list of as many loaders as there are workers is all of them, one after another.
    """

    def make() -> Any:
        made = loader(data, workers)
        if isinstance(made, list | tuple) and len(made) == workers and all(map(_is_loader, made)):
            return itertools.chain.from_iterable(made)
        return made

    return _RestartedData(make)


def feed_from(
    kind: str, data: Any, column: int | None, *, share: tuple[int, int], loop: bool, group: Group | None = None
) -> Feed:
    """The feed of the copy `share[0]` of `share[1]`; examples in memory are their own arguments.

    `group` says how the items of a data set become calls; without it each is one.
    """
    if kind == EXAMPLES:
        return _feed_from_memory(data, column, AS_THEY_ARE if group is None else group(data, data[0]))
    return _PulledFeed(data, column, share=share, loop=loop, group=group).feed()


def _feed_from_memory(data: Sequence[Any], column: int | None, grouping: BatchGrouping) -> Feed:
    """A feed of what is in memory, whole batches only."""
    items = [item for item in data if not grouping.size or examples.batch_size(item) == grouping.size]
    left_out = len(data) - len(items)
    if grouping.together:
        whole = [chunk for chunk in chunks(items, grouping.together) if len(chunk) == grouping.together]
        left_out = len(items) - grouping.together * len(whole)
        if not whole:
            raise _too_few_error(len(items), grouping.together)
        items = [put_together(chunk) for chunk in whole]
    inputs = [without_target(item, column) for item in items]
    return Feed(
        first=inputs[0],
        arguments=[(item,) for item in inputs],
        take=lambda item: item,
        grouping=grouping,
        left_out=left_out,
    )


def _too_few_error(items: int, size: int) -> LoadError:
    return LoadError(
        f"the data set has {items} items; the batch size asked for is {size}", remedy=f"give batch_sizes={items}"
    )


def _is_loader(made: Any) -> bool:
    return hasattr(made, "__iter__") and not isinstance(made, list | tuple | Mapping | str | bytes | set)


class _RestartedData:
    """What a generator function makes, made anew whenever it is iterated."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make())


class _PulledFeed:
    """A data set whose items the threads of a copy pull one after another, each copy its own share of them.

    A ticket stands for a call: the numbers of its items, or the items themselves.
    """

    def __init__(
        self, data: Any, column: int | None, *, share: tuple[int, int], loop: bool, group: Group | None
    ) -> None:
        self._data, self._column, self._share, self._loop = data, column, share, loop
        self._by_number = is_map_style(data)
        self._lock = threading.Lock()
        self._grouping = AS_THEY_ARE
        source = iter(range(len(data)) if self._by_number else data)
        head = next(source, _END)
        if head is not _END and group is not None:
            self._grouping = group(data, self._fetch(head))
        self._tickets = self._take_share(itertools.chain(() if head is _END else (head,), source))
        try:
            self._first = next(self._tickets)
        except StopIteration:
            raise self._nothing(head) from None
        self._begun = False

    def feed(self) -> Feed:
        return Feed(
            first=self._item(self._first),
            arguments=((),),
            take=self._take,
            begin=self._begin,
            grouping=self._grouping,
            left_out=len(self._data) % self._grouping.together if self._by_number and self._grouping.together else 0,
        )

    def _begin(self) -> None:
        self._tickets, self._begun = itertools.chain((self._first,), self._tickets), True

    def _take(self) -> Any:
        """The next item. At the end of the data set StopIteration ends the engine's loop, as its own iterators do."""
        if not self._begun:
            return self._item(self._first)
        while True:
            with self._lock:
                ticket = next(self._tickets, None)
                if ticket is None and self._loop:
                    self._tickets = self._take_share(iter(range(len(self._data)) if self._by_number else self._data))
                    ticket = next(self._tickets, None)
            if ticket is None:
                raise StopIteration
            item = self._item(ticket)
            if not self._grouping.size or examples.batch_size(item) == self._grouping.size:
                return item

    def _item(self, ticket: list[Any]) -> Any:
        """What a ticket stands for. Items of numbers are fetched here, outside the lock."""
        items = [self._fetch(each) for each in ticket]
        return without_target(put_together(items) if self._grouping.together else items[0], self._column)

    def _fetch(self, each: Any) -> Any:
        return _as_item(self._data[each] if self._by_number else each)

    def _take_share(self, source: Iterator[Any]) -> Iterator[list[Any]]:
        count = self._grouping.together or 1
        whole = (chunk for chunk in chunks(source, count) if len(chunk) == count)
        copy, copies = (0, 1) if self._loop else self._share
        return itertools.islice(whole, copy, None, copies)

    def _nothing(self, head: Any) -> LoadError:
        if head is not _END and self._grouping.together > 1 and self._share[0] == 0:
            count = len(self._data) if self._by_number else sum(1 for _ in self._data)
            return _too_few_error(count, self._grouping.together)
        many = f"fewer batches than the {self._share[1]} copies" if self._share[1] > 1 else "no items"
        return LoadError(f"the data set has {many}", remedy="use fewer copies, or loop_dataset=True")


def _as_item(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item
