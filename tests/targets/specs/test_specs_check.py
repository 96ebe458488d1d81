"""`spec check`: files that are not there or are others, here and behind addresses, before anything runs."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright.targets.specs.check import check
from benchwright.targets.specs.places import to_yaml


class _Site(http.server.BaseHTTPRequestHandler):
    asked: list[str | None]

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Range"))
        self.send_response(206 if self.path == "/net.onnx" else 404)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"x")

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[tuple[str, list[str | None]]]:
    asked: list[str | None] = []
    handler = type("Handler", (_Site,), {"asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def _spec(path: Path, files: dict[str, Any], **model: Any) -> Path:
    value = {"benchwright": 1, "model": {"name": "m", "files": files, **model}}
    path.write_text(to_yaml(value), encoding="utf-8")
    return path


def test_files_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"net")
    digest = hashlib.md5(b"net").hexdigest()
    assert check(_spec(tmp_path / "a.yaml", {"onnx": {"path": "net.onnx", "md5": digest}})) == []
    problems = check(
        _spec(
            tmp_path / "b.yaml",
            {"onnx": {"path": "net.onnx", "md5": "0" * 32}, "tflite": "gone.tflite", "folder": "."},
            outputs={"y": {"golden": "y.npy"}},
        )
    )
    told = [problem.message for problem in problems]
    assert len(told) == 4 and all(problem.severity == "error" for problem in problems)
    assert digest in told[0] and "0" * 32 in told[0] and "gone.tflite" in told[1]
    assert "is not a file name" in told[2] or "is a folder" in told[2]
    assert "y.npy" in told[3], "in the order of the lines"


def test_what_is_behind_addresses_is_looked_at_and_not_fetched(
    tmp_path: Path, site: tuple[str, list[str | None]]
) -> None:
    address, asked = site
    digest = "ab" * 32
    path = _spec(
        tmp_path / "a.yaml",
        {
            "here": {"url": f"{address}/net.onnx", "sha256": digest},
            "gone": {"url": f"{address}/gone.onnx", "sha256": digest},
            "nobody": {"url": "http://127.0.0.1:9/net.onnx", "sha256": digest},
            "file": {"url": (tmp_path / "gone.onnx").as_uri(), "sha256": digest},
        },
    )
    assert check(path, offline=True) == [] and asked == []
    problems = check(path)
    assert problems[0].message.startswith(f"{address}/gone.onnx answered 404")
    assert len(problems) == 3 and asked == ["bytes=0-0"] * 2
    assert [int(problem.where.split(":")[-2]) for problem in problems] == sorted(
        int(problem.where.split(":")[-2]) for problem in problems
    )


def test_a_file_that_is_no_spec_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    (problem,) = check(path)
    assert problem.where == str(path) and "cannot be read" in problem.message
    path.write_text("a: }", encoding="utf-8")
    (problem,) = check(path)
    assert problem.where == f"{path}:1:4" and problem.message.startswith("not YAML")
    path.write_text("a: 1", encoding="utf-8")
    (problem,) = check(path)
    assert "'benchwright' is missing" in problem.message
