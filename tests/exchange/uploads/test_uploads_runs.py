"""A run to a store: its document and its results' files; what is gone is told."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.exchange.uploads.runs import lost_files, send_run
from benchwright.execution.artifacts import collect
from benchwright.records import Artifact, Case, Environment, Result, Run, Status, Target


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two results with files and one without."""
    results = []
    for number in range(2):
        folder = tmp_path / "artifacts" / str(number)
        (folder / "trace").mkdir(parents=True)
        (folder / "trace" / "a.json").write_text(f"[{number}]")
        (folder / "empty.log").write_text("")
        results.append(replace(_result(f"r{number}"), artifacts=collect(folder)))
    return Run(id="run-1", started_at="2026-03-01T00:00:00Z", harness="1", results=(*results, _result("r2")))


def _result(id: str) -> Result:
    return Result(
        id=id,
        case=Case(name="model.onnx", target=Target(runtime="fake", uri="model.onnx")),
        round=0,
        status=Status.OK,
        environment=Environment(machine={"cpu": "x"}, system={"os": "Linux"}),
        started_at="2026-03-01T00:00:00Z",
        duration=1.0,
    )


def _names(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_the_document_and_every_results_files_arrive(run: Run, tmp_path: Path) -> None:
    far = tmp_path / "far"
    delivery = send_run(run, str(far))
    assert delivery.failures == ()
    assert delivery.sent == (f"{far}/run-1/", f"{far}/run-1/r0/", f"{far}/run-1/r1/")
    files = {f"run-1/r{n}/{name}" for n in range(2) for name in ("trace/a.json", "empty.log")}
    assert _names(far) == files | {"run-1/run.json"}
    assert (far / "run-1" / "r1" / "trace" / "a.json").read_text() == "[1]"
    assert schema.loads((far / "run-1" / "run.json").read_bytes(), Run) == run
    assert lost_files(run) == []


def test_files_that_came_later_go_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "artifacts" / "0" / "summary.json").write_text("{}")
    send_run(run, str(tmp_path / "far"))
    assert (tmp_path / "far" / "run-1" / "r0" / "summary.json").read_text() == "{}"


def test_what_is_gone_is_named_and_the_rest_is_sent(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "artifacts" / "0"
    (folder / "empty.log").unlink()
    assert lost_files(run) == [f"{folder / 'empty.log'}: no longer there"]
    send_run(run, str(tmp_path / "far"))
    assert (tmp_path / "far" / "run-1" / "r0" / "trace" / "a.json").is_file()


def test_a_folder_that_is_gone_is_named_once(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "artifacts" / "0"
    for path in (folder / "trace" / "a.json", folder / "empty.log"):
        path.unlink()
    assert lost_files(run) == [f"{folder}: no longer there, with 2 files"]
    assert send_run(run, str(tmp_path / "far")).failures == ()
    assert not (tmp_path / "far" / "run-1" / "r0").exists()


def test_the_files_of_a_later_run_are_not_sent_for_this_one(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "artifacts" / "0"
    (folder / "trace" / "a.json").write_text("[7]")  # as long; the empty file is as it was, and proves nothing
    assert lost_files(run) == [f"{folder}: holds other files now than this run left there; not sent"]
    send_run(run, str(tmp_path / "far"))
    assert not (tmp_path / "far" / "run-1" / "r0").exists()


@pytest.mark.parametrize("name", ["../a.json", "b.json", "", "artifacts/0/../../a.json"])
def test_a_record_from_elsewhere_names_no_folder_at_will(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    path.write_text("secret")
    digest = hashlib.sha256(b"secret").hexdigest()
    strange = Artifact(name=name, kind="data", path=str(path), size=6, sha256=digest)
    run = replace(run, id="../../up", results=(replace(run.results[0], id="../r", artifacts=(strange,)),))
    assert lost_files(run) == [f"{path}: not a file of a folder that its record names; not sent"]
    assert send_run(run, str(tmp_path / "far")).sent == (f"{tmp_path}/far/______up/",)
    assert _names(tmp_path / "far") == {"______up/run.json"}


def test_a_store_that_takes_nothing_is_told_and_not_raised(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    delivery = send_run(run, f"file://{tmp_path}/file")
    assert delivery.sent == ()
    assert len(delivery.failures) == 3
    assert all("file/run-1/" in failure for failure in delivery.failures)
