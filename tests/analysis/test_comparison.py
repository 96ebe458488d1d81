import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

import sample_runs as samples
from benchwright.analysis import doubt
from benchwright.analysis.comparison import ComparedRow, check_in_common, compare_runs, worst
from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.records import Better, Estimate, Metric, Result, Revision, Run, Status, Verdict
from benchwright.report.columns import columns
from benchwright.report.comparison_text import comparison_json, comparison_markdown, print_comparison, summary

NAMES = ("onnxruntime", "openvino")


def verdicts(compared: list[ComparedRow], name: str) -> list[Verdict]:
    return [m.verdict for row in compared for m in row.metrics if m.name == name]


def text(compared: list[ComparedRow], a: Run, b: Run, width: int | None = None) -> str:
    import io

    out = io.StringIO()
    print_comparison(compared, a, b, smallest=0.01, file=out, width=width)
    return out.getvalue()


def test_a_run_is_the_same_as_itself(run: Run) -> None:
    compared = compare_runs(run, run)
    found = {m.verdict for row in compared for m in row.metrics}
    assert found <= {Verdict.SAME, Verdict.UNCLEAR} and Verdict.SAME in found
    assert all(m.ratio and m.ratio.point == 1.0 for row in compared for m in row.metrics)


def test_a_real_slowdown_is_worse_with_its_size(run: Run) -> None:
    compared = compare_runs(run, samples.make_run("b", slower=1.1, seed=8))
    assert verdicts(compared, "latency_p50") == [Verdict.WORSE] * 4
    assert verdicts(compared, "throughput") == [Verdict.WORSE] * 4
    assert verdicts(compared, "rss_peak") == [Verdict.SAME] * 4
    first = compared[0].metrics[0]
    assert first.ratio and first.ratio.low and first.ratio.high and first.ratio.low < 1.1 < first.ratio.high
    assert re.fullmatch(r"worse: \d+(\.\d)? % slower", first.sentence)
    assert worst(compared) is Verdict.WORSE


def test_a_real_speedup_is_better(run: Run) -> None:
    compared = compare_runs(run, samples.make_run("b", slower=0.8, seed=8))
    assert verdicts(compared, "latency_p50") == [Verdict.BETTER] * 4
    assert worst(compared) is not Verdict.WORSE


def test_equal_things_are_not_called_different() -> None:
    """Forty pairs of runs of the same thing: with four verdicts each, false alarms at 95 % would be certain."""
    alarms = 0
    for seed in range(40):
        a, b = (samples.make_run(i, calls=100, seed=s, failing=False) for i, s in (("a", seed), ("b", 1000 + seed)))
        compared = compare_runs(a, b)
        alarms += any(m.verdict in (Verdict.WORSE, Verdict.BETTER) for row in compared for m in row.metrics)
    assert alarms <= 5  # 5 % of 40 is 2; 6 or more has a chance below 2 %


def test_chance_among_many_comparisons_is_taken_back(run: Run) -> None:
    """One barely significant change among twenty cases is what chance gives."""
    rng = np.random.default_rng(3)
    cases = [samples.model_case("onnxruntime", n) for n in range(1, 21)]
    sides = [
        replace(run, results=tuple(samples.ok_result(c, i, 1e-3, 60, rng) for c in cases for i in range(3)))
        for _ in range(2)
    ]
    alone = [compare_runs(*(replace(s, results=s.results[k : k + 3]) for s in sides)) for k in range(0, 60, 3)]
    together = compare_runs(*sides)

    def called(compared: list[ComparedRow]) -> int:
        return sum(m.verdict in (Verdict.WORSE, Verdict.BETTER) for row in compared for m in row.metrics)

    assert called(together) <= sum(map(called, alone))
    assert called(together) <= 1


def test_cases_of_one_side_only_are_noted(run: Run) -> None:
    without = replace(run, results=tuple(r for r in run.results if r.case.target.runtime != "openvino"))
    compared = compare_runs(run, without)
    notes = [note for row in compared for note in row.notes]
    assert notes.count("only in the first run") == 2
    assert "only in the second run" in [n for row in compare_runs(without, run) for n in row.notes]
    assert worst(compared) is not Verdict.WORSE


