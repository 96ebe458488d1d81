from dataclasses import replace
from typing import Any

import pytest

from benchwright import schema
from benchwright.analysis import instrument_facts as facts
from benchwright.analysis import notes
from benchwright.analysis.rows import rows
from benchwright.records import Better, Estimate, Failure, Metric, Objective, Run, Status, Value
from benchwright.report.html import html_page
from benchwright.report.markdown import run_markdown
from benchwright.report.notebook import html_table
from benchwright.report.table import run_text


def test_one_verdict_is_said_plainly(run: Run) -> None:
    assert notes.describe_verdicts(run.results[:2]) == "trustworthy"
    assert notes.describe_instrument(run.results[:1]).startswith(
        "trustworthy · cost per call 71.0 ns · clock read 46.0 ns"
    )


def test_mixed_verdicts_put_the_worst_first(run: Run) -> None:
    bad = replace(run.results[0], instrument={"verdict": "unreliable: clock went back"})
    said = notes.describe_verdicts([*run.results, bad])
    assert said == "unreliable in 1 of 13 results (clock went back), noisy in 2, trustworthy in 10"


def test_one_kind_for_many_reasons_is_said_once(run: Run) -> None:
    noisy = [replace(run.results[0], instrument={"verdict": f"noisy: {i} %"}) for i in range(3)]
    assert notes.describe_verdicts(noisy) == "noisy in all 3 results (one of them: 0 %)"


def test_the_delivered_rate_is_stated_for_open_loops(run: Run) -> None:
    facts: dict[str, Any] = {"verdict": "trustworthy", "intended_rate": 1000.0, "delivered_rate": 999.0}
    assert "delivered 99.90% of the rate drawn" in notes.describe_instrument(
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
    assert notes.describe_means(rows(every)) == words
    for text in (run_text(every), run_markdown(every), html_page([every])):
        assert words in text
    for text in (run_text(run), run_markdown(run), html_page([run])):
        assert "percentiles are of means" not in text


def test_percentiles_of_means_name_their_cases_when_not_all_are(run: Run) -> None:
    some = notes.describe_means(rows(looped(run, 512, 1, 64)))
    assert some == (
        "percentiles are of means of 64 to 512 calls "
        "[model.onnx runtime=onnxruntime batch_size=1 copies=1, model.onnx runtime=openvino batch_size=1 copies=1]"
    )


def test_the_unknown_is_called_unknown(run: Run) -> None:
    facts = {**run.results[0].instrument, "steady": None, "steal_percent": None, "cpu_others_percent": 3e-10}
    result = replace(run.results[0], instrument=facts)
    assert "CPU taken by others below 0.01%" in notes.describe_instrument(
        [result]
    ) and "steal" not in notes.describe_instrument([result])
    page = html_page([replace(run, results=(result,))])
    assert '<th scope="row">steady</th><td>unknown</td>' in page and "None" not in page.partition("<script>")[0]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("steady", None, "steady: unknown"),
        ("steady", True, "steady: yes"),
        ("something_new", 3e-10, "something new: 3e-10"),
        ("loops", 1024, "calls per sample: 1,024"),
        ("recorded_calls", 7, "recorded calls: 7"),
        ("folded_calls", 0, "calls folded into histograms: 0"),
        ("bytes_per_call", 8, "memory per recorded call: 8 B"),
        ("watching_percent", 0.5, "CPU taken by watching: 0.500%"),
        ("cost_per_call_ns", 71.0, "cost per call: 71.0 ns"),
        ("warmup_reason", "level", "warm-up ended: level"),
    ],
)
def test_facts_as_people_write_them(name: str, value: Value, text: str) -> None:
    assert f"{facts.name_fact(name)}: {facts.describe_value(name, value)}" == text


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Failure(kind="LoadError", message="torch cannot read m.onnx"), "failed in round 1: torch cannot read m.onnx"),
        (Failure(kind="timeout", message="no answer"), "failed in round 1: no answer"),
        (Failure(kind="ValueError", message="bad"), "failed in round 1: ValueError: bad"),
        (Failure(kind="AssertionError", message=""), "failed in round 1: AssertionError"),
        (Failure(kind="failed", message=""), "failed in round 1"),
        (Failure(kind="exit", message="x" * 501), f"failed in round 1: {'x' * 500}…"),
    ],
)
def test_a_failure_in_one_sentence(failure: Failure, words: str) -> None:
    assert (
        notes.describe_failure(notes.FailureGroup(case="c", rounds=(0,), status=Status.FAILED, failure=failure))
        == words
    )


