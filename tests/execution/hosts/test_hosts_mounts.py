"""What a job needs of this machine inside a container, and what never covers a container's own folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.execution.hosts.container_init import ran_out_of_memory
from benchwright.execution.hosts.mounts import Mount, needed_mounts, readable_mounts
from benchwright.records import Case, Inputs, Load, Target
from benchwright.worker.channel import PROTOCOL, Job


def _job(uri: str = "fake:constant", *, runtime: str = "python", **fields: object) -> Job:
    case = Case(name="c", target=Target(runtime=runtime, uri=uri))
    return Job(protocol=PROTOCOL, case=case, **fields)  # type: ignore[arg-type]


def _paths(job: Job, here: Path) -> dict[Path, bool]:
    return {mount.path: mount.writable for mount in needed_mounts(job, here)}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name in ("here", "models", "packages"):
        (tmp_path / name).mkdir()
    return tmp_path / "here"


def test_the_folder_of_what_is_measured_is_there_read_only(here: Path) -> None:
    (here.parent / "models" / "m.onnx").touch()
    assert _paths(_job("../models/m.onnx"), here) == {here: False, here.parent / "models": False}
    assert _paths(_job(f"{here.parent}/models/m.onnx::name"), here) == {here: False, here.parent / "models": False}


def test_only_the_jobs_own_folder_is_writable(here: Path) -> None:
    inner = here / "out"
    inner.mkdir()
    found = needed_mounts(_job(folder=str(inner)), here)
    assert [(mount.path, mount.writable) for mount in found] == [(here, False), (inner, True)]  # the parent first
    assert _paths(_job(folder=str(here)), here) == {here: True}


def test_paths_inputs_traces_and_settings_are_found(here: Path) -> None:
    data = here.parent / "data"
    data.mkdir()
    for name in ("x.npy", "trace"):
        (data / name).touch()
    target = Target(runtime="class", uri="m.C.f", options={"root": str(here.parent / "models"), "depth": 3})
    case = Case(
        name="c", target=target, inputs=Inputs(source=str(data / "x.npy")), load=Load(trace=str(data / "trace"))
    )
    job = Job(protocol=PROTOCOL, case=case, paths=(str(here.parent / "packages"),), last_paths=("/no/such/folder",))
    assert set(_paths(job, here)) == {here, data, here.parent / "models", here.parent / "packages"}


def test_links_work_inside_too(here: Path) -> None:
    (here.parent / "models" / "m.onnx").touch()
    (here / "latest.onnx").symlink_to(here.parent / "models" / "m.onnx")
    assert _paths(_job("latest.onnx"), here) == {here: False, here.parent / "models": False}


def test_folders_that_a_container_has_itself_are_never_covered(tmp_path: Path) -> None:
    assert (
        readable_mounts(map(Path, ("/", "/tmp", "/usr", "/usr/lib", "/usr/local/bin", "/etc", "/dev/null", "/proc")))
        == []
    )
    file = Path("/etc/hostname")
    assert [mount.path for mount in readable_mounts([file])] == [file]  # the file alone


def test_a_command_brings_its_files_but_not_its_programs(here: Path) -> None:
    script = here.parent / "models" / "run.sh"
    script.touch()
    assert set(_paths(_job(f"/bin/sh {script} --fast", runtime="command"), here)) == {here, script.parent}
    assert set(_paths(_job("an 'open quotation", runtime="command"), here)) == {here}
    assert set(_paths(_job("n" * 5000), here)) == {here}  # no path at all


def test_a_comma_in_a_path_is_quoted() -> None:
    assert Mount(path=Path("/a,b")).argument() == 'type=bind,"source=/a,b","target=/a,b",readonly'
    assert Mount(path=Path("/a"), writable=True, at="/in").argument() == "type=bind,source=/a,target=/in"


@pytest.mark.parametrize("name", ["memory.events", "memory/memory.oom_control"])
def test_running_out_of_memory_is_seen_in_both_versions_of_control_groups(name: str, tmp_path: Path) -> None:
    assert not ran_out_of_memory(tmp_path)
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("low 0\noom_kill 0\n", encoding="ascii")
    assert not ran_out_of_memory(tmp_path)
    file.write_text("low 0\noom_kill 2\n", encoding="ascii")
    assert ran_out_of_memory(tmp_path)
