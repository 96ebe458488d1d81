"""The options: pytest-benchmark's under their names, as far as they mean something here, and our own.

Read by every start of pytest, so a table of texts and nothing else.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

GROUPS = ("group", "name", "func", "fullfunc", "fullname", "param", "param:NAME")
SORTS = ("min", "max", "mean", "stddev", "name", "fullname")
COLUMNS = ("min", "max", "mean", "stddev", "median", "iqr", "ops", "rounds", "iterations", "outliers")
WARMUPS = {
    "auto": None,
    "on": None,
    "true": None,
    "yes": None,
    "1": None,
    "off": 0.0,
    "false": 0.0,
    "no": 0.0,
    "0": 0.0,
}
# Flags of `benchwright` that errors name, and what they are called here.
_OF_THE_COMMAND_LINE = {
    "--against": "--benchmark-compare",
    "--fail-on": "--benchwright-fail-on",
    "--store": "--benchwright-store",
    "--rounds": "--benchwright-rounds",
    "--tag": "--benchwright-tag",
    "--repo": "--rootdir",
}
_NAMED_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_COMMAND = re.compile(r"\bbenchwright [a-z]+")
_FLAG = {"action": "store_true", "default": False}

# Names, settings of the parser, and help. All of them are pytest-benchmark's.
SHARED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("only", _FLAG, "Run benchmarks alone; other tests are skipped."),
    ("skip", _FLAG, "Skip tests that contain benchmarks."),
    ("disable", _FLAG, "Call what is benchmarked once, and measure nothing."),
    ("enable", _FLAG, "Measure, although the configuration says --benchmark-disable."),
    ("min-rounds", {"type": int, "default": 5, "metavar": "NUM"}, "Samples at least. Default: 5"),
    ("max-time", {"type": float, "default": 1.0, "metavar": "SECONDS"}, "How long each test is timed. Default: 1.0"),
    (
        "warmup",
        {"nargs": "?", "const": "on", "default": "auto", "metavar": "KIND"},
        "auto and on: until the latency is steady, half of --benchmark-max-time at most; off: one call. Default: auto",
    ),
    ("timer", {"default": "", "metavar": "FUNC"}, "Another clock, such as time.process_time. Default: perf_counter_ns"),
    ("sort", {"default": "", "metavar": "COL"}, f"Order of the table: {', '.join(SORTS)}. Default: as the tests ran"),
    ("group-by", {"default": "group", "metavar": "LABEL"}, f"A table for each: {', '.join(GROUPS)}. Default: group"),
    (
        "columns",
        {"default": "", "metavar": "LABELS"},
        f"pytest-benchmark's columns, by commas: {', '.join(COLUMNS)}. Default: Benchwright's own table",
    ),
    ("name", {"default": "normal", "metavar": "FORMAT"}, "Names in the table: short, normal (default), long"),
    (
        "time-unit",
        {"default": "", "metavar": "UNIT"},
        "Unit of --benchmark-columns: ns, us, ms, s. Default: as it fits",
    ),
    ("json", {"default": "", "metavar": "PATH"}, "Write pytest-benchmark's JSON to this file, with all samples."),
    ("histogram", {"nargs": "?", "const": "benchmark", "default": "", "metavar": "PREFIX"}, "Write PREFIX-NAME.svg."),
    ("save", {"default": "", "metavar": "NAME"}, "Tag the run with this name. (Every run is saved.)"),
    (
        "compare",
        {"nargs": "?", "const": "last", "default": "", "metavar": "WHAT"},
        "Compare with a run, a tag, a commit, a branch, a file, `history`; without WHAT: with the last one.",
    ),
    (
        "compare-fail",
        {"nargs": "+", "action": "extend", "default": [], "metavar": "EXPR"},
        "Fail when it became worse than what --benchmark-compare names: mean:5%%, or as in --benchwright-fail-on.",
    ),
    ("storage", {"default": "", "metavar": "STORE"}, "Another word for --benchwright-store."),
    ("verbose", _FLAG, "Show how each test was measured: calls, warm-up, what the loop costs."),
    ("quiet", _FLAG, "Show no table."),
)

# What is accepted, so that suites and configurations stay as they are: what to do instead, or why nothing is needed.
ACCEPTED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("autosave", _FLAG, "every run is saved; --benchwright-no-save keeps none"),
    ("save-data", _FLAG, "every run keeps its samples"),
    ("disable-gc", _FLAG, "the garbage collector is always held off while calls are timed"),
    ("min-time", {"metavar": "SECONDS"}, "short calls are looped as often as the clock needs"),
    ("calibration-precision", {"metavar": "NUM"}, "short calls are looped as often as the clock needs"),
    ("warmup-iterations", {"metavar": "NUM"}, "the warm-up ends when the latency is steady"),
    ("precision", {"metavar": "FRACTION"}, "the table has an interval; --benchmark-max-time makes it narrower"),
    ("confidence", {"metavar": "FRACTION"}, "intervals are of 95 %"),
    (
        "cprofile",
        {"metavar": "COLUMN"},
        "no profile is taken; benchwright run FILE::FUNCTION --profile py-spy takes one",
    ),
    ("cprofile-loops", {"metavar": "LOOPS"}, "no profile is taken"),
    ("cprofile-top", {"metavar": "COUNT"}, "no profile is taken"),
    ("cprofile-dump", {"nargs": "?", "const": "prof", "metavar": "PREFIX"}, "no profile is taken"),
    ("netrc", {"nargs": "?", "const": "netrc", "metavar": "FILE"}, "a server's token is in BENCHWRIGHT_TOKEN"),
)

OWN: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("isolated", _FLAG, "Measure each test in fresh processes, all tests in turns, before the tests run."),
    ("rounds", {"type": int, "default": None, "metavar": "NUM"}, "Fresh processes for each test. Default: 5"),
    (
        "fail-on",
        {"action": "append", "default": [], "metavar": "CONDITION"},
        "Fail when it is met, as of benchwright compare: worse, worse>2%%, p99>10%%, failed, missing, unclear.",
    ),
    ("store", {"default": "", "metavar": "STORE"}, "Where the run is kept: a file or an address."),
    ("no-save", _FLAG, "Do not keep the run."),
    ("tag", {"action": "append", "default": [], "metavar": "TAG"}, "A tag of the run; repeatable."),
)


def add_options(parser: pytest.Parser, *, alone: bool) -> None:
    """Declares the options; pytest-benchmark's only where it does not do so itself."""
    group = parser.getgroup("benchwright", "benchwright: the fixture `benchmark`")
    for name, settings, text in OWN:
        group.addoption(f"--benchwright-{name}", dest=_dest("benchwright", name), help=text, **settings)
    if not alone:
        return
    for name, settings, text in SHARED:
        group.addoption(f"--benchmark-{name}", dest=_dest("benchmark", name), help=text, **settings)
    for name, settings, text in ACCEPTED:
        told = text.replace("%", "%%")
        group.addoption(f"--benchmark-{name}", dest=_dest("benchmark", name), help=f"No effect: {told}.", **settings)


