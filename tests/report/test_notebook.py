from dataclasses import replace

import sample_runs as samples
from benchwright.records import Run
from benchwright.report.notebook import html_table


def test_a_table_with_intervals_and_notes(run: Run) -> None:
    text = html_table(run)
    assert text.count("<tr>") == 6 and "± 0.020" in text and "noisy-machine" in text and "torch cannot read" in text


def test_no_script_no_style_and_everything_escaped(run: Run) -> None:
    text = html_table(samples.rename(run, ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>']))
    assert "<script" not in text and "<img src" not in text and "<style" not in text
    assert text.count("<img ") == text.count('src="data:image/svg+xml;base64,') == 1
    assert "&lt;script&gt;" in text


def test_nothing_measured(run: Run) -> None:
    assert "nothing was measured" in html_table(replace(run, results=()))
