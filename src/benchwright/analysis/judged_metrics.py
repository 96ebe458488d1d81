"""Which metrics are judged, and which comes first: the one rule that every comparison, gate, page and finding follows.

A metric that says which direction is better is judged, whoever told it: Benchwright, a task, a class, a spec or
another tool's file. Left out are the metrics that Benchwright adds beside a measurement and that say nothing more of
what was measured: other statistics of the same latency, the parts of a latency, what happened before the first timed
call, totals, the machine's state, and distances to golden outputs, which have tolerances of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence

from benchwright.records import Metric, Result, Run, Status
from benchwright.records.costs import COSTS
from benchwright.records.goals import time_metric_of
from benchwright.records.request_metrics import ITL, JUDGED, are_of_requests, words_of
from benchwright.schema.series_identity import series_key_of

TAIL = "latency_p99"
ALIKE = 0.5  # of the larger of two changes, as logarithms: a smaller one is another change
_NETS = ("NET latency", "NET_DELAY latency", "NET_DELAY", "NET")  # what the programs of specs call the whole model
MAX_RATE = "max_rate"
SPEED = ("latency_p50", TAIL, "latency", *_NETS, "wall_time", "throughput", MAX_RATE)  # of most interest first
TRACKED = "value"  # what a benchmark of asv (`track_*`) returns
MEMORY = ("rss_peak", "gpu_memory_peak", "gpu_memory_used_peak")
# These grow with how long was measured, so a difference says nothing about what was measured.
TOTALS = frozenset(
    [
        "energy",
        "gpu_energy",
        "context_switches",
        "context_switches_involuntary",
        "page_faults",
        "page_faults_major",
        "io_read",
        "io_write",
    ]
)
_BESIDE = re.compile(
    r"load_time|first_call|warmup_time|makespan|imbalance"  # around the calls
    rf"|{'|'.join(COSTS)}|cost_to_.+"  # made of the above and of a price, which the target is not
    r"|power|gpu_power"
    r"|cpu_others|steal|psi_\w+|rss_mean|vms_peak"  # the machine, or another statistic of the same memory
    r"|error_(?:max_abs|mean_abs|rms|max_rel|mean_rel)(?:\..*)?|out_of_tolerance(?:\..*)?"  # tolerances judge these
)
# Of requests to a served model: made of what is judged.
_BESIDE_REQUESTS = frozenset(["input_tokens_rate", "tokens_per_user"])
_STATISTIC = re.compile(r"(.+?)_(?:p\d+(?:\.\d+)?|min|max)")
# Of a served model: `ttft_p99`, `tpot_any`, `e2e_close_p50`. What stands between says in which way it was counted.
_SERVED = re.compile(r"(ttft|itl|tpot|e2e|tokens_per_user)((?:_(?!p\d)[a-z]+)*)(?:_(p\d+(?:\.\d+)?))?")
_OTHER_COUNTS = ("_any", "_answer", "_close")  # judged where nothing is told that was counted in our way
_PART = re.compile(r".+ latency|ID_\d+_.*")  # of a whole model: `Conv_3 latency`
Families = Mapping[str, frozenset[str]]  # by the key of a series: those in which the same cause would show
Directions = Mapping[str, str | None]  # by metric: "lower", "higher", or nothing where neither is better


def judged_metrics(directions: Directions) -> list[str]:
    """The names of the metrics that are judged, the one of most interest first.

    The order is: how fast it is, what only requests to a served model have, what the benchmark reports in its own
    order, memory. Where the rule would leave nothing, every metric with a direction is judged.
    """
    directed = [name for name, better in directions.items() if better]
    chosen = [name for name in directed if not _is_beside(name, directions)]
    return in_order(chosen or directed)


def headline_metrics(directions: Directions) -> list[str]:
    """The judged metrics that a short view shows: without the tails of times and without memory, if others remain.

    What a benchmark tracks goes before its memory, also where nobody said which direction is better. Where no metric
    has a direction, the headlines are all that there are.
    """
    judged = judged_metrics(directions)
    left_out = {*MEMORY, *(["tpot_p50"] if ITL in judged else [])}  # a mean of what the gaps tell one by one
    left_out |= {name for name in judged if time_metric_of(name) in judged}  # which says more of the same goal
    shown = [name for name in judged if not _is_tail(name) and name not in left_out]
    return shown or [name for name in (TRACKED,) if name in directions] or judged or in_order(directions)


def _is_tail(name: str) -> bool:
    return name == TAIL or bool((served := _SERVED.fullmatch(name)) and served[3] == "p99")


def directions_of(metrics: Iterable[Metric]) -> dict[str, str | None]:
    """The direction of each of these metrics; where one comes several times, any direction that is told counts."""
    found: dict[str, str | None] = {}
    for metric in metrics:
        found[metric.name] = found.get(metric.name) or metric.better
    return found


def in_order(names: Iterable[str]) -> list[str]:
    """The names, those of most interest first; names of equal rank keep their order."""
    return sorted(names, key=rank)


def rank(name: str) -> int:
    """The place of a metric's name: smaller is of more interest."""
    if name in SPEED:
        return SPEED.index(name)
    if name in JUDGED:
        return len(SPEED) + JUDGED.index(name)
    others = len(SPEED) + len(JUDGED)
    if name in MEMORY:
        return others + 1 + MEMORY.index(name)
    beside = name in TOTALS or _BESIDE.fullmatch(name) or name.startswith("latency_")
    return others + (1 + len(MEMORY) if beside else 0)


