"""The flags of FAI-PEP's harness.py, with its spellings, defaults and abbreviations; and a few of our own.

A flag that nobody knows is an error, where the older harness dropped it. What it has and nothing here needs is read,
and said to do nothing.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from benchwright.errors import OptionError, did_you_mean
from benchwright.schema.parsing import json_value
from benchwright.system.masking import mask_url

RUN_TYPES = ("benchmark", "verify", "regress")
RULES = ("today", "seed")
# flag -> why it changes nothing here
INERT = {
    "ios_dir": "there is no iOS platform here",
    "set_freq": "frequencies are not ours to change; `benchwright env` says how to steady a machine",
    "monsoon_map": "no power monitor is driven",
    "use_enkaku": "it leases devices at one company",
    "quota_use_case": "it leases devices at one company",
    "logger_level": "messages have no levels here",
}
# flag -> (what stands for its value, help); all of them hold text, "" when not given
_TEXTS: dict[str, tuple[str, str]] = {
    "info": ("JSON", "Treatment and control: commits, programs, string_map. JSON, or a file of it."),
    "backend": ("NAME", "Appended to the arguments of each command, as --backend NAME."),
    "command_args": ("TEXT", "Appended to each command that contains {program}."),
    "device": ("HASH", 'One device: its hash, or {"kind": ..., "hash": ...}.'),
    "excluded_devices": ("A,B", "Devices to leave out, by name or hash."),
    "local_reporter": ("DIR", "Write each test's entries below DIR, never over what is there."),
    "simple_local_reporter": ("DIR", "Write DIR/<identifier>/data.txt."),
    "remote_reporter": ("HOST/PATH|CATEGORY", "Post each entry; https unless http:// is said."),
    "remote_access_token": ("TOKEN", "Sent in the body of what is posted; kept nowhere."),
    "root_model_dir": ("DIR", "Where locations that begin with // are."),
    "string_map": ("JSON", "Object of {TOKEN} -> text, put into the spec's strings."),
    "user_identifier": ("TEXT", "Copied to the meta data."),
    "user_string": ("TEXT", "The user in the meta data. Default: who is logged in."),
    "hash_platform_mapping": ("FILE", "JSON: device hash -> platform name."),
    "device_name_mapping": ("FILE", "JSON: device model -> product name."),
    "platform_sig": ("NAME", "The platform's name in results, on this machine."),
    "program": ("FILE", "The program to measure, when --info names none."),
    "regressed_types": ("A,B", "With --run_type regress: the entries to mark as regressed."),
    "shared_libs": ("A,B", "Shared libraries that go to the device beside the program."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessFlags:
    """What was asked for. Text that is empty was not given."""

    benchmark_file: Path
    framework: str
    platform: str
    model_cache: Path
    texts: Mapping[str, str]  # by the older name: `info`, `command_args`, `local_reporter`, ...
    string_map: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    android_dir: str = ""
    cooldown: float = 1.0
    timeout: float = 300.0
    debug: bool = False
    reboot: bool = False
    screen: bool = False
    simple_screen: bool = False
    run_type: str = ""
    rules: str = "today"
    dry_run: bool = False
    store: str | None = None
    save: bool = True
    as_json: bool = False
    idle: tuple[str, ...] = ()  # flags that were given and change nothing

    @property
    def command_args(self) -> str:
        """What is appended to each command."""
        return self.texts["command_args"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(message, remedy="benchwright harness --help lists the flags")


def parse(arguments: Sequence[str]) -> HarnessFlags:
    """The flags in `arguments`; an `OptionError` says what is wrong with them."""
    # Ours are read first and in full only, so that every abbreviation means what it meant.
    ours, rest = _add_our_flags(_Parser(add_help=False, allow_abbrev=False)).parse_known_args(arguments)
    parser = _add_older_flags(_Parser(prog="benchwright harness", add_help=False))
    needed = [action for action in parser._actions if action.required]
    for action in needed:
        action.required = False  # a flag that nobody knows is told first: it may be a needed one, misspelt
    theirs, unknown = parser.parse_known_args(rest)
    if unknown:
        raise OptionError(f"unknown flags: {' '.join(unknown)}", remedy=_suggest_flag(unknown[0]))
    missing = [f"--{action.dest}" for action in needed if getattr(theirs, action.dest) is None]
    if missing:
        parser.error(f"missing flags: {', '.join(missing)}")
    given = vars(theirs)
    texts = {name: (given[name] or "").strip() for name in _TEXTS}
    if ours.as_json and (given["screen_reporter"] or given["simple_screen_reporter"]):
        raise OptionError("--json and a screen reporter both write to standard output", remedy="leave one of them out")
    return HarnessFlags(
        benchmark_file=Path(given["benchmark_file"]),
        framework=given["framework"],
        platform=given["platform"],
        model_cache=Path(given["model_cache"]),
        texts={**texts, "wipe_cache": _wipe_value(given["wipe_cache"])},
        string_map={name: str(text) for name, text in json_object(texts["string_map"], "--string_map").items()},
        env=dict(map(_pair, given["env"])),
        devices=_split_names(given["devices"]),
        excluded=_split_names(texts["excluded_devices"]),
        android_dir=given["android_dir"] or "",
        cooldown=_seconds(given["cooldown"], "--cooldown", least=0.0),
        timeout=_seconds(given["timeout"], "--timeout", least=1e-3),
        debug=given["debug"],
        reboot=given["reboot"],
        screen=given["screen_reporter"],
        simple_screen=given["simple_screen_reporter"],
        run_type=given["run_type"] or "",
        rules=ours.rules,
        dry_run=ours.dry_run,
        store=ours.store or None,
        save=not ours.no_save,
        as_json=ours.as_json,
        idle=tuple(name for name in INERT if given[name] is not None),
    )


def benchmark_file(arguments: Sequence[str]) -> Path | None:
    """Returns the spec file that the arguments name, before any other flag is read."""
    parser = _Parser(add_help=False)
    parser.add_argument("-b", "--benchmark_file")
    found = parser.parse_known_args(arguments)[0].benchmark_file
    return Path(found) if found else None


def with_defaults(arguments: Sequence[str], defaults: Mapping[str, Any]) -> list[str]:
    """The arguments behind the flags that a spec sets itself, so that what was typed counts.

    A token that was typed is refused to a server that only the spec names: a spec may be anybody's.
    """
    words: list[str] = []
    for flag, value in defaults.items():
        if value is True:
            words.append(flag)
        elif value is not False and value is not None:
            words.append(f"{flag}={value if isinstance(value, str) else json.dumps(value)}")
    said, typed = _parse_leniently(words), _parse_leniently(arguments)
    if said.get("remote_reporter") and typed.get("remote_access_token") and not typed.get("remote_reporter"):
        raise OptionError(
            f"the spec sends results to {mask_url(said['remote_reporter'])},"
            " and would get the token of the command line",
            remedy="give --remote_reporter too if you trust that server, or leave --remote_access_token out",
        )
    return [*words, *arguments]


def json_object(text: str, what: str) -> dict[str, Any]:
    """The JSON object in a flag's text; empty for none."""
    try:
        found = json_value(text, finite=False) if text else {}
    except ValueError as error:
        raise OptionError(f"{what}: {error}", remedy='for example {"name": "value"}') from None
    if not isinstance(found, dict):
        raise OptionError(f"{what} is a {type(found).__name__}, not a JSON object", remedy='write {"name": "value"}')
    return found


