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
from benchwright.compat.harness.documents import HarnessDocument, as_json
from benchwright.compat.harness.remote_post import Endpoint, PostRefusedError
from benchwright.compat.harness.summaries import SummaryRules
from benchwright.errors import UploadError
from benchwright.schema.parsing import json_value
from benchwright.system import streams, whole_files
from benchwright.system.locks import hold_lock

SPOOL = Path(".benchwright") / "unsent"
REFUSED = ".refused"  # ends the name of what a server will never take
WAITS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0)  # seconds between attempts, 300 at most together
_TIMES = ("time", "commit_time", "control_commit_time")
_WORDS = ("type", "unit", "metric", "info_string")
Log = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """How to send. Tests pass no waits."""

    rules: SummaryRules = SummaryRules.TODAY
    spool: Path = SPOOL
    waits: Sequence[float] = WAITS
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda text: None  # hears of each attempt that has to be repeated
    timeout: float = 60.0


def send(address: str, token: str, documents: Sequence[HarnessDocument], how: SendOptions | None = None) -> int:
    """Posts the entries of each document to `host/path|category`; how many arrived, earlier ones included.

    What an earlier attempt could not send goes first. Success is what the server counts. On an `UploadError` all that
    did not arrive is in the spool: what the server will never take as `*.refused`, which is not sent again, and the
    rest goes on. Nothing there, and no message, holds the token.
    """
    how = how or SendOptions()
    endpoint = remote_post.parse_endpoint(address)
    waiting = [batch for document in documents if (batch := logs(document, endpoint.category, rules=how.rules))]
    sending = _ServerSession(endpoint, token, how)
    try:
        sending.send_spooled()
        sending.send_new(waiting)
    except (KeyboardInterrupt, OSError):  # waiting may take minutes; a disk may be full
        sending.keep(waiting)
        raise
    except UploadError as error:
        sending.keep(waiting)
        remedy = f"what was not sent is in {how.spool}, and goes first when something is sent there again"
        raise UploadError("; ".join([*sending.refused, error.message]), remedy=remedy) from None
    if sending.refused:
        remedy = f"set aside as {how.spool}/*{REFUSED}; take that off a name to send it again"
        raise UploadError("; ".join(sending.refused), remedy=remedy)
    return sending.sent


def keep(address: str, documents: Sequence[HarnessDocument], how: SendOptions) -> None:
    """Puts the entries of each document into the spool, from which the next `send` takes them."""
    endpoint = remote_post.parse_endpoint(address)
    waiting = [batch for document in documents if (batch := logs(document, endpoint.category, rules=how.rules))]
    _ServerSession(endpoint, "", how).keep(waiting)


def logs(document: HarnessDocument, category: str, *, rules: SummaryRules = SummaryRules.TODAY) -> list[Log]:
    """One log for each entry; `message` is JSON in a text.

    Its `int` holds the summaries as whole numbers, which are the server's columns, and `float` holds them in full.
    """
    normal = {key: value for key, value in document.meta.items() if key != "command_str" and key not in _TIMES}
    normal["command"] = document.meta.get("command_str", "")
    times = {name: int(float(document.meta[name])) for name in _TIMES if document.meta.get(name) is not None}
    return [
        {"category": category, "message": _message(entry, normal, times, rules), "line_escape": False}
        for entry in document.data.values()
    ]


def _message(entry: Mapping[str, Any], normal: Mapping[str, Any], times: Mapping[str, int], rules: SummaryRules) -> str:
    exact = {
        f"{prefix}{name}": value
        for prefix in ("", "control_", "diff_")
        for name, value in (entry.get(f"{prefix}summary") or {}).items()
        if value is not None
    }
    whole = {name: int(value * 1000 if rules is SummaryRules.SEED else value) for name, value in exact.items()}
    numbers = {**times, **whole}
    numbers |= {name: int(entry[name]) for name in ("num_runs", "regressed") if name in entry}
    message = {
        "int": numbers,
        "float": exact,  # the same summaries as they are, in the entry's own unit
        "normal": {**normal, **{name: entry[name] for name in _WORDS if name in entry}},
        "normvector": {name: entry[name] for name in ("values", "control_values") if name in entry},
    }
    return json.dumps(json_value(as_json(message), finite=False), sort_keys=True)


