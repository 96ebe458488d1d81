"""A trial as text, Markdown, JSON and a picture."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from benchwright.records import Better, Estimate, Failure, Revision, Verdict
from benchwright.records.trials import AbRules, Pair, Stage, StageResult, Trial, TrialRow, TrialSide
from benchwright.report.ab import print_trial, trial_json, trial_markdown
from benchwright.report.ab_picture import write_trial
from benchwright.workflows.ab.run import MeasuredTrial


def _pairs(*ratios: float | None) -> tuple[Pair, ...]:
    return tuple(
        Pair(number=i, order="AB", control=None, treatment=None, why="treatment: it fell over")
        if ratio is None
        else Pair(number=i, order="BA", control=0.002, treatment=0.002 * ratio)
        for i, ratio in enumerate(ratios)
    )


def _row(name: str, verdict: Verdict, effect: Estimate | None, *heats: StageResult, n: int = 1) -> TrialRow:
    return TrialRow(
        name=name,
        params={"runtime": "python", "n": n},
        verdict=verdict,
        why=heats[-1].why,
        effect=effect,
        p_value=0.0001,
        adjusted=0.0002,
        heats=heats,
        metric="latency_p50",
        unit="s",
        better=Better.LOWER,
    )


def _heat(stage: Stage, verdict: Verdict, *ratios: float | None, why: str = "", failed: bool = False) -> StageResult:
    effect = None if stage is Stage.REGRESS or failed else Estimate(point=1.1, low=None, high=None)
    pairs = _pairs(*ratios)
    return StageResult(stage=stage, verdict=verdict, why=why, pairs=pairs, effect=effect, seconds=3.0, failed=failed)


TRIAL = Trial(
    id="20260101T000000000-abcdef",
    control=TrialSide(label="main", revision=Revision(vcs="git", id="0123456789abcdef")),
    treatment=TrialSide(label="new/", folder="new"),
    rules=AbRules(seed=7),
    rows=(
        _row(
            "bench.py::encode",
            Verdict.WORSE,
            Estimate(point=1.1, low=1.08, high=1.12),
            _heat(Stage.BENCHMARK, Verdict.WORSE, 1.5, None, 1.6),
            _heat(Stage.VERIFY, Verdict.WORSE, 1.1, 1.1, 1.2),
            _heat(Stage.REGRESS, Verdict.WORSE, 1.1),
        ),
        _row(
            "bench.py::encode",
            Verdict.SAME,
            Estimate(point=1.0, low=0.995, high=1.004),
            _heat(Stage.BENCHMARK, Verdict.SAME, 1.0, 1.0),
            n=2,
        ),
        _row(
            "bench.py::broken",
            Verdict.UNCLEAR,
            None,
            _heat(Stage.BENCHMARK, Verdict.UNCLEAR, None, None, None, why="treatment: it fell over", failed=True),
        ),
    ),
    only_treatment=("bench.py::fresh",),
    runs={"benchmark": ("run0", "run1")},
)


def _text(trial: Trial, width: int = 200) -> str:
    out = io.StringIO()
    print_trial(trial, file=out, width=width)
    return out.getvalue()


def test_the_table_tells_each_case_with_its_interval_pairs_and_verdict() -> None:
    text = _text(TRIAL)
    lines = {line.split("  ")[0].strip(): " ".join(line.split()) for line in text.splitlines() if line}
    assert lines["bench.py::encode n=1"].endswith(
        "2.000 ms 2.200 ms 1.100 [1.080, 1.120] 6 9.0 s worse: 10 % slower, confirmed"
    )
    assert lines["bench.py::encode n=2"].endswith("1.000 [0.995, 1.004] 2 3.0 s same: within ±1 %")
    assert lines["bench.py::broken"].endswith("- - - 0 3.0 s unclear: treatment: it fell over")
    assert "bench.py::encode n=1: not counted: 1 failed pair: treatment: it fell over" in text
    assert "bench.py::broken: given up after 3 failed pairs: treatment: it fell over" in text
    assert "only the treatment has bench.py::fresh" in text
    assert "new/ against main (0123456789): 1 worse, 1 unclear, 1 same, 1 failed" in text
    assert "benchmark: runs run0 and run1" in text and "Seed 7." in text


def test_the_values_are_those_of_the_look_that_tells_the_ratio_and_a_contradiction_is_explained() -> None:
    assert "the two medians" not in _text(TRIAL)
    wild = _row(
        "a", Verdict.UNCLEAR, Estimate(point=0.99, low=0.9, high=1.05), _heat(Stage.BENCHMARK, Verdict.UNCLEAR, 1.12)
    )
    text = " ".join(_text(replace(TRIAL, rows=(wild,))).split())
    assert "a: the two medians differ by a factor of 1.120, and the ratio is 0.990: medians count every process" in text


def test_the_length_of_the_processes_is_told_once_for_both_looks_or_for_each() -> None:
    def told(*lengths: float) -> list[str]:
        stages = (Stage.BENCHMARK, Stage.VERIFY, Stage.REGRESS)
        heats = [
            replace(_heat(stage, Verdict.WORSE, 1.1), length=length)
            for stage, length in zip(stages, lengths, strict=False)
        ]
        row = _row("a", Verdict.WORSE, Estimate(point=1.1, low=1.0, high=1.2), *heats)
        lines = _text(replace(TRIAL, rows=(row,))).splitlines()
        return [line.split(", as")[0] for line in lines if line.startswith("a: processes")]

    assert told(1.0, 1.0, 1.0) == []
    assert told(2.0) == ["a: processes 2 times as long as usual"]
    assert told(2.0, 2.0, 2.0) == ["a: processes 2 times as long as usual in both looks"]
    assert told(2.0, 4.0, 4.0) == [
        "a: processes 2 times as long as usual in the first look",
        "a: processes 4 times as long as usual in the second look",
    ]
    assert told(1.0, 0.2, 0.2) == ["a: processes 0.2 times as long as usual in the second look"]


def test_one_look_confirms_nothing() -> None:
    effect = Estimate(point=1.1, low=1.08, high=1.12)
    first, more = _heat(Stage.BENCHMARK, Verdict.WORSE, 1.1), _heat(Stage.REGRESS, Verdict.WORSE, 1.1)
    once = replace(TRIAL, rules=AbRules(verify=False), rows=(_row("a", Verdict.WORSE, effect, first, more),))
    assert "worse: 10 % slower" in _text(once)
    assert "confirm" not in _text(once) + trial_markdown(once) + trial_json(once)


def test_a_narrow_terminal_gets_lines_of_their_own() -> None:
    text = _text(TRIAL, width=70)
    assert "  latency_p50: worse: 10 % slower, confirmed\n" in text
    assert max(map(len, text.splitlines())) <= 70


def test_markdown_is_a_table_that_names_nobody() -> None:
    named = replace(TRIAL, treatment=TrialSide(label="@everyone"))
    text = trial_markdown(named)
    assert text.startswith("**\\@everyone against main")
    assert text.count("\n| bench.py::") == 3
    assert "| case | metric | control | treatment | ratio | pairs | time | verdict |" in text


def test_json_holds_every_pair_and_what_follows_from_them() -> None:
    told = json.loads(trial_json(TRIAL))["data"]
    assert (told["ok"], told["worse"], told["rules"]["seed"]) == (False, True, 7)
    first = told["rows"][0]
    assert (first["stage"], first["pairs"], first["seconds"], first["failed"]) == ("regress", 6, 9.0, False)
    assert first["heats"][0]["pairs"][2] == {
        "number": 2,
        "order": "BA",
        "control": 0.002,
        "treatment": 0.0032,
        "why": "",
        "limit": "",
    }


def test_a_build_that_failed_shows_its_words() -> None:
    failure = Failure(kind="build", message="the build of abc ended with exit code 3", log_tail="no such header")
    text = _text(
        Trial(id="x", control=TRIAL.control, treatment=TrialSide(label="HEAD", failure=failure), rules=AbRules())
    )
    assert "the treatment was not built: the build of abc ended with exit code 3" in text
    assert "no such header" in text and "HEAD against main (0123456789): nothing was compared" in text


def test_the_picture_marks_every_pair_that_counts(tmp_path: Path) -> None:
    drawn = write_trial(TRIAL, tmp_path / "trial.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    colours = [drawn.count(f"fill: {colour}; fill-opacity") for colour in ("#d62728", "#666666")]
    assert colours == [6, 2], drawn


def test_a_trial_shows_itself_in_a_notebook_and_gives_a_frame() -> None:
    measured = MeasuredTrial(TRIAL)
    html = measured._repr_html_()
    assert html.count("<tr>") == 1 + len(TRIAL.rows) and "bench.py::encode" in html and "Seed 7" in html
    frame = measured.to_pandas()
    assert list(frame["case"]) == [row.name for row in TRIAL.rows]
    first = frame.iloc[0]
    assert (first["n"], first["effect"], first["effect_low"], first["verdict"]) == (1, 1.1, 1.08, "worse")
    assert (first["metric"], first["pairs"], first["stage"]) == ("latency_p50", 6, "regress")
