"""The cases of a run, made once: a run of thousands is asked for page by page, and each would be read again for all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from weakref import WeakKeyDictionary

from benchwright import schema
from benchwright.analysis import notes
from benchwright.analysis.goals import training_lines
from benchwright.analysis.judged_metrics import directions_of, headline_metrics, in_order, judged_metrics
from benchwright.analysis.leases import leased_machines
from benchwright.analysis.machine_columns import CaseByMachine, describe_instances, machine_columns
from benchwright.analysis.price_changes import price_bases
from benchwright.analysis.request_failures import describe_requests
from benchwright.analysis.rows import Row, rows
from benchwright.analysis.scaling import Advice, advice, cautions
from benchwright.pages.lines import milliseconds
from benchwright.pages.races import race_view
from benchwright.pages.requests import sweep_lines
from benchwright.pages.shapes import (
    AdviceLine,
    CaseLine,
    FailedCase,
    LeaseLine,
    MachineCase,
    MachineCell,
    MachineTable,
    ObjectiveLine,
    RaceView,
    SweepLine,
    WarnedCases,
)
from benchwright.pages.speedups import SpeedUpLine, speedup_lines
from benchwright.records import ResultWarning, Run
from benchwright.records.costs import COSTS
from benchwright.records.request_metrics import are_of_requests
from benchwright.store.archive import Archive

CASES = 200  # of a page
_ADVICE = 40  # lines: of a run of many models, the first
_RIVALS = 20  # labels of cases that cannot be told from the best
_NAMED = 20  # cases of a warning
_PRICES = 20
_LEASES = 200  # machines of clouds, and cases that several of them measured
_TRAINING = 40  # lines on goals and warm-ups of tasks
_FAILED = 50  # cases that are told of apart from the table
_KEPT = 5000  # results of the runs that are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """A run without its results, and all that a page tells of them."""

    run: Run
    results: int
    names: tuple[str, ...]  # of cases, each once
    measured: Sequence[tuple[str, int]]  # of each result the machine, and when it began: microseconds since 1970
    lines: Sequence[CaseLine]
    metrics: Sequence[str]
    warned: Sequence[WarnedCases]
    failing: Sequence[FailedCase]
    objectives: Sequence[ObjectiveLine]
    rates: Sequence[str]
    training: Sequence[str]
    advice: Sequence[AdviceLine]
    cautions: Sequence[str]
    by_machine: MachineTable | None
    prices: Sequence[str]
    leases: Sequence[LeaseLine]
    instances: Sequence[str]
    speedups: Sequence[SpeedUpLine]
    sweeps: Sequence[SweepLine]
    requests: Sequence[str]
    race: RaceView | None


class _Kept:
    """The tables of a database's runs that were asked for last."""

    def __init__(self) -> None:
        self._tables: OrderedDict[str, tuple[tuple[int, int], RunTable]] = OrderedDict()
        self._lock = threading.Lock()  # who asks for a page while another is made waits for the same table

    def get(self, archive: Archive, run_id: str) -> RunTable:
        """The table of a run; made anew when results came or went."""
        with self._lock:
            extent = archive.run_extent(run_id)
            kept = self._tables.pop(run_id, None)
            table = kept[1] if kept and kept[0] == extent else _make(archive.run(run_id, samples=False))
            self._tables[run_id] = (extent, table)
            while len(self._tables) > 1 and sum(one.results for _, one in self._tables.values()) > _KEPT:
                self._tables.popitem(last=False)
            return table


_kept: WeakKeyDictionary[Archive, _Kept] = WeakKeyDictionary()


def run_table(archive: Archive, run_id: str) -> RunTable:
    """The cases of a run."""
    return _kept.setdefault(archive, _Kept()).get(archive, run_id)


def choose_cases(table: RunTable, *, words: str, sort: str) -> list[CaseLine]:
    """The cases whose labels have all the words, in the order that `sort` names.

    That is `case` or a metric, `-` before it for the largest first; a case without the metric comes last.
    """
    wanted = words.casefold().split()
    found = [line for line in table.lines if all(word in line.label.casefold() for word in wanted)]
    name, is_down = sort.removeprefix("-"), sort.startswith("-")
    if name == "case":
        found.sort(key=lambda line: line.label, reverse=is_down)
    elif name:
        points = {line.label: metric.estimate.point for line in found for metric in line.metrics if metric.name == name}
        have = [line for line in found if line.label in points]
        have.sort(key=lambda line: points[line.label], reverse=is_down)
        found = [*have, *(line for line in found if line.label not in points)]
    return found


def case_lines(run: Run) -> list[CaseLine]:
    """The cases of a run, the rounds of each together."""
    return [_case_line(row) for row in rows(run)]


