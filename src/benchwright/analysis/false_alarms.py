"""What is known of a machine's own rate of false alarms, in words to stand beside a verdict."""

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
from benchwright.execution.noise.calibration import Calibration, GateRate, of_run
from benchwright.records import CALIBRATION_TAG, Environment, Run
from benchwright.stats.replay import CHANGES

COMMAND = "benchwright env --calibrate"
FRESH = timedelta(days=14)  # after which a machine may be another, though it looks the same
_NEWEST = 30  # calibrations that are looked through
_BUSIER = 2.0  # times the load


class ResultReader(Protocol):
    """As much of a store as is needed."""

    def runs(self, *, limit: int = 20, tag: str = "", tries: bool = False) -> Sequence[_Named]:
        """The newest runs first."""

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """A whole run."""


class Closing(ResultReader, Protocol):
    """A store that must be closed."""

    def close(self) -> None:
        """Lets go of it."""


class _Named(Protocol):
    @property
    def id(self) -> str: ...


def by_machine(store: ResultReader) -> dict[str, Calibration]:
    """The newest calibration of each machine (`schema.environment_key`) that a store knows."""
    found: dict[str, Calibration] = {}
    for summary in store.runs(limit=_NEWEST, tag=CALIBRATION_TAG, tries=True):
        try:
            told = of_run(store.run(summary.id, samples=False))
        except UserError:  # one that cannot be read any more
            continue
        if told is not None:
            found.setdefault(*told)
    return found


def of_machine(store: ResultReader, environment: Environment | None) -> Calibration | None:
    """The newest calibration of the machine of this environment; None where there is none."""
    return by_machine(store).get(schema.environment_key(environment)) if environment is not None else None


def read(opened: Callable[[], Closing], environment: Environment | None) -> Calibration | None:
    """The same from a store that is opened for it. A store that there is not, or that cannot be read, knows nothing."""
    if environment is None:
        return None
    try:
        with contextlib.closing(opened()) as store:
            return of_machine(store, environment)
    except UserError:
        return None


def beside_pairs(found: Calibration | None, *, here: bool = True) -> str:
    """What stands beside verdicts of `ab`: how often it is wrong on this machine, or that nobody knows."""
    return _beside(found, found.pairs if found else None, "replayed trials", here=here)


def beside_rounds(found: Calibration | None, *, here: bool = False) -> str:
    """The same beside verdicts of `compare` and `check`."""
    return _beside(found, found.rounds if found else None, "comparisons of runs", here=here)


def lines(found: Calibration, *, here: bool = True) -> list[tuple[str, str]]:
    """All that is known, as label and words. `here`: on this very machine, now."""
    usual, load = found.usual, "" if found.load is None else f" at a load of {found.load:.2g}"
    cut = ", cut off early" if found.interrupted else ""
    return [
        (
            "measured",
            f"{found.at[:16].replace('T', ' ')} UTC for {found.seconds:.0f} s{load}{cut}: {found.processes} processes "
            f"of {found.repeated:.2g} s",
        ),
        ("ab", _gate(found.pairs, f"replayed trials of at most {usual.pairs} pairs, looked at twice")),
        ("compare, check", _gate(found.rounds, f"comparisons of {usual.rounds} rounds on each side")),
        *[("stale", reasons) for reasons in ["; ".join(stale(found, here=here))] if reasons],
    ]


def stale(found: Calibration, *, here: bool) -> Iterator[str]:
    """Why it may not hold any more. `here`: on this very machine, now."""
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


def _beside(found: Calibration | None, gate: GateRate | None, what: str, *, here: bool) -> str:
    machine = "this machine" if here else "the machine that measured"
    if found is None or gate is None:
        return f"How often {machine} gives a false alarm is not known: {COMMAND} measures it."
    old = "; ".join(stale(found, here=here))
    said = f"On {machine}, calibrated {found.at[:10]}, {_gate(gate, what)}."
    return f"{said} But {old}: {COMMAND} measures it anew." if old else said


def _gate(gate: GateRate, what: str) -> str:
    low, high = gate.alarms.interval
    share = (
        f"equal work was called different in {gate.alarms.count} of {gate.alarms.of} {what} "
        f"({_percent(gate.alarms.share)} [{_percent(low)}, {_percent(high)}])"
    )
    if gate.smallest is None:
        return f"{share}; no change up to {_percent(CHANGES[-1])} was found in nine of ten"
    return f"{share}; a change of {_percent(gate.smallest)} is found in nine of ten"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
