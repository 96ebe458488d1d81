"""Commands: started without a shell, waited for, their failures told."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.errors import DeviceError, LoadError, MeasureError
from benchwright.records import Case
from benchwright.worker.runtimes.command import Command

MakeCase = Callable[..., Case]


def _python(script: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-c", script, *arguments])


def test_arguments_arrive_exactly(tmp_path: Path, make_case: MakeCase) -> None:
    out = tmp_path / "out"
    odd = ["a b", "$HOME", "it's", "*", "", "new\nline", "é"]
    uri = _python("import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(repr(sys.argv[2:]))", str(out), *odd)
    loaded = Command().load(make_case("command", uri))
    loaded.call(*loaded.arguments[0])
    assert out.read_text() == repr(odd)
    assert loaded.details["argv"] == shlex.split(uri)


def test_each_call_is_one_execution(tmp_path: Path, make_case: MakeCase) -> None:
    out = tmp_path / "out"
    loaded = Command().load(make_case("command", shlex.join(["sh", "-c", f"echo x >> {shlex.quote(str(out))}"])))
    for _ in range(3):
        loaded.call()
    assert out.read_text() == "x\nx\nx\n"


@pytest.mark.parametrize(
    ("script", "message"), [("exit 7", "exited with status 7"), ("kill -TERM $$", "was killed by SIGTERM")]
)
def test_failures(script: str, message: str, make_case: MakeCase) -> None:
    uri = shlex.join(["sh", "-c", script])
    with pytest.raises(MeasureError, match=message):
        Command().load(make_case("command", uri)).call()
    Command().load(make_case("command", uri, options={"ignore_failure": "true"})).call()


def test_stdin_comes_from_a_file_or_is_empty(tmp_path: Path, make_case: MakeCase) -> None:
    given, out = tmp_path / "in", tmp_path / "out"
    given.write_text("hello")
    uri = shlex.join(["sh", "-c", f"cat > {shlex.quote(str(out))}"])
    Command().load(make_case("command", uri, options={"stdin": str(given)})).call()
    assert out.read_text() == "hello"
    Command().load(make_case("command", uri)).call()
    assert out.read_text() == ""


def test_where_output_goes(make_case: MakeCase, capfd: pytest.CaptureFixture[str]) -> None:
    uri = shlex.join(["sh", "-c", "echo out; echo err >&2"])
    Command().load(make_case("command", uri)).call()
    assert capfd.readouterr() == ("", "err\n")
    Command().load(make_case("command", uri, options={"stdout": "log", "stderr": "null"})).call()
    assert capfd.readouterr() == ("out\n", "")


def test_peak_memory_of_the_children_is_seen(make_case: MakeCase) -> None:
    loaded = Command().load(make_case("command", _python("b = b'x' * 400_000_000")))
    loaded.call()
    peak, floor = loaded.details["max_rss"], loaded.details["max_rss_floor"]
    assert isinstance(peak, int) and isinstance(floor, int)
    assert 400_000_000 < peak < 3_000_000_000 and floor > 1_000_000


def test_signals_that_python_ignores_are_restored(make_case: MakeCase) -> None:
    uri = shlex.join(["sh", "-c", "kill -PIPE $$; exit 0"])  # a shell cannot undo an inherited ignore
    with pytest.raises(MeasureError, match="was killed by SIGPIPE"):
        Command().load(make_case("command", uri)).call()


@pytest.mark.parametrize(
    ("uri", "options", "message"),
    [
        ("no-such-program --flag", {}, "there is no program 'no-such-program'"),
        ("", {}, "there is no program"),
        ("true", {"ignore_failures": True}, "did you mean 'ignore_failure'"),
        ("true", {"stdin": "missing.txt"}, "missing.txt cannot be read"),
        ("true", {"stdout": "nul"}, "unknown value 'nul'"),
    ],
)
def test_wrong_requests(uri: str, options: dict[str, str], message: str, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match=message):
        Command().load(make_case("command", uri, options=options))


def test_a_device_cannot_be_promised(make_case: MakeCase) -> None:
    with pytest.raises(DeviceError):
        Command().load(make_case("command", "true", device="cuda"))
