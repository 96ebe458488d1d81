"""`benchwright run`: what it prints, what it keeps, how it ends; as a process where that may matter."""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import make_model
from benchwright import schema
from benchwright.records import Result, Run, Status
from benchwright.store import open_store

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]
FAKE = "fake:constant?ms=1&clock=virtual"
QUICK = ("--rounds", "1", "--samples", "50", "--warmup", "0")


def _document(ended: subprocess.CompletedProcess[str]) -> Run:
    assert ended.stderr == ""
    return schema.loads(ended.stdout, Run)


def _only(ended: subprocess.CompletedProcess[str]) -> Result:
    (result,) = _document(ended).results
    return result


def _codes(result: Result) -> list[str]:
    return [warning.code for warning in result.warnings]


def test_a_table_is_printed_and_the_run_saved(benchwright: Benchwright, tmp_path: Path) -> None:
    ended = benchwright("run", FAKE, "--rounds", "2", "--samples", "50", "--tag", "first", "--reason", "to see")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""  # progress is for terminals
    assert FAKE in ended.stdout and "1.000" in ended.stdout
    store = open_store(tmp_path / ".benchwright" / "results.db")
    (summary,) = store.runs()
    run = store.run(summary.id)
    store.close()
    assert (summary.results, summary.failed, summary.tags) == (2, 0, ("first",))
    assert run.reason == "to see"
    assert run.command[:3] == ("benchwright", "run", FAKE)
    assert [result.metric("latency_p50").estimate.point for result in run.results] == [0.001, 0.001]  # type: ignore[union-attr]
    assert len(run.results[0].samples[0].columns["latency"]) == 50
    assert summary.id in ended.stdout


def test_json_is_the_run_and_the_same_as_what_is_kept(benchwright: Benchwright, tmp_path: Path) -> None:
    ended = benchwright("run", FAKE, *QUICK, "--json", "--store", "mine.db")
    run = _document(ended)
    assert ended.returncode == 0
    store = open_store(tmp_path / "mine.db")
    assert store.run(run.id) == run
    store.close()
    assert json.loads(ended.stdout)["kind"] == "run"


def test_lists_are_dimensions_and_every_combination_a_case(inside: Benchwright) -> None:
    run = _document(inside("run", FAKE, *QUICK, "--batch-size", "1,8", "--rate", "10,20", "--no-save", "--json"))
    found = [(r.case.params["batch_size"], r.case.params["rate"]) for r in run.results]
    assert sorted(found, key=str) == sorted([(b, r) for b in (1, 8) for r in (10.0, 20.0)], key=str)


def test_not_saving_leaves_nothing_behind(inside: Benchwright, tmp_path: Path) -> None:
    assert inside("run", FAKE, *QUICK, "--no-save").returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_python_callable_of_the_examples(inside: Benchwright, root: Path) -> None:
    target = f"{root / 'examples' / 'bench_text.py'}::tokenize"
    run = _document(inside("run", target, "--rounds", "1", "--duration", "0.1", "--no-save", "--json"))
    assert {r.case.name for r in run.results} == {"bench_text.py::tokenize"}
    assert [r.case.params["words"] for r in run.results] == [100, 1000]
    assert all(r.status is Status.OK for r in run.results)


def test_a_model_on_onnxruntime(inside: Benchwright, root: Path, tmp_path: Path) -> None:
    model = make_model.make("tiny")
    (tmp_path / "tiny.onnx").write_bytes(model.SerializeToString())
    ended = inside(
        "run", "tiny.onnx", "--runtime", "onnxruntime", "--rounds", "1", "--duration", "0.2", "--no-save", "--json"
    )
    result = _only(ended)
    assert result.status is Status.OK, result.error
    assert result.case.name == "tiny.onnx"
    assert result.environment.runtimes["onnxruntime"]
    assert result.samples[0].calls > 100


def test_a_command_is_timed_per_call(inside: Benchwright) -> None:
    result = _only(inside("run", *QUICK, "--no-save", "--json", "--samples", "5", "--", "sh", "-c", "exit 0"))
    assert result.status is Status.OK, result.error
    assert result.case.name == "sh -c 'exit 0'"
    assert result.samples[0].calls == 5
    ended = inside("run", *QUICK, "--no-save", "--json", "--", "sh", "-c", "echo oh dear >&2; exit 3")
    result = _only(ended)
    assert ended.returncode == 1
    assert result.error is not None
    assert "exited with status 3" in result.error.message
    assert "oh dear" in result.error.log_tail