@pytest.mark.parametrize(
    ("texts", "words", "covered"),
    [
        (["took 140 % of 2", "took 158 % of 2", "took 97.5 % of 2"], "took 97.5 to 158 % of 2", 3),
        (["p99 of 3 calls", "p95 of 4 calls", "p99 of 1,000 calls"], "p99 of 3 to 1,000 calls", 2),
        (["the same", "the same"], "the same", 2),
        (["1.5e-07 s"], "1.5e-07 s", 1),
    ],
)
def test_wordings_that_differ_in_numbers_become_one(texts: list[str], words: str, covered: int) -> None:
    assert notes.most_common_wording(texts) == (words, covered)


def test_labels_left_out_are_counted_in_the_right_number() -> None:
    assert notes.list_some(["a", "b", "c", "d"]) == "a, b, c, and 1 more case"
    assert notes.list_some(["a", "b", "c", "d", "e"]).endswith("and 2 more cases")


def test_nothing_stated_is_nothing_said(run: Run) -> None:
    assert notes.describe_instrument([replace(run.results[0], instrument={})]) == ""


def test_failures_with_one_reason_are_one_note(run: Run) -> None:
    (failed,) = notes.failures(rows(run))
    assert failed.rounds == (0, 1, 2) and failed.failure.kind == "LoadError"


def test_cases_that_an_interrupt_left_out_are_told_in_one_line(run: Run) -> None:
    """Of a long suite it may be hundreds; what failed is told of each case, with its log."""
    first = run.results[0]
    for status, lines in ((Status.SKIPPED, 1), (Status.FAILED, 5)):
        failure = Failure(kind="interrupted", message="the run was interrupted before this began")
        left = replace(first, metrics=(), status=status, error=failure)
        cases = [replace(left, id=name, case=replace(first.case, name=name)) for name in "abcde"]
        told = notes.failures(rows(replace(run, results=tuple(cases))))
        assert len(told) == lines and told[0].case == ("a, b, c, and 2 more cases" if lines == 1 else "a")


def test_a_run_that_was_cut_off_is_called_so_in_every_form(run: Run) -> None:
    assert notes.describe_missing_results(run) == ""
    assert notes.describe_missing_results(replace(run, planned=len(run.results))) == ""
    cut = replace(run, planned=20)
    said = "incomplete: 15 of 20 results; it was interrupted, or is still being measured"
    assert notes.describe_missing_results(cut) == said
    for text in (run_text(cut), run_markdown(cut), html_page([cut]), html_table(cut)):
        assert said in text
    nothing = replace(run, results=(), planned=3)
    assert "incomplete: 0 of 3 results" in run_text(nothing)


def test_rounds_in_a_row_are_told_by_their_ends() -> None:
    failure = Failure(kind="interrupted", message="")
    failed = notes.FailureGroup(case="c", rounds=(0, 2, *range(5, 3000)), status=Status.SKIPPED, failure=failure)
    assert notes.describe_failure(failed).startswith("skipped in rounds 1, 3, 6 to 3000")


@pytest.mark.parametrize(
    ("relation", "bound", "verdict"),
    [
        ("<", 0.0, "missed (1.00 at the nearest rate tried)"),
        ("<", 1.05, "not surely met (1.00 at the nearest rate tried)"),
        ("<", 9.0, "met (1.00 at the nearest rate tried)"),
    ],
)
def test_a_search_without_a_rate_blames_the_bound_that_was_broken(
    run: Run, relation: str, bound: float, verdict: str
) -> None:
    errors = Metric(name="errors", unit="", estimate=Estimate(point=1.0, low=0.5, high=1.5), better=Better.LOWER)
    first = run.results[0]
    load = replace(
        first.case.load, find_rate=True, objectives=(Objective(metric="errors", relation=relation, bound=bound),)
    )
    searched = replace(first, case=replace(first.case, load=load), metrics=(*first.metrics, errors))
    (told,) = notes.objectives(rows(replace(run, results=(searched,))))
    assert (told.verdict, told.met) == (verdict, verdict.startswith("met"))
