"""What every importer makes: metrics that claim no more than was told, environments, runs with ids of their content."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from benchwright._version import VERSION
from benchwright.errors import DecodeError
from benchwright.exchange.importers.place import finite
from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Load,
    Metric,
    Result,
    ResultWarning,
    Revision,
    Run,
    Status,
    Target,
    Value,
)
from benchwright.schema import soundness
from benchwright.stats import ranks, summary
from benchwright.units import limits

SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "second": 1.0, "seconds": 1.0}
_NUMBER = re.compile(r"[-+]?\d{1,300}(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_ARCHITECTURES = re.compile(r"\b(x86_64|amd64|AMD64|i[3-6]86|aarch64|arm64|armv\w+|ppc64le|s390x|riscv64)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of a file's results: which tool measured, when and where."""

    tool: str
    environment: Environment
    started_at: str
    revision: Revision | None = None
    warnings: tuple[ResultWarning, ...] = ()  # that hold for each of them


def result(
    told: Provenance,
    case: Case,
    *,
    metrics: Iterable[Metric] = (),
    failure: Failure | None = None,
    status: Status | None = None,
    round: int = 0,
    duration: float = 0.0,
    details: Mapping[str, Value] | None = None,
    warnings: Iterable[ResultWarning] = (),
) -> Result:
    """One result; its id is given when the run is made. A duration that nothing can have counts as 0."""
    seconds = finite(duration) or 0.0
    known = tuple(_unique(map(_check_metric, metrics)))
    return Result(
        id="",
        case=case,
        round=round,
        status=status or (Status.FAILED if failure else Status.OK),
        environment=told.environment,
        started_at=told.started_at,
        duration=seconds if soundness.is_sane(seconds) else 0.0,
        revision=told.revision,
        metrics=known,
        details=details or {},
        error=failure,
        warnings=(*told.warnings, *warnings, *_dependence_warnings(known)),
    )


def run(
    told: Provenance,
    identity: Any,
    results: Sequence[Result],
    *,
    sorts: bool = True,
    command: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
) -> Run:
    """The run of a document. `identity` is its content: the same content gives the same ids.

    `sorts` puts the instant before it; leave it out where the instant is not part of the content.
    """
    digest = content_hash(identity)
    run_id = f"{_compact(told.started_at)}-{digest[:12]}" if sorts else f"{told.tool}-{digest[:16]}"
    numbered = tuple(replace(one, id=f"{run_id}-{i}") for i, one in enumerate(results))
    return Run(
        id=run_id,
        started_at=told.started_at,
        harness=VERSION,
        revision=told.revision,
        results=numbered,
        reason=f"imported from {told.tool}",
        planned=len(results),
        command=command,
        tags=tags,
    )


def case(
    tool: str,
    name: str,
    params: Mapping[str, Any] | None = None,
    *,
    load: Load | None = None,
    version: str = "",
    tags: tuple[str, ...] = (),
) -> Case:
    """Makes the case of what another tool measured; the tool stands where a runtime would."""
    target = Target(runtime=tool, uri=name)
    return Case(name=name, target=target, params=dict(params or {}), load=load or Load(), version=version, tags=tags)


def latencies(values: Sequence[float], *, each: str = "") -> list[Metric]:
    """Seconds in their order, with the intervals that they give, and kept; `each` says what one stands for."""
    mean, median = mean_of(values), summary.quantile_interval(values, 0.5)
    found = [("latency", mean), ("latency_p50", median)]
    if len(values) > 1:
        ends = (("latency_min", min(values)), ("latency_max", max(values)))
        found += [(name, Estimate(point=value, low=None, high=None, method="exact")) for name, value in ends]
    told = [(name, replace(one, method=f"{one.method}; each value {each}") if each else one) for name, one in found]
    metrics = [_metric(name, "s", Better.LOWER, one, len(values)) for name, one in told]
    return [replace(metrics[0], values=tuple(values)), *metrics[1:]]


def mean_of(values: Sequence[float]) -> Estimate:
    """Returns the mean of values, and refuses values that are too large to compute with."""
    absurd = next((value for value in values if not soundness.is_sane(value)), None)
    if absurd is not None:
        raise DecodeError(
            f"{absurd:g} is too large for a measured value", remedy="look at the program that wrote the file"
        )
    return summary.mean_interval(values)


def reported_metrics(
    name: str, unit: str, better: Better | None, point: float | None, *, what: str = "", count: int = 1
) -> list[Metric]:
    """A number that only its tool's word is known of: no interval. None gives nothing."""
    if point is None:
        return []
    method = f"reported: {what}" if what else "reported"
    return [_metric(name, unit, better, Estimate(point=point, low=None, high=None, method=method), count)]


