"""What FAI-PEP's remote reporter sends: `{"access_token": ..., "logs": "[...]"}`, one log for each entry of a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchwright.errors import DecodeError
from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, finite
from benchwright.records import Environment, Failure, Result, Revision, Run, Scalar
from benchwright.targets.specs.rows import figures
from benchwright.targets.specs.rows.entries import RowEntry

TOOL = "fai-pep"
MOST_LOGS = 100_000
Loads = Callable[[str, str], Any]  # a text and where it stands, as JSON
_NO_COMMIT = ("", "interactive")
_TEST = ("net_name", "identifier", "framework", "platform", "platform_hash", "commit", "command", "user_identifier")
_SIDES = {"treatment": "", "control": "control_"}


def logs_of(sent: Any, loads: Loads, *, where: str = "logs") -> list[Any]:
    """The messages of the logs, with `loads` reading JSON that is in a text, as that reporter packs it twice."""
    rows = list(DocumentPlace(_unpack(sent, loads, where), where))
    if len(rows) > MOST_LOGS:
        raise DecodeError(f"{where}: more than {MOST_LOGS} entries at once")
    return [_unpack(row["message"].data, loads, row["message"].where) for row in rows]


def run_of(messages: Sequence[Any], *, received_at: str) -> Run:
    """One run of all the messages: a result for each test, on each of its sides. The same messages are the same run."""
    tests: dict[str, list[DocumentPlace]] = {}
    for i, message in enumerate(messages):
        place = DocumentPlace(message, f"logs[{i}].message")
        tests.setdefault(_identity(place), []).append(place)
    results = [result for entries in tests.values() for result in _results(entries, received_at)]
    if not results:
        raise DecodeError("logs: there are no entries", remedy="send what --remote_reporter sends")
    first = min(results, key=lambda result: result.started_at)
    told = Provenance(
        tool=TOOL,
        environment=first.environment,
        started_at=first.started_at,
        revision=results[0].revision,
    )
    dated = all(_instant(entries[0]) for entries in tests.values())
    return construction.run(told, list(messages), results, sorts=dated)


def _unpack(sent: Any, loads: Loads, where: str) -> Any:
    return loads(sent, where) if isinstance(sent, str) else sent


def _identity(message: DocumentPlace) -> str:
    normal = message["normal"].mapping()
    return json.dumps([*(normal.get(name) for name in _TEST), message["int"]["time"].data], default=str)


def _results(entries: Sequence[DocumentPlace], received_at: str) -> Iterator[Result]:
    facts, numbers = entries[0]["normal"], entries[0]["int"]
    has_control = any(entry["normvector"]["control_values"].data for entry in entries) or any(
        name.startswith("control_") for entry in entries for name in _summaries(entry)
    )
    for side, prefix in _SIDES.items():
        if side == "control" and not has_control:
            continue
        told = Provenance(
            tool=TOOL,
            environment=_environment(facts),
            started_at=_instant(entries[0]) or received_at,
            revision=_revision(facts, numbers, prefix),
        )
        name = _text(facts, "net_name") or _text(facts, "identifier") or "unnamed"
        case = construction.case(TOOL, name, _params(facts, side if has_control else ""))
        metrics = figures.metrics(entry for place in entries if (entry := _entry(place, prefix)) is not None)
        missing = None if metrics else Failure(kind="empty", message="the reporter sent no numbers")
        details = {"meta": {key: value.value() for key, value in facts.items()}}
        yield construction.result(told, case, metrics=metrics, failure=missing, details=details)


def _instant(message: DocumentPlace) -> str:
    return construction.since_1970(message["int"]["time"].maybe())


def _entry(message: DocumentPlace, prefix: str) -> RowEntry | None:
    """One side of a message, as an entry of the specs' own; None for texts and for what that side lacks."""
    normal, values = message["normal"], message["normvector"][f"{prefix}values"].numbers()
    summary = {
        name.removeprefix(prefix): value
        for name, value in _summaries(message).items()
        if name.startswith(prefix) and (prefix or not name.startswith(("control_", "diff_")))
    }
    if not values and not summary:
        return None
    runs = message["int"]["num_runs"].maybe()
    return RowEntry(
        type=_text(normal, "type") or "NET",
        metric=_text(normal, "metric"),
        unit=_text(normal, "unit"),
        values=list(values),
        summary={**summary},
        runs=int(runs) if runs is not None else None,
    )


def _summaries(message: DocumentPlace) -> Mapping[str, float]:
    """The statistics of an entry: in full where the sender has them so, else the whole numbers that all send."""
    whole, exact = message["int"].mapping(), message["float"].mapping()
    known = {name: number for name, value in {**whole, **exact}.items() if (number := finite(value)) is not None}
    others = ("time", "commit_time", "control_commit_time", "num_runs", "regressed")
    return {name: number for name, number in known.items() if name not in others}


def _revision(facts: DocumentPlace, numbers: DocumentPlace, prefix: str) -> Revision | None:
    commit = _text(facts, f"{prefix}commit")
    if commit in _NO_COMMIT:
        return None
    return Revision(vcs="git", id=commit, committed_at=construction.since_1970(numbers[f"{prefix}commit_time"].maybe()))


def _params(facts: DocumentPlace, side: str) -> dict[str, Scalar]:
    told = {"test": _text(facts, "identifier"), "framework": _text(facts, "framework"), "side": side}
    return {name: value for name, value in told.items() if value}


def _environment(facts: DocumentPlace) -> Environment:
    """The platform's name and its hash are all that is told of a device."""
    platform = _text(facts, "platform")
    return construction.environment(
        TOOL,
        "",
        machine={"cpu": platform, "device": _text(facts, "platform_hash")},
        system={"host": _text(facts, "platform_hash"), "backend": _text(facts, "backend")},
    )


def _text(facts: DocumentPlace, name: str) -> str:
    value = facts[name].data
    return "" if value is None or isinstance(value, list | dict) else str(value)
