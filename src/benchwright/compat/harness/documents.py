"""What FAI-PEP's reporters are given: one test on one device, `{"meta": {...}, "data": {KEY: ENTRY}}`."""

from __future__ import annotations

import getpass
import json
import math
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from benchwright.errors import DecodeError
from benchwright.system.masking import HIDDEN, mask_arguments

NO_COMMIT = "interactive"  # what stands for the revision of something that was built by hand


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessDocument:
    """One test on one device. `data` is by key, in the order of emission."""

    meta: dict[str, Any]
    data: dict[str, dict[str, Any]]

    @property
    def entries(self) -> dict[str, dict[str, Any]]:
        """The data as the simple reporters tell it: the last entry, `meta`, says what was built."""
        names = ("treatment_diff", "treatment_version")
        built = {**{name: self.meta.get(name, "") for name in names}, "treatment_commit": self.meta["commit"]}
        if "control_diff" in self.meta:
            built |= {name: self.meta.get(name, "") for name in ("control_diff", "control_commit")}
        return {**self.data, "meta": built}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaFacts:
    """What `meta` says, as far as the caller knows it."""

    backend: str  # the text of --platform
    framework: str
    net_name: str
    metric: str
    platform: str  # the device's name
    platform_hash: str  # its serial number; the host's name for a host
    identifier: str = ""
    group: str = ""
    command: Sequence[str] = ()
    commit: str = ""
    commit_time: float | None = None
    control_commit: str = ""
    control_commit_time: float | None = None
    run_type: str = "benchmark"
    user: str = ""
    user_identifier: str | int | None = None
    time: float | None = None  # seconds since 1970; default: now
    more: Mapping[str, Any] = field(default_factory=dict)  # further keys, which take no other's place


def meta(facts: MetaFacts) -> dict[str, Any]:
    """The `meta` of a document. `platform` is always a name, and no secret of the command line is in it."""
    now = time.time() if facts.time is None else facts.time
    command = mask_command(facts.command)
    found: dict[str, Any] = {
        **facts.more,
        "backend": facts.backend,
        "time": now,
        "framework": facts.framework,
        "platform": _platform(facts),
        "platform_hash": facts.platform_hash,
        "command": command,
        "command_str": shlex.join(command),
        "net_name": facts.net_name,
        "metric": facts.metric,
        "identifier": facts.identifier or facts.net_name,
        "commit": facts.commit or NO_COMMIT,
        "commit_time": now if facts.commit_time is None else facts.commit_time,
        "run_type": facts.run_type,
        "user": facts.user or _user(),
        "user_identifier": facts.user_identifier,
    }
    if facts.group:
        found["group"] = facts.group
    if facts.control_commit:
        found["control_commit"] = facts.control_commit
        found["control_commit_time"] = facts.control_commit_time
    return found


def mask_command(command: Sequence[str]) -> list[str]:
    """Returns a command line as it may be kept: without tokens, and without logins and queries of addresses."""
    found: list[str] = []
    hide_next = False
    for word in mask_arguments(command):
        flag, equals, _ = word.partition("=")
        # Flags may be abbreviated: --remote_a is the shortest that means the token.
        secret = flag.startswith("--") and ("token" in flag or flag.replace("-", "_").startswith("__remote_a"))
        if hide_next:
            found.append(HIDDEN)
        else:
            found.append(f"{flag}={HIDDEN}" if secret and equals else word)
        hide_next = secret and not equals and not hide_next
    return found


def as_json(value: Any) -> str:
    """A part of a document as the older one wrote it; a number that JSON cannot say becomes null."""
    return json.dumps(_replace_nonfinite(value), indent=2, sort_keys=True, allow_nan=False)


def commit_date(document: HarnessDocument) -> datetime:
    """Returns when the document's revision was made, in UTC."""
    stated = document.meta.get("commit_time")
    try:
        return datetime.fromtimestamp(float(stated or 0), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise DecodeError(f"commit_time {stated!r} is not a time", remedy="give seconds since 1970") from None


def _platform(facts: MetaFacts) -> str:
    """Returns the platform's name. FAI-PEP wrote `null` for a device without one, so that machines shared a folder."""
    named = [name for name in (facts.platform, facts.platform_hash, facts.backend) if name and name != "null"]
    return named[0] if named else "unknown"


def _replace_nonfinite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _replace_nonfinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nonfinite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())
