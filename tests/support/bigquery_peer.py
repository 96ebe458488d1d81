"""The part of BigQuery's HTTP interface that rows and tables need, on loopback, as strict as the real one."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

_TABLES = re.compile(r"/bigquery/v2/projects/([^/]+)/datasets/([^/]+)/tables")
_TABLE = re.compile(_TABLES.pattern + r"/([^/]+)")
_INSERT = re.compile(_TABLE.pattern + r"/insertAll")
_REASONS = {403: "accessDenied", 404: "notFound", 409: "duplicate", 503: "backendError"}


@dataclass(slots=True)
class Table:
    fields: list[dict[str, str]]
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)  # by insertId, as BigQuery tells repeats


class BigQueryPeer:
    """`with BigQueryPeer() as peer:` answers at `peer.url`. `peer.answers` holds statuses for the next requests."""

    def __init__(self) -> None:
        self.datasets = {("project", "dataset")}
        self.tables: dict[tuple[str, str, str], Table] = {}
        self.answers: list[int] = []
        self.requests: list[tuple[str, str, Any]] = []
        self.logins: list[str | None] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> BigQueryPeer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        self.requests.append((method, path, body))
        if self.answers:
            return _error(self.answers.pop(0), "as told")
        if method == "POST" and (found := _INSERT.fullmatch(path)):
            return self._insert((found[1], found[2], found[3]), body)
        if method == "POST" and (found := _TABLES.fullmatch(path)):
            return self._create(found[1], found[2], body)
        if method == "GET" and (found := _TABLE.fullmatch(path)):
            return self._table((found[1], found[2], found[3]))
        return _error(404, f"{method} {path}")

    def _insert(self, key: tuple[str, str, str], body: Any) -> tuple[int, Any]:
        if key not in self.tables:
            return _error(404, f"Not found: Table {':'.join(key[:2])}.{key[2]}")
        table, errors = self.tables[key], []
        for index, row in enumerate(body["rows"]):
            if wrong := list(_wrong(row["json"], table.fields)):
                errors.append({"index": index, "errors": wrong})
        if errors:
            return 200, {"kind": "bigquery#tableDataInsertAllResponse", "insertErrors": errors}
        table.rows |= {row["insertId"]: row["json"] for row in body["rows"]}
        return 200, {"kind": "bigquery#tableDataInsertAllResponse"}

    def _create(self, project: str, dataset: str, body: Any) -> tuple[int, Any]:
        if (project, dataset) not in self.datasets:
            return _error(404, f"Not found: Dataset {project}:{dataset}")
        key = (project, dataset, body["tableReference"]["tableId"])
        if key in self.tables:
            return _error(409, f"Already Exists: Table {key[2]}")
        self.tables[key] = Table(fields=body["schema"]["fields"])
        return self._table(key)

    def _table(self, key: tuple[str, str, str]) -> tuple[int, Any]:
        if key not in self.tables:
            return _error(404, f"Not found: Table {key[2]}")
        reference = dict(zip(("projectId", "datasetId", "tableId"), key, strict=True))
        return 200, {"tableReference": reference, "schema": {"fields": self.tables[key].fields}}


def _wrong(row: dict[str, Any], fields: list[dict[str, str]]) -> Any:
    """What BigQuery would hold against the row."""
    known = {one["name"]: one for one in fields}
    for name in row.keys() - known.keys():
        yield _row_error(name, f"no such field: {name}.")
    for name, one in known.items():
        value = row.get(name)
        if value is None:
            if one["mode"] == "REQUIRED":
                yield _row_error("", f"Missing required field: {name}.")
        elif one["type"] == "STRING" and not isinstance(value, str):
            yield _row_error(name, "Cannot convert value to string.")
        elif one["type"] == "TIMESTAMP" and (isinstance(value, bool) or not isinstance(value, int | float)):
            yield _row_error(name, "Could not parse the value as a timestamp.")


def _row_error(location: str, message: str) -> dict[str, str]:
    return {"reason": "invalid", "location": location, "debugInfo": "", "message": message}


def _error(status: int, message: str) -> tuple[int, Any]:
    reason = _REASONS[status]
    return status, {"error": {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}}


def _handler(peer: BigQueryPeer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            peer.logins.append(self.headers.get("Authorization"))
            status, document = peer.answer(self.command, urlsplit(self.path).path, json.loads(body) if body else None)
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler
