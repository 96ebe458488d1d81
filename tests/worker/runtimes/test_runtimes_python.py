"""Python callables: parameters, setup and teardown, asynchronous ones, and the user's own errors."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.python import Python

MakeCase = Callable[..., Case]

FILE = """
import dataclasses
import helper_beside
from benchwright.decorator import benchmark

events = []

@dataclasses.dataclass
class Point:
    x: int

def plain():
    return helper_beside.VALUE

def sized(size, *, unit="B"):
    return f"{size}{unit}"

async def later(size=1):
    return size

class Caller:
    async def __call__(self):
        return "called"

caller = Caller()
number = 3

def make(size):
    events.append(f"setup {size}")
    return list(range(size))

def drop(data):
    events.append(f"teardown {len(data)}")

@benchmark(params={"size": [3], "times": [2]}, setup=make, teardown=drop, items="size")
def total(data, times):
    return sum(data) * times

def opened():
    events.append("open")
    yield "handle"
    events.append("closed")

@benchmark(setup=opened, items=lambda: 5)
def uses(handle):
    return handle

def twice():
    yield 1
    yield 2

@benchmark(setup=twice)
def yields_twice(value):
    return value

def broken():
    raise OSError("no data")

@benchmark(setup=broken)
def unlucky(value):
    return value

@benchmark(setup=make)
def fed(data, **rest):
    return len(data), rest

@benchmark(params={"size": [3]}, setup=dict, teardown=dict.clear)
def counted(counts, size):
    counts[size] = counts.get(size, 0) + 1
    return counts
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "helper_beside.py").write_text("VALUE = 42\n")
    path = tmp_path / "bench_file.py"
    path.write_text(FILE)
    before, modules = sys.path[:], set(sys.modules)
    yield path
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def _called(loaded: Loaded) -> object:
    return loaded.call(*loaded.arguments[0])


def _awaited(loaded: Loaded) -> object:
    """In a thread of its own: where this one may run a loop already, asyncio starts no second."""

    async def answer() -> object:
        return await loaded.call(*loaded.arguments[0])

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, answer()).result()


def test_a_plain_function_is_called_itself(file: Path, make_case: MakeCase) -> None:
    loaded = Python().load(make_case("python", f"{file}::plain", params={"workers": 1, "copies": 2}))
    assert loaded.call is sys.modules["bench_file"].plain
    assert _called(loaded) == 42
    assert not loaded.is_async and loaded.items_per_call == 1


def test_parameters_become_positional_where_they_can(file: Path, make_case: MakeCase) -> None:
    params = {"runtime": "python", "size": 10, "workers": 1, "copies": 1, "rate": 5.0}
    loaded = Python().load(make_case("python", f"{file}::sized", params=params))
    assert loaded.arguments == ((10,),)
    assert loaded.call is sys.modules["bench_file"].sized
    assert _called(Python().load(make_case("python", f"{file}::sized", params={**params, "unit": "kB"}))) == "10kB"


@pytest.mark.parametrize(
    ("name", "code", "seen"),
    [
        ("Point", "constructor", "Point is a class, so a call makes an object"),
        ("opened", "generator", "opened is a generator function, so a call only makes the generator"),
        ("flowing", "generator", "flowing is a generator function, so a call only makes the generator"),
    ],
)
def test_a_call_that_only_prepares_is_warned_of(
    name: str, code: str, seen: str, file: Path, make_case: MakeCase
) -> None:
    with file.open("a", encoding="utf-8") as source:
        source.write("\nasync def flowing():\n    yield 1\n")
    (warning,) = (
        Python().load(make_case("python", f"{file}::{name}", params={"x": 1} if name == "Point" else {})).warnings
    )
    assert (warning.code, warning.seen) == (code, seen)
    assert warning.remedy


@pytest.mark.parametrize("name", ["plain", "later", "caller", "uses"])
def test_other_callables_are_not_warned_of(name: str, file: Path, make_case: MakeCase) -> None:
    assert not Python().load(make_case("python", f"{file}::{name}")).warnings


def test_dotted_names(make_case: MakeCase) -> None:
    loaded = Python().load(make_case("python", "os.path:join", params={"a": "x"}))
    assert _called(loaded) == "x"


