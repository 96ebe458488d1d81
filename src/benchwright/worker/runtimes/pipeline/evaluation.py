"""A pass over a whole data set that asks how right a model is. Nothing in it is timed."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from benchwright.errors import LoadError, did_you_mean
from benchwright.records import Value
from benchwright.stats import accuracy
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes.failures import log_traceback

LAST = -1  # the target's column unless said


class Evaluation:
    """Metrics that see every item once. `asked` is JSON: a list of {name, metric, init}; see `make_metric`."""

    def __init__(self, asked: str, find: Callable[[str], Any]) -> None:
        self._metrics = {str(each["name"]): make_metric(each, find) for each in json.loads(asked)}
        self._records = 0

    def see(self, output: Any, target: Any, records: int = 1) -> None:
        """Lets every metric see what the model made of so many items, and their target."""
        for name, metric in self._metrics.items():
            with _name_failures(name):
                metric.process_record(output, target)
        self._records += records

    def figures(self) -> dict[str, Value]:
        """One value for each metric; None where the data leave it undefined."""
        found: dict[str, Value] = {}
        for name, metric in self._metrics.items():
            with _name_failures(name):
                found[name] = _json_value(type(metric).aggregate([metric]))
        return found

    @property
    def records(self) -> int:
        """How many items the metrics have seen."""
        return self._records


def make_metric(asked: dict[str, Any], find: Callable[[str], Any]) -> Any:
    """The metric that `asked["metric"]` names: a built-in one, or the user's own class by its reference."""
    name = str(asked["metric"])
    kind = find(name) if ":" in name else accuracy.BUILT_IN.get(name.lower())
    if kind is None:
        raise LoadError(f"unknown metric {name!r}", remedy=did_you_mean(name.lower(), accuracy.BUILT_IN))
    with _name_failures(name):
        return kind(**asked.get("init", {}))


@contextlib.contextmanager
def _name_failures(name: str) -> Iterator[None]:
    """Names the metric whose code, which may be the user's, failed inside."""
    try:
        yield
    except Exception as error:  # the border to the user's code
        log_traceback(error)
        raise LoadError(f"metric {name}: {describe_error(error)}", remedy="see the log") from error


def _json_value(value: Any) -> Value:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {str(key): _json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | bool | int) else str(value)
