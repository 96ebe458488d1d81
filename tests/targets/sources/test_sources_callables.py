"""Callables: their parameters are found out in a child process, whatever the user's code does there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchwright.errors import TargetError
from benchwright.records import Inputs, Load
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.targets.sources import Request, discovery, plan

FILE = """
import sys
from benchwright.decorator import benchmark

print("hello from the user", flush=True)
print('{"benchmarks": []}', file=sys.stderr)
sys.stdout.write("\\xff")

def plain():
    pass

def sized(size, unit="B"):
    pass

def anything(**rest):
    pass

def make(rows):
    return rows

@benchmark(params={"size": [10, 100], "kind": ["a", "b"]}, loops=5)
def first(size, kind):
    pass

@benchmark(params={"rows": [3]}, setup=make)
def second(data):
    pass

@benchmark(params={"workers": [1]})
def clashes(workers):
    pass

def batched(batch_size):
    pass

number = 1

@benchmark(params={"size": [3]}, setup=dict)
def counted(counts, size):
    pass
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bench.py"
    path.write_text(FILE)
    return path


def _plan(target: str, **request: object) -> list[dict[str, object]]:
    return [dict(case.params) for case in plan(Request(targets=[target], **request))]  # type: ignore[arg-type]


def test_a_plain_function(file: Path) -> None:
    (case,) = plan(Request(targets=["bench.py::plain"], load=Load(loops=3)))
    assert case.name == "bench.py::plain"
    assert case.target.uri == f"{file}::plain" and case.target.runtime == "python"
    assert case.params == {"runtime": "python", "workers": 1, "copies": 1}
    assert case.version == hashlib.sha256(file.read_bytes()).hexdigest()
    assert case.load.loops == 3


def test_the_parent_does_not_import_the_file(file: Path) -> None:
    plan(Request(targets=["bench.py::plain"]))
    assert "bench" not in sys.modules


def test_marked_parameters_are_crossed(file: Path) -> None:
    cases = plan(Request(targets=["bench.py::first"], workers=(1, 2)))
    seen = [(c.params["size"], c.params["kind"], c.params["workers"]) for c in cases]
    assert seen == [(s, k, w) for s in (10, 100) for k in ("a", "b") for w in (1, 2)]
    assert {c.load.loops for c in cases} == {5}


def test_a_request_narrows_and_adds_parameters(file: Path) -> None:
    assert [p["size"] for p in _plan("bench.py::first", params={"size": [7], "kind": ["a"]})] == [7]
    assert [p["size"] for p in _plan("bench.py::sized", params={"size": [1, 2]})] == [1, 2]
    assert [p["x"] for p in _plan("bench.py::anything", params={"x": [True]})] == [True]
    assert _plan("bench.py::second", params={"rows": [9]})[0]["rows"] == 9


def test_batch_sizes_reach_a_callable_that_takes_them(file: Path) -> None:
    cases = plan(Request(targets=["bench.py::batched"], batch_sizes=(2, 4)))
    assert [(c.params["batch_size"], c.inputs.batch_size) for c in cases] == [(2, 2), (4, 4)]


def test_a_setup_that_tells_no_signature_is_called_with_nothing(file: Path) -> None:
    assert [params["size"] for params in _plan("bench.py::counted")] == [3]


def test_a_model_for_torch_keeps_its_inputs(file: Path) -> None:
    inputs = Inputs(shapes={"": (1, 3)}, dtypes={"": "float32"}, count=4)
    (case,) = plan(Request(targets=["bench.py::Net"], runtimes=("torch",), inputs=inputs))
    assert case.inputs == inputs


def test_a_file_gives_its_marked_benchmarks_in_order(file: Path) -> None:
    file.write_text(FILE.replace('{"workers": [1]}', '{"count": [1]}').replace("clashes(workers)", "clashes(count)"))
    names = [case.name for case in plan(Request(targets=["bench.py"]))]
    assert list(dict.fromkeys(names)) == [f"bench.py::{name}" for name in ("first", "second", "clashes", "counted")]


def test_dotted_names_are_found_from_the_present_folder(file: Path, tmp_path: Path) -> None:
    package = tmp_path / "suite" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("raise RuntimeError('imported in the parent')\n")
    (package / "__init__.py").write_text("")
    (package / "speed.py").write_text("def run(size=1):\n    pass\n")
    assert discovery.locate("suite.inner.speed") == package / "speed.py"
    assert discovery.locate("suite.missing.speed") is None
    (package.parent / "__init__.py").write_text("")
    (case,) = plan(Request(targets=["suite.inner.speed:run"]))
    assert case.name == case.target.uri == "suite.inner.speed:run"
    with pytest.raises(TargetError, match=r"there is no module 'suite.outer' here"):
        plan(Request(targets=["suite.outer:run"]))


def test_a_model_class_for_torch_is_not_imported_at_all(file: Path) -> None:
    file.write_text("raise SystemExit('imported')\n")
    (case,) = plan(Request(targets=["bench.py::Net"], runtimes=("torch",), batch_sizes=(4,), devices=("cuda",)))
    assert case.target.runtime == "torch" and case.target.device == "cuda"
    assert case.params == {"runtime": "torch", "device": "cuda", "batch_size": 4, "workers": 1, "copies": 1}
    with pytest.raises(TargetError, match=r"bench\.py does not say which model"):
        plan(Request(targets=["bench.py"], runtimes=("torch",)))


