import csv
import io
from dataclasses import replace

import sample_runs as samples
from benchwright.records import Run
from benchwright.report.csv import run_csv, samples_csv


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_line_for_each_result_and_metric_in_base_units(run: Run) -> None:
    lines = read(run_csv(run))
    assert len(lines) == sum(len(r.metrics) or 1 for r in run.results)
    first = next(line for line in lines if line["metric"] == "latency_p50")
    metric = run.results[0].metric("latency_p50")
    assert metric is not None
    assert float(first["value"]) == metric.estimate.point  # exact, not rounded
    assert (first["unit"], first["better"], first["runtime"]) == ("s", "lower", "onnxruntime")
    assert (first["batch_size"], first["copies"], first["round"]) == ("1", "1", "0")


def test_a_failed_result_has_a_line_with_its_reason(run: Run) -> None:
    failed = [line for line in read(run_csv(run)) if line["status"] == "failed"]
    assert len(failed) == 3
    assert failed[0]["metric"] == "" and failed[0]["error"] == "LoadError: torch cannot read model.onnx"


def test_a_param_named_like_a_column_does_not_overwrite_it(run: Run) -> None:
    first = run.results[0]
    case = replace(first.case, params={"value": 3, "case": "x"})
    line = read(run_csv(replace(run, results=(replace(first, case=case),))))[0]
    assert line["case"] == "model.onnx" and line["param_case"] == "x" and line["param_value"] == "3"


def test_every_call_can_be_had(run: Run) -> None:
    lines = read(samples_csv(run))
    assert len(lines) == sum(len(s.columns["latency"]) for r in run.results for s in r.samples)
    assert [int(line["latency_ns"]) for line in lines[:5]] == list(run.results[0].samples[0].columns["latency"][:5])
    assert {line["copy"] for line in lines} == {"0", "1"}


def test_no_spreadsheet_runs_a_name_as_a_formula(run: Run) -> None:
    lines = read(run_csv(samples.rename(run, ["=cmd|' /C calc'!A0"])))
    assert lines[0]["case"].startswith("'=")


def test_a_sample_says_how_many_calls_it_holds(run: Run) -> None:
    first = run.results[0]
    looped = tuple(replace(s, loops=1024) for s in first.samples)
    case = replace(first.case, params={"loops": 7})
    line = read(samples_csv(replace(run, results=(replace(first, samples=looped, case=case),))))[0]
    assert (line["loops"], line["param_loops"]) == ("1024", "7")
