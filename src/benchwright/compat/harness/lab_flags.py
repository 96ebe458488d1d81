"""The flags of FAI-PEP's run_remote.py, which submits specs to a lab. Those of the harness itself are not read here."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from benchwright.compat.harness.flags import json_object
from benchwright.errors import OptionError
from benchwright.system import streams

# flag -> why it changes nothing here
INERT = {
    "cache_config": "the server knows files by their content, and takes none twice",
    "benchmark_db": "the server has one database",
    "benchmark_db_entry": "the server has one database",
    "benchmark_table": "the server has one database",
    "result_db": "results are kept by the server that has the lab",
    "file_storage": "files are kept by the server that has the lab",
    "app_id": "a token says who somebody is",
    "test": "there is no second server to try things on",
    "urlPrefix": "addresses are the server's own",
    "log_output_dir": "what a program prints is kept with its result",
    "buck_target": "nothing is built here; name a program",
    "repo_dir": "nothing is built here; name a program",
    "frameworks_dir": "nothing is built here; name a program",
    "force_profile": "a spec says itself what is profiled",
}
# flags of run_lab.py, which is another program here
OF_THE_AGENT = ("claimer_id", "device_monitor_interval", "rt_logging", "rt_logging_interval", "usb_hub_device_mapping")
QUERIES = ("list_devices", "list_job_queues", "query_num_devices", "fetch_status", "fetch_result", "kill")
QUEUE = "job_queue"  # the label of a machine that serves one queue
TAG = "harness-"  # before the identifier of a submission, among the tags of its run


@dataclass(frozen=True, slots=True, kw_only=True)
class LabFlags:
    """What was asked of a lab. Text that is empty was not given."""

    selector: str  # what --lab itself says
    devices: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    queue: str = ""
    server: str | None = None
    query: str = ""  # one of QUERIES; "" to submit
    name: str = ""  # of --query_num_devices
    identifiers: tuple[str, ...] = ()  # of --user_identifier, or of the file that --kill names
    waits: bool = True
    as_json: bool = False
    idle: tuple[str, ...] = ()  # flags that were given and change nothing

    def selector_for(self, platform: str) -> str:
        """The machines that are meant, as `benchwright run --lab` writes it."""
        parts = [self.selector] if self.selector not in ("", "*") else []
        if platform.startswith("android"):
            parts.append("kind=phone")
        elif platform:
            parts.append("kind=host")
        if self.devices:
            parts.append(
                f"device={'|'.join(self.devices)}" if platform.startswith("android") else _machines(self.devices)
            )
        if self.hashes:
            parts.append(_machines(tuple(f"*{one}" for one in self.hashes)))
        if self.queue:
            parts.append(f"{QUEUE}={self.queue}")
        return ",".join(parts) or "*"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(message, remedy="benchwright harness --help lists the flags")


def asks_for_lab(arguments: Sequence[str]) -> bool:
    """Whether a command line of the harness is for a lab."""
    return any(word in ("--lab", "--remote") or word.startswith("--lab=") for word in arguments)


def parse(arguments: Sequence[str]) -> tuple[LabFlags, list[str]]:
    """What is asked of a lab, and the words that the harness itself reads."""
    given, rest = add_flags(_Parser(add_help=False, allow_abbrev=False)).parse_known_args([*arguments])
    found: Mapping[str, Any] = vars(given)
    for name in OF_THE_AGENT:
        if found[name] is not None:
            raise OptionError(
                f"--{name} belongs to what offers devices to a lab",
                remedy="benchwright agent --server URL --devices offers this machine and its phones",
            )
    if found["token"] is not None:
        raise OptionError(
            "--token: a command line is seen by everybody on this machine",
            remedy="set BENCHWRIGHT_TOKEN, or write the token to the file of tokens",
        )
    if found["adhoc"] is not None:
        raise OptionError("--adhoc: there are no specs in the package", remedy="name a spec with -b")
    queries = [name for name in QUERIES if found[name] not in (None, False)]
    if len(queries) > 1:
        raise OptionError(f"--{queries[0]} and --{queries[1]} exclude each other", remedy="ask one thing at a time")
    query = queries[0] if queries else ""
    identifier = (found["user_identifier"] or "").strip()
    if identifier and not identifier.isdecimal() and not query:
        raise OptionError(f"--user_identifier {identifier!r} is not a whole number", remedy="for example 20261117")
    devices = _names(found["devices"])
    hashes = _names(found["hashes"])
    if hashes and devices and len(hashes) != len(devices):
        raise OptionError("--hashes and --devices name different numbers of devices", remedy="name one hash a device")
    flags = LabFlags(
        selector=found["lab"] or "",
        devices=tuple(_full_name(name, found["devices_config"]) for name in devices),
        hashes=hashes,
        queue=_queue(found[QUEUE]),
        server=found["server_addr"] or found["store"] or None,
        query=query,
        name=found["query_num_devices"] or "",
        identifiers=_identifiers(found, identifier, query),
        waits=not found["async_submit"],
        as_json=found["as_json"],
        idle=tuple(name for name in INERT if found[name] is not None),
    )
    return flags, [*rest, *_for_the_harness(found, flags, identifier)]


def add_flags(parser: Any) -> Any:
    """Adds the flags; to a group of a parser that prints help as well."""
    add = parser.add_argument
    add("--lab", "--remote", nargs="?", const="", metavar="SELECTOR", help="Submit to a lab: cpu=*EPYC*; all without.")
    add("--server_addr", metavar="URL", help="The server that has the lab. Default: the store.")
    add("--store", metavar="URL", help="The same.")
    add("-d", "--devices", default="", metavar="A,B", help="Machines, or models of phones; * stands for anything.")
    add("--hashes", default="", metavar="A,B", help="Exactly these devices, by serial.")
    add("--devices_config", metavar="FILE", help="JSON: abbreviation -> full name of a device.")
    add("--job_queue", metavar="NAME", help="Machines with the label job_queue=NAME; * for any.")
    add("--list_devices", action="store_true", help="List the machines of the lab.")
    add("--list_job_queues", action="store_true", help="List the labels job_queue of its machines.")
    add("--query_num_devices", metavar="NAME", help="How many machines that name means.")
    add("--fetch_status", action="store_true", help="How far --user_identifier is.")
    add("--fetch_result", action="store_true", help="The documents of --user_identifier; reporters hear of them.")
    add("--kill", nargs="?", const="", metavar="FILE", help="Cancel --user_identifier, or those in FILE, one a line.")
    add("--async_submit", action="store_true", help="Do not wait for results.")
    add("--force_submit", action="store_true", help="Does nothing: a lab without a fitting machine refuses.")
    add("--user_identifier", metavar="N", help="Names the submission; drawn when missing.")
    add("-c", "--custom_binary", metavar="FILE", help="The program to measure, when --info names none.")
    add("--pre_built_binary", metavar="FILE", help="The same.")
    add("--adhoc", nargs="?", const="", metavar="NAME", help=argparse.SUPPRESS)
    add("--token", metavar="TOKEN", help="Refused: set BENCHWRIGHT_TOKEN.")
    add("--json", dest="as_json", action="store_true", help="Print JSON.")
    for name in OF_THE_AGENT:
        add(f"--{name}", nargs="?", const="", help=argparse.SUPPRESS)
    for name, why in INERT.items():
        add(f"--{name}", nargs="?", const="", metavar="VALUE", help=f"Does nothing: {why}.")
    return parser


def help_text() -> str:
    """Every flag of a lab, with what it does."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False)
    add_flags(parser.add_argument_group("flags of run_remote.py, with --lab"))
    return parser.format_help()


