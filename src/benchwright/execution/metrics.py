"""From what the copies of a case answered to metrics with intervals; those of a few calls without numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchwright.execution.attempt import CopyAnswer
from benchwright.records import (
    Arrivals,
    Better,
    Case,
    Estimate,
    Histogram,
    Load,
    Metric,
    Mode,
    Samples,
    Value,
)
from benchwright.stats import correlation, histogram, ranks, summary
from benchwright.stats.moments import FEW

BINS = 20  # equal stretches of time over which throughput is counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Seconds = list[float] | NDArray[np.float64]  # a list where they are few


def derive(case: Case, answers: Sequence[CopyAnswer]) -> list[Metric]:
    """Metrics of one measured case, pooled over its copies."""
    if case.load.mode is Mode.SINGLE:
        # How long a benchmark of asv's takes that gives its own number says nothing of that number.
        better = None if case.target.runtime == "asv" else Better.LOWER
        return [
            replace(_wall_time(answers), better=better),
            *(m for m in _one_off_metrics(answers) if m.name == "load_time"),
        ]
    if "outcome" in answers[0].samples.columns:
        from benchwright.execution import endpoint_metrics  # only served models need it, and numpy

        asked = _rate_metrics(case, answers) if case.load.mode is Mode.OPEN else []
        return [*endpoint_metrics.derive(case, answers, _percentiles(case)), *_one_off_metrics(answers), *asked]
    metrics = [*_latency_metrics(answers, _percentiles(case)), *_throughput(case, answers), *_one_off_metrics(answers)]
    if case.load.mode is Mode.OPEN:
        metrics += [*_service_metrics(answers, "service"), *_service_metrics(answers, "lateness")]
        metrics += _rate_metrics(case, answers)
    elif case.load.mode is Mode.OFFLINE:
        metrics += [*_service_metrics(answers, "service"), _makespan(answers)]
    return [*metrics, *_imbalance(case, answers)]


def per_copy(case: Case, answers: Sequence[CopyAnswer]) -> list[Value]:
    """What each copy did by itself: its median latency, its items per second, its calls."""
    return [
        {
            "copy": answer.samples.copy,
            "latency_p50": _median(answer),
            "throughput": _rate(case, answer),
            "calls": answer.samples.calls,
        }
        for answer in answers
    ]


def calls_per_query(case: Case) -> int:
    """How many calls the latency of one query covers: all of its streams."""
    return case.load.streams if case.load.mode is Mode.MULTISTREAM else 1


def value_of(metrics: Sequence[Metric], name: str) -> float | None:
    """The point of the metric of that name, or None."""
    return next((m.estimate.point for m in metrics if m.name == name), None)


def pool_columns(answers: Sequence[CopyAnswer], column: str) -> Seconds:
    """One column of all copies in seconds per call, in order of completion, the loop's own cost taken off."""
    parts = [_correct_for_loop(answer, column) for answer in answers]
    if sum(map(len, parts)) < FEW:
        done = sorted((end, i) for i, end in enumerate(end for a in answers for end in a.samples.columns["end"]))
        values = [float(value) for part in parts for value in part]
        return [values[i] for _, i in done]
    import numpy as np

    ends = [np.frombuffer(a.samples.columns["end"], dtype=np.int64) for a in answers]
    order = np.argsort(np.concatenate(ends), kind="stable")
    return np.asarray(np.concatenate(parts)[order], dtype=np.float64)


def loop_cost(answer: CopyAnswer) -> int:
    """ns that the timed loop adds to each sample and that are taken off again; an open loop is left as it is."""
    return 0 if "scheduled" in answer.samples.columns else int(answer.ready["clock"]["loop"])


def _correct_for_loop(answer: CopyAnswer, column: str) -> Seconds:
    kept, cost, unit = answer.samples.columns[column], loop_cost(answer), answer.samples.loops * 1e9
    if len(kept) < FEW:
        return [max(value - cost, 0) / unit for value in kept]
    import numpy as np

    per_call = np.maximum(np.frombuffer(kept, dtype=np.int64) - cost, 0) / unit
    return np.asarray(per_call, dtype=np.float64)


def _percentiles(case: Case) -> list[float]:
    """Returns the percentiles to compute: the usual ones, and those that an objective bounds."""
    bounded = (o.metric.removeprefix("latency_p") for o in case.load.objectives if o.metric.startswith("latency_p"))
    return sorted({*summary.PERCENTILES, *map(float, bounded)})


def _latency_metrics(answers: Sequence[CopyAnswer], percentiles: Sequence[float]) -> list[Metric]:
    folded = _merge_histograms(answers, "latency")
    if folded is not None:
        return _from_histogram("latency", folded, answers, percentiles)
    values = pool_columns(answers, "latency")
    ends = (min(values), max(values)) if isinstance(values, list) else (float(values.min()), float(values.max()))
    extremes = zip(("min", "max"), ends, strict=True)
    return [
        _time("latency", summary.mean_interval(values), len(values)),
        *(_time(f"latency_p{q:g}", summary.quantile_interval(values, q / 100), len(values)) for q in percentiles),
        *(
            _time(f"latency_{name}", Estimate(point=v, low=None, high=None, method="exact"), len(values))
            for name, v in extremes
        ),
    ]


