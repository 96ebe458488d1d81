"""Pictures of served models: the curve with its knee, requests over time, the waterfall, distributions."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from array import array
from dataclasses import replace
from pathlib import Path

from benchwright.analysis.knee import find_knee, sweeps
from benchwright.analysis.rows import rows
from benchwright.records import Run
from benchwright.report.ascii import ASCII
from benchwright.report.csv import samples_csv
from benchwright.report.picture import write_scaling
from benchwright.report.plots import case_plots, overview_plots
from benchwright.report.svg import Plot, drawing
from benchwright.report.terminal import plots, scaling_text
from benchwright.worker.endpoints.reading import NEVER
from served_runs import TOKENS

SVG = "{http://www.w3.org/2000/svg}"


def _parsed(plot: Plot) -> ElementTree.Element:
    return ElementTree.fromstring(drawing(plot, standalone=True))


def _classes(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in root.iter() if name in one.get("class", "").split()]


def test_a_sweep_is_a_curve_with_one_knee(served_sweep: Run) -> None:
    table = rows(served_sweep)
    found = {plot.name: plot for plot in overview_plots(table)}
    assert [*found][:2] == ["load-0", "tradeoff-latency-p99"]
    root = _parsed(found["load-0"])
    knee = find_knee(sweeps(table)[0])
    assert len(_classes(root, "knee")) == 1 and len(_classes(root, "point")) == 5
    marked = [mark.attrib["data-tip"] for mark in _classes(root, "point") if "the knee" in mark.attrib["data-tip"]]
    assert len(marked) == 1 and marked[0].startswith(f"{knee.point.load:g} user")
    assert "largest throughput over latency" in found["load-0"].description


def test_goodput_is_drawn_against_the_rate(served_rates: Run) -> None:
    found = {plot.name: plot for plot in overview_plots(rows(served_rates))}
    lines = _classes(_parsed(found["goodput-0"]), "line")
    assert len(lines) == 2 and "ttft_p90 < 100 ms" in found["goodput-0"].description
    good = [float(text) for text in re.findall(r"objective ([\d.]+)", lines[1].attrib["data-tips"])]
    assert len(good) == 3
    assert len(lines[0].attrib["data-tips"].split("|")) == 3


def test_requests_over_time_mark_failures_and_have_the_timelines_below(served_failures: Run) -> None:
    (row,) = rows(served_failures)
    found = {plot.name: plot for plot in case_plots(row, 0)}
    assert [*found] == ["case-0-requests", "case-0-waterfall", "case-0-tokens"]
    root = _parsed(found["case-0-requests"])
    crosses = [one.attrib["data-tip"] for one in _classes(root, "cross") if "data-tip" in one.attrib]
    assert sorted(tip.split("\n")[0] for tip in crosses) == [
        *("failed: cut", "failed: stream_error", "failed: throttled")
    ]
    dots = [one for one in _classes(root, "dots") if "data-x" in one.attrib]
    assert [len(one.attrib["data-x"].split()) for one in dots] == [row.metrics["ttft_p50"].count] * 2
    drawn = len([line for line in row.ok[0].timelines if len(line.seconds) > 1])
    assert len(_classes(root, "line")) == drawn


def test_the_waterfall_has_a_bar_for_each_request_and_a_tick_for_each_token(served_failures: Run) -> None:
    plot = next(plot for plot in case_plots(rows(served_failures)[0], 0) if plot.name.endswith("waterfall"))
    root = _parsed(plot)
    bars = _classes(root, "request")
    failed = [bar.attrib["data-tip"] for bar in _classes(root, "failed")]
    assert len(bars) == min(50, len(served_failures.results[0].samples[0].columns["end"]))
    assert all("failed: " in tip for tip in failed)
    good = next(one for one in _classes(root, "tick-marks"))
    assert good.attrib["d"].count("M") <= TOKENS
    assert "first token after" in bars[0].attrib["data-tip"]


def test_bars_of_requests_that_lie_far_apart_begin_at_zero(served_failures: Run) -> None:
    (result,) = served_failures.results
    (samples,) = result.samples
    instants = ("scheduled", "first_byte", "first_text", "end")
    later = {
        name: array("q", [at + place * 10**12 * (at != NEVER) for place, at in enumerate(samples.columns[name])])
        for name in instants
    }
    apart = replace(samples, columns={**samples.columns, **later}, chunks={})
    table = rows(replace(served_failures, results=(replace(result, samples=(apart,)),)))
    plot = next(plot for plot in case_plots(table[0], 0) if plot.name.endswith("waterfall"))
    assert "since each was scheduled" in plot.body
    assert max(float(bar.attrib["width"]) for bar in _classes(_parsed(plot), "request")) > 400
    text = plots(table, 100)
    assert "each from its own instant" in text and max(map(len, text.splitlines())) <= 100


def test_distributions_count_every_first_token_and_every_gap(served_failures: Run) -> None:
    (row,) = rows(served_failures)
    plot = next(plot for plot in case_plots(row, 0) if plot.name.endswith("tokens"))
    counts = [
        sum(int(tip.split("\n")[1].replace(",", "")) for tip in area.attrib["data-tips"].split("|"))
        for area in _classes(_parsed(plot), "area")
    ]
    assert counts == [row.metrics["ttft_p50"].count, row.metrics["itl_p50"].count]


def test_a_terminal_shows_them_in_signs(served_sweep: Run, served_failures: Run) -> None:
    text = plots(rows(served_failures), 100)
    assert " TTFT " in text and " ITL " in text and "the 12 slowest requests" in text and "┼" in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.translate(ASCII).isascii()
    table = rows(served_sweep)
    assert "Knee at " in plots(table, 100) and "Knee at " in scaling_text(table, [], [], picture=None, width=100)


def test_the_picture_of_a_sweep_is_a_file(served_sweep: Run, tmp_path: Path) -> None:
    path = write_scaling(rows(served_sweep), tmp_path / "sweep.svg")
    assert path.read_text(encoding="utf-8").startswith("<?xml")


def test_raw_requests_have_their_outcome_in_words_and_every_chunk(served_failures: Run) -> None:
    lines = list(csv.DictReader(io.StringIO(samples_csv(served_failures))))
    samples = served_failures.results[0].samples[0]
    assert len(lines) == len(samples.columns["end"])
    assert {line["outcome"] for line in lines} == {"ok", "throttled", "cut", "stream_error"}
    good = next(line for line in lines if line["outcome"] == "ok")
    assert (good["status"], good["output_tokens"], good["param_output_tokens"]) == ("200", "8", "8")
    assert good["first_reasoning_ns"] == "" and int(good["first_text_ns"]) > 0
    assert sum(len(line["chunk_at_ns"].split()) for line in lines) == len(samples.chunks["at"])
    assert good["chunk_at_ns"].split()[good["chunk_kind"].split().index("2")] == good["first_text_ns"]
