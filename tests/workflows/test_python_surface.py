"""`benchwright.compare`, `history`, `findings`: the same as the command line, as objects."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import benchwright as bw
import series_of_runs as made
from benchwright.cli import main
from benchwright.errors import OptionError, StoreError, TargetError
from benchwright.records import Load, Verdict
from benchwright.records.findings import State

CASE = "bench.py::encode"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A series that became 12 % slower, in the store that is set up here."""
    path = tmp_path / "results.db"
    store = bw.open_store(path)
    made.fill(store, made.levels((0.010, 20), (0.0112, 15)))
    store.close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHWRIGHT_STORE", str(path))
    return path


def _printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    main(words)
    return capsys.readouterr().out


# ---- compare ----


def test_a_comparison_is_what_the_command_line_prints(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared = bw.compare("run-0000", "last")
    assert str(compared) == _printed(capsys, "compare", "run-0000", "last")
    assert (compared.verdict, compared.ok) == (Verdict.WORSE, False)
    assert repr(compared) == "<ComparedRuns run-0034 against run-0000: worse>"
    (row,) = compared.rows
    assert {"latency_p50", "throughput"} <= {metric.name for metric in row.metrics}


def test_sides_are_runs_records_files_and_references(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "first.jsonl"
    main(["export", "run-0000", str(file)])
    store = bw.open_store(results)
    record = store.run("run-0034")
    store.close()
    told = {str(bw.compare(first, second)) for first in ("run-0000", file, str(file)) for second in ("last", record)}
    assert len(told) == 1
    fresh = [bw.run("fake:constant?ms=2&clock=virtual", rounds=2, load=Load(samples=30, warmup=0.0)) for _ in range(2)]
    of_both = bw.compare(*fresh, metrics="latency_p50")
    assert (of_both.control, of_both.treatment) == (fresh[0].record, fresh[1].record)
    assert [metric.ratio and metric.ratio.point for row in of_both.rows for metric in row.metrics] == [1.0]


def test_several_runs_against_one_baseline(results: Path) -> None:
    found = bw.compare_several("run-0000", "run-0010", "last", metrics="latency_p50")
    assert isinstance(found, bw.BaselineComparison) and found.verdict == "worse" and not found.ok
    assert [column.treatment.id for column in found.columns] == ["run-0010", "run-0034"]
    assert found.columns[1].rows[0].metrics[0].ratio == bw.compare("run-0000", "last").rows[0].metrics[0].ratio
    frame = found.to_pandas()
    assert list(frame["run"]) == ["run-0010", "run-0034"] and "ratio" in frame
    assert str(found).splitlines()[0].split() == ["case", "metric", "A", "B", "C"]
    assert found._repr_html_().count("<table") == 2 and "against run-0000" in repr(found)
    with pytest.raises(bw.UserError, match="nothing to compare the baseline with"):
        bw.compare_several("run-0000")


def test_a_comparison_as_a_frame_and_in_a_notebook(results: Path) -> None:
    compared = bw.compare("run-0000", "last", metrics="latency_p50")
    (line,) = compared.to_pandas().to_dict("records")
    assert (line["metric"], line["unit"], line["better"], line["verdict"]) == ("latency_p50", "s", "lower", "worse")
    assert line["ratio_low"] < line["ratio"] < line["ratio_high"] and line["ratio"] == pytest.approx(1.12, rel=0.02)
    assert line["before"] == pytest.approx(0.010, rel=0.02) and line["p_value"] < 0.05
    html = compared._repr_html_()
    assert "<table" in html and "run-0034 against run-0000: 1 worse" in html


def test_a_case_of_one_side_has_a_row_too(results: Path) -> None:
    store = bw.open_store(results)
    both = store.run("run-0000")
    store.close()
    other = made.run_of(99, 0.01, case=replace(made.CASE, name="bench.py::decode"))
    second = replace(both, id="second", results=(*both.results, *other.results))
    frame = bw.compare(both, second).to_pandas()
    (alone,) = frame[frame["metric"].isna()].to_dict("records")
    assert alone["case"].startswith("bench.py::decode") and alone["sentence"] == "only in the second run"


def test_one_run_on_both_sides_changed_nothing(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared = bw.compare("last", "last")
    assert "is the same run on both sides" in str(compared) == _printed(capsys, "compare", "last", "last")
    assert compared.ok and "is the same run on both sides" in compared._repr_html_()


@pytest.mark.parametrize("smallest", [0.2, "20%", "20 %"])
def test_the_smallest_change_is_a_share_or_a_text(results: Path, smallest: float | str) -> None:
    assert bw.compare("run-0000", "last", smallest=smallest).verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        (("last", 3), {}, "treatment: 3 is not a run"),
        (("last", "last~1"), {"smallest": 5}, "smallest: 5 is not a share from 0 to 1"),
        (("last", "last~1"), {"smallest": True}, "smallest: True is not a share"),
        (("last", "last~1"), {"smallest": "200%"}, "smallest: 200% is not between"),
        (("last", "last~1"), {"metrics": "latency_p5"}, "neither run has a metric 'latency_p5'"),
        (("nothing.json", "last"), {}, r"nothing\.json: no such file"),
    ],
)
def test_a_wrong_comparison_is_refused(
    results: Path, arguments: tuple[str, str], named: dict[str, str], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        bw.compare(*arguments, **named)  # type: ignore[arg-type]


# ---- history ----


def test_a_history_is_what_the_command_line_prints(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = bw.history(Path("folder") / CASE)
    assert str(found) == _printed(capsys, "history", f"folder/{CASE}")
    assert repr(found) == f"<TargetHistory folder/{CASE}: {len(found.series)} series>"
    assert {one.metric for one in found.series} == {"latency_p50", "throughput"}
    assert all(len(one.steps) == 20 for one in found.series) and not found.misses


def test_a_history_as_a_frame_and_in_a_notebook(results: Path) -> None:
    found = bw.history("*encode", metrics=["latency_p50"], limit=17)
    frame = found.to_pandas()
    assert list(frame["run"]) == [f"run-{i:04d}" for i in range(18, 35)]
    assert set(frame["batch_size"]) == {8} and set(frame["unit"]) == {"s"}
    (step,) = frame[frame["verdict"] == "worse"].to_dict("records")
    assert step["run"] == "run-0020" and step["low"] < step["value"] < step["high"] and step["change"] > 0.1
    html = found._repr_html_()
    assert html.count("<tr>") == 18 and "run-0020" in html and "worse" in html and "<img" in html


def test_a_function_that_was_measured_has_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench_two.py").write_text("def sort():\n    return sorted([3, 1, 2])\n")
    script = (
        "import benchwright as bw, bench_two\n"
        "if __name__ == '__main__':\n"
        "    bw.run(bench_two.sort, rounds=1, load=bw.Load(samples=30, warmup=0.0))\n"
        "    print(bw.history(bench_two.sort).to_pandas()['metric'].to_list())\n"
    )
    (tmp_path / "script.py").write_text(script)
    monkeypatch.delenv("BENCHWRIGHT_STORE", raising=False)
    ended = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "latency_p50" in ended.stdout


def test_a_wrong_history_is_refused(results: Path) -> None:
    with pytest.raises(OptionError, match="limit: 0 is not a whole number"):
        bw.history(CASE, limit=0)
    with pytest.raises(OptionError, match="has no metric 'nothing'"):
        bw.history(CASE, metrics="nothing")
    with pytest.raises(TargetError, match="no results for 'nowhere'"):
        bw.history("nowhere")
    with pytest.raises(StoreError):
        bw.history(CASE, store=results.parent / "absent.db")
    assert not (results.parent / "absent.db").exists()


# ---- findings ----


def test_findings_are_what_the_command_line_prints(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        str(bw.findings()) == "no findings; benchwright findings judge looks for some\n" == _printed(capsys, "findings")
    )
    assert "no findings" in bw.findings()._repr_html_() and len(bw.findings().to_pandas()) == 0
    main(["findings", "judge"])
    listed = bw.findings()
    assert str(listed) == _printed(capsys, "findings")
    (found,) = listed
    assert (len(listed), found.verdict, repr(listed)) == (1, Verdict.WORSE, "<FindingList: 1 findings>")
    main(["findings", "resolve", found.id])
    assert len(bw.findings()) == 0
    assert [one.id for one in bw.findings(state="resolved")] == [found.id]
    assert [one.state for one in bw.findings(state=["all"])] == [State.RESOLVED]


def test_findings_as_a_frame_and_in_a_notebook(results: Path) -> None:
    main(["findings", "judge"])
    (line,) = bw.findings(store=results).to_pandas().to_dict("records")
    assert (line["case"], line["batch_size"], line["metric"], line["state"]) == (CASE, 8, "latency_p50", "open")
    assert line["effect_low"] < line["effect"] < line["effect_high"] and line["run"] == "run-0020"
    html = bw.findings()._repr_html_()
    assert "<table" in html and line["finding"] in html


def test_a_wrong_state_is_refused(results: Path) -> None:
    with pytest.raises(OptionError, match="state: 'opened' is not a state of a finding"):
        bw.findings(state="opened")
    with pytest.raises(OptionError, match="limit: 'x' is not a whole number"):
        bw.findings(limit="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "imports",
    [
        "import benchwright as bw\nfrom benchwright.findings import Finding",
        "import benchwright as bw\nbw.findings\nfrom benchwright.findings import Finding",
        "from benchwright.findings import Finding\nimport benchwright as bw",
        "import benchwright.findings as old, benchwright as bw\nFinding = old.Finding",
        "from benchwright import findings\nimport benchwright as bw\nFinding = findings.Finding",
    ],
)
def test_the_function_and_the_module_of_that_name_both_hold(results: Path, imports: str) -> None:
    script = (
        f"{imports}\n"
        "import benchwright.records.findings as now\n"
        "assert Finding is now.Finding\n"
        "print(bw.findings(state='all'), bw.findings(state='open'))\n"
        "import inspect; inspect.signature(bw.findings)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout.count("no findings") == 2
