import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.analysis.rows import rows
from benchwright.analysis.scaling import pareto_front
from benchwright.records import Run
from benchwright.report.plots import case_plots, distribution, overview_plots, percentiles, tradeoff, write_svgs
from benchwright.report.svg import drawing
from benchwright.report.timeplots import latency_over_time, timelines

SVG = "{http://www.w3.org/2000/svg}"


def parsed(plot: object) -> ElementTree.Element:
    assert plot is not None
    return ElementTree.fromstring(drawing(plot, standalone=True))  # type: ignore[arg-type]


def series(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [g for g in root.iter(f"{SVG}g") if "series" in g.get("class", "")]


def test_every_case_with_numbers_is_in_every_overview_plot(run: Run) -> None:
    plots = overview_plots(rows(run))
    assert [p.name for p in plots] == ["tradeoff-latency-p50", "tradeoff-latency-p99", "distribution", "percentiles"]
    assert [len(series(parsed(p))) for p in plots] == [4, 4, 4, 4]


def test_the_distribution_counts_every_call(run: Run) -> None:
    first = series(parsed(distribution(rows(run))))[0]
    area = next(p for p in first.iter(f"{SVG}path") if p.get("class") == "area")
    counts = [int(words.split("\n")[2].split()[0].replace(",", "")) for words in area.attrib["data-tips"].split("|")]
    assert sum(counts) == 3 * 2000
    assert len(area.attrib["data-x"].split()) == len(counts)


def test_percentile_lines_reach_the_longest_call(run: Run) -> None:
    table = rows(run)
    line = next(p for p in series(parsed(percentiles(table)))[0].iter(f"{SVG}path") if p.get("class") == "line")
    longest = table[0].metrics["latency_max"].estimate.point
    assert line.attrib["data-tips"].split("|")[-1].endswith(f"longest {longest * 1e3:.3f} ms")


def test_the_front_is_marked(run: Run) -> None:
    marks = [p for p in parsed(tradeoff(rows(run))).iter(f"{SVG}path") if "point" in p.get("class", "")]
    filled = [m.attrib["data-tip"] for m in marks if "hollow" not in m.attrib["class"]]
    assert len(marks) == 4 and len(filled) == 2
    assert all(words.endswith("on the Pareto front") for words in filled)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12))
def test_no_point_beats_the_front_and_the_front_beats_the_rest(points: list[tuple[int, int]]) -> None:
    front = [points[i] for i in pareto_front(points)]
    for x, y in points:
        dominated = any(a <= x and b >= y and (a, b) != (x, y) for a, b in points)
        assert dominated != ((x, y) in front)


def test_over_time_is_thinned_and_keeps_the_spikes(run: Run) -> None:
    row = rows(run)[0]
    lines = [p for p in parsed(latency_over_time(row, 0)).iter(f"{SVG}path") if "line" in p.get("class", "")]
    assert len(lines) == 3
    assert all(len(line.attrib["data-x"].split()) <= 120 for line in lines)
    words = "".join(line.attrib["data-tips"] for line in lines)
    assert f"to {row.metrics['latency_max'].estimate.point * 1e3:.3f} ms" in words


def test_a_plot_for_each_timeline(run: Run) -> None:
    assert [p.name for p in timelines(rows(run)[0], 0)] == ["case-0-rss", "case-0-cpu"]
    assert [p.heading for p in case_plots(rows(run)[0], 0)][1:] == [
        "Memory over time",
        "CPU (100 % = one core) over time",
    ]
    assert case_plots(rows(run)[-1], 4) == []


def test_no_samples_no_plots(run: Run) -> None:
    bare = replace(run, results=tuple(replace(r, samples=(), timelines=()) for r in run.results))
    assert [p.name for p in overview_plots(rows(bare))] == ["tradeoff-latency-p50", "tradeoff-latency-p99"]
    assert latency_over_time(rows(bare)[0], 0) is None


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_very_few_calls_still_draw(run: Run, calls: int) -> None:
    first = run.results[0]
    columns = {name: values[:calls] for name, values in first.samples[0].columns.items()}
    few = replace(run, results=(replace(first, samples=(replace(first.samples[0], columns=columns),)),))
    for plot in [*overview_plots(rows(few)), *case_plots(rows(few)[0], 0)]:
        parsed(plot)


def test_svg_files_stand_alone(run: Run, tmp_path: Path) -> None:
    written = write_svgs(run, tmp_path / "plots")
    assert len(written) == 4 + 4 * 3
    for path in written:
        root = ElementTree.parse(path).getroot()
        assert root.tag == f"{SVG}svg" and root.find(f"{SVG}title") is not None and root.find(f"{SVG}style") is not None


def test_rounds_are_told_apart_by_colour_and_named_in_a_key(run: Run) -> None:
    row = rows(run)[1]
    for plot in case_plots(row, 1):
        groups = [g.get("class") for g in parsed(plot).iter(f"{SVG}g") if "series" in g.get("class", "")]
        assert groups == ["series c0", "series c1", "series c2"]
        assert "round123" in "".join(words for t in parsed(plot).iter(f"{SVG}text") if (words := t.text) in "round123")  # type: ignore[misc]
    alone = replace(run, results=tuple(r for r in run.results if r.round == 0))
    (group,) = parsed(case_plots(rows(alone)[1], 1)[0]).iter(f"{SVG}g")
    assert group.get("class") == "series c1"  # the colour of the case, and nothing to tell apart
