"""The older repository driver: control choice, builds, the files it keeps, and its exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchwright.compat.harness import driver_flags, repository
from benchwright.compat.harness.repository import choose_control, main, week_of
from benchwright.errors import BenchwrightError, OptionError, TargetError
from benchwright.events import nobody
from benchwright.vcs.history import Commit, open_repository

# Sunday to Thursday: the control of T is the first commit of its week.
DATES = {
    "A": "2018-03-11T23:59:00+00:00",
    "B": "2018-03-12T00:30:00+00:00",
    "C": "2018-03-14T12:00:00+00:00",
    "T": "2018-03-15T10:00:00+00:00",
}
BUILD = """
test -f "$1/broken" && exit 3
cat > "$2" <<END
#!/bin/sh
echo 'PyTorchObserver {"type":"NET","metric":"latency","unit":"us","value":"$(cat "$1/cost")"}'
END
echo "$1" >> "$BUILDS"
"""


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "Ada")
        monkeypatch.setenv(f"{name}_EMAIL", "ada@example.org")
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def _git(folder: Path, *arguments: str, at: str = "") -> str:
    dated = {"GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at} if at else {}
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, **dated})
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with the four commits, each tagged with its letter, and a script that builds them."""
    folder = tmp_path / "project"
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "master")
    for cost, (name, at) in enumerate(DATES.items(), start=100):
        (folder / "cost").write_text(f"{cost}\n")
        _git(folder, "add", ".")
        _git(folder, "commit", "-q", "-m", name, at=at)
        _git(folder, "tag", name)
    script = tmp_path / "frameworks" / "generic" / "build.sh"
    script.parent.mkdir(parents=True)
    script.write_text(BUILD)
    spec = {"identifier": "0", "metric": "delay", "iter": 1, "warmup": 0, "commands": ["{program}"]}
    whole = {"model": {"name": "net", "format": "f", "files": {}}, "tests": [spec]}
    (tmp_path / "spec.json").write_text(json.dumps(whole))
    return folder


def _drive(*more: str) -> int:
    needed = ["--framework", "generic", "--platform", "host", "--exec_dir", "builds", "--repo_dir", "project"]
    needed += ["--frameworks_dir", "frameworks", "--env", f"BUILDS={Path.cwd() / 'built'}"]
    needed += ["-b", "spec.json", "--model_cache", "models", "--local_reporter", "reports", "--cooldown", "0"]
    return main([*needed, *more], lambda: contextlib.nullcontext(nobody))


def _reported(project: Path) -> dict[str, list[dict[str, object]]]:
    """The meta data of every run, by the commit's letter."""
    tags = {_git(project, "rev-parse", name): name for name in _git(project, "tag").split()}
    found: dict[str, list[dict[str, object]]] = {}
    for file in sorted(Path("reports").glob("*/generic/net/delay/0/*/*/*/*/*/meta.txt")):
        found.setdefault(tags[file.parts[-3]], []).append(json.loads(file.read_text()))
    return found


@pytest.mark.parametrize(("base", "chosen"), [("", "B"), ("A", "B"), ("C", "C")])
def test_the_control_is_of_the_treatments_week(project: Path, base: str, chosen: str) -> None:
    repository = open_repository(project)
    found = choose_control(repository, repository.resolve("T"), base)
    assert found is not None and found.revision.subject == chosen


def test_the_control_in_a_mercurial_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)  # where pip puts hg
    monkeypatch.setenv("HGRCPATH", "")
    subprocess.run(["hg", "init"], check=True)
    for at in ("2018-03-11 23:59:59 +0000", "2018-03-12 00:00:00 +0000"):
        Path("file").write_text(at)
        subprocess.run(["hg", "commit", "--addremove", "--quiet", "-u", "Ada", "-m", at, "--date", at], check=True)
    repository = open_repository(tmp_path)
    found = choose_control(repository, repository.resolve("."))
    assert found is not None and found.revision.subject == "2018-03-12 00:00:00 +0000"


def test_a_week_begins_on_monday_in_utc() -> None:
    assert week_of("2018-03-15T10:00:00+00:00").isoformat() == "2018-03-12T00:00:00+00:00"
    assert week_of("2018-03-12T00:30:00+02:00").isoformat() == "2018-03-05T00:00:00+00:00"


def test_commits_are_built_once_measured_in_order_and_remembered(project: Path, tmp_path: Path) -> None:
    commit_file = tmp_path / "finished"
    ids = [_git(project, "rev-parse", name) for name in DATES]
    commit_file.write_text(ids[1])
    assert _drive("--regression", "--commit_file", str(commit_file)) == 0
    reported = _reported(project)
    assert {name: len(runs) for name, runs in reported.items()} == {"C": 1, "T": 1}
    assert {runs[0]["control_commit"] for runs in reported.values()} == {ids[1]}
    assert commit_file.read_text().strip() == ids[3]
    place = Path("builds/generic/host/2018/3/15") / ids[3] / "generic_benchmark"
    assert place.is_file()
    assert len(Path("built").read_text().splitlines()) == 3  # the control of both is one
    assert _git(project, "status", "--porcelain") == "" and _git(project, "worktree", "list").count("\n") == 0
    assert _drive("--regression", "--commit_file", str(commit_file)) == 0  # nothing is left
    assert {name: len(runs) for name, runs in _reported(project).items()} == {"C": 1, "T": 1}


