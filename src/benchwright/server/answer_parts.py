"""Lists that verbs of the store answer, in parts: one answer is bounded, and says what to ask for next."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from benchwright.records.causes import CausePlace
from benchwright.server.errors import refusal
from benchwright.store import RunSummary
from benchwright.store.archive import Archive
from benchwright.store.choices import read_place

FINDINGS = 1000  # of one answer
CAUSES = 500
RUNS = 200
NAMES = 20_000  # of the cases of the runs in one answer; one run comes whole
RUN_IDS = 10_000
POINTS = 100_000  # of the series in one answer, each counted as one point more; one series comes whole
MISSES = 1000

Part = tuple[list[Any], dict[str, Any]]


def read_part(store: Archive, verb: str, arguments: Mapping[str, Any]) -> Part:
    """The first part of what a verb in `IN_PARTS` answers, and the arguments that change for the next one, if any."""
    return _READERS[verb](store, dict(arguments))


def _read_findings(store: Archive, arguments: dict[str, Any]) -> Part:
    wanted = arguments.pop("limit", 1000)
    found = store.findings(**arguments, limit=min(wanted, FINDINGS + 1))
    if len(found) <= FINDINGS:
        return found, {}
    part = found[:FINDINGS]
    # After the last one, not after so many: findings that come or change meanwhile move no other.
    return part, {"before": part[-1].id, "skip": 0, "limit": wanted - FINDINGS}


def _read_causes(store: Archive, arguments: dict[str, Any]) -> Part:
    wanted, before = arguments.pop("limit", 100), arguments.pop("before", "")
    place = read_place(before) if before else None
    joined = store.causes_joined(until=place.until if place else 0)
    # The list as it is now, and the next part after the last one, not after so many: what is found or triaged
    # meanwhile moves no other.
    place = place or CausePlace.first(joined)
    found = store.causes(**arguments, limit=min(wanted, CAUSES + 1), before=str(place))
    if len(found) <= CAUSES:
        return found, {}
    part = found[:CAUSES]
    last = CausePlace(place.until, joined.get(part[-1].id, 0), part[-1].id)
    return part, {"before": str(last), "skip": 0, "limit": wanted - CAUSES}


def _read_runs(store: Archive, arguments: dict[str, Any]) -> Part:
    wanted = arguments.pop("limit", 20)
    found = store.runs(**arguments, limit=min(wanted, RUNS + 1))
    part = _cut_by_names(found[:RUNS])
    following = {"before": part[-1].id, "limit": wanted - len(part)} if len(part) < len(found) else {}
    return part, following


def _cut_by_names(runs: list[RunSummary]) -> list[RunSummary]:
    """The first runs, whose names of cases are not too many; one at least."""
    named = 0

    def fits(run: RunSummary) -> bool:
        nonlocal named
        named += len(run.cases)
        return named <= NAMES

    return [*takewhile(fits, runs)] or runs[:1]


def _read_run_ids(store: Archive, arguments: dict[str, Any]) -> Part:
    wanted = arguments.pop("limit", 0)  # 0: all
    found = [*store.run_ids(**arguments, limit=min(wanted or RUN_IDS + 1, RUN_IDS + 1))]
    if len(found) <= RUN_IDS:
        return found, {}
    left = {"limit": wanted - RUN_IDS} if wanted else {}
    return found[:RUN_IDS], {"after": found[RUN_IDS - 1], **left}


def _read_history(store: Archive, arguments: dict[str, Any]) -> Part:
    skipped, most = arguments.pop("skip", 0), arguments.pop("most", 0)
    arguments["limit"] = min(arguments.get("limit", 1000), POINTS + 1)
    found = store.history(**arguments, skip=skipped, most=min(most or POINTS, POINTS))
    if any(len(series.points) > POINTS for series in found):
        raise refusal(413, f"history: a series has more than {POINTS:,} points", f"give a limit of at most {POINTS}")
    end = skipped + len(found)
    is_more = bool(found) and bool(store.history(**arguments | {"limit": 1}, skip=end, most=1))
    return found, {"skip": end} if is_more and not most else {}


def _read_misses(store: Archive, arguments: dict[str, Any]) -> Part:
    found = store.misses(**arguments | {"limit": min(arguments.get("limit", 20), MISSES + 1)})
    if len(found) > MISSES:
        raise refusal(413, f"misses: there are more than {MISSES:,}", f"give a limit of at most {MISSES}")
    return found, {}


_READERS = {
    "findings": _read_findings,
    "causes": _read_causes,
    "runs": _read_runs,
    "run_ids": _read_run_ids,
    "history": _read_history,
    "misses": _read_misses,
}
IN_PARTS = frozenset(_READERS)
