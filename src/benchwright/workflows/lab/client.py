"""The lab behind a server, as its users see it: every request, and what the answers hold."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from benchwright import config, schema
from benchwright.errors import OptionError, StoreError
from benchwright.execution.outposts.bundles import SentFile
from benchwright.lab.parcels import LabParcel
from benchwright.lab.shipments import Shipment
from benchwright.pages.lab_shapes import LabMachineLine, LabPage, LabSubmissionView
from benchwright.records import Run
from benchwright.store.remote import address
from benchwright.store.remote.client import Caller, RefusedError, ServerAwayError
from benchwright.store.remote.request import BYTES, ServerRequest

T = TypeVar("T")
_RUN_ID = re.compile(r"\d{8}T\d{9}-[0-9a-f]{6}")
AT_ONCE = 5000  # digests in one question
MISSING = 404
SUBMIT = 300.0  # seconds that a server may take to put everything into its queue


class LabCaller:
    """The lab of the server at a store's address. May be used by several threads."""

    def __init__(self, store: str | None) -> None:
        self._caller = Caller(address.parse(server_url(store)))
        self.place = self._caller.address.url

    def close(self) -> None:
        """Ends the connections."""
        self._caller.close()

    def check_scope(self, scope: str, what: str) -> None:
        """Refuses now what the server would refuse later: a token without the scope."""
        scopes = self._caller.introduce()
        if scope not in scopes:
            may = " and ".join(scopes)
            who = "this token" if self._caller.address.token else "a client without a token"
            raise StoreError(
                f"{self.place}: {who} may {may}; {what} needs {scope!r}",
                remedy=f"ask for a token (benchwright token create NAME --scope {scope}), and set {address.TOKEN}",
            )

    # ---- files ----

    def missing(self, digests: Iterable[str]) -> set[str]:
        """Those of the files that the server does not have yet."""
        wanted, found = list(digests), set[str]()
        for start in range(0, len(wanted), AT_ONCE):
            told = self._ask("POST", "lab/missing", {"digests": wanted[start : start + AT_ONCE]})
            found |= {str(digest) for digest in told.get("missing", ())}
        return found

    def send_file(self, one: SentFile, on_sent: Callable[[int], None] | None = None) -> None:
        """Sends a file. `FileChangedError`: it is not any more what it was when it was looked at."""
        request = ServerRequest(
            method="PUT", path=f"lab/files/{one.sha256}", kind=BYTES, file=one.path, size=one.size, what=one.path
        )
        try:
            self._caller(request, silent=True, on_sent=on_sent)
        except RefusedError as error:
            if error.status in (0, 400, 409, 422):  # 0: seen here, while it was read
                raise FileChangedError(f"{one.path} changed while it was sent", remedy=error.message) from None
            raise self._explained(error) from None

    # ---- submissions ----

    def submit(self, run: Run, shipment: Shipment, *, selector: str, where: str, priority: int) -> Mapping[str, Any]:
        """Puts the cases into the queue, as one run; returns what the server says. Sent twice, they are there once."""
        body = {
            "run": schema.encode(run),
            "selector": selector,
            "where": where,
            "priority": priority,
            "parcels": [schema.encode(one) for one in shipment.parcels],
            "jobs": [{"work": schema.encode(work), "parcel": place} for work, place in shipment.works],
        }
        return self._ask("POST", "lab/submissions", body, silence=SUBMIT)

    def submit_plan(
        self, plan: str, request: Mapping[str, Any], parcel: LabParcel, *, selector: str, priority: int
    ) -> None:
        """Has a machine say which cases there are in code; its answer is there when the submission has ended."""
        body = {
            "id": plan,
            "request": dict(request),
            "parcel": schema.encode(parcel),
            "paths": [parcel.directory],
            "selector": selector,
            "priority": priority,
        }
        self._ask("POST", "lab/plans", body, silence=SUBMIT)

    def fetch_plan(self, plan: str) -> dict[str, Any]:
        """What the machine found."""
        return dict(self._ask("GET", _path("plans", plan)).get("plan") or {})

    def find(self, reference: str) -> str:
        """The id of the run that is meant: by its id, the beginning of one, or a tag."""
        if _RUN_ID.fullmatch(reference):
            return reference
        return str(self._ask("POST", "store/find", {"reference": reference}).get("answer", ""))

    def submission(self, run: str) -> LabSubmissionView:
        """How far a submission is."""
        return self._view(LabSubmissionView, _path("submissions", run))

    def cancel(self, run: str) -> LabSubmissionView:
        """Has what waits dropped, and what is being measured ended."""
        self._ask("POST", _path("submissions", run, "cancel"), {})
        return self.submission(run)

    def set_priority(self, run: str, priority: int) -> LabSubmissionView:
        """Has what waits of a submission go before others, or after them."""
        self._ask("POST", _path("submissions", run, "priority"), {"priority": priority})
        return self.submission(run)

    # ---- machines ----

    def lab(self) -> LabPage:
        """The queue, the machines, and why nothing is running."""
        return self._view(LabPage, "lab")

    def change_machine(self, name: str, action: str, body: Mapping[str, Any]) -> LabMachineLine:
        """Drains, resumes, quarantines, reserves or releases a machine."""
        self._ask("POST", _path("machines", name, action), body)
        for one in self.lab().machines:
            if one.name == name:
                return one
        raise StoreError(f"{self.place}: {name} has left the lab meanwhile")

    def forget_machine(self, name: str) -> None:
        """Removes a machine from the list; its name is free for whoever offers it next."""
        self._ask("DELETE", _path("machines", name))

    # ---- how ----

    def _view(self, kind: type[T], path: str) -> T:
        told = self._ask("GET", path)
        return schema.decode(kind, drop_unknown(kind, told), where=f"{self.place}: {path}")

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, silence: float = 60.0
    ) -> Mapping[str, Any]:
        content = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        request = ServerRequest(method=method, path=path, body=content).small()
        try:
            return self._caller(request, silent=method == "DELETE", silence=silence)
        except RefusedError as error:
            raise self._explained(error) from None

    def _explained(self, error: RefusedError) -> StoreError:
        """What a server refused; one of before knows no lab at all."""
        if error.status == MISSING and error.message.lower().startswith("not found"):
            return StoreError(f"{self.place} has no lab", remedy="its version of Benchwright is older: update it")
        return StoreError(f"{self.place}: {error.message}", remedy=error.remedy)


