"""From results to the older harness's documents: entries, summaries, and what treatment and control differ in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from benchwright.compat.harness import documents, inprocess, merge, summaries
from benchwright.compat.harness.documents import HarnessDocument, MetaFacts, as_json
from benchwright.compat.harness.entries import Entry, entries
from benchwright.compat.harness.flags import HarnessFlags, parse_names
from benchwright.compat.harness.info import CONTROL, TREATMENT, BuildSide, InfoDocument
from benchwright.compat.harness.run import DeviceMeasurement
from benchwright.compat.harness.summaries import SummaryRules
from benchwright.execution.attempt import INTERRUPTED
from benchwright.records import Result, Run, Status, Value

DETAILS = "harness"  # where a result keeps what its document needs
REGRESS = "regress"  # the type of run that marks entries as regressed


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReport:
    """What is reported of one test on one device."""

    document: HarnessDocument
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResultNotes:
    """The notes that this door left with a result; of a result of another door, what stands for them."""

    side: str = TREATMENT
    pair: str = ""
    rules: SummaryRules = SummaryRules.TODAY
    statistics: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    operators: bool = True
    metric: str = ""  # "": a result of another door, of which every metric is told
    meta: Mapping[str, Any] = field(default_factory=dict)


def notes(flags: HarnessFlags, info: InfoDocument, work: DeviceMeasurement, command: Sequence[str]) -> dict[str, Value]:
    """Returns the notes that are kept with a result, so that its document can be made at any time.

    An `OptionError` for a statistic that does not exist: now, before anything is measured.
    """
    test = work.test
    summaries.summary((), statistics=test.statistics)
    run_type = flags.run_type or info.run_type or "benchmark"
    regressed = info.regressed_types or parse_names(flags.texts["regressed_types"])
    return {
        DETAILS: {
            "side": work.side.name,
            "pair": work.pair,
            "rules": flags.rules,
            "statistics": list(test.statistics),
            "regressed": list(regressed) if run_type == REGRESS else [],
            "operators": inprocess.wants_operators(test),
            "metric": test.metric,
            "meta": documents.meta(_facts(flags, info, work, command, run_type)),
        }
    }


def make_reports(run: Run, *, failed: bool = False) -> list[DeviceReport]:
    """Makes the documents of a run, one for each test on each device that was measured.

    A test that failed has one where `failed` asks for it: its meta data, and no entries.
    """
    kept = [_read_notes(run, result) for result in run.results]
    controls = {
        one.pair: result for one, result in zip(kept, run.results, strict=True) if one.side == CONTROL and one.pair
    }
    return [
        _make_report(one, result, controls.get(one.pair))
        for one, result in zip(kept, run.results, strict=True)
        if one.side == TREATMENT and (result.status is Status.OK or (failed and _was_tried(result)))
    ]


def _was_tried(result: Result) -> bool:
    """Whether a test ran and went wrong; one that was skipped, or broken off by Ctrl-C, did not."""
    return result.status is not Status.SKIPPED and (result.error is None or result.error.kind != INTERRUPTED)


def _make_report(kept: _ResultNotes, result: Result, control: Result | None) -> DeviceReport:
    if result.status is not Status.OK:
        return DeviceReport(document=HarnessDocument(meta=dict(kept.meta), data={}))
    found = entries(result, metric=kept.metric, operators=kept.operators)
    other = None
    if control is not None and control.status is Status.OK:
        other = entries(control, metric=kept.metric, operators=kept.operators)
    whole = merge.merge_entries(found, other, rules=kept.rules, statistics=kept.statistics)
    data = {key: _mark_regressed(key, entry, kept.regressed) for key, entry in whole.data.items()}
    label = f"{kept.meta['net_name']} {kept.meta['identifier']}"
    said = [f"{label}: {warning}" for warning in whole.warnings]
    said += [f"{label}: {one.seen}; {one.remedy}" for side in (result, control) if side for one in side.warnings]
    if control is not None and other is None:
        said.append(f"{label}: the control failed, so there is no difference")
    return DeviceReport(document=HarnessDocument(meta=dict(kept.meta), data=data), warnings=tuple(said))


def _mark_regressed(key: str, entry: Entry, regressed: Sequence[str]) -> Entry:
    """Marks an entry as regressed, if its type or key is among `regressed`."""
    return {**entry, "regressed": 1} if {key, str(entry.get("type"))} & {*regressed} else entry


def _facts(
    flags: HarnessFlags, info: InfoDocument, work: DeviceMeasurement, command: Sequence[str], run_type: str
) -> MetaFacts:
    test, control = work.test, info.control
    return MetaFacts(
        backend=flags.platform,
        framework=test.framework,
        net_name=test.net,
        metric=test.metric,
        platform=work.about.name,
        platform_hash=work.about.serial,
        identifier=test.identifier,
        group=test.group,
        command=command,
        commit=info.treatment.commit,
        commit_time=info.treatment.commit_time,
        control_commit=control.commit if control else "",
        control_commit_time=control.commit_time if control else None,
        run_type=run_type,
        user=flags.texts["user_string"],
        user_identifier=flags.texts["user_identifier"] or None,
        more=dict(_builds(info.sides)),
    )


def _builds(sides: Sequence[BuildSide]) -> Iterator[tuple[str, str]]:
    for side in sides:
        for name, text in (("version", side.version), ("diff", side.diff)):
            if text:
                yield f"{side.name}_{name}", text


# ---- results of any door ----


def _read_notes(run: Run, result: Result) -> _ResultNotes:
    """Reads the notes of the harness's door, with checks: a run may come from anyone."""
    found = result.details.get(DETAILS)
    if not isinstance(found, Mapping) or not isinstance(found.get("meta"), Mapping):
        return _ResultNotes(meta=documents.meta(_facts_of_other_door(run, result)), pair=result.id)
    rules = str(found.get("rules"))
    meta = found["meta"]
    assert isinstance(meta, Mapping)
    usual = documents.meta(_facts_of_other_door(run, result))
    return _ResultNotes(
        side=str(found.get("side")),
        pair=str(found.get("pair")),
        rules=SummaryRules(rules) if rules in {*SummaryRules} else SummaryRules.TODAY,
        statistics=_texts(found.get("statistics")),
        regressed=_texts(found.get("regressed")),
        operators=bool(found.get("operators")),
        metric=str(found.get("metric") or "delay"),
        meta={**usual, **meta, "time": usual["time"]},  # when this test ran, not when the suite was planned
    )


