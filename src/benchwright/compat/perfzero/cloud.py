"""PerfZero's cloud_manager.py: one Google Compute Engine machine for each user, through the `gcloud` program.

With `--provider` it is a machine of another cloud, through Benchwright's own way to it.
"""

from __future__ import annotations

import argparse
import getpass
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchwright.compat.perfzero.console import say
from benchwright.compat.perfzero.flags import ProgramParser
from benchwright.errors import OptionError

if TYPE_CHECKING:
    from benchwright.compat.perfzero.clouds import UserMachine

GCLOUD = "gcloud"
PROVIDER = "PERFZERO_CLOUD_PROVIDER"  # the variable that --provider has as its default
ZONE, IMAGE = "us-west1-b", "tf-ubuntu-1604-20180927-410"
PREFIX = "perfzero-dev-"
REPOSITORY = "https://github.com/tensorflow/benchmarks.git"
PROBES = 12  # times a new machine is asked for ssh
PAUSE = 5.0  # seconds between two of them
COMMANDS = {
    "create": "Create the machine of this user, and make it ready for PerfZero.",
    "start": "Start it again.",
    "stop": "Stop it; one with local NVMe drives can only be deleted.",
    "delete": "Delete it, without asking.",
    "status": "Show it, and how to reach it.",
    "list_all": "Show the machines of all users.",
}

_OURS = f"""\
flags of our own, to be written in full:
  --provider NAME  gcloud (default), aws, gcp, azure, oci or skypilot. Default: what {PROVIDER} holds.
  --region NAME    Region there. Default: that of the cloud's own settings, or of --zone.
  --lease TIME     How long until the machine ends itself: 12h (default), 90min, 3d.
  --price PRICE    What it costs: 0.34USD/h. Default: what your prices say of the shape.
"""


def main(argv: Sequence[str]) -> int:
    """Does one of the six commands. The exit code is that of the `gcloud` call that failed; 1 for a wrong request."""
    ours, rest = _parse_ours(argv)
    flags = _parser().parse_args(rest)
    commands: _Cloud | UserMachine = _Cloud(flags)
    if ours.provider != GCLOUD:
        from benchwright.compat.perfzero.clouds import UserMachine

        commands = UserMachine(flags, ours, {"zone": ZONE, "image": IMAGE})
    try:
        return int(getattr(commands, flags.command)())
    except _FailedError as failed:
        return failed.code


@dataclass(frozen=True, slots=True, kw_only=True)
class OurFlags:
    """What PerfZero has no flag for."""

    provider: str
    region: str = ""
    lease: str = "12h"
    price: str = ""


