"""The machines of a store: what each measured, how healthy it was, and when it was in quarantine."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from benchwright import schema
from benchwright.analysis import false_alarms, machine_health
from benchwright.analysis.machine_health import HealthSeries, RunHealth
from benchwright.errors import StoreError, did_you_mean
from benchwright.execution.noise.calibration import Calibration
from benchwright.pages import at_once
from benchwright.pages.machine_control import control_lines
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import (
    HealthLine,
    MachineLine,
    MachineNotice,
    MachineNotices,
    MachinesPage,
    MachineView,
    Noise,
    QuarantineLine,
)
from benchwright.records import Environment, Value
from benchwright.records.machines import Machine, Quarantine, Quarantines
from benchwright.store.archive import Archive

RUNS = 40  # the newest of a machine, for its noise
MOST = 50  # machines whose noise is looked at: those that measured last
HEALTH_RUNS = 120  # the newest of a machine, for its own page
_NOTICED = 20  # machines that are looked at for notices: those that measured last


@at_once
def machines(archive: Archive) -> MachinesPage:
    """Every machine, the one that measured last first."""
    names = machine_names(archive)
    found, known = archive.machines(), false_alarms.calibrations_by_machine(archive)
    held = Quarantines(archive.quarantines())
    return MachinesPage(
        machines=[
            _line(
                one,
                names.get(one.key, ""),
                run_health(archive, one.key, held) if i < MOST else [],
                known.get(one.key),
                held,
            )
            for i, one in enumerate(found)
        ]
    )


@at_once
def machine_view(archive: Archive, reference: str) -> MachineView:
    """One machine with its health over time; `reference` is its key, the beginning of it, or its name."""
    names = machine_names(archive)
    key = find_machine(names, reference)
    machine = next(one for one in archive.machines() if one.key == key)
    held = Quarantines(archive.quarantines(key))
    runs = run_health(archive, key, held, limit=HEALTH_RUNS)
    known = false_alarms.calibrations_by_machine(archive).get(key)
    return MachineView(
        line=_line(machine, names.get(key, ""), runs[-RUNS:], known, held),
        health=[_health_line(one) for one in machine_health.health_series(runs)],
        quarantines=[quarantine_line(one) for one in held.of(key)],
        control=control_lines(archive, key, held),
    )


@at_once
def machine_notices(archive: Archive) -> MachineNotices:
    """The machines that are in quarantine, and of those that measured last the ones out of their usual."""
    names, held, found = machine_names(archive), Quarantines(archive.quarantines()), []
    for i, one in enumerate(archive.machines()):
        trouble = _trouble(run_health(archive, one.key, held)) if i < _NOTICED else ""
        lasting = held.covering(one.key, _now())
        if trouble or lasting:
            shown = quarantine_line(lasting) if lasting else None
            found.append(MachineNotice(key=one.key, name=names.get(one.key, ""), trouble=trouble, quarantine=shown))
    return MachineNotices(notices=found)


def find_machine(names: Mapping[str, str], reference: str) -> str:
    """The key of the machine that is named: by its key, the beginning of one, or its name in this store."""
    exact = [key for key, name in names.items() if reference in (key, name)]
    found = exact or [key for key in names if reference and key.startswith(reference)]
    if len(found) == 1:
        return found[0]
    if found:
        raise StoreError(f"{len(found)} machines begin with {reference!r}", remedy="write more of the key")
    raise StoreError(f"no machine {reference!r} in this store", remedy=did_you_mean(reference, [*names.values()]))


def quarantine_line(one: Quarantine) -> QuarantineLine:
    """A quarantine, as pages show it."""
    return QuarantineLine(
        since=one.since // 1000,
        until=None if one.until is None else one.until // 1000,
        reason=one.reason,
        who=one.who,
        made_at=one.made_at,
        released_by=one.released_by,
        finding=one.finding,
    )


def machine_note(archive: Archive, machines: Collection[str]) -> str:
    """How often runs of equal work were called different where this was measured; "" unless it is known one machine."""
    known = false_alarms.calibrations_by_machine(archive) if len(machines) == 1 else {}
    found = known.get(next(iter(machines), ""))
    return false_alarms.describe_for_comparison(found) if found is not None else ""


def _line(
    machine: Machine, name: str, runs: Sequence[RunHealth], known: Calibration | None, held: Quarantines
) -> MachineLine:
    lasting = held.covering(machine.key, _now())
    return MachineLine(
        key=machine.key,
        name=name,
        facts=_facts(machine.environment),
        results=machine.results,
        failed=machine.failed,
        cases=machine.cases,
        first_at=machine.first_at // 1000,
        last_at=machine.last_at // 1000,
        noise=_noise(runs),
        calibration=dict(false_alarms.describe_calibration(known, here=False)) if known else {},
        trouble=_trouble(runs),
        quarantine=quarantine_line(lasting) if lasting else None,
    )


def _facts(environment: Environment) -> Mapping[str, Value]:
    told = schema.encode(environment)
    return {name: told[name] for name in ("machine", "system", "accelerators", "runtimes") if told[name]}


def run_health(archive: Archive, key: str, held: Quarantines, limit: int = RUNS) -> list[RunHealth]:
    """What the newest runs of a machine tell of it, oldest first."""
    runs = archive.runs_page(limit=limit, machine=key)
    values = archive.values_of_runs([run.id for run in runs], metrics=machine_health.METRICS) if runs else []
    return machine_health.health_of_runs(values, key, is_held=lambda at: not held.is_judged(key, at))


def _noise(runs: Sequence[RunHealth]) -> Noise:
    """Of each run, oldest first, the median over its cases of how wide the interval of all rounds is."""
    known = [(one, one.values[machine_health.NOISE]) for one in runs if machine_health.NOISE in one.values]
    return Noise(
        at=[one.at // 1000 for one, _ in known],
        spread=[value / 100 for _, value in known],
        runs=[one.run for one, _ in known],
    )


def _trouble(runs: Sequence[RunHealth]) -> str:
    return machine_health.describe_trouble(machine_health.health_series(runs))


def _health_line(one: HealthSeries) -> HealthLine:
    return HealthLine(
        name=one.signal.name,
        title=one.signal.title,
        at=[at // 1000 for at in one.at],
        values=one.values,
        limits=one.limits,
        runs=one.runs,
    )


def _now() -> int:
    return time.time_ns() // 1000