def test_a_case_that_fails_now_is_worse(run: Run) -> None:
    broken = tuple(
        samples.failed_result(r.case, r.round) if r.case.target.runtime == "openvino" else r for r in run.results
    )
    compared = compare_runs(run, replace(run, id="b", results=broken))
    row = next(r for r in compared if "openvino" in r.label)
    assert row.verdict is Verdict.WORSE and "second run: failed: torch cannot read model.onnx" in row.notes
    assert "worse" in summary(compared)
    assert all(r.verdict is not Verdict.WORSE for r in compare_runs(replace(run, results=broken), run))


def test_a_case_that_fails_sometimes_now_is_worse(run: Run) -> None:
    results = (replace(run.results[0], status=Status.KILLED, metrics=()), *run.results[1:])
    row = compare_runs(run, replace(run, results=results))[0]
    assert row.verdict is Verdict.WORSE and any("in some rounds" in note for note in row.notes)


def test_other_machines_and_changed_definitions_are_noted(run: Run) -> None:
    other = samples.make_run("b", environment=samples.OTHER_MACHINE, version="b2")
    notes = compare_runs(run, other)[0].notes
    assert any("different machines" in note for note in notes)
    assert any("different versions" in note for note in notes)
    assert compare_runs(run, run)[0].notes == ()


def test_an_interval_that_says_nothing_is_not_spelled_out(run: Run) -> None:
    def vague(result: Result) -> Result:
        wide = [replace(m, estimate=replace(m.estimate, low=0.0, high=50 * m.estimate.point)) for m in result.metrics]
        return replace(result, metrics=tuple(wide))

    wild = replace(run, id="wild", results=tuple(map(vague, run.results)))
    first = compare_runs(run, wild)[0].metrics[0]
    assert first.verdict is Verdict.UNCLEAR and first.sentence == "unclear: the intervals are too wide to tell anything"
    assert first.ratio_text == "1.000 [under 0.01, over 100]"


def test_what_the_instrument_does_not_trust_is_noted_once(run: Run) -> None:
    doubted = tuple(replace(r, instrument={"verdict": f"unreliable: {i} %"}) for i, r in enumerate(run.results))
    compared = compare_runs(run, replace(run, results=doubted))
    assert {note for row in compared for note in row.notes if "instrument" in note} == {
        "the instrument calls the second run unreliable: "
        "only changes beyond 25 % are judged (benchwright show says why)"
    }


def with_verdicts(run: Run, text: str, rounds: set[int]) -> Run:
    return replace(
        run,
        results=tuple(
            replace(r, instrument={**r.instrument, "verdict": text}) if r.round in rounds and r.instrument else r
            for r in run.results
        ),
    )


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("slower", [0.85, 1.0, 1.2])
def test_an_unreliable_side_supports_no_verdict_that_noise_explains(side: int, slower: float) -> None:
    sides = [samples.make_run("a"), samples.make_run("b", slower=slower, seed=8)]
    sides[side] = with_verdicts(sides[side], "unreliable: others took 158 % of a core", {0, 1})
    compared = compare_runs(*sides)
    assert set(verdicts(compared, "latency_p50") + verdicts(compared, "throughput")) == {Verdict.UNCLEAR}
    assert verdicts(compared, "rss_peak") == [Verdict.SAME] * 4  # memory is not noise of the CPU
    assert worst(compared) is Verdict.UNCLEAR
    words = f"the instrument calls the {('first', 'second')[side]} run unreliable"
    assert slower == 1.0 or compared[0].metrics[0].why == words
    printed = text(compared, sides[0], sides[1])
    assert printed.count(words) == 1 and printed.count("25 %") == 1  # once, not on every row


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("slower", "verdict"), [(5.0, Verdict.WORSE), (0.5, Verdict.BETTER)])
def test_a_change_that_noise_cannot_explain_is_judged_on_an_unreliable_side(
    side: int, slower: float, verdict: Verdict
) -> None:
    sides = [samples.make_run("a"), samples.make_run("b", slower=slower, seed=8)]
    sides[side] = with_verdicts(sides[side], "unreliable: others took 158 % of a core", {0, 1, 2})
    compared = compare_runs(*sides)
    assert verdicts(compared, "latency_p50") == verdicts(compared, "throughput") == [verdict] * 4