def server_url(store: str | None) -> str:
    """The address of the store, which must be a server's."""
    url = config.store_url(store)
    if not url.startswith(("http://", "https://")):
        raise OptionError(
            "a lab is behind a server, and the store is none",
            remedy="name the server: --store https://bench.example/, or BENCHWRIGHT_STORE",
        )
    return url


class FileChangedError(StoreError):
    """A file that somebody writes to while it is sent."""


def is_away(error: StoreError) -> bool:
    """Whether the server may answer later what it did not answer now."""
    from benchwright.store.remote.client import DeniedError

    return isinstance(error, ServerAwayError) and not isinstance(error, DeniedError)


def drop_unknown(kind: Any, data: Any) -> Any:
    """The data without keys that the record does not have: a newer server may tell more."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(data, dict):
        hints = typing.get_type_hints(kind)
        return {name: drop_unknown(hints[name], value) for name, value in data.items() if name in hints}
    if origin is tuple and isinstance(data, list):
        return [drop_unknown(arguments[0], one) for one in data]
    for one in arguments:
        if dataclasses.is_dataclass(one):  # of a union with None
            return drop_unknown(one, data)
    return data


def _path(*parts: str) -> str:
    return "/".join(("lab", *(quote(part, safe="", errors="replace") for part in parts)))
