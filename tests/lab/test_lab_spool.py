"""What was measured stays on the disk, with its files, until it is dropped; a list says what may run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchwright.execution.outposts.bundles import SentFile
from benchwright.lab.parcels import LabParcel
from benchwright.lab.permissions import refusal
from benchwright.lab.spool import AgentSpool
from benchwright.records import Artifact, Case, Environment, Inputs, Result, Run, Status, Target
from benchwright.records.lab import LabWork


def _run(*artifacts: Artifact) -> Run:
    case = Case(name="one", target=Target(runtime="command", uri="true"))
    result = Result(
        id="r1-1.1-0",
        case=case,
        round=0,
        status=Status.OK,
        environment=Environment(machine={}, system={}),
        started_at="2026-03-01T10:00:00+00:00",
        duration=1.0,
        artifacts=artifacts,
    )
    return Run(id="r1", started_at="2026-03-01T10:00:00+00:00", harness="1", results=(result,))


def test_results_stay_with_their_files_until_they_are_dropped(tmp_path: Path) -> None:
    left = tmp_path / "trace.bin"
    left.write_bytes(b"trace")
    own = Artifact(name="a/trace.bin", kind="profile", path=str(left), size=5)
    gone = replace(own, name="gone", path=str(tmp_path / "gone"))
    AgentSpool(tmp_path / "spool").add("m.1:x", "7.1.ab", _run(own, gone))
    spool = AgentSpool(tmp_path / "spool")  # of an agent that was started again
    [job] = spool.all("m.1:x")
    assert (job.machine, job.fence, spool.all("other")) == ("m.1:x", "7.1.ab", [])
    [(result, kept)] = job.artifacts()
    assert (result, kept.name, Path(kept.path).read_bytes()) == ("r1-1.1-0", "a/trace.bin", b"trace")
    assert not left.exists() and job.path.stat().st_mode & 0o077 == 0
    job.path.with_name("rubbish").write_text("x")
    spool.drop(job)
    assert spool.all() == [] and not job.files.exists()


@pytest.mark.parametrize(
    ("allowed", "runtime", "uri", "said"),
    [
        ((), "python", "m:f", ""),
        (("onnxruntime",), "onnxruntime", "/home/mia/model.onnx", ""),
        (("onnxruntime",), "python", "m:f", "runtime python is not on its list"),
        (("onnxruntime",), "control", "control:integer", ""),
        (("/opt/bench/*",), "command", "/opt/bench/run --fast", ""),
        (("/opt/bench/*",), "command", "/opt/bench/../../bin/sh -c x", "the program '/bin/sh' is not on its list"),
        (("/opt/bench/*",), "command", "/opt/bench/mine", "comes with the job"),
        (("sleep",), "command", "sleep 1", ""),
        (("sleep",), "command", "./sleep 1", "'/home/mia/sleep' is not on its list"),
        (("sleep",), "command", "'", "cannot be read"),
    ],
)
def test_the_list_says_what_may_run(allowed: tuple[str, ...], runtime: str, uri: str, said: str) -> None:
    sent = SentFile(path="/opt/bench/mine", sha256="0" * 64, size=1)
    work = LabWork(case=Case(name="one", target=Target(runtime=runtime, uri=uri)))
    told = refusal(work, LabParcel(files=(sent,), directory="/home/mia"), allowed)
    assert said in told and bool(said) == bool(told)


@pytest.mark.parametrize(
    ("path", "places", "uri"),
    [
        ("/opt/bench//mine", (), "/opt/bench/mine"),  # lies at /opt/bench/mine
        ("/opt/bench/a/mine", ("/opt/bench/a",), "/opt/bench/a/mine"),
        ("/opt/bench/other", ("/opt/bench/mine",), "/opt/bench/mine"),  # is looked for among the job's files
        ("/opt/bench/mine", (), "../../opt/bench/mine"),
    ],
)
def test_no_way_to_write_a_path_makes_a_program_of_the_job_one_of_the_machine(
    path: str, places: tuple[str, ...], uri: str
) -> None:
    sent = SentFile(path=path, sha256="0" * 64, size=1)
    work = LabWork(case=Case(name="one", target=Target(runtime="command", uri=uri)))
    parcel = LabParcel(files=(sent,), places=places, directory="/home/mia")
    assert "comes with the job" in refusal(work, parcel, ("/opt/bench/*",))


def test_the_control_benchmark_and_archives_are_no_way_to_bring_code() -> None:
    sent = SentFile(path="/home/mia/json.py", sha256="0" * 64, size=1)
    control = LabWork(case=Case(name="one", target=Target(runtime="control", uri="control:integer")))
    assert "code comes with it" in refusal(control, LabParcel(files=(sent,)), ("onnxruntime",))
    archive = replace(sent, path="/home/mia/weights.bin")
    case = Case(name="one", target=Target(runtime="onnxruntime", uri="m.onnx"))
    for paths in (("/home/mia/weights.bin",), ("/home/mia/weights.bin/inner",)):
        for work in (LabWork(case=case, paths=paths), LabWork(case=case, last_paths=paths)):
            assert "code comes with it" in refusal(work, LabParcel(files=(archive,)), ("onnxruntime",))
    assert refusal(LabWork(case=case, paths=("/home/mia",)), LabParcel(files=(archive,)), ("onnxruntime",)) == ""


def test_code_that_comes_along_counts_as_python() -> None:
    case = Case(name="one", target=Target(runtime="onnxruntime", uri="m.onnx"))
    sent = SentFile(path="/home/mia/onnx.py", sha256="0" * 64, size=1)
    assert "code comes with it" in refusal(LabWork(case=case), LabParcel(files=(sent,)), ("onnxruntime",))
    assert refusal(LabWork(case=case), LabParcel(files=(sent,)), ("onnxruntime", "python")) == ""
    made = replace(case, inputs=Inputs(source="mine:make"))
    assert "inputs are made by code" in refusal(LabWork(case=made), LabParcel(), ("onnxruntime",))
