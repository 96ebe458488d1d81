"""The flags of PerfZero's benchmark.py, with its spellings, defaults and abbreviations; and five of our own.

An empty value counts as not set, because scripts pass many flags that way. What is recorded is what was typed.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from benchwright.compat.perfzero.workspace import DATA
from benchwright.errors import OptionError
from benchwright.schema.parsing import json_value
from benchwright.system.masking import HIDDEN, mask_url

DEFAULT_KEY = "gs://tf-performance/auth_tokens/benchmark_upload_gce.json"  # PerfZero's default, of use to Google alone
USUAL_LEVEL = logging.INFO
YEAR = 365 * 86400.0  # seconds
_TEXTS: dict[str, tuple[str | None, str]] = {
    "benchmark_class_type": (None, "tf_benchmark: construct classes with the JSON arguments alone."),
    "perfzero_constructor_args": ("", "JSON object of further keywords for the constructor."),
    "python_path": (None, "Folders of the workspace's site-packages to import from, separated by commas."),
    "data_downloads": (None, "url[;relative_path],... fetched into root_data_dir."),
    "gcs_downloads": (None, "Older name of --data_downloads; done first."),
    "root_data_dir": (DATA, "Where data sets are; handed to the constructor."),
    "workspace": ("workspace", "Folder under the project for code, outputs and keys."),
    "gcloud_key_file_url": (DEFAULT_KEY, "Service account key to fetch and use. The default counts as unset."),
    "output_gcs_url": (None, "Copy each output folder to this URL."),
    "scratch_gcs_url": (None, "Hand the constructor an output_dir under this URL."),
    "bigquery_project_name": (None, "With the next flag: insert a row for each method."),
    "bigquery_dataset_table_name": (None, "dataset.table of the rows."),
    "result_upload_methods": (None, "module.function,... called with each summary."),
    "execution_id": (None, "Name of the output folder, instead of the time."),
    "execution_label": (None, "Kept in the summary."),
    "ml_framework_build_label": (None, "Kept in the summary."),
    "platform_name": (None, "Kept in the summary."),
    "system_name": (None, "Kept in the summary."),
    "profiler_enabled_time": (None, "begin[:end],... seconds of each method to profile."),
    "tpu_parameters": (None, "JSON of the TPU to start: name, project, zone, size, version."),
}
_KEY_FLAG = "gcloud_key_file_url"


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfZeroFlags:
    """What was asked for. Text that is empty was not set."""

    methods: tuple[str, ...]
    trials: int
    tf_class: bool  # the constructor takes the JSON arguments alone
    texts: dict[str, str]  # every flag that holds text, by PerfZero's name
    cached: bool
    debug: bool
    fail_on_bounds: bool = False
    timeout: float | None = None
    store: str | None = None
    cost_per_hour: float | None = None
    dry: bool = False
    recorded: dict[str, Any] = field(default_factory=dict)  # PerfZero's own flags for the summary, without secrets

    @property
    def style(self) -> str:
        """Returns the style in which classes are constructed."""
        return "tf_benchmark" if self.tf_class else "perfzero"

    @property
    def limit(self) -> float:
        """Seconds that a method, or importing a class to look into it, may take; PerfZero knows no limit."""
        return self.timeout or YEAR

    def split(self, name: str) -> list[str]:
        """Returns the parts of a comma-separated flag."""
        return [part for part in map(str.strip, self.texts[name].split(",")) if part]

    @property
    def key_url(self) -> str:
        """The key to use, "" for none: the default is of no use outside Google."""
        given = self.texts["gcloud_key_file_url"]
        return "" if given == DEFAULT_KEY else given


class ProgramParser(argparse.ArgumentParser):
    """A parser of setup.py and cloud_manager.py: ends with code 1 for a wrong request, as PerfZero's programs do."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {mask_url(message)}\n")


class UnknownFlagError(OptionError):
    """A flag that PerfZero does not have; it ends with exit code 1."""


