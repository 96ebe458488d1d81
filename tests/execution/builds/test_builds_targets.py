"""Which file a target means: each revision's own, or the user's for all of them."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchwright.cli import main
from benchwright.errors import TargetError
from benchwright.execution.builds import targets
from benchwright.execution.builds.targets import ContentPlace, SettledRequest, settle
from benchwright.targets.sources import Request
from benchwright.vcs.history import History


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's folder, in which nothing is yet; the repository `project` lies in it."""
    (tmp_path / "project").mkdir()
    return tmp_path


def _look(has: Mapping[str, str], path: str) -> str:
    return has.get(path, "")


def settled(
    home: Path,
    target: str,
    *sides: Mapping[str, str],
    folder: str = "",
    tracked: Mapping[str, str] | None = None,
    **how: Any,
) -> SettledRequest:
    """What a target means in revisions that have these files; those of the first are checked out."""
    here = sides[0] if tracked is None else tracked
    places = [ContentPlace(label=f"v{i}", look=functools.partial(_look, has)) for i, has in enumerate(sides)]
    fake: Any = SimpleNamespace(kind="git", root=home / "project", content_id=lambda revision, path: here.get(path, ""))
    request = Request(targets=[target])
    return settle(request, places, cast(History, fake), folder=home / folder, **how)


def test_a_file_of_the_users_own_is_taken_for_every_revision(home: Path) -> None:
    mine = home / "bench.py"
    mine.touch()
    for sides in (({}, {}), ({"bench.py": "1"}, {}), ({"bench.py": "1"}, {"bench.py": "1"})):
        told = settled(home, "bench.py::work", *sides)
        assert told.request.targets == [f"{mine}::work"] and told.folders == (str(home),)
        assert told.notes == (f"bench.py is read from {mine} for every revision",)


def test_a_file_above_is_named_as_it_lies_and_once_for_all_its_functions(home: Path) -> None:
    (home / "bench.py").touch()
    request = Request(targets=["../bench.py::a", "../bench.py::b"])
    told = settle(request, [ContentPlace(label="v", look=lambda path: "")], folder=home / "project")
    assert told.request.targets == [f"{home / 'bench.py'}::a", f"{home / 'bench.py'}::b"]
    assert told.notes == (f"../bench.py is read from {home / 'bench.py'} for every revision",)


def test_a_tracked_file_is_each_revisions_own_where_all_have_it(home: Path) -> None:
    (home / "project" / "bench.py").touch()
    both = {"bench.py": "1"}
    told = settled(home, "bench.py::work", both, both, folder="project")
    assert (told.request.targets, told.folders) == (["bench.py::work"], ())
    assert told.notes == ("bench.py is each revision's own; --targets-from here takes yours for all",)
    differing = settled(home, "bench.py", both, {"bench.py": "2"}, folder="project")
    assert differing.notes[0].startswith("bench.py differs between v0 and v1, so a difference may come from the bench")
    lacking = settled(home, "bench.py", both, {}, folder="project")
    assert lacking.request.targets == [str(home / "project" / "bench.py")]
    untracked = settled(home, "bench.py", both, both, folder="project", tracked={})
    assert untracked.request.targets == [str(home / "project" / "bench.py")]


def test_a_choice_is_followed(home: Path) -> None:
    (home / "project" / "bench.py").touch()
    both = {"bench.py": "1"}
    here = settled(home, "bench.py", both, both, folder="project", choice=targets.HERE)
    assert here.request.targets == [str(home / "project" / "bench.py")]
    there = settled(home, "bench.py", {}, both, folder="project", choice=targets.REVISION)
    assert there.request.targets == ["bench.py"]
    with pytest.raises(TargetError, match=r"there is no .*/bench\.py"):
        settled(home, "bench.py", both, both, choice=targets.HERE)


def test_a_path_is_read_from_the_users_folder_before_the_root(home: Path) -> None:
    (home / "project" / "benchmarks").mkdir()
    (home / "project" / "benchmarks" / "bench.py").touch()
    both = {"benchmarks/bench.py": "1", "other.py": "2"}
    told = settled(home, "bench.py::a", both, both, folder="project/benchmarks")
    assert told.request.targets == ["benchmarks/bench.py::a"]
    assert settled(home, "other.py::a", both, both, folder="project/benchmarks").request.targets == ["other.py::a"]


def test_what_is_nowhere_is_refused_and_what_a_build_makes_is_not(home: Path) -> None:
    with pytest.raises(TargetError, match=rf"no file bench.py: not in {home}, and not in v0 and v1"):
        settled(home, "bench.py::work", {}, {})
    with pytest.raises(TargetError, match=rf"no file bench.py: not in {home}, and not in v1"):
        settled(home, "bench.py::work", {"bench.py": "1"}, {})
    assert settled(home, "bench.py", {"bench.py": "1"}, {}, everywhere=False).request.targets == ["bench.py"]
    assert settled(home, "out/model.onnx", {}, {}).request.targets == ["out/model.onnx"]
    assert settled(home, "package.module:name", {}, {}).folders == ()


def test_a_package_that_only_the_user_has_is_found_behind_everything(home: Path) -> None:
    (home / "suite").mkdir()
    assert settled(home, "suite.parsing.Parse", {}, {}).folders == (str(home),)
    assert settled(home, "suite.parsing.Parse", {"suite": "1"}, {"suite": "1"}).folders == ()


@pytest.mark.parametrize("flat", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_the_code_is_the_revisions_where_the_benchmark_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flat: bool
) -> None:
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "Ada")
        monkeypatch.setenv(f"{name}_EMAIL", "ada@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    for command in ("init -q -b main", "add .", "commit -q -m one", "tag v1", "add .", "commit -q -m two", "tag v2"):
        if command == "add .":
            cost = 2.0 if (project / "thing.py").exists() else 1.0
            (project / "thing.py").write_text(f"COST = {cost}\n")
        subprocess.run(["git", *command.split()], cwd=project, check=True, capture_output=True)
    (project / "thing.py").write_text("COST = 7.0\n")  # what the user works on is not what is compared
    home = project if flat else tmp_path  # beside the code, where no revision has it; or elsewhere
    (home / "helper.py").write_text("FACTOR = 1.0\n")
    (home / "bench.py").write_text(
        "import helper, thing\n\nclass Cost:\n    def benchmark_it(self, report):\n"
        "        report('cost', thing.COST * helper.FACTOR, better='lower')\n"
    )
    monkeypatch.chdir(home)
    asked = ["ab", "bench.py", "--repo", str(project), "--control", "v1", "--treatment", "v2", "--metric", "cost"]
    code = main([*asked, "--pairs", "1", "--no-verify", "--no-save", "--json"])
    out, err = capsys.readouterr()
    assert '"control": 1.0' in out and '"treatment": 2.0' in out, out + err
    assert code == 0 and f"bench.py is read from {home / 'bench.py'} for every revision" in err
    assert err.count("making a working copy of") == 2 and "measuring 1 case, 1 pair at most" in err
    main([*asked, "--pairs", "1", "--no-verify", "--no-save", "--json"])
    assert "making a working copy" not in capsys.readouterr().err, "what is kept is not built"
