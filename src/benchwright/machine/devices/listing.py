"""Which devices there are, and which of them a request means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchwright.errors import DeviceError, OptionError
from benchwright.machine.devices import NO_IOS, NO_IOS_REMEDY
from benchwright.machine.devices.adb_scripts import BASE
from benchwright.schema.parsing import json_value

if TYPE_CHECKING:
    from benchwright.machine.devices import DeviceFacts

_HOSTS = ("host", "linux", "mac")
_STATES = {
    "unauthorized": "unlock it and allow debugging from this computer on its screen",
    "offline": "unplug it and plug it in again, or: adb reconnect",
    "no permissions": "let your user open USB devices: udev rules, or the group plugdev",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedDevice:
    """A line of `adb devices -l`."""

    serial: str
    state: str  # "device" when it can be used


def find_devices(platform: str) -> list[DeviceFacts]:
    """The devices of a platform that can be used now: this machine for host, linux and mac; phones for android."""
    if platform.startswith(_HOSTS):
        from benchwright.machine.devices.local import about as this_machine

        return [this_machine()]
    if platform.startswith("android"):
        from benchwright.machine.devices.adb_facts import about

        return [about(each.serial) for each in _ask_attached() if each.state == "device"]
    if platform.startswith("ios"):
        raise OptionError(f"platform ios: {NO_IOS}", remedy=NO_IOS_REMEDY)
    raise OptionError(f"there are no devices of platform {platform!r}", remedy="host, linux, mac or android")


def choose_devices(
    platform: str,
    *,
    device: str = "",
    devices: Sequence[str] = (),
    excluded: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    hashes: Mapping[str, str] | None = None,
    folder: str = "",
) -> list[tuple[str, DeviceFacts]]:
    """What `open_device` takes, and what is known, of each device that is meant; at least one.

    `device` is a serial, or JSON with `kind` and `hash`; `devices` and `excluded` are serials or names, and what is
    excluded is gone before anything else is looked at. One that is asked for and not there is an error that names it.
    `names` gives models their product's name and `hashes` serials their kind, as the older mapping files do. `folder`
    is the place on Android devices, if not /data/local/tmp.
    """
    there = [_with_mapped_name(about, names or {}, hashes or {}) for about in find_devices(platform)]
    left = [about for about in there if not _is_any(about, excluded)]
    if device:
        left = [_find_one(device, left, platform)]
    if devices:
        for wanted in devices:
            _refuse_absent(wanted, left, platform)
        left = [about for about in left if _is_any(about, devices)]
    if not left:
        raise OptionError(f"no device of platform {platform!r} is left to use", remedy=_remedy(platform, there))
    place = "" if folder.rstrip("/") in ("", BASE) else f",{folder.rstrip('/')}"
    return [("host" if about.kind == "host" else f"adb:{about.serial}{place}", about) for about in left]


def parse_attached(text: str) -> list[AttachedDevice]:
    """The lines of `adb devices -l`, whatever state the devices are in."""
    found = []
    for line in text.splitlines():
        serial, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if not rest or line.startswith(("List of", "*")):
            continue
        state = next((known for known in _STATES if rest.startswith(known)), rest.split()[0])
        found.append(AttachedDevice(serial=serial, state=state))
    return found


def find_unready(platform: str) -> list[tuple[str, str, str]]:
    """Devices that are connected and cannot be used: serial, state, and what to do."""
    if not platform.startswith("android"):
        return []
    return [(each.serial, each.state, _STATES[each.state]) for each in _ask_attached() if each.state in _STATES]


def find_serials() -> list[str]:
    """The serials of all phones that can be used now."""
    return [each.serial for each in _ask_attached() if each.state == "device"]


def list_serials() -> list[str]:
    """The serials of all phones that can be used now; at least one."""
    found = find_serials()
    if not found:
        raise OptionError("adb:*: no phone is connected that can be used", remedy=_remedy("android", []))
    return found


def _ask_attached() -> list[AttachedDevice]:
    from benchwright.machine.devices.adb_client import ask

    try:
        return parse_attached(ask("devices", "-l"))
    except DeviceError as error:
        raise OptionError(error.message, remedy=error.remedy or "does `adb devices` work?") from None


def _with_mapped_name(about: DeviceFacts, names: Mapping[str, str], hashes: Mapping[str, str]) -> DeviceFacts:
    """Returns the device with the name from the mapping files; its model's own text stays in the facts."""
    model = str(about.facts.get("model", ""))
    name = hashes.get(about.serial) or names.get(about.name) or names.get(model)
    return replace(about, name=name) if name else about


def _is_any(about: DeviceFacts, words: Iterable[str]) -> bool:
    return bool({about.serial, about.name, str(about.facts.get("model", about.name))} & {*words})


def _find_one(text: str, there: Sequence[DeviceFacts], platform: str) -> DeviceFacts:
    serial, kind = _split_description(text)
    found = next((about for about in there if about.serial == serial), None)
    if found is None:
        raise _absent_error(serial, there, platform)
    if kind and not _is_any(found, [kind]):
        raise OptionError(f"device {serial} is {found.name!r}, not {kind!r}", remedy="correct `kind` or leave it out")
    return found


def _split_description(text: str) -> tuple[str, str]:
    """The serial and the kind, if any, of `--device`."""
    if not text.lstrip().startswith("{"):
        return text, ""
    remedy = 'write a serial, or {"kind": "Pixel 7-14-34", "hash": "SERIAL"}'
    try:
        told = json_value(text)
    except ValueError as error:
        raise OptionError(f"--device: {text[:80]!r}: {error}", remedy=remedy) from None
    if unknown := sorted({*told} - {"kind", "hash"}):
        raise OptionError(f"--device: unknown key {unknown[0][:60]!r}", remedy=remedy)
    serial, kind = told.get("hash"), told.get("kind", "")
    if not isinstance(serial, str) or not serial or not isinstance(kind, str):
        raise OptionError(f"--device: {text[:80]!r} names no hash", remedy=remedy)
    return serial, kind


def _refuse_absent(wanted: str, there: Sequence[DeviceFacts], platform: str) -> None:
    if not any(_is_any(about, [wanted]) for about in there):
        raise _absent_error(wanted, there, platform)


def _absent_error(wanted: str, there: Sequence[DeviceFacts], platform: str) -> OptionError:
    for serial, state, remedy in find_unready(platform):
        if serial == wanted:
            return OptionError(f"device {wanted} is {state}", remedy=remedy)
    return OptionError(f"device {wanted!r} is not connected, or excluded", remedy=_remedy(platform, there))


def _remedy(platform: str, there: Sequence[DeviceFacts]) -> str:
    if there:
        return f"connected: {', '.join(f'{about.serial} ({about.name})' for about in there)}"
    if not platform.startswith("android"):
        return "is this machine excluded?"
    told = [f"{serial} is {state}: {remedy}" for serial, state, remedy in find_unready(platform)]
    return "; ".join(told) or "connect one with USB debugging switched on; `adb devices` must list it"
