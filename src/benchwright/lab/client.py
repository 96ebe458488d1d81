"""What an agent asks its server for, as calls. Errors are those of `store.remote.client`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import DecodeError
from benchwright.lab.parcels import LabParcel, pack
from benchwright.records import Artifact
from benchwright.records.lab import LabLease, LabMachine
from benchwright.store.remote.address import ServerAddress
from benchwright.store.remote.client import Caller
from benchwright.store.remote.request import BYTES, ServerRequest

BEAT_SILENCE = 15.0  # seconds that a server may take to answer a sign of life


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the server asks of its agents; seconds."""

    heartbeat: float
    lease: float
    poll: float
    skew: float | None = None  # by which this clock is ahead of the server's; None where that is not known


class AgentClient:
    """The server of a lab, as its agents see it. May be used by several threads."""

    def __init__(self, address: ServerAddress) -> None:
        self._caller = Caller(address)

    def register(
        self, agent: str, machines: Sequence[LabMachine], holding: Iterable[str], unharmed: Iterable[str] = ()
    ) -> Terms:
        """Offers machines; see `store.sql.lab_queue.LabQueue.register`."""
        offered = [
            {
                "name": one.name,
                "kind": one.kind,
                "key": one.key,
                "facts": dict(one.facts),
                "labels": dict(one.labels),
                "trouble": one.trouble,
            }
            for one in machines
        ]
        wish: dict[str, Any] = {"agent": agent, "version": VERSION, "machines": offered, "holding": [*holding]}
        if told_unharmed := [*unharmed]:  # a server that is older than this agent does not know the word
            wish["unharmed"] = told_unharmed
        before = time.time()
        told = self._post("lab/agents", wish)
        there, here = told.get("now"), (before + time.time()) / 2  # the answer was made somewhere between
        return Terms(
            heartbeat=_seconds(told, "heartbeat"),
            lease=_seconds(told, "lease"),
            poll=_seconds(told, "poll"),
            skew=here - there if isinstance(there, int | float) and there else None,
        )

    def leave(self, machines: Sequence[str]) -> None:
        """Offers machines no longer."""
        self._post("lab/agents/leave", {"machines": [*machines]}, silent=True)

    def claim(self, machine: str, *, trouble: str, wait: float) -> LabLease | None:
        """Asks for a job, and waits for one a while."""
        wish = {"machine": machine, "trouble": trouble, "wait": wait}
        found = self._post("lab/claims", wish, silence=wait + BEAT_SILENCE).get("lease")
        return None if found is None else schema.decode(LabLease, found, where="lease")

    def beat(self, fence: str, phase: str) -> None:
        """Says that a job goes on."""
        self._post(f"lab/leases/{quote(fence, safe='')}/beat", {"phase": phase}, silence=BEAT_SILENCE)

    def deliver(self, fence: str, document: bytes) -> None:
        """Delivers a run with the results of a job, as `schema.dumps` writes it."""
        path = f"lab/leases/{quote(fence, safe='')}/deliver"
        self._caller(ServerRequest(method="POST", path=path, body=document).small())

    def answer(self, fence: str, found: Mapping[str, Any]) -> bool:
        """Answers a job that plans with what was found; True once the server has it."""
        self._post(f"lab/leases/{quote(fence, safe='')}/answer", {"answer": dict(found)})
        return True

    def send_file(self, fence: str, result_id: str, artifact: Artifact) -> None:
        """Sends a file of a result that was delivered."""
        names = "/".join(quote(part, safe="") for part in (fence, "artifacts", result_id))
        path = f"lab/leases/{names}/{quote(artifact.name, safe='/')}"
        self._caller(ServerRequest(method="PUT", path=path, kind=BYTES, file=artifact.path, size=artifact.size))

    def give_back(self, fence: str, kind: str, reason: str) -> None:
        """Gives a job back."""
        self._post(f"lab/leases/{quote(fence, safe='')}/release", {"kind": kind, "reason": reason[:400]})

    def parcel(self, digest: str) -> LabParcel:
        """The list of a job's files."""
        told = self._caller(ServerRequest(method="GET", path=f"lab/parcels/{digest}"))
        found = schema.decode(LabParcel, told.get("answer"), where="parcel")
        if pack(found)[0] != digest:
            raise DecodeError("the server sent another list of files than the job names")
        return found

    def fetch(self, sha256: str, take: Callable[[bytes], None]) -> None:
        """Hands on a file in pieces."""
        self._caller.download(f"lab/files/{sha256}", take)

    def close(self) -> None:
        """Ends the connections."""
        self._caller.close()

    def _post(
        self, path: str, wish: Mapping[str, Any], *, silent: bool = False, silence: float = 60.0
    ) -> Mapping[str, Any]:
        request = ServerRequest(method="POST", path=path, body=json.dumps(wish).encode())
        return self._caller(request, silent=silent, silence=silence)


def _seconds(told: Mapping[str, Any], name: str) -> float:
    value = told.get(name)
    if not isinstance(value, int | float) or not 0 < value < 86400:
        remedy = "is it much older or newer than this agent?"
        raise DecodeError(f"the server's terms: {name} is {value!r}", remedy=remedy)
    return float(value)
