"""The page says what the command says; other sides pair by what is left of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import sample_project as project
import sample_runs
from benchwright.analysis.comparison import compare_runs, notes_of
from benchwright.errors import OptionError, StoreError
from benchwright.pages import sides
from benchwright.pages.compare import compare
from benchwright.pages.compared_lines import LineFilter
from benchwright.pages.kept_comparisons import KeptComparisons
from benchwright.records import Environment, Failure, Result, Run, Status, Verdict
from benchwright.store.archive import Archive
from benchwright.store.sql import SqlStore

Keep = Callable[[Sequence[Run]], SqlStore]


def _run(name: str, **changes: Any) -> Run:
    """A run of four cases without samples."""
    made: Run = sample_runs.make_run(name, calls=50, **{"failing": False, **changes})
    return replace(made, results=tuple(replace(one, samples=(), timelines=()) for one in made.results))


def _said(a: Run, b: Run, metrics: Sequence[str]) -> dict[tuple[str, str], tuple[str, Any, str]]:
    """What the command says, by case and metric."""
    rows = compare_runs(a, b, metrics=metrics)
    labels = {row.label: row for row in rows}
    assert len(labels) == len(rows)
    return {(row.label, m.name): (m.verdict, m.ratio, m.sentence) for row in rows for m in row.metrics}


def _shown(archive: SqlStore, a: Run, b: Run, metrics: Sequence[str]) -> dict[tuple[str, str], tuple[str, Any, str]]:
    """What the page says, with the labels of the command: runtime and batch size tell these cases apart."""
    view = compare(archive, f"run:{a.id}", f"run:{b.id}", metrics=metrics)
    return {
        (
            f"runtime={line.params['runtime']} batch_size={line.params['batch_size']} copies={line.params['copies']}",
            line.metric,
        ): (
            line.verdict,
            line.ratio,
            line.sentence,
        )
        for line in view.lines
    }


METRICS = ("latency_p50", "latency_p99", "throughput", "rss_peak", "latency_max")


def test_two_runs_are_judged_as_the_command_judges_them(kept: Keep) -> None:
    a, b = _run("a"), _run("b", slower=1.08, seed=8)
    archive = kept([a, b])
    said = _said(a, b, METRICS)
    assert _shown(archive, a, b, METRICS) == said
    assert {verdict for verdict, _, _ in said.values()} >= {Verdict.WORSE, Verdict.UNCLEAR}


def test_a_run_that_the_instrument_does_not_trust_is_judged_as_the_command_does(kept: Keep) -> None:
    a, b = _run("a"), _run("b", slower=1.08, seed=8)
    b = replace(b, results=tuple(replace(one, instrument={"verdict": "unreliable: others ran"}) for one in b.results))
    archive = kept([a, b])
    view = compare(archive, "run:a", "run:b", metrics=METRICS)
    assert _shown(archive, a, b, METRICS) == _said(a, b, METRICS)
    told = notes_of(compare_runs(a, b, metrics=METRICS))
    assert view.notes[0] == told[0]
    assert [note[-60:] for note in view.notes] == [note[-60:] for note in told]  # the page labels cases by themselves
    assert "unreliable" in view.notes[0]


def test_another_machine_and_another_version_are_told_as_the_command_tells_them(kept: Keep) -> None:
    a, b = _run("a"), _run("b", environment=sample_runs.OTHER_MACHINE, version="b2")
    archive = kept([a, b])
    view = compare(archive, "run:a", "run:b")
    assert list(view.notes) == notes_of(compare_runs(a, b))
    assert all(line.before and line.after for line in view.lines)  # paired across machines
    assert ("machine.cpu", "Example CPU 9000", "Other CPU 1") in [(d.what, d.before, d.after) for d in view.differences]


def test_a_case_that_fails_in_the_second_run_alone_is_worse_and_comes_first(kept: Keep) -> None:
    a, b = _run("a"), _run("b")
    b = replace(b, results=tuple(_failed(one) if one.case.params["batch_size"] == 8 else one for one in b.results))
    view = compare(kept([a, b]), "run:a", "run:b")
    first = view.lines[0]
    assert (first.verdict, first.after, first.sentence) == (Verdict.WORSE, None, "second run: killed: out of memory")
    assert first.before is not None and first.before_result and not first.after_result
    assert any("second run: killed: out of memory" in note for note in view.notes)


def test_what_one_side_alone_has_is_told_and_comes_last(kept: Keep) -> None:
    a, b = _run("a"), _run("b")
    a = replace(a, results=tuple(one for one in a.results if one.case.params["runtime"] == "openvino"))
    view = compare(kept([a, b]), "run:a", "run:b")
    assert view.lines[-1].sentence == "only in the second run"
    assert view.lines[-1].before is None
    assert view.lines[0].ratio is not None


def test_the_largest_effect_comes_first(archive: SqlStore) -> None:
    before, after = (project.run_id(2 * commit) for commit in (project.REGRESSION - 1, project.REGRESSION))
    view = compare(archive, f"run:{before}", f"run:{after}")
    worst = view.lines[0]
    assert worst.case == "vision/resnet50.onnx" and worst.params["runtime"] == "onnxruntime"
    assert worst.verdict is Verdict.WORSE
    assert view.counts["worse"] >= 4
    assert view.metrics[:2] == ["latency", "latency_p50"]


def test_revisions_compare_what_was_measured_of_each_on_every_machine(archive: SqlStore) -> None:
    old, new = (project.revision(project.REGRESSION + step) for step in (-1, 0))
    view = compare(archive, f"revision:{old.id}", f"revision:{new.id[:12]}", metrics=["latency_p50"])
    assert view.b.label == f"{new.id[:10]} {project.CULPRIT_SUBJECT}"
    assert len(view.b.runs) == 2
    assert view.b.revision == new.id
    slower = [line for line in view.lines if line.verdict is Verdict.WORSE]
    assert {line.case for line in slower} == {"vision/resnet50.onnx"}
    assert len(slower) == 4  # two batch sizes on two machines


def test_machines_pair_cases_by_name_and_params(archive: SqlStore) -> None:
    keys = list(archive.environments())
    view = compare(archive, f"machine:{keys[0]}", f"machine:{keys[1][:8]}", metrics=["latency_p50"])
    assert len(view.lines) == 11
    assert all(line.before and line.after and len(line.series) == 2 for line in view.lines)
    assert not any("different machines" in note for note in view.notes)
    assert {"machine.cpu", "system.kernel"} <= {one.what for one in view.differences}


def test_machines_are_compared_by_what_they_measured_in_one_run(archive: SqlStore) -> None:
    runs = {value.machine: value.run for key in archive.environments() for value in archive.newest_values(machine=key)}
    (first, run), (second, other) = runs.items()
    view = compare(archive, f"machine:{first}@{run}", f"machine:{second[:8]}@{other}", metrics=["latency_p50"])
    assert (view.a.runs, view.b.runs) == ([run], [other]) and view.a.label.endswith(f" in run {run}")
    assert view.lines and all(len(line.series) == 2 for line in view.lines if line.before and line.after)
    with pytest.raises(StoreError, match=f"has no numbers in run {other}"):
        compare(archive, f"machine:{first}@{other}", f"machine:{second}")


def test_runtimes_pair_cases_by_their_other_params(archive: SqlStore) -> None:
    view = compare(archive, "runtime:onnxruntime", "runtime:openvino", metrics=["latency_p50"])
    both = [line for line in view.lines if line.before and line.after]
    assert {line.case for line in both} == {"vision/resnet50.onnx", "text/bert.onnx"}
    assert len(both) == 6  # resnet at two batch sizes and bert, on two machines
    assert all("runtime" not in line.params for line in both)
    assert {line.case for line in view.lines if line.after is None} == {"audio/whisper.onnx"}


@pytest.mark.parametrize("side", ["run", "run:", "branch", "host:main", "", "machine"])
def test_a_side_that_is_none_is_refused(archive: SqlStore, side: str) -> None:
    with pytest.raises(OptionError, match="not a side of a comparison"):
        compare(archive, side, "run:last")


@pytest.mark.parametrize(
    ("side", "trouble"),
    [
        ("run:nope", "nope"),
        ("revision:0123456789", "0123456789"),
        ("machine:zz", "no machine"),
        ("runtime:onnxruntim", "did you mean 'onnxruntime'"),
    ],
)
def test_a_side_that_is_not_there_is_refused(archive: SqlStore, side: str, trouble: str) -> None:
    with pytest.raises(StoreError, match=trouble):
        compare(archive, side, "run:last")


def test_an_unknown_metric_is_refused_with_the_nearest(archive: SqlStore) -> None:
    with pytest.raises(StoreError, match="did you mean 'latency_p50'"):
        compare(archive, "run:last", "run:last~1", metrics=["latency_p5"])


def _failed(result: Result) -> Result:
    failure = Failure(kind="signal", message="out of memory")
    return replace(result, status=Status.KILLED, metrics=(), error=failure)


def test_the_environments_are_those_of_the_newest_results(kept: Keep) -> None:
    newer: Environment = replace(sample_runs.ENVIRONMENT, packages={"numpy": "2.4.0", "onnx": "1.23.2"})
    view = compare(kept([_run("a"), _run("b", environment=newer)]), "run:a", "run:b")
    assert [(one.what, one.before, one.after) for one in view.differences] == [("packages.numpy", "2.3.1", "2.4.0")]


# ---- three and more sides, pages of lines, means ----


def test_three_sides_stand_in_columns_and_the_first_is_the_baseline(kept: Keep) -> None:
    a, b, c = _run("a"), _run("b", slower=1.3, seed=8), _run("c", seed=9)
    archive = kept([a, b, c])
    view = compare(archive, "run:a", "run:b", "run:c", metrics=["latency_p50"])
    assert [one.label for one in (view.a, view.b, *view.others)] == ["a", "b", "c"]
    assert len(view.lines) == 4 and all(len(line.others) == 1 for line in view.lines)
    assert view.counts == {"worse": 4} and view.other_counts[0]["unclear"] + view.other_counts[0].get("same", 0) == 4
    third = compare(archive, "run:a", "run:c", metrics=["latency_p50"])
    ratios = {line.series[0]: line.ratio for line in third.lines}
    assert {line.series[0]: line.others[0].ratio for line in view.lines} == ratios
    assert "in all 2 columns together (8 comparisons)" in view.control
    assert [(one.suite, one.metric, [c.cases for c in one.columns]) for one in view.means] == [
        ("", "latency_p50", [4, 4])
    ]


def test_what_a_further_side_lacks_or_alone_has_is_told_by_its_place(kept: Keep) -> None:
    a, b, c = _run("a"), _run("b"), _run("c")
    a = replace(a, results=tuple(one for one in a.results if one.case.params["runtime"] == "openvino"))
    b = replace(b, results=tuple(one for one in b.results if one.case.params["batch_size"] == 1))
    c = replace(c, results=tuple(_failed(one) if one.case.params["batch_size"] == 8 else one for one in c.results))
    view = compare(kept([a, b, c]), "run:a", "run:b", "run:c", metrics=["latency_p50"])
    told = {
        (line.params["runtime"], line.params["batch_size"]): (line.sentence, line.others[0].sentence)
        for line in view.lines
    }
    assert told["openvino", 8] == ("only in the first run", "third run: killed: out of memory")
    assert told["onnxruntime", 1] == ("only in the second run", "only in the third run")
    assert view.lines[0].params["batch_size"] == 8  # what failed on any side comes first


def test_a_page_of_lines_goes_on_where_it_ended_and_counts_are_of_all(archive: SqlStore) -> None:
    before, after = (project.run_id(2 * commit) for commit in (project.REGRESSION - 1, project.REGRESSION))
    whole = compare(archive, f"run:{before}", f"run:{after}")
    pages, after_line = [], 0
    while True:
        page = compare(archive, f"run:{before}", f"run:{after}", shown=LineFilter(limit=7, after=after_line))
        assert (page.counts, page.total, page.means) == (whole.counts, len(whole.lines), whole.means)
        pages += page.lines
        if not page.next:
            break
        after_line = int(page.next)
    assert pages == whole.lines and page.next == ""


def test_changes_come_first_and_the_others_are_counted(archive: SqlStore) -> None:
    before, after = (project.run_id(2 * commit) for commit in (project.REGRESSION - 1, project.REGRESSION))
    sides = f"run:{before}", f"run:{after}"
    changed = compare(archive, *sides, shown=LineFilter(changed=True))
    rest = compare(archive, *sides, shown=LineFilter(changed=False))
    assert {line.verdict for line in changed.lines} == {Verdict.WORSE}
    assert changed.changed == len(changed.lines) == changed.found
    assert len(changed.lines) + len(rest.lines) == changed.total == changed.fitting
    whole = compare(archive, *sides)
    assert [line.verdict for line in whole.lines[: changed.changed]] == [Verdict.WORSE] * changed.changed


def test_filters_choose_lines_without_changing_verdicts(archive: SqlStore) -> None:
    before, after = (project.run_id(2 * commit) for commit in (project.REGRESSION - 1, project.REGRESSION))
    sides = f"run:{before}", f"run:{after}"
    verdicts = {(line.series[0], line.unit): line.sentence for line in compare(archive, *sides).lines}
    found = compare(archive, *sides, shown=LineFilter(words="RESNET50 batch_size=8", metric="latency_p50")).lines
    assert {(line.metric, line.params["batch_size"]) for line in found} == {("latency_p50", 8)}
    assert all(verdicts[line.series[0], line.unit] == line.sentence for line in found)
    same = compare(archive, *sides, shown=LineFilter(verdict="same")).lines
    assert {line.verdict for line in same} == {Verdict.SAME}


@pytest.mark.parametrize("order", ["effect", "case", "metric", "ratio", "-ratio"])
def test_lines_of_a_case_stand_together_in_every_order(archive: SqlStore, order: str) -> None:
    sides = "run:last~3", "run:last~1"
    flat, grouped = (
        compare(archive, *sides, shown=LineFilter(order=order, by_case=by_case)).lines for by_case in (False, True)
    )
    names = [line.case for line in grouped]
    assert len([name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]) == len(set(names))
    assert list(dict.fromkeys(names)) == list(dict.fromkeys(line.case for line in flat))
    if order == "ratio":
        ratios = [line.ratio.point for line in flat if line.ratio]
        assert ratios == sorted(ratios)


def test_an_unknown_order_and_too_many_sides_are_refused(archive: SqlStore) -> None:
    with pytest.raises(OptionError, match="did you mean 'effect'"):
        compare(archive, "run:last", "run:last~1", shown=LineFilter(order="effct"))
    with pytest.raises(OptionError, match="2 to 8 sides, not 9"):
        compare(archive, *["run:last"] * 9)


def test_a_branch_is_a_side(archive: SqlStore, kept: Keep) -> None:
    revision = project.revision(3)
    runs = [
        replace(_run("a"), revision=replace(revision, branch="main")),
        replace(_run("b", seed=8), revision=replace(revision, branch="fast")),
        replace(_run("c", slower=1.3, seed=9), revision=replace(revision, branch="main")),
    ]
    view = compare(kept(runs), "branch:fast", "branch:main", metrics=["latency_p50"])
    assert (view.a.label, view.b.label, list(view.b.runs)) == ("fast", "main", ["c"])
    assert view.counts == {"worse": 4}
    with pytest.raises(StoreError, match="did you mean 'main'"):
        compare(kept([]), "branch:mian", "branch:fast")


def test_means_are_by_suite_where_there_are_several(archive: SqlStore) -> None:
    before, after = (project.run_id(2 * commit) for commit in (project.REGRESSION - 1, project.REGRESSION))
    view = compare(archive, f"run:{before}", f"run:{after}")
    means = {(mean.suite, mean.metric): mean.columns[0] for mean in view.means}
    vision, text = means["vision", "latency_p50"], means["text", "latency_p50"]
    assert vision.ratio is not None and text.ratio is not None
    assert vision.ratio.point > 1.03 > text.ratio.point
    assert means["", "latency_p50"].cases == sum(
        one.cases for (suite, metric), one in means.items() if suite and metric == "latency_p50"
    )


# ---- kept at hand ----


def test_another_page_of_the_same_results_is_not_judged_again(kept: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    filled = []
    real = sides.fill_sides

    def counted(archive: Archive, given: Sequence[str]) -> list[sides.FilledSide]:
        filled.append(given)
        return real(archive, given)

    monkeypatch.setattr(sides, "fill_sides", counted)
    a, b = _run("a"), _run("b", slower=1.3, seed=8)
    archive = kept([a, replace(b, results=b.results[:-1], planned=len(b.results))])
    first = compare(archive, "run:a", "run:b", shown=LineFilter(limit=2))
    second = compare(archive, "run:a", "run:b", shown=LineFilter(limit=2, after=2))
    assert len(filled) == 1 and first.lines != second.lines and first.counts == second.counts
    assert compare(archive, "run:a", "run:b", metrics=["latency_p50"], shown=LineFilter()).total == 4
    assert len(filled) == 2  # other metrics are another question
    archive.add("b", b.results[-1])
    compare(archive, "run:a", "run:b", shown=LineFilter(limit=2))
    assert len(filled) == 3  # a result came


def test_what_is_kept_is_bounded_by_age_and_size(kept: Keep) -> None:
    archive = kept([])
    made: list[str] = []

    def ask(held: KeptComparisons[str], key: str) -> str:
        def make() -> str:
            made.append(key)
            return key

        return held.get(archive, key, make, size=lambda _: 10)

    small: KeptComparisons[str] = KeptComparisons(most_lines=20)
    assert [ask(small, key) for key in ("x", "y", "x", "z", "x", "y")] == ["x", "y", "x", "z", "x", "y"]
    assert made == ["x", "y", "z", "y"]  # y went when z came: x had been asked for since
    made.clear()
    brief: KeptComparisons[str] = KeptComparisons(lasts=0.0)
    assert [ask(brief, "x"), ask(brief, "x")] == ["x", "x"] and made == ["x", "x"]


def test_a_comparison_that_takes_long_is_not_judged_anew_for_every_arrival(
    kept: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, held = kept([]), KeptComparisons[int]()
    made: list[int] = []

    def ask(version: int) -> int:
        def make() -> int:
            made.append(version)
            return version

        return held.get(archive, "x", make, size=lambda _: 1, version=version)

    assert [ask(1), ask(1), ask(2)] == [1, 1, 2] and made == [1, 2]  # a quick one is
    monkeypatch.setattr("benchwright.pages.kept_comparisons.LONG", 0.0)
    monkeypatch.setattr("benchwright.pages.kept_comparisons.PATIENCE", 1e9)
    assert [ask(3), ask(4)] == [2, 2] and made == [1, 2]


@pytest.mark.parametrize("side", ["machine", "runtime"])
def test_a_side_of_too_many_series_is_refused(kept: Keep, monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    run = _run("a")
    archive = kept([run])
    name = archive.machines()[0].key if side == "machine" else run.results[0].case.params["runtime"]
    assert compare(archive, f"{side}:{name}", "run:a").lines
    monkeypatch.setattr(sides, "MOST_SERIES", 1)
    with pytest.raises(OptionError, match="more than 1 series"):
        compare(archive, f"{side}:{name}", "run:a")
