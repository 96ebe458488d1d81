"""Benchmark classes in a worker: how they are constructed, set up, called, asked and torn down."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import DeviceError, LoadError, MeasureError
from benchwright.records import Case, Load, Mode
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.classes import Class

MakeCase = Callable[..., Case]

# What tf.test.Benchmark does as far as it matters here: the file of the contract's vector, never written twice.
FILE = """
import os, sys
from pathlib import Path

VECTOR = bytes.fromhex(
    "0a5c0a1144656d6f2e62656e63686d61726b5f6f6b1005210000000000000440320d0a046e6f7465120512036162633a240a0361636311"
    "000000000000e83f1a0909000000000000e03f220909000000000000f03f3a070a036572721a00"
)
events = []

class Reporting:
    def report_benchmark(self, name="Demo.benchmark_ok", data=VECTOR):
        file = Path(os.environ["TEST_REPORT_FILE_PREFIX"] + name.replace("/", "__"))
        if file.exists():
            raise IOError(f"File already exists: {file}")
        file.write_bytes(data)

class Demo(Reporting):
    def __init__(self, output_dir=None, root_data_dir=None, **kwargs):
        self.seen = (output_dir, root_data_dir, kwargs, dict(os.environ))
        events.append(self)

    def benchmark_ok(self):
        self.report_benchmark()

    def benchmark_named(self):
        self.report_benchmark("Demo.other/name")
        self.report_benchmark("Demo.second", VECTOR.replace(b"Demo.benchmark_ok", b"Demo.benchmark_no"))

    def benchmark_twice(self):
        self.report_benchmark()
        self.report_benchmark()

    def benchmark_cut(self):
        self.report_benchmark(data=VECTOR[:50])

    def benchmark_nothing(self):
        pass

class Needs(Reporting):
    def __init__(self, size):
        self.size = size

    def benchmark_size(self, report):
        report("size", self.size, least=None)

class Own:
    params = {"n": [2, 3]}

    def setup(self, n):
        events.append(("setup", n))
        self.values = list(range(n))

    def teardown(self):
        events.append("teardown")

    def time_sum(self, n=None):
        return sum(self.values)

    def time_doubled(self, *, n):
        return 2 * sum(self.values)

    async def time_later(self, n):
        return n

    def benchmark_told(self, report, n):
        report("wall_time", 5.0, unit="s")
        report("n", n, better="higher", most=10)
        return "ignored"

    async def benchmark_later(self, report):
        report("later", 1)

    def track_n(self, n):
        return n

    track_n.unit = "items"
    track_n.better = "higher"

    def track_text(self):
        return "many"

    def benchmark_twice(self, report):
        report("x", 1)
        report("x", 2)

class Asv:
    params = [[1, 2], [int, float]]
    param_names = ["a", "kind"]

    def setup_cache(self):
        return {"made": 1}

    def setup(self, cache, a, kind):
        events.append(("setup", cache, a, kind))

    def time_it(self, cache, a, kind):
        return kind(a), cache

    def teardown(self, cache, a, kind):
        events.append(("teardown", cache, a, kind))

class Unlucky:
    def setup(self):
        raise OSError("no data")

    def time_x(self):
        pass

class Leaves:
    def __init__(self):
        sys.exit("leaving")

    def benchmark_x(self):
        pass
