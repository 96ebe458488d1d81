"""Passes of their own, with profilers or the recording of operators: their times are not kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchwright import schema
from benchwright.execution.attempt import AttemptOutcome
from benchwright.records import Case, Mode, Profile, ResultWarning


def profile_case(case: Case, profile: Profile | None) -> Case:
    """The case for a pass with profilers: a closed loop that lasts until the last window closes."""
    from benchwright.worker.profilers.windows import FOREVER

    case = replace(case, expected=None)  # answers are compared where times are kept
    load = case.load
    if profile is None or load.mode is not Mode.CLOSED or load.once:
        return case
    last = max(end for _, end in profile.windows)
    lasting = load.duration or 1.0
    if last < FOREVER:
        lasting = max(lasting, last)
    return replace(case, load=replace(load, duration=lasting, samples=None, precision=None))


def add_pass(measured: AttemptOutcome, extra: AttemptOutcome, code: str) -> AttemptOutcome:
    """Returns the outcome of the measured pass, with the figures and warnings of an extra pass added."""
    if extra.failure is not None:
        seen = f"the extra pass failed: {extra.failure.message}"
        return add_to_answer(
            measured, warnings=[schema.encode(ResultWarning(code=code, seen=seen, remedy=extra.failure.remedy))]
        )
    told = extra.answers[0].measured
    return add_to_answer(measured, **{name: told[name] for name in ("warnings", "operators", "details")})


def add_to_answer(
    measured: AttemptOutcome, *, warnings: Any, operators: Any = (), details: Any = None
) -> AttemptOutcome:
    """The outcome whose first worker also told these; of details, what it did not tell itself."""
    first = measured.answers[0]
    told = {
        **first.measured,
        "warnings": [*first.measured["warnings"], *warnings],
        "operators": first.measured["operators"] or list(operators),
        "details": {**(details or {}), **first.measured["details"]},
    }
    return replace(measured, answers=(replace(first, measured=told), *measured.answers[1:]))
