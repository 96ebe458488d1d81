"""Results to a server, in FAI-PEP's envelope. What cannot be sent waits in a file and goes first the next time."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.compat.harness import remote_post
from benchwright.compat.harness.documents import Document, as_json
from benchwright.compat.harness.remote_post import Endpoint
from benchwright.compat.harness.summaries import Rules
from benchwright.errors import UploadError
from benchwright.fetch.locks import locked

SPOOL = Path(".benchwright") / "unsent"
WAITS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0)  # seconds between attempts, 300 at most together
_TIMES = ("time", "commit_time", "control_commit_time")
_WORDS = ("type", "unit", "metric", "info_string")
Log = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How to send. Tests pass no waits."""

    rules: Rules = Rules.TODAY
    spool: Path = SPOOL
    waits: Sequence[float] = WAITS
    sleep: Callable[[float], None] = time.sleep
    timeout: float = 60.0


def send(address: str, token: str, documents: Sequence[Document], how: How | None = None) -> int:
    """Posts the entries of each document to `host/path|category`; how many arrived, earlier ones included.

    What an earlier attempt could not send goes first. Success is what the server counts. On an `UploadError` all that
    did not arrive is in the spool; nothing there, and no message, holds the token.
    """
    how = how or How()
    endpoint = remote_post.endpoint(address)
    waiting = [batch for document in documents if (batch := logs(document, endpoint.category, rules=how.rules))]
    sent = 0
    try:
        sent += _send_spooled(endpoint, token, how)
        while waiting:
            sent += _post(endpoint, token, waiting[0], how)
            waiting.pop(0)
    except KeyboardInterrupt:  # waiting may take minutes
        _keep(endpoint, waiting, how.spool)
        raise
    except UploadError as error:
        _keep(endpoint, waiting, how.spool)
        remedy = f"what was not sent is in {how.spool}, and goes first when something is sent there again"
        raise UploadError(error.message, remedy=remedy) from None
    return sent


def logs(document: Document, category: str, *, rules: Rules = Rules.TODAY) -> list[Log]:
    """One log for each entry; `message` is JSON in a text, and its `int` holds whole numbers: the server's columns."""
    normal = {key: value for key, value in document.meta.items() if key != "command_str" and key not in _TIMES}
    normal["command"] = document.meta.get("command_str", "")
    times = {name: int(float(document.meta[name])) for name in _TIMES if document.meta.get(name) is not None}
    return [
        {"category": category, "message": _message(entry, normal, times, rules), "line_escape": False}
        for entry in document.data.values()
    ]


def _message(entry: Mapping[str, Any], normal: Mapping[str, Any], times: Mapping[str, int], rules: Rules) -> str:
    numbers = dict(times)
    for prefix in ("", "control_", "diff_"):
        for name, value in (entry.get(f"{prefix}summary") or {}).items():
            if value is not None:
                numbers[f"{prefix}{name}"] = int(value * 1000 if rules is Rules.SEED else value)
    numbers |= {name: int(entry[name]) for name in ("num_runs", "regressed") if name in entry}
    message = {
        "int": numbers,
        "normal": {**normal, **{name: entry[name] for name in _WORDS if name in entry}},
        "normvector": {name: entry[name] for name in ("values", "control_values") if name in entry},
    }
    return json.dumps(json.loads(as_json(message)), sort_keys=True)


def _post(endpoint: Endpoint, token: str, batch: list[Log], how: How) -> int:
    body = {"access_token": token, "logs": json.dumps(batch, sort_keys=True)}
    for attempt in range(len(how.waits) + 1):
        try:
            answer = remote_post.post(endpoint, body, timeout=how.timeout)
        except remote_post.PassingError as trouble:
            if attempt == len(how.waits):
                raise UploadError(f"{endpoint.shown}: {trouble} ({attempt + 1} attempts)") from None
            how.sleep(how.waits[attempt])
            continue
        count = answer.get("count") if isinstance(answer, Mapping) else None
        if count != len(batch):
            raise UploadError(f"{endpoint.shown} counted {count!r} of {len(batch)} entries")
        return len(batch)
    raise AssertionError("the last attempt answers or raises")


def _keep(endpoint: Endpoint, waiting: Sequence[list[Log]], spool: Path) -> None:
    """Writes what could not be sent; names sort by time. Without the token: it is given again."""
    try:
        spool.mkdir(parents=True, exist_ok=True)
        for batch in waiting:
            path = spool / f"{endpoint.key}-{time.time_ns():020}-{uuid.uuid4().hex[:8]}.json"
            fresh = path.with_name(f".{path.name}.new")
            fresh.write_text(json.dumps({"to": endpoint.shown, "logs": batch}), encoding="utf-8")
            fresh.replace(path)
    except OSError as error:
        raise UploadError(
            f"{endpoint.shown}: not sent, and not kept either: {error.filename or spool}: {error.strerror or error}"
        ) from error


def _send_spooled(endpoint: Endpoint, token: str, how: How) -> int:
    if not [*how.spool.glob(f"{endpoint.key}-*.json")]:
        return 0
    sent = 0
    with locked(how.spool / f".{endpoint.key}.lock"):  # two processes would send everything twice
        for path in sorted(how.spool.glob(f"{endpoint.key}-*.json")):
            try:
                batch = json.loads(path.read_text(encoding="utf-8"))["logs"]
            except (OSError, ValueError, KeyError) as error:
                raise UploadError(f"{path} cannot be read: {error}") from None
            sent += _post(endpoint, token, batch, how)
            path.unlink()
    return sent
