"""MLPerf LoadGen's logs: the folder that holds mlperf_log_summary.txt and mlperf_log_detail.txt, or one of the two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchwright.errors import DecodeError, TargetError
from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import finite
from benchwright.exchange.importers.source_file import Given, read_source
from benchwright.records import Better, Case, Failure, Load, Metric, Mode, Result, ResultWarning, Run
from benchwright.schema.parsing import json_value

SUMMARY, DETAIL = "mlperf_log_summary.txt", "mlperf_log_detail.txt"
_MARK = ":::MLLOG "
_TITLE = "MLPerf Results Summary"
_LINE = re.compile(r"\s*(?P<key>[^:]+?)\s*:\s*(?P<value>\S.*?)\s*")
_PERCENTILE = re.compile(r"(?:result_)?(\d+(?:\.\d+)?)[ _]percentile[ _]latency[ _]\(?ns\)?")
_MODES = {
    "SingleStream": Mode.CLOSED,
    "MultiStream": Mode.MULTISTREAM,
    "Server": Mode.OPEN,
    "Offline": Mode.OFFLINE,
}
_LATENCIES = {"Min": "latency_min", "Max": "latency_max", "Mean": "latency"}
_RATES = (
    "Completed samples per second", "Samples per second", "Completed tokens per second",
    "QPS w/ loadgen overhead",
)  # fmt: skip
# What the detailed log calls the same things.
_DETAILED = {
    "sut_name": "SUT name", "effective_scenario": "Scenario", "requested_scenario": "Scenario",
    "effective_test_mode": "Mode", "requested_test_mode": "Mode", "result_validity": "Result is",
    "result_samples_per_second": "Samples per second",
    "result_completed_samples_per_second": "Completed samples per second",
    "result_qps_with_loadgen_overhead": "QPS w/ loadgen overhead",
    "result_min_latency_ns": "Min latency (ns)", "result_max_latency_ns": "Max latency (ns)",
    "result_mean_latency_ns": "Mean latency (ns)", "effective_target_qps": "target_qps",
    "effective_samples_per_query": "samples_per_query", "result_query_count": "queries",
    "test_datetime": "date", "loadgen_version": "version", "result_invalid_reason": "reason",
}  # fmt: skip
Facts = dict[str, Any]


class LoadGen:
    """One run with one result. LoadGen tells percentiles, not calls: they have no intervals."""

    name = "loadgen"

    def fits(self, what: Given) -> bool:
        """Whether what is given holds LoadGen's logs."""
        if what.is_folder and what.path is not None:
            return any((what.path / name).is_file() for name in (SUMMARY, DETAIL))
        return what.body.startswith(_MARK.encode()) or _TITLE.encode() in what.body[:500]

    def runs(self, what: Given) -> list[Run]:
        """Returns the run that the logs describe, valid or not."""
        logs = list(_logs(what))
        facts: Facts = {}
        for log in logs:  # the summary's words win: its figures are exact where the detailed log rounds
            facts = {**(_detail(log.text) if log.text.startswith(_MARK) else _summary(log.text)), **facts}
        if facts.get("Mode") not in ("PerformanceOnly", "SubmissionRun") or "Scenario" not in facts:
            raise DecodeError(
                f"{what.name}: the logs hold no performance run",
                remedy="accuracy runs are not imported; see Mode in the logs",
            )
        dated = construction.instant(str(facts.get("date", "")))
        told = Provenance(
            tool=self.name,
            environment=construction.environment(self.name, str(facts.get("version", "")), machine={}, system={}),
            started_at=dated or max(log.modified_at for log in logs),
            warnings=(
                construction.unplaced_warning(self.name),
                *(() if dated else (construction.undated_warning(self.name),)),
            ),
        )
        return [construction.run(told, facts, [_result(told, facts)], sorts=bool(dated))]


