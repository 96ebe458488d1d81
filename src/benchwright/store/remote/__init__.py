"""Runs on a server: the verbs of a store over HTTP.

What was measured is never lost on the way: where the server cannot take it now, it waits on the disk (`spool`) and is
sent later, in order. Everything else is answered by the server, or is an error at once.
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, cast, get_type_hints
from urllib.parse import quote

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Result, Run, Samples
from benchwright.records.findings import Finding, FindingChanges, Remark
from benchwright.records.machines import Quarantine
from benchwright.schema import parsing
from benchwright.store import Store
from benchwright.store.archive import Progress
from benchwright.store.remote import address
from benchwright.store.remote.client import Caller, DeniedError, RefusedError, ServerAwayError
from benchwright.store.remote.request import ServerRequest, requests_for_files
from benchwright.store.remote.sender import Outbox, tell
from benchwright.store.remote.spool import Spool

P = ParamSpec("P")
T = TypeVar("T")
CONFLICT = 409
MISSING = 404
LONG = 5.0  # seconds: who waited longer for no answer does not wait as long again for the first question
# Sent twice, a remark would be there twice.
_WRITE_REMARKS = frozenset({"update_finding", "triage_findings", "split_findings", "join_findings"})
MESSAGES = 300.0  # seconds that a server may take to tell its targets, some of which may be slow
CATCH_UP = 30.0  # seconds that a question waits at most, so that what waits on the disk is in its answer


def _asks(verb: Callable[Concatenate[Store, P], T]) -> Callable[Concatenate[RemoteStore, P], T]:
    """Makes a method that has the server answer this verb of a `Store`, with the arguments and the kind of its answer.

    What has its usual value is not sent: servers that do not know an argument are asked without it.
    """
    parameters, name = inspect.signature(verb), verb.__name__

    @wraps(verb)
    def method(store: RemoteStore, /, *arguments: P.args, **named: P.kwargs) -> T:
        given = parameters.bind(store, *arguments, **named).arguments
        usual = {parameter.name: parameter.default for parameter in parameters.parameters.values()}
        wanted = {key: value for key, value in given.items() if key != "self" and value != usual[key]}
        return store._ask(cast(type[T], get_type_hints(verb)["return"]), name, **wanted)

    return method


_LONG_LISTS = frozenset({"findings", "causes", "runs", "run_ids", "history"})  # the server answers them in parts
_MOST_PARTS = 10_000


class RemoteStore:
    """A `Store` at `https://server/`. Opening it asks the server one question: who are you, and what may I do?

    A server that is away is no error yet: runs can be kept, and wait on the disk. One object serves several threads,
    but not a forked child.
    """

    _unheard: ServerAwayError | None = None  # why the opening's question was waited for in vain

    def __init__(self, url: str) -> None:
        self._caller = Caller(address.parse(url))
        self._place = self._caller.address.url
        self._outbox = Outbox(self._caller, Spool(self._place))
        self._scopes: Sequence[str] | None = None  # None: nobody could say
        begun = time.monotonic()
        try:
            self._scopes = self._caller.introduce()
        except DeniedError:
            self._caller.close()
            raise
        except ServerAwayError as trouble:
            self._outbox.rest(trouble)
            self._unheard = trouble if time.monotonic() - begun > LONG else None
        except BaseException:
            self._caller.close()
            raise

    # ---- what must not be lost ----

    def begin(self, run: Run) -> None:
        """Records the run without results. A token that may not write shows here, before anything is measured."""
        self._check_scope()
        header = replace(run, results=())
        self._outbox.send(_put(_path("runs", run.id), header, what=f"run {run.id}"))

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result with its points, raw samples and files, in the place of another if one is named."""
        query = f"?instead_of={quote(instead_of, safe='', errors='replace')}" if instead_of else ""
        self._outbox.send(_put(_path("runs", run_id, "results", result.id) + query, result, what=f"result {result.id}"))
        self._send_files(result, trusted=True)

    def add_run(self, run: Run) -> bool:
        """Keeps a whole run in one transaction; False if a run of that id was there already (nothing changes).

        True as well when it waits on the disk.
        """
        self._check_scope()
        try:
            answer = self._outbox.send(replace(_put("runs", run, what=f"run {run.id}"), method="POST"))
        except RefusedError as error:
            if error.status == CONFLICT:  # another run of that id is there
                return False
            raise
        for result in run.results:
            self._send_files(result, trusted=False)
        return answer is None or run.id not in answer.get("present", ())

    def tell_progress(self, progress: Progress) -> None:
        """What the run does now. A word that the server cannot hear at once is not worth keeping."""
        if self._outbox.is_resting or not self._outbox.spool.is_empty:
            return
        try:
            word = _json("PUT", _path("runs", progress.run, "progress"), schema.encode(progress))
            self._caller(word, silent=True)
        except ServerAwayError as trouble:
            self._outbox.rest(trouble)

    def mark_judged(self, run_id: str) -> None:
        """Tells the server that this run is judged by whoever sends it. A server of before judges nothing by itself."""
        request = ServerRequest(method="PUT", path=_path("runs", run_id, "judged"), what=f"who judges run {run_id}")
        with suppress(RefusedError):
            self._outbox.send(request)

    def judged_until(self) -> tuple[str, int]:
        """The run up to which the server has judged everything, and how many results wait."""
        self._get_ready()
        told = self._caller(ServerRequest(method="GET", path="judging"))
        return str(told.get("until", "")), int(told.get("waiting", 0))

    def close(self) -> None:
        """Sends what waits, as far as the server takes it now, and ends the connection."""
        try:
            self._outbox.finish()
        finally:
            self._caller.close()

    # ---- what the server answers ----

    find = _asks(Store.find)
    runs = _asks(Store.runs)
    history = _asks(Store.history)
    misses = _asks(Store.misses)
    case_names = _asks(Store.case_names)
    findings = _asks(Store.findings)
    finding = _asks(Store.finding)
    keep_finding = _asks(Store.keep_finding)
    causes = _asks(Store.causes)
    triage_findings = _asks(Store.triage_findings)
    split_findings = _asks(Store.split_findings)
    join_findings = _asks(Store.join_findings)
    mutes = _asks(Store.mutes)
    mute = _asks(Store.mute)
    unmute = _asks(Store.unmute)
    thresholds = _asks(Store.thresholds)
    set_threshold = _asks(Store.set_threshold)
    drop_threshold = _asks(Store.drop_threshold)
    machines = _asks(Store.machines)
    quarantine = _asks(Store.quarantine)
    release = _asks(Store.release)

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """A run with its results; without raw samples when they are not wanted."""
        self._get_ready()
        document = self._caller.document(f"{_path('runs', run_id, 'document')}?samples={int(samples)}")
        return schema.loads(document, Run, where=f"{self._place}: run {run_id}")

    def page(self, path: str) -> Any:
        """What the server shows at an address below `api/v1/`, as plain values."""
        self._get_ready()
        return parsing.json_document(self._caller.document(path), where=f"{self._place}: {path}")

    def served_targets(self) -> list[dict[str, Any]]:
        """Whom the server tells of findings, as it shows them to an admin: without secrets."""
        return cast(list[dict[str, Any]], self.page("notify-targets")["targets"])

    def tell_targets(self, references: Sequence[str], *, again: bool = False) -> list[dict[str, Any]]:
        """Has the server tell its targets of findings; returns how each message fared."""
        self._get_ready()
        request = _json("POST", "notify-targets/send", {"findings": list(references), "again": again})
        told = self._caller(replace(request, repeatable=False), silence=MESSAGES)
        return cast(list[dict[str, Any]], told.get("told", []))

    def samples(self, result_id: str) -> tuple[Samples, ...]:
        """The raw samples of one result."""
        request = ServerRequest(method="GET", path=_path("results", result_id, "samples"))
        return self._answer(tuple[Samples, ...], request, f"samples of {result_id}")

    def run_ids(self, *, after: str = "", limit: int = 0) -> Iterator[str]:
        """Every run's id, oldest first; where asked, those after a run, and at most so many."""
        wanted = {"after": after} if after else {}
        return iter(self._ask(list[str], "run_ids", **wanted, **({"limit": limit} if limit else {})))

    def quarantines(self, machine: str = "") -> list[Quarantine]:
        """The quarantines of a machine, or of all, the latest first; none of a server that knows of none yet."""
        try:
            return self._ask(list[Quarantine], "quarantines", **({"machine": machine} if machine else {}))
        except RefusedError as error:
            if error.status == MISSING:
                return []
            raise

    def held_results(self, runs: Sequence[str]) -> Mapping[str, int]:
        """How many results of each of these runs were measured in quarantine; none where the server cannot say."""
        try:
            return self._ask(dict[str, int], "held_results", runs=tuple(runs))
        except RefusedError as error:
            if error.status == MISSING:
                return {}
            raise

    def update_finding(
        self, reference: str, remark: Remark | None = None, **changes: Unpack[FindingChanges]
    ) -> Finding:
        """Changes fields of a finding and adds a line to its story."""
        return self._ask(Finding, "update_finding", reference=reference, remark=remark, changes=changes)

    # ---- how ----

    def _check_scope(self) -> None:
        if self._scopes is not None and "write" not in self._scopes:
            who = "this token" if self._caller.address.token else "a client without a token"
            raise StoreError(
                f"{self._place}: {who} may only {' and '.join(self._scopes)}",
                remedy="ask for a token that may write (benchwright token create NAME --scope write), and set "
                f"{address.TOKEN}",
            )

    def _send_files(self, result: Result, *, trusted: bool) -> None:
        """Sends the files of a result. A file that cannot be kept is reported, and costs no result."""
        for request in requests_for_files(result, trusted=trusted):
            try:
                self._outbox.send(request)
            except StoreError as error:
                tell(f"{self._place} does not keep {request.what}: {error}")

    def _get_ready(self) -> None:
        """Sends what waits before each question, and does not repeat at once a wait that was in vain."""
        if unheard := self._unheard:
            self._unheard = None
            raise unheard
        self._outbox.catch_up(CATCH_UP)

    def _ask(self, kind: type[T], verb: str, **arguments: Any) -> T:
        if verb in _LONG_LISTS:
            return schema.decode(kind, self._ask_for_parts(verb, arguments), where=f"{self._place}: {verb}")
        request = _json("POST", f"store/{verb}", schema.encode(arguments))
        return self._answer(kind, replace(request, repeatable=verb not in _WRITE_REMARKS), verb)

    def _ask_for_parts(self, verb: str, arguments: dict[str, Any]) -> list[Any]:
        """A whole list, by as many requests as it takes. A server of before does not know of parts, and gives all."""
        asked, found = schema.encode(arguments), list[Any]()
        also = "&branches=true" if verb == "history" else ""  # without it, the answer is for clients of before
        for _ in range(_MOST_PARTS):
            document = self._read_answer(_json("POST", f"store/{verb}?parts=true{also}", asked), verb)
            part, following = document["answer"], document.get("next")
            if not isinstance(part, list):
                return cast(list[Any], part)  # refused where it is decoded
            found += part
            if not following or not part or not isinstance(following, dict):
                return found
            asked = {**asked, **following}
        raise StoreError(f"{self._place}: the list of {verb} does not end", remedy="is it a Benchwright server?")

    def _answer(self, kind: type[T], request: ServerRequest, about: str) -> T:
        document = self._read_answer(request, about)
        return schema.decode(kind, document["answer"], where=f"{self._place}: {about}")

    def _read_answer(self, request: ServerRequest, about: str) -> Mapping[str, Any]:
        self._get_ready()
        document = self._caller(request)
        if "answer" not in document:
            raise StoreError(
                f"{self._place}: the server did not answer {about!r}", remedy="is it a Benchwright server?"
            )
        return document


def _path(*parts: str) -> str:
    return "/".join(quote(part, safe="", errors="replace") for part in parts)


def _put(path: str, record: Run | Result, *, what: str) -> ServerRequest:
    return ServerRequest(method="PUT", path=path, body=schema.dumps(record).encode(), what=what).small()


def _json(method: str, path: str, value: Any) -> ServerRequest:
    return ServerRequest(method=method, path=path, body=json.dumps(value, allow_nan=False).encode()).small()