@pytest.mark.parametrize(
    ("target", "request_", "message"),
    [
        ("bench.py::plian", {}, r"has no 'plian'\n  did you mean 'plain'\?"),
        ("bench.py::", {}, "names nothing after ::"),
        ("bnech.py::plain", {}, "did you mean 'bench.py'"),
        ("bench.py::number", {}, "is int, which cannot be called"),
        ("bench.py::sized", {}, r"needs a value for 'size'\n  add --param size=VALUE"),
        ("bench.py::plain", {"params": {"size": [1]}}, "takes no parameter 'size'"),
        ("bench.py::sized", {"params": {"sise": [1]}}, r"takes no parameter 'sise'\n  did you mean 'size'"),
        ("bench.py::plain", {"batch_sizes": (2,)}, "takes no parameter 'batch_size'"),
        (
            "bench.py::plain",
            {"inputs": Inputs(source="x.npy")},
            r"bench\.py::plain takes no arrays, so --input does not apply",
        ),
        ("bench.py::plain", {"inputs": Inputs(shapes={"": (1, 3)})}, "so --shape does not apply"),
        ("bench.py::plain", {"inputs": Inputs(dtypes={"": "int8"})}, "so --dtype does not apply"),
        ("bench.py", {"inputs": Inputs(count=4)}, r"bench\.py takes no arrays, so --input-count does not apply"),
        ("bench.py::plain", {"devices": ("cuda",)}, "chooses its device and precision itself"),
        ("bench.py::clashes", {}, "cannot be named 'workers'"),
        ("bench.py::plain", {"runtimes": ("onnxruntime",)}, "onnxruntime does not load Python code"),
    ],
)
def test_wrong_requests(target: str, request_: dict[str, object], message: str, file: Path) -> None:
    with pytest.raises(TargetError, match=message):
        _plan(target, **request_)


# ---- what the child survives ----


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("raise KeyError('weights')", r"failed: KeyError: 'weights'\n[^$]*line 1"),
        ("import os; os._exit(3)", "could not be imported: ended with status 3"),
        ("import sys; sys.stderr.write('last words\\n'); sys.stderr.flush(); import os; os.abort()", "last words"),
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11"),
        ("import sys; sys.exit('leaving')", "SystemExit: leaving"),
        ("def f(:", "SyntaxError"),
        ("def helper():\n    pass", r"marks no benchmark\n  name a function, as in .*bench.py::helper"),
        (
            "from benchwright.decorator import benchmark\n@benchmark(params={'x': [[1]]})\ndef f(x): pass",
            "holds a list",
        ),
        (
            "from benchwright.decorator import benchmark\n@benchmark(params={'y': [1]})\ndef f(x): pass",
            "takes no parameter 'y'",
        ),
    ],
)
def test_files_that_fail(content: str, message: str, file: Path) -> None:
    file.write_text(content)
    with pytest.raises(TargetError, match=message):
        plan(Request(targets=["bench.py"]))


def test_a_file_that_hangs_is_given_up_with_all_its_children(file: Path, tmp_path: Path) -> None:
    file.write_text(
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(TargetError, match="not done after 6 s"):
        discovery.benchmarks(str(file), timeout=6.0)
    assert _gone(int((tmp_path / "pid").read_text()))


def test_a_file_may_take_as_long_as_the_request_allows_and_its_last_words_are_shown(file: Path) -> None:
    file.write_text("import time\nprint('fetching weights')\ntime.sleep(600)\n")
    with pytest.raises(TargetError, match=r"not done after 3 s\n  fetching weights"):
        plan(Request(targets=["bench.py::f"], load=Load(timeout=3.0)))


@pytest.mark.parametrize("content", ["raise OSError", "def f(): pass"])
def test_what_the_file_started_in_a_session_of_its_own_is_ended(content: str, file: Path, tmp_path: Path) -> None:
    file.write_text(f"{_LEAVES_A_CHILD.format(folder=str(tmp_path))}\n{content}\n")
    with contextlib.suppress(TargetError):
        discovery.benchmarks(str(file), "f")
    assert _gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_parent_that_is_killed(number: signal.Signals, file: Path, tmp_path: Path) -> None:
    own = "(folder / 'own.partial').write_text(str(os.getpid()))\n(folder / 'own.partial').rename(folder / 'own')"
    file.write_text(f"{_LEAVES_A_CHILD.format(folder=str(tmp_path))}\n{own}\nimport time\ntime.sleep(600)\n")
    script = f"from benchwright.targets.sources import discovery; discovery.benchmarks({str(file)!r}, 'f')"
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        _await(tmp_path / "own")
        parent.send_signal(number)
    assert _gone(int((tmp_path / "own").read_text()))
    assert _gone(int((tmp_path / "child").read_text()))


def test_a_closed_stdout_and_a_changed_folder_do_no_harm(file: Path) -> None:
    file.write_text("import os, sys\nos.chdir('/')\nos.close(1)\ndef f(): pass\n")
    assert [found.name for found in discovery.benchmarks(str(file), "f")] == ["f"]


def test_the_answer_is_the_only_output(file: Path, tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    command = [sys.executable, "-m", "benchwright.targets.sources.discovery", str(file), "plain", str(answer)]
    lifeline, kept = os.pipe()
    ended = subprocess.run(
        [*command, str(lifeline)],
        capture_output=True,
        check=True,
        pass_fds=(lifeline,),
        start_new_session=True,
        env={**os.environ, JOB_VARIABLE: "00"},
    )
    os.close(lifeline)
    os.close(kept)
    assert b"hello from the user" in ended.stdout
    assert json.loads(answer.read_text())["benchmarks"][0]["name"] == "plain"


_LEAVES_A_CHILD = """
import os, pathlib, subprocess, sys
folder = pathlib.Path({folder!r})
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
(folder / "child").write_text(str(child.pid))
"""


def _await(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.01)


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False