def _facts_of_other_door(run: Run, result: Result) -> MetaFacts:
    """Describes a result of another door in the words of this one."""
    revision, system = result.revision, result.environment.system
    params = [f"{name}={value}" for name, value in result.case.params.items()]
    cpu = str(result.environment.machine.get("cpu") or "")
    return MetaFacts(
        backend=result.case.target.device,
        framework=result.case.target.runtime,
        net_name=result.case.name,
        metric="delay",
        platform=f"{system.get('os') or ''} {cpu}".strip(),
        platform_hash=_host_text(system.get("host")),
        identifier=" ".join(params) or result.case.name,
        command=run.command,
        commit=revision.id if revision else "",
        commit_time=_epoch(revision.committed_at) if revision else None,
        time=_epoch(result.started_at),
    )


def _host_text(host: Value) -> str:
    """The name of the machine that measured: a text of its own, or one among what is known of a host of several."""
    return str(host.get("name", "")) if isinstance(host, Mapping) else str(host or "")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _epoch(instant: str) -> float | None:
    try:
        return datetime.fromisoformat(instant).timestamp()
    except ValueError:
        return None


def document(run: Run) -> str:
    """A list with `{"meta": ..., "data": ...}` for each test that was measured; no file is read."""
    return as_json([{"meta": one.document.meta, "data": one.document.data} for one in make_reports(run)])
