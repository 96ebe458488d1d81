"""`benchwright findings` and `benchwright check`: one life of a finding, and what each of a gate's readers gets."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.cli import main
from benchwright.records import Estimate, Verdict
from benchwright.store import open_store
from forge_peer import TOKEN, ForgePeer
from http_peer import Peer, serving_peer

Benchwright = Callable[..., subprocess.CompletedProcess[str]]
Call = Callable[..., str]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A series that became 12 % slower."""
    path = tmp_path / "results.db"
    store = open_store(path)
    made.fill(store, made.levels((0.010, 20), (0.0112, 15)))
    store.close()
    return path


@pytest.fixture
def call(results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call("findings", "show", "3f", code=2)`: the command line on `results`, in this process; what it printed."""
    monkeypatch.setenv("BENCHWRIGHT_STORE", str(results))
    monkeypatch.setenv("BENCHWRIGHT_USER", "ada")

    def run(*words: str, code: int = 0) -> str:
        found = main(words)
        printed = capsys.readouterr()
        assert found == code, printed.err
        return printed.err if code == 2 else printed.out

    return run


def test_the_life_of_a_finding(call: Call) -> None:
    assert call("findings") == "no findings; benchwright findings judge looks for some\n"
    (found,) = json.loads(call("findings", "judge", "--json", code=1))["data"]["findings"]
    name = found["id"]
    assert call("findings").startswith(f"{name}  worse  bench.py::encode batch_size=8  latency_p50 ")
    assert call("findings", "acknowledge", name[:6], "--comment", "looking") == f"{name}: acknowledged\n"
    assert call("findings", "assign", name, "bob") == f"{name}: assigned to bob\n"
    shown = call("findings", "show", name)
    assert "^ run run-0020" in shown and "acknowledged: looking" in shown and "assigned: to bob" in shown
    call("findings", "resolve", name)
    assert call("findings").startswith("no findings")
    (kept,) = json.loads(call("findings", "--state", "resolved", "--json"))["data"]["findings"]
    assert (kept["assignee"], [remark["who"] for remark in kept["remarks"]]) == ("bob", ["benchwright", *["ada"] * 3])


def test_one_bad_commit_is_one_entry_and_dealt_with_as_one(call: Call, results: Path) -> None:
    (first,) = json.loads(call("findings", "judge", "--json", code=1))["data"]["findings"]
    store = open_store(results)
    model, cause = store.finding(first["id"]), first["cause"]
    for number in range(24):
        twin = replace(model, id=f"twin{number:02}", series=f"series {number}", params="", case=f"case{number:02}")
        store.keep_finding(twin)
    better = Estimate(point=0.9, low=0.89, high=0.91)
    store.keep_finding(replace(model, id="better", series="b", verdict=Verdict.BETTER, effect=better))
    listed = call("findings")
    assert listed.startswith(f"{cause}  worse  26 series of 25 cases, latency_p50: up to 12.1 % slower, median 12.1 %")
    assert "; 25 worse, 1 better\n" in listed
    assert "commit 0020c0ffee Change 20 (Ada), 99.99 % sure · largest: bench.py::encode batch_size=8" in listed
    assert listed.endswith("1 cause, 26 findings; each of them: benchwright findings --each\n")
    assert len(call("findings", "--each").splitlines()) == 52 == len(call("findings", "--cause", cause).splitlines())
    told = json.loads(call("findings", "--json"))["data"]
    assert len(told["findings"]) == 26 and [(one["id"], one["worse"]) for one in told["causes"]] == [(cause, 25)]
    shown = call("findings", "show", cause[:9])
    assert "and 6 more: benchwright findings --cause" in shown and "one alone: benchwright findings show" in shown
    assert call("findings", "--only", "verdict=better").startswith("better  better  ")
    assert f"{cause}  worse  25 series" in call("findings", "--only", "verdict=worse", "--only", "metric=latency_p50")
    narrowed = call("findings", "acknowledge", cause, "--only", "verdict=better", "--only", "metric=latency_p50")
    assert narrowed == f"{cause}: 1 finding acknowledged\n"
    assert call("findings", "ignore", cause, "--only", "metric=none") == f"{cause}: 0 findings ignored\n"
    assert "findings are not chosen by 'machin=x'" in call("findings", "--only", "machin=x", code=2)
    assert call("findings", "reopen", cause) == f"{cause}: 1 finding open\n"
    assert call("findings", "acknowledge", cause, "--comment", "looking") == f"{cause}: 26 findings acknowledged\n"
    assert call("findings", "assign", cause, "bob") == f"{cause}: 26 findings assigned to bob\n"
    assert [line.text for line in store.finding("twin07").remarks[-2:]] == ["looking", "to bob"]
    apart = call("findings", "split", "twin01", "twin02", "--comment", "another")
    name = store.finding("twin01").cause
    assert apart == f"twin01: now of {name}\ntwin02: now of {name}\n" and name != cause
    assert call("findings", "resolve", name, "twin03") == f"{name}: 2 findings resolved\ntwin03: resolved\n"
    assert len(call("findings", "join", cause, name).splitlines()) == 2 and store.finding("twin02").cause == cause
    assert call("findings", "join", cause, "twin02") == "nothing changed\n"
    assert "no cause 'cause-none'" in call("findings", "show", "cause-none", code=2)
    store.close()


def test_rules_are_kept_and_obeyed(call: Call) -> None:
    call("findings", "threshold", "bench.py::*", "20%")
    call("findings", "mute", "other", "--reason", "noisy")
    assert call("findings", "judge") == "nothing new\n"
    told = json.loads(call("findings", "rules", "--json"))["data"]
    assert told["thresholds"] == [{"case": "bench.py::*", "smallest": 0.2, "metric": ""}]
    assert [(mute["what"], mute["who"], mute["reason"]) for mute in told["mutes"]] == [("other", "ada", "noisy")]
    assert "muted  other  ada" in call("findings", "rules")
    assert "there was no threshold" in call("findings", "threshold", "x", "none")
    assert call("findings", "mute", "other", "--off") == "other: no longer muted\n"


def test_a_rule_is_shown_before_it_is_made(call: Call) -> None:
    (found,) = json.loads(call("findings", "judge", "--json", code=1))["data"]["findings"]
    shown = call("findings", "mute", "bench.py::*", "--preview")
    assert shown.startswith("In the last 90 days people were told of 1 change. This would have silenced all of them.")
    assert f"  {found['id']}  worse  +12" in shown
    assert "this would have told of 1." in call("findings", "threshold", "bench.py::*", "5%", "--preview")
    assert "this would have told of 0." in call("findings", "threshold", "bench.py::*", "20%", "--preview")
    assert "bench.py" not in call("findings", "rules")
    assert "was not kept" in call("findings", "threshold", "x", "none", "--preview", code=2)
    assert "was not kept" in call("findings", "mute", "x", "--off", "--preview", code=2)


def test_a_gate_tells_every_reader_in_its_own_way(inside: Benchwright, results: Path, tmp_path: Path) -> None:
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    ended = inside(
        *("check", "last", "--against", "run-0010", "--fail-on", "worse>2%", "--fail-on", "failed"),
        *("--markdown", "--github", "--junit", str(junit), "--store", str(results)),
        env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.startswith("**failed: 3 problems; run run-0034 against run-0010")
    assert "\n::error title=benchwright%3A bench.py%3A%3Aencode" in ended.stdout
    assert summary.read_text().startswith("**failed: 3 problems")
    assert ElementTree.parse(junit).getroot().get("failures") == "3"
    passed = inside("check", "--against", "history", "--json", "--store", str(results))
    assert passed.returncode == 0, passed.stderr
    assert json.loads(passed.stdout)["data"]["ok"] is True


def test_two_files_need_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("old", 0.01), ("new", 0.02)):
        run = made.run_of(1 if name == "old" else 2, seconds)
        (tmp_path / f"{name}.json").write_text(schema.dumps(run))
    assert main(["check", "new.json", "--against", "old.json", "--fail-on", "worse"]) == 1
    assert "latency_p50 worse: 2 times as long  [worse]" in capsys.readouterr().out
    assert not (tmp_path / ".benchwright").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check"], "Missing option '--against'"),
        (["check", "--against", "run-0001", "--fail-on", "wrose"], "did you mean 'worse'?"),
        (["check", "--against", "nothing"], "'nothing' is not a run, tag or commit of this store"),
        (["findings", "show", "nothing"], "no finding 'nothing' in this store"),
        (["findings", "threshold", "x", "5ms"], "is not a percentage"),
    ],
)
def test_a_wrong_request_is_code_2(call: Call, words: list[str], says: str) -> None:
    assert says in call(*words, code=2)


def test_a_run_on_a_topic_branch_is_not_judged_and_that_is_said(inside: Benchwright, tmp_path: Path) -> None:
    place = tmp_path / "results.db"
    with closing(open_store(place)) as store:
        for i, branch in enumerate(["main", "main", "topic"]):
            run = made.run_of(i, 0.010)
            assert run.revision is not None
            store.add_run(replace(run, revision=replace(run.revision, branch=branch)))
    ended = inside("findings", "judge", "--store", str(place))
    assert (ended.returncode, ended.stdout) == (0, "nothing new\n")
    assert "run-0002 is on the branch topic, and the main line alone is judged" in ended.stderr
    assert inside("findings", "judge", "run-0001", "--store", str(place)).stderr == ""


def test_everything_that_arrived_is_judged_without_a_run_being_named(
    tmp_path: Path, inside: Benchwright, benchwright: Benchwright
) -> None:
    history = made.levels((0.010, 45), (0.0114, 15))  # 14 % slower, fifteen runs ago
    lines = "".join(f"{schema.dumps(made.run_of(i, value))}\n" for i, value in enumerate(history))
    (tmp_path / "history.jsonl").write_text(lines)
    (tmp_path / "benchwright.toml").write_text('[notify]\ntargets = ["webhook+http://127.0.0.1:9/hook"]\n')
    assert inside("import", "history.jsonl").returncode == 0
    ended = benchwright("findings", "judge", "--all", "--json")
    assert ended.returncode == 1
    (found,) = json.loads(ended.stdout)["data"]["findings"]
    assert (found["run"], round(found["effect"]["point"], 2)) == ("run-0045", 1.14)
    assert "nobody is told of 1 finding in runs that are older than 14 days" in ended.stderr
    again = inside("findings", "judge", "--all")
    assert (again.returncode, again.stdout) == (0, "nothing new\n")
    once_more = inside("findings", "judge", "--all", "--anew", "--no-notify")
    assert (once_more.returncode, once_more.stdout, once_more.stderr) == (0, "nothing new\n", "")
    with closing(open_store(tmp_path / ".benchwright" / "results.db")) as store:
        assert store.judging().judged == 240  # type: ignore[attr-defined]
        store.add_run(made.run_of(60, 0.0114))
        assert inside("findings", "judge").stdout == "nothing new\n"
        assert store.judging().waiting == 0  # type: ignore[attr-defined]
        with store.hold_judging():  # type: ignore[attr-defined]
            busy = inside("findings", "judge", "--all")
        assert busy.returncode == 2 and "another process judges" in busy.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("last", "--all"), "leave out the run"),
        (("--anew",), "--anew goes with --all"),
        (("--no-notify",), "--no-notify goes with --all"),
    ],
)
def test_flags_of_judging_that_contradict_each_other_are_refused(
    inside: Benchwright, words: tuple[str, ...], said: str
) -> None:
    ended = inside("findings", "judge", *words)
    assert ended.returncode == 2 and said in ended.stderr


# ---- at the forge ----


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ForgePeer]:
    """A Gitea, and a configuration that names it."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    with Peer() as peer, serving_peer(peer):
        made = ForgePeer(peer, "gitea")
        text = f'[project]\nurl = "{made.url}"\nforge = "gitea"\ntoken = "${{FORGE_TOKEN}}"\n'
        (tmp_path / "benchwright.toml").write_text(text)
        monkeypatch.chdir(tmp_path)
        yield made


def test_a_finding_becomes_an_issue_once_and_its_story_tells_where(call: Call, forge: ForgePeer) -> None:
    (found,) = json.loads(call("findings", "judge", "--json", code=1))["data"]["findings"]
    name, web = found["id"], forge.url
    shown = call("findings", "show", name)
    assert f"\n  {web}/compare/{made.commit(19)}...{made.commit(20)}\n" in shown
    assert f"{web}/commit/{made.commit(20)}\n" in shown and "\x1b]8" not in shown
    text = call("findings", "issue", name)
    assert text.startswith("bench.py::encode batch_size=8: latency_p50 ") and f"{web}/issues/new?title=" in text
    assert forge.peer.requests == []
    data = json.loads(call("findings", "issue", name, "--json"))["data"]
    assert (data["title"], data["url"], data["opened"]) == (text.splitlines()[0], "", False)
    assert call("findings", "issue", name, "--send") == f"{web}/issues/1\n"
    assert call("findings", "issue", name, "--send") == f"{web}/issues/1 was there already\n"
    assert call("findings", "comment", name, "--pull-request", "#12", "--send") == f"{web}/pulls/12#issuecomment-500\n"
    assert "no pull request is known" in call("findings", "comment", name, "--pull-request", "auto", code=2)
    story = [
        (one["who"], one["what"], one["text"])
        for one in json.loads(call("findings", "--json"))["data"]["findings"][0]["remarks"]
    ][-2:]
    commented = f"{web}/pulls/12#issuecomment-500"
    assert story == [("ada", "issue", f"{web}/issues/1"), ("ada", "commented on the pull request", commented)]
    cause = found["cause"]
    assert f"<!-- benchwright {cause} -->" in call("findings", "issue", cause)
    assert f"Commit {made.commit(20)[:10]}\n  {web}/commit/{made.commit(20)}\n" in call("findings", "show", cause)
    gate = call("check", "last", "--against", "last~20", "--markdown", code=1)
    assert f"Commit [`{made.commit(34)[:12]}`]({web}/commit/{made.commit(34)})" in gate


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("issue", "NAME", "--open", "--send"), "give one of them"),
        (("comment", "NAME"), "give TEXT for the story"),
        (("comment", "NAME", "--pull-request", "x"), "is not a number"),
        (("comment", "NAME", "text", "--pull-request", "1"), "TEXT is for the story"),
        (("issue", "cause-none"), "no cause"),
    ],
)
def test_what_cannot_be_meant_of_a_forge_is_code_2(words: tuple[str, ...], said: str, call: Call) -> None:
    (found,) = json.loads(call("findings", "judge", "--json", code=1))["data"]["findings"]
    assert said in call("findings", *(found["id"] if word == "NAME" else word for word in words), code=2)


def test_without_a_token_nothing_is_sent(call: Call, forge: ForgePeer, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = json.loads(call("findings", "judge", "--json", code=1))["data"]["findings"]
    monkeypatch.delenv("FORGE_TOKEN")
    assert "FORGE_TOKEN is not set" in call("findings", "issue", found["id"], "--send", code=2)
    assert forge.peer.requests == []
