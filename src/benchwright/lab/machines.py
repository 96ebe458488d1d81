"""The machines that an agent offers: the one it runs on, and phones on its cables, with what a selector can ask for."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import OptionError
from benchwright.records import Case, Environment, Value
from benchwright.records.lab import PREFIX, LabMachine
from benchwright.units.numbers import printable

_LONGEST = 200  # characters of a fact


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOffer:
    """A machine as the server is told of it, and how it is reached."""

    machine: LabMachine
    system: Mapping[str, Value] = field(default_factory=dict)  # that tells what it measures from other machines'
    device: str = ""  # `adb:SERIAL`; "" for the machine that the agent runs on
    known: Environment | None = None  # as the agent itself sees it

    def refusal(self, case: Case) -> str:
        """Why this machine cannot measure a case at all; "" when it can."""
        from benchwright.execution.hosts.adb import RUNTIMES

        if self.device and case.target.runtime not in RUNTIMES:
            return f"runtime {case.target.runtime} cannot run on a phone"
        if not self.device and case.target.device.startswith("adb"):
            return "the case is for a phone"
        return ""


def this_machine(
    agent: str, labels: Mapping[str, str], environment: Environment, *, isolated: bool = False
) -> MachineOffer:
    """The machine that the agent runs on; `isolated` where it keeps jobs from each other."""
    system: dict[str, Value] = {"host": {"name": f"{PREFIX}{agent}"}}
    known = replace(environment, system={**environment.system, **system})
    machine, here = environment.machine, environment.system
    facts = {
        "cpu": machine.get("cpu"),
        "cores": machine.get("cores"),
        "memory": _gigabytes(machine.get("memory")),
        "gpu": ", ".join(str(one.get("name", "")) for one in environment.accelerators),
        "os": here.get("os"),
        "arch": here.get("architecture"),
        "python": platform.python_version(),
        "platform": str(here.get("os", "")).lower(),
        "isolated": "yes" if isolated else "no",
    }
    return MachineOffer(
        machine=LabMachine(
            name=agent,
            agent=agent,
            kind="host",
            key=schema.environment_key(known),
            version=VERSION,
            facts=_told(facts),
            labels=dict(labels),
        ),
        system=system,
        known=known,
    )


class PhoneFinder:
    """The phones on this machine's cables; each is asked what it is when it is seen for the first time."""

    def __init__(self, agent: str, labels: Mapping[str, str], environment: Environment) -> None:
        self._agent, self._labels, self._environment = agent, labels, environment
        self._known: dict[str, MachineOffer] = {}  # by serial

    def find(self) -> list[MachineOffer]:
        """The phones that can be used now."""
        from benchwright.machine.devices.listing import find_serials

        serials = find_serials()
        self._known = {serial: offer for serial, offer in self._known.items() if serial in serials}
        for serial in serials:
            if serial not in self._known:
                with contextlib.suppress(OptionError):  # unplugged again, or not up yet
                    self._known[serial] = self._describe(serial)
        return [*self._known.values()]

    def _describe(self, serial: str) -> MachineOffer:
        from benchwright.execution.hosts.adb import AdbHost

        system = AdbHost(serial).system
        about = system["device"]
        assert isinstance(about, Mapping)
        known = replace(self._environment, system={**self._environment.system, **system})
        facts = {
            "device": about["name"],
            "serial": serial,
            "os": system["os"],
            "arch": system["architecture"],
            "platform": "android",
        }
        spelled = f"{self._agent}.{serial}"
        name = "".join(letter if letter.isalnum() or letter in "._:-" else "-" for letter in spelled)
        return MachineOffer(
            machine=LabMachine(
                name=name[:100],
                agent=self._agent,
                kind="phone",
                key=schema.environment_key(known),
                version=VERSION,
                facts=_told(facts),
                labels=dict(self._labels),
            ),
            system=dict(system),
            device=f"adb:{serial}",
            known=known,
        )


def _told(facts: Mapping[str, Value]) -> dict[str, str]:
    """Facts as words; what is not known, or cannot be read, is left out."""
    words = {name: printable(str(value))[:_LONGEST] for name, value in facts.items() if value not in (None, "")}
    return {name: word for name, word in words.items() if not word.startswith("unavailable: ")}


def _gigabytes(value: Value) -> str:
    return f"{round(value / (1 << 30))} GiB" if isinstance(value, int | float) else ""
