"""What to know of the answer of a search for a rate: whether it is sure, and whether there was time for all of it."""

from __future__ import annotations

import math

from benchwright.records import ResultWarning
from benchwright.records.probes import CLOSE, RateProbe, choose_best, find_next_broken
from benchwright.units import format_value
from benchwright.worker.endpoints.rate_probes import CONFIRMING, ORIENTING, RateProbes
from benchwright.worker.engine.rate_search import fewest_calls

UNSURE = "rate-unsure"
UNFINISHED = "search-unfinished"


def note_search(search: RateProbes) -> list[ResultWarning]:
    """Warnings about the answer. That there is none is told by whoever knows the metrics."""
    best = choose_best(search.probes)
    if best is None:
        return []
    found = []
    if not best.sure:
        found.append(_warn_unsure(search, best))
    broken = find_next_broken(search.probes, best)
    if broken is None or broken.rate - best.rate > CLOSE * broken.rate:
        held = f"{format_value(best.held_rate, '/s')}, which held"
        which = f"between {held}, and {format_value(broken.rate, '/s')}, which did not" if broken else f"above {held}"
        seen = f"the {search.time:.0f} s of the search were over before rates {which}, were tried for long"
        found.append(ResultWarning(code=UNFINISHED, seen=seen, remedy=_ask_for(4 * search.time)))
    return found


def _warn_unsure(search: RateProbes, best: RateProbe) -> ResultWarning:
    needed = max(map(fewest_calls, search.load.objectives))
    kept = f"the objectives held in the {best.requests:,} requests at {format_value(best.held_rate, '/s')}"
    seen = f"{kept}, which does not show with 95 % confidence that they always do"
    if best.requests >= needed:
        remedy = f"a value is near its bound, so plan with a lower rate; or {_ask_for(4 * search.time)}"
    else:
        whole = needed / best.held_rate / (1 - ORIENTING) / CONFIRMING
        remedy = f"that takes {needed:,} requests: {_ask_for(max(whole, 1.25 * search.time))}, or a wider --objective"
    return ResultWarning(code=UNSURE, seen=seen, remedy=remedy)


def _ask_for(seconds: float) -> str:
    minutes = math.ceil(seconds / 60)
    return f"give the search more time, for example --duration {minutes * 60}"
