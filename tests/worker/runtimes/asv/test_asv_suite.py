"""Benchmarks of an asv suite in the worker: names, attributes, setups, samples, caches."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.errors import LoadError, MeasureError, SkippedError
from benchwright.records import Case, Load, Mode, Target
from benchwright.worker.runtimes.asv import (
    CACHE_VARIABLE,
    SESSION_VARIABLE,
    SuiteWork,
    benchmark,
    catalogue,
    parameters,
    setup_cache,
)
from benchwright.worker.runtimes.asv.suite import SuitePlace


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing that a suite leaves in this process stays."""
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    before = set(sys.modules)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "caches"))
    monkeypatch.setenv(SESSION_VARIABLE, "one")
    monkeypatch.chdir(tmp_path)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("marks", "asv_runner"):
            del sys.modules[name]


def _suite(tmp_path: Path, source: str) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "first.py").write_text(source)
    return folder


def _listed(folder: Path) -> dict[str, dict[str, Any]]:
    return {each["place"]["name"]: each for each in catalogue.list_suite(folder)["benchmarks"]}


def _case(folder: Path, name: str, load: Load | None = None, **params: Any) -> Case:
    told = _listed(folder)[name]
    work = SuiteWork(
        folder=str(folder),
        place=SuitePlace(**told["place"]),
        cache=told["cache"],
        cache_timeout=told["cache_timeout"] or 60.0 if told["cache"] else 0.0,
    )
    return Case(
        name=name,
        target=Target(runtime="asv", uri=f"asv.conf.json::{name}", work=work.text()),
        params=params,
        load=load or Load(),
    )


def test_what_asv_runs_is_found_by_its_names(tmp_path: Path) -> None:
    folder = _suite(
        tmp_path,
        """
import abc
from asv_runner.benchmarks.mark import parameterize, skip_benchmark, timeout_at

def time_one(): "What it is."
def mem_two(): pass
def peakmem_three(): pass
def track_four(): pass
def timeraw_five(): pass
def TimeSix_it(): pass
def timely(): pass
def _time_hidden(): pass
@skip_benchmark
def time_skipped(): pass

class Base:
    def time_base(self): pass
class Derived(Base):
    "About it."
    version = 7
    processes = 3
    @timeout_at(2.5)
    def time_own(self): pass
    time_own.pretty_name = "Pretty"
class _Hidden(Base): pass
class Abstract(abc.ABC):
    @abc.abstractmethod
    def time_x(self): pass
@parameterize({"n": [1, 2]})
class Some:
    def track_n(self, n): return n
""",
    )
    (folder / "inner").mkdir()
    (folder / "inner" / "__init__.py").write_text("def time_inner(): pass\n")
    (folder / "broken.py").write_text("import there_is_no_such_module\n")
    content = catalogue.list_suite(folder)
    found = {each["place"]["name"]: each for each in content["benchmarks"]}
    assert set(found) == {
        *("first.time_one", "first.mem_two", "first.peakmem_three", "first.track_four", "first.timeraw_five"),
        *("first.TimeSix_it", "first.Base.time_base", "first.Derived.time_base", "first.Derived.time_own"),
        *("first.Some.track_n", "inner.time_inner"),
    }
    assert [module for module, _ in content["broken"]] == ["marks.broken"]
    own = found["first.Derived.time_own"]
    assert (own["version"], own["rounds"], own["timeout"], own["summary"]) == ("7", 3, 2.5, "Pretty")
    assert own["owner_summary"] == "About it." and found["first.time_one"]["summary"] == "What it is."
    assert found["first.Some.track_n"]["combinations"] == [{"n": 1}, {"n": 2}]
    assert found["first.Some.track_n"]["rounds"] == 1  # called once, as in asv


def test_values_look_in_a_case_as_they_do_in_an_imported_history() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "<Odd at 0x7f00>"

    values = (1, 1.5, "a", "1", None, True, int, Odd(), Odd(), float("inf"))
    shown = [parameters.value_of_label(label) for label in parameters.label_values(values)]
    assert shown == [1, 1.5, "a", "1", None, True, "<class 'int'>", "<Odd> (0)", "<Odd> (1)", "inf"]
    chosen = [parameters.choose_values({"v": values}, {"v": one})[0] for one in shown]
    # "1" and 1 are told apart; an object is handed over itself.
    assert all(a is b or a == b for a, b in zip(chosen, values, strict=True)) and type(chosen[3]) is str
    assert parameters.choose_values({"v": values}, {"v": 99}) == (99,)


