from dataclasses import replace

from benchwright.analysis.calls import WeightedLatencies, calls
from benchwright.analysis.rows import rows
from benchwright.records import Run
from benchwright.report.terminal import histogram, plots, scatter, sparkline


def found(run: Run) -> WeightedLatencies:
    made = calls(run.results[:1])
    assert made is not None
    return made


def test_a_sparkline_peaks_where_the_calls_are(run: Run) -> None:
    line = sparkline(found(run), 12)
    assert len(line) == 12 and "█" in line[:7] and "█" not in line[7:]


def test_a_histogram_counts_every_call(run: Run) -> None:
    text = histogram(found(run), "title", 80)
    counts = [int(line.split()[-1].replace(",", "")) for line in text.splitlines()[1:17]]
    beyond = int(text.splitlines()[17].split()[1])
    assert sum(counts) + beyond == 2000
    assert max(map(len, text.splitlines())) <= 80


def test_a_constant_latency_still_draws(run: Run) -> None:
    import numpy as np

    same = WeightedLatencies(seconds=np.array([1e-3]), counts=np.array([5]), shortest=1e-3, longest=1e-3)
    assert "5 calls" in histogram(same, "constant")
    alone = WeightedLatencies(seconds=np.array([1e-3]), counts=np.array([1]), shortest=1e-3, longest=1e-3)
    assert "1 call, " in histogram(alone, "constant")
    assert sparkline(same).startswith("█")


def test_the_scatter_puts_faster_left_and_higher_up(run: Run) -> None:
    text = scatter(rows(run), 80)
    lines = [line.partition("│")[2] for line in text.splitlines() if "│" in line]
    where = {c: (line.index(c), i) for i, line in enumerate(lines) for c in "abcd" if c in line}
    assert where["a"][0] < where["b"][0] and where["d"][1] < where["b"][1] < where["a"][1]
    assert "  d ◆ model.onnx runtime=openvino batch_size=8 copies=2" in text  # no other has a higher throughput


def test_a_plot_for_each_case_with_calls(run: Run) -> None:
    text = plots(rows(run), 80)
    assert text.count(" calls, ") == 4 and "throughput against median latency" in text
    assert plots(rows(replace(run, results=run.results[4:5]))) == ""
