"""A PerfZero project as users have it: a workspace with a benchmark class, and a stand-in for TensorFlow.

The stand-in has what the class needs of `tf.test.Benchmark` and writes the same bytes as the real one; the real one is
tested elsewhere.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchwright.cli import main

TENSORFLOW = '''
"""What the benchmark class below needs of TensorFlow."""

import os
import struct
import sys

if os.environ.get("IMPORTED"):
    with open(os.environ["IMPORTED"], "a") as told:
        told.write(str(os.getppid()) + "\\n")

__version__ = "2.99.0"
__git_version__ = "b'v2.99-test'"


def _varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def _bytes(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _double(number, value):
    return b"" if value == 0 and not str(value).startswith("-") else _varint(number << 3 | 1) + struct.pack("<d", value)


def _metric(metric):
    out = _bytes(1, metric["name"].encode()) + _double(2, metric["value"])
    for number, key in ((3, "min_value"), (4, "max_value")):
        if key in metric:
            if metric[key] is None:
                raise TypeError("a bound must be a number")
            out += _bytes(number, _double(1, metric[key]))
    return out


class Benchmark:
    __module__ = "tensorflow.python.platform.benchmark"

    def report_benchmark(self, iters=None, cpu_time=None, wall_time=None, throughput=None, extras=None, name=None,
                         metrics=None):
        name = name or self._name()
        entry = _bytes(1, name.encode())
        entry += _varint(2 << 3) + _varint(iters) if iters else b""
        for number, value in ((3, cpu_time), (4, wall_time), (5, throughput)):
            entry += _double(number, value) if value is not None else b""
        for key, value in (extras or {}).items():
            held = _double(1, value) if isinstance(value, (int, float)) else _bytes(2, str(value).encode())
            entry += _bytes(6, _bytes(1, key.encode()) + _bytes(2, held))
        for metric in metrics or []:
            entry += _bytes(7, _metric(metric))
        path = os.environ["TEST_REPORT_FILE_PREFIX"] + name.replace("/", "__")
        if os.path.exists(path):
            raise IOError("file exists: " + path)
        with open(path, "wb") as file:
            file.write(_bytes(1, entry))

    def _name(self):
        frame, found = sys._getframe(), None
        while frame is not None:
            if isinstance(frame.f_locals.get("self"), Benchmark):
                found = frame
            frame = frame.f_back
        return type(self).__name__ + "." + found.f_code.co_name


class test:
    Benchmark = Benchmark
'''

DEMO = """
import json
import logging
import os
import signal
import subprocess
import sys
import time

import tensorflow as tf


