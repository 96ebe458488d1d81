"""Looks at a probe of a rate on its way, and says when no answer to come can mend it.

Nothing is read while requests are timed, so it knows when an answer's first byte came and when it ended, not what it
holds: a first token is at least as late as the first byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchwright.records import Objective
from benchwright.worker.endpoints.request_times import ERRORS, is_timed
from benchwright.worker.endpoints.traffic import Outcome, RequestLog
from benchwright.worker.engine.rate_search import PERCENTILE, quantile_of

FEWEST = 16  # requests of which there is something to tell
_UNTIL_END = frozenset({"latency", "service"})
_BETWEEN = frozenset({"itl", "tpot", "lateness"})  # of which instants of bytes say nothing


@dataclass(slots=True, kw_only=True)
class _Rule:
    """At most `allowed` requests may fail, or take more than `limit` ns."""

    allowed: int
    limit: int | None = None
    by_end: bool = False
    late: int = 0


@dataclass(slots=True, kw_only=True)
class ProbeGuard:
    """The bounds of one probe."""

    rules: list[_Rule] = field(default_factory=list)
    is_lost: bool = False  # a bound is broken, whatever becomes of the rest
    heard: int = 0

    def hear_end(self, traffic: RequestLog, entry: int) -> bool:
        """Takes one request that has ended; whether the probe is lost."""
        failed = traffic.outcome[entry] != Outcome.OK or not 200 <= (traffic.status[entry] or 200) < 300
        due = traffic.scheduled[entry]
        for rule in self.rules:
            bad = failed
            if not bad and rule.limit is not None:
                instant = traffic.end[entry] if rule.by_end else traffic.first[entry]
                bad = instant - due > rule.limit if instant else False
            rule.late += bad
        self.heard += 1
        self.is_lost = self.heard >= FEWEST and any(rule.late > rule.allowed for rule in self.rules)
        return self.is_lost


def guard_probe(objectives: Sequence[Objective], requests: int) -> ProbeGuard:
    """What watches a probe of so many requests."""
    rules = []
    for objective in objectives:
        if objective.metric == ERRORS:
            rules.append(_Rule(allowed=int(objective.bound / 100 * requests)))
        elif is_timed(objective.metric):
            name = objective.metric.rpartition(PERCENTILE)[0]
            allowed = int((1.0 - quantile_of(objective)) * requests + 1e-9)
            if name == "itl":  # whose values are those of gaps, of which there are many in an answer
                continue
            limit = None if name in _BETWEEN else int(objective.bound * 1e9)
            rules.append(_Rule(allowed=allowed, limit=limit, by_end=name in _UNTIL_END))
    return ProbeGuard(rules=rules)