def check_options(config: pytest.Config) -> None:
    """Refuses values that cannot be meant, before any test runs."""
    import pytest

    option = config.option
    if option.benchwright_isolated and getattr(option, "numprocesses", None):
        raise pytest.UsageError(
            "--benchwright-isolated measures one process at a time, which workers beside it would disturb: "
            "leave out -n, or give -n 0"
        )
    wrong = ""
    if option.benchmark_min_rounds < 1:
        wrong = f"--benchmark-min-rounds: {option.benchmark_min_rounds} is not a number above 0"
    elif not 0 < option.benchmark_max_time < 86400:
        wrong = f"--benchmark-max-time: {option.benchmark_max_time} is not a time in seconds"
    elif option.benchwright_rounds is not None and option.benchwright_rounds < 1:
        wrong = f"--benchwright-rounds: {option.benchwright_rounds} is not a number above 0"
    elif option.benchmark_warmup.lower() not in WARMUPS:
        wrong = f"--benchmark-warmup: {option.benchmark_warmup!r} is none of auto, on, off"
    elif option.benchmark_sort and option.benchmark_sort not in SORTS:
        wrong = f"--benchmark-sort: {option.benchmark_sort!r} is none of {', '.join(SORTS)}"
    elif option.benchmark_name not in ("short", "normal", "long", "trial"):
        wrong = f"--benchmark-name: {option.benchmark_name!r} is none of short, normal, long"
    elif option.benchmark_time_unit not in ("", "ns", "us", "ms", "s"):
        wrong = f"--benchmark-time-unit: {option.benchmark_time_unit!r} is none of ns, us, ms, s"
    elif unknown := [name for name in _words(option.benchmark_columns) if name not in COLUMNS]:
        wrong = f"--benchmark-columns: {unknown[0]!r} is none of {', '.join(COLUMNS)}"
    elif unknown := [name for name in _words(option.benchmark_group_by) if not _is_group(name)]:
        wrong = f"--benchmark-group-by: {unknown[0]!r} is none of {', '.join(GROUPS)}"
    elif (option.benchmark_compare_fail or option.benchwright_fail_on) and not option.benchmark_compare:
        wrong = "a condition needs something to compare with: add --benchmark-compare, or --benchmark-compare=RUN"
    elif option.benchmark_compare and option.benchwright_no_save:
        wrong = "--benchwright-no-save keeps no run that could be compared: leave out that, or --benchmark-compare"
    elif option.benchmark_storage.startswith(("file://", "elasticsearch+")):
        wrong = (
            f"--benchmark-storage: {option.benchmark_storage} is pytest-benchmark's; Benchwright keeps runs in a store "
            "of its own (--benchwright-store FILE), and benchwright import FILE.json brings old runs along"
        )
    elif option.benchmark_json and not _can_be_written(option.benchmark_json):
        wrong = f"--benchmark-json: {option.benchmark_json} cannot be written: name a file in a folder that is there"
    if wrong:
        raise pytest.UsageError(wrong)
    if option.benchmark_compare_fail or option.benchwright_fail_on:
        from benchwright.errors import UserError
        from benchwright.pytest_plugin.verdict import read_conditions

        try:
            read_conditions(config)
        except UserError as error:
            raise pytest.UsageError(in_words_of_pytest(error.message, error.remedy)) from None


