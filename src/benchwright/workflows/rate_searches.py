"""Searches for the highest rate of a served model: how long they take, told before they begin."""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.events import Listener, Noted
from benchwright.records import Case
from benchwright.units import format_value

_RUNTIMES = ("openai", "kserve", "http")


def is_one(case: Case) -> bool:
    """Whether a case is the search for the rate of a served model."""
    return case.load.find_rate and case.target.runtime in _RUNTIMES


def announce(cases: Sequence[Case], rounds: int, listener: Listener) -> None:
    """Tells how long the searches take at most, all together."""
    searches = [case for case in cases if is_one(case)]
    if not searches:
        return
    from benchwright.worker.endpoints.rate_probes import search_time

    each = [search_time(case.load) for case in searches]
    count = rounds * len(searches)
    whole = _say(rounds * sum(each))
    many = f"{count} searches for the highest rate take {whole} at most, {_say(max(each))} each"
    one = f"the search for the highest rate takes {whole} at most"
    remedy = "--duration SECONDS gives each another time"
    listener(Noted(text=f"{one if count == 1 else many}, after the warm-up; {remedy}"))


def _say(seconds: float) -> str:
    return f"{seconds / 60:.3g} min" if seconds >= 120 else format_value(seconds, "s")
