"""Whether the client that asked a served model was the bottleneck: then its numbers are not the server's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchwright.execution.attempt import CopyAnswer
from benchwright.execution.searches import SEARCH
from benchwright.records import Metric, ResultWarning, Value
from benchwright.units import format_value

CLIENT = "client"  # the detail in which a worker tells of itself
BUSY = 90.0  # % of a core: a client of one thread has nothing left
LATE = 0.001  # seconds by which 1 % of the requests may be sent late, whatever they take
LATE_SHARE = 0.05  # or this share of the median that they are judged by
_TYPICAL = ("ttft_p50", "latency_p50")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFault:
    """One way in which the client fell behind."""

    seen: str
    remedy: str


def find_faults(answers: Sequence[CopyAnswer], metrics: Sequence[Metric]) -> list[ClientFault]:
    """Every way in which a client fell behind; none of what was asked without a client of ours."""
    told = [client for a in answers if isinstance(client := a.measured["details"].get(CLIENT), Mapping)]
    if not told:
        return []
    points = {m.name: m.estimate.point for m in metrics}
    typical = next((points[name] for name in _TYPICAL if name in points), 0.0)
    busy = max(_number(client, "cpu_percent") for client in told)
    late = max(_number(client, "send_lateness_p99_ns") for client in told) / 1e9
    waited = sum(_number(client, "waited_for_a_connection") for client in told)
    found = []
    more = f"send from more processes: --copies {len(told) + 1}"
    if SEARCH in answers[0].measured["details"]:  # which one process does
        more = f"measure the rate that was found from more processes: --rate and --copies {len(told) + 1}"
    if busy >= BUSY:
        seen = f"a process of the client used {busy:.0f} % of a core"
        found.append(ClientFault(seen=seen, remedy=more))
    if waited:
        seen = f"{waited:.0f} requests waited because all connections were in use"
        found.append(ClientFault(seen=seen, remedy="allow more with --option connections=N, or more open files"))
    elif late > max(LATE, LATE_SHARE * typical):
        seen = f"1 % of the requests were sent more than {format_value(late, 's')} late"
        found.append(ClientFault(seen=seen, remedy=f"leave it a free CPU, or {more}"))
    return found


def warn_of(faults: Sequence[ClientFault]) -> list[ResultWarning]:
    """The faults as warnings."""
    return [ResultWarning(code="client-limited", seen=fault.seen, remedy=fault.remedy) for fault in faults]


def join_errors(answers: Sequence[CopyAnswer]) -> dict[str, Value]:
    """The failures that all copies tell of, by class: how many, and what the first of them said."""
    joined: dict[str, Value] = {}
    for answer in answers:
        told = answer.measured["details"].get("errors")
        for name, kind in told.items() if isinstance(told, Mapping) else ():
            before = joined.get(name)
            if isinstance(before, dict) and isinstance(kind, Mapping):
                joined[name] = {**before, "count": int(_number(before, "count") + _number(kind, "count"))}
            else:
                joined[name] = dict(kind) if isinstance(kind, Mapping) else kind
    return joined


def _number(client: Mapping[str, object], name: str) -> float:
    value = client.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
