"""Whether the cloud is about to take this machine away: its metadata service says so half a minute or two before.

Amazon and Azure name the instant, Google says that it has begun. Oracle tells it nowhere on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchwright.machine.environment.instances import SERVICE, Ask, asker, aws_headers, read_document

EVERY = 5.0  # seconds between two questions, as Amazon recommends
_LONGEST = 100  # characters of what is told


def ask_notice(provider: str, service: str = SERVICE) -> str:
    """What the cloud says of taking this machine away; "" as long as it says nothing."""
    question = _ASKED.get(provider)
    return question(asker(service)) if question else ""


def _ask_aws(ask: Ask) -> str:
    headers = aws_headers(ask)
    told = read_document(ask("/latest/meta-data/spot/instance-action", headers)) if headers else {}
    action = str(told.get("action") or "")[:_LONGEST]
    return f"{action} at {str(told.get('time') or 'once')[:_LONGEST]}" if action else ""


def _ask_gcp(ask: Ask) -> str:
    told = ask("/computeMetadata/v1/instance/preempted", {"Metadata-Flavor": "Google"})
    return "preempted, ends within 30 s" if told.strip().upper() == "TRUE" else ""


def _ask_azure(ask: Ask) -> str:
    told = read_document(ask("/metadata/scheduledevents?api-version=2020-07-01", {"Metadata": "true"}))
    events = told.get("Events")
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("EventType") == "Preempt":
            return f"preempted not before {str(event.get('NotBefore') or 'now')[:_LONGEST]}"
    return ""


_ASKED: Mapping[str, Callable[[Ask], str]] = {"aws": _ask_aws, "gcp": _ask_gcp, "azure": _ask_azure}
