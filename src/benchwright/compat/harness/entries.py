"""What a result says, as entries of the older harness: `{"NET latency": {"type", "metric", "unit", "values"}}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchwright.records import Metric, Operator, Result, Samples

NET = "NET"
LATENCY = "latency"
MICROSECONDS = 1e6  # in a second
Entry = dict[str, Any]


def entries(result: Result, *, metric: str = "", operators: bool = True) -> dict[str, Entry]:
    """Every entry of a result by its key, in order.

    What a program told is given as it told it. Of a model that was called here: its latency, call by call; its
    operators; and with `metric` error, its answers beside the golden ones. Of anything else: every metric.
    """
    told = result.details.get("entries")
    if isinstance(told, Mapping):
        return {str(key): dict(entry) for key, entry in told.items() if isinstance(entry, Mapping)}
    answers = result.details.get("answers")
    if metric == "error" and isinstance(answers, Mapping):
        return dict(_answer_entries(answers))
    found = [*_latency_entries(result)]
    if not metric:
        found += [_metric_entry(each) for each in result.metrics if not each.name.startswith(LATENCY)]
    if operators:
        found += map(_operator_entry, result.operators)
    return {key_of(entry): entry for entry in found}


def key_of(entry: Entry) -> str:
    """Returns the key of an entry."""
    return f"{entry['type']} {entry['metric']}"


def _latency_entries(result: Result) -> Iterator[Entry]:
    values = [value for samples in result.samples for value in _microseconds(samples)]
    if values:
        yield _entry(NET, LATENCY, "us", values)
        return
    known = {name: result.metric(f"{LATENCY}{suffix}") for name, suffix in _SUMMARY.items()}
    summary = {name: metric.estimate.point * MICROSECONDS for name, metric in known.items() if metric is not None}
    if summary:  # so many calls that only their distribution was kept
        whole = result.metric(LATENCY)
        yield {**_entry(NET, LATENCY, "us", []), "num_runs": whole.count if whole else 0, "summary": summary}


_SUMMARY = {"mean": "", "p0": "_min", "p50": "_p50", "p90": "_p90", "p99": "_p99", "p100": "_max"}


def _microseconds(samples: Samples) -> Iterator[float]:
    """Returns the latencies in microseconds, in the order of the calls."""
    return (value / (1e3 * samples.loops) for value in samples.columns.get(LATENCY, ()))


def _metric_entry(metric: Metric) -> Entry:
    return _entry(NET, metric.name, metric.unit, metric.values or (metric.estimate.point,))


def _operator_entry(operator: Operator) -> Entry:
    entry = _entry(operator.name, LATENCY, "us", (operator.seconds * MICROSECONDS,))
    return {**entry, "info_string": f"{operator.kind} {operator.shapes}".strip()}


def _answer_entries(answers: Mapping[str, Any]) -> Iterator[tuple[str, Entry]]:
    """Each output beside its golden one. Outputs too large to be kept, or not finite, give their errors alone."""
    for name, told in answers.items():
        found, golden = told.get("values"), told.get("golden")
        if _are_numbers(found) and _are_numbers(golden) and len(found) == len(golden):
            yield name, _output_entry(name, found, golden)
            continue
        for error in ("max_abs", "mean_abs", "max_rel", "mean_rel"):
            if isinstance(told.get(error), int | float):
                entry = _entry(name, f"{error}_error", "", (told[error],))
                yield key_of(entry), entry


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int | float) for value in values)


def _output_entry(name: str, found: Sequence[float], golden: Sequence[float]) -> Entry:
    pairs = zip(found, golden, strict=True)
    return {
        "type": name,
        "values": [*found],
        "control_values": [*golden],
        "diff_values": [one - other for one, other in pairs],
    }


def _entry(kind: str, metric: str, unit: str, values: Sequence[float]) -> Entry:
    return {"type": kind, "metric": metric, "unit": unit, "values": [*values]}