def parse(arguments: Sequence[str]) -> PerfZeroFlags:
    """The flags in `arguments`. argparse itself ends the process for `--help` and for values that are no numbers."""
    if any(argument in ("-h", "--help") for argument in arguments):
        sys.stdout.write(help_text())
        raise SystemExit(0)
    # Ours are read first and in full only, so that every abbreviation means what it meant to PerfZero.
    ours, rest = _add_our_flags(_parser(allow_abbrev=False)).parse_known_args(arguments)
    theirs, unknown = _add_perfzero_flags(_parser()).parse_known_args(rest)
    if unknown:
        message = f"Arguments {[mask_url(word) for word in unknown]} are not recognized"
        raise UnknownFlagError(message, remedy="benchwright perfzero --help lists those that are")
    given = vars(theirs)
    given["git_repos"] = ",".join(given["git_repos"]) if given["git_repos"] is not None else None
    methods = [part for value in given["benchmark_methods"] for part in value.split(",") if part.strip()]
    flags = PerfZeroFlags(
        methods=tuple(map(str.strip, methods)),
        trials=given["benchmark_num_trials"],
        tf_class=given["benchmark_class_type"] == "tf_benchmark",
        texts={name: (given[name] or "").strip() for name in (*_TEXTS, "git_repos")},
        cached=given["use_cached_site_packages"],
        debug=given["debug"],
        fail_on_bounds=ours.fail_on_bounds,
        timeout=ours.timeout,
        store=ours.store or None,
        cost_per_hour=ours.cost_per_hour,
        dry=ours.list,
        recorded={name: mask_flag(name, value) for name, value in given.items() if value is not None},
    )
    json_object(flags.texts["perfzero_constructor_args"], "perfzero_constructor_args")
    if bool(flags.texts["bigquery_project_name"]) != bool(flags.texts["bigquery_dataset_table_name"]):
        raise OptionError(
            "--bigquery_project_name and --bigquery_dataset_table_name must be given together",
            remedy="give the other one too, or neither",
        )
    return flags


def json_object(text: str, flag: str) -> dict[str, Any]:
    """The JSON object that a flag holds; none for an empty text."""
    try:
        found = json_value(text, finite=False) if text.strip() else {}
    except ValueError as error:
        raise OptionError(f"--{flag}: {error}", remedy='for example {"name": "value"}') from None
    if not isinstance(found, dict):
        raise OptionError(f"--{flag} is {type(found).__name__}, not a JSON object")
    return found


def help_text() -> str:
    """Every flag, PerfZero's and ours, with what it does."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False)
    _add_perfzero_flags(parser.add_argument_group("PerfZero's flags"))
    _add_our_flags(parser.add_argument_group("flags of ours"))
    return parser.format_help()


def level(flags: PerfZeroFlags) -> int:
    """The level of log records to show."""
    return logging.DEBUG if flags.debug else USUAL_LEVEL


def _parser(*, allow_abbrev: bool = True) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog="benchwright perfzero", add_help=False, allow_abbrev=allow_abbrev)


def _add_perfzero_flags(parser: Any) -> Any:
    add = parser.add_argument
    add("--benchmark_methods", action="append", default=[], metavar="M", help="module.Class.method,... Repeatable.")
    add("--benchmark_num_trials", type=_count, default=1, metavar="N", help="How often the whole list is run.")
    add("--use_cached_site_packages", action="store_true", help="Do not pull repositories that are there.")
    repositories = "url[;branch[;hash]],... cloned into the workspace's site-packages. Repeatable."
    add("--git_repos", action="append", default=None, metavar="TEXT", help=repositories)
    for name, (default, text) in _TEXTS.items():
        add(f"--{name}", default=default, metavar="TEXT", help=text)
    add("--debug", action="store_true", help="Show debug records too.")
    return parser


def _add_our_flags(group: Any) -> Any:
    group.add_argument("--fail_on_bounds", action="store_true", help="Exit 1 also when only a bound does not hold.")
    group.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="End a method that takes longer.")
    group.add_argument("--store", metavar="URL", help="Where results are kept too, instead of the usual store.")
    group.add_argument(
        "--cost_per_hour", type=_price, metavar="PRICE", help="The machine's price: adds what a million items cost."
    )
    group.add_argument("--list", action="store_true", help="Print the methods that would run, and do nothing else.")
    return group


def _count(text: str) -> int:
    try:
        count = int(text) if text.strip() else 1
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if count < 0:
        raise argparse.ArgumentTypeError(f"{count} is below zero")
    return count


def _seconds(text: str) -> float | None:
    return _positive(text, "a number of seconds")


def _price(text: str) -> float | None:
    return _positive(text, "a price, as 1.18")


def _positive(text: str, what: str) -> float | None:
    try:
        number = float(text) if text.strip() else None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None
    if number is not None and not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def mask_flag(name: str, value: Any) -> Any:
    """A flag's value as it may be kept and uploaded: addresses without secrets; of a key only that there was one."""
    if isinstance(value, list):
        return [mask_flag(name, item) for item in value]
    if not isinstance(value, str):
        return value
    if name == _KEY_FLAG and value not in ("", DEFAULT_KEY):
        return HIDDEN
    return mask_url(value)


def mask_command(arguments: Iterable[str]) -> tuple[str, ...]:
    """Returns a command line as it may be kept beside its results: without secrets."""
    shown: list[str] = []
    key_follows = False
    for word in arguments:
        flag, equals, value = word.partition("=")
        is_key_flag = not key_follows and flag.startswith("--g") and f"--{_KEY_FLAG}".startswith(flag)  # or abbreviated
        if key_follows:
            shown.append(mask_flag(_KEY_FLAG, word))
        elif is_key_flag and equals:
            shown.append(f"{flag}={mask_flag(_KEY_FLAG, value)}")
        else:
            shown.append(mask_url(word))
        key_follows = is_key_flag and not equals
    return tuple(shown)
