from dataclasses import replace

import pytest

from benchwright import schema
from benchwright.records import Run, Value
from benchwright.report import notes
from benchwright.report.html import html_page
from benchwright.report.markdown import run_markdown
from benchwright.report.rows import rows
from benchwright.report.table import run_text


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


def looped(run: Run, *loops: int) -> Run:
    """The run with so many calls per sample, case by case."""
    counts = {row.key: n for row, n in zip(rows(run), loops, strict=False)}
    return replace(
        run,
        results=tuple(
            replace(r, instrument={**r.instrument, "loops": counts.get(schema.case_key(r.case), 1)})
            for r in run.results
        ),
    )


def test_percentiles_of_means_are_called_so_everywhere(run: Run) -> None:
    every = looped(run, 1024, 1024, 1024, 1024)
    words = "percentiles are of means of 1,024 calls"
    assert notes.means(rows(every)) == words
    for text in (run_text(every), run_markdown(every), html_page([every])):
        assert words in text
    for text in (run_text(run), run_markdown(run), html_page([run])):
        assert "percentiles are of means" not in text


def test_percentiles_of_means_name_their_cases_when_not_all_are(run: Run) -> None:
    some = notes.means(rows(looped(run, 512, 1, 64)))
    assert some == (
        "percentiles are of means of 64 to 512 calls "
        "[model.onnx runtime=onnxruntime batch_size=1 copies=1, model.onnx runtime=openvino batch_size=1 copies=1]"
    )


def test_the_unknown_is_called_unknown(run: Run) -> None:
    facts = {**run.results[0].instrument, "steady": None, "steal_percent": None, "cpu_others_percent": 3e-10}
    result = replace(run.results[0], instrument=facts)
    assert "CPU taken by others below 0.01%" in notes.instrument([result]) and "steal" not in notes.instrument([result])
    page = html_page([replace(run, results=(result,))])
    assert '<th scope="row">steady</th><td>unknown</td>' in page and "None" not in page.partition("<script>")[0]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "unknown"), (True, "yes"), (False, "no"), (3e-10, "3e-10"), (7, "7")]
)
def test_facts_as_people_write_them(value: Value, text: str) -> None:
    assert notes.fact(value) == text


def test_nothing_stated_is_nothing_said(run: Run) -> None:
    assert notes.instrument([replace(run.results[0], instrument={})]) == ""


def test_failures_with_one_reason_are_one_note(run: Run) -> None:
    (failed,) = notes.failures(rows(run))
    assert failed.rounds == (0, 1, 2) and failed.failure.kind == "LoadError"
