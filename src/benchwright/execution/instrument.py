"""The instrument judging itself: what measuring cost, what the machine did meanwhile, and what to trust."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from benchwright import schema
from benchwright.errors import did_you_mean
from benchwright.execution import client_health
from benchwright.execution.attempt import CopyAnswer
from benchwright.execution.metrics import delivered_rate, intended_rate, loop_cost, pool_columns, value_of
from benchwright.execution.searches import SEARCH, read_probes
from benchwright.machine.monitors import Observation
from benchwright.records import Case, Metric, Mode, Objective, ResultWarning, Value
from benchwright.stats import histogram, steady, summary, validity
from benchwright.stats.moments import Values, as_list
from benchwright.units import format_value, objectives
from benchwright.units.rates_tried import describe_none
from benchwright.worker.engine.rate_search import PERCENTILE
from benchwright.worker.engine.warmup import blocks

OTHERS_NOISY, OTHERS_BAD = 10.0, 60.0  # % of one core taken by other processes
STEAL_NOISY, STEAL_BAD = 1.0, 10.0  # % of the time taken by the hypervisor
MOST_WARNED = 99  # percentiles beyond need so many calls that only their own method text says so
WIDE = 0.05  # relative half-width of the median's interval
IMBALANCED = 10.0  # % between the fastest and the slowest copy
OFF_RATE = 0.005  # relative difference of delivered and intended arrivals
OBJECTIVE_MISSED = "objective-missed"


def facts(
    case: Case, answers: Sequence[CopyAnswer], metrics: Sequence[Metric], observation: Observation
) -> dict[str, Value]:
    """Returns what measuring itself cost in this run, and a verdict on it."""
    samples = [a.samples for a in answers]
    clock, warm = answers[0].ready["clock"], answers[0].ready["warmup"]
    recorded = sum(len(s.columns["latency"]) * s.loops for s in samples)
    columns = len(samples[0].columns)
    told: dict[str, Value] = {
        "clock_cost_ns": clock["read"],
        "clock_resolution_ns": clock["resolution"],
        "cost_per_call_ns": clock["loop"] / samples[0].loops,
        "cost_taken_off_ns": loop_cost(answers[0]) / samples[0].loops,
        "wakeup_error_ns": None if case.load.mode is Mode.SINGLE else answers[0].ready["oversleep"],
        "loops": samples[0].loops,
        "recorded_calls": recorded,
        "folded_calls": sum(s.calls for s in samples) - recorded,
        "bytes_per_call": 8 if columns == 2 else 8 * (columns - 1),
        "gc_collections": sum(int(a.measured["gc_collections"]) for a in answers),
        "warmup_calls": warm["calls"],
        "warmup_cut": warm["cut"],
        "warmup_reason": warm["reason"],
        "steady": _is_steady(answers),
        "cpu_others_percent": value_of(metrics, "cpu_others"),
        "steal_percent": value_of(metrics, "steal"),
        "watching_percent": observation.cost,
    }
    if any(s.histograms for s in samples):
        told["histogram_error"] = max(histogram.error_bound(h) for s in samples for h in s.histograms.values())
    if case.load.mode is Mode.OPEN:
        told["asked_rate"] = case.load.rate  # None: a search chose it, or a trace holds the arrivals
        told["intended_rate"] = sum(intended_rate(s, case.load) for s in samples)
        told["delivered_rate"] = sum(delivered_rate(s, case.load) for s in samples)
        told["lateness_p99_ns"] = (value_of(metrics, "lateness_p99") or 0.0) * 1e9
        told["probes"] = list(answers[0].measured["probes"])
    if case.load.objectives:
        told["objectives"] = _judge_objectives(case, metrics)
    told.update(observation.unavailable)
    faults = client_health.find_faults(answers, metrics)
    reasons = ", ".join(fault.seen for fault in faults)
    told["verdict"] = f"invalid: {reasons}" if faults else _verdict(case, metrics, told)
    return told


def warnings(
    case: Case, answers: Sequence[CopyAnswer], metrics: Sequence[Metric], told: Mapping[str, Value]
) -> list[ResultWarning]:
    """What a reader should know before trusting the numbers, each with what to do about it."""
    found = [*_runtime_warnings(answers), *_warmup_warnings(case, answers, told)]
    found += [*_percentile_warnings(metrics), *_speed_warnings(case, answers)]
    found += [*_copy_warnings(case, metrics), *client_health.warn_of(client_health.find_faults(answers, metrics))]
    if case.load.mode is Mode.OPEN:
        found += _open_loop_warnings(case, metrics, told)
    others, steal = _number(told["cpu_others_percent"]), _number(told["steal_percent"])
    if others > OTHERS_NOISY or steal > STEAL_NOISY:
        seen = f"other processes took {others:.0f} % of a core, the hypervisor {steal:.1f} % of the time"
        found.append(_warning("busy-machine", seen, "measure on a quieter machine, or pin with --cpus"))
    found += [*_missed_objectives(case, answers, metrics, told), *_missed_bounds(metrics)]
    if told["gc_collections"] and case.load.mode is not Mode.SINGLE:
        seen = f"{told['gc_collections']} garbage collections ran while calls were timed"
        found.append(_warning("gc-ran", seen, "the measured code turns the collector on; turn it off there"))
    return found


def _is_steady(answers: Sequence[CopyAnswer]) -> bool | None:
    """Whether the measured calls themselves show no drift or step; None when they are too few to tell."""
    column = "service" if "service" in answers[0].samples.columns else "latency"  # queues drift by nature
    latencies = pool_columns(answers, column)
    return steady.detect(blocks(as_list(latencies))).steady if len(latencies) >= steady.FEWEST else None


def _verdict(case: Case, metrics: Sequence[Metric], told: Mapping[str, Value]) -> str:
    others, steal = _number(told["cpu_others_percent"]), _number(told["steal_percent"])
    bad: list[str] = []
    noisy: list[str] = []
    for value, limit_noisy, limit_bad, text in (
        (others, OTHERS_NOISY, OTHERS_BAD, f"others took {others:.0f} % of a core"),
        (steal, STEAL_NOISY, STEAL_BAD, f"steal {steal:.1f} %"),
    ):
        if value > limit_noisy:
            (bad if value > limit_bad else noisy).append(text)
    if case.load.mode is Mode.OPEN and not case.load.find_rate and _off_rate(told) > OFF_RATE:
        bad.append(f"arrivals were off by {_off_rate(told):.2%}")
    if not told["steady"] and case.load.mode is not Mode.SINGLE:
        noisy.append("too few calls to tell whether it is steady" if told["steady"] is None else "not steady")
    median = next((m.estimate for m in metrics if m.name == "latency_p50"), None)
    if median and median.low is not None and median.high is not None and median.point > 0:
        width = (median.high - median.low) / 2 / median.point
        if width > WIDE:
            noisy.append(f"median known to ±{width:.0%}")
    if bad:
        return "unreliable: " + ", ".join(bad + noisy)
    return "noisy: " + ", ".join(noisy) if noisy else "trustworthy"


def _runtime_warnings(answers: Sequence[CopyAnswer]) -> list[ResultWarning]:
    """What the runtime itself warned of, once."""
    said = [w for a in answers for w in (*a.ready["warnings"], *a.measured["warnings"])]
    return list(dict.fromkeys(schema.decode(ResultWarning, w, where="answer.warnings") for w in said))


def _warmup_warnings(case: Case, answers: Sequence[CopyAnswer], told: Mapping[str, Value]) -> list[ResultWarning]:
    cold = [a.ready["warmup"] for a in answers if not a.ready["warmup"]["steady"]]
    found: list[ResultWarning] = []
    if case.load.warmup == 0 or case.load.mode is Mode.SINGLE:  # who asked for none need not be told of it
        return found
    if cold:
        seconds = format_value(cold[0]["elapsed"] / 1e9, "s")
        seen = f"not steady after {cold[0]['calls']} warm-up calls in {seconds} ({cold[0]['reason']})"
        found.append(_warning("never-steady", seen, "give --warmup more seconds, or look at the plot over time"))
    elif told["steady"] is False:
        seen = "latency drifts or steps within the measured calls"
        found.append(_warning("drift", seen, "measure longer with --duration, and look at the plot over time"))
    return found


def _percentile_warnings(metrics: Sequence[Metric]) -> list[ResultWarning]:
    latency = next((m for m in metrics if m.name == "latency"), None)
    if latency is None:
        return []
    short = validity.check(latency.count, [q / 100 for q in summary.PERCENTILES if q <= MOST_WARNED])
    if not short:
        return []
    return [_warning("few-samples", "; ".join(map(str, short)), "measure longer with --duration or --samples")]


def _speed_warnings(case: Case, answers: Sequence[CopyAnswer]) -> list[ResultWarning]:
    """Warns when calls take turns at two speeds: one number describes neither."""
    if case.load.mode is Mode.SINGLE or (two := summary.speeds(_good_latencies(answers))) is None:
        return []
    lower, higher = format_value(two.lower, "s"), format_value(two.higher, "s")
    seen = f"two speeds seen: {lower} and {higher} ({two.share:.0%} of the calls), each for a while"
    return [_warning("two-speeds", seen, "look at the plot over time: which is meant, and what switches between them?")]


def _good_latencies(answers: Sequence[CopyAnswer]) -> Values:
    """The latencies of all calls; of requests, those that succeeded."""
    if any("outcome" not in answer.samples.columns for answer in answers):
        return pool_columns(answers, "latency")
    from benchwright.execution.endpoint_metrics import Requests

    requests = Requests([answer.samples for answer in answers])
    latencies: Values = requests.columns["latency"][requests.good] / 1e9
    return latencies


def _copy_warnings(case: Case, metrics: Sequence[Metric]) -> list[ResultWarning]:
    apart = value_of(metrics, "imbalance") or 0.0
    if apart <= IMBALANCED:
        return []
    seen = f"the throughputs of the {case.load.copies} copies lie {apart:.0f} % apart"
    return [_warning("imbalance", seen, "give each copy CPUs of its own with --cpus, or use fewer --copies")]


def _open_loop_warnings(case: Case, metrics: Sequence[Metric], told: Mapping[str, Value]) -> list[ResultWarning]:
    found, searched = [], case.load.find_rate
    late, median = value_of(metrics, "lateness_p99") or 0.0, value_of(metrics, "latency_p50") or 0.0
    if late > 0.1 * median:
        seen = f"1 % of the arrivals were issued more than {format_value(late, 's')} late"
        found.append(_warning("late-generator", seen, "leave a CPU free for the generator"))
    if _off_rate(told) > OFF_RATE:
        delivered, intended = _number(told["delivered_rate"]), _number(told["intended_rate"])
        seen = f"{delivered:.2f} arrivals/s were issued, {intended:.2f} were drawn"
        remedy = f"{'' if searched else 'lower --rate or '}leave a CPU free for the generator"
        found.append(_warning("off-rate", seen, remedy))
    service = value_of(metrics, "service_p50") or 0.0
    queued = median - service - (value_of(metrics, "lateness_p50") or 0.0)
    gap = 1 / max(1e-9, _number(told["intended_rate"]))
    if service > 0 and queued > max(10 * service, gap):  # less than a gap is the time it takes to wake a worker
        seen = f"calls wait longer than they run: {format_value(queued, 's')} against {format_value(service, 's')}"
        served = "the rate is more than the target can serve; try --find-rate"
        found.append(_warning("overload", seen, "bound the wait with a tighter --objective" if searched else served))
    return found


def _judge_objectives(case: Case, metrics: Sequence[Metric]) -> dict[str, Value]:
    """Each objective as it was read, with its verdict. A search judges by the rate it found, on the safe side."""
    found: dict[str, Value] = {}
    for objective in case.load.objectives:
        metric = next((m for m in metrics if m.name == objective.metric), None)
        met = metric is not None and objectives.holds(objective, metric.estimate.point)
        if case.load.find_rate:
            met = value_of(metrics, "max_rate") is not None
        found[objectives.describe(objective, metric)] = {
            "met": met,
            "value": metric.estimate.point if metric else None,
            "unit": metric.unit if metric else "",
        }
    return found


def _missed_objectives(
    case: Case, answers: Sequence[CopyAnswer], metrics: Sequence[Metric], told: Mapping[str, Value]
) -> list[ResultWarning]:
    """Bounds that do not hold. A search for a rate has judged them already: it found one, or it says what it tried."""
    if case.load.find_rate:
        return [] if value_of(metrics, "max_rate") else [_no_rate(case, answers, metrics, told)]
    found = []
    for objective in case.load.objectives:
        metric = next((m for m in metrics if m.name == objective.metric), None)
        if metric is None:
            remedy = f"--objective: {did_you_mean(objective.metric, [m.name for m in metrics])}"
            found.append(_warning(OBJECTIVE_MISSED, f"{objective.metric} is not measured here", remedy))
        elif not objectives.holds(objective, metric.estimate.point):
            value, bound = (format_value(v, metric.unit) for v in (metric.estimate.point, objective.bound))
            seen = f"{objective.metric} is {value}, not {objective.relation} {bound}"
            remedy = "make the target faster" if metric.unit in ("s", "/s") else "make the target better"
            found.append(_warning(OBJECTIVE_MISSED, seen, f"{remedy}, or change --objective"))
    return found


def _no_rate(
    case: Case, answers: Sequence[CopyAnswer], metrics: Sequence[Metric], told: Mapping[str, Value]
) -> ResultWarning:
    """What was tried, and how far the rate was off whose calls are those of the answer."""
    probes = read_probes(told["probes"])
    if any(probe.values for probe in probes):
        seen = describe_none(probes, case.load.objectives)
        return _warning(OBJECTIVE_MISSED, seen, _advise(case, answers))
    rates = sorted((probe.rate for probe in probes), reverse=True)
    tried = ", ".join(format_value(rate, "/s") for rate in rates)
    missed: list[str] = []
    kept: list[str] = []  # which the search did not blame, unless there is nothing else
    for objective in case.load.objectives:
        metric = next((m for m in metrics if m.name == objective.metric), None)
        found, unit = (metric.estimate.point, metric.unit) if metric else (_latency_at(objective, answers), "s")
        if found is None:
            missed.append(f"{objective.metric} is not measured here")
            continue
        holds = "not surely" if objectives.holds(objective, found) else "not"
        bound = f"{objective.relation} {format_value(objective.bound, unit)}"
        said = f"{objective.metric} is {format_value(found, unit)}, {holds} {bound}"
        (kept if metric and objectives.holds_surely(objective, metric.estimate) else missed).append(said)
    missed = missed or kept
    seen = f"no rate meets the objective; tried {tried}. At the lowest, {'; '.join(missed)}"
    return _warning(OBJECTIVE_MISSED, seen, "allow more with --objective, add --workers, or make the target faster")


def _advise(case: Case, answers: Sequence[CopyAnswer]) -> str:
    """What to do where no rate of a served model holds."""
    search = answers[0].measured["details"].get(SEARCH)
    if broken := search.get("alone_breaks") if isinstance(search, dict) else "":
        return f"one user alone breaks {broken}, so no rate can keep it: allow more with --objective, or ask for less"
    return "allow more with --objective, ask for shorter answers, or make the server faster"


def _latency_at(objective: Objective, answers: Sequence[CopyAnswer]) -> float | None:
    """A percentile of the latency that is no metric of ours; None of any other figure."""
    name, _, percent = objective.metric.rpartition(PERCENTILE)
    if name != "latency":
        return None
    import numpy as np

    return float(np.percentile(pool_columns(answers, "latency"), float(percent)))


def _missed_bounds(metrics: Sequence[Metric]) -> list[ResultWarning]:
    """Bounds that the benchmark itself set and that do not hold."""
    found = []
    for metric in metrics:
        point, shown = metric.estimate.point, format_value(metric.estimate.point, metric.unit)
        if metric.least is not None and point < metric.least:
            seen = f"{metric.name} is {shown}, below {format_value(metric.least, metric.unit)}"
            found.append(_warning(OBJECTIVE_MISSED, seen, "the benchmark itself asks for at least that"))
        if metric.most is not None and point > metric.most:
            seen = f"{metric.name} is {shown}, above {format_value(metric.most, metric.unit)}"
            found.append(_warning(OBJECTIVE_MISSED, seen, "the benchmark itself asks for at most that"))
    return found


def _off_rate(told: Mapping[str, Value]) -> float:
    intended, delivered = _number(told.get("intended_rate")), _number(told.get("delivered_rate"))
    return abs(delivered / intended - 1) if intended else 0.0


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _warning(code: str, seen: str, remedy: str) -> ResultWarning:
    return ResultWarning(code=code, seen=seen, remedy=remedy)