def test_an_open_loop(inside: Benchwright, tmp_path: Path) -> None:
    common = ("--rounds", "1", "--warmup", "0", "--no-save", "--json")
    constant = _only(inside("run", FAKE, *common, "--rate", "100", "--arrivals", "constant", "--duration", "1"))
    assert constant.metric("rate").estimate.point == pytest.approx(100)  # type: ignore[union-attr]
    (tmp_path / "trace").write_text("0.1\n0.2\n0.4\n", encoding="utf-8")
    traced = _only(inside("run", FAKE, *common, "--trace", "trace"))
    assert list(traced.samples[0].columns["scheduled"]) == [100_000_000, 200_000_000, 400_000_000]


def test_each_round_of_an_open_loop_draws_its_own_arrivals(inside: Benchwright) -> None:
    common = (FAKE, "--rate", "50", "--duration", "1", "--rounds", "3", "--no-save", "--seed", "4")
    first, again = (_document(inside("run", *common, "--json")) for _ in range(2))
    rates = [r.instrument["intended_rate"] for r in first.results]
    assert len(set(rates)) == 3
    assert rates == [r.instrument["intended_rate"] for r in again.results]  # the seed repeats them
    assert {r.case.load.seed for r in first.results} == {4}
    assert {r.instrument["asked_rate"] for r in first.results} == {50.0}
    assert rates == [r.samples[0].calls / 1.0 for r in first.results]  # of the second that was asked for
    assert rates == [r.metric("throughput").estimate.point for r in first.results]  # type: ignore[union-attr]
    said = next(line for line in inside("run", *common).stdout.splitlines() if line.startswith("Rate of"))
    drawn = rf"drawn {min(rates):.1f}/s to {max(rates):.1f}/s \(Poisson, each round its own\)"
    assert re.search(rf"asked for 50\.0/s, {drawn}, delivered [\d.]+/s to [\d.]+/s$", said)


def test_the_highest_rate_is_found(inside: Benchwright) -> None:
    target = "fake:constant?ms=5&clock=virtual"
    common = ("--rounds", "1", "--no-save", "--json", "--find-rate")
    ended = inside("run", target, *common, "--arrivals", "constant", "--objective", "p99<20ms")
    assert ended.returncode == 0
    found = _only(ended).metric("max_rate")
    assert found is not None
    assert 200 * 0.97 <= found.estimate.point <= 201
    ended = inside("run", target, *common, "--objective", "p99<1ms")
    assert ended.returncode == 1
    assert "objective-missed" in _codes(_only(ended))


def test_every_objective_is_shown_as_it_was_read_with_its_verdict(inside: Benchwright, tmp_path: Path) -> None:
    bounds = ("--objective", "p99<20ms", "--objective", "p50<0.5ms", "--objective", "throughput>100")
    ended = inside("run", FAKE, *QUICK, "--rounds", "2", "--batch-size", "1,8", *bounds, "--report", "it.html")
    wanted = (
        "Objective latency_p99 < 20.0 ms: met by every case (1.00 ms)",
        "Objective throughput > 100/s: met by every case (1.00 k/s, 8.00 k/s)",
        f"Objective latency_p50 < 500 µs: missed by {FAKE} batch_size=1 (1.00 ms, in 2 of 2 rounds), {FAKE} ",
    )
    page = (tmp_path / "it.html").read_text()
    for said in wanted:
        assert said in ended.stdout
        assert said in inside("show", "last").stdout
        assert html.escape(said.removeprefix("Objective "), quote=False) in page
    run = _document(inside("show", "last", "--format", "json"))
    judged = run.results[0].instrument["objectives"]
    assert judged == {
        "latency_p99 < 20.0 ms": {"met": True, "value": 0.001, "unit": "s"},
        "latency_p50 < 500 µs": {"met": False, "value": 0.001, "unit": "s"},
        "throughput > 100/s": {"met": True, "value": 1000.0, "unit": "/s"},
    }