def parse_names(text: str) -> tuple[str, ...]:
    """The names in a flag: a JSON list, or words between commas."""
    if not text.lstrip().startswith("["):
        return _split_names(text)
    try:
        return tuple(map(str, json_value(text, finite=False)))
    except ValueError as error:
        raise OptionError(f"{text[:80]!r} is not a JSON list: {error}", remedy="or write a,b") from None


def info_of(command: Sequence[str]) -> str:
    """The text of `--info` in a command line that was recorded; "" when there is none."""
    return (_parse_leniently(command).get("info") or "").strip()


def _parse_leniently(words: Sequence[str]) -> dict[str, Any]:
    """Returns FAI-PEP's flags among the words, by name; nothing where they cannot be parsed."""
    parser = _add_older_flags(_Parser(add_help=False))
    for action in parser._actions:
        action.required = False
    try:
        return {**vars(parser.parse_known_args([*words])[0])}
    except OptionError:
        return {}


def help_text() -> str:
    """Every flag, the older harness's and ours, with what it does."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False)
    _add_older_flags(parser.add_argument_group("flags of harness.py"))
    _add_our_flags(parser.add_argument_group("flags of ours"))
    from benchwright.compat.harness import lab_flags

    return f"{parser.format_help()}\n{lab_flags.help_text()}"


def _add_older_flags(parser: Any) -> Any:
    add = parser.add_argument
    add("-b", "--benchmark_file", required=True, metavar="FILE", help="A spec, or a list of specs.")
    add("--framework", required=True, metavar="NAME", help="caffe2, pytorch, generic, tflite, or one of our runtimes.")
    add("-p", "--platform", "--platforms", required=True, metavar="NAME", help="host, linux, mac, or android.")
    add("--model_cache", required=True, metavar="DIR", help="Where model files are kept; made when missing.")
    for name, (metavar, text) in _TEXTS.items():
        add(f"--{name}", metavar=metavar, help=text)
    add("-d", "--devices", default="", metavar="A,B", help="Only these devices, by name or hash.")
    add("--android_dir", metavar="DIR", help="Where files go on a device. Default: /data/local/tmp.")
    add("--cooldown", default="1.0", metavar="SECONDS", help="Rest between measurements; the spec's own wins.")
    add("--timeout", default="300", metavar="SECONDS", help="For each command; the spec's own wins.")
    add("--env", nargs="*", action="extend", default=[], metavar="K=V", help="For the program; the spec's own wins.")
    add("--wipe_cache", nargs="?", const="true", metavar="VALUE", help="Appended to each command.")
    add("--debug", action="store_true", help="Keep all that the program prints.")
    add("--reboot", action="store_true", help="Reboot each device first.")
    add("--screen_reporter", action="store_true", help="Print each test's entries.")
    add("--simple_screen_reporter", action="store_true", help="Print each test's data as JSON.")
    add("--run_type", choices=RUN_TYPES, help="Kept in the meta data. Default: benchmark.")
    for name, why in INERT.items():
        add(f"--{name}", nargs="?", const="", metavar="VALUE", help=f"Does nothing: {why}.")
    return parser


def _add_our_flags(group: Any) -> Any:
    add = group.add_argument
    add("--dry-run", action="store_true", help="Print what would run, with files and commands; do nothing.")
    add("--rules", choices=RULES, default="today", help="Percentiles: interpolated, or as in early 2018.")
    add("--store", metavar="URL", help="Where results are kept, instead of the usual store.")
    add("--no-save", action="store_true", help="Do not keep the run in the store.")
    add("--json", dest="as_json", action="store_true", help="Print the run as JSON.")
    return group


def _suggest_flag(word: str) -> str:
    if not word.startswith("-"):
        return f"quote a value that has spaces in it; {word!r} belongs to no flag"
    known = [
        option
        for parser in (_add_older_flags(_Parser(add_help=False)), _add_our_flags(_Parser(add_help=False)))
        for option in parser._option_string_actions
    ]
    return did_you_mean(word.partition("=")[0], known)


def _wipe_value(value: str | None) -> str:
    """Returns the value of `--wipe_cache` for commands; "" when they do not get it."""
    return "" if not value or value.lower() == "false" else value


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(part for part in map(str.strip, text.split(",")) if part)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise OptionError(f"--env {text!r} is not NAME=VALUE")
    return name, value


def _seconds(text: str, flag: str, *, least: float) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise OptionError(f"{flag}: {text!r} is not a number of seconds") from None
    if not (math.isfinite(seconds) and seconds >= least):
        raise OptionError(f"{flag}: {text} is {'below zero' if least == 0 else 'not above zero'}, or infinite")
    return seconds
