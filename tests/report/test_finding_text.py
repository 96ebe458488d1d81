"""Findings as people read them."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, Remark, State, Suspect
from benchwright.report import findings as text
from benchwright.report import reasons
from benchwright.report.table import emit

FINDING = Finding(
    id="3fa9c1b2e4",
    series="s",
    before=Estimate(point=0.010, low=0.0099, high=0.0101),
    after=Estimate(point=0.0112, low=0.0111, high=0.0113),
    effect=Estimate(point=1.12, low=1.105, high=1.135),
    method="m",
    verdict=Verdict.WORSE,
    revisions=("a" * 40, "b" * 40, "c" * 40),
    case="bench.py::encode",
    params='{"batch_size":8}',
    metric="latency_p50",
    unit="s",
    confidence=0.9999999,
    run="run-20",
    found_at="2026-03-01T10:00:00+00:00",
    suspects=(Suspect(revision="b" * 40, probability=0.8, subject="Cache\x1b[31m it", author="Ada"),),
    why={
        "cause": "either",
        "packages": {f"p{i}": ["1", None] for i in range(10)},
        "operators": [{"name": "/fc/MatMul", "kind": "MatMul", "seconds": [0.001, 0.002]}],
        "memory": [1e8, 2e8],
        "also": {"throughput": 0.893},
        "remeasure": "benchwright ab",
    },
    assignee="bob",
    remarks=(Remark(at="2026-03-01T10:00:00+00:00", who="ada", what="comment", text="looking"),),
)


def _shown(finding: Finding = FINDING, *, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    values = [0.010] * 20 + [0.0112] * 15
    emit(file, lambda console: text.show_finding(console, finding, values, 20), width=120)
    file.flush()
    return raw.getvalue().decode(encoding)


def test_a_culprit_that_was_bisected_has_its_own_size() -> None:
    suspect = replace(FINDING.suspects[0], effect=Estimate(point=1.05, low=1.03, high=1.07))
    shown = _shown(replace(FINDING, suspects=(suspect,)))
    assert "bbbbbbbbbb  Cache\\x1b[31m it (Ada), against its parent 5 % slower [3 %, 7 %]" in shown


def test_a_finding_in_full() -> None:
    shown = _shown()
    assert "3fa9c1b2e4  worse  bench.py::encode batch_size=8  latency_p50 12 % slower [10.5 %, 13.5 %]" in shown
    assert "10.000 ± 0.100 to 11.200 ± 0.100 ms · 99.99 % sure · since aaaaaaaaaa..cccccccccc · open, bob" in shown
    assert "Commits after aaaaaaaaaa up to cccccccccc: 2\n       80 %  bbbbbbbbbb  Cache\\x1b[31m it (Ada)" in shown
    assert "which one: benchwright bisect 3fa9c1b2e4" in shown
    assert "Why: the code or the environment: both differ\n  packages: p0 1 to none" in shown
    assert "  packages: and 2 more\n  in other metrics: throughput × 0.893\n" in shown
    assert "  operator /fc/MatMul (MatMul): 1.00 ms to 2.00 ms\n" in shown
    assert "  peak memory: 95.4 MiB to 191 MiB\n  to tell them apart: benchwright ab" in shown
    assert shown.endswith("2026-03-01 10:00:00 UTC  ada  comment: looking\nSeries s\n")
    assert "\x1b" not in shown


def test_what_does_not_fit_goes_on_below_its_beginning() -> None:
    out = io.StringIO()
    emit(out, lambda console: text.show_list(console, [FINDING]), width=60)
    shown = out.getvalue().splitlines()
    assert len(shown) > 3 and shown[0].startswith(FINDING.id)
    below = " " * (len(FINDING.id) + 2)
    about = [line for line in shown[1:] if line.startswith(" ")]
    assert len(about) > 1 and all(line.startswith(below) for line in about)


def test_the_graph_marks_the_change() -> None:
    lines = text.graph([0.010] * 20 + [0.0112] * 15, 20, FINDING, width=60).splitlines()
    assert lines[0] == f"{'11.2 ms':>12} {' ' * 20}│{'*' * 15}"
    assert lines[-2] == f"{'10.0 ms':>12} {'*' * 20}│"
    assert lines[-1] == f"{' ' * 33}^ run run-20"
    assert all(line[33] == "│" for line in lines[:-1])


@pytest.mark.parametrize("count", [1, 2, 500])
def test_the_graph_fits_whatever_the_length(count: int) -> None:
    lines = text.graph([0.010] * count + [0.0112] * count, count, FINDING, width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert "│" in lines[0] and "*" in lines[0] and "*" in lines[-2]


def test_an_ascii_terminal_gets_ascii() -> None:
    assert "+-" in _shown(encoding="ascii") and "\\u" not in _shown(encoding="ascii")


@pytest.mark.parametrize(
    ("effect", "unit", "words"),
    [
        ((0.8, 0.75, 0.85), "s", "20 % faster [15 %, 25 %]"),
        ((3.0, 2.9, 3.1), "s", "3 times as long"),
        ((1.05, None, None), "B", "5 % more"),
        ((0.9, 0.88, 0.92), "/s", "10 % lower [8 %, 12 %]"),
    ],
)
def test_the_size_in_words(effect: tuple[float, float | None, float | None], unit: str, words: str) -> None:
    point, low, high = effect
    finding = replace(FINDING, effect=Estimate(point=point, low=low, high=high), unit=unit)
    assert text.change_text(finding) == words


def test_what_measuring_again_said_takes_the_place_of_the_command() -> None:
    told = reasons.reason_lines({**FINDING.why, "cause": "environment", "remeasured": "run-40"})
    assert told[0] == "Why: measured again, the old revision points to the environment"
    assert not any("tell them apart" in line for line in told)
    assert reasons.reason_lines({}) == []


def test_json_is_complete() -> None:
    (told,) = json.loads(text.findings_json([FINDING]))["data"]["findings"]
    assert (told["id"], told["state"], told["suspects"][0]["probability"]) == (FINDING.id, State.OPEN.value, 0.8)
