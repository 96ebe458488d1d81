"""A plan as it is sent to a lab: one parcel for cases that need the same files, each file by its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.execution.plans import Plan
from benchwright.lab import shipments
from benchwright.lab.parcels import LabParcel
from benchwright.records import Case, Inputs, Load, Target, Value
from benchwright.records.lab import LabWork


def _case(uri: str, runtime: str = "onnxruntime", **params: str | int) -> Case:
    return Case(name=uri, target=Target(runtime=runtime, uri=uri), params=params, inputs=Inputs(), load=Load())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / "model.onnx.data").write_bytes(b"more")
    (tmp_path / "other.onnx").write_bytes(b"weights")
    return tmp_path


def test_cases_that_need_the_same_files_share_a_parcel(folder: Path) -> None:
    cases = [_case("model.onnx", batch_size=1), _case("model.onnx", batch_size=8), _case("other.onnx")]
    sent = shipments.pack(Plan(cases=cases, rounds=3, retries=2, cpus=(1,)))
    assert [place for _, place in sent.works] == [0, 0, 1]
    assert [Path(one.path).name for one in sent.parcels[0].files] == ["model.onnx", "model.onnx.data"]
    assert {work.rounds for work, _ in sent.works} == {3}
    assert sent.works[0][0] == LabWork(
        case=cases[0], rounds=3, retries=2, cpus=(1,), monitors=("process", "pressure", "gpu", "power")
    )
    assert sent.parcels[0].directory == str(folder)


def test_equal_files_are_sent_once_and_known_by_what_is_in_them(folder: Path) -> None:
    sent = shipments.pack(Plan(cases=[_case("model.onnx"), _case("other.onnx")], rounds=1))
    digest = hashlib.sha256(b"weights").hexdigest()
    assert set(sent.files) == {digest, hashlib.sha256(b"more").hexdigest()}
    assert sent.parcels[1].files[0].sha256 == digest
    assert sent.parcels[1].files[0].size == len(b"weights")


def test_what_is_sent_reads_the_same_at_the_server(folder: Path) -> None:
    noted: dict[str, Value] = {"harness": {"meta": {"net_name": "n"}, "rules": "today"}}
    plan = Plan(cases=[_case("model.onnx")], rounds=1, notes=lambda case: noted)
    sent = shipments.pack(plan)
    assert schema.decode(LabParcel, schema.encode(sent.parcels[0]), where="parcel") == sent.parcels[0]
    work = schema.decode(LabWork, schema.encode(sent.works[0][0]), where="work")
    assert work == sent.works[0][0]
    assert work.notes == noted


def test_a_text_among_the_params_that_names_a_file_takes_it_along(folder: Path) -> None:
    (folder / "words.txt").write_text("a")
    sent = shipments.pack(Plan(cases=[_case("model.onnx", data="words.txt"), _case("model.onnx", data="8")], rounds=1))
    assert [place for _, place in sent.works] == [0, 1]
    assert "words.txt" in [Path(one.path).name for one in sent.parcels[0].files]
