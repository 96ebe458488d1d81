"""The gate: which conditions close it, and how it says so to people, to a CI and to GitHub."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import series_of_runs as made
from benchwright.analysis.gate import ComparedSides, Gate, check, parse_condition
from benchwright.errors import OptionError
from benchwright.records import Case, Failure, Run, Status
from benchwright.records.findings import FindingRules, Mute, Threshold
from benchwright.report import gate_text
from benchwright.report.gate_text import github_annotations, junit_xml

HOSTILE = replace(made.CASE, name="bad\x00|<b>@team: a,b %\n::error::")


def _run(i: int, seconds: float, *, memory: float = 1e8, case: Case = made.CASE) -> Run:
    """Four rounds."""
    runs = [made.run_of(i, seconds * (1 + k / 2000), memory=memory, case=case) for k in range(2)]
    return replace(
        runs[0], results=tuple(replace(r, id=f"{r.id}{k}") for k, one in enumerate(runs) for r in one.results)
    )


def _failing(run: Run) -> Run:
    error = Failure(kind="exit", message="the worker died")
    bad = [replace(r, status=Status.FAILED, metrics=(), error=error) for r in run.results]
    return replace(run, results=tuple(bad))


def _gate(before: Run, after: Run, *conditions: str, rules: FindingRules | None = None) -> Gate:
    sides = ComparedSides(before=before, after=after, measured=after, against=before.id)
    return check(sides, [parse_condition(text) for text in conditions], smallest=0.01, rules=rules or FindingRules())


OLD = _run(1, 0.010)


@pytest.mark.parametrize(
    ("conditions", "closed"),
    [
        (["worse"], True),
        (["worse>2%"], True),
        (["worse > 4.5 %"], True),
        (["worse>6%"], False),
        (["latency>2%"], True),
        (["p99>2%"], True),
        (["throughput>4%"], True),
        (["throughput>4.9%"], False),  # 5 % slower is 4.8 % fewer
        (["memory>5%"], False),
        (["failed"], False),
        (["missing"], False),
        (["memory", "worse>3%"], True),
    ],
)
def test_conditions_on_what_is_five_per_cent_slower(conditions: list[str], closed: bool) -> None:
    assert _gate(OLD, _run(2, 0.0105), *conditions).ok is not closed


def test_memory_failures_and_missing_cases() -> None:
    assert not _gate(OLD, _run(2, 0.010, memory=1.07e8), "memory>5%").ok
    (breach,) = _gate(OLD, _failing(_run(2, 0.010)), "failed", "worse").breaches
    assert (breach.condition, breach.sentence) == ("failed", "failed: the worker died")
    other = replace(OLD, results=(*OLD.results, *_run(3, 0.01, case=replace(made.CASE, name="gone")).results))
    (breach,) = _gate(other, _run(2, 0.010), "missing", "worse").breaches
    assert breach.case.startswith("gone")
    assert _gate(other, _run(2, 0.010), "failed", "worse").ok
    assert not _gate(OLD, _run(2, 0.010 * 1.0098), "unclear").ok


def test_nothing_in_common_never_passes() -> None:
    other = _run(2, 0.010, case=replace(made.CASE, name="renamed"))
    with pytest.raises(OptionError, match="nothing to compare: no case is in both"):
        _gate(OLD, other, "worse")
    assert [breach.case for breach in _gate(OLD, other, "missing").breaches] == ["bench.py::encode"]


def test_each_metric_is_told_once_however_many_conditions_name_it() -> None:
    gate = _gate(OLD, _run(2, 0.0105), "worse", "worse>2%", "latency>1%")
    assert [(b.metric, b.condition) for b in gate.breaches] == [
        ("latency_p50", "worse"),
        ("latency_p99", "worse"),
        ("throughput", "worse"),
    ]


def test_mutes_and_thresholds_of_the_store_count() -> None:
    slower = _run(2, 0.0105)
    assert _gate(OLD, slower, "worse", rules=FindingRules(mutes=[Mute(what="bench.py::*")])).ok
    assert _gate(
        OLD, slower, "worse", rules=FindingRules(thresholds=[Threshold(case="bench.py::encode", smallest=0.06)])
    ).ok
    only = FindingRules(thresholds=[Threshold(case="*", smallest=0.06, metric="latency_p50")])
    assert [b.metric for b in _gate(OLD, slower, "worse", rules=only).breaches] == ["latency_p99", "throughput"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("worse>", "is not a condition"),
        ("2%", "is not a condition"),
        ("failed>2%", "failed has no size"),
        ("worse>200%", "200% is not between 0 and 100 %"),
        ("worse>2ms", "'2ms' is not a percentage"),
        ("wrose>2%", "neither side has a metric 'wrose'\n  did you mean 'worse'?"),
    ],
)
def test_a_condition_that_cannot_be(text: str, says: str) -> None:
    with pytest.raises(OptionError) as raised:
        _gate(OLD, _run(2, 0.0105), text)
    assert says in str(raised.value)


# ---- how it is told ----


def test_json_says_everything() -> None:
    told = json.loads(gate_text.gate_json(_gate(OLD, _run(2, 0.0105), "worse>2%")))["data"]
    assert (told["ok"], told["run"], told["against"], told["conditions"]) == (
        False,
        "run-0002",
        "run-0001",
        ["worse>2%"],
    )
    first = told["cases"][0]["compared"]["metrics"][0]
    assert first["ratio"]["low"] < 1.05 < first["ratio"]["high"]
    assert told["cases"][0]["breaches"][0]["metric"] == "latency_p50"


def test_markdown_is_fit_for_a_pull_request() -> None:
    text = gate_text.gate_markdown(_gate(OLD, _run(2, 0.0105), "worse>2%"))
    assert text.startswith("**failed: 3 problems; run run-0002 against run-0001: 3 worse, 1 same**\n")
    assert "- bench.py::encode: latency\\_p50 worse: 5 % slower (worse\\>2%)" in text
    assert "| case | metric | before | after | ratio | verdict |" in text
    assert text.count("<details>") == text.count("</details>") == 1
    passed = gate_text.gate_markdown(_gate(OLD, _run(2, 0.010), "worse"))
    assert passed.startswith("**passed;")


def test_junit_has_a_test_for_each_metric() -> None:
    root = ElementTree.fromstring(junit_xml(_gate(OLD, _run(2, 0.0105), "worse>2%")))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("5", "3", "0")
    (suite,) = root
    failed = {test.get("name"): test.find("failure") for test in suite.findall("testcase")}
    assert [name for name, failure in failed.items() if failure is not None] == [
        "latency_p50",
        "latency_p99",
        "throughput",
    ]
    assert failed["latency_p50"].get("message") == "worse: 5 % slower"
    assert failed["latency_p50"].get("type") == "worse>2%"
    muted = ElementTree.fromstring(
        junit_xml(_gate(OLD, _run(2, 0.0105), "worse", rules=FindingRules(mutes=[Mute(what="*")])))
    )
    assert (muted.get("failures"), muted.get("skipped")) == ("0", "5")


def test_annotations_are_one_line_each() -> None:
    lines = github_annotations(_gate(OLD, _run(2, 0.0105), "worse>2%")).splitlines()
    assert len(lines) == 3
    assert lines[0] == (
        "::error title=benchwright%3A bench.py%3A%3Aencode::bench.py::encode: latency_p50 worse: 5 %25 slower"
    )
    assert github_annotations(_gate(OLD, _run(2, 0.010), "worse")).startswith("::notice title=benchwright::passed;")


def test_no_name_can_speak_for_us() -> None:
    gate = _gate(_run(1, 0.010, case=HOSTILE), _run(2, 0.0105, case=HOSTILE), "worse")
    lines = github_annotations(gate).splitlines()
    assert len(lines) == len(gate.breaches) == 3
    assert all(line.startswith("::error title=benchwright%3A bad") for line in lines)
    root = ElementTree.fromstring(junit_xml(gate))
    assert root.get("failures") == "3"
    text = gate_text.gate_markdown(gate)
    assert "<b>" not in text and "\\@team" in text and "\x00" not in text


def test_what_failed_in_quarantine_closes_no_gate() -> None:
    after = _failing(_run(2, 0.010))
    held = frozenset(result.id for result in after.results)
    sides = ComparedSides(before=OLD, after=OLD, measured=after, against=OLD.id)
    conditions = [parse_condition("failed")]
    assert not check(sides, conditions, smallest=0.01, rules=FindingRules()).ok
    assert check(replace(sides, held=held), conditions, smallest=0.01, rules=FindingRules()).ok
