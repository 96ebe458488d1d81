import re
import resource
import signal
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sample_runs as samples
from benchwright.errors import OptionError
from benchwright.records import Run
from benchwright.report.html import check_target, html_page, write_html

EVIL = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><b>", "a&b'c", "\u202ename\x00"]


class Balanced(HTMLParser):
    """Fails when tags do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_the_page_says_everything_a_reader_needs(run: Run) -> None:
    page = html_page([run])
    parsed(page)
    for words in (
        "benchwright run model.onnx --runtime onnxruntime,openvino,torch",
        "± 0.020",
        "noisy-machine",
        "stop what else runs here",
        "failed in rounds 1, 2, 3: torch cannot read model.onnx",
        "libcudart.so.12",
        "Example CPU 9000",
        "unavailable: no cpufreq here",
        "cost per call",
        "round 3",
        "2026-11-02 09:00:00 UTC",
        "trustworthy",
        "4f2c9b1e4f2c",
        "Pareto front",
        "t over 3 processes",
    ):
        assert words in page, words


def test_what_is_not_needed_at_first_sight_is_folded(run: Run) -> None:
    """The results, their notes and the plots are seen; cases, their tables and the environment open with a click."""
    folds = [attributes for tag, attributes in parsed(html_page([run])).seen if tag == "details"]
    assert folds and not any("open" in attributes for attributes in folds)
    page = html_page([run])
    assert page.index("Recommendations" if "Recommendations" in page else "Plots") < page.index("<details")
    assert page.index("<summary>Example CPU 9000") < page.index("unavailable: no cpufreq here")
    alone = replace(run, results=tuple(r for r in run.results if r.case == run.results[0].case))
    folds = [attributes for tag, attributes in parsed(html_page([alone])).seen if tag == "details"]
    assert ["open" in attributes for attributes in folds].count(True) == 1  # the only case, without its tables


def test_names_cannot_break_out(run: Run) -> None:
    evil = replace(samples.rename(run, EVIL), id=EVIL[0], tags=(EVIL[1],), command=(EVIL[0], EVIL[1]))
    page = html_page([evil, replace(evil, id="second")])
    found = parsed(page)
    assert sum(tag == "script" for tag, _ in found.seen) == 1  # our own
    assert not any(tag == "img" for tag, _ in found.seen)
    assert not any(name.startswith("on") for _, attributes in found.seen for name in attributes)
    assert "\x00" not in page and "\u202e" not in page


def test_nothing_is_loaded_from_anywhere(run: Run) -> None:
    page = html_page([run])
    found = parsed(page)
    assert not any(name in ("src", "href") for _, attributes in found.seen for name in attributes)
    assert "url(" not in page and "@import" not in page
    assert re.search(r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-", page)


def test_ids_are_unique_and_plots_are_named(run: Run) -> None:
    found = parsed(html_page([run, replace(run, id="again")]))
    ids = [attributes["id"] for _, attributes in found.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    plots = [attributes for tag, attributes in found.seen if tag == "svg" and attributes.get("class") == "plot"]
    assert len(plots) == 2 * (4 + 4 * 3)
    for attributes in plots:
        assert attributes["role"] == "img"
        assert set((attributes["aria-labelledby"] or "").split()) <= set(ids)


def test_heads_have_a_scope(run: Run) -> None:
    heads = [attributes for tag, attributes in parsed(html_page([run])).seen if tag == "th"]
    assert heads and all(attributes.get("scope") in ("col", "row") for attributes in heads)


def test_facts_that_changed_between_results_show_their_values(run: Run) -> None:
    calm, busy = (replace(samples.ENVIRONMENT, knobs={"governor": g}) for g in ("performance", "powersave"))
    results = [replace(r, environment=e) for r, e in zip(run.results, [calm, busy, calm, busy, calm], strict=False)]
    page = html_page([replace(run, results=tuple(results))])
    assert page.count("<summary>Example CPU 9000") == 1 and "performance / powersave" in page
    elsewhere = replace(results[0], environment=samples.OTHER_MACHINE)
    assert "Other CPU 1" in html_page([replace(run, results=(*results, elsewhere))])


def test_several_runs_are_compared_with_the_first(run: Run) -> None:
    page = html_page([run, samples.make_run("later", slower=1.2, seed=8)])
    assert (
        "<h1>Comparison</h1>" in page and f"later (nightly) against {run.id} (nightly)" in page and "worse: 2" in page
    )


def test_size_does_not_grow_with_the_calls() -> None:
    small, large = (len(html_page([samples.make_run(calls=n, rounds=2)])) for n in (2_000, 100_000))
    assert large < 1.3 * small < 600_000


def test_size_is_bounded_over_many_cases(run: Run) -> None:
    first = run.results[0]
    many = [replace(first, id=f"r{i}", case=replace(first.case, params={"n": i})) for i in range(120)]
    page = html_page([replace(run, results=tuple(many))])
    assert "Plots over time are drawn for the first 40 cases" in page
    assert len(page) < 8_000_000


def test_a_run_without_results_is_a_page_too(run: Run) -> None:
    parsed(html_page([replace(run, results=())]))


def test_a_file_of_somebody_else_is_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("my thesis")
    with pytest.raises(OptionError, match="Benchwright did not write it"):
        write_html([run], path)
    assert path.read_text() == "my thesis"
    assert write_html([run], path, force=True) == path
    first = path.read_text()
    write_html([replace(run, id="another")], path)  # our own may be replaced
    assert path.read_text() != first


def test_a_place_that_cannot_be_written_is_a_user_error(run: Run, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no folder"):
        write_html([run], tmp_path / "missing" / "report.html")
    with pytest.raises(OptionError, match=r"is a folder; name a file\n  for example --report .*report\.html"):
        write_html([run], tmp_path, flag="--report")
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OptionError, match=r"Benchwright did not write it\n  name another file: --report$"):
        check_target(tmp_path / "mine", flag="--report")
    check_target(tmp_path / "mine", force=True)
    check_target(tmp_path / "fresh.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine"]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "report.html"
    write_html([run], path)
    first = path.read_text()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OptionError, match="cannot be written"):
            write_html([run], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_text() == first and [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_few_points_are_no_plot_over_time(run: Run) -> None:
    short = tuple(
        replace(r, timelines=tuple(replace(t, seconds=t.seconds[:4], values=t.values[:4]) for t in r.timelines))
        for r in run.results
    )
    assert "Memory over time" in html_page([run])
    page = html_page([replace(run, results=short)])
    assert "Memory over time" not in page and "Latency over time" in page


def test_what_lines_numbers_up_can_be_left_out_on_a_phone(run: Run) -> None:
    page = html_page([run])
    assert '<span class="pad">' in page and ".results .pad { display: none; }" in page
    assert "\u2007" not in re.sub('<span class="pad">\u2007+</span>', "", page)


def test_the_page_says_which_case_to_choose(run: Run) -> None:
    page = html_page([run])
    assert "Recommendations" in page and "Lowest latency: " in page and "Highest throughput: " in page
    assert "Recommendations" not in html_page([replace(run, results=run.results[:1])])
