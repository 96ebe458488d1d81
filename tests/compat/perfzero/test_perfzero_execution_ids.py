"""Output folders: a later run of an id takes the place of the earlier, two at once do not meet, none at all is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero.outputs import Folders
from benchwright.compat.perfzero.workspace import FolderClaim, Workspace
from benchwright.store import open_store

DEMO = "demo_bench.Demo.benchmark_"


def _methods(*names: str) -> str:
    return f"--benchmark_methods={','.join(DEMO + name for name in names)}"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(project=tmp_path, name="workspace")


def test_a_later_run_leaves_nothing_of_the_earlier(project: Any) -> None:
    assert project.run(_methods("traced", "ok"), "--execution_id=r").code == 0
    (project.workspace / "output" / "r" / "model.bin").write_text("of the first")
    own = project.workspace / "output" / "r-7"  # looks like one of them, and is somebody's id
    own.mkdir()
    (own / "perfzero_summary.json").write_text("{}")
    assert project.run(_methods("ok"), "--execution_id=r").code == 0
    assert sorted(path.name for path in own.parent.iterdir()) == ["r", "r-7"]
    assert not (own.parent / "r" / "model.bin").exists() and not (own.parent / "r" / "profiler_data").exists()
    store = open_store(project.folder / ".benchwright" / "results.db", create=False)
    artifacts = store.run(store.find("last")).results[0].artifacts
    store.close()
    names = {"perfzero.log", "perfzero_summary.json", "process_info.log", "proto_Demo.benchmark_ok"}
    assert {artifact.name for artifact in artifacts} == names


def test_two_runs_at_once_have_folders_of_their_own(project: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    environment = {**os.environ, "PYTHONPATH": str(project.site), "SEEN": str(seen)}
    command = [sys.executable, "-m", "benchwright", "perfzero", "--python_path=demo", "--execution_id=r"]
    with subprocess.Popen(
        [*command, _methods("hang"), "--timeout=20"], cwd=project.folder, env=environment, stdout=subprocess.PIPE
    ) as first:
        deadline = time.monotonic() + 60
        while not seen.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        second = project.run(_methods("ok"), "--execution_id=r")
        first.terminate()
        first.communicate(timeout=60)
    assert second.code == 0, second.err
    assert "--execution_id=r is in use by another run" in second.out
    (folder,) = second.block("Benchmark local output directories:")["trial_1"].values()
    assert Path(folder).name.startswith("r-") and Path(folder) != second.output / "r"
    told = json.loads(Path(folder, "perfzero_summary.json").read_text())
    assert told["benchmark_result"]["succeeded"] is True
    assert second.summary("r")["benchmark_result"]["name"] == DEMO + "hang"


def test_an_id_is_free_again_when_its_run_has_ended(workspace: Workspace) -> None:
    first, second = Folders(workspace, "r"), Folders(workspace, "r")
    assert [first.next().name, first.next().name] == ["r", "r-2"]
    assert second.next().name.startswith("r-2") and second.next().name > second.tried.name[:5]
    first.close()
    third = Folders(workspace, "r")
    assert third.next() == workspace.output / "r" and not (workspace.output / "r-2").exists()
    third.close()


def test_a_folder_that_holds_no_output_is_not_cleared(workspace: Workspace) -> None:
    data = workspace.output / "r" / "checkpoint"
    data.parent.mkdir(parents=True)
    data.write_text("mine")
    (workspace.output / "r-2").mkdir()
    folders = Folders(workspace, "r")
    assert [folders.next().name, folders.next().name] == ["r", "r-3"]
    assert data.read_text() == "mine"
    folders.close()


def test_a_claim_clears_folders_of_the_output_alone(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace.output / "other").mkdir(parents=True)
    (workspace.output / "r-link").symlink_to(outside)
    claim = FolderClaim.take(workspace.root, "r")
    assert claim is not None and FolderClaim.take(workspace.root, "r") is None
    for name in ("../../outside", str(outside), "r-link", "..", "r-/../../..", "other"):
        claim.note(name)
    claim.clear(workspace.output)
    claim.close()
    assert outside.is_dir() and sorted(path.name for path in workspace.output.iterdir()) == ["other", "r-link"]


def test_folders_of_two_runs_in_one_moment_differ(workspace: Workspace) -> None:
    folders = [Folders(workspace, ""), Folders(workspace, "")]
    assert len({each.next() for _ in range(20) for each in folders}) == 40


def test_a_folder_that_cannot_be_made_is_a_record_and_the_run_goes_on(project: Any) -> None:
    project.add(
        "demo",
        "wreck.py",
        "import shutil\nfrom pathlib import Path\nfrom demo_bench import Demo\n\nclass Wreck(Demo):\n"
        "    def benchmark_it(self):\n        output = Path(self.output_dir).parent\n        shutil.rmtree(output)\n"
        "        output.write_text('in the way')\n        self.report_benchmark(wall_time=1.0)\n",
    )
    ended = project.run("--benchmark_methods=wreck.Wreck.benchmark_it", _methods("ok", "edge"), "--execution_id=r")
    assert ended.code == 1
    # the report of the first went with the folder
    assert [*ended.block("Benchmark success results:")["trial_1"].values()] == [False, False, False]
    assert f"{ended.output}/r-2: cannot be made: " in ended.err
    assert f"{ended.output}/r-2: cannot be written: " in ended.err
    store = open_store(project.folder / ".benchwright" / "results.db", create=False)
    run = store.run(store.find("last"))
    store.close()
    errors = [result.error for result in run.results]
    assert len(errors) == 3 and errors[2] is not None
    assert (errors[2].kind, "cannot be made" in errors[2].message) == ("MeasureError", True)
