"""Which series a result's values belong to: what was measured, on which machine, and whether a race measured it.

`benchwright tune` measures in short processes, which tell configurations apart. Beside the values of runs of the usual
length they would look like a change, and the next ordinary run like another. So what a race measures has series of its
own: they can be looked at, and are never judged for changes.
"""

from __future__ import annotations

from benchwright.records import Result, Scalar
from benchwright.records.races import CELL, IN_RACE
from benchwright.schema import case_key, environment_key, fingerprint
from benchwright.schema.parsing import json_mapping


def series_key_of(result: Result, metric: str) -> str:
    """The series that a result's value of a metric belongs to."""
    return fingerprint([series_case(case_key(result.case), result), environment_key(result.environment), metric])


def series_case(case: str, result: Result) -> str:
    """The part of the key that says what was measured, of the `schema.case_key` of the result's case."""
    return fingerprint([case, IN_RACE]) if is_raced(result) else case


def series_params(result: Result) -> dict[str, Scalar]:
    """What tells the series of a result from others of the same name, for people."""
    return {**result.case.params, **({IN_RACE: True} if is_raced(result) else {})}


def is_raced(result: Result) -> bool:
    """Whether a race made the result."""
    return CELL in result.details


def is_series_of_races(params: str) -> bool:
    """Whether the series with these parameters, which are JSON, holds results of races."""
    return f'"{IN_RACE}"' in params and json_mapping(params).get(IN_RACE) is True
