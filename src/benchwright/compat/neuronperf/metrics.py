"""The accuracy metrics that a name may stand for. Names do not mind their case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchwright.errors import OptionError, did_you_mean
from benchwright.stats.accuracy import BUILT_IN

Asked = Mapping[str, Any]  # name, metric (a built-in's name, or a class), init

_registered: dict[str, Asked] = {}


def register_metric(name: str, cls: type) -> None:
    """Makes `name` stand for a class with `process_record(output, target)` and a static `aggregate(metrics)`."""
    for method in ("process_record", "aggregate"):
        if not callable(getattr(cls, method, None)):
            raise OptionError(
                f"metric {name}: {getattr(cls, '__name__', cls)} has no {method}",
                remedy="a metric needs process_record(self, output, target) and a static aggregate(metrics)",
            )
    _registered[name.lower()] = {"metric": cls, "init": {}}


def register_metric_from_existing(old: str, new: str, **init: Any) -> None:
    """Makes `new` stand for the metric `old` with other arguments, for instance `topk` with `k=3`."""
    known = _found(old)
    _registered[new.lower()] = {"metric": known["metric"], "init": {**known["init"], **init}}


def asked(metrics: Iterable[Any] | str | None) -> list[Asked]:
    """The metrics of a call: names, or classes of the user's own."""
    listed = [metrics] if isinstance(metrics, str) else list(metrics or ())
    return [{"name": _name(each), **_found(each)} for each in listed]


def _name(metric: Any) -> str:
    return metric if isinstance(metric, str) else str(getattr(metric, "__name__", metric))


def _found(metric: Any) -> Asked:
    if not isinstance(metric, str):
        return {"metric": metric, "init": {}}
    name = metric.lower()
    if name in _registered:
        return _registered[name]
    if name not in BUILT_IN:
        raise OptionError(f"unknown metric {metric!r}", remedy=did_you_mean(name, [*BUILT_IN, *_registered]))
    return {"metric": name, "init": {}}