class Demo(tf.test.Benchmark):
    def __init__(self, output_dir=None, root_data_dir=None, **kwargs):
        self.output_dir, self.root_data_dir, self.kwargs = output_dir, root_data_dir, kwargs

    def _seen(self):
        place = os.environ.get("SEEN")
        if place:
            told = {"output_dir": self.output_dir, "root_data_dir": self.root_data_dir, "kwargs": self.kwargs,
                    "pid": os.getpid()}
            with open(place, "a") as file:
                file.write(json.dumps(told) + "\\n")

    def benchmark_ok(self):
        self._seen()
        logging.info("a record of the method")
        print("a line of the method")
        self.report_benchmark(
            iters=5, wall_time=2.5, extras={"note": "abc"},
            metrics=[{"name": "acc", "value": 0.75, "min_value": 0.5, "max_value": 1.0},
                     {"name": "err", "value": 0.0, "min_value": 0.0}],
        )

    def benchmark_low(self):
        self._seen()
        self.report_benchmark(wall_time=1.0, metrics=[{"name": "acc", "value": 80.0, "min_value": 90.0,
                                                       "max_value": 99.0}])

    def benchmark_edge(self):
        self._seen()
        self.report_benchmark(wall_time=1.0, metrics=[{"name": "a", "value": 5.0, "min_value": 5.0, "max_value": 5.0}])

    def benchmark_raise(self):
        self.report_benchmark(wall_time=9.0)
        raise RuntimeError("boom")

    def benchmark_silent(self):
        pass

    def benchmark_kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def benchmark_segv(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def benchmark_osexit(self):
        os._exit(0)

    def benchmark_exit(self):
        sys.exit(3)

    def benchmark_nan(self):
        self.report_benchmark(wall_time=1.0, extras={"loss": float("inf")},
                              metrics=[{"name": "free", "value": float("nan")}])

    def benchmark_nan_bound(self):
        self.report_benchmark(wall_time=1.0, metrics=[{"name": "acc", "value": float("nan"), "min_value": 0.5}])

    def benchmark_nan_time(self):
        self.report_benchmark(wall_time=float("nan"), metrics=[{"name": "acc", "value": 1.0}])

    def benchmark_unbounded(self):
        self.report_benchmark(wall_time=1.0, metrics=[{"name": "acc", "value": 0.5, "min_value": None,
                                                       "max_value": 1.0}])

    def benchmark_slow(self):
        ballast = bytearray(30 << 20)
        end = time.monotonic() + 1.2
        while time.monotonic() < end:
            sum(range(1000))
        self.report_benchmark(wall_time=1.2, extras={"size": len(ballast)})

    def benchmark_child(self):
        code = "x = bytearray(200 << 20); import time; time.sleep(1.5)"
        subprocess.run([sys.executable, "-c", code], check=True)
        self.report_benchmark(wall_time=1.5)

    def benchmark_traced(self):
        os.makedirs(os.path.join(self.output_dir, "profiler_data", "plugins"))
        self.report_benchmark(wall_time=1.0)

    def benchmark_hang(self):
        self._seen()
        time.sleep(600)


class Broken(tf.test.Benchmark):
    def __init__(self, output_dir=None, root_data_dir=None, **kwargs):
        raise ValueError("no such data")

    def benchmark_it(self):
        pass


class Plain(tf.test.Benchmark):
    def __init__(self, size=1):
        self.size = size

    def benchmark_size(self):
        self.report_benchmark(wall_time=float(self.size))
"""

VECTOR = bytes.fromhex(
    "0a5c0a1144656d6f2e62656e63686d61726b5f6f6b1005210000000000000440320d0a046e6f7465120512036162633a240a0361636311000000"
    "000000e83f1a0909000000000000e03f220909000000000000f03f3a070a036572721a00"
)


@dataclass(kw_only=True)
class Ended:
    """How a call ended, and what it left."""

    code: int
    out: str
    err: str
    output: Path

    def summary(self, name: str) -> dict[str, Any]:
        """The summary in the output folder of that name."""
        found: dict[str, Any] = json.loads((self.output / name / "perfzero_summary.json").read_text())
        return found

    def summaries(self) -> list[dict[str, Any]]:
        """Every summary, in the order in which the methods were run."""
        found = [json.loads(path.read_text()) for path in self.output.glob("*/perfzero_summary.json")]
        return sorted(found, key=lambda summary: summary["execution_timestamp"])

    def block(self, title: str) -> dict[str, Any]:
        """The JSON below a title."""
        found: dict[str, Any]
        found, _ = json.JSONDecoder().raw_decode(self.out.partition(f"{title}\n")[2])
        return found


@dataclass(kw_only=True)
class Project:
    """A project folder; `run` is `benchwright perfzero` there, or the shim's path."""

    folder: Path
    data: Path
    site: Path
    shim: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """What holds the workspace."""
        return self.folder / "perfzero" if self.shim else self.folder

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    def add(self, package: str, name: str, text: str) -> None:
        """A module in the workspace's site-packages."""
        folder = self.workspace / "site-packages" / package
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def run(
        self, *arguments: str, base: bool = True, env: Mapping[str, str] | None = None, apart: bool = False
    ) -> Ended:
        """Calls the door: a shim and what must stand `apart` as a process, which costs half a second, else from here.

        `base` adds what every call of the acceptance cases has.
        """
        usual = ["--gcloud_key_file_url=", "--python_path=demo", f"--root_data_dir={self.data}"] if base else []
        call = self._process if self.shim or apart else self._inside
        surroundings = {**os.environ, "PYTHONPATH": str(self.site), "PERFZERO_TAG": "x", **self.environment}
        return call([*usual, *arguments], surroundings | dict(env or {}))

    def _process(self, arguments: list[str], environment: dict[str, str]) -> Ended:
        first = ["perfzero/lib/benchmark.py"] if self.shim else ["-m", "benchwright", "perfzero"]
        done = subprocess.run(
            [sys.executable, *first, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return Ended(code=done.returncode, out=done.stdout, err=done.stderr, output=self.workspace / "output")

    def _inside(self, arguments: list[str], environment: dict[str, str]) -> Ended:
        out, err, before = io.StringIO(), io.StringIO(), dict(os.environ)
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["benchwright", "perfzero", *arguments])
            os.environ.update(environment)
            try:
                code = main(["perfzero", *arguments])
            finally:  # the door sets some for its children
                os.environ.clear()
                os.environ.update(before)
        return Ended(code=code, out=out.getvalue(), err=err.getvalue(), output=self.workspace / "output")
