"""What the caller gives as inputs becomes what each configuration is fed."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.compat.neuronperf.handover import Refer
from benchwright.compat.neuronperf.messages import VOICE
from benchwright.errors import LoadError, OptionError, TargetError
from benchwright.worker.runtimes.pipeline import batches, examples, feeds


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedInputs:
    """Inputs that are ready to be used: a folder of examples, or a reference to a data set."""

    source: str
    kind: str
    count: int = 1
    cut: bool = False  # there were more items than are written out


class CallerInputs:
    """The caller's inputs. `batch_sizes` are the sizes for which there are inputs; `prepare(size)` makes one ready.

    An array, a mapping or a tuple is one example, a list is several; anything else that has items or can be iterated,
    and a function that makes such a thing, is a data set.
    """

    def __init__(
        self,
        inputs: Any,
        *,
        asked: Sequence[int] | None,
        prepared: bool,
        column: int | None,
        loader: Callable[[Any, int], Any] | None = None,
    ) -> None:
        self._inputs, self._column, self._asked, self._prepared = inputs, column, asked, prepared
        self._loader = loader
        listed = isinstance(inputs, list)
        self.is_dataset = column is not None or loader is not None or not (listed or _is_example(inputs))
        self._made: dict[tuple[int, int | None], PreparedInputs] = {}
        self._examples: list[Any] = [] if self.is_dataset else (inputs if listed else [inputs])
        if not self.is_dataset and not self._examples:
            raise OptionError("inputs is an empty list", remedy="give at least one example")
        self.batch_sizes = self._find_sizes()

    def prepare(self, size: int, folder: Path, refer: Refer, number: int | None = None) -> PreparedInputs:
        """What a configuration of this batch size is fed; examples are written below `folder`.

        `number` is that of the input which its index names: that one is used if it has the size.
        """
        key = (0, None) if self.is_dataset else (size, number)
        if key not in self._made:
            self._made[key] = (
                self._data_set(folder, refer) if self.is_dataset else self._write_examples(size, number, folder)
            )
        return self._made[key]

    def check(self, size: int) -> None:
        """Raises an error that names both sizes when there is nothing for this one; of a data set, the copies tell."""
        if not self.is_dataset and size not in self.batch_sizes:
            have = ", ".join(map(str, self.batch_sizes))
            raise OptionError(
                f"batch size {size} was asked for; the inputs have a leading dimension of {have}",
                remedy="give a list of inputs with one for each batch size",
            )

    def _find_sizes(self) -> list[int]:
        if self._prepared and self._asked:  # what preprocess is given need not look like what the model gets
            return list(self._asked)
        if not self.is_dataset:
            return list(dict.fromkeys(map(examples.batch_size, self._examples)))
        if self._asked:  # the worker compares it with the first item
            return list(self._asked)
        if self._loader is not None:
            return [self._loader_batch_size(self._loader)]
        data, item = self._first_item()
        with _blame_inputs():
            feeds.without_target(item, self._column)  # refuses an item without a target
        return [batches.natural_size(data, item, self._column)]

    def _first_item(self) -> tuple[Any, Any]:
        data = _make_data_set(self._inputs)
        for item in feeds.items_of(data):
            self._inputs = _put_back(self._inputs, data, item)
            return data, item
        raise OptionError("the data set is empty")

    def _loader_batch_size(self, loader: Callable[[Any, int], Any]) -> int:
        """Returns the size of the batches that the user's own loader makes of the data set."""
        if hasattr(self._inputs, "__next__"):
            raise OptionError(
                "the batch size of dataset_loader_fn's batches is not known before the data set is used up",
                remedy="give batch_sizes",
            )
        for item in feeds.items_of(feeds.apply_loader(loader, _make_data_set(self._inputs), 1)):
            return examples.batch_size(feeds.without_target(item, self._column))
        raise OptionError("dataset_loader_fn gives no batch")

    def _write_examples(self, size: int, number: int | None, folder: Path) -> PreparedInputs:
        chosen = self._examples
        if not (self._prepared and self._asked):
            chosen = [each for each in chosen if examples.batch_size(each) == size]
            named = self._examples[number : number + 1] if number is not None else []
            if named and examples.batch_size(named[0]) == size:
                chosen = named
        elif self._asked and len(self._asked) == len(chosen):
            chosen = [chosen[list(self._asked).index(size)]]
        return self._write(folder / f"batch-{size}-{'all' if number is None else number}", chosen)

    def _data_set(self, folder: Path, refer: Refer) -> PreparedInputs:
        once = isinstance(self._inputs, list | _RestoredIterator) or hasattr(self._inputs, "__next__")
        if not once:  # what can be iterated once only must do for every configuration
            with contextlib.suppress(TargetError):
                return PreparedInputs(source=refer(self._inputs, "inputs"), kind=feeds.DATA_SET)
        return self._write(folder / "items", feeds.items_of(_make_data_set(self._inputs)))

    def _write(self, folder: Path, items: Any) -> PreparedInputs:
        with _blame_inputs():
            count, complete = examples.write(folder, items)
        if not count:
            raise OptionError("the data set is empty")
        if not complete:
            VOICE.tell(
                f"the data set is used up to its item {count}; "
                "give a function that makes it, at the top level of a file, to use all of it"
            )
        return PreparedInputs(source=str(folder), kind=feeds.EXAMPLES, count=count, cut=not complete)


@contextlib.contextmanager
def _blame_inputs() -> Iterator[None]:
    """Turns a `LoadError` into an `OptionError` about the inputs, which the caller can mend before measuring."""
    try:
        yield
    except LoadError as error:
        raise OptionError(f"inputs: {error.message}", remedy=error.remedy) from None


def _is_example(inputs: Any) -> bool:
    return isinstance(inputs, tuple | Mapping | str | bytes | int | float) or examples.is_array(inputs)


def _make_data_set(inputs: Any) -> Any:
    """Returns the data set; a function or class is called for it."""
    data = inputs() if inspect.isroutine(inputs) or inspect.isclass(inputs) else inputs
    if not (hasattr(data, "__iter__") or hasattr(data, "__getitem__")):
        raise OptionError(
            f"inputs: {type(data).__name__} is neither an example nor a data set",
            remedy="give an array, a tuple of arrays, a list of examples, or something with items",
        )
    return data


def _put_back(inputs: Any, data: Any, first: Any) -> Any:
    """Returns the inputs with their first item still in them: an iterator gives it only once."""
    return _RestoredIterator(first, data) if inputs is data and hasattr(data, "__next__") else inputs


class _RestoredIterator:
    """An iterator with its first item put back."""

    def __init__(self, first: Any, rest: Any) -> None:
        self._items = itertools.chain((first,), rest)

    def __iter__(self) -> Any:
        return self._items