@pytest.mark.parametrize(
    ("ratio", "holds"),
    [((1.3, 1.2, 1.4), True), ((1.3, 1.1, 1.6), False), ((1.24, 1.2, 1.28), False), ((0.75, 0.7, 0.8), True),
     ((0.75, 0.6, 0.9), False), ((0.82, 0.8, 0.84), False)],
)  # fmt: skip
def test_the_allowance_and_its_half(ratio: tuple[float, float, float], holds: bool) -> None:
    point, low, high = ratio
    found = Estimate(point=point, low=low, high=high)
    assert doubt.withstands_noise("latency_p50", Verdict.WORSE, found) is holds
    assert not doubt.withstands_noise("latency_p50", Verdict.SAME, found)
    assert not doubt.withstands_noise("latency_p50", Verdict.WORSE, replace(found, low=None, high=None))
    assert doubt.withstands_noise("rss_peak", Verdict.WORSE, found)


def test_runs_without_a_case_in_common_cannot_be_compared(run: Run) -> None:
    one, two = (replace(run, results=tuple(r for r in run.results if r.case.target.runtime == n)) for n in NAMES)
    with pytest.raises(OptionError, match="nothing to compare: no case is in both"):
        check_in_common(compare_runs(one, two))
    check_in_common(compare_runs(run, two))


@pytest.mark.parametrize(
    ("text", "rounds"), [("unreliable: steal 20 %", {2}), ("noisy: not steady", {0, 1, 2}), ("trustworthy", {0})]
)
def test_a_majority_of_rounds_that_can_be_trusted_suffices(run: Run, text: str, rounds: set[int]) -> None:
    compared = compare_runs(run, with_verdicts(samples.make_run("b", slower=1.4, seed=8), text, rounds))
    assert verdicts(compared, "latency_p50") == [Verdict.WORSE] * 4


def test_a_case_that_fails_now_is_worse_whatever_the_instrument_says(run: Run) -> None:
    broken = tuple(samples.failed_result(r.case, r.round) for r in run.results)
    compared = compare_runs(with_verdicts(run, "unreliable: x", {0, 1, 2}), replace(run, results=broken))
    assert worst(compared) is Verdict.WORSE


def test_totals_that_grow_with_time_are_never_judged(run: Run) -> None:
    def with_energy(joules: float) -> Run:
        def metered(r: Result) -> Result:
            estimate = Estimate(point=joules + 1e-3 * r.round, low=None, high=None)
            return replace(
                r, metrics=(*r.metrics, Metric(name="energy", unit="J", better=Better.LOWER, estimate=estimate))
            )

        return replace(run, results=tuple(metered(r) if r.metrics else r for r in run.results))

    short, long = with_energy(5.0), with_energy(50.0)
    assert verdicts(compare_runs(short, long), "energy") == []
    assert worst(compare_runs(short, long)) is not Verdict.WORSE
    asked = compare_runs(short, long, metrics=("energy",))
    assert verdicts(asked, "energy") == [Verdict.UNCLEAR] * 4
    assert asked[0].metrics[0].sentence == "unclear: 10 times as high, but a total grows with how long was measured"
    assert "energy" not in [column.metric for column in columns(rows(short))]


def test_metrics_can_be_chosen_and_unknown_ones_are_refused(run: Run) -> None:
    compared = compare_runs(run, run, metrics=("load_time",))
    assert {m.name for row in compared for m in row.metrics} == {"load_time"}
    with pytest.raises(OptionError, match="did you mean 'latency_p50'"):
        compare_runs(run, run, metrics=("latency_p5O",))


def test_text_is_whole_at_every_width(run: Run) -> None:
    later = samples.make_run("later", slower=1.3, seed=8)
    compared = compare_runs(run, later)
    wide, narrow = text(compared, run, later), text(compared, run, later, width=60)
    assert "later against" in wide and "12 worse, 4 same" in wide
    assert all(len(line) <= 60 for line in narrow.splitlines()) and "…" not in narrow
    for words in ("% slower", "latency_p99", "same: within ±1 %", "ratio 1."):
        assert words in narrow