"""


@pytest.fixture
def load(make_case: MakeCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Loaded]]:
    """`load("Own.time_sum", n=2)` loads a method of the file above, called once unless its name begins with time_."""
    for name in ("BENCHWRIGHT_OUTPUT", "TEST_REPORT_FILE_PREFIX", "BENCHMARK_OUTPUT_DIR", "BENCHMARK_TPU"):
        monkeypatch.setenv(name, "")  # so that it is put back as it was
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "demo_classes.py"
    file.write_text(FILE)
    closing = []

    def call(name: str, options: dict[str, Any] | None = None, **params: Any) -> Loaded:
        mode = Mode.CLOSED if ".time_" in name else Mode.SINGLE
        case = make_case("class", f"{file}::{name}", options=options, load=Load(mode=mode), params=params)
        loaded = Class().load(case)
        closing.append(loaded.close)
        return loaded

    yield call
    for close in closing:
        close()
    sys.modules.pop("demo_classes", None)


def _called(loaded: Loaded) -> Report:
    loaded.call(*loaded.arguments[0])
    return loaded.report()


def _metrics(report: Report) -> dict[str, float]:
    return {metric.name: metric.estimate.point for metric in report.metrics}


# ---- our own convention ----


def test_a_timed_method_is_the_bare_method(load: Callable[..., Loaded]) -> None:
    loaded = load("Own.time_sum", n=3)
    assert loaded.call(*loaded.arguments[0]) == 3
    assert isinstance(loaded.call, types.MethodType)  # nothing of ours is between the engine and the method
    assert load("Own.time_doubled", n=3).call() == 6
    assert _metrics(loaded.report()) == {} and not loaded.report().warnings


def test_setup_and_teardown_get_the_parameters_they_name(load: Callable[..., Loaded]) -> None:
    loaded = load("Own.time_sum", n=3)
    seen = sys.modules["demo_classes"].events
    assert seen == [("setup", 3)]
    loaded.close()
    assert seen == [("setup", 3), "teardown"]


def test_an_asynchronous_method(load: Callable[..., Loaded]) -> None:
    loaded = load("Own.time_later", n=3)
    assert loaded.is_async
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, loaded.call(*loaded.arguments[0])).result() == 3
        once = load("Own.benchmark_later", n=3)
        assert not once.is_async
        assert _metrics(thread.submit(_called, once).result()) == {"later": 1.0}


def test_what_a_method_reports(load: Callable[..., Loaded]) -> None:
    report = _called(load("Own.benchmark_told", n=3))
    assert _metrics(report) == {"reported_wall_time": 5.0, "n": 3.0}
    assert (report.metrics[1].better, report.metrics[1].most, report.metrics[1].least) == ("higher", 10.0, None)
    assert not report.warnings
    told = report.details["report"]
    assert isinstance(told, dict) and told["name"] == "Own.benchmark_told"
    assert told["metrics"] == [{"name": "wall_time", "value": 5.0}, {"name": "n", "value": 3.0, "max_value": 10.0}]


def test_reporting_a_name_twice_is_an_error(load: Callable[..., Loaded]) -> None:
    with pytest.raises(ValueError, match="'x' was reported before"):
        _called(load("Own.benchmark_twice", n=2))


def test_what_a_track_method_returns(load: Callable[..., Loaded]) -> None:
    (metric,) = _called(load("Own.track_n", n=3)).metrics
    assert (metric.name, metric.unit, metric.better, metric.estimate.point) == ("n", "items", "higher", 3.0)
    with pytest.raises(MeasureError, match="returned 'many', which is not a number"):
        _called(load("Own.track_text", n=3))


def test_asv_parameters_come_in_order_behind_the_cache(load: Callable[..., Loaded]) -> None:
    loaded = load("Asv.time_it", a=2, kind="float")
    seen = sys.modules["demo_classes"].events
    assert loaded.call(*loaded.arguments[0]) == (2.0, {"made": 1})
    loaded.close()
    assert seen == [("setup", {"made": 1}, 2, float), ("teardown", {"made": 1}, 2, float)]


# ---- PerfZero's and TensorFlow's ----


def test_the_constructor_gets_what_perfzero_hands(
    load: Callable[..., Loaded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(tmp_path))
    options = {"root_data_dir": "/d", "tpu": "t", "constructor": '{"x": 1}'}
    report = _called(load("Demo.benchmark_ok", options))
    output_dir, root_data_dir, kwargs, environment = sys.modules["demo_classes"].events[0].seen
    assert (output_dir, root_data_dir, kwargs) == (str(tmp_path), "/d", {"tpu": "t", "x": 1})
    assert environment["TEST_REPORT_FILE_PREFIX"] == f"{tmp_path}/proto_"
    assert (environment["BENCHMARK_OUTPUT_DIR"], environment["BENCHMARK_TPU"]) == (str(tmp_path), "t")
    assert (tmp_path / "proto_Demo.benchmark_ok").is_file()
    assert report.details["style"] == "perfzero"


def test_the_defaults_of_the_constructor(load: Callable[..., Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHMARK_OUTPUT_DIR", "/mine")
    loaded = load("Demo.benchmark_ok")
    output_dir, root_data_dir, kwargs, environment = sys.modules["demo_classes"].events[0].seen
    assert (root_data_dir, kwargs) == ("/data", {"tpu": None})
    assert environment["BENCHMARK_OUTPUT_DIR"] == "/mine" and "BENCHMARK_TPU" not in environment
    assert Path(output_dir).is_dir()
    loaded.close()
    assert not Path(output_dir).exists()


def test_a_style_can_be_forced(load: Callable[..., Loaded]) -> None:
    load("Demo.benchmark_ok", {"style": "tf_benchmark", "constructor": '{"x": 1}'})
    assert sys.modules["demo_classes"].events[0].seen[:3] == (None, None, {"x": 1})
    assert _metrics(_called(load("Needs.benchmark_size", {"constructor": '{"size": 7}'}))) == {"size": 7.0}


def test_a_report_is_read_from_its_file(load: Callable[..., Loaded]) -> None:
    report = _called(load("Demo.benchmark_ok"))
    assert _metrics(report) == {"acc": 0.75, "err": 0.0, "reported_wall_time": 2.5, "reported_iters": 5.0}
    assert [(m.least, m.most) for m in report.metrics[:2]] == [(0.5, 1.0), (0.0, None)]
    assert report.details["report"] == {
        "name": "Demo.benchmark_ok",
        "iters": 5,
        "cpu_time": 0.0,
        "wall_time": 2.5,
        "throughput": 0.0,
        "extras": [{"name": "note", "value": "abc"}],
        "metrics": [
            {"name": "acc", "value": 0.75, "min_value": 0.5, "max_value": 1.0},
            {"name": "err", "value": 0.0, "min_value": 0.0},
        ],
    }
    timings = report.details["timings"]
    assert isinstance(timings, dict) and set(timings) == {"class_initialization", "method_execution"}
    assert isinstance(report.details["called_at"], float)


def test_a_report_of_another_name_is_found(load: Callable[..., Loaded]) -> None:
    report = _called(load("Demo.benchmark_named"))
    assert {"acc", "Demo.benchmark_no.acc"} < set(_metrics(report))
    told, more = report.details["report"], report.details["more_reports"]
    assert isinstance(told, dict) and isinstance(more, list) and isinstance(more[0], dict)
    assert (told["name"], more[0]["name"]) == ("Demo.benchmark_ok", "Demo.benchmark_no")


def test_the_report_of_an_attempt_before_does_not_stand_in_the_way(
    load: Callable[..., Loaded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(tmp_path))
    (tmp_path / "proto_Demo.benchmark_else").write_bytes(b"of another method")
    for _ in range(2):
        assert "acc" in _metrics(_called(load("Demo.benchmark_ok")))
    assert (tmp_path / "proto_Demo.benchmark_else").read_bytes() == b"of another method"


def test_a_second_report_is_the_users_error(load: Callable[..., Loaded]) -> None:
    with pytest.raises(OSError, match="File already exists"):
        _called(load("Demo.benchmark_twice"))


def test_a_report_that_was_cut_short_is_an_error(load: Callable[..., Loaded]) -> None:
    with pytest.raises(Exception, match=r"proto_Demo\.benchmark_ok: byte 1: 92 bytes are announced"):
        _called(load("Demo.benchmark_cut"))


def test_a_method_that_reports_nothing_says_so(load: Callable[..., Loaded]) -> None:
    report = _called(load("Demo.benchmark_nothing"))
    assert [w.code for w in report.warnings] == ["reported-nothing"]
    assert "report" not in report.details


def test_the_framework_is_told_and_never_imported(load: Callable[..., Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tensorflow", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert "framework" not in _called(load("Own.track_n", n=3)).details
    assert "tensorflow" not in sys.modules and "torch" not in sys.modules
    loaded = types.ModuleType("tensorflow")
    loaded.__version__, loaded.__git_version__ = "2.0", "b'v2.0-rc1'"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorflow", loaded)
    framework = _called(load("Own.track_n", n=3)).details["framework"]
    assert framework == {"name": "tensorflow", "version": "2.0", "build_version": "v2.0-rc1"}


# ---- the log ----


def test_the_log_holds_the_root_loggers_records_and_the_traceback(
    load: Callable[..., Loaded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(tmp_path))
    level = logging.getLogger().level
    loaded = load("Demo.benchmark_twice", {"log": "run.log"})
    logging.getLogger("some.where").info("hello")
    with pytest.raises(OSError, match="exists"):
        loaded.call()
    loaded.close()
    logging.getLogger("some.where").warning("after the end")
    text = (tmp_path / "run.log").read_text()
    assert " INFO: hello\n" in text and "\nOSError: File already exists" in text and "Traceback" in text
    assert "after the end" not in text and logging.getLogger().level == level


def test_the_log_is_written_anew_and_tells_why_nothing_was_called(
    load: Callable[..., Loaded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(tmp_path))
    (tmp_path / "run.log").write_text("what was there before")
    with pytest.raises(LoadError):
        load("Needs.benchmark_size", {"log": "run.log", "log_level": "DEBUG"})
    text = (tmp_path / "run.log").read_text()
    assert "before" not in text and "missing 1 required positional argument: 'size'" in text


# ---- what is wrong ----


@pytest.mark.parametrize(
    ("name", "options", "params", "message"),
    [
        ("Own.time_smu", {}, {"n": 2}, r"Own has no method 'time_smu'\n  did you mean 'time_sum'"),
        ("Owm.time_sum", {}, {}, r"has no 'Owm'\n  did you mean 'Own'"),
        ("events.append", {}, {}, "events in .* is list, not a class"),
        ("Own", {}, {}, "names no class and method"),
        ("Unlucky.time_x", {}, {}, "setup failed: OSError: no data"),
        ("Own.time_doubled", {}, {}, "cannot be called with nothing: missing a required argument: 'n'"),
        ("Leaves.benchmark_x", {}, {}, "Leaves could not be constructed: SystemExit: leaving"),
        ("Needs.benchmark_size", {}, {}, "Needs could not be constructed: TypeError"),
        ("Demo.benchmark_ok", {"constructor": "[1]"}, {}, "is not a JSON object"),
        ("Demo.benchmark_ok", {"constructor": "{"}, {}, "not JSON"),
        ("Demo.benchmark_ok", {"style": "perfzer"}, {}, "did you mean 'perfzero'"),
        ("Demo.benchmark_ok", {"stile": "plain"}, {}, "did you mean 'style'"),
        ("Demo.benchmark_ok", {"log": "../run.log"}, {}, "is not a file in the output folder"),
    ],
)
def test_what_cannot_be_loaded(
    name: str, options: dict[str, Any], params: dict[str, Any], message: str, load: Callable[..., Loaded]
) -> None:
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("benchwright-output-*"))
    with pytest.raises(LoadError, match=message):
        load(name, options, **params)
    assert set(Path(os.environ.get("TMPDIR", "/tmp")).glob("benchwright-output-*")) <= before


def test_a_device_cannot_be_promised(make_case: MakeCase) -> None:
    with pytest.raises(DeviceError):
        Class().load(make_case("class", "os:Class.method", device="cuda"))
