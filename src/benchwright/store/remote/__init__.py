"""Runs on a server: the verbs of a store over HTTP.

What was measured is never lost on the way: where the server cannot take it now, it waits on the disk (`spool`) and is
sent later, in order. Everything else is answered by the server, or is an error at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack
from urllib.parse import quote

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Result, Run, Samples
from benchwright.records.findings import Finding, FindingChanges, Mute, Remark, State, Threshold
from benchwright.store import Miss, RunSummary, Series
from benchwright.store.archive import Progress
from benchwright.store.remote import address, files
from benchwright.store.remote.client import Caller, DeniedError, RefusedError, ServerAwayError
from benchwright.store.remote.request import ServerRequest
from benchwright.store.remote.sender import Outbox, tell
from benchwright.store.remote.spool import Spool

T = TypeVar("T")
CONFLICT = 409
LONG = 5.0  # seconds: who waited longer for no answer does not wait as long again for the first question
CATCH_UP = 30.0  # seconds that a question waits at most, so that what waits on the disk is in its answer


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

    def find(self, reference: str) -> str:
        """The id of the run that `reference` names; see `Store.find`."""
        return self._ask(str, "find", reference=reference)

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """A run with its results; without raw samples when they are not wanted."""
        self._get_ready()
        document = self._caller.document(f"{_path('runs', run_id, 'document')}?samples={int(samples)}")
        return schema.loads(document, Run, where=f"{self._place}: run {run_id}")

    def samples(self, result_id: str) -> tuple[Samples, ...]:
        """The raw samples of one result."""
        request = ServerRequest(method="GET", path=_path("results", result_id, "samples"))
        return self._answer(tuple[Samples, ...], request, f"samples of {result_id}")

    def runs(self, *, limit: int = 20, tag: str = "", tries: bool = False) -> list[RunSummary]:
        """The newest runs first; with `tries`, also what was refused before anything was measured."""
        more = {"tries": True} if tries else {}  # servers that do not know the word are asked without it
        return self._ask(list[RunSummary], "runs", limit=limit, tag=tag, **more)

    def run_ids(self) -> Iterator[str]:
        """Every run's id, oldest first."""
        return iter(self._ask(list[str], "run_ids"))

    def history(self, case: str, *, metrics: Sequence[str] = (), limit: int = 1000) -> list[Series]:
        """The series of cases whose name matches (`*` is a wildcard), each with its newest `limit` points."""
        return self._ask(list[Series], "history", case=case, metrics=metrics, limit=limit)

    def misses(self, case: str, *, limit: int = 20) -> list[Miss]:
        """The newest results of cases whose name matches that are not ok, oldest first."""
        return self._ask(list[Miss], "misses", case=case, limit=limit)

    def case_names(self) -> list[str]:
        """Every name that has a history, in alphabetical order."""
        return self._ask(list[str], "case_names")

    def findings(self, *, states: Sequence[State] = (), series: Sequence[str] = (), limit: int = 1000) -> list[Finding]:
        """The newest findings first, of these states and series where any are named."""
        return self._ask(list[Finding], "findings", states=states, series=series, limit=limit)

    def finding(self, reference: str) -> Finding:
        """The finding of that id, or of the only id that begins so."""
        return self._ask(Finding, "finding", reference=reference)

    def keep_finding(self, finding: Finding) -> Finding:
        """Keeps a finding, unless the same change is there: then that one is returned."""
        return self._ask(Finding, "keep_finding", finding=finding)

    def update_finding(
        self, reference: str, remark: Remark | None = None, **changes: Unpack[FindingChanges]
    ) -> Finding:
        """Changes fields of a finding and adds a line to its story."""
        return self._ask(Finding, "update_finding", reference=reference, remark=remark, changes=changes)

    def mutes(self) -> list[Mute]:
        """What is muted, in order of the alphabet."""
        return self._ask(list[Mute], "mutes")

    def mute(self, mute: Mute) -> None:
        """Reports no change any more in what it names."""
        self._ask(type(None), "mute", mute=mute)

    def unmute(self, what: str) -> bool:
        """Reports changes there again; False when it was not muted."""
        return self._ask(bool, "unmute", what=what)

    def thresholds(self) -> list[Threshold]:
        """Every threshold, in order of the alphabet."""
        return self._ask(list[Threshold], "thresholds")

    def set_threshold(self, threshold: Threshold) -> None:
        """Sets a threshold, in the place of one for the same cases and metric."""
        self._ask(type(None), "set_threshold", threshold=threshold)

    def drop_threshold(self, case: str, metric: str = "") -> bool:
        """Takes a threshold away; False when there was none."""
        return self._ask(bool, "drop_threshold", case=case, metric=metric)

    # ---- how ----

    def _check_scope(self) -> None:
        if self._scopes is not None and "write" not in self._scopes:
            who = "this token" if self._caller.address.token else "whoever has no token"
            raise StoreError(
                f"{self._place}: {who} may only {' and '.join(self._scopes)}",
                remedy="ask for one that may write (benchwright token create NAME --scope write), and set "
                f"{address.TOKEN}",
            )

    def _send_files(self, result: Result, *, trusted: bool) -> None:
        """A file that cannot be kept is told of, and costs no result."""
        for request in files.requests_of(result, trusted=trusted):
            try:
                self._outbox.send(request)
            except StoreError as error:
                tell(f"{request.what} is not kept on {self._place}: {error}")

    def _get_ready(self) -> None:
        """Before each question: what waits is sent, and a wait in vain is not begun anew at once."""
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
        told = self._caller(request)
        if "answer" not in told:
            raise StoreError(f"{self._place}: no answer to {about!r}", remedy="is it a Benchwright server?")
        return schema.decode(kind, told["answer"], where=f"{self._place}: {about}")


def _path(*parts: str) -> str:
    return "/".join(quote(part, safe="", errors="replace") for part in parts)


def _put(path: str, record: Run | Result, *, what: str) -> ServerRequest:
    return ServerRequest(method="PUT", path=path, body=schema.dumps(record).encode(), what=what).small()


def _json(method: str, path: str, value: Any) -> ServerRequest:
    return ServerRequest(method=method, path=path, body=json.dumps(value, allow_nan=False).encode()).small()
