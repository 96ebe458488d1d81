"""What tables show of served models: time to first token, gaps, rates; failures named, addresses out of the way."""

from __future__ import annotations

import pytest

from benchwright.analysis.rows import rows
from benchwright.records import Run
from benchwright.report.case_names import name_cases, name_shared
from benchwright.report.columns import columns
from benchwright.report.csv import run_csv
from benchwright.report.data_frames import to_pandas
from benchwright.report.html import html_page
from benchwright.report.markdown import run_markdown
from benchwright.report.notebook import html_table
from benchwright.report.table import USUAL_WIDTH, run_text

STREAMED = [
    *("TTFT p50", "TTFT p99", "ITL p50", "ITL p99", "latency p50", "latency p99"),
    *("output tokens", "tokens per user", "throughput"),
]


def _titles(run: Run) -> list[str]:
    return [column.title for column in columns(rows(run))]


def test_streamed_answers_have_the_columns_that_people_look_for(served_sweep: Run) -> None:
    assert _titles(served_sweep) == STREAMED


def test_objectives_add_goodput_and_failures_add_errors(served_rates: Run, served_failures: Run) -> None:
    assert _titles(served_rates) == [*STREAMED, "goodput"]
    assert _titles(served_failures) == [*STREAMED, "errors"]


def test_answers_that_come_whole_have_neither_tokens_nor_gaps(served_embeddings: Run) -> None:
    assert _titles(served_embeddings) == ["latency p50", "latency p99", "throughput"]


@pytest.mark.parametrize("width", [None, 120, 100])
def test_the_table_fits_a_terminal_and_the_address_stands_above_it(served_sweep: Run, width: int | None) -> None:
    lines = run_text(served_sweep, width=width).splitlines()
    rule = next(place for place, line in enumerate(lines) if line.startswith("──"))
    table = lines[: rule + 1 + len(rows(served_sweep))]
    assert max(map(len, table)) <= (width or USUAL_WIDTH)
    assert "/v1/chat/completions" in table[0] and "model=scripted" in table[0]
    assert not any("/v1/" in line for line in table[1:])
    assert "TTFT" in " ".join(table[1:rule]) and "ITL" in " ".join(table[1:rule])


def test_below_stands_how_many_requests_failed_and_why(served_sweep: Run, served_failures: Run) -> None:
    made = sum(len(samples.columns["end"]) for result in served_sweep.results for samples in result.samples)
    assert f"Requests: {made} made, none failed" in run_text(served_sweep)
    text = run_text(served_failures)
    assert "made, 3 failed (" in text
    assert "1 throttled: HTTP 429: Rate limit reached (retry after 1)" in text
    assert "1 cut off in the middle" in text and "1 failed within the stream: the engine died" in text
    for shown in (run_markdown(served_failures), html_page([served_failures]), html_table(served_failures)):
        assert "failed within the stream: the engine died" in shown and "TTFT p50" in shown


def test_files_and_frames_hold_every_metric(served_sweep: Run) -> None:
    wanted = {"ttft_p50", "ttft_p99", "itl_p50", "itl_p99", "e2e_p50", "tpot_p50", "output_tokens_rate", "errors"}
    assert wanted <= {line.split(",")[6] for line in run_csv(served_sweep).splitlines()}
    assert wanted <= {*to_pandas(served_sweep)["metric"]}


def test_several_addresses_lose_the_route_that_they_share(served_sweep: Run) -> None:
    first, second, *_ = rows(served_sweep)
    assert name_shared([first, second]) == first.name
    from dataclasses import replace

    other = replace(second, case=replace(second.case, name="other:80/v1/chat/completions"))
    assert name_shared([first, other]) == ""
    assert name_cases([first, other]) == [first.name.removesuffix("/v1/chat/completions"), "other:80"]


def test_a_page_shows_all_of_many_columns_at_once(served_sweep: Run, served_embeddings: Run) -> None:
    assert '<table class="wide">' in html_page([served_sweep])
    assert '<table class="wide">' not in html_page([served_embeddings])
