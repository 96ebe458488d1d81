"""An Android device: a worker on this machine runs programs over there, once the phone is as it was asked for."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from benchwright.errors import DeviceError, OptionError
from benchwright.records import ResultWarning, Value
from benchwright.units import parse_quantity

if TYPE_CHECKING:
    from benchwright.execution.hosts.local import LocalWorker
    from benchwright.machine.devices.adb_state import ChargingHold, PhoneState
    from benchwright.worker.channel import Job

RUNTIMES = ("command", "binary")
PARAMETERS = ("cool", "cool_timeout", "screen", "charging", "reboot")
APPS = (".apk", ".aab", ".xapk")
COOL_TIMEOUT = 600.0  # seconds for a phone to cool down
_PASSING = ("battery",)  # facts of a moment, which make no other device
_CELSIUS = range(-20, 101)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneWishes:
    """How a phone is to be when a case begins."""

    cool: float | None = None  # degrees Celsius that its battery may have at most
    cool_timeout: float = COOL_TIMEOUT  # seconds after which it is measured all the same, with a warning
    screen: str = ""  # "on" or "off"
    charging: str = ""  # "on" or "off"
    reboot: str = ""  # "before" the first case, or before "each"


class AdbHost:
    """Runs programs on the device of `SERIAL`, or `SERIAL,/folder/on/it`. One that cannot be used is refused here."""

    watched = False  # what works is not on this machine, so there is nothing here for monitors to watch

    def __init__(self, text: str, wishes: PhoneWishes | None = None) -> None:
        from benchwright.machine.devices.adb_facts import about

        self._text, self._serial = text, text.partition(",")[0]
        self._wishes = wishes or PhoneWishes()
        try:
            found = about(self._serial)
            self._hold: ChargingHold | None = self._hold_charging()
        except DeviceError as error:
            raise OptionError(f"adb:{text}: {error.message}", remedy=error.remedy) from None
        lasting = {name: fact for name, fact in found.facts.items() if name not in _PASSING}
        self.name = f"adb:{self._serial}"
        self.system: Mapping[str, Value] = {
            "os": found.os,
            "architecture": found.abi,
            "device": {"name": found.name, "serial": found.serial, **lasting},
        }
        self.tell: Callable[[str], None] = lambda text: None  # set by whoever measures: hears what is waited for
        self._was_rebooted = False
        self._cancelled = threading.Event()
        self._notes: dict[str, Value] = {}
        self._warnings: list[ResultWarning] = []

    @classmethod
    def from_text(cls, text: str) -> AdbHost:
        """The host of `adb:TEXT`, which is SERIAL, SERIAL,/folder/on/it, or one of them and ?cool=35C&screen=off."""
        place, _, query = text.partition("?")
        return cls(place, parse_wishes(query, text))

    def launch(self, job: Job) -> LocalWorker:
        """Starts a worker here whose program runs there. What must run inside a worker cannot."""
        from benchwright.execution.hosts.local import LocalHost

        _refuse(job)
        if job.copy == 0:
            self.prepare()
        case = job.case
        there = replace(case, target=replace(case.target, device=f"adb:{self._text}"))
        return LocalHost().launch(replace(job, case=there))

    def notes(self) -> Mapping[str, Value]:
        """What is kept with the last result: how the phone was when its case began."""
        return {"phone": self._notes} if self._notes else {}

    def warnings(self) -> list[ResultWarning]:
        """What about the phone was not as it was asked for when the last case began."""
        return [*self._warnings]

    def cancel(self) -> None:
        """Ends the wait for a phone that cools down, from another thread."""
        self._cancelled.set()

    def close(self) -> None:
        """Lets the phone be as it was before."""
        if self._hold is not None:
            self._hold.release()
            self._hold = None

    # ---- the phone before a case ----

    def prepare(self) -> None:
        """Has the phone as it is wanted; a `LostDeviceError` when it is not there any more."""
        from benchwright.machine.devices import adb_facts, adb_state

        wishes, rebooted = self._wishes, False
        self._notes, self._warnings = {}, []
        if wishes.reboot == "each" or (wishes.reboot == "before" and not self._was_rebooted):
            self.tell(f"{self._serial} restarts")
            adb_facts.reboot(self._serial)
            self._was_rebooted = rebooted = True
        if self._hold is None or not self._hold.is_held:  # a restart ends it
            self._hold = self._hold_charging()
        if wishes.screen:
            adb_state.set_screen(self._serial, wishes.screen)
        waited = 0.0
        if wishes.cool is None:
            state = adb_state.read_state(self._serial)
        else:
            state, waited = adb_state.cool_down(
                self._serial,
                wishes.cool,
                wishes.cool_timeout,
                is_cancelled=self._cancelled.wait,
                tell=self.tell,
            )
        self._notes = {**state.as_notes(), "cooled_for": round(waited, 3), "rebooted": rebooted}
        self._warnings = list(self._doubts(state, waited))

    def _doubts(self, state: PhoneState, waited: float) -> list[ResultWarning]:
        wishes, found = self._wishes, []
        if wishes.cool is not None and state.temperature is None:
            seen = f"{self._serial} does not tell how warm its battery is, so it was not waited for"
            found.append(ResultWarning(code="phone-warm", seen=seen, remedy="leave out cool=, or rest with pauses"))
        elif wishes.cool is not None and state.temperature is not None and state.temperature > wishes.cool:
            seen = f"{self._serial} was {state.temperature:.1f} °C warm after {waited:.0f} s, wanted {wishes.cool:g} °C"
            remedy = "cool the room, give cool_timeout= more, or switch charging off"
            found.append(ResultWarning(code="phone-warm", seen=seen, remedy=remedy))
        if wishes.screen and state.screen and state.screen != wishes.screen:
            seen = f"the screen of {self._serial} is {state.screen}, wanted {wishes.screen}"
            found.append(
                ResultWarning(code="phone-screen", seen=seen, remedy="does something keep it on? see its settings")
            )
        return found

    def _hold_charging(self) -> ChargingHold | None:
        if not self._wishes.charging:
            return None
        from benchwright.machine.devices.adb_state import ChargingHold

        return ChargingHold(self._serial, self._wishes.charging)


def parse_wishes(query: str, text: str) -> PhoneWishes:
    """Reads `cool=35C&cool_timeout=10min&screen=off&charging=off&reboot=before`; `text` is all of it, for errors."""
    asked = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := [name for name in asked if name not in PARAMETERS]:
        raise OptionError(f"adb:{text}: {unknown[0]!r} is not known", remedy=f"known: {', '.join(PARAMETERS)}")
    for name, known in (("screen", ("on", "off")), ("charging", ("on", "off")), ("reboot", ("before", "each"))):
        if name in asked and asked[name] not in known:
            raise OptionError(f"adb:{text}: {name}={asked[name]}", remedy=f"write {name}={' or '.join(known)}")
    if "cool_timeout" in asked and "cool" not in asked:
        raise OptionError(f"adb:{text}: cool_timeout needs cool", remedy="write cool=35C&cool_timeout=10min")
    limit = parse_quantity(asked["cool_timeout"], "s", what="cool_timeout") if "cool_timeout" in asked else COOL_TIMEOUT
    if not 0 <= limit <= 86400:
        raise OptionError(f"adb:{text}: cool_timeout={asked['cool_timeout']}", remedy="give at most a day")
    return PhoneWishes(
        cool=_celsius(asked["cool"], text) if "cool" in asked else None,
        cool_timeout=limit,
        screen=asked.get("screen", ""),
        charging=asked.get("charging", ""),
        reboot=asked.get("reboot", ""),
    )


def _celsius(given: str, text: str) -> float:
    digits = given.strip().removesuffix("C").removesuffix("°").strip()
    try:
        degrees = float(digits)
    except ValueError:
        degrees = float("nan")
    if not _CELSIUS[0] <= degrees <= _CELSIUS[-1]:
        raise OptionError(f"adb:{text}: cool={given} is not a temperature", remedy="write degrees Celsius: cool=35C")
    return degrees


def _refuse(job: Job) -> None:
    """Refuses what cannot be measured on a phone, with the reason."""
    target = job.case.target
    if target.runtime not in RUNTIMES:
        raise DeviceError(
            f"runtime {target.runtime} cannot run on an Android device",
            remedy="give a program for it after --: benchwright run --host adb:SERIAL -- ./program",
        )
    words = shlex.split(target.uri) if target.runtime == "command" else []
    if words and words[0].lower().endswith(APPS):
        raise DeviceError(
            "an Android app is not started here, only programs are",
            remedy="build the benchmark as a program for the phone's shell: ./benchmark_model",
        )
    if job.cpus:
        raise DeviceError(
            "--cpus names CPUs of this machine", remedy="let the device's taskset start it: -- taskset f0 ./program"
        )