@pytest.mark.parametrize(("name", "value"), [("later", 1), ("caller", "called")])
def test_asynchronous_callables(name: str, value: object, file: Path, make_case: MakeCase) -> None:
    loaded = Python().load(make_case("python", f"{file}::{name}"))
    assert loaded.is_async
    assert _awaited(loaded) == value


def test_asynchronous_callables_do_not_mind_a_loop_that_runs_here(file: Path, make_case: MakeCase) -> None:
    """As one does after a test that drives a browser: it stays for the whole session."""
    loaded = Python().load(make_case("python", f"{file}::later"))
    before = asyncio._get_running_loop()
    loop = asyncio.new_event_loop()
    asyncio._set_running_loop(loop)
    try:
        assert _awaited(loaded) == 1
    finally:
        asyncio._set_running_loop(before)
        loop.close()


def test_setup_and_teardown_each_run_once(file: Path, make_case: MakeCase) -> None:
    loaded = Python().load(make_case("python", f"{file}::total", params={"size": 3, "times": 2, "workers": 1}))
    assert [_called(loaded), _called(loaded)] == [6, 6]
    assert loaded.items_per_call == 3
    loaded.close()
    assert sys.modules["bench_file"].events == ["setup 3", "teardown 3"]


def test_a_generator_sets_up_and_tears_down(file: Path, make_case: MakeCase) -> None:
    loaded = Python().load(make_case("python", f"{file}::uses"))
    assert _called(loaded) == "handle"
    assert loaded.items_per_call == 5
    events = sys.modules["bench_file"].events
    assert events == ["open"]
    loaded.close()
    loaded.close()
    assert events == ["open", "closed"]


def test_a_function_that_takes_anything_gets_all_parameters(file: Path, make_case: MakeCase) -> None:
    assert _called(Python().load(make_case("python", f"{file}::fed", params={"size": 2, "k": 1}))) == (
        2,
        {"size": 2, "k": 1},
    )


def test_built_ins_without_a_signature_set_up_and_tear_down(file: Path, make_case: MakeCase) -> None:
    loaded = Python().load(make_case("python", f"{file}::counted", params={"size": 3}))
    (counts, *_) = loaded.arguments[0]
    assert [dict(_called(loaded)), dict(_called(loaded))] == [{3: 1}, {3: 2}]  # type: ignore[call-overload]
    loaded.close()
    assert counts == {}


def test_a_setup_that_yields_twice_is_refused(file: Path, make_case: MakeCase) -> None:
    loaded = Python().load(make_case("python", f"{file}::yields_twice"))
    with pytest.raises(LoadError, match="yielded twice"):
        loaded.close()


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("pliain", {}, r"has no 'pliain'\n  did you mean 'plain'\?"),
        ("number", {}, "is int, which cannot be called"),
        ("sized", {}, "missing a required argument: 'size'"),
        ("plain", {"size": 1}, "got an unexpected keyword argument 'size'"),
        ("unlucky", {}, "setup failed: OSError: no data"),
    ],
)
def test_wrong_requests(name: str, params: dict[str, int], message: str, file: Path, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match=message):
        Python().load(make_case("python", f"{file}::{name}", params={"workers": 1, **params}))


def test_a_failing_import_leaves_its_traceback_in_the_log(
    tmp_path: Path, make_case: MakeCase, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bench_failing.py"
    path.write_text("def inner():\n    raise KeyError('weights')\n\ninner()\n")
    with pytest.raises(LoadError, match=r"importing .*bench_failing\.py failed: KeyError: 'weights'"):
        Python().load(make_case("python", f"{path}::f"))
    assert "line 2, in inner" in capsys.readouterr().err


def test_an_exit_at_import_is_an_error_too(tmp_path: Path, make_case: MakeCase) -> None:
    path = tmp_path / "bench_exiting.py"
    path.write_text("import sys\nsys.exit(4)\n")
    with pytest.raises(LoadError, match="SystemExit: 4"):
        Python().load(make_case("python", f"{path}::f"))


def test_a_device_cannot_be_promised(file: Path, make_case: MakeCase) -> None:
    with pytest.raises(DeviceError, match="python cannot see that device 'cuda' is used"):
        Python().load(make_case("python", f"{file}::plain", device="cuda"))


def test_options_are_refused(file: Path, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match="python has no option 'threads'"):
        Python().load(make_case("python", f"{file}::plain", options={"threads": 1}))
