"""PerfZero's cloud commands at other clouds than Google's `gcloud`: one machine for each user, which has an end.

The machine is in Benchwright's ledger, so `benchwright cloud list` shows what it costs and `cloud sweep` ends it.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchwright.cloud import keys, load_provider
from benchwright.cloud.calls import ask_patiently
from benchwright.cloud.ledger import CloudLedger, LedgerMachine
from benchwright.cloud.orders import NAME_LABEL, Instance, label_value
from benchwright.cloud.provider import OnlyStops
from benchwright.compat.perfzero import cloud
from benchwright.compat.perfzero.cloud import PREFIX, PROBES, REPOSITORY, OurFlags
from benchwright.compat.perfzero.console import say
from benchwright.errors import OptionError
from benchwright.prices.machine_text import WantedMachine
from benchwright.workflows import arguments
from benchwright.workflows import cloud as machines

PREPARING = (f"git clone {REPOSITORY}", "sudo usermod -a -G docker $USER")
_PATIENCE = 20  # seconds for one try of ssh
_LONGEST_NAME = 40
_NONE_ELSEWHERE = ("cpu_min_platform", "nvme_count")  # what only Google's machines have


@dataclass(frozen=True, slots=True)
class UserMachine:
    """The commands, each a method of its name; `usual` are the values that flags have unless they are set."""

    flags: argparse.Namespace
    ours: OurFlags
    usual: dict[str, str]

    def create(self) -> int:
        plan = machines.plan_machine(
            str(self._wanted()),
            machines.MachineRequest(
                until=datetime.now(UTC) + timedelta(seconds=arguments.positive(self.ours.lease, "s", "--lease")),
                name=self.name,
                owner=self.flags.username,
                price=self.ours.price,
                public_key=Path(f"{self.flags.ssh_key_file}.pub") if self.flags.ssh_key_file else None,
            ),
            what="--machine_type",
        )
        cost = f", at most {plan.most:.2f} {plan.price.currency}" if plan.price and plan.most else ", price unknown"
        say(f"Ordering {plan.order.shape} of {plan.payer} until {plan.order.expires}{cost}")
        if isinstance(plan.provider, OnlyStops):
            say(f"When it expires it is {plan.provider.at_expiry}")
        made = machines.bring_up(plan, tell=say).instance
        assert made is not None
        say(f"Successfully created {self.name} ({made.id})")
        if self._answers_ssh(made):
            for line in PREPARING:
                self._ssh(made, line)
            say("Successfully checked out PerfZero and added the user to the group docker")
        else:
            say("Run these after ssh into the machine:\n" + "\n".join(PREPARING))
        self._show_ssh(made)
        return 0

    def start(self) -> int:
        return self._each(lambda known: machines.start(known, ledger=CloudLedger()), "start")

    def stop(self) -> int:
        return self._each(lambda known: machines.stop(known, ledger=CloudLedger()), "stop")

    def delete(self) -> int:
        return self._each(lambda known: machines.down(known, ledger=CloudLedger()), "end")

    def status(self) -> int:
        found = [one for one in self._there() if one.labels.get(NAME_LABEL) == self.name]
        _show(found)
        say(f"Found {len(found)} {self.ours.provider} computing instance with name {self.name}")
        if len(found) == 1:
            self._show_ssh(found[0])
        return 0

    def list_all(self) -> int:
        found = [one for one in self._there() if one.labels.get(NAME_LABEL, "").startswith(PREFIX)]
        _show(found)
        say(f"Found {len(found)} {self.ours.provider} computing instance created for PerfZero test")
        return 0

    # ---- which machine ----

    @property
    def name(self) -> str:
        """One for each user, in the letters that every cloud takes."""
        plain = label_value(f"{PREFIX}{self.flags.username}").replace("_", "-")
        return plain[:_LONGEST_NAME].rstrip("-")

    def _wanted(self) -> WantedMachine:
        flags, is_google = self.flags, self.ours.provider == "gcp"
        count, options = flags.accelerator_count, {}
        if is_google and count > 0:
            options["accelerator"] = f"{flags.accelerator_type}:{count}"
        shape = flags.machine_type or (f"n1-standard-{8 * max(count, 1)}" if is_google else "")
        if not shape:
            raise OptionError(
                f"--provider {self.ours.provider} needs --machine_type",
                remedy="accelerators are part of the shape there",
            )
        for name in _NONE_ELSEWHERE if not is_google else ("nvme_count",):
            if getattr(flags, name):
                raise OptionError(f"--{name} is not known to --provider {self.ours.provider}", remedy="leave it out")
        if is_google and flags.cpu_min_platform:
            options["platform"] = flags.cpu_min_platform
        for name, word in (("zone", "zone"), ("image", "image")):
            if value := self._given(name):
                options[word] = value
        if flags.boot_ssd_size:
            options["disk"] = str(flags.boot_ssd_size)
        if flags.ssh_internal_ip:
            options["address"] = "private"
        return WantedMachine(provider=self.ours.provider, shape=shape, region=self._region(), options=options)

    def _given(self, name: str) -> str:
        """What a flag was set to; PerfZero's own default names something that only Google has."""
        value = str(getattr(self.flags, name, "") or "")
        return "" if value == self.usual[name] and (name == "image" or self.ours.provider != "gcp") else value

    def _region(self) -> str:
        if self.ours.region:
            return self.ours.region
        zone = self._given("zone") if self.flags.command != "list_all" else ""
        if self.ours.provider == "gcp" and zone:
            return zone.rpartition("-")[0]
        if self.ours.provider == "aws" and zone:
            return zone.rstrip("abcdefghijklmnopqrstuvwxyz")
        return ""

    def _there(self) -> list[Instance]:
        """What the cloud has of ours in the region: also what was ordered at another desk."""
        provider = load_provider(self.ours.provider)
        region = self._region() or provider.default_region()
        return [one for one in ask_patiently(lambda: provider.instances(region)) if not one.is_gone]

    def _each(self, known: Callable[[LedgerMachine], object], verb: str) -> int:
        """Does it by the ledger, which then has what it cost; to a machine of another desk, by its label."""
        for machine in CloudLedger().open_machines():
            if (machine.order.provider, machine.order.name) == (self.ours.provider, self.name):
                known(machine)
                return 0
        provider = load_provider(self.ours.provider)
        found = [one for one in self._there() if one.labels.get(NAME_LABEL) == self.name]
        if not found:
            raise OptionError(
                f"{self.ours.provider} has no machine {self.name}", remedy="see `benchwright perfzero cloud list_all`"
            )
        for one in found:
            ask_patiently(lambda one=one: getattr(provider, verb)(one.id, one.region))  # type: ignore[misc]
        return 0

    # ---- ssh ----

    def _ssh(self, instance: Instance, line: str) -> int:
        options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={_PATIENCE}", *keys.sign_in_options(instance.token)]
        command = ["ssh", *options, _target(instance)]
        if self.flags.debug or line != "exit":
            say(f"Executing command: {shlex.join([*command, line])}")
        try:
            ended = subprocess.run(
                [*command, line], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise OptionError("ssh is not installed", remedy="install openssh-client") from None
        if line != "exit":
            sys.stdout.write(ended.stdout)
            sys.stdout.flush()
            sys.stderr.write(ended.stderr)
        return ended.returncode

    def _answers_ssh(self, instance: Instance) -> bool:
        for attempt in range(PROBES):
            if attempt:
                say(f"Cannot ssh to the computing instance. Try again after {cloud.PAUSE:g} seconds")
                time.sleep(cloud.PAUSE)
            if self._ssh(instance, "exit") == 0:
                return True
        sys.stderr.write(f"Cannot ssh to the computing instance after {PROBES} attempts\n")
        return False

    def _show_ssh(self, instance: Instance) -> None:
        key = self.flags.ssh_key_file or str(keys.key_path())
        forwarding = shlex.join(["ssh", "-i", key, _target(instance), "-L", "6006:127.0.0.1:6006"])
        say(f"Run the command below to ssh to the instance with port forwarding for tensorboard:\n{forwarding}")


def _target(instance: Instance) -> str:
    return f"{instance.login}@{instance.address}" if instance.login else instance.address


def _show(found: list[Instance]) -> None:
    if not found:
        return
    rows = [("NAME", "SHAPE", "REGION", "ADDRESS", "STATUS", "UNTIL")]
    rows += [(one.name, one.shape, one.region, one.address, one.state.value, one.expires) for one in found]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        sys.stdout.write("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() + "\n")