def environment(
    tool: str,
    version: str,
    *,
    machine: Mapping[str, Value | None],
    system: Mapping[str, Value | None],
    accelerators: tuple[Mapping[str, Value], ...] = (),
    runtimes: Mapping[str, str] | None = None,
    packages: Mapping[str, str] | None = None,
    knobs: Mapping[str, Value] | None = None,
) -> Environment:
    """What is known of a machine. Without a CPU's name it is its host's that tells it from others."""
    known = {name: value for name, value in machine.items() if value not in (None, "")}
    around = {name: value for name, value in system.items() if value not in (None, "")}
    if "cpu" not in known:
        known["cpu"] = f"unavailable: {tool} does not tell"
        if "host" in around:
            known["host"] = around["host"]
    came_from: dict[str, Value] = {"tool": tool, "version": version} if version else {"tool": tool}
    return Environment(
        machine=known,
        system={**around, "imported_from": came_from},
        accelerators=accelerators,
        runtimes=runtimes or {},
        packages=packages or {},
        knobs=knobs or {},
    )


def undated_warning(tool: str) -> ResultWarning:
    """The warning for a format that does not say when something was measured."""
    return ResultWarning(
        code="import-undated",
        seen=f"{tool} does not say when it measured; the time is that of the file",
        remedy="import files soon, or keep their times when copying them",
    )


def unplaced_warning(tool: str) -> ResultWarning:
    """The warning for a format that does not say where something was measured."""
    return ResultWarning(
        code="import-unplaced",
        seen=f"{tool} does not say on which machine it measured",
        remedy="import the files of each machine into a store of its own: here they are one series",
    )


def instant(text: str) -> str:
    """An ISO instant in UTC; one that names no zone is taken as UTC. "" for what is no instant."""
    try:
        moment = datetime.fromisoformat(text)
        return _iso(moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):  # the first and the last day have instants that no calendar holds
        return ""


def since_1970(seconds: float | None) -> str:
    """Seconds since 1970 as an ISO instant; "" for what is no instant."""
    try:
        return "" if seconds is None else _iso(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def architecture(platform: str) -> str:
    """The architecture in a text such as `Linux-6.1-x86_64-with-glibc2.36`."""
    found = _ARCHITECTURES.search(platform.replace("-", " "))
    return found[0] if found else ""


def content_hash(value: Any) -> str:
    """Hex digits that depend on content alone, however it was laid out."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def scalar(text: str) -> str | int | float:
    """Returns the number that a text writes, or the text itself."""
    if not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    if not math.isfinite(number):
        return text
    return int(text) if text.lstrip("+-").isdigit() else number


def _dependence_warnings(metrics: Iterable[Metric]) -> Iterator[ResultWarning]:
    """Warnings of metrics whose many values are worth too few independent ones for an interval of the median."""
    needed = ranks.samples_for_quantile(0.5)
    for metric in metrics:
        count = len(metric.values)
        if count >= 5 * needed and (independent := summary.worth(metric.values)) < needed:
            yield ResultWarning(
                code="few-independent",
                seen=f"the {count:,} values of {metric.name} resemble their neighbours: they are worth {independent} "
                f"independent one{'s' * (independent > 1)}, and an interval of the median needs {needed}",
                remedy="measure in several processes; one that drifts or steps says little about the next",
            )


def _check_metric(metric: Metric) -> Metric:
    if flaw := soundness.estimate_flaw(metric.estimate) or soundness.metric_flaw(metric):
        raise DecodeError(f"{metric.name}: {flaw}", remedy="look at the program that wrote the file")
    return metric


def _unique(metrics: Iterable[Metric]) -> Iterator[Metric]:
    """The metrics, each under a name of its own: a name that a file uses twice gets a number."""
    taken: set[str] = set()
    for metric in metrics:
        name = next(n for n in _numbered_names(metric.name) if n not in taken)
        taken.add(name)
        yield replace(metric, name=name)


def _numbered_names(name: str) -> Iterator[str]:
    return itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))


def _metric(name: str, unit: str, better: Better | None, estimate: Estimate, count: int) -> Metric:
    possible = summary.within_limits(estimate, limits(name, unit))  # whatever a few scattered values would allow
    return Metric(name=name, unit=unit, better=better, estimate=possible, count=count)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def _compact(started_at: str) -> str:
    """Writes an instant as in the ids of runs that were measured here."""
    moment = datetime.fromisoformat(started_at)
    return f"{moment:%Y%m%dT%H%M%S}{moment.microsecond // 1000:03d}"
