"""Raw results become reports: one dict for each configuration, whatever became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from benchwright.compat.neuronperf import figures, plan
from benchwright.compat.neuronperf.measurement import RawResults
from benchwright.compat.neuronperf.plan import Configuration
from benchwright.errors import OptionError
from benchwright.records import Histogram, Result, Samples, Status, Timeline
from benchwright.worker.runtimes.pipeline.parts import NAMES

Report = dict[str, Any]
FINISHED, FAILED, PARTIAL = "finished", "failed", "partial"
_SHOWN = {"input_wait": "input", "preprocess": "preprocess", "infer": "infer", "postprocess": "postprocess"}
_TAGS = ("model_filename", "model_name")
_TIMED = (  # the fields that `_numbers` fills
    *(f"{name}_ms_p{q}" for name in ("latency", "infer") for q in figures.PERCENTILES),
    *("throughput_avg", "throughput_peak", "total_infs", "total_s", "e2e_avg_ms", "load_avg_ms", "warmup_avg_ms"),
    *(f"{name}_avg_ms" for name in _SHOWN.values()),
    *("cpu_avg_percent", "cpu_percent_p50", "mem_avg_percent", "mem_percent_p50", "cost_per_1m_inf"),
)


def get_reports(
    results: Iterable[tuple[Any, RawResults]],
    batch_sizes: int | Sequence[int] | None = None,
    cost_per_hour: float | None = None,
) -> list[Report]:
    """Reports of what `benchmark(..., return_timers=True)` gave. A value that there is not is None, with a reason in
    `notes`.

    `batch_sizes` is how many items a call of the model really had, where the inputs do not show it: one number, or one
    for each result. Throughput, items and cost are of these.
    """
    listed = list(results)
    sizes = _check_batch_sizes(batch_sizes, len(listed))
    return [
        report_of(config, measured, cost_per_hour, size) for (config, measured), size in zip(listed, sizes, strict=True)
    ]


def _check_batch_sizes(batch_sizes: int | Sequence[int] | None, count: int) -> list[int | None]:
    if batch_sizes is None:
        return [None] * count
    given = list(batch_sizes) if isinstance(batch_sizes, Sequence) else [batch_sizes] * count
    if len(given) != count:
        raise OptionError(
            f"batch_sizes has {len(given)} numbers for {count} results", remedy="give one, or one for each result"
        )
    return [plan.read_whole_numbers(size, "batch_sizes")[0] for size in given]


def get_report_by_tag(reports: Iterable[Report], tag: str) -> Report:
    """The report whose model goes by that name: its file name, its model name, or its file name's last part."""
    listed = list(reports)
    for report in listed:
        names = {str(report.get(key, "")) for key in _TAGS}
        if tag in names or tag in {name.rpartition("/")[2] for name in names}:
            return report
    raise OptionError(
        f"no report of {tag!r}", remedy=f"there are: {', '.join(str(r['model_filename']) for r in listed)}"
    )


def report_of(
    config: Configuration | Mapping[str, Any],
    measured: RawResults,
    cost_per_hour: float | None,
    batch_size: int | None = None,
) -> Report:
    """One configuration's report: its fields, its status and its numbers, which are None where nothing was timed."""
    shown = config.as_dict() if isinstance(config, Configuration) else dict(config)
    if batch_size is not None:
        shown["batch_size"] = batch_size
    report: Report = {
        **shown,
        "instance_type": _instance_type(measured.result or measured.evaluation),
        **dict.fromkeys(_TIMED),
        **_ending(measured),
    }
    result = measured.result
    if result is not None and result.status is Status.OK:
        report |= _numbers(result, measured, shown, cost_per_hour)
        report["notes"] |= _grouping_notes(result)
    else:
        why = "the configuration failed" if report["status"] == FAILED else "duration is 0"
        report["notes"]["timing"] = f"nothing was timed: {why}"
    if measured.cut and report["status"] != FAILED:
        report["notes"]["data set"] = f"only {_first_items(measured)} were used, the limit of what is written out"
    return report


def _grouping_notes(result: Result) -> dict[str, str]:
    """What was done to make batches of a data set's items."""
    together, left_out = result.details.get("items_a_call"), result.details.get("items_left_out")
    told = [f"{together} items of the data set were put together for each call"] if together else []
    told += [f"{left_out} items at its end make no whole batch and were left out"] if left_out else []
    return {"batches": "; ".join(told)} if told else {}


# ---- how it ended ----


def _ending(measured: RawResults) -> Report:
    told = Report(status=FINISHED, reason="", notes={}, warnings=[], start_dts=None, stop_dts=None)
    first = measured.result or measured.evaluation
    if first is None:
        return {**told, "status": FAILED, "reason": measured.error}
    began = datetime.fromisoformat(first.started_at)
    told |= {"start_dts": began.isoformat(), "stop_dts": (began + timedelta(seconds=first.duration)).isoformat()}
    told["warnings"] = [f"{warning.code}: {warning.seen}" for warning in first.warnings]
    if first.status is not Status.OK:
        return {**told, "status": FAILED, "reason": _reason(first)}
    return told | _accuracy(measured)


