from dataclasses import replace

from benchwright.records import Run
from benchwright.report import notes
from benchwright.report.rows import rows


def test_one_verdict_is_said_plainly(run: Run) -> None:
    assert notes.verdict(run.results[:2]) == "trustworthy"
    assert notes.instrument(run.results[:1]).startswith("trustworthy · cost per call 71.0 ns · clock read 46.0 ns")


def test_mixed_verdicts_put_the_worst_first(run: Run) -> None:
    bad = replace(run.results[0], instrument={"verdict": "unreliable: clock went back"})
    said = notes.verdict([*run.results, bad])
    assert said == "unreliable in 1 of 13 results (clock went back), noisy in 2, trustworthy in 10"


def test_one_kind_for_many_reasons_is_said_once(run: Run) -> None:
    noisy = [replace(run.results[0], instrument={"verdict": f"noisy: {i} %"}) for i in range(3)]
    assert notes.verdict(noisy) == "noisy in all 3 results (one of them: 0 %)"


def test_delivered_arrivals_are_stated_for_open_loops(run: Run) -> None:
    facts = {"verdict": "trustworthy", "intended_rate": 1000.0, "delivered_rate": 999.95}
    assert "delivered 99.9950% of the intended arrivals" in notes.instrument(
        [replace(run.results[0], instrument=facts)]
    )


def test_nothing_stated_is_nothing_said(run: Run) -> None:
    assert notes.instrument([replace(run.results[0], instrument={})]) == ""


def test_failures_with_one_reason_are_one_note(run: Run) -> None:
    (failed,) = notes.failures(rows(run))
    assert failed.rounds == (0, 1, 2) and failed.failure.kind == "LoadError"