def test_json_has_every_interval(run: Run) -> None:
    later = samples.make_run("later", slower=1.3, seed=8)
    document = json.loads(comparison_json(compare_runs(run, later), run, later, smallest=0.01))["data"]
    metric = document["cases"][0]["metrics"][0]
    assert (document["before"], document["after"]) == (run.id, "later")
    assert metric["verdict"] == "worse" and metric["ratio"]["low"] < metric["ratio"]["point"] < metric["ratio"]["high"]


def test_markdown(run: Run) -> None:
    later = samples.make_run("later", slower=3.0, seed=8)
    lines = comparison_markdown(compare_runs(run, later), run, later, smallest=0.01).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 16 and "times as long" in table[2]


def test_one_process_a_side_promises_no_rate_and_points_at_pairs() -> None:
    a, b = (
        replace(samples.make_run(n, rounds=1, slower=f, seed=s, failing=False), revision=Revision(vcs="git", id=n * 40))
        for n, f, s in (("a", 1.0, 1), ("b", 1.4, 2))
    )
    one_case = [replace(run, results=run.results[:1]) for run in (a, b)]
    compared = compare_runs(*one_case, metrics=("latency_p50",))
    assert verdicts(compared, "latency_p50") == [Verdict.UNCLEAR]
    said = text(compared, one_case[0], one_case[1])
    assert "no rate of false verdicts can be promised" in said and "expected to be chance" not in said
    target = one_case[1].results[0].case.target.uri
    assert f"benchwright ab --control {'a' * 40} --treatment {'b' * 40} {shlex.quote(target)}" in said
    copied = (
        f"/home/ada/.cache/benchwright/builds/project-12ab/{'b' * 40}/{'work'}/benches/a.py::encode"  # as `ab` measures
    )
    case = one_case[1].results[0].case
    case = replace(case, target=replace(case.target, uri=copied))
    built = replace(one_case[1], results=(replace(one_case[1].results[0], case=case),))
    assert f"--treatment {'b' * 40} benches/a.py::encode\n" in text(compared, one_case[0], built)
    several = compare_runs(*(samples.make_run(n, seed=s, failing=False) for n, s in (("a", 1), ("b", 2))))
    assert "at most 5 % are expected to be chance." in text(several, a, b)


def test_a_ratio_unlike_that_of_the_means_shown_says_why(run: Run) -> None:
    """One round of five caught a stall: the means shown fell to a half, the ratio of logarithms says a third less."""

    def seen(points: tuple[float, ...]) -> Run:
        one = run.results[0]
        metric = next(m for m in one.metrics if m.name == "latency_p50")
        rounds = [
            replace(one, id=f"{i}", round=i, metrics=(replace(metric, estimate=Estimate(point=p, low=p, high=p)),))
            for i, p in enumerate(points)
        ]
        return replace(run, results=tuple(rounds))

    stalled, calm = seen((1.0, 1.0, 1.0, 1.0, 6.0)), seen((1.0, 1.0, 1.0, 1.0, 1.0))
    said = text(compare_runs(stalled, calm, metrics=("latency_p50",)), stalled, calm)
    assert "latency_p50: rounds lie so far apart that the ratio is another than that of the two means shown" in said
    alike = compare_runs(calm, calm, metrics=("latency_p50",))
    assert not any("so far apart" in note for row in alike for note in row.notes)


def test_what_a_benchmark_reports_without_a_direction_is_named_when_it_changed(run: Run) -> None:
    def told(speed: float, *, better: Better | None = None, method: str = "reported") -> Run:
        estimate = Estimate(point=speed, low=None, high=None, method=method)
        speeds = Metric(name="images", unit="images/s", better=better, estimate=estimate)
        return replace(run, results=tuple(replace(r, metrics=(*r.metrics, speeds)) for r in run.results))

    (note,) = {n for row in compare_runs(told(2000), told(800)) for n in row.notes if "images" in n}
    assert note.startswith("images changed and is not judged: nothing says which direction is better")
    silent = [
        compare_runs(told(2000), told(2000)),
        compare_runs(told(2000), told(800), metrics=("images",)),
        compare_runs(told(2000, better=Better.HIGHER), told(800, better=Better.HIGHER)),
        compare_runs(told(2000), told(800, method="one reading")),
    ]
    assert not any("images" in note for compared in silent for row in compared for note in row.notes)
