"""Files of results: kept by their digest, sent as downloads, and only those that belong here."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as runs
from benchwright.records import Artifact

CONTENT = b"<script>alert(1)</script>"
HARMLESS = {"content-disposition", "content-security-policy", "x-content-type-options"}


def artifact(name: str, content: bytes = CONTENT, path: str = "/elsewhere", digest: str | None = None) -> Artifact:
    sha256 = hashlib.sha256(content).hexdigest() if digest is None else digest
    return Artifact(name=name, kind="page", path=path, size=len(content), sha256=sha256)


@pytest.fixture
def add(server: Any, request: pytest.FixtureRequest) -> Any:
    """Adds a result with these files; returns its id."""

    def make(*artifacts: Artifact) -> str:
        number = 100 + len([*server.store.run_ids()])
        run = runs.run_of(number, 0.5)
        server.store.add_run(replace(run, results=(replace(run.results[0], artifacts=artifacts),)))
        return str(run.results[0].id)

    return make


def test_a_file_is_sent_twice_and_kept_once(server: Any, add: Any) -> None:
    result = add(artifact("pages/a.html"), artifact("../../b ü.html", b"other"))
    for status in (201, 200):
        assert server.put(f"results/{result}/artifacts/pages/a.html", content=CONTENT).status_code == status
    assert server.put(f"results/{result}/artifacts/..%2F..%2Fb ü.html", content=b"other").status_code == 201
    told = server.get(f"results/{result}/artifacts/pages/a.html")
    assert told.content == CONTENT and told.headers["content-type"] == "application/octet-stream"
    assert told.headers["content-disposition"] == 'attachment; filename="a.html"'
    assert "sandbox" in told.headers["content-security-policy"] and told.headers["x-content-type-options"] == "nosniff"
    assert server.get(f"results/{result}/artifacts/..%2F..%2Fb ü.html").content == b"other"
    kept = [path for path in server.settings.artifacts.rglob("*") if path.is_file()]
    assert {path.name for path in kept} == {hashlib.sha256(one).hexdigest() for one in (CONTENT, b"other")}


def test_what_is_not_the_file_is_refused_and_leaves_nothing(server: Any, add: Any) -> None:
    result = add(artifact("a.html", b"right"), artifact("large", b"12345", digest=""))
    before = {*server.settings.artifacts.rglob("*")}
    assert server.put(f"results/{result}/artifacts/a.html", content=b"wrong").status_code == 400
    assert server.put(f"results/{result}/artifacts/large", content=b"1234").status_code == 400
    assert server.put(f"results/{result}/artifacts/b.html", content=b"right").status_code == 404
    assert server.put("results/nobody/artifacts/a.html", content=b"right").status_code == 404
    assert not [path for path in {*server.settings.artifacts.rglob("*")} - before if path.is_file()]
    assert server.get(f"results/{result}/artifacts/a.html").status_code == 404
    assert server.put(f"results/{result}/artifacts/large", content=b"12345").status_code == 201
    assert server.get(f"results/{result}/artifacts/large").content == b"12345"


def test_a_file_of_this_machine_is_sent_only_from_the_folder_for_them(server: Any, add: Any, tmp_path: Path) -> None:
    folder = server.settings.artifacts / "run"
    folder.mkdir(parents=True, exist_ok=True)
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (folder / "log").write_bytes(b"inside")
    (folder / "link").symlink_to(secret)
    paths = {
        "log": str(folder / "log"),
        "secret": str(secret),
        "link": str(folder / "link"),
        "up": f"{folder}/../../../{secret.name}",
        "folder": str(folder),
        "nul": "a\0b",
        "nowhere": str(folder / "nothing"),
    }
    result = add(*(artifact(name, b"inside", path) for name, path in paths.items()))
    codes = {name: server.get(f"results/{result}/artifacts/{name}").status_code for name in paths}
    assert codes == {name: 200 if name == "log" else 404 for name in paths}
