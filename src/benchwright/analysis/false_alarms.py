"""A machine's own rate of false alarms, in the words that stand beside a verdict."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import UserError
from benchwright.execution.noise.calibration import Calibration, GateRate, calibration_of_run
from benchwright.records import CALIBRATION_TAG, Environment, Run
from benchwright.stats.replay import CHANGES

COMMAND = "benchwright env --calibrate"
FRESH = timedelta(days=14)  # after which a machine may be another, though it looks the same
_NEWEST = 30  # calibrations that are looked through
_BUSIER = 2.0  # times the load


class ResultReader(Protocol):
    """The two methods of a store by which calibrations are read."""

    def runs(self, *, limit: int = 20, tag: str = "", tries: bool = False) -> Sequence[_RunReference]:
        """The newest runs first."""

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """A whole run."""


class ClosableStore(ResultReader, Protocol):
    """A store that must be closed."""

    def close(self) -> None:
        """Closes the store."""


class _RunReference(Protocol):
    @property
    def id(self) -> str: ...


def calibrations_by_machine(store: ResultReader) -> dict[str, Calibration]:
    """The newest calibration of each machine (`schema.environment_key`) that a store knows."""
    found: dict[str, Calibration] = {}
    for summary in store.runs(limit=_NEWEST, tag=CALIBRATION_TAG, tries=True):
        try:
            told = calibration_of_run(store.run(summary.id, samples=False))
        except UserError:  # one that cannot be read any more
            continue
        if told is not None:
            found.setdefault(*told)
    return found


def calibration_of(store: ResultReader, environment: Environment | None) -> Calibration | None:
    """The newest calibration of the machine of this environment; None where there is none."""
    return calibrations_by_machine(store).get(schema.environment_key(environment)) if environment is not None else None


def read_calibration(opened: Callable[[], ClosableStore], environment: Environment | None) -> Calibration | None:
    """The newest calibration of this machine, from a store that is opened for it; None where there is no such store."""
    if environment is None:
        return None
    try:
        with contextlib.closing(opened()) as store:
            return calibration_of(store, environment)
    except UserError:
        return None


def describe_for_ab(found: Calibration | None, *, here: bool = True) -> str:
    """The sentence beside verdicts of `ab`: how often it is wrong on this machine, or that this is not known."""
    return _describe(found, found.pairs if found else None, "replayed trials", here=here)


def describe_for_comparison(found: Calibration | None, *, here: bool = False) -> str:
    """The sentence beside verdicts of `compare` and `check`: how often they are wrong on the machine that measured."""
    return _describe(found, found.rounds if found else None, "comparisons of runs", here=here)


def describe_calibration(found: Calibration, *, here: bool = True) -> list[tuple[str, str]]:
    """All that a calibration says, as label and words. `here`: the calibration is of this machine."""
    usual, load = found.usual, "" if found.load is None else f" at a load of {found.load:.2g}"
    cut = ", cut off early" if found.interrupted else ""
    return [
        (
            "measured",
            f"{found.at[:16].replace('T', ' ')} UTC for {found.seconds:.0f} s{load}{cut}: {found.processes} processes "
            f"of {found.repeated:.2g} s",
        ),
        ("ab", _describe_rate(found.pairs, f"replayed trials of at most {usual.pairs} pairs, looked at twice")),
        ("compare, check", _describe_rate(found.rounds, f"comparisons of {usual.rounds} rounds on each side")),
        *[("stale", reasons) for reasons in ["; ".join(reasons_to_recalibrate(found, here=here))] if reasons],
    ]


def reasons_to_recalibrate(found: Calibration, *, here: bool) -> Iterator[str]:
    """Why a calibration may not hold any more. `here`: it is of this machine, so its present state counts too."""
    age = datetime.now(UTC) - datetime.fromisoformat(found.at)
    if age > FRESH:
        yield f"it is {age.days} days old"
    if found.harness != VERSION:
        yield f"it was measured with benchwright {found.harness}"
    if not here:
        return
    if found.python != platform.python_version():
        yield f"it was measured with Python {found.python}"
    if found.load is not None and hasattr(os, "getloadavg"):
        now, most = os.getloadavg()[0], max(found.load, (os.cpu_count() or 1) / 2)
        if now > _BUSIER * most:
            yield f"the load is {now:.2g} now and was {found.load:.2g}"


def _describe(found: Calibration | None, gate: GateRate | None, what: str, *, here: bool) -> str:
    machine = "this machine" if here else "the machine that measured"
    if found is None or gate is None:
        return f"How often {machine} gives a false alarm is not known: {COMMAND} measures it."
    old = "; ".join(reasons_to_recalibrate(found, here=here))
    said = f"On {machine}, calibrated {found.at[:10]}, {_describe_rate(gate, what)}."
    return f"{said} But {old}: {COMMAND} measures it anew." if old else said


def _describe_rate(gate: GateRate, what: str) -> str:
    low, high = gate.alarms.interval
    share = (
        f"equal work was called different in {gate.alarms.count} of {gate.alarms.of} {what} "
        f"({_format_percent(gate.alarms.share)} [{_format_percent(low)}, {_format_percent(high)}])"
    )
    if gate.smallest is None:
        return f"{share}; no change up to {_format_percent(CHANGES[-1])} was found in nine of ten"
    return f"{share}; a change of {_format_percent(gate.smallest)} is found in nine of ten"


def _format_percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
