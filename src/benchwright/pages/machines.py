"""The machines of a store: what each measured, and how noisy it was."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence

from benchwright import schema
from benchwright.analysis import false_alarms
from benchwright.analysis.judged_metrics import SPEED
from benchwright.execution.noise.calibration import Calibration
from benchwright.pages import at_once
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import MachineLine, MachinesPage, Noise
from benchwright.records import Environment, Estimate, Value
from benchwright.stats.summary import combine
from benchwright.store.archive import Archive, Machine, Valued

RUNS = 40  # the newest of a machine, for its noise
MOST = 50  # machines whose noise is looked at: those that measured last


@at_once
def machines(archive: Archive) -> MachinesPage:
    """Every machine, the one that measured last first."""
    names = machine_names(archive)
    found, known = archive.machines(), false_alarms.calibrations_by_machine(archive)
    return MachinesPage(
        machines=[
            _line(one, names.get(one.key, ""), _noise(archive, one.key, i), known.get(one.key))
            for i, one in enumerate(found)
        ]
    )


def machine_note(archive: Archive, machines: Collection[str]) -> str:
    """How often runs of equal work were called different where this was measured; "" unless it is known one machine."""
    known = false_alarms.calibrations_by_machine(archive) if len(machines) == 1 else {}
    found = known.get(next(iter(machines), ""))
    return false_alarms.describe_for_comparison(found) if found is not None else ""


def _line(machine: Machine, name: str, noise: Noise, known: Calibration | None) -> MachineLine:
    return MachineLine(
        key=machine.key,
        name=name,
        facts=_facts(machine.environment),
        results=machine.results,
        failed=machine.failed,
        cases=machine.cases,
        first_at=machine.first_at // 1000,
        last_at=machine.last_at // 1000,
        noise=noise,
        calibration=dict(false_alarms.describe_calibration(known, here=False)) if known else {},
    )


def _facts(environment: Environment) -> Mapping[str, Value]:
    told = schema.encode(environment)
    return {name: told[name] for name in ("machine", "system", "accelerators", "runtimes") if told[name]}


def _noise(archive: Archive, key: str, place: int) -> Noise:
    """Of each run, oldest first, the median over its cases of how wide the interval of all rounds is."""
    runs = archive.runs_page(limit=RUNS, machine=key) if place < MOST else []
    values = archive.values_of_runs([run.id for run in runs], metrics=SPEED) if runs else []
    rounds: dict[str, dict[str, list[Valued]]] = {}
    for value in values:
        if value.machine == key:
            rounds.setdefault(value.run, {}).setdefault(value.series, []).append(value)
    at, spread, ids = [], [], []
    for run in reversed(runs):
        if widths := _widths(rounds.get(run.id, {})):
            at.append(min(one.at for series in rounds[run.id].values() for one in series) // 1000)
            spread.append(statistics.median(widths))
            ids.append(run.id)
    return Noise(at=at, spread=spread, runs=ids)


def _widths(series: Mapping[str, Sequence[Valued]]) -> list[float]:
    """Half the width of each interval, as a share of its point; of the first metric that there is."""
    for metric in SPEED:
        found = [
            combine([one.estimate for one in several]) for several in series.values() if several[0].metric == metric
        ]
        if widths := [width for one in found if (width := _width(one)) is not None]:
            return widths
    return []


def _width(estimate: Estimate) -> float | None:
    if estimate.low is None or estimate.high is None or not estimate.point:
        return None
    return (estimate.high - estimate.low) / 2 / abs(estimate.point)
