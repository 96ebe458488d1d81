import io
import re
from dataclasses import replace

import pytest

import sample_runs as samples
from benchwright.records import Better, Estimate, Metric, ResultWarning, Run
from benchwright.report.footer import next_steps
from benchwright.report.markdown import run_markdown
from benchwright.report.table import print_run, run_text


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_the_table_holds_numbers_intervals_units_and_status(run: Run) -> None:
    text = run_text(run)
    head, line = text.splitlines()[:2], text.splitlines()[3]
    assert "median latency" in head[0] and "(ms)" in head[1] and "(MiB)" in head[1]
    assert re.search(r"onnxruntime +1 +1 +1\.799 ± 0\.020 .* 545\.4 ± +3\.4 .* ok$", line)
    assert re.search(r"torch .*failed$", text.splitlines()[7])
    assert "device" not in text


def test_a_pipe_gets_plain_text_in_one_line_for_each_case(run: Run) -> None:
    text = run_text(run)
    assert "\x1b" not in text
    assert sum("onnxruntime" in line and "±" in line for line in text.splitlines()) == 2


def test_a_terminal_gets_colour(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    print_run(run, file=out, width=200)
    assert "\x1b[" in out.getvalue()


def test_below_are_warnings_failures_instrument_and_what_next(run: Run) -> None:
    out = io.StringIO()
    steps = next_steps(run, saved="results.db", flags="--store results.db")
    print_run(run, file=out, next_steps=steps, saved=True)
    text = out.getvalue()
    assert "Warning noisy-machine (2 times): others took 12 % of the CPU" in text
    assert "stop what else runs here" in text
    assert "failed in rounds 1, 2, 3: torch cannot read model.onnx" in text
    assert (
        f"last 10 of 15 lines kept (all: benchwright show {run.id} --worker-log)" in text and "libcudart.so.12" in text
    )
    assert "Instrument: noisy in 2 of 12 results" in text
    assert f"Run {run.id} saved in results.db" in text
    assert f"benchwright report {run.id} --store results.db" in text


@pytest.mark.parametrize(
    ("reached", "said"),
    [
        (0.0, "± and [low, high]: from too few values to say how sure they are\n"),
        (
            0.5,
            "50 % intervals; 1 of 1 reaches less: too few independent calls (benchwright show --json)\n",
        ),
        (0.95, "± and [low, high]: 95 % intervals\n"),
    ],
)
def test_what_the_intervals_are_is_said_as_far_as_it_is_known(run: Run, reached: float, said: str) -> None:
    estimate = Estimate(point=2.0, low=1.0, high=3.0, confidence=reached)
    metric = Metric(name="NET latency", unit="s", better=Better.LOWER, estimate=estimate, count=2)
    one = replace(run.results[0], metrics=(metric,), samples=(), warnings=())
    assert said in run_text(replace(run, results=(one,), planned=1))


def test_a_run_that_is_not_saved_names_no_command_that_would_not_find_it(run: Run) -> None:
    text = run_text(run)
    assert "last 10 of 15 lines kept:" in text and "benchwright show" not in text


@pytest.mark.parametrize("width", [20, 40, 60, 80, 90, 100, 120, 140, 200])
def test_no_width_cuts_anything_off(run: Run, width: int) -> None:
    text = run_text(run, width=width)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    squeezed = re.sub(r"\s+", "", text)
    for number in ("1.799±0.020", "9.101±0.024", "2.384", "12.22", "203.23", "223.26"):
        assert number in squeezed
    if "(min to p99)" not in text and "2.384±0.071" not in squeezed:
        assert "leftout" in squeezed  # what is dropped is said


def test_stacked_cases_have_each_their_own_unit(run: Run) -> None:
    """A case of 20 µs beside one of 2 ms is no reason to say 0.020 ms: nothing stands beside it."""
    first = run.results[0]
    fast = [replace(m, estimate=_scaled(m.estimate, 0.001)) if m.unit == "s" else m for m in first.metrics]
    other = replace(first, id="fast", case=replace(first.case, name="fast.onnx"), metrics=tuple(fast))
    lines = run_text(replace(run, results=(first, other)), width=44).splitlines()
    medians = [line.split()[-1] for line in lines if "median latency" in line]
    assert medians == ["ms", "µs"]


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    ends = [None if end is None else end * factor for end in (estimate.low, estimate.high)]
    return replace(estimate, point=estimate.point * factor, low=ends[0], high=ends[1])


def test_what_a_narrow_terminal_leaves_out_is_said(run: Run) -> None:
    assert "some intervals are left out" in run_text(run, width=90)
    assert "some intervals are left out" not in run_text(run, width=140)


def test_an_ascii_terminal_gets_ascii(run: Run) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    print_run(run, file=out, next_steps="模型")
    out.flush()
    text = raw.getvalue().decode("ascii")
    assert "1.799 +- 0.020" in text and "\\u6a21" in text
    assert "\\u25" not in text and "@" in text  # the distribution


def test_names_cannot_drive_the_terminal(run: Run) -> None:
    evil = samples.rename(run, ["\x1b]0;owned\x07", "[bold]x[/bold]", "two\nlines"])
    text = run_text(evil)
    assert "\x1b" not in text and "\x07" not in text
    assert "\\x1b]0;owned\\x07" in text and "[bold]x[/bold]" in text and "two\\nlines" in text


def test_many_wordings_of_a_warning_are_counted(run: Run) -> None:
    seen = [ResultWarning(code="few", seen=f"only {i} calls", remedy="measure longer") for i in range(12)]
    results = [replace(r, warnings=(w,)) for r, w in zip(run.results[:12], seen, strict=True)]
    text = run_text(replace(run, results=tuple(results)))
    assert re.search(r"Warning few \(12 times\): only 0 to 11 calls$", text, re.M)
    assert text.count("measure longer") == 1


def test_counts_of_different_wordings_add_up(run: Run) -> None:
    words = ["too few calls", "too few calls", "the clock went back"]
    warned = [ResultWarning(code="odd", seen=w, remedy="look") for w in words]
    results = [replace(r, warnings=(w,)) for r, w in zip(run.results[:3], warned, strict=True)]
    text = run_text(replace(run, results=tuple(results)))
    assert "Warning odd (3 times): too few calls (2 of them); and 1 more like it" in text


def test_a_run_without_results_says_so(run: Run) -> None:
    assert "nothing was measured" in run_text(replace(run, results=()))


def test_rounds_get_a_column_only_when_they_differ(run: Run) -> None:
    assert "rounds" not in run_text(run).splitlines()[1]
    assert "3 rounds a case" in run_text(run)
    assert "rounds" in run_text(replace(run, results=run.results[:-1])).splitlines()[1]


def test_params_that_few_cases_have_stand_behind_their_names(run: Run) -> None:
    """Tests of one suite have each their own parameters: a column for each of them is wider than any terminal."""
    first = run.results[0]
    cases = [replace(first.case, name=f"test_{name}", params={name: value}) for name in "abcd" for value in (1, 2)]
    apart = replace(run, results=tuple(replace(first, id=f"{i}", case=case) for i, case in enumerate(cases)))
    lines = run_text(apart).splitlines()
    assert lines[1].split()[0] == "case" and " a " not in lines[1]
    assert [line[:10] for line in lines[3:7]] == ["test_a a=1", "test_a a=2", "test_b b=1", "test_b b=2"]
    assert "| test\\_a a=1 |" in run_markdown(apart)
    shared = [replace(case, name="test", params={"a": i, "b": 0}) for i, case in enumerate(cases)]
    alike = replace(run, results=tuple(replace(first, id=f"{i}", case=case) for i, case in enumerate(shared)))
    assert run_text(alike).splitlines()[1].split()[:2] == ["case", "a"]