def test_a_missed_objective_ends_with_1_and_says_by_how_much(inside: Benchwright) -> None:
    ended = inside("run", FAKE, *QUICK, "--no-save", "--json", "--objective", "p99<0.5ms")
    (warning,) = [w for w in _only(ended).warnings if w.code == "objective-missed"]
    assert ended.returncode == 1
    assert warning.seen == "latency_p99 is 1.00 ms, not < 500 µs"
    assert inside("run", FAKE, *QUICK, "--no-save", "--objective", "p99<=1ms").returncode == 0


def test_a_failed_case_ends_with_1_and_the_others_are_measured(inside: Benchwright) -> None:
    ended = inside("run", "fake:constant?fail_after=3", FAKE, *QUICK, "--no-save", "--json")
    assert ended.returncode == 1
    assert [r.status for r in _document(ended).results] == [Status.FAILED, Status.OK]
    shown = inside("run", "fake:constant?fail_after=3", *QUICK, "--no-save")
    assert shown.returncode == 1
    assert "scripted failure of call 4" in shown.stdout


@pytest.mark.serial
def test_threads_that_do_not_help_are_warned_of(inside: Benchwright) -> None:
    """Calls that sleep with the interpreter lock held: two threads take turns. Both were measured in this run."""
    target = "fake:constant?latency=2ms&wait=hold"
    common = ("--rounds", "5", "--duration", "0.12", "--no-save")  # of two rounds an interval is twelve errors long
    for _ in range(3):  # a machine that takes a quarter of the time away for itself leaves the ratio unclear
        said = inside("run", target, "--workers", "1,4", *common).stdout
        if found := re.search(r"4 threads reach [01]\.\d\d times the throughput of one \(95 % interval", said):
            break
    assert found, said
    assert "--copies 4" in said
    assert "threads-hurt" not in inside("run", target, "--workers", "4", *common).stdout  # nothing to say it by