@settings(max_examples=30)
@given(st.lists(st.one_of(st.integers(), st.text(), st.booleans(), st.none(), st.floats()), min_size=1, max_size=6))
def test_every_label_stands_for_one_value(values: list[Any]) -> None:
    labels = parameters.label_values(values)
    assert len(set(labels)) == len(labels)
    json.dumps([parameters.value_of_label(label) for label in labels], allow_nan=False)


@pytest.mark.parametrize(
    ("params", "names"), [(3, []), ([[1], []], []), ([1, 2], 5), ([[1], [2]], ["a", "a"]), ([[*range(1000)]] * 3, [])]
)
def test_wrong_parameters_are_refused(params: Any, names: Any) -> None:
    with pytest.raises(LoadError):
        parameters.read_parameters(params, names)


def test_every_sample_finds_what_setup_made(tmp_path: Path) -> None:
    folder = _suite(
        tmp_path,
        """
torn = []
def setup(*args): torn.append("module")
class Popped:
    params = [3]
    number = 1
    def setup(self, n): self.values = list(range(n))
    def time_pop(self, n):
        for _ in range(n): self.values.pop()
    def teardown(self, n):
        assert not self.values
        torn.append("class")
""",
    )
    loaded = benchmark.load(case := _case(folder, "first.Popped.time_pop", param1=3), SuiteWork.of(case))
    assert loaded.prepare is not None
    prepared = loaded.prepare(Load(samples=5, warmup=0.0), 0)
    samples = prepared.run(0).samples
    assert (samples.calls, samples.loops, len(samples.columns["latency"])) == (5, 1, 5)
    assert list(samples.columns["end"])[-1] == samples.elapsed == sum(samples.columns["latency"])
    loaded.close()
    torn = sys.modules["marks.first"].torn
    assert torn == ["module", "class"] * 6  # one warm-up, five samples


def test_number_and_repeat_are_taken_as_the_benchmark_says_and_flags_go_before(tmp_path: Path) -> None:
    folder = _suite(tmp_path, "calls = []\ndef time_it(): calls.append(1)\ntime_it.number = 4\ntime_it.repeat = 3\n")
    case = _case(folder, "first.time_it")
    loaded = benchmark.load(case, SuiteWork.of(case))
    assert loaded.prepare is not None
    samples = loaded.prepare(Load(warmup=0.0), 0).run(0).samples
    assert (samples.calls, samples.loops) == (12, 4)
    assert loaded.prepare(Load(warmup=0.0, samples=2, loops=5), 0).run(0).samples.calls == 10


@pytest.mark.parametrize("stated", ["time_it.number = 4", ""])
def test_the_calls_of_a_sample_share_what_setup_made(tmp_path: Path, stated: str) -> None:
    """As in asv: set up once, then as many calls as are stated, or as last 10 ms, between two reads of the clock."""
    text = f"seen = []\ndef setup(): seen.append(0)\ndef time_it(): seen[-1] += 1\n{stated}\ntime_it.repeat = 3\n"
    case = _case(_suite(tmp_path, text), "first.time_it")
    prepare = benchmark.load(case, SuiteWork.of(case)).prepare
    assert prepare is not None
    prepared = prepare(Load(warmup=0.0, samples=3), 0)
    samples, seen = prepared.run(0).samples, sys.modules["marks.first"].seen
    assert seen[-3:] == [samples.loops] * 3 and samples.calls == 3 * samples.loops
    assert samples.loops == 4 if stated else samples.loops > 100  # a call takes some hundred nanoseconds
    assert prepared.facts.loop == prepared.facts.read


def test_attributes_that_make_no_sense_leave_that_benchmark_out(tmp_path: Path) -> None:
    folder = _suite(
        tmp_path,
        """
def time_often(): pass
time_often.rounds = "many"
def time_long(): pass
time_long.timeout = float("nan")
class Odd:
    @property
    def params(self): raise RuntimeError("not now")
    def time_it(self): pass
def time_right(): pass
""",
    )
    told = catalogue.list_suite(folder)
    assert [each["place"]["name"] for each in told["benchmarks"]] == ["first.time_right"]
    assert told["broken"] == [
        ["first.time_often", "rounds is 'many', which is not a number"],
        ["first.time_long", "timeout is nan, which is not a number"],
        ["first.Odd.time_it", "RuntimeError: not now"],
    ]


