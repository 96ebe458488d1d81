"""`benchwright bisect` as a process, on a range of three commits whose figures a file decides."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.records import Better, Estimate, Revision
from benchwright.records.bisections import Bisected, ComparedPair, Culprit, Passed
from benchwright.records.findings import Suspect
from benchwright.report.bisection import bisected_json, bisected_text, headline, write_bisected
from benchwright.workflows.bisect.run import MeasuredBisection

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "Ada")
        monkeypatch.setenv(f"{name}_EMAIL", "ada@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    commands = [["init", "-q", "-b", "main"]]
    for number in range(2):
        commands += [["add", "."], ["commit", "-q", "-m", f"change {number}"], ["tag", f"c{number}"]]
    for arguments in commands:
        if arguments[0] == "add":
            count = len(list((folder / ".git" / "refs" / "tags").iterdir()))
            text = f"import time\n\n\ndef work():\n    time.sleep({1 + 3 * count}e-3)\n"
            (folder / "bench.py").write_text(text)
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.soak
def test_the_culprit_is_told_as_json_and_an_earlier_run_as_text(repository: Path, inside: Call) -> None:
    flags = ["--good", "c0", "--bad", "c1", "bench.py::work", "--duration", "0.05", "--warmup", "0"]
    done = inside("bisect", *flags, "--json", cwd=repository)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["kind"] == "bisection"
    told = document["data"]
    assert told["sure"] and [each["subject"] for each in told["culprits"]] == ["change 1"]
    assert "making" in done.stderr
    again = inside("bisect", *flags, cwd=repository)
    assert again.returncode == 0, again.stderr
    assert f"{told['culprits'][0]['revision'][:12]} (change 1, Ada) changed latency_p50 by +" in again.stdout
    assert f"{told['runs']} runs, {told['runs']} of them from before" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--good", "c0", "bench.py::work"], "there is no range to bisect"),
        (["--good", "c0", "--bad", "c1", "bench.py::work", "-o", "x.txt"], "not a picture file"),
        (["f123"], "results.db"),
    ],
)
def test_a_wrong_request_exits_with_2(arguments: list[str], said: str, repository: Path, inside: Call) -> None:
    done = inside("bisect", *arguments, cwd=repository)
    assert done.returncode == 2 and said in done.stderr
    assert "Traceback" not in done.stderr and not (repository / ".benchwright").exists()


# ---- the words and the picture ----


def _bisected(**known: object) -> Bisected:
    revision = Revision(vcs="git", id="0" * 40)
    commits = [
        Suspect(revision=f"{i}" * 40, probability=p, subject=f"change {i}") for i, p in enumerate((0.01, 0.9, 0.04))
    ]
    told: dict[str, object] = {
        "id": "r1",
        "case": "work",
        "metric": "latency_p50",
        "unit": "s",
        "better": Better.LOWER,
        "good": revision,
        "bad": revision,
        "commits": tuple(commits),
        "culprits": (commits[1],),
        "probability": 0.9,
        "nothing": 0.05,
        "effect": Estimate(point=1.1, low=1.08, high=1.12),
        "noise": 0.02,
        "confidence": 0.98,
        "why": "200 runs are not enough to name a commit",
        "whole": Estimate(point=1.35, low=1.22, high=1.49),
        "pairs": tuple(ComparedPair(revision=each.revision, ratio=1.1, run="r1") for each in commits),
        "runs": 6,
    }
    return Bisected(**{**told, **known})  # type: ignore[arg-type]


def test_what_is_not_sure_is_not_called_so() -> None:
    found = _bisected()
    assert headline(found) == (
        "111111111111 (change 1) may have changed latency_p50 by +10.0 % [+8.0, +12.0], "
        "but that is only 90 % sure: 200 runs are not enough to name a commit. "
        "The bad end differs from the good one by +35.0 % [+22.0, +49.0]."
    )
    text = bisected_text(found)
    assert "a larger --most-runs goes on from here" in text
    assert "probably one of the 2 commits from 000000000000 to 111111111111" in text
    assert json.loads(bisected_json(found))["data"]["sure"] is False


def test_what_python_returns_prints_and_shows_itself_and_is_a_frame(capsys: pytest.CaptureFixture[str]) -> None:
    record = _bisected(passed=(Passed(revision="0" * 40, why="it <does> not build"),))
    found = MeasuredBisection(**{each.name: getattr(record, each.name) for each in dataclasses.fields(record)})
    found.print()
    assert capsys.readouterr().out == f"{found}\n" == f"{bisected_text(record)}\n"
    assert repr(found) == f"<MeasuredBisection {record.id}: {len(record.commits)} commits>"
    html = found._repr_html_()
    assert "may have changed latency_p50" in html and "<td>111111111111</td>" in html and "it &lt;does&gt; not" in html
    frame = found.to_pandas()
    assert frame["revision"].to_list() == [each.revision for each in record.commits]
    assert frame["culprit"].to_list() == [each in record.culprits for each in record.commits]
    assert frame["probability"].to_list() == [each.probability for each in record.commits]
    assert frame["passed"].to_list()[0] == "it <does> not build"


def test_nobody_is_guessed_where_the_ends_may_be_alike() -> None:
    found = _bisected(probability=0.09, effect=None, whole=Estimate(point=0.99, low=0.93, high=1.04))
    assert headline(found) == (
        "No culprit: 200 runs are not enough to name a commit. "
        "The bad end differs from the good one by -1.0 % [-7.0, +4.0], which may be nothing."
    )


def test_commits_that_cannot_be_told_apart_are_named_together() -> None:
    found = _bisected(
        probability=0.99, culprits=_bisected().commits[:2], passed=(Passed(revision="0" * 40, why="does not build"),)
    )
    text = bisected_text(found)
    assert text.startswith("One of 000000000000 (change 0), 111111111111 (change 1) changed latency_p50")
    assert "Nothing that can be measured tells these commits apart." in text
    assert "Passed over 000000000000: does not build" in text and "(not measurable)" in text


def test_the_size_is_the_commits_own_and_the_rest_is_said() -> None:
    rest = Estimate(point=1.16, low=1.02, high=1.33)
    found = _bisected(probability=0.995, effect=Estimate(point=1.16, low=1.10, high=1.22), elsewhere=rest)
    assert headline(found) == (
        "111111111111 (change 1) changed latency_p50 by +16.0 % [+10.0, +22.0] against its parent: 99.5 % sure. "
        "The bad end differs from the good one by +35.0 % [+22.0, +49.0]; +16.0 % [+2.0, +33.0] of it lies elsewhere."
    )
    assert "alving" not in bisected_text(found) and "--all goes on from here" in bisected_text(found)
    second = Culprit(commits=found.commits[2:], probability=0.99, parent="1" * 40, effect=rest)
    assert "222222222222 (change 2) changed it by +16.0 % [+2.0, +33.0]: 99 % sure." in headline(
        dataclasses.replace(found, further=(second,))
    )


def test_a_commit_whose_parent_is_as_slow_is_not_named() -> None:
    assert not _bisected(probability=0.999, effect=Estimate(point=1.02, low=0.97, high=1.08)).sure
    assert not _bisected(probability=0.999, effect=None).sure


def test_where_nothing_changed_nobody_is_blamed() -> None:
    found = _bisected(culprits=(), nothing=0.99, why="nothing changed in this range")
    assert bisected_text(found).startswith("No culprit: nothing changed in this range.\n")
    assert "older --good" in bisected_text(found)


def test_every_line_of_the_plot_adds_up_and_none_claims_certainty() -> None:
    lines = bisected_text(_bisected(probability=1.0, nothing=0.0)).split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == ["111111111111", "222222222222", "1", "no"]
    assert "others" in lines[2] and " 1 %" in lines[2] and "below 0.1 %" in lines[-1]
    assert "99.99 % sure" in headline(_bisected(probability=1.0))


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    path = write_bisected(_bisected(passed=(Passed(revision="0" * 40, why="no"),)), tmp_path / "b.svg")
    assert path.read_text(encoding="utf-8").count("<g id=") > 10
