"""Class targets: every way to write one, and what a child process finds out about it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchwright.errors import TargetError
from benchwright.events import Noted
from benchwright.records import Case, Load, Mode
from benchwright.targets.sources import Request, describe_cases, plan
from benchwright.targets.sources.classes import Classes, case_for, expand

MODULE = '''
import sys
from pathlib import Path
import benchwright

class Own:
    """Our own convention."""
    params = {"n": [1, 10]}
    def setup(self, n): pass
    def time_it(self):
        """Over and over.

        More words.
        """
    def benchmark_all(self, report, n): pass
    def track_size(self): return 1
    def helper(self): pass
    @staticmethod
    def static(size=1): pass

class Child(Own):
    params = {"n": [5]}

class Perf:
    def __init__(self, output_dir=None, root_data_dir=None, tpu="", **kwargs):
        Path(__file__).with_name("constructed").write_text(repr((output_dir, root_data_dir, tpu, kwargs)))
        self.benchmark_made = lambda: None
    def report_benchmark(self): pass
    def benchmark_b(self): pass
    def benchmark_a(self): pass
    def time_step(self): pass
    benchmark_number = 5

class Fails:
    def __init__(self, size): pass
    def benchmark_x(self): pass

class Private:
    _hidden = 1

class _Base:
    def time_hidden(self): pass

class Net:
    def forward(self): pass

@benchwright.benchmark
def marked(): pass

def plain(size=1): pass
'''


METHODS = ("time_it", "benchmark_all", "track_size")


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "suite" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "bench.py").write_text(MODULE)
    (package / "unrelated.py").write_text("raise RuntimeError('nothing of interest here')\n")
    (package / "__main__.py").write_text("raise RuntimeError('benchmark')\n")
    return package


def _plan(target: str, **request: object) -> list[Case]:
    return plan(Request(targets=[target], **request))  # type: ignore[arg-type]


def _names(target: str, **request: object) -> list[str]:
    return list(dict.fromkeys(case.name for case in _plan(target, **request)))


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("suite.inner.bench.Own.time_it", ["suite.inner.bench.Own.time_it"]),
        ("suite.inner.bench.Own:time_it", ["suite.inner.bench.Own:time_it"]),
        ("suite.inner.bench:Own.time_it", ["suite.inner.bench:Own.time_it"]),
        ("suite.inner.bench.Own", [f"suite.inner.bench.Own.{m}" for m in METHODS]),
        ("suite.inner.bench.Child", [f"suite.inner.bench.Child.{m}" for m in METHODS]),
        ("suite.inner.bench.Own.filter:t.*_si", ["suite.inner.bench.Own.track_size"]),
        ("suite.inner.bench.Own.helper", ["suite.inner.bench.Own.helper"]),
        ("suite.inner.bench.plain", ["suite.inner.bench:plain"]),
        ("suite/inner/bench.py::Own.time_it", ["bench.py::Own.time_it"]),
        ("suite/inner/bench.py::Perf", ["bench.py::Perf.benchmark_b", "bench.py::Perf.benchmark_a"]),
        ("suite/inner/bench.py::Perf.filter:benchmark_[ab]", [f"bench.py::Perf.benchmark_{x}" for x in "ab"]),
        ("suite/inner/bench.py::marked", ["bench.py::marked"]),
        ("suite/inner/bench.py::Net", ["bench.py::Net"]),
        ("suite/inner/bench.py::Own.static", ["bench.py::Own.static"]),
    ],
)  # fmt: skip
def test_targets(target: str, names: list[str]) -> None:
    assert _names(target) == names


EVERYTHING = [
    *(f"Own.{m}" for m in METHODS),
    *(f"Child.{m}" for m in METHODS),
    "Perf.benchmark_b",
    "Perf.benchmark_a",
    "Fails.benchmark_x",
]


def test_a_file_a_module_and_a_package_give_all_they_have() -> None:
    assert _names("suite/inner/bench.py") == [f"bench.py::{name}" for name in [*EVERYTHING, "marked"]]
    everything = [*(f"suite.inner.bench.{name}" for name in EVERYTHING), "suite.inner.bench:marked"]
    assert _names("suite.inner.bench") == everything
    assert _names("suite") == _names("suite.inner") == everything
    assert "suite" not in sys.modules


def test_a_runtime_narrows_what_is_found() -> None:
    assert _names("suite/inner/bench.py", runtimes=("python",)) == ["bench.py::marked"]
    assert "bench.py::marked" not in _names("suite/inner/bench.py", runtimes=("class",))
    (case,) = _plan("suite/inner/bench.py::Own", runtimes=("python",))
    assert case.target.runtime == "python"  # what it was before there were classes: a call makes an object


def test_the_cases_of_a_method() -> None:
    first, second = _plan("suite.inner.bench.Own.time_it", load=Load(duration=2.0))
    assert (first.target.runtime, first.target.uri) == ("class", "suite.inner.bench:Own.time_it")
    assert (first.params, second.params["n"]) == ({"runtime": "class", "n": 1, "workers": 1, "copies": 1}, 10)
    assert (first.load.mode, first.load.duration, len(first.version)) == (Mode.CLOSED, 2.0, 64)
    (once,) = _plan("suite.inner.bench.Child.benchmark_all", load=Load(duration=2.0, timeout=9.0))
    assert (once.params, once.load) == ({"runtime": "class", "n": 5}, Load(mode=Mode.SINGLE, timeout=9.0))


def test_parameters_are_narrowed_and_styles_forced() -> None:
    assert [c.params["n"] for c in _plan("suite.inner.bench.Own.time_it", params={"n": [3]})] == [3]
    assert _plan("suite.inner.bench.Perf.time_step")[0].load.mode is Mode.SINGLE
    (case,) = _plan("suite.inner.bench.Perf.time_step", options={"style": "plain"})
    assert (case.load.mode, case.target.options) == (Mode.CLOSED, {"style": "plain"})


def test_a_method_varies_only_what_it_or_its_setup_names(package: Path) -> None:
    (package / "bench.py").write_text("class A:\n    params = {'n': [1, 2]}\n    def time_n(self, n): pass\n")
    with (package / "bench.py").open("a") as file:
        file.write("    def time_none(self): pass\n")
    assert [c.params.get("n") for c in _plan("suite.inner.bench.A")] == [1, 2, None]
    (package / "bench.py").write_text("class A:\n    params = {'nn': [1, 2]}\n    def time_n(self, n): pass\n")
    with pytest.raises(
        TargetError, match=r"nothing in A in suite.inner.bench takes the parameter 'nn'\n  did you mean 'n'"
    ):
        _plan("suite.inner.bench.A")


def test_a_parameter_without_values_is_told_with_its_class_and_file(package: Path) -> None:
    (package / "bench.py").write_text("class A:\n    params = {'n': []}\n    def time_n(self, n): pass\n")
    with pytest.raises(TargetError, match=r"A in suite\.inner\.bench: params: n has no value"):
        _plan("suite.inner.bench")
    with pytest.raises(TargetError, match=r"A in /.*suite/inner/bench\.py: params: n has no value"):
        _plan("suite/inner/bench.py")


def test_a_filter_constructs_the_class_in_a_child_as_perfzero_does(package: Path) -> None:
    names = _names("suite.inner.bench.Perf.filter:benchmark")
    assert names == [f"suite.inner.bench.Perf.benchmark_{x}" for x in ("a", "b", "made", "number")]
    assert (package / "constructed").read_text() == "('/dev/null', '', None, {})"


def test_what_its_author_says_of_a_case() -> None:
    (case, about), *_ = describe_cases(Request(targets=["suite.inner.bench.Own"]))
    assert (about.summary, about.owner, about.owner_summary) == (
        "Over and over.",
        "suite.inner.bench.Own",
        "Our own convention.",
    )
    assert case.name == f"{about.owner}.time_it"


@pytest.mark.parametrize(
    ("target", "request_", "message"),
    [
        ("suite.inner.bench.Onw.time_it", {}, r"has no 'Onw'\n  did you mean 'Own'"),
        ("suite.inner.bench.Own.time_ti", {}, r"Own in suite.inner.bench has no 'time_ti'\n  did you mean 'time_it'"),
        ("suite/inner/bench.py::Own.time_ti", {}, r"has no 'time_ti'\n  did you mean 'time_it'"),
        ("suite.iner.bench.Own", {}, r"no module 'suite.iner' here, and no 'iner' in suite\n  did you mean 'inner'"),
        ("suitte.inner.bench.Own", {}, "there is no module 'suitte' here, and no file suitte.inner.bench.Own"),
        ("suite.inner.bench.Own.filter:none", {}, r"none matches no benchmark\n  benchwright list suite.inner.bench "),
        ("suite.inner.bench.Own.filter:(", {}, "is not a regular expression"),
        ("suite.inner.bench.plain.filter:x", {}, "plain in suite.inner.bench is function, not a class"),
        ("suite.inner.bench.Fails.filter:b", {}, "Fails could not be constructed: TypeError"),
        ("suite.inner.bench.Private", {"runtimes": ("class",)}, "is not a benchmark class"),
        ("suite.inner.bench.Own", {"runtimes": ("torch",)}, "torch does not run benchmark classes"),
        ("suite.inner.bench.Own.benchmark_all", {"params": {"m": [1]}}, r"takes no parameter 'm'\n  known: n"),
        ("suite.inner.bench.Own.benchmark_all", {"workers": (2,)}, "called once a round, so --workers does not apply"),
        ("suite.inner.bench.Own.track_size", {"rates": (9.0,)}, "so --rate does not apply"),
        ("suite.inner.bench.Own.track_size", {"load": Load(mode=Mode.OFFLINE)}, "load that is offline does not apply"),
        ("suite.inner.bench.Own", {"devices": ("cuda",)}, "chooses its device and precision itself"),
    ],
)  # fmt: skip
def test_wrong_requests(target: str, request_: dict[str, object], message: str) -> None:
    with pytest.raises(TargetError, match=message):
        _plan(target, **request_)


def test_a_list_of_nothing_is_refused_as_a_run_of_nothing_is() -> None:
    target = "suite.inner.bench.Own.filter:none"
    with pytest.raises(TargetError, match=r"none matches no benchmark\n  benchwright list suite.inner.bench "):
        Classes().list_cases(target, Request(targets=[target]))


def test_a_module_of_a_package_that_cannot_be_imported(package: Path) -> None:
    (package / "broken.py").write_text("import nowhere_to_be_found  # for a benchmark\n")
    with pytest.raises(TargetError, match=r"suite\.inner\.broken: .*nowhere_to_be_found"):
        _plan("suite")
    found, broken = Classes().list_cases("suite", Request(targets=["suite"]))
    assert len({case.name for case, _ in found}) == len(EVERYTHING) + 1
    assert [module for module, _ in broken] == ["suite.inner.broken"]


@pytest.mark.parametrize("target", ["model.onnx", "model.onxn", "word", "a/b.c", "suite.inner.bench.Own::x", "-- x"])
def test_what_is_no_class(target: str, tmp_path: Path) -> None:
    assert not Classes().accepts(target)


def test_a_file_is_never_taken_for_a_module(tmp_path: Path) -> None:
    assert Classes().accepts("my.model.h5")
    (tmp_path / "my.model.h5").touch()
    assert not Classes().accepts("my.model.h5")


# ---- for the older command line ----


def test_a_class_is_constructed_for_a_filter_as_its_style_says(tmp_path: Path) -> None:
    (tmp_path / "keyed.py").write_text(
        "import time\n\nclass K:\n    def __init__(self, **kwargs):\n"
        "        given = (kwargs['output_dir'], kwargs['root_data_dir'], kwargs['tpu'])\n"
        "        assert given == ('/dev/null', '', None), given\n\n    def benchmark_a(self): pass\n"
    )
    assert expand("keyed.K.filter:benchmark", style="perfzero", last_paths=[str(tmp_path)]) == ["keyed.K.benchmark_a"]
    with pytest.raises(TargetError, match="KeyError"):
        expand("keyed.K.filter:benchmark", last_paths=[str(tmp_path)])


def test_a_filter_may_take_as_long_as_is_said(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(30)\n")
    with pytest.raises(TargetError, match=r"not done after 0\.5 s"):
        expand("slow.K.filter:x", last_paths=[str(tmp_path)], timeout=0.5)


def test_expand_knows_paths_that_come_last(tmp_path: Path) -> None:
    site = tmp_path / "elsewhere"
    site.mkdir()
    (site / "demo_bench.py").write_text(MODULE)
    found = expand("demo_bench.Perf.filter:benchmark_(a|b)$", last_paths=[str(site)])
    assert found == ["demo_bench.Perf.benchmark_a", "demo_bench.Perf.benchmark_b"]
    assert expand("demo_bench.Perf.filter:none", last_paths=[str(site)]) == []
    assert expand(f"{site}/demo_bench.py::Own.filter:time_") == [f"{site}/demo_bench.py::Own.time_it"]
    with pytest.raises(TargetError, match="demo_bench"):
        expand("demo_bench.Perf.filter:x")


@pytest.mark.parametrize("text", ["demo.Perf.benchmark_a", "demo.Perf:benchmark_a", "no such thing"])
def test_expand_leaves_every_other_string_alone(text: str) -> None:
    assert expand(text) == [text]


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("pkg.mod.Class.method", "pkg.mod:Class.method"),
        ("pkg.mod.Class:method", "pkg.mod:Class.method"),
        ("pkg.mod:Class.method", "pkg.mod:Class.method"),
        ("file.py::Class.method", "file.py::Class.method"),
        ("Class.method", "Class.method"),
        ("", ""),
    ],
)
def test_a_case_for_a_method_string_checks_nothing(text: str, uri: str) -> None:
    case = case_for(text)
    assert (case.name, case.target.uri, case.target.options, case.load) == (text, uri, {}, Load(mode=Mode.SINGLE))


def test_the_options_of_a_case_for_a_method_string() -> None:
    given = {
        "style": "perfzero",
        "constructor": '{"a": 1}',
        "root_data_dir": "",
        "tpu": "t",
        "log": "l",
        "log_level": "DEBUG",
    }
    assert case_for("a.B.c", **given, timeout=5.0).target.options == given  # type: ignore[arg-type]


def test_what_asv_would_run_and_we_do_not_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = (
        "class S:\n    def time_x(self): pass\n    def timeraw_y(self): return ''\n"
        "def time_top(): pass\ndef mem_top(): return []\ndef helper(): pass\n"
    )
    (tmp_path / "asv_suite.py").write_text(code, encoding="utf-8")
    told: list[str] = []

    def listener(event: object) -> None:
        told.append(event.text) if isinstance(event, Noted) else None

    for target, name in (("asv_suite.py", "asv_suite.py::S.time_x"), ("asv_suite", "asv_suite.S.time_x")):
        assert [case.name for case in plan(Request(targets=[target], listener=listener))] == [name]
    assert [text.partition(";")[0] for text in told] == [
        f"{target}: left out: S.timeraw_y, time_top, mem_top" for target in ("asv_suite.py", "asv_suite")
    ]
    told.clear()
    assert plan(Request(targets=["asv_suite.py::mem_top"], listener=listener))[0].target.runtime == "python"
    assert told[0].startswith("asv_suite.py::mem_top is a function: how long it takes is measured")
    told.clear()
    plan(Request(targets=["asv_suite.py::time_top", "asv_suite.py::S.time_x"], listener=listener))
    assert told == []
