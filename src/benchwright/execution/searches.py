"""What a search for the highest rate found, told of whatever became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records import Case, Failure
from benchwright.records.probes import RateProbe
from benchwright.units.rates_tried import describe_search

SEARCH = "search"  # the detail of a result that holds what was tried until it was cut off


def read_probes(told: object) -> Sequence[RateProbe]:
    """The rates that were tried, as a worker or a result tells of them; none where that cannot be read."""
    try:
        return schema.decode(tuple[RateProbe, ...], told, where="probes")
    except DecodeError:
        return ()


def add_found(failure: Failure, case: Case, known: Mapping[str, Any]) -> Failure:
    """The failure of an attempt that was cut off, with what its search had found by then."""
    search = known.get(SEARCH)
    probes = read_probes(search.get("probes")) if isinstance(search, dict) else ()
    if not probes:
        return failure
    said = describe_search(probes, case.load.objectives)
    return replace(failure, message=f"{failure.message}; until then {said}")