def _for_the_harness(found: Mapping[str, Any], flags: LabFlags, identifier: str) -> list[str]:
    """Words that the harness reads too, or that run_remote.py has other names for."""
    program = found["custom_binary"] or found["pre_built_binary"]
    words = ["--program", program] if program else []
    number = identifier or str(random.SystemRandom().randrange(10**9, 10**10))
    words += ["--user_identifier", number]
    return [*words, *(["--json"] if flags.as_json else [])]


def _identifiers(found: Mapping[str, Any], identifier: str, query: str) -> tuple[str, ...]:
    """Whom a question about submissions means."""
    if query not in ("fetch_status", "fetch_result", "kill"):
        return ()
    if found["kill"]:
        try:
            lines = streams.read_text(Path(found["kill"])).split()
        except (OSError, ValueError) as error:
            raise OptionError(f"--kill {found['kill']}: {error}", remedy="a file with one identifier a line") from None
        return tuple(lines)
    if not identifier:
        raise OptionError(f"--{query} needs --user_identifier", remedy="it was printed when the spec was submitted")
    return (identifier,)


def _full_name(name: str, config: str | None) -> str:
    """The name of a device that an abbreviation means, where a file of them was given."""
    if not config:
        return name
    try:
        known = json_object(streams.read_text(Path(config)), f"--devices_config {config}")
    except (OSError, ValueError) as error:
        raise OptionError(f"--devices_config {config}: {error}") from None
    return str(known.get(name, name))


def _queue(text: str | None) -> str:
    """The queue that was asked for; the older system's usual one is all machines here."""
    return "" if text in (None, "", "*", "aibench_interactive") else str(text)


def _machines(names: Sequence[str]) -> str:
    return f"machine={'|'.join(names)}"


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in map(str.strip, text.split(",")) if part)


def say(text: str) -> None:
    """Writes a message for people to standard error."""
    sys.stderr.write(f"benchwright: {text}\n")