def _merge_histograms(answers: Sequence[CopyAnswer], column: str) -> Histogram | None:
    """One histogram of all copies, when any of them had to fold its calls into one."""
    if not any(column in a.samples.histograms for a in answers):
        return None
    whole, loops = histogram.empty(), _most_loops(answers)
    for answer in answers:
        part = answer.samples.histograms.get(column) or histogram.fold(answer.samples.columns[column])
        whole = histogram.merge(whole, histogram.scale_values(part, loops // answer.samples.loops))
    return whole


def _most_loops(answers: Sequence[CopyAnswer]) -> int:
    """Returns the largest count of loops: copies calibrate themselves, and may settle on different powers of two."""
    return max(answer.samples.loops for answer in answers)


def _from_histogram(
    name: str, folded: Histogram, answers: Sequence[CopyAnswer], percentiles: Sequence[float] = summary.PERCENTILES
) -> list[Metric]:
    cost, loops, raw = loop_cost(answers[0]), _most_loops(answers), pool_columns(answers, name)

    def to_seconds(estimate: Estimate) -> Estimate:
        def seconds(value: float | None) -> float | None:
            return None if value is None else max(0.0, value - cost) / (loops * 1e9)

        point = seconds(estimate.point)
        assert point is not None
        return replace(estimate, point=point, low=seconds(estimate.low), high=seconds(estimate.high))

    def quantile(q: float) -> Estimate:
        return to_seconds(summary.from_histogram(folded, q, kept=raw))

    def exact(value: float) -> Estimate:
        return to_seconds(Estimate(point=value, low=None, high=None, method="exact"))

    return [
        _time(name, to_seconds(summary.mean_from_histogram(folded, inflation=_inflation(raw))), folded.total),
        *(_time(f"{name}_p{q:g}", quantile(q / 100), folded.total) for q in percentiles),
        _time(f"{name}_min", exact(folded.minimum), folded.total),
        _time(f"{name}_max", exact(folded.maximum), folded.total),
    ]


def _inflation(raw: Seconds) -> float:
    """What autocorrelation costs, from the calls that were kept one by one: a histogram has forgotten their order."""
    import numpy as np

    values = np.asarray(raw, dtype=np.float64)
    length = correlation.batch_length(values.size)
    batches = values[: values.size - values.size % length].reshape(-1, length).mean(axis=1)
    return correlation.inflation(batches.tolist(), length, float(values.var()))


def _throughput(case: Case, answers: Sequence[CopyAnswer]) -> list[Metric]:
    """Items per second: completions over elapsed time, empty time included, summed over the copies."""
    points = [_rate(case, answer) for answer in answers]
    spreads = [_relative_spread(answer.samples) for answer in answers]
    point = sum(points)
    if any(spread is None for spread in spreads):
        estimate = Estimate(point=point, low=None, high=None, method="one stretch of time")
    else:
        half = math.sqrt(sum((p * (s or 0.0)) ** 2 for p, s in zip(points, spreads, strict=True)))
        method = f"counts in {BINS} stretches of time"
        estimate = Estimate(point=point, low=max(0.0, point - half), high=point + half, method=method)
    return [Metric(name="throughput", unit="/s", better=Better.HIGHER, estimate=estimate, count=len(points))]


def _rate(case: Case, answer: CopyAnswer) -> float:
    """Items per second of one copy."""
    items = answer.samples.calls * int(answer.ready["items_per_call"]) * calls_per_query(case)
    return items * 1e9 / max(1, answer.samples.elapsed)


def _median(answer: CopyAnswer) -> float:
    """One copy's median latency in seconds."""
    folded = _merge_histograms([answer], "latency")
    if folded is None:
        values = _correct_for_loop(answer, "latency")
        if isinstance(values, list):
            return sorted(values)[ranks.rank(len(values), 0.5) - 1]
        import numpy as np

        return float(np.quantile(values, 0.5, method="inverted_cdf"))
    point = summary.from_histogram(folded, 0.5).point
    return max(0.0, point - loop_cost(answer)) / (answer.samples.loops * 1e9)


def _imbalance(case: Case, answers: Sequence[CopyAnswer]) -> list[Metric]:
    """How unlike the copies' throughputs are. In an open loop that would be the schedule's doing, not theirs."""
    rates = [_rate(case, answer) for answer in answers]
    if len(rates) < 2 or case.load.mode is Mode.OPEN or not any(rates):
        return []
    percent = 100 * (max(rates) - min(rates)) / (sum(rates) / len(rates))
    estimate = Estimate(point=percent, low=None, high=None, method="largest less smallest over the mean")
    return [Metric(name="imbalance", unit="%", better=Better.LOWER, estimate=estimate, count=len(rates))]


def _relative_spread(samples: Samples) -> float | None:
    """Half-width of a 95 % interval of the completion rate, relative to it, from its spread over time."""
    if len(samples.columns["end"]) < 3 * BINS:
        return None
    import numpy as np

    ends = np.frombuffer(samples.columns["end"], dtype=np.int64)
    counts, _ = np.histogram(ends, bins=BINS)
    mean = float(counts.mean())
    return float(2.093 * counts.std(ddof=1) / np.sqrt(BINS) / mean)  # Student's t, 19 degrees of freedom


def _one_off_metrics(answers: Sequence[CopyAnswer]) -> list[Metric]:
    """What each copy does once: load, first call, warm-up. The slowest copy counts."""
    warmups = [a.ready["warmup"] for a in answers]
    figures = {
        "load_time": max(float(a.ready["load_time"]) for a in answers),
        "first_call": max(w["first"] for w in warmups) / 1e9,
        "warmup_time": max(w["elapsed"] for w in warmups) / 1e9,
    }
    return [
        _time(name, Estimate(point=value, low=None, high=None, method="observed once"), len(answers))
        for name, value in figures.items()
    ]


def _wall_time(answers: Sequence[CopyAnswer]) -> Metric:
    """The one call's time; the slowest copy counts."""
    longest = max(answer.samples.elapsed for answer in answers) / 1e9
    return _time("wall_time", Estimate(point=longest, low=None, high=None, method="observed once"), len(answers))


def _service_metrics(answers: Sequence[CopyAnswer], name: str) -> list[Metric]:
    """The call itself (`service`, with its mean), or what the generator added (`lateness`)."""
    wanted = ([name] if name == "service" else []) + [f"{name}_p{q}" for q in (50, 99)]
    folded = _merge_histograms(answers, name)
    if folded is not None:
        return [m for m in _from_histogram(name, folded, answers) if m.name in wanted]
    values = pool_columns(answers, name)
    quantiles = [_time(f"{name}_p{q}", summary.quantile_interval(values, q / 100), len(values)) for q in (50, 99)]
    return [_time(name, summary.mean_interval(values), len(values)), *quantiles] if name == "service" else quantiles


def _makespan(answers: Sequence[CopyAnswer]) -> Metric:
    """From time zero to the end of the last call."""
    longest = max(answer.samples.elapsed for answer in answers) / 1e9
    return _time("makespan", Estimate(point=longest, low=None, high=None, method="observed once"), len(answers))


def _rate_metrics(case: Case, answers: Sequence[CopyAnswer]) -> list[Metric]:
    delivered = sum(delivered_rate(a.samples, case.load) for a in answers)
    exact = Estimate(point=delivered, low=None, high=None, method="arrivals over the time they took")
    metrics = [Metric(name="rate", unit="/s", better=None, estimate=exact)]
    if case.load.find_rate and answers[0].measured["rate"] is not None:  # None: no rate met the objective
        estimate = Estimate(point=float(answers[0].measured["rate"]), low=None, high=None, method="search")
        metrics.append(Metric(name="max_rate", unit="/s", better=Better.HIGHER, estimate=estimate))
    return metrics


def intended_rate(samples: Samples, load: Load) -> float:
    """Arrivals per second of the schedule."""
    arrivals, seconds = _schedule(samples, load)
    return arrivals / seconds if seconds > 0 else 0.0


def delivered_rate(samples: Samples, load: Load) -> float:
    """Arrivals per second that were let go: never more than were drawn, fewer as the last is later than the first.

    A worker that waits for its own arrivals lets go what it begins.
    """
    arrivals, seconds = _schedule(samples, load)
    first, last = (_lateness(samples, load, i) for i in (0, -1))
    return arrivals / (seconds + max(0.0, last - first)) if seconds > 0 else 0.0


def _lateness(samples: Samples, load: Load, i: int) -> float:
    """Seconds from when an arrival was due until it was let go."""
    column = {name: values[i] for name, values in samples.columns.items()}
    let_go = column["end"] - column["service"] if load.workers == 1 else column["scheduled"] + column["lateness"]
    return (let_go - column["scheduled"]) / 1e9


def _schedule(samples: Samples, load: Load) -> tuple[int, float]:
    """How many arrivals were drawn for how many seconds: those that were asked for, which throughput is of too.

    A count, a trace or a search asks for none, and of very many arrivals the last are not kept one by one: there it is
    the gaps between the first arrival and the last.
    """
    is_timed = load.arrivals is not Arrivals.TRACE and load.samples is None and not load.find_rate
    if is_timed and load.duration and not samples.histograms:
        return samples.calls, load.duration
    instants = samples.columns["scheduled"]
    return len(instants) - 1, (max(instants) - min(instants)) / 1e9


def _time(name: str, estimate: Estimate, count: int) -> Metric:
    return Metric(name=name, unit="s", better=Better.LOWER, estimate=estimate, count=count)