def test_each_commit_is_taken_once_and_a_rewritten_branch_is_followed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[str] = []
    looks = iter(range(30))  # more than are needed, and not for ever

    def commit(name: str) -> None:
        _git(project, "commit", "-q", "--allow-empty", "-m", name)

    def platform(self: repository._Driver, name: str, found: Commit) -> int:
        taken.append(found.revision.subject)
        if taken[-1] == "T":
            commit("next")
        elif taken[-1] == "next":
            _git(project, "reset", "-q", "--hard", "C")
            commit("other")
            commit("newest")
        return 0

    monkeypatch.setattr(repository._Driver, "_handle_platform", platform)
    monkeypatch.setattr(repository.interface, "is_told_to_stop", lambda file: next(looks, None) is None)  # type: ignore[attr-defined]
    assert _drive("--ab_testing", "--interval", "0") == 0
    assert taken == ["T", "next", "other", "newest"]
    assert "is not part of master any more" in capsys.readouterr().err


def test_a_commit_that_cannot_be_built_is_passed_over_and_shows(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "broken").write_text("")
    _git(project, "add", ".")
    _git(project, "commit", "-q", "-m", "Broken", at="2018-03-15T11:00:00+00:00")
    _git(project, "rm", "-q", "broken")
    _git(project, "commit", "-q", "-m", "Mended", at="2018-03-15T12:00:00+00:00")
    _git(project, "tag", "mended")
    commit_file = tmp_path / "finished"
    commit_file.write_text("corrupt")  # so the first commit is the one that --commit names
    assert _drive("--ab_testing", "--commit", "T", "--step", "1", "--commit_file", str(commit_file)) == 1
    assert {*_reported(project)} == {"T", "mended"}
    said = capsys.readouterr().err
    assert "names no commit ('corrupt'): beginning at T" in said and "exit code 3" in said
    assert commit_file.read_text().strip() == _git(project, "rev-parse", "mended")


def test_without_more_the_working_copy_is_measured_as_it_is(project: Path) -> None:
    (project / "cost").write_text("77\n")
    for _ in range(2):
        assert _drive() == 0
    assert [len(runs) for runs in _reported(project).values()] == [2]
    assert len(Path("built").read_text().splitlines()) == 2  # built each time
    (entry,) = Path("reports").glob("**/0/NET-latency.txt")
    assert json.loads(entry.read_text())["values"] == [77]


def test_a_failing_program_exits_with_one_and_a_status_file_stops(project: Path, tmp_path: Path) -> None:
    Path("status").write_text("0")
    assert _drive("--ab_testing", "--status_file", "status", "--interval", "60") == 0
    assert not Path("reports").exists()
    script = tmp_path / "frameworks" / "generic" / "build.sh"
    script.write_text('printf "#!/bin/sh\\nexit 1\\n" > "$2"\n')
    assert _drive() == 1


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["--framework", "x"], OptionError, "required"),
        (["--platforms", "../x"], OptionError, "names no platform"),
        (["--step", "0"], OptionError, "--step"),
        (["--interval", "soon"], OptionError, "not a number"),
        (["--repo", "hg"], TargetError, "is a git repository"),
        (["--frameworks_dir", "nowhere"], TargetError, "build.sh"),
        (["--nonsense", "1"], OptionError, "unknown"),
    ],
)
def test_a_wrong_request(project: Path, words: Sequence[str], error: type[Exception], message: str) -> None:
    if words[0] == "--framework":
        with pytest.raises(error, match=message):
            main(words, lambda: contextlib.nullcontext(nobody))
        return
    with pytest.raises(error, match=message):
        _drive(*words)


def test_unknown_flags_go_to_the_harness_and_platforms_may_be_abbreviated() -> None:
    words = ["--framework", "f", "--platform", "android/clang,host", "--exec_dir", "e", "--repo_dir", "r"]
    flags = driver_flags.parse([*words, "-b", "s.json", "--screen_reporter", "--env", "A=1 B='x y'"])
    assert flags.platforms == ("android/clang", "host")
    assert flags.rest == ("-b", "s.json", "--screen_reporter")
    assert flags.env == {"A": "1", "B": "x y"}
    assert flags.single and not driver_flags.parse([*words, "--interval", "5"]).single


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--no_such_flag",), "no_such_flag"),
        (("-b", "missing.json"), "missing.json"),
        (("--framework", "generics"), "generics"),
        (("--platforms", "host,ios"), "ios"),
        (("--local_reporter", "spec.json"), "is a file"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_built(more: tuple[str, ...], said: str) -> None:
    with pytest.raises(BenchwrightError, match=said):
        _drive(*more)
    assert not Path("built").exists() and not Path("builds").exists()
