"""asv projects from the outside: run, list, ab and watch of a real repository."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import asv_project
import repositories
from benchwright.records import Run, Status
from benchwright.store import open_store

plain = repositories.plain
pytestmark = pytest.mark.usefixtures("plain")
Inside = Callable[..., subprocess.CompletedProcess[str]]
HERE = ("--environment", "here")
QUICK = ("--duration", "0.01", "--warmup", "0", "--rounds", "1")


def _last_run(folder: Path) -> Run:
    with closing(open_store(str(folder / ".benchwright" / "results.db"))) as store:
        return store.run(store.find("last"))


def _values(run: Run, metric: str) -> dict[str, float]:
    found = {result.case.name: result.metric(metric) for result in run.results}
    return {name: one.estimate.point for name, one in found.items() if one is not None}


def test_a_project_is_built_and_its_suite_is_run_in_every_environment(inside: Inside, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (commit,) = asv_project.make(
        folder,
        [7.0],
        pythons=["3.2", "pypy3.9", "3.11"],
        matrix={"env_nobuild": {"MODE": ["a", "b"]}},
        exclude=[{"env_nobuild": {"MODE": "b"}}],
    )
    (folder / "counted" / "__init__.py").write_text("COST = 99  # not committed\n")
    ran = inside("run", "asv.conf.json", *QUICK, cwd=folder)
    assert ran.returncode == 1, ran.stderr  # one benchmark fails
    assert "left out: Python 3.2 is older than 3.11" in ran.stderr
    assert "'pypy3.9' is not a version of CPython" in ran.stderr
    assert "changes that are not committed are not measured" in ran.stderr
    run = _last_run(folder)
    assert run.revision is not None and (run.revision.id, run.revision.branch) == (commit, "main")
    assert {result.case.params["environment"] for result in run.results} == {"virtualenv-py3.11-MODEa"}
    ends = {
        (result.case.name, result.case.params.get("n"), result.case.params.get("kind")): result
        for result in run.results
    }
    bad = {key: (str(end.status), end.error.kind) for key, end in ends.items() if end.error is not None}
    floats = (10, "<class 'float'>")
    expected: dict[Any, Any] = {
        ("suite.time_fails", None, None): ("failed", "ValueError"),
        ("suite.time_skips", None, None): ("skipped", "SkipNotImplemented"),
        **{
            (f"suite.Lists.{name}", *floats): ("skipped", "skipped")
            for name in ("time_pop", "mem_list", "track_written")
        },
    }
    assert bad == expected
    failed = ends["suite.time_fails", None, None]
    assert failed.error is not None and "before it fails" in failed.error.log_tail
    assert ("suite.Lists.track_written", 10, "<class 'int'>") not in ends  # skip_for_params
    assert _values(run, "value")["suite.track_cost"] == pytest.approx(7.0, rel=0.05)
    assert _values(run, "value")["suite.Lists.track_written"] == 1  # computed once for all
    assert _values(run, "memory")["suite.Lists.mem_list"] > 8000
    assert {*_values(run, "latency_p50")} == {
        *("suite.time_nothing", "suite.Lists.time_pop", "suite.timeraw_pass", "other.time_with_a_name")
    }
    assert _values(run, "peak_memory")["suite.peakmem_bytes"] > 1e6
    # The measured number is judged, not how long it took.
    cost = ends["suite.track_cost", None, None].metric("wall_time")
    assert cost is not None and cost.better is None


@pytest.mark.soak
def test_rounds_are_the_benchmarks_own_unless_somebody_says_how_many(inside: Inside, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0])
    again = ("--environment", "here", "--duration", "0.01", "--warmup", "0", "--json")
    inside("run", "asv.conf.json::a_name|nothing|track_cost", *again, cwd=folder)
    counts: dict[str, int] = {}
    run = _last_run(folder)
    for result in run.results:
        counts[result.case.name] = counts.get(result.case.name, 0) + 1
    assert counts == {"suite.time_nothing": 5, "other.time_with_a_name": 2, "suite.track_cost": 1}
    assert run.planned == len(run.results)
    inside("run", "asv.conf.json::a_name", *again, "--rounds", "3", cwd=folder)
    assert len(_last_run(folder).results) == 3


def test_the_working_copy_is_measured_as_it_is(inside: Inside, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0], environment_type="existing")
    (folder / "counted" / "__init__.py").write_text("COST = 99\n")
    ran = inside("run", "asv.conf.json::track_cost", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert _values(_last_run(folder), "value")["suite.track_cost"] == pytest.approx(99, rel=0.05)
    asv_project.write_config(folder, {"pythons": ["3.2"]})  # in which nothing can be built
    listed = inside("list", "asv.conf.json", "--environment", "here", "--json", cwd=folder)
    names = [row["name"] for row in json.loads(listed.stdout)["data"]]
    assert names[0] == "suite.time_nothing" and "suite.time_never" not in names
    narrowed = inside(
        "run",
        "asv.conf.json::mem_list",
        "--param",
        "n=3",
        "--param",
        "kind=<class 'int'>",
        "--no-save",
        *HERE,
        cwd=folder,
    )
    assert narrowed.returncode == 0 and narrowed.stdout.count("mem_list") == 1, narrowed.stdout


def test_what_is_measured_as_it_is_needs_no_repository(inside: Inside, tmp_path: Path) -> None:
    """An unpacked sdist has none, and its file may name an address."""
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0])
    shutil.rmtree(folder / ".git")
    for repo in ("http://127.0.0.1:9/project", "."):
        asv_project.write_config(folder, {"repo": repo})
        refused = inside("list", "asv.conf.json", cwd=folder)
        assert refused.returncode == 2 and "--environment here measures" in refused.stderr, refused.stderr
        listed = inside("list", "asv.conf.json", *HERE, cwd=folder)
        assert listed.returncode == 0 and "suite.track_cost" in listed.stdout, listed.stderr
    ran = inside("run", "asv.conf.json::track_cost", "--rounds", "1", *HERE, cwd=folder)
    assert ran.returncode == 0 and _last_run(folder).results[0].revision is None, ran.stderr


@pytest.mark.soak
def test_a_watch_finds_the_commit_behind_a_slowdown(inside: Inside, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    commits = asv_project.make(folder, [1.0] * 9 + [1.3] * 6)
    flags = ("--once", "--since", commits[0], "--environment", "here", "--pairs", "0")
    watched = inside("watch", "asv.conf.json::track_cost", *flags, "--json", cwd=folder)
    assert watched.returncode == 1, watched.stderr
    found = [finding for line in watched.stdout.splitlines() for finding in json.loads(line)["data"]["findings"]]
    assert [(one["case"], one["metric"], one["verdict"]) for one in found] == [("suite.track_cost", "value", "worse")]
    assert found[0]["suspects"][0]["revision"] == commits[9]


@pytest.mark.soak
def test_two_revisions_are_compared_and_a_build_that_fails_is_told(inside: Inside, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    old, new = asv_project.make(folder, [1.0, 1.5], pythons=["3.11"])
    sides = ("--control", old, "--treatment", new, "--pairs", "6", "--no-verify", "--smallest", "5%", "--json")
    compared = inside("ab", "asv.conf.json::track_cost", *sides, cwd=folder)
    assert compared.returncode == 1, compared.stderr
    (row,) = json.loads(compared.stdout)["data"]["rows"]
    assert (row["name"], row["verdict"]) == ("suite.track_cost", "worse")
    asv_project.write_config(folder, {"pythons": ["3.11"], "install_command": ["python -c 'raise SystemExit(3)'"]})
    failed = inside("run", "asv.conf.json", cwd=folder)
    assert failed.returncode == 2 and "ended with exit code" in failed.stderr


def test_an_environment_that_is_not_built_leaves_failed_results_and_the_others_are_measured(
    inside: Inside, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    only_a = f"{asv_project.INSTALL[:-1]}; import os; os.environ['MODE'] == 'a' or exit(3)\""
    asv_project.make(folder, [2.0], matrix={"env": {"MODE": ["b", "a"]}}, install_command=[only_a])
    ran = inside("run", "asv.conf.json::track_cost", cwd=folder)
    assert ran.returncode == 1
    ends = {str(result.case.params["environment"])[-1]: result for result in _last_run(folder).results}
    assert (ends["a"].status, ends["b"].status) == (Status.OK, Status.FAILED)
    assert ends["b"].error is not None and "exit code 3" in ends["b"].error.message
    # Whoever asks again has it built again; one environment can be asked for.
    again = inside("run", "asv.conf.json::track_cost", cwd=folder)
    assert "building" in again.stderr and "MODEb" in again.stderr and "earlier" not in again.stderr
    name = str(ends["a"].case.params["environment"])
    alone = inside("run", "asv.conf.json::track_cost", "--param", f"environment={name}", cwd=folder)
    assert alone.returncode == 0 and len(_last_run(folder).results) == 1, alone.stderr
    wrong = inside("run", "asv.conf.json::track_cost", "--param", "environment=conda", cwd=folder)
    assert wrong.returncode == 2 and "there is no environment 'conda'" in wrong.stderr and name in wrong.stderr


def test_a_commit_that_cannot_be_built_or_imported_is_a_record_and_the_watch_goes_on(
    inside: Inside, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    suite = "from counted import COST\ndef track_cost():\n    return COST\n"
    first = asv_project.make(folder, [1.0, 1.5], suite=suite)[0]
    (folder / "counted" / "__init__.py").write_text("raise RuntimeError('in between')")
    asv_project.run_git(folder, "commit", "-q", "-a", "-m", "Break the import")
    broken = ["python -c \"import sys; sys.exit('17' in open('counted/__init__.py').read())\"", asv_project.INSTALL]
    asv_project.write_config(folder, {"install_command": broken})
    asv_project.commit(folder, 17.0, 2)
    asv_project.commit(folder, 2.0, 3)
    watched = inside("watch", "asv.conf.json", "--once", "--since", first, "--pairs", "0", "--rounds", "1", cwd=folder)
    assert [line.split()[1] for line in watched.stdout.splitlines() if line[:12].isalnum()] == [
        "measured",
        "unplanned",
        "unbuilt",
        "measured",
    ], watched.stdout + watched.stderr
    told = inside("history", "suite.track_cost", cwd=folder).stdout
    assert "in between" in told and "ended with exit code 1" in told
    assert "track_cost environment=virtualenv-py3.11 value" in told  # what it tracks, although no direction is told


def test_here_means_what_is_importable_here(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0], suite="import only_here\ndef track_it():\n    return only_here.VALUE\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "only_here.py").write_text("VALUE = 7\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    ran = inside("run", "asv.conf.json", *HERE, "--rounds", "1", cwd=folder)
    assert ran.returncode == 0 and _values(_last_run(folder), "value") == {"suite.track_it": 7.0}, ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "asv.conf.json", "other.py"), "is measured alone"),
        (("run", "asv.conf.json", "--rate", "5"), "--rate does not apply"),
        (("run", "asv.conf.json", "--fork"), "--fork does not apply"),
        (("run", "asv.conf.json::nowhere"), "matches none of"),
        (("run", "asv.conf.json::(", "--rounds", "1"), "not a regular expression"),
        (("ab", "asv.conf.json", "--build", "make"), "--build does not apply"),
        (("ab", "asv.conf.json", "--treatment-dir", "."), "revisions are compared"),
        (("run", "asv.conf.json", "--param", "environment=py3.12"), "py3.12 is not built: this Python measures"),
        (("run", "missing.asv.conf.json"), "there is no file"),
        (("list", "other.py", *HERE), "--environment is of asv projects"),
    ],
)
def test_what_a_project_does_not_take_is_refused(
    inside: Inside, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0], environment_type="existing")
    refused = inside(*arguments, cwd=folder)
    assert refused.returncode == 2 and said in refused.stderr, refused.stderr


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"benchmark_dir": "bench"}, "there is no benchmark folder"),
        ({"repo": "../nowhere"}, "there is no repository"),
        ({"repo": "http://host/x", "dvcs": "hg"}, "cloned with git alone"),
        ({"pythons": ["3.2"]}, "no environment can be made"),
        ({"branches": ["trunk"]}, 'asv.conf.json: "branches" begins with trunk, and'),
        ({"install_timeout": 1e-3}, 'give more seconds as "install_timeout" in asv.conf.json'),
    ],
)
def test_a_project_that_cannot_be_measured_says_why(
    inside: Inside, tmp_path: Path, keys: dict[str, Any], said: str
) -> None:
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0], **keys)
    refused = inside("run", "asv.conf.json", cwd=folder)
    assert refused.returncode == 2 and said in refused.stderr, refused.stderr


@pytest.mark.soak
@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"environment_type": "rattler"}, False),
        ({"environment_type": "rattler", "matrix": {"req": {"pip+numpy": [""]}}}, False),
        ({"environment_type": "conda", "matrix": {"req": {"numpy": [""]}}}, True),
        ({"environment_type": "uv", "matrix": {"req": {"numpy": [""]}}}, False),
    ],
)
def test_another_source_of_packages_is_told_where_there_are_packages(
    inside: Inside, tmp_path: Path, keys: dict[str, Any], told: bool
) -> None:
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0], pythons=["3.2"], **keys)
    noted = inside("run", "asv.conf.json", cwd=folder).stderr
    assert ("packages of the matrix come from pip, not from conda" in noted) is told
    assert keys["environment_type"] not in inside("list", "asv.conf.json", *HERE, cwd=folder).stderr


@pytest.mark.soak
def test_a_bare_repository_is_cloned_and_its_branch_is_followed(inside: Inside, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    asv_project.make(folder, [1.0], repo="../project.git")
    subprocess.run(["git", "clone", "-q", "--bare", folder, tmp_path / "project.git"], check=True)
    first = inside("run", "asv.conf.json::track_cost", cwd=folder)
    assert first.returncode == 0 and "measuring a clone of project" in first.stderr, first.stderr
    newer = asv_project.commit(folder, 3.0, 1)
    asv_project.run_git(folder, "push", "-q", "../project.git", "main")
    inside("run", "asv.conf.json::track_cost", cwd=folder)
    run = _last_run(folder)
    assert run.revision is not None and run.revision.id == newer
    assert _values(run, "value")["suite.track_cost"] == pytest.approx(3.0, rel=0.05)