def test_a_report_is_written_when_asked(inside: Benchwright, tmp_path: Path) -> None:
    ended = inside("run", FAKE, *QUICK, "--no-save", "--report", "out.html")
    assert ended.returncode == 0, ended.stderr
    assert "report: out.html" in ended.stdout
    assert (tmp_path / "out.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_options_reach_the_worker(inside: Benchwright) -> None:
    arguments = ("--option", "latency=3ms", "--option", "clock=virtual", "--cpus", "0", "--memory-limit", "4GiB")
    result = _only(inside("run", "fake:constant", *QUICK, *arguments, "--no-save", "--json"))
    assert result.metric("latency_p50").estimate.point == 0.003  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "complaint", "remedy"),
    [
        ((), "nothing to measure", "name a target, such as a model file, model.onnx"),
        (("absent.onnx",), "absent.onnx", ""),
        (("fake:constant", "--batch-size", "0"), "--batch-size: 0 is below 1", ""),
        (("fake:constant", "--batch-size", "1,,2"), "has an empty item", "A,B,C"),
        (("fake:constant", "--workers", "two"), "--workers: 'two' is not a whole number", ""),
        (("fake:constant", "--copies", "0"), "--copies: 0 is below 1", ""),
        (("fake:constant", "--rounds", "0"), "rounds: 0 is below 1", ""),
        (("fake:constant", "--samples", "0"), "samples: 0 is below 1", ""),
        (("fake:constant", "--samples", "-5"), "samples: -5 is below 1", ""),
        (("fake:constant", "--offline", "0"), "samples: 0 is below 1", ""),
        (("fake:constant", "--streams", "0"), "streams: 0 is below 1", ""),
        (("fake:constant", "--input-count", "0"), "input count: 0 is below 1", ""),
        (("fake:constant", "--loops", "-1"), "loops: -1 is below 0", ""),
        (("fake:constant", "--warmup", "-1"), "warmup: -1.0 is not zero or above and finite", ""),
        (("fake:constant", "--duration", "0"), "--duration: 0 is not above zero", ""),
        (("fake:constant", "--duration", "1parsec"), "'parsec' in '1parsec' is not a unit", "ms"),
        (("fake:constant", "--timeout", "0"), "--timeout: 0 is not above zero", ""),
        (("fake:constant", "--retries", "-1"), "--retries", ""),
        (("fake:constant", "--precision", "200%"), "not between 0 and 100", "for example 1%"),
        (("fake:constant", "--precision", "1%", "--samples", "9"), "two rules for when to stop", "not both"),
        (("fake:constant", "--offline", "9", "--samples", "9"), "--offline and --samples both", "leave one"),
        (("fake:constant", "--arrivals", "constant"), "--arrivals applies to an open loop only", "--rate 200"),
        (("fake:constant", "--trace", "t", "--arrivals", "constant"), "a trace sets the arrivals itself", "not both"),
        (("fake:constant", "--objective", "p99<-1ms"), "is never below zero", "p99<20ms"),
        (("fake:constant", "--store", ""), "--store is empty", "leave it out"),
        (("fake:constant", "--tag", ""), "a tag is empty", "--tag nightly"),
        (("fake:constant", "--tag", "last"), "tag 'last'", "take a word"),
        (("fake:constant", "--input", "absent.npz"), "inputs absent.npz: No such file", "--input"),
        (("fake:constant", "--option", "latncy=1ms"), "fake has no option 'latncy'", "did you mean 'latency'?"),
        (("fake:constant", "--device", "tpu"), "fake has no device 'tpu'", "use cpu or fake"),
        (("fake:constant", "--rate", "0"), "--rate: 0 is not above zero", ""),
        (("fake:constant", "--rate", "5", "--streams", "2"), "exclude each other", "give one of"),
        (("fake:constant", "--rate", "5", "--precision", "1%"), "an open loop ends after", "--duration"),
        (("fake:constant", "--rate", "5", "--once"), "an open loop ends after", "--duration"),
        (("fake:constant", "--trace", "absent"), "trace absent: No such file", "one a line"),
        (("fake:constant", "--find-rate"), "--find-rate needs an objective to meet", "--objective"),
        (("fake:constant", "--find-rate", "--objective", "mean<5ms"), "cannot aim at latency<0.005", "p99<20ms"),
        (("fake:constant", "--find-rate", "--objective", "p99>5ms"), "cannot aim at latency_p99>", "p99<20ms"),
        (("fake:constant", "--find-rate", "--objective", "p9<5ms", "--copies", "2"), "with one copy", "--workers"),
        (("fake:constant", "--objective", "fast"), "'fast' is not METRIC<BOUND", "p99<20ms"),
        (("fake:constant", "--cpus", "4096"), "cannot be used", "use some of"),
        (("fake:constant", "--memory-limit", "lots"), "'lots' is not a quantity", "GiB"),
        (("fake:constant", "--option", "latency"), "'latency' is not NAME=VALUE", ""),
        (("fake:constant", "--shape", "axb"), "is not NAME:1x3x224x224", ""),
        (("fake:constant", "--runtime", "onnxruntme"), "onnxruntme", ""),
        (("fake:constant", "--colour"), "No such option", ""),
        (("--", "no-such-program-here"), "no program 'no-such-program-here'", "PATH"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_request_is_refused_before_anything_happens(
    arguments: tuple[str, ...], complaint: str, remedy: str, inside: Benchwright, tmp_path: Path
) -> None:
    ended = inside("run", *arguments)
    assert ended.returncode == 2, ended.stdout
    assert complaint in ended.stderr
    assert remedy in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_price_adds_what_a_million_items_cost(inside: Benchwright) -> None:
    target = "fake:constant?ms=2&clock=virtual"
    ended = inside("run", target, *QUICK, "--no-save", "--batch-size", "1,4", "--cost-per-hour", "3.6")
    assert ended.returncode == 0, ended.stderr
    assert "cost per million" in ended.stdout
    run = _document(inside("run", target, *QUICK, "--no-save", "--json", "--cost-per-hour", "3.6"))
    assert run.results[0].metric("cost_per_million").estimate.point == pytest.approx(2.0)  # type: ignore[union-attr]
    for wrong in ("0", "-1", "nan", "cheap"):
        refused = inside("run", target, *QUICK, "--no-save", "--cost-per-hour", wrong)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "cost" in refused.stderr