def first_shared(sides: Sequence[Directions]) -> str:
    """The judged metric of most interest that all sides have; nothing where they share none."""
    shared = {name: better for name, better in sides[0].items() if all(name in side for side in sides)} if sides else {}
    return next(iter(judged_metrics(shared)), "")


def _is_beside(name: str, known: Directions) -> bool:
    """Whether others of the known metrics say already what this one says, or whether it says nothing of the target."""
    if known.get(MAX_RATE) and name != MAX_RATE and (name in SPEED or name in JUDGED or _SERVED.fullmatch(name)):
        return True  # a search found another rate each time, and times at different rates are not comparable
    if name in TOTALS or _BESIDE.fullmatch(name):
        return True
    if are_of_requests(known) and name in _BESIDE_REQUESTS:
        return True
    if any(net in known for net in _NETS) and name not in SPEED and _PART.fullmatch(name):
        return True
    served = _SERVED.fullmatch(name)
    if served and f"{served[1]}{served[2]}_p50" in known:
        return not _is_chosen(served, known)
    if are_of_requests(known) and words_of(name):
        return not _is_told_of_requests(name, known)
    if "latency_p50" not in known or name in ("latency_p50", TAIL):
        return False
    match = _STATISTIC.fullmatch(name)
    return f"{match[1] if match else name}_p50" in known


def _is_chosen(served: re.Match[str], known: Directions) -> bool:
    """Whether a statistic of a served model is judged: median and p99 of what a latency does not say already."""
    what, counted, statistic = served.groups()
    if statistic not in ("p50", "p99") or what == "tokens_per_user" or (what == "e2e" and "latency_p50" in known):
        return False
    if what == "tpot" and "itl_p50" in known:  # the gaps that it is the mean of
        return False
    return not counted or (counted in _OTHER_COUNTS and f"{what}_p50" not in known)


def _is_told_of_requests(name: str, known: Directions) -> bool:
    """Whether a metric of requests is one that is judged; a mean is, where a file tells no median."""
    if name in JUDGED or name in ("latency_p50", TAIL, "throughput"):
        return True
    times = ("latency", "ttft", "itl") if {"latency_p50", "latency"} & known.keys() else ("e2e", "ttft", "itl")
    return (name in times and f"{name}_p50" not in known) or (name == "e2e_p50" and "e2e" in times)


def names_of(run: Run, families: Families) -> dict[str, list[str]]:
    """The judged metrics of each case's name that has one of the series; a name without one is left out."""
    found: dict[str, dict[str, None]] = {}
    for result in _ok(run):
        if keys := [name for name, key in _keys_of(result).items() if key in families]:
            found.setdefault(result.case.name, {}).update(dict.fromkeys(keys))
    return {name: list(metrics) for name, metrics in found.items()}


def families_of(run: Run, among: Container[str] | None = None) -> Families:
    """Every judged series that the run touched, with those in which the same cause would show: all times and rates.

    What makes a case slower shows in its latency, its throughput and its CPU time alike (`move_alike`). With `among`,
    only the series whose keys these are.
    """
    found: dict[str, frozenset[str]] = {}
    for result in _ok(run):
        keys = _keys_of(result)
        timed = {metric.name for metric in result.metrics if metric.unit == "s" or metric.unit.endswith("/s")}
        speed = frozenset(key for name, key in keys.items() if name in SPEED or name in timed)
        found |= {key: speed if key in speed else frozenset([key]) for key in keys.values()}
    return found if among is None else {key: family for key, family in found.items() if key in among}


def move_alike(one: tuple[str, float], other: tuple[str, float]) -> bool:
    """Whether changes in two metrics of a family are one and the same; each is the metric's name, and the factor.

    A percentile of the latency may move much more than its median: what is known of the same calls is one change. Other
    times and rates of the case, such as its CPU time, must have changed by about as much.
    """
    if one[0] in SPEED and other[0] in SPEED:
        return True
    if min(one[1], other[1]) <= 0:
        return False
    smaller, larger = sorted(abs(math.log(factor)) for _, factor in (one, other))
    return smaller >= ALIKE * larger


def _keys_of(result: Result) -> dict[str, str]:
    """The series that a result's judged metrics belong to, by the metric's name."""
    judged = judged_metrics(directions_of(result.metrics))
    return {name: series_key_of(result, name) for name in judged}


def _ok(run: Run) -> Iterable[Result]:
    return (result for result in run.results if result.status is Status.OK)