class _ServerSession:
    """One server, for as long as one call of `send`."""

    def __init__(self, endpoint: Endpoint, token: str, how: SendOptions) -> None:
        self._endpoint, self._token, self._how = endpoint, token, how
        self.sent = 0
        self.refused: list[str] = []  # why each thing that will never be sent is not

    def send_new(self, waiting: list[list[Log]]) -> None:
        """Sends the batches in order; those that arrived, and those set aside, are no longer among `waiting`."""
        while waiting:
            batch = waiting[0]
            waiting[0] = self._send_batch(batch, lambda: self.keep(waiting[:1], suffix=REFUSED))
            self._require_all(batch, waiting[0])
            waiting.pop(0)

    def send_spooled(self) -> None:
        """Sends the batches in the spool, which earlier calls could not send."""
        spool, key = self._how.spool, self._endpoint.key
        if not [*spool.glob(f"{key}-*.json")]:
            return
        with hold_lock(spool / f".{key}.lock"):  # two processes would send everything twice
            for path in sorted(spool.glob(f"{key}-*.json")):
                self._send_file(path)

    def keep(self, waiting: Sequence[list[Log]], *, suffix: str = "") -> None:
        """Writes what could not be sent; names sort by time. Without the token: it is given again."""
        spool = self._how.spool
        try:
            spool.mkdir(parents=True, exist_ok=True)
            for batch in waiting:
                name = f"{self._endpoint.key}-{time.time_ns():020}-{uuid.uuid4().hex[:8]}.json{suffix}"
                self._write(spool / name, batch)
        except OSError as error:
            why = f"{error.filename or spool}: {error.strerror or error}"
            raise UploadError(f"{self._endpoint.masked_url}: not sent, and not kept either: {why}") from error

    def _send_file(self, path: Path) -> None:
        def set_aside() -> None:
            path.replace(f"{path}{REFUSED}")

        try:
            batch = json_value(streams.read_text(path), finite=False)["logs"]
            if not isinstance(batch, list):
                raise TypeError("its logs are not a list")
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.refused.append(f"{path} cannot be read: {error}")
            set_aside()
            return
        left = self._send_batch(batch, set_aside)
        if left:
            self._write(path, left)  # the others arrived, and are not sent again
        else:
            path.unlink(missing_ok=True)
        self._require_all(batch, left)

    def _send_batch(self, batch: list[Log], set_aside: Callable[[], None]) -> list[Log]:
        """Sends a batch; returns the logs that the server did not take. Of a refused batch nothing is left."""
        try:
            taken = self._post(batch)
        except PostRefusedError as error:
            self.refused.append(error.message)
            set_aside()
            return []
        self.sent += taken
        return batch[taken:]

    def _require_all(self, batch: list[Log], left: list[Log]) -> None:
        if left:
            raise UploadError(f"{self._endpoint.masked_url} counted {len(batch) - len(left)} of {len(batch)} entries")

    def _post(self, batch: list[Log]) -> int:
        """Posts a batch, with several attempts; returns how many logs the server counted."""
        endpoint, how = self._endpoint, self._how
        body = {"access_token": self._token, "logs": json.dumps(batch, sort_keys=True)}
        for attempt in range(len(how.waits) + 1):
            try:
                answer = remote_post.post(endpoint, body, timeout=how.timeout)
            except remote_post.PassingError as trouble:
                if attempt == len(how.waits):
                    raise UploadError(f"{endpoint.masked_url}: {trouble} ({attempt + 1} attempts)") from None
                wait = how.waits[attempt]
                how.say(f"{endpoint.masked_url}: {trouble}; again in {wait:g} s ({attempt + 1} of {len(how.waits)})")
                how.sleep(wait)
                continue
            count = answer.get("count") if isinstance(answer, Mapping) else None
            if type(count) is not int or not 0 <= count <= len(batch):
                raise UploadError(f"{endpoint.masked_url} counted {count!r} of {len(batch)} entries")
            return count
        raise AssertionError("the last attempt answers or raises")

    def _write(self, path: Path, batch: list[Log]) -> None:
        whole_files.write_text(path, json.dumps({"to": self._endpoint.masked_url, "logs": batch}))
