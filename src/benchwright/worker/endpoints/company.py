"""What keeps a client company: a server that is started for it, and a process that asks the server for its figures.

Of several copies the first looks after both; the others wait for the server, which outlives the last of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from benchwright.errors import LoadError, MeasureError
from benchwright.records import Case, Failure, Load, Value
from benchwright.worker.endpoints.serve_options import ServeOrder, find_server, place, read_metrics_address
from benchwright.worker.endpoints.served import ServedProcess
from benchwright.worker.endpoints.server_figures import FigureReader, FigureReport
from benchwright.worker.endpoints.wire import parse_address, read_headers
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.options import boolean

if TYPE_CHECKING:
    from benchwright.worker.engine.engine import Finish, PreparedLoad

COPY_VARIABLE = "BENCHWRIGHT_COPY"  # as `worker.main` sets it
_OF_REQUESTS = ("Accept", "Content-Type")
KIND = "server"  # of the failure of a server that ended by itself


def load_in_company(case: Case, load: Callable[[Case], Loaded]) -> Loaded:
    """Starts what the case asks for, and loads it with the port of the server in its address."""
    placed, order = place(case)
    company = Company(placed, order)
    company.start()
    try:
        return company.join(load(placed))
    except BaseException:
        company.end()
        raise


class Company:
    """The processes beside one copy of the client."""

    def __init__(self, case: Case, order: ServeOrder | None) -> None:
        options = case.target.options
        self._case, self._order = case, order
        self._first = os.environ.get(COPY_VARIABLE, "0") == "0"
        self._address, self._speaks_http = find_server(case.target.uri)
        self._headers = read_headers(options, "*/*")
        self._insecure = boolean(options, "insecure", False)
        self._server: ServedProcess | None = None
        self._reader: FigureReader | None = None
        self._zero = self._end = 0  # ns, of the timed phase
        self._figures = FigureReport()

    def start(self) -> None:
        """Starts the server and waits until it is ready; then whoever asks for its figures."""
        if self._order is not None:
            self._server = ServedProcess(
                self._order, self._address, self._headers, insecure=self._insecure, speaks_http=self._speaks_http
            )
            try:
                if self._first:
                    self._server.start()
                self._server.wait_until_ready()
            except BaseException:
                self._server.end()
                raise
        address, named = read_metrics_address(self._case.target.options, self._address.origin)
        if address and self._first and (named or self._speaks_http):
            same = (
                parse_address(address).origin == self._address.origin
            )  # a key is for the server that it was given for
            plain = {name: text for name, text in self._headers.items() if same and name not in _OF_REQUESTS}
            self._reader = FigureReader(address, named=named, headers=plain, insecure=self._insecure)

    def join(self, loaded: Loaded) -> Loaded:
        """Lets what was loaded tell of its company, too, and take leave of it."""
        report, close, prepare = loaded.report, loaded.close, loaded.prepare
        assert prepare is not None
        loaded.prepare = lambda load, copy: self._prepare(prepare, load, copy)
        loaded.report = lambda: self._add_to(report())
        loaded.close = lambda: self._close(close)
        loaded.details = {**loaded.details, **self._describe()}
        if self._server is not None and self._first:
            loaded.pids = (self._server.pid,)
            loaded.leave = self._server.end
            loaded.load_time = self._server.ready_after
        return loaded

    def end(self) -> None:
        """Ends both."""
        self._stop_asking()
        if self._server is not None:
            self._server.end()

    def _prepare(self, prepare: Callable[[Load, int], PreparedLoad], load: Load, copy: int) -> PreparedLoad:
        try:
            made = prepare(load, copy)
        except MeasureError as error:
            if self._server is None or not (ended := self._ended_soon()):
                raise
            raise LoadError(f"{ended} while it was warmed up", remedy="what it printed is in the log") from error
        return replace(made, time=lambda zero: self._time(made.time, zero))

    def _time(self, timed: Callable[[int], Finish], zero: int) -> Finish:
        self._zero = zero
        if self._reader is not None:
            self._reader.look()
        finish = timed(zero)
        self._end = time.perf_counter_ns()
        if self._reader is not None:
            self._reader.look()
        return finish

    def _add_to(self, report: Report) -> Report:
        if self._reader is not None:
            self._figures, self._reader = self._reader.finish(self._zero, self._end), None
        figures = self._figures
        failure = report.failure
        if self._server is not None and (ended := self._server.describe_end()):
            remedy = "what it printed is in the log; the numbers are of what came before its end and after it"
            failure = Failure(kind=KIND, message=f"{ended} while it was measured", remedy=remedy)
        return replace(
            report,
            timelines=(*report.timelines, *figures.timelines),
            warnings=(*report.warnings, *figures.warnings),
            details={
                **report.details,
                **({} if figures.details is None else {"server_figures": dict(figures.details)}),
            },
            failure=failure,
        )

    def _ended_soon(self) -> str:
        """How the server ended; a connection breaks a moment before that shows."""
        assert self._server is not None
        until = time.monotonic() + 0.5
        while not (ended := self._server.describe_end()) and time.monotonic() < until:
            time.sleep(0.01)
        return ended

    def _describe(self) -> dict[str, Value]:
        if self._server is None or not self._first:
            return {}
        return {"served": {"ready_after": self._server.ready_after, "health": self._server.answered}}

    def _close(self, close: Callable[[], None]) -> None:
        self._stop_asking()
        close()

    def _stop_asking(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