def _logs(what: Given) -> Iterator[Given]:
    """The summary, then the detailed log: whichever there are, beside what was named too."""
    if what.path is None:
        yield what
        return
    folder = what.path if what.is_folder else what.path.parent
    named = None if what.is_folder else what.path.name
    if named not in (None, SUMMARY, DETAIL):
        yield what
        return
    found = [read_source(str(folder / name)) for name in (SUMMARY, DETAIL) if (folder / name).is_file()]
    if not found:
        raise TargetError(f"{what.name}: holds neither {SUMMARY} nor {DETAIL}")
    yield from found


def _summary(text: str) -> Facts:
    matches = (_LINE.fullmatch(line) for line in text.splitlines())
    found: Facts = {}
    for match in matches:
        if match:
            found.setdefault(match["key"], _number(match["value"]))
    if count := re.search(r"Processed(?: at least)? \d+ queries \((\d+)\)|Processed (\d+) queries", text):
        found["queries"] = int(count[1] or count[2])
    return found


def _detail(text: str) -> Facts:
    found: Facts = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(_MARK):
            continue
        try:
            entry = json_value(line.removeprefix(_MARK), finite=False)
            key, value = str(entry["key"]), entry["value"]
        except (ValueError, KeyError, TypeError):
            raise DecodeError(f"{DETAIL}:{number}: cannot be read", remedy="was it copied to its end?") from None
        if key in _DETAILED:
            found[_DETAILED[key]] = value
        elif _PERCENTILE.fullmatch(key):
            found[key] = value
        elif key.startswith("error_"):
            found.setdefault("errors", []).append(str(value))
    return found


def _result(told: Provenance, facts: Facts) -> Result:
    valid = facts.get("Result is") == "VALID"
    unmet = [
        key.replace("satisfied", "not satisfied")
        for key, value in facts.items()
        if key.endswith("satisfied") and value == "NO"
    ]
    reasons = [*unmet, *([str(facts["reason"]).strip()] if facts.get("reason") else []), *facts.get("errors", [])]
    why = "; ".join(reasons) or "LoadGen gives no reason"
    return construction.result(
        told,
        _case(facts),
        metrics=_metrics(facts),
        failure=None if valid else Failure(kind="invalid", message=f"LoadGen says INVALID: {why}"),
        warnings=() if valid else (_invalid(why),),
        details={"summary": {key: value if isinstance(value, list) else str(value) for key, value in facts.items()}},
    )


def _invalid(why: str) -> ResultWarning:
    remedy = "run it again with settings that meet LoadGen's rules; until then the numbers prove nothing"
    return ResultWarning(code="invalid", seen=f"LoadGen's rules were not met: {why}", remedy=remedy)


def _metrics(facts: Facts) -> list[Metric]:
    count = int(finite(facts.get("queries")) or 1)
    found: dict[str, list[Metric]] = {}
    for key, value in facts.items():
        if match := _PERCENTILE.fullmatch(key):
            name, what = f"latency_p{float(match[1]):g}", "percentile of the queries"
        elif key.endswith(" latency (ns)") and key.split(" ")[0] in _LATENCIES:
            name, what = _LATENCIES[key.split(" ")[0]], f"{key.split(' ')[0].lower()} of the queries"
        else:
            continue
        if name not in found and (number := finite(value)) is not None:
            found[name] = construction.reported_metrics(name, "s", Better.LOWER, number / 1e9, what=what, count=count)
    rate = next((key for key in _RATES if finite(facts.get(key)) is not None), None)
    if rate is not None:
        found["throughput"] = construction.reported_metrics(
            "throughput", "/s", Better.HIGHER, finite(facts[rate]), what=rate
        )
    return [metric for metrics in found.values() for metric in metrics]


def _case(facts: Facts) -> Case:
    scenario = str(facts["Scenario"])
    mode = _MODES.get(scenario, Mode.CLOSED)
    load = Load(
        mode=mode,
        rate=finite(facts.get("target_qps")) if mode is Mode.OPEN else None,
        streams=int(finite(facts.get("samples_per_query")) or 1) if mode is Mode.MULTISTREAM else 1,
    )
    return construction.case(LoadGen.name, str(facts.get("SUT name") or "unnamed"), {"scenario": scenario}, load=load)


def _number(text: str) -> str | int | float:
    return construction.scalar(text)
