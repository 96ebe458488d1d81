"""`--json` prints one envelope, whatever the verb: a format, a kind, the data."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.cli import VERBS, main
from benchwright.records import Operator
from benchwright.schema.printed import PRINTED, envelope
from benchwright.store import open_store
from price_lists import GPUHUNT

TESTS = Path(__file__).parents[1]
FAKE = ("fake:constant?ms=1&clock=virtual", "--rounds", "1", "--samples", "5")
TASKS = r"""
[tasks.train]
command = ["echo", "speed 3"]
patterns = ['speed (?P<speed>\S+)']

[tasks.train.metrics]
speed = { compute = "mean" }
"""

# verb -> words -> the kind that they print; all are called in a folder with a store of a series that became slower
CALLS: dict[str, dict[str, str]] = {
    "run": {" ".join(FAKE) + " --no-save": "run"},
    "tune": {" ".join(FAKE) + " --no-save": "race"},
    "show": {"last": "run", "--scaling": "scaling", "known.jsonl --operators": "operators"},
    "scaling": {"last": "scaling"},
    "operators": {"known.jsonl": "operators", "known.jsonl known.jsonl": "operator-changes"},
    "compare": {"run-0010 last": "comparison", "run-0010 last last": "comparisons", "--against run-0010": "gate"},
    "check": {"--against run-0010": "gate"},
    "findings": {"": "findings"},
    "findings judge": {"": "findings"},
    "findings show": {"FINDING": "finding-series"},
    "findings issue": {"FINDING": "finding-issue"},
    "findings rules": {"": "finding-rules"},
    "findings acknowledge": {"FINDING": "findings"},
    "findings resolve": {"FINDING": "findings"},
    "findings ignore": {"FINDING": "findings"},
    "findings reopen": {"FINDING": "findings"},
    "findings assign": {"FINDING ada": "findings"},
    "findings comment": {"FINDING seen": "findings", "FINDING --pull-request 7": "finding-comment"},
    "findings split": {"FINDING": "findings"},
    "findings join": {"FINDING FINDING": "findings"},
    "findings mute": {"a*": "finding-rules", "a* --off": "finding-rules", "a* --preview": "rule-previews"},
    "findings threshold": {"a* 5%": "finding-rules", "a* none": "finding-rules", "a* 5% --preview": "rule-previews"},
    "init": {"--print": "project"},
    "list": {"": "runs", "fake:constant": "cases"},
    "history": {"bench.py::encode": "history"},
    "cost": {"last --price 1USD/h": "cost"},
    "prices list": {"": "prices"},
    "prices show": {"0.34USD/h": "price"},
    "prices import": {"aws.csv": "price-list"},
    "machines list": {"": "machines"},
    "machines show": {"12ffdd536bd8": "machine-health"},
    "machines quarantine": {"12ffdd536bd8 --reason hot": "machine-health"},
    "machines release": {"12ffdd536bd8": "machine-health"},
    "report": {"-o report.html": "report", "--site site --runs 1": "site"},
    "import": {"known.jsonl --store other.db": "import"},
    "upload": {"last --to folder": "upload"},
    "store info": {"": "store"},
    "store prune": {"--runs-older-than 90y --dry-run": "store-prune"},
    "store copy": {"results.db copy.db": "store-copy"},
    "store send": {"": "store-send"},
    "token create": {"ada": "token"},
    "token list": {"": "tokens"},
    "notify list": {"": "notify-targets"},
    "notify send": {"FINDING --to NOBODY": "notifications"},
    "notify test": {"NOBODY": "notifications"},
    "env": {"--quick": "machine"},
    "env diff": {"run-0010 last": "environment-differences"},
    "devices": {"": "devices"},
    "cache list": {"": "cache"},
    "cache verify": {"": "cache-check"},
    "cache prune": {"--older-than 1d": "cache-prune"},
    "image build": {"--print --here": "image"},
    "spec check": {"spec.yaml": "spec-check"},
    "tasks check": {"tasks.toml": "task-check"},
}
# verb -> its kind, where a page of its own shows it: they build commits, run for ever, or need containers
ELSEWHERE = {
    "notify comment": ("request-comment", "cli/test_cli_request_comment.py"),
    "ab": ("trial", "cli/test_cli_ab.py"),
    "bisect": ("bisection", "cli/test_cli_bisect.py"),
    "cloud down": ("cloud-machines", "cli/test_cli_cloud.py"),
    "cloud list": ("cloud-machines", "cli/test_cli_cloud.py"),
    "cloud start": ("cloud-machine", "cli/test_cli_cloud.py"),
    "cloud status": ("cloud-machine", "cli/test_cli_cloud.py"),
    "cloud stop": ("cloud-machine", "cli/test_cli_cloud.py"),
    "cloud sweep": ("cloud-sweep", "cli/test_cli_cloud.py"),
    "cloud up": ("cloud-machine", "cli/test_cli_cloud.py"),
    "driver": ("run", "cli/test_cli_driver.py"),
    "image list": ("images", "cli/test_cli_image.py"),
    "lab cancel": ("lab-submission", "cli/test_cli_lab.py"),
    "lab drain": ("lab-machine", "cli/test_cli_lab.py"),
    "lab fetch": ("run", "cli/test_cli_lab.py"),
    "lab follow": ("run", "cli/test_cli_lab.py"),
    "lab forget": ("lab", "cli/test_cli_lab.py"),
    "lab list": ("lab", "cli/test_cli_lab.py"),
    "lab priority": ("lab-submission", "cli/test_cli_lab.py"),
    "lab quarantine": ("lab-machine", "cli/test_cli_lab.py"),
    "lab release": ("lab-machine", "cli/test_cli_lab.py"),
    "lab reserve": ("lab-machine", "cli/test_cli_lab.py"),
    "lab resume": ("lab-machine", "cli/test_cli_lab.py"),
    "lab show": ("lab-submission", "cli/test_cli_lab.py"),
    "machines check": ("machine-check", "cli/test_cli_machines.py"),
    "machines control": ("machine-control", "cli/test_cli_machines.py"),
    "serve": ("server", "server/test_server_process.py"),
    "watch": ("commit", "cli/test_cli_watch.py"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files for every verb."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHWRIGHT_STORE", "results.db")
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    store = open_store(tmp_path / "results.db")
    made.fill(store, made.levels((0.010, 20), (0.0112, 15)))
    store.close()
    known = made.run_of(99, 0.010, operators=[Operator(name="a", kind="Conv", seconds=0.01, share=1.0)])
    (tmp_path / "known.jsonl").write_text(schema.dumps(known) + "\n")
    (tmp_path / "spec.yaml").write_text("benchwright: 1\nmodel: {name: net, files: {onnx: net.onnx}}\n")
    (tmp_path / "net.onnx").write_bytes(b"net")
    (tmp_path / "tasks.toml").write_text(TASKS)
    (tmp_path / "aws.csv").write_text(GPUHUNT)
    return tmp_path


def _verbs() -> Iterator[str]:
    """Every verb, and every verb below one, that takes `--json`."""
    for verb, (module, _) in VERBS.items():
        yield from _below(verb, importlib.import_module(module).command)


def _below(name: str, command: click.Command) -> Iterator[str]:
    if any("--json" in parameter.opts for parameter in command.params):
        yield name
    if isinstance(command, click.Group):
        for inner, each in command.commands.items():
            yield from _below(f"{name} {inner}", each)


def test_every_verb_that_takes_json_is_looked_at() -> None:
    assert sorted({*CALLS, *ELSEWHERE}) == sorted(set(_verbs()))


@pytest.mark.parametrize(
    ("verb", "words", "kind"), [(verb, words, kind) for verb, calls in CALLS.items() for words, kind in calls.items()]
)
def test_json_is_one_document_with_a_format_a_kind_and_data(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str, words: str, kind: str
) -> None:
    if "FINDING" in words:
        assert main(["findings", "judge", "--json"]) == 1
        words = words.replace("FINDING", json.loads(capsys.readouterr().out)["data"]["findings"][0]["id"])
    words = words.replace("NOBODY", "webhook+http://127.0.0.1:1/")  # where no one answers: what failed is told too
    code = main([*verb.split(), *words.split(), "--json"])
    printed = capsys.readouterr()
    assert code in (0, 1), printed.err
    document = json.loads(printed.out)
    assert [*document] == ["format", "kind", "data"]
    assert (document["format"], document["kind"]) == (schema.FORMAT, kind)


@pytest.mark.parametrize("verb", ELSEWHERE)
def test_the_others_are_looked_at_by_tests_of_their_own(verb: str) -> None:
    kind, file = ELSEWHERE[verb]
    assert re.search(rf'\["kind"\] == "{kind}"', (TESTS / file).read_text(encoding="utf-8"))


def test_every_kind_is_printed_by_something_and_documented(root: Path) -> None:
    printed = {kind for calls in CALLS.values() for kind in calls.values()} | {kind for kind, _ in ELSEWHERE.values()}
    assert {*PRINTED} - printed == {"perfzero-differences"}  # its command line is not one of click's
    page = (root / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [kind for kind in PRINTED if f"| `{kind}` |" not in page] == []


def test_a_kind_that_nobody_documents_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="nonsense"):
        envelope("nonsense", {})


def test_a_document_may_stand_on_one_line() -> None:
    assert envelope("store-send", [], indent=None) == '{"format": 1, "kind": "store-send", "data": []}'


def test_what_was_changed_is_in_the_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def data(*words: str) -> Any:
        main([*words, "--json"])
        return json.loads(capsys.readouterr().out)["data"]

    name = data("findings", "judge")["findings"][0]["id"]
    (changed,) = data("findings", "assign", name, "Ada")["findings"]
    assert (changed["id"], changed["assignee"]) == (name, "Ada")
    assert [one["state"] for one in data("findings", "resolve", name)["findings"]] == ["resolved"]
    assert data("findings", "resolve", name)["findings"] == []  # it was
    assert [one["what"] for one in data("findings", "mute", "a*")["mutes"]] == ["a*"]
    assert data("findings", "mute", "a*", "--off")["mutes"] == []
    (one, other) = data("findings", "threshold", "*", "50%", "--metric", "a", "--metric", "b", "--preview")
    assert one["days"] == other["days"] == 90 and data("findings", "rules")["thresholds"] == []
    held = data("machines", "quarantine", "12ffdd536bd8", "--reason", "hot")
    assert held["line"]["quarantine"]["reason"] == held["quarantines"][0]["reason"] == "hot"
    assert data("machines", "release", "12ffdd536bd8")["line"]["quarantine"] is None
