"""The dashboard's files, and what holds for every answer."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from benchwright.pages import dashboard

ROOT = "http://127.0.0.1:8765"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def test_the_page_and_its_files_are_sent_once_and_then_confirmed(server: Any) -> None:
    for path, name in (("/", "index.html"), *((f"/{name}", name) for name in dashboard.NAMES[1:])):
        told = server.get(ROOT + path)
        assert told.status_code == 200 and told.content == dashboard.bundle()[name]
        assert told.headers["content-security-policy"] == POLICY
        again = server.get(ROOT + path, headers={"If-None-Match": told.headers["etag"]})
        assert again.status_code == 304 and not again.content
    assert told.headers["content-type"].startswith("text/css")


def test_what_is_not_there_is_said_in_json(server: Any) -> None:
    for path in ("/nothing", "/api/v1/nothing", "/api/v2/about", "/api/v1/about/", "/api/v1"):
        told = server.get(ROOT + path)
        assert told.status_code == 404 and set(told.json()) == {"error", "remedy"}
    assert server.delete("about").status_code == 405


def test_head_is_get_without_a_body(server: Any) -> None:
    for path in (f"{ROOT}/", "openapi.json", "nothing"):
        got, headed = server.get(path), server.head(path)
        assert (headed.status_code, headed.content) == (got.status_code, b"")
        assert headed.headers.get("etag") == got.headers.get("etag")


def test_large_answers_are_packed_for_those_who_take_it(server: Any) -> None:
    plain = server.get(f"{ROOT}/app.js", headers={"Accept-Encoding": "identity"})
    packed = server.get(f"{ROOT}/app.js", headers={"Accept-Encoding": "br, gzip;q=0.5"})
    refused = server.get(f"{ROOT}/app.js", headers={"Accept-Encoding": "gzip;q=0"})
    assert packed.headers["content-encoding"] == "gzip" and packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert "content-encoding" not in plain.headers and "content-encoding" not in refused.headers
    assert packed.headers["etag"] == plain.headers["etag"]


def test_every_answer_has_the_headers_that_keep_browsers_safe(server: Any) -> None:
    for told in (server.get("about"), server.get("nothing"), server.get("about", headers={"Host": "evil"})):
        assert told.headers["content-security-policy"] == POLICY
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["referrer-policy"] == "no-referrer"


def test_the_log_tells_paths_and_no_secrets(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(tmp_path, log=True) as server, redirect_stderr(io.StringIO()) as said:
        server.get("about?token=bw_secret", headers={"Authorization": "Bearer bw_secret"})
        server.get("nothing%0Aelse")
    lines = said.getvalue().splitlines()
    assert lines[0].startswith("GET /api/v1/about 401 ") and lines[0].endswith(" ms")
    assert lines[1].startswith("GET /api/v1/nothing%0Aelse 404 ")
    assert len(lines) == 2 and "secret" not in said.getvalue()


def test_the_openapi_document_describes_every_record(server: Any) -> None:
    told = server.get("openapi.json").json()
    text = json.dumps(told)
    named = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert named <= told["components"]["schemas"].keys()
    for path, operations in told["paths"].items():
        assert path.startswith(("/api/v1/", "/metrics", "/badge"))
        for operation in operations.values():
            assert operation["summary"] and "4XX" in operation["responses"]
