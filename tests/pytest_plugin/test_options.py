"""The options: what they choose, what they print and write, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchwright.exchange.importers.pytest_benchmark import PytestBenchmark
from benchwright.exchange.importers.source_file import Given
from benchwright.pytest_plugin.options import ACCEPTED, OWN, SHARED
from benchwright.pytest_plugin.verdict import translate
from benchwright.records import Verdict
from benchwright.report.comparison_text import pairs_hint
from suites import last_run, run_suite

SUITE = """
    import pytest
    calls = []
    @pytest.mark.parametrize("n", [10, 1000])
    @pytest.mark.benchmark(group="sums")
    def test_sum(benchmark, n):
        benchmark(sum, range(n))
    def test_once(benchmark):
        benchmark(calls.append, 1)
    def test_count():
        assert len(calls) == 1
"""


def test_disabled_everything_is_called_once(pytester: pytest.Pytester) -> None:
    ended = run_suite(pytester, SUITE, "--benchmark-disable")
    ended.assert_outcomes(passed=4)
    assert not (pytester.path / ".benchwright").exists()
    assert "median latency" not in ended.stdout.str()


def test_enabled_again_it_measures(pytester: pytest.Pytester) -> None:
    run_suite(pytester, SUITE, "--benchmark-disable", "--benchmark-enable", "-k", "sum").assert_outcomes(
        passed=2, deselected=2
    )
    assert len(last_run(pytester).results) == 2


@pytest.mark.parametrize(("flag", "skipped"), [("--benchmark-only", 1), ("--benchmark-skip", 3)])
def test_some_tests_are_skipped(pytester: pytest.Pytester, flag: str, skipped: int) -> None:
    ended = run_suite(
        pytester, SUITE, flag, "--deselect", "test_suite.py::test_count" if skipped == 3 else "none", "-rs"
    )
    assert ended.parseoutcomes()["skipped"] == skipped
    assert flag in ended.stdout.str()


def test_tables_by_group_and_pytest_benchmarks_columns(pytester: pytest.Pytester) -> None:
    flags = ("--benchmark-columns=min,mean,ops,rounds", "--benchmark-sort=mean", "--benchmark-group-by=param:n")
    text = run_suite(pytester, SUITE, *flags, "--benchmark-verbose", "--benchmark-only").stdout.str()
    assert "n=10\n" in text and "n=1000\n" in text
    assert "name (times in" in text and "median latency" not in text
    assert "warm-up calls" in text
    usual = run_suite(pytester, SUITE, "--benchmark-only").stdout.str()
    assert "\nsums\n" in usual and "median latency" in usual
    assert f"Run {last_run(pytester).id} saved in .benchwright/results.db" in usual
    assert "median latency" not in run_suite(pytester, SUITE, "--benchmark-quiet").stdout.str()


def test_the_json_is_what_readers_of_pytest_benchmarks_expect(pytester: pytest.Pytester) -> None:
    run_suite(pytester, SUITE, "--benchmark-json=out.json", "--benchmark-only", "--benchmark-histogram=pictures/of")
    path = pytester.path / "out.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    first = data["benchmarks"][0]
    assert first["fullname"] == "test_suite.py::test_sum[10]" and first["params"] == {"n": 10}
    assert first["group"] == "sums" and first["stats"]["rounds"] == len(first["stats"]["data"])
    [run] = PytestBenchmark().runs(Given(name="out.json", path=path, data=data))
    assert [result.case.params for result in run.results] == [{"n": 10}, {"n": 1000}, {}]
    pictures = {file.name for file in (pytester.path / "pictures").iterdir()}
    assert pictures == {"of-sums.svg", "of-all.svg"}
    assert "<svg" in (pytester.path / "pictures" / "of-sums.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["off", "false", "no", "0"])
def test_no_warm_up_is_one_call(pytester: pytest.Pytester, word: str) -> None:
    run_suite(pytester, SUITE, f"--benchmark-warmup={word}", "-k", "10", "--benchmark-sort=fullname")
    [first, _] = last_run(pytester).results
    assert first.instrument["warmup_calls"] == 1


def test_what_has_no_effect_is_said(pytester: pytest.Pytester) -> None:
    flags = ("--benchmark-autosave", "--benchmark-disable-gc", "--benchmark-cprofile=tottime")
    text = run_suite(pytester, SUITE, *flags, "-k", "once").stdout.str()
    for flag in ("autosave", "disable-gc", "cprofile"):
        assert f"--benchmark-{flag} has no effect here: " in text


def test_what_can_be_kept_nowhere_fails_the_run_and_not_the_tests(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())  # the suite changes where results are rescued to
    (pytester.path / "file-prefix").write_text("", encoding="utf-8")
    flags = ("--benchwright-store=/proc/nowhere.db", "--benchmark-histogram=file-prefix/of", "-k", "sum")
    ended = run_suite(pytester, f"{SUITE}\n    import tempfile\n    tempfile.tempdir = '/proc/nowhere'", *flags)
    ended.assert_outcomes(passed=2, deselected=2)
    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    told = ended.stdout.str()
    assert "cannot be written either" in told and "kept in" not in told and "saved in" not in told
    assert "file-prefix cannot be written: " in told


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--benchmark-min-rounds=0", "not a number above 0"),
        ("--benchmark-max-time=0", "not a time in seconds"),
        ("--benchmark-warmup=maybe", "none of auto, on, off"),
        ("--benchmark-sort=speed", "none of min"),
        ("--benchmark-columns=min,speed", "'speed' is none of"),
        ("--benchmark-group-by=colour", "'colour' is none of"),
        ("--benchmark-storage=file://.benchmarks", "benchwright import"),
        ("--benchmark-compare-fail=mean:5%", "needs something to compare with"),
        ("--benchmark-json=nowhere/out.json", "name a file in a folder that is there"),
        ("--benchwright-rounds=0", "not a number above 0"),
        ("--benchmark-compare --benchwright-fail-on=slower?", "--benchwright-fail-on: 'slower?' is not a condition"),
        ("--benchmark-compare --benchwright-no-save", "keeps no run that could be compared"),
        ("--benchmark-compare --benchmark-compare-fail=stddev:5%", "stddev is not judged"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(pytester: pytest.Pytester, flag: str, said: str) -> None:
    ended = run_suite(pytester, SUITE, *flag.split())
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    assert said in ended.stderr.str()


def test_conditions_of_pytest_benchmark_become_ours() -> None:
    assert (translate("mean:5%").metric, translate("mean:5%").beyond) == ("latency_p50", 0.05)
    assert translate("ops:10%").metric == "throughput"
    assert translate("worse>2%").kind == "worse"
    for wrong in ("stddev:5%", "mean:0.001", "what is this"):
        with pytest.raises(Exception, match="for example"):
            translate(wrong)


def test_a_run_is_compared_with_the_last_one(pytester: pytest.Pytester) -> None:
    first = run_suite(pytester, SUITE, "--benchmark-compare", "--benchwright-fail-on=worse", "--benchmark-save=good")
    assert "nothing to compare with: no earlier run" in first.stdout.str()
    again = run_suite(pytester, SUITE, "--benchmark-compare", "--benchmark-only")
    assert again.ret == 0 and "latency_p50" in again.stdout.str() and "passed; run" in again.stdout.str()
    fewer = ("-k", "once", "--benchwright-fail-on=missing", "--benchmark-compare-fail=min:90%")
    gated = run_suite(pytester, SUITE, "--benchmark-compare=good", *fewer)
    assert gated.ret == pytest.ExitCode.TESTS_FAILED
    assert "test_sum n=1000: not measured in this run" in gated.stdout.str()
    missing = run_suite(pytester, SUITE, "--benchmark-compare=nowhere", "-k", "once")
    told = missing.stdout.str()
    assert missing.ret == pytest.ExitCode.TESTS_FAILED and "--benchmark-compare: 'nowhere' is not a run" in told
    assert "--against" not in told and f"Run {last_run(pytester).id} saved in" in told  # it is not lost


@pytest.mark.parametrize("mode", [(), ("--benchwright-isolated",)])
@pytest.mark.parametrize(
    ("settings", "flags", "said"),
    [
        ("", ("--benchwright-store=ftp://x/y",), "benchwright: unknown store 'ftp'"),
        ("", ("--benchwright-tag=last",), "benchwright: tag 'last': `benchwright show last` would mean something"),
        ("", ("--benchwright-tag= ",), "a tag is empty; write a word, for example --benchwright-tag nightly"),
        ('rounds = "x"', (), "benchwright.toml.rounds: 'x' is not a whole number"),
    ],
)
def test_what_no_run_could_be_kept_with_ends_the_session_in_one_line(
    pytester: pytest.Pytester, mode: tuple[str, ...], settings: str, flags: tuple[str, ...], said: str
) -> None:
    (pytester.path / "benchwright.toml").write_text(settings)
    ended = run_suite(pytester, SUITE, *flags, *mode)
    assert ended.ret == pytest.ExitCode.USAGE_ERROR and said in ended.stdout.str()
    assert "Traceback" not in ended.stdout.str() and "INTERNALERROR" not in ended.stdout.str()


def test_the_address_of_a_store_is_shown_without_its_secret_and_found_again(pytester: pytest.Pytester) -> None:
    text = run_suite(pytester, SUITE, "-k", "once", "--benchwright-store=here.db").stdout.str()
    assert "saved in here.db" in text and "--store here.db --plot" in text.replace("\n", " ")


def test_what_stays_unclear_is_measured_again_with_pytest(pytester: pytest.Pytester) -> None:
    run_suite(pytester, SUITE, "-k", "once")
    run = last_run(pytester)
    unclear: Any = SimpleNamespace(metrics=[SimpleNamespace(name="latency_p50", verdict=Verdict.UNCLEAR)])
    assert "pytest --benchwright-isolated" in pairs_hint([unclear], run, run)


def test_every_option_is_on_the_page(root: Path) -> None:
    page = (root / "docs" / "pytest.md").read_text(encoding="utf-8")
    for prefix, table in (("benchmark", (*SHARED, *ACCEPTED)), ("benchwright", OWN)):
        for name, _, _ in table:
            assert f"`--{prefix}-{name}" in page, name


def test_a_suite_that_does_not_use_it_pays_nothing() -> None:
    script = (
        "import sys, pytest; before = set(sys.modules); import benchwright.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    ended = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert set(ended.stdout.split()) <= {
        "benchwright",
        "benchwright._moved",
        "benchwright._version",
        "benchwright.pytest_plugin",
        "benchwright.pytest_plugin.options",
    }