def _reason(result: Result) -> str:
    error = result.error
    return f"{result.status}" if error is None else f"{error.kind}: {error.message}"


def _accuracy(measured: RawResults) -> Report:
    evaluation = measured.evaluation
    if evaluation is None:
        return {}
    if evaluation.status is not Status.OK:
        return {"status": PARTIAL, "reason": f"timed, but accuracy failed: {_reason(evaluation)}"}
    found = evaluation.details["accuracy"]
    assert isinstance(found, dict)
    report = {**found, "eval_records": evaluation.details["records"]}
    if measured.cut:
        report |= {"status": PARTIAL, "reason": f"accuracy is of {_first_items(measured)} of the data set only"}
    return report


def _first_items(measured: RawResults) -> str:
    return f"the first {measured.items} items"


# ---- numbers ----


def _numbers(result: Result, measured: RawResults, shown: Mapping[str, Any], cost_per_hour: float | None) -> Report:
    samples, size = result.samples, int(shown["batch_size"])
    elapsed = max(each.elapsed for each in samples)
    calls = sum(each.calls for each in samples)
    latency = figures.pool_columns([each.histograms.get("latency", each.columns["latency"]) for each in samples])
    peak, until = _peak(samples, size, elapsed)
    average = figures.throughput_avg(calls, size, elapsed / 1e9)
    notes = {} if peak is not None else {"throughput_peak": f"there is no whole second in {until / 1e9:.3g} s"}
    if peak is not None and until < elapsed:
        notes["throughput_peak"] = f"of the first {until // figures.SECOND} s, whose calls are kept one by one"
    return {
        **{f"latency_ms_p{q}": value for q, value in figures.percentiles_ms(latency).items()},
        "throughput_avg": average,
        "throughput_peak": peak,
        "total_infs": calls * size,
        "total_s": elapsed / 1e9,
        "e2e_avg_ms": figures.mean_ms(latency),
        **_parts(measured, latency),
        **_once_per_copy(result, measured),
        **_machine(result, float(shown["stats_interval"])),
        "cost_per_1m_inf": figures.cost_per_1m(cost_per_hour, average),
        "notes": notes,
    }


def _peak(samples: Sequence[Samples], size: int, elapsed: int) -> tuple[float | None, int]:
    """The best whole second, and up to which instant it was looked for."""
    ends = [np.frombuffer(each.columns["end"], dtype=np.int64) for each in samples]
    limited = [figures.whole_until(e) for e, each in zip(ends, samples, strict=True) if each.histograms]
    until = min([elapsed, *limited])
    return figures.throughput_peak(np.concatenate(ends), size, 0, until), until


def _parts(measured: RawResults, latency: figures.Nanoseconds | Histogram) -> Report:
    """The parts of a call, over all copies; where nothing was apart the model's call is all there is."""
    copies = [copy.parts for copy in measured.copies if copy.parts]
    columns = {name: figures.pool_columns([copy[name] for copy in copies]) for name in NAMES} if copies else {}
    infer = columns.get("infer", latency)
    found: Report = {f"infer_ms_p{q}": value for q, value in figures.percentiles_ms(infer).items()}
    for name, shown in _SHOWN.items():
        column = infer if name == "infer" else columns.get(name)
        found[f"{shown}_avg_ms"] = 0.0 if column is None else figures.mean_ms(column)
    return found


def _once_per_copy(result: Result, measured: RawResults) -> Report:
    """What each copy does once, on average over the copies."""
    loads, warmups = [copy.load for copy in measured.copies], [copy.warmup for copy in measured.copies]
    for name, told in (("load_time", loads), ("warmup_time", warmups)):
        metric = result.metric(name)
        if not told and metric is not None:
            told.append(metric.estimate.point)
    return {"load_avg_ms": _ms(figures.mean(loads)), "warmup_avg_ms": _ms(figures.mean(warmups))}


def _machine(result: Result, interval: float) -> Report:
    """CPU and memory of all copies and what they started, as shares of the machine."""
    machine = result.environment.machine
    threads, memory = machine.get("threads"), machine.get("memory")
    cpu = _samples(result, "cpu", interval)
    cpu_metric = result.metric("cpu")
    if not cpu and cpu_metric is not None:
        cpu = [cpu_metric.estimate.point]
    if isinstance(threads, int):
        cpu = [value / threads for value in cpu]
    rss = _samples(result, "rss", interval)
    share = [100 * value / memory for value in rss] if isinstance(memory, int) else []
    return {
        "cpu_avg_percent": figures.mean(cpu),
        "cpu_percent_p50": figures.median(cpu),
        "mem_avg_percent": figures.mean(share),
        "mem_percent_p50": figures.median(share),
    }


def _samples(result: Result, name: str, interval: float) -> list[float]:
    found: Timeline | None = next((line for line in result.timelines if line.name == name), None)
    return [] if found is None else figures.resample(found.seconds, found.values, interval)


def _instance_type(result: Result | None) -> str | None:
    """The kind of machine: its processor, as nobody here asks a cloud."""
    cpu = result.environment.machine.get("cpu") if result is not None else None
    return str(cpu) if cpu else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
