"""What pairs, measured again, make of a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, State
from benchwright.store import open_store
from benchwright.workflows.watch.pairs import record_verdict

SUSPECTED = Finding(
    id="found",
    series="s",
    before=Estimate(point=1.0, low=None, high=None),
    after=Estimate(point=1.1, low=None, high=None),
    effect=Estimate(point=1.1, low=1.05, high=1.15),
    method="",
    verdict=Verdict.WORSE,
    state=State.SUSPECTED,
    found_at="2026-03-01T00:00:00+00:00",
)


@pytest.mark.parametrize(
    ("verdict", "effect", "state", "what"),
    [
        (Verdict.WORSE, 1.09, State.OPEN, "confirmed"),
        (Verdict.SAME, 1.0, State.RESOLVED, "refuted"),
        (Verdict.BETTER, 0.9, State.RESOLVED, "refuted"),
        (Verdict.UNCLEAR, 1.02, State.SUSPECTED, "doubted"),  # less than half of what is suspected
        (Verdict.UNCLEAR, 1.08, State.SUSPECTED, "undecided"),
        (Verdict.UNCLEAR, None, State.SUSPECTED, "undecided"),
    ],
)
def test_pairs_decide_who_is_told(
    tmp_path: Path, verdict: Verdict, effect: float | None, state: State, what: str
) -> None:
    store = open_store(tmp_path / "results.db")
    finding = record_verdict(store, store.keep_finding(SUSPECTED), verdict, "measured again", effect)
    store.close()
    assert (finding.state, finding.remarks[-1].what, finding.remarks[-1].text) == (state, what, "measured again")
