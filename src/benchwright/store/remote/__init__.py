"""Runs on a server: the verbs of a store over HTTP.

What was measured is never lost on the way: where the server cannot take it now, it waits on the disk (`spool`) and is
sent later, in order. Everything else is answered by the server, or is an error at once.
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, cast, get_type_hints
from urllib.parse import quote

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Result, Run, Samples
from benchwright.records.findings import Finding, FindingChanges, Remark
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
LONG = 5.0  # seconds: who waited longer for no answer does not wait as long again for the first question
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
    mutes = _asks(Store.mutes)
    mute = _asks(Store.mute)
    unmute = _asks(Store.unmute)
    thresholds = _asks(Store.thresholds)
    set_threshold = _asks(Store.set_threshold)
    drop_threshold = _asks(Store.drop_threshold)

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """A run with its results; without raw samples when they are not wanted."""
        self._get_ready()
        document = self._caller.document(f"{_path('runs', run_id, 'document')}?samples={int(samples)}")
        return schema.loads(document, Run, where=f"{self._place}: run {run_id}")

    def samples(self, result_id: str) -> tuple[Samples, ...]:
        """The raw samples of one result."""
        request = ServerRequest(method="GET", path=_path("results", result_id, "samples"))
        return self._answer(tuple[Samples, ...], request, f"samples of {result_id}")

    def run_ids(self) -> Iterator[str]:
        """Every run's id, oldest first."""
        return iter(self._ask(list[str], "run_ids"))

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
        request = _json("POST", f"store/{verb}", schema.encode(arguments))
        # Sent twice, a remark would be there twice.
        return self._answer(kind, replace(request, repeatable=verb != "update_finding"), verb)

    def _answer(self, kind: type[T], request: ServerRequest, about: str) -> T:
        self._get_ready()
        document = self._caller(request)
        if "answer" not in document:
            raise StoreError(
                f"{self._place}: the server did not answer {about!r}", remedy="is it a Benchwright server?"
            )
        return schema.decode(kind, document["answer"], where=f"{self._place}: {about}")


def _path(*parts: str) -> str:
    return "/".join(quote(part, safe="", errors="replace") for part in parts)


def _put(path: str, record: Run | Result, *, what: str) -> ServerRequest:
    return ServerRequest(method="PUT", path=path, body=schema.dumps(record).encode(), what=what).small()


def _json(method: str, path: str, value: Any) -> ServerRequest:
    return ServerRequest(method=method, path=path, body=json.dumps(value, allow_nan=False).encode()).small()
