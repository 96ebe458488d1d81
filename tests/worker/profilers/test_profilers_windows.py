"""The syntax of windows, and which profiler is chosen."""

from __future__ import annotations

import pytest

from benchwright.errors import NotInstalledError, OptionError
from benchwright.records import Case, Profile, Target
from benchwright.worker.profilers import choose_profilers, windows
from benchwright.worker.profilers.torch import TorchProfiler
from benchwright.worker.profilers.windows import FOREVER, label


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10:20", ((10.0, 20.0),)),
        ("0:0.5, 1.5:2", ((0.0, 0.5), (1.5, 2.0))),
        ("3", ((3.0, FOREVER),)),
        ("1:2,5", ((1.0, 2.0), (5.0, FOREVER))),
    ],
)
def test_windows_are_pairs_of_seconds(text: str, expected: tuple[tuple[float, float], ...]) -> None:
    assert windows(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("10:5", "'10:5' ends"),
        ("5:5", "'5:5' ends"),
        ("1:2,2:3", "'2:3' begins"),
        ("5,6:7", "'6:7' begins"),
        ("", "''"),
        ("1:", "'1:' has ''"),
        ("1:2,", "''"),
        ("a:2", "'a:2' has 'a'"),
        ("-1:2", "'-1:2' has '-1'"),
        ("0:inf", "'0:inf' has 'inf'"),
        ("nan:1", "'nan:1' has 'nan'"),
        ("1:2:3", "'1:2:3' has '2:3'"),
    ],
)
def test_a_wrong_window_is_named(text: str, named: str) -> None:
    with pytest.raises(OptionError, match=named) as caught:
        windows(text)
    assert "10:20" in caught.value.remedy


def test_a_window_has_a_name_for_files() -> None:
    assert [label(window) for window in windows("0.5:1,10:20,30")] == ["0.5-1s", "10-20s", "30s-end"]


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [("onnxruntime", "onnxruntime"), ("torch", "torch"), ("python", "py-spy"), ("command", "py-spy")],
)
def test_the_profiler_fits_the_runtime(runtime: str, expected: str) -> None:
    assert choose_profilers(Profile(windows=windows("1:2")), _case(runtime)) == [expected]


def test_what_is_asked_for_is_chosen_once() -> None:
    asked = Profile(windows=windows("1:2"), tools=("torch", "py-spy", "torch"))
    assert choose_profilers(asked, _case("torch")) == ["torch", "py-spy"]


@pytest.mark.parametrize(
    ("tool", "runtime", "message"),
    [
        ("pyspy", "python", "unknown profiler 'pyspy'"),
        ("onnxruntime", "torch", "sees what runtime onnxruntime does, not torch"),
    ],
)
def test_what_cannot_be_is_refused(tool: str, runtime: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        choose_profilers(Profile(windows=windows("1:2"), tools=(tool,)), _case(runtime))


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchProfiler, "module", "no_such_torch")
    with pytest.raises(NotInstalledError) as caught:
        choose_profilers(Profile(windows=windows("1:2")), _case("torch"))
    assert caught.value.remedy == "pip install torch"


@pytest.mark.parametrize("tool", ["py-spy", "perf"])
def test_a_program_that_is_not_there_is_told(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tool.replace("-", "")
    monkeypatch.setattr(f"benchwright.worker.profilers.{module}.program", lambda name: None)
    with pytest.raises((NotInstalledError, OptionError), match=f"profiler {tool} is not installed"):
        choose_profilers(Profile(windows=windows("1:2"), tools=(tool,)), _case("python"))


def _case(runtime: str) -> Case:
    return Case(name="measured", target=Target(runtime=runtime, uri="model"))