def _make(run: Run) -> RunTable:
    table = rows(run)
    lines = [_case_line(row) for row in table]
    keys = {id(one.environment): one.environment for one in run.results}
    machines = {identity: schema.environment_key(environment) for identity, environment in keys.items()}
    return RunTable(
        run=replace(run, results=()),
        results=len(run.results),
        names=tuple(dict.fromkeys(result.case.name for result in run.results)),
        measured=[(machines[id(one.environment)], milliseconds(one.started_at) * 1000) for one in run.results],
        lines=lines,
        metrics=_metric_names(lines),
        warned=_warned(table),
        failing=[
            FailedCase(label=line.label, result=line.results[0], failure=line.failures[0])
            for line in lines
            if line.failures
        ][:_FAILED],
        objectives=[
            ObjectiveLine(objective=kept.objective, met=kept.met, verdict=kept.verdict)
            for kept in notes.objectives(table)
        ],
        rates=notes.rates(table),
        training=training_lines(table)[:_TRAINING],
        advice=[_advice_line(one) for one in advice(table)[:_ADVICE]],
        cautions=cautions(table),
        by_machine=_by_machine(table, machines),
        prices=price_bases(run.results)[:_PRICES],
        leases=[LeaseLine(**asdict(one)) for one in leased_machines(run.results)[:_LEASES]],
        instances=describe_instances(table)[:_LEASES],
        speedups=speedup_lines(table),
        sweeps=sweep_lines(table),
        requests=[said.strip() for said in describe_requests(table)],
        race=race_view(run),
    )


def _by_machine(table: Sequence[Row], keys: Mapping[int, str]) -> MachineTable | None:
    """The cases with a column for each machine, where several measured the same ones."""
    found = machine_columns(table)
    if found is None:
        return None
    known = {row.machine: keys[id(row.results[0].environment)] for row in reversed(table)}
    return MachineTable(
        machines=[(known[name], name) for name in found.machines],
        cases=[_machine_case(line) for line in found.lines[:CASES]],
        total=len(found.lines),
    )


def _machine_case(line: CaseByMachine) -> MachineCase:
    cells = [
        None
        if row is None
        else MachineCell(estimate=metric.estimate if metric else None, status=row.status, result=row.results[0].id)
        for row, metric in zip(line.rows, line.metrics, strict=True)
    ]
    unit = next((metric.unit for metric in line.metrics if metric), "")
    return MachineCase(label=line.case, metric=line.metric, unit=unit, cells=cells)


def _case_line(row: Row) -> CaseLine:
    return CaseLine(
        case=row.name,
        params=dict(row.case.params),
        label=row.label,
        runtime=row.case.target.runtime,
        device=row.case.target.device,
        statuses={status.value: count for status, count in row.statuses.items()},
        metrics=[replace(row.metrics[name], values=()) for name in _names(row)],
        results=[result.id for result in row.results],
        warnings=row.warnings,
        reason=row.failures[0][1].message if row.failures and not row.ok else "",
        failures=[failure for _, failure in row.failures],
        machine=row.machine,
    )


def _names(row: Row) -> list[str]:
    """The case's metrics: those that are judged first, then what the work costs.

    Of requests to a served model the headlines come before the tail: a narrow table shows the first few.
    """
    known = directions_of(row.metrics.values())
    judged = [*(headline_metrics(known) if are_of_requests(known) else ()), *judged_metrics(known)]
    costs = [name for name in COSTS if name in row.metrics]
    return list(dict.fromkeys([*judged, *costs, *in_order(row.metrics)]))


def _metric_names(lines: Sequence[CaseLine]) -> list[str]:
    """Every metric: each case names those that are judged first; of two at the same place, what more cases have."""
    seen: dict[str, int] = {}
    places: dict[str, int] = {}
    for line in lines:
        for place, metric in enumerate(line.metrics):
            seen[metric.name] = seen.get(metric.name, 0) + 1
            places[metric.name] = min(places.get(metric.name, place), place)
    return sorted(seen, key=lambda name: (places[name], -seen[name]))


def _warned(table: Sequence[Row]) -> list[WarnedCases]:
    """Each kind of warning once, numbers that differ as a range, with how often and in which cases it was seen."""
    return [
        WarnedCases(
            warning=ResultWarning(code=kind.code, seen=_seen(kind), remedy=kind.remedy),
            cases=[*kind.cases][:_NAMED],
            count=len(kind.cases),
        )
        for kind in notes.warnings(table)
    ]


def _seen(kind: notes.WarningKind) -> str:
    return f"{kind.text} ({kind.count} times)" if kind.count > 1 else kind.text


def _advice_line(one: Advice) -> AdviceLine:
    rivals = [row.label for row in one.rivals[:_RIVALS]]
    return AdviceLine(aim=one.aim, text=str(one), case=one.row.label if one.row else "", rivals=rivals)


def machines_of(table: RunTable) -> Mapping[str, None]:
    """The machines that the run measured on, in the order of its results."""
    return dict.fromkeys(key for key, _ in table.measured)
