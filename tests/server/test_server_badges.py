"""Badges that a README shows."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from benchwright.exchange.exporters.badge import COLOURS
from benchwright.records import Verdict
from benchwright.records.findings import State

ROOT = "http://127.0.0.1:8765"
RED, GREEN = COLOURS[Verdict.WORSE], COLOURS[Verdict.SAME]


def test_a_value_is_red_while_a_regression_of_it_is_open(server: Any, filled: Any) -> None:
    found = filled(server.store)
    address = f"{ROOT}/badge/{quote(found.case)}.svg"
    told = server.get(address)
    assert told.status_code == 200 and told.headers["content-type"] == "image/svg+xml"
    assert f"<title>{found.case}: 600 ms</title>" in told.text and RED in told.text
    assert told.headers["cross-origin-resource-policy"] == "cross-origin"
    assert told.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert told.headers["cache-control"] == "public, max-age=300"
    assert server.get(address, headers={"If-None-Match": told.headers["etag"]}).status_code == 304
    assert "1.67/s" in server.get(f"{address}?metric=throughput&machine={found.machine}&words=batch_size").text
    assert "<title>speed: 600 ms</title>" in server.get(f"{address}?label=speed").text
    assert "<title>regressions: 1 open</title>" in server.get(f"{ROOT}/badge/findings.svg").text
    server.store.update_finding(found.id, state=State.RESOLVED)
    assert GREEN in server.get(address).text
    free = server.get(f"{ROOT}/badge/findings.svg")
    assert "none open" in free.text and GREEN in free.text and RED not in free.text


def test_what_is_not_measured_says_so(server: Any) -> None:
    for address in (
        "/badge/other.svg",
        "/badge/bench.py*.svg",
        "/badge/bench.py::encode.svg?words=absent",
        "/badge/.svg",
    ):
        told = server.get(f"{ROOT}{address}")
        assert told.status_code == 404 and "not measured" in told.text, address
        assert told.headers["content-type"] == "image/svg+xml"
    told = server.get(f"{ROOT}/badge/{quote('<script>alert(1)</script>', safe='')}.svg")
    assert "<script" not in told.text and "&lt;script&gt;" in told.text


def test_who_may_not_read_sees_no_badge(guarded: Any) -> None:
    assert guarded.get(f"{ROOT}/badge/findings.svg").status_code == 401
    told = guarded.get(f"{ROOT}/badge/findings.svg", headers=guarded.token("site", "read"))
    assert told.status_code == 200 and told.headers["cache-control"].startswith("private")
