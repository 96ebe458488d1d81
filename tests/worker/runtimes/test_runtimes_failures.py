"""A failure is one sentence for the reader; the log has the foreign words, and none of our own calls."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from benchwright.errors import LoadError
from benchwright.worker.runtimes import failures


def test_the_log_tells_where_foreign_code_failed_without_our_calls(capsys: pytest.CaptureFixture[str]) -> None:
    from benchwright.worker.runtimes.user_objects import load_object

    try:
        load_object("json:loads")("[1,")
    except json.JSONDecodeError as error:
        failures.log_traceback(error)
    log = capsys.readouterr().err
    assert log.startswith("Traceback") and "json/decoder.py" in log and "JSONDecodeError" in log


def test_calls_of_ours_that_led_there_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchwright.worker.runtimes.user_objects import load_module

    (tmp_path / "bad_bench.py").write_text("def f():\n    return {}['weights']\nf()\n", encoding="utf-8")
    with pytest.raises(LoadError, match=r"importing .*bad_bench\.py failed: KeyError: 'weights'"):
        load_module(str(tmp_path / "bad_bench.py"))
    log = capsys.readouterr().err
    assert "line 2, in f" in log and log.count("Traceback") == 1
    assert "benchwright/runtimes" not in log and "importlib" not in log


def test_a_failure_of_our_own_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    from benchwright.units import parse_quantity

    failure = None
    try:
        parse_quantity(None, "s")  # type: ignore[arg-type]
    except TypeError as error:
        failure = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
    assert failure is not None
    failures.log_traceback(failure)
    assert "parse_quantity" in capsys.readouterr().err


def test_an_empty_file_is_refused_before_a_library_sees_it(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    with pytest.raises(LoadError, match=r"m\.onnx is empty\n  the file may be incomplete"):
        failures.refuse_empty(str(tmp_path / "m.onnx"))
    failures.refuse_empty("package.module:factory")


def test_what_a_library_said_is_in_the_log_and_its_first_line_in_the_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = failures.load_error("torch", "load m.pt", RuntimeError("\nno such layer\nat 0x1234"))
    assert told.message == "torch could not load m.pt: no such layer"
    assert told.remedy == failures.WHOLE
    assert capsys.readouterr().err == "RuntimeError: no such layer\nat 0x1234\n"
    assert failures.load_error("torch", "load m.pt", RuntimeError("std::bad_alloc")).remedy == failures.memory_remedy()


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("Resource temporarily unavailable"), False),  # without a limit it may mean anything
        (ValueError("bad_alloc"), False),
        (ImportError("no module named torch"), False),
    ],
)
def test_a_want_of_memory_is_known_by_its_words(error: Exception, lacks: bool) -> None:
    assert failures.lacks_memory(error) is lacks
    wrapped = ImportError("import failed")
    wrapped.__cause__ = error
    assert failures.lacks_memory(wrapped) is lacks


def test_the_remedy_knows_the_limit() -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    assert failures.memory_remedy() == "free memory, or measure something smaller"
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from benchwright.worker.runtimes import failures\n"
        "print(failures.lacks_memory(RuntimeError('Resource temporarily unavailable')), failures.memory_remedy())"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("True give --memory-limit more than 1.00 GiB")


def test_a_want_of_memory_names_the_file() -> None:
    with (
        pytest.raises(LoadError, match=r"torch had too little memory to load m\.pt"),
        failures.explain_lack_of_memory("torch", "m.pt"),
    ):
        raise MemoryError
    with pytest.raises(RuntimeError, match="something else"), failures.explain_lack_of_memory("torch", "m.pt"):
        raise RuntimeError("something else")