def test_a_number_that_is_too_large_is_refused(tmp_path: Path) -> None:
    folder = _suite(tmp_path, "def track_it(): return 10 ** 400")
    case = _case(folder, "first.track_it")
    loaded = benchmark.load(case, SuiteWork.of(case))
    loaded.call()
    with pytest.raises(MeasureError, match="not a number that can be kept"):
        loaded.report()


def test_a_timer_of_its_own_counts(tmp_path: Path) -> None:
    folder = _suite(
        tmp_path,
        "seconds = iter(range(10**6))\ndef time_it(): pass\ntime_it.timer = lambda: next(seconds)\n"
        "time_it.number = 2\ntime_it.repeat = 2\n",
    )
    case = _case(folder, "first.time_it")
    prepared = benchmark.load(case, SuiteWork.of(case)).prepare
    assert prepared is not None
    ready = prepared(Load(warmup=0.0), 0)
    assert list(ready.run(0).samples.columns["latency"]) == [10**9, 10**9] and ready.facts.loop == 0


def test_what_needs_no_setup_is_left_to_the_engine(tmp_path: Path) -> None:
    case = _case(_suite(tmp_path, "def time_it(): pass\n"), "first.time_it")
    assert benchmark.load(case, SuiteWork.of(case)).prepare is None


def test_a_cache_is_computed_once_and_its_files_are_there(tmp_path: Path) -> None:
    folder = _suite(
        tmp_path,
        """
class Cached:
    def setup_cache(self):
        with open("count.txt", "a") as file: file.write("x")
        return [1, 2]
    def track_sum(self, made): return sum(made)
    def track_files(self, made): return __import__("pathlib").Path("count.txt").stat().st_size
def setup_cache(): pass
def track_none(): return 1
""",
    )
    for name, value in (("Cached.track_sum", 3), ("Cached.track_files", 1), ("track_none", 1)):
        case = _case(folder, f"first.{name}", Load(mode=Mode.SINGLE))
        loaded = benchmark.load(case, SuiteWork.of(case))
        loaded.call(*loaded.arguments[0])
        assert [metric.estimate.point for metric in loaded.report().metrics] == [value]


def test_a_cache_without_a_named_folder_lies_where_nobody_else_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies there is unpickled: a folder that others can foretell and make first would let them run code."""
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    setup_cache._own_folder.cache_clear()
    folder = _suite(tmp_path, "def setup_cache(): return 7\ndef track_it(made): return made\n")
    case = _case(folder, "first.track_it", Load(mode=Mode.SINGLE))
    benchmark.load(case, SuiteWork.of(case))
    (made,) = tmp_path.glob("benchwright-asv-*")
    assert made.stat().st_mode & 0o777 == 0o700 and [*made.rglob(setup_cache.PICKLE)]
    setup_cache._own_folder.cache_clear()


def test_a_cache_that_fails_is_not_tried_again_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _suite(
        tmp_path,
        f"""
def setup_cache():
    open({str(tmp_path / "tried")!r}, "a").write("x")
    raise ValueError("no data")
def track_it(made): return 1
""",
    )
    case = _case(folder, "first.track_it", Load(mode=Mode.SINGLE))
    for session, tries in (("one", 1), ("one", 1), ("two", 2)):
        monkeypatch.setenv(SESSION_VARIABLE, session)
        with pytest.raises(LoadError, match="ValueError: no data"):
            benchmark.load(case, SuiteWork.of(case))
        assert len((tmp_path / "tried").read_text()) == tries


def test_a_benchmark_that_does_not_apply_is_skipped(tmp_path: Path) -> None:
    folder = _suite(tmp_path, "def setup(): raise NotImplementedError('not here')\ndef time_it(): pass\n")
    case = _case(folder, "first.time_it")
    with pytest.raises(SkippedError, match="not here") as caught:
        benchmark.load(case, SuiteWork.of(case))
    assert caught.value.kind == "skipped"
