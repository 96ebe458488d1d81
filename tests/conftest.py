"""What many tests share: records drawn from their declarations, and the command line as a process."""

from __future__ import annotations

import dataclasses
import gc
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import typing
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

import browsers
import worker_nursery
from benchwright import records
from benchwright.cli import main
from benchwright.execution.hosts.local import LocalHost, LocalWorker

pytest_plugins = ["served_models"]  # servers that tests measure: scripted_server, ...

ROOT = Path(__file__).parent.parent
FRESH = bool(os.environ.get("BENCHWRIGHT_TEST_FRESH"))  # start every worker as usual

_INT64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)
_FLOAT = st.floats(allow_subnormal=False, allow_nan=False, allow_infinity=False)
_MEASURED = st.floats(min_value=-1e100, max_value=1e100, allow_subnormal=False)
_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=12),
    int: _INT64,
    float: _FLOAT,
    bool: st.booleans(),
    type(None): st.none(),
}
_VALUE = st.recursive(
    st.one_of(*_SCALARS.values()),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=4,
)


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts the tests in the background has Ctrl-C ignored, here and in every child.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup has this one ignored
    gc.disable()  # until all tests are collected: what libraries and tests make on the way stays
    # Where this is set, every child compiles every library anew, which more than doubles what a start costs.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # A loaded machine is not a failure.
    settings.register_profile("benchwright", deadline=None, max_examples=30, print_blob=True)
    settings.load_profile("benchwright")
    # Tests never touch the store of whoever runs them, nor their cache, nor what waits there for a server.
    for name in ("BENCHWRIGHT_STORE", "BENCHWRIGHT_TOKEN"):
        os.environ.pop(name, None)
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers share what the first process made
        cache = os.environ["BENCHWRIGHT_CACHE"] = tempfile.mkdtemp(prefix="benchwright-cache-")
        os.environ["BENCHWRIGHT_SPOOL"] = f"{cache}/spool"
        os.environ["BENCHWRIGHT_CLOUD_LEDGER"] = f"{cache}/cloud.jsonl"
        config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))


def pytest_collection_finish() -> None:
    # A million objects of libraries and tests are there by now. Whatever measures in this process collects garbage
    # first, and need not look through all of them each time.
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def _nursery() -> Iterator[worker_nursery.Nursery]:
    nursery = worker_nursery.Nursery()
    yield nursery
    nursery.end()


@pytest.fixture(autouse=True)
def _quick_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of runs in this process are forked, unless they must be started as usual."""
    if request.node.get_closest_marker("fresh") or request.node.get_closest_marker("soak") or FRESH:
        return
    nursery = request.getfixturevalue("_nursery")
    monkeypatch.setattr(LocalWorker, "_spawn", worker_nursery.spawner(nursery, LocalWorker._spawn))
    monkeypatch.setattr(LocalHost, "launch", worker_nursery.launcher(nursery, LocalHost.launch))
    monkeypatch.setattr(LocalHost, "get_ready", lambda _: None)  # a fork is there at once


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def records_of() -> Callable[[type], st.SearchStrategy[Any]]:
    """`records_of(Case)` draws any well-typed Case."""
    return _records


@pytest.fixture
def benchwright(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`benchwright("env", "--json")` runs the command line in a process of its own, in `tmp_path`."""

    def call(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchwright", *arguments]
        usual: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 100}
        return subprocess.run(command, check=False, **usual | options)

    return call


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same without a process, which costs half a second: for what is asked of a verb, not of its process."""

    def call(
        *arguments: str,
        input: str = "",  # noqa: A002
        cwd: Path = tmp_path,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        out, err = _Captured(), _Captured()
        with monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode())))
            patch.setattr(sys, "argv", ["benchwright", *arguments])
            patch.chdir(cwd)
            for name in os.environ.keys() - (env or os.environ).keys():
                patch.delenv(name)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = main(arguments)
        return subprocess.CompletedProcess(arguments, code, out.text(), err.text())

    return call


class _Captured(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.seek(0)
        return self.read()


@pytest.fixture(scope="session")
def write_model() -> Callable[[str, Path], Path]:
    """`write_model("streaming", path)` writes a small model with the traits of published ones."""
    from model_files import write  # imports onnx, which few tests need

    return write


@pytest.fixture(scope="module")  # no longer: while it is open, an event loop counts as running in this thread
def browser() -> Iterator[Any]:
    """A real Chromium."""
    with browsers.chromium() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def private_mounts() -> tuple[str, ...]:
    """The command that gives what follows it mounts of its own: root's, else the one that is open to everyone."""
    answers = ["full and read-only disks are made in a mount namespace: be root, or allow user namespaces"]
    for command in (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount")):
        try:
            subprocess.run([*command, "mount", "-t", "tmpfs", "tmpfs", "/tmp"], check=True, capture_output=True)
        except FileNotFoundError:
            pytest.fail(f"{answers[0]}; and install unshare, which util-linux brings")
        except subprocess.CalledProcessError as error:
            answers.append(f"{' '.join(command)}: {error.stderr.decode().strip()}")
        else:
            return command
    pytest.fail("\n".join(answers))


def _records(kind: type) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind)
    fields = {f.name: _values(hints[f.name]) for f in dataclasses.fields(kind)}
    return st.builds(kind, **(fields | _SOUND.get(kind, {}))).map(_sound)


# What `benchwright.schema.soundness` asks for beyond the types.
_SOUND: dict[type, dict[str, st.SearchStrategy[Any]]] = {
    records.Estimate: {
        "confidence": st.floats(min_value=0.01, max_value=1.0),
        "point": _MEASURED,
        "low": st.none() | _MEASURED,
        "high": st.none() | _MEASURED,
    },
    records.Metric: {"values": st.lists(_MEASURED, max_size=2).map(tuple)},
    records.Result: {"duration": _MEASURED},
    records.Histogram: {
        "bits": st.integers(min_value=1, max_value=30),
        "counts": st.dictionaries(st.integers(-100, 100), st.integers(0, 2**62), max_size=2),
        "total": st.integers(0, 2**62),
    },
}


def _sound(record: Any) -> Any:
    """Columns beside each other have one length."""
    if isinstance(record, records.Samples):
        return dataclasses.replace(record, columns=_cut(record.columns), chunks=_cut(record.chunks))
    if isinstance(record, records.Timeline):
        least = min(len(record.seconds), len(record.values))
        return dataclasses.replace(record, seconds=record.seconds[:least], values=record.values[:least])
    return record


def _cut(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of the length of the shortest; what the rows of chunks belong to is never drawn."""
    least = min(map(len, columns.values()), default=0)
    return {name: column[:least] for name, column in columns.items() if name != "call"}


def _values(kind: Any) -> st.SearchStrategy[Any]:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind is array:
        return st.lists(_INT64, max_size=3).map(lambda values: array("q", values))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if dataclasses.is_dataclass(kind):
        return st.deferred(lambda: _records(typing.cast(type, kind)))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return st.lists(_values(arguments[0]), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(_values(arguments[0]), _values(arguments[1]), max_size=2)
    assert origin in (typing.Union, types.UnionType), kind
    if any(typing.get_origin(a) in (list, dict) for a in arguments):
        return _VALUE
    return st.one_of(*map(_values, arguments))
