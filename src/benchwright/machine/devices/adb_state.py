"""The state of a phone that moves its numbers: how warm its battery is, whether it charges, whether its screen is on.

What is changed for a measurement is put back on the phone itself, by a script that waits at the other end of an open
connection: also when the cable is pulled or whoever measures is killed.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchwright.errors import DeviceError
from benchwright.machine.devices.adb_client import CALL, DeviceScript, last_words, lost_device_error, run_script
from benchwright.records import Value

POWER = "/sys/class/power_supply/battery"
# Switches of charging that makers put there, and what to write so that it charges, or does not.
SWITCHES = (("charging_enabled", "1", "0"), ("battery_charging_enabled", "1", "0"), ("input_suspend", "0", "1"))
LOOK = 5.0  # seconds between two looks at a phone that cools down
_KEYS = {"on": 224, "off": 223}  # Android's KEYCODE_WAKEUP and KEYCODE_SLEEP
_NO_SWITCH = 71  # exit code
_LINES = "mWakefulness=|Display Power: state=|mScreenOn="  # of what dumpsys tells of power: it is long
_SCRIPT = f"dumpsys battery 2>/dev/null; dumpsys power 2>/dev/null | grep -E '{_LINES}'; true"
_LEVEL = re.compile(r"^\s*level: (\d+)$", re.M)
_TEMPERATURE = re.compile(r"^\s*temperature: (-?\d+)$", re.M)
_STATUS = re.compile(r"^\s*status: (\d+)$", re.M)
_POWERED = re.compile(r"^\s*(AC|USB|Wireless|Dock) powered: true$", re.M)
_CHARGING, _FULL = 2, 5  # of Android's BatteryManager
_SCREEN = (
    (re.compile(r"Display Power: state=(\w+)"), {"ON": "on", "OFF": "off", "DOZE": "off", "DOZE_SUSPEND": "off"}),
    (re.compile(r"mWakefulness=(\w+)"), {"Awake": "on", "Asleep": "off", "Dozing": "off", "Dreaming": "on"}),
    (re.compile(r"mScreenOn=(\w+)"), {"true": "on", "false": "off"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneState:
    """What a phone tells of the moment; what it does not tell is None, or ""."""

    battery: int | None = None  # per cent
    temperature: float | None = None  # degrees Celsius of the battery
    is_charging: bool | None = None
    power: str = ""  # where it comes from: "ac", "usb", "wireless", "dock"; "" for none, or not told
    screen: str = ""  # "on" or "off"

    def as_notes(self) -> dict[str, Value]:
        """The state as it is kept with a result."""
        return {
            "battery": self.battery,
            "temperature": self.temperature,
            "charging": self.is_charging,
            "power": self.power,
            "screen": self.screen,
        }


def read_state(serial: str) -> PhoneState:
    """Asks the phone once; an error says that it cannot be reached."""
    _, said = run_script(serial, _SCRIPT)
    return state_from_text(said.decode(errors="replace"))


def state_from_text(said: str) -> PhoneState:
    """What a phone's answer means."""
    level, tenths, status = _LEVEL.search(said), _TEMPERATURE.search(said), _STATUS.search(said)
    screens = (words.get(match[1], "") for pattern, words in _SCREEN if (match := pattern.search(said)))
    return PhoneState(
        battery=int(level[1]) if level else None,
        temperature=int(tenths[1]) / 10 if tenths else None,
        is_charging=int(status[1]) in (_CHARGING, _FULL) if status else None,
        power=",".join(name.lower() for name in _POWERED.findall(said)),
        screen=next(filter(None, screens), ""),
    )


def cool_down(
    serial: str, limit: float, seconds: float, *, is_cancelled: Callable[[float], bool], tell: Callable[[str], None]
) -> tuple[PhoneState, float]:
    """Waits until the phone's battery is at most so warm, for so many seconds at most; its state, and how long it took.

    A phone that does not tell how warm it is is not waited for. `is_cancelled` sleeps for so long and says whether to
    go on; `tell` hears what is waited for.
    """
    began = time.monotonic()
    while True:
        state, waited = read_state(serial), time.monotonic() - began
        if state.temperature is None or state.temperature <= limit or waited >= seconds:
            return state, waited
        tell(f"{serial} cools down: {state.temperature:.1f} °C, wanted {limit:g} °C")
        if is_cancelled(min(LOOK, seconds - waited)):
            raise KeyboardInterrupt


def set_screen(serial: str, wanted: str) -> None:
    """Switches the screen on or off."""
    code, said = run_script(serial, f"input keyevent {_KEYS[wanted]}")
    if code != 0:
        raise DeviceError(
            f"{serial}: its screen cannot be switched {wanted}: {last_words(said) or f'exit code {code}'}"
        )


class ChargingHold:
    """A phone that does not charge, or does, for as long as this is held; then it is as before."""

    def __init__(self, serial: str, wanted: str) -> None:
        self._serial = serial
        self._script = DeviceScript(serial, _hold_script(wanted), last=f"{_WAIT}\n{_RESTORE}")
        said, deadline = bytearray(), time.monotonic() + CALL
        while (data := self._script.next(deadline - time.monotonic())) is not None:
            said += data
            if time.monotonic() >= deadline:
                self.release()
                raise lost_device_error(serial, f"no answer within {CALL:g} s")
        if self._script.code != 0:
            code, complaint = self._script.code, self._script.stop()
            if code is None:
                raise lost_device_error(serial, complaint)
            why = f"it has no switch in {POWER} that may be written" if code == _NO_SWITCH else last_words(bytes(said))
            raise DeviceError(
                f"{serial}: charging cannot be switched {wanted}: {why}",
                remedy="most phones let only root do that: leave out charging=, or root it",
            )

    @property
    def is_held(self) -> bool:
        """Whether the script on the phone still waits; not after a restart."""
        return self._script.is_connected

    def release(self) -> None:
        """Lets the phone be as before; it does so itself when the connection is gone."""
        with contextlib.suppress(OSError):
            self._script.stop()


# `read` ends when the connection does. A signal to the whole group must not end the script before it has tidied.
_WAIT = "[ $code = 0 ] || exit; trap '' HUP INT TERM; read -r nothing"
_RESTORE = 'echo "$was" >"$switch"'


def _hold_script(wanted: str) -> str:
    """Writes the first switch that there is, and remembers what it was."""
    tries = "\n".join(
        f'if [ $code != 0 ] && [ -w {POWER}/{name} ]; then switch={POWER}/{name}; was=$(cat "$switch"); '
        f'echo {on if wanted == "on" else off} >"$switch" && code=0; fi'
        for name, on, off in SWITCHES
    )
    return f"code={_NO_SWITCH}\n{tries}"
