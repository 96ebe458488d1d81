"""A small process beside the client that asks the server for its figures, once a second. Standard library only.

Its standard input holds one line of JSON, which says whom to ask; then each byte asks for a look at once, and its end
for the answer, one line of JSON on the standard output. So it ends with whoever started it, however that ends.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import sys
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from benchwright.worker.endpoints.exposition import Figures

INTERVAL = 1.0  # seconds between two looks
SHARE = 0.01  # of one core, at most
PATIENCE = 2.0  # seconds for one look
MOST_BYTES = 2**20  # of one answer
MOST_LOOKS = 2000  # that are kept; then every second one goes, and they become rarer
MOST_FAILURES = 5  # one after another: then nobody asks any more
_PIECE = 2**16


def main() -> None:
    """The life of the process."""
    os.nice(10)  # whoever is measured comes first
    order = json.loads(_read_line())
    json.dump(watch(order), sys.stdout)
    sys.stdout.flush()
    os._exit(0)


def _read_line() -> bytes:
    """The first line of the standard input, and nothing of what follows it."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def watch(order: Mapping[str, Any]) -> dict[str, Any]:
    """Looks until the standard input ends; gives all that was seen."""
    figures, failures, row, first = Figures(), 0, 0, ""
    due, used, interval = time.monotonic(), time.process_time(), INTERVAL
    while not select.select([0], [], [], max(0.0, due - time.monotonic()))[0] or os.read(0, _PIECE):
        if row < MOST_FAILURES:
            why = look(order, figures)
            row, failures, first = row + 1 if why else 0, failures + bool(why), first or why
            if why and not figures.instants and not order["named"]:
                row = MOST_FAILURES  # there may be no such address: one question is enough
        if len(figures.instants) >= MOST_LOOKS:
            figures.thin()
            interval *= 2
        used, before = time.process_time(), used
        due = time.monotonic() + max(interval, (used - before) / SHARE)
    return {
        "instants": figures.instants,
        "series": [[one.name, one.kind, one.values] for one in figures.series.values()],
        "left_out": figures.left_out,
        "failures": failures,
        "first_failure": first,
    }


def look(order: Mapping[str, Any], figures: Figures) -> str:
    """Asks once and adds the figures; says why there are none, else ""."""
    begin = time.perf_counter_ns()
    try:
        text = fetch(order)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:200]
    # The server took its figures somewhere between the question and the answer.
    at = (begin + time.perf_counter_ns()) // 2
    return "" if figures.add(at, text) else "the answer holds no figures"


def fetch(order: Mapping[str, Any]) -> str:
    """The text behind an address; a `ValueError` where it is none, or too much."""
    parts, until = urlsplit(order["address"]), time.monotonic() + PATIENCE
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=PATIENCE, **_security(parts.scheme, order["insecure"]))
    try:
        connection.connect()
        line = connection.sock
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request("GET", path, headers={"Connection": "close", "Accept": "text/plain", **order["headers"]})
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError(f"it answers with status {answer.status}")
        pieces, size = [], 0
        while piece := answer.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise ValueError(f"its answer is more than {MOST_BYTES >> 20} MiB")
            if (left := until - time.monotonic()) <= 0:
                raise ValueError(f"no whole answer in {PATIENCE:g} s")
            line.settimeout(left)
        return b"".join(pieces).decode("utf-8", errors="replace")
    finally:
        connection.close()


def _security(scheme: str, insecure: bool) -> dict[str, Any]:
    if scheme != "https":
        return {}
    import ssl

    context = ssl.create_default_context()
    if insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return {"context": context}