class _FailedError(Exception):
    """A `gcloud` call that ended with another code than 0."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Cloud:
    """The commands, each a method of its name."""

    flags: argparse.Namespace

    def create(self) -> int:
        self._call(_creation(self._name, self.flags))
        say(f"Successfully created {self._name} with {self.flags.accelerator_count} accelerators")
        if self._answers_ssh():
            self._call(self._ssh(f"--command=git clone {REPOSITORY}"))
            self._call(self._ssh("--command=sudo usermod -a -G docker $USER"))  # the machine's $USER: no shell is here
            say("Successfully checked out PerfZero and added the user to the group docker")
        else:
            say(f"Run these after ssh into the machine:\ngit clone {REPOSITORY}\nsudo usermod -a -G docker $USER")
        self._show_ssh()
        return 0

    def start(self) -> int:
        self._call([*self._instances("start"), self._name, *self._where])
        return 0

    def stop(self) -> int:
        self._call([*self._instances("stop"), self._name, *self._where])
        return 0

    def delete(self) -> int:
        self._call([*self._instances("delete"), self._name, *self._where, "--quiet"])
        return 0

    def status(self) -> int:
        wanted = f"--filter=name={self._name} AND zone:{self.flags.zone}"
        count = self._show_list([*self._instances("list"), wanted, self._project])
        say(f"Found {count} gcloud computing instance with name {self._name}")
        if count == 1:
            self._show_ssh()
        return 0

    def list_all(self) -> int:
        count = self._show_list([*self._instances("list"), f"--filter=name ~ {PREFIX}", self._project])
        say(f"Found {count} gcloud computing instance of project {self.flags.project} created for PerfZero test")
        return 0

    # ---- arguments ----

    @property
    def _name(self) -> str:
        return f"{PREFIX}{self.flags.username}"

    @property
    def _project(self) -> str:
        return f"--project={self.flags.project}"

    @property
    def _where(self) -> list[str]:
        return [self._project, f"--zone={self.flags.zone}"]

    def _instances(self, verb: str) -> list[str]:
        return ["gcloud", "compute", "instances", verb]

    def _ssh(self, *further: str) -> list[str]:
        inside = self.flags.ssh_internal_ip
        command = ["gcloud", *(["beta"] if inside else []), "compute", "ssh", self._name, *self._where]
        command += ["--internal-ip"] if inside else []
        command += [f"--ssh-key-file={self.flags.ssh_key_file}"] if self.flags.ssh_key_file else []
        return [*command, *further]

    # ---- calls ----

    def _answers_ssh(self) -> bool:
        probe = self._ssh("--strict-host-key-checking=no", "--command=exit")
        said = ""
        for attempt in range(PROBES):
            if attempt:
                say(f"Cannot ssh to the computing instance. Try again after {PAUSE:g} seconds")
                time.sleep(PAUSE)
            ended = self._run(probe, quiet=True)
            if ended.returncode == 0:
                return True
            said = ended.stderr.strip() or ended.stdout.strip()
        sys.stderr.write(f"Cannot ssh to the computing instance after {PROBES} attempts:\n{said}\n")
        return False

    def _show_list(self, command: list[str]) -> int:
        """Shows the list, and says how many are in it; its first line is a heading."""
        shown = self._call(command)
        return max(0, len(shown.splitlines()) - 1)

    def _call(self, command: list[str]) -> str:
        ended = self._run(command)
        if ended.returncode != 0:
            raise _FailedError(ended.returncode if ended.returncode > 0 else 1)
        return ended.stdout

    def _run(self, command: list[str], *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
        if not quiet or self.flags.debug:
            say(f"Executing command: {shlex.join(command)}")
        try:
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise OptionError(
                "gcloud is not installed", remedy="install the Google Cloud CLI, and log in with `gcloud auth login`"
            ) from None
        if not quiet or self.flags.debug:
            sys.stdout.write(ended.stdout)
            sys.stdout.flush()
            sys.stderr.write(ended.stderr)
        return ended

    def _show_ssh(self) -> None:
        forwarding = shlex.join(self._ssh("--", "-L", "6006:127.0.0.1:6006"))
        say(f"Run the command below to ssh to the instance with port forwarding for tensorboard:\n{forwarding}")


def _creation(name: str, flags: argparse.Namespace) -> list[str]:
    machine = flags.machine_type or f"n1-standard-{8 * max(flags.accelerator_count, 1)}"
    command = ["gcloud", "compute", "instances", "create", name, f"--image={flags.image}"]
    command += [f"--project={flags.project}", f"--zone={flags.zone}", f"--machine-type={machine}"]
    command += ["--maintenance-policy=TERMINATE"]
    if flags.accelerator_count > 0:
        command += [f"--accelerator=count={flags.accelerator_count},type={flags.accelerator_type}"]
    if flags.cpu_min_platform:
        command += [f"--min-cpu-platform={flags.cpu_min_platform}"]
    command += ["--local-ssd=interface=NVME"] * flags.nvme_count
    if flags.boot_ssd_size:
        command += [f"--boot-disk-size={flags.boot_ssd_size}GB", "--boot-disk-type=pd-ssd"]
    return command


# ---- flags ----


def _parse_ours(argv: Sequence[str]) -> tuple[OurFlags, list[str]]:
    """Flags of our own, and the rest. They are read in full only: abbreviations mean what they meant to PerfZero."""
    parser = ProgramParser(prog="benchwright perfzero cloud", add_help=False, allow_abbrev=False)
    for flag in ("--provider", "--region", "--lease", "--price"):
        parser.add_argument(flag, default="")
    found, rest = parser.parse_known_args(list(argv))
    provider = found.provider or os.environ.get(PROVIDER, "") or GCLOUD
    if provider == GCLOUD:
        for flag in ("region", "lease", "price"):
            if getattr(found, flag):
                parser.error(f"--{flag} needs --provider aws, gcp, azure, oci or skypilot")
    given = {name: value for name, value in vars(found).items() if value}
    return OurFlags(**{**given, "provider": provider}), rest


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="benchwright perfzero cloud",
        description="A machine for PerfZero: of Google Compute Engine through gcloud, or of another cloud.",
        epilog=_OURS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, line in COMMANDS.items():
        one = verbs.add_parser(
            name, help=line, description=line, epilog=_OURS, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        one.add_argument("--debug", action="store_true", help="Show every gcloud call.")
        one.add_argument(
            "--project", type=_default_to("google.com:tensorflow-performance"), default="", help="Project name."
        )
        if name != "list_all":
            _add_machine(one)
        if name == "create":
            _add_creation(one)
    return parser


def _add_machine(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--username",
        type=lambda text: text or getpass.getuser(),
        default="",
        help="Whose machine. Default: the login name.",
    )
    add("--zone", type=_default_to(ZONE), default="", help="Zone of the machine.")
    add("--ssh-internal-ip", action="store_true", help="Reach it by its internal address.")
    add("--ssh-key-file", default=None, help="Key for ssh.")


def _add_creation(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--accelerator_count", type=_count(1), default="", help="How many accelerators.")
    add("--accelerator_type", type=_default_to("nvidia-tesla-v100"), default="", help="Which accelerators.")
    add("--cpu_min_platform", default=None, help="Oldest CPU platform.")
    add("--machine_type", default=None, help="Default: n1-standard with 8 CPUs for each accelerator.")
    add("--image", type=_default_to(IMAGE), default="", help="Image of the boot disk.")
    add("--nvme_count", type=_count(0), default="", help="How many local NVMe drives.")
    add("--boot_ssd_size", type=_count(0), default="", help="Size of an SSD boot disk in GB.")


def _default_to(default: str) -> Callable[[str], str]:
    """Text that, when it is empty, was not set."""
    return lambda text: text or default


def _count(default: int) -> Callable[[str], int]:
    """A whole number of at least 0; empty text was not set."""

    def number(text: str) -> int:
        try:
            found = int(text) if text else default
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if found < 0:
            raise argparse.ArgumentTypeError(f"{text} is below zero")
        return found

    return number
