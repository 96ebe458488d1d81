"""A drift in words: its size, its slope, since when, its parts, its graph, and messages that blame no commit."""

from __future__ import annotations

import io
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchwright.notify.forges import _worse
from benchwright.notify.journal import Ledger, TargetRecord
from benchwright.notify.messages import Message, Notice
from benchwright.notify.statuses import find_withdrawable
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Drift, Finding, Part, State
from benchwright.report.change_picture import SeriesPicture, sketch
from benchwright.report.findings import graph, show_finding, title
from benchwright.store import open_store

COMMITS = tuple(f"{i:02d}" + "ab" * 19 for i in range(61))


def _estimate(point: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(point=point, low=low, high=high, method="slope over 60 runs")


def _part(first: int, last: int) -> Part:
    return Part(
        effect=_estimate(1.14, 1.12, 1.16),
        runs=(f"r{first}", f"r{last}"),
        revisions=(COMMITS[first], COMMITS[last]),
        commits=last - first,
    )


DRIFT = Drift(
    first="r30",
    last="r90",
    ongoing=True,
    length=60,
    slope=_estimate(0.0044, 0.0041, 0.0047),
    earliest="r25",
    latest="r33",
    parts=(_part(0, 30), _part(30, 60)),
)
FINDING = Finding(
    id="d1f7000000",
    series="s",
    before=_estimate(0.010),
    after=_estimate(0.013),
    effect=_estimate(1.30, 1.28, 1.32),
    method="slope of the series",
    verdict=Verdict.WORSE,
    revisions=COMMITS,
    case="bench.py::encode",
    metric="latency_p50",
    unit="s",
    confidence=0.9999,
    run="r31",
    runs=("r30", "r31", "r90"),
    drift=DRIFT,
)
VALUES = [0.010 * 1.3 ** min(max((i - 30) / 60, 0.0), 1.0) for i in range(91)]


def _shown(finding: Finding) -> str:
    out = io.StringIO()
    show_finding(Console(file=out, width=200), finding, VALUES, 31)
    return out.getvalue()


def test_the_line_of_a_drift_says_that_it_is_one() -> None:
    assert title(FINDING) == "bench.py::encode  latency_p50 30 % slower [28 %, 32 %], a drift over 60 runs"
    assert "drift" not in title(replace(FINDING, drift=None))


def test_a_drift_in_full() -> None:
    text = _shown(FINDING)
    assert "10.00 to 13.00 ms" in text or "10 to 13 ms" in text
    assert "0.44 % a run [0.41 %, 0.47 %]" in text
    assert f"since commit {COMMITS[0][:10]}, still going on" in text
    assert "Begins between run r25 and run r33" in text
    assert "Commits after 00abababab up to 60abababab: 60" in text
    assert "14 % slower [12 %, 16 %]  30 commits after 00abababab up to 30abababab" in text
    assert "bisect" not in text


def test_parts_that_cannot_be_told_are_said_to_be() -> None:
    text = _shown(replace(FINDING, drift=replace(DRIFT, parts=(), ongoing=False, steps=2)))
    assert "Because of the noise, it is not known" in text
    assert f"from commit {COMMITS[0][:10]} to commit {COMMITS[-1][:10]}" in text
    assert "(without 2 steps on it)" in text


def test_the_graph_slopes_and_shows_the_whole_series() -> None:
    lines = graph(VALUES, 31, FINDING, width=60, height=9).splitlines()
    columns = [
        max(
            (i for i, line in enumerate(lines[:9]) if line[13 + c : 14 + c] in "*─" and line[13 + c : 14 + c]),
            default=-1,
        )
        for c in range(5)
    ]
    assert set(columns) == {8}, "flat at the bottom at first"
    assert lines[0].rstrip().endswith("*")
    assert "begins at run r30; a column is 3 runs" in lines[-1]


def test_a_message_tells_levels_slope_and_no_culprit() -> None:
    text = Message(id="m", notices=(Notice(finding=FINDING),)).text
    assert "10.00 ms then, 13.00 ms now; 0.44 % a run [0.41 %, 0.47 %], since commit" in text
    assert "60 commits carry it: no single one of them is the culprit" in text
    assert "one of the 60" not in text


def test_no_commit_gets_a_status_for_a_drift(tmp_path: Path) -> None:
    step = replace(FINDING, id="57e9000000", drift=None)
    assert _worse([Notice(finding=FINDING), Notice(finding=step)]) == (Notice(finding=step),)
    ledger = Ledger(findings={FINDING.id: FINDING})
    with closing(open_store(tmp_path / "results.db")) as store:
        store.keep_finding(replace(FINDING, found_at="2026-03-01T00:00:00+00:00", state=State.RESOLVED))
        assert find_withdrawable(ledger, TargetRecord(told={FINDING.id}), store) == ()


def test_a_sketch_of_a_drift_shows_all_of_it_without_a_mark() -> None:
    bars = sketch(SeriesPicture(values=tuple(VALUES), change=31, until=90, title="t"))
    assert "│" not in bars
    assert len(bars) <= 60 and bars[0] == "▁" and bars[-1] == "█"