def in_words_of_pytest(message: str, remedy: str) -> str:
    """What an error says, in one line, with the flags that pytest has; commands of `benchwright` stay as they are."""
    parts = "; ".join(filter(None, (message, remedy))).split("; ")
    return "; ".join(part if _COMMAND.search(part) else _NAMED_FLAG.sub(_rename, part) for part in parts)


def _rename(flag: re.Match[str]) -> str:
    return _OF_THE_COMMAND_LINE.get(flag[0], flag[0])


def _can_be_written(path: str) -> bool:
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - nothing else of this module needs pathlib
    return os.access(folder, os.W_OK) and not os.path.isdir(path)  # noqa: PTH112


def _is_group(name: str) -> bool:
    return name in GROUPS or name.startswith("param:")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def ignored_options(config: pytest.Config) -> list[str]:
    """A line for each option that was given and does nothing here, which says why."""
    given = [(name, text) for name, _, text in ACCEPTED if getattr(config.option, _dest("benchmark", name))]
    return [f"--benchmark-{name} has no effect here: {text}" for name, text in given]


def refuse_stepped_back(config: pytest.Config, *, package: str, plugin: str) -> None:
    """Refuses our own options where another plug-in has the fixture."""
    import pytest

    given = [name for name, _, _ in OWN if getattr(config.option, _dest("benchwright", name), None)]
    if given:
        raise pytest.UsageError(
            f"--benchwright-{given[0]}: {package} is installed and has the fixture `benchmark`; "
            f"add -p no:{plugin}, and Benchwright measures"
        )


def _dest(kind: str, name: str) -> str:
    return f"{kind}_{name}".replace("-", "_")
