"""Where the tests run: this machine, or phones behind adb."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchwright.compat.harness.flags import HarnessFlags, json_object
from benchwright.errors import OptionError
from benchwright.machine.devices import NO_IOS, NO_IOS_REMEDY, DeviceFacts
from benchwright.system import streams

HOST = ("host", "linux", "mac")  # a platform's name begins so, as in `linux/clang`
ANDROID = "android"


def check(flags: HarnessFlags) -> None:
    """Refuses a platform on which nothing can be measured, and what cannot be meant whatever phone is connected."""
    check_platform(flags.platform)
    if flags.platform.startswith(ANDROID):
        _mapping(flags, "device_name_mapping")
        _mapping(flags, "hash_platform_mapping")
        _folder(flags)
    else:
        choose_devices(flags)


def choose_devices(flags: HarnessFlags) -> list[tuple[str, DeviceFacts]]:
    """Returns each device to measure on, as `devices.open_device` takes it, and what is known of it. At least one."""
    platform = flags.platform
    check_platform(platform)
    from benchwright.machine.devices import listing

    found = listing.choose_devices(
        ANDROID if platform.startswith(ANDROID) else "host",
        device=flags.texts["device"],
        devices=flags.devices,
        excluded=flags.excluded,
        names=_mapping(flags, "device_name_mapping"),
        hashes=_mapping(flags, "hash_platform_mapping"),
        folder=_folder(flags),
    )
    if platform.startswith(ANDROID):
        return found
    return [(text, replace(about, name=flags.texts["platform_sig"] or about.name)) for text, about in found]


def reboot(flags: HarnessFlags, found: Sequence[tuple[str, DeviceFacts]]) -> None:
    """Restarts every phone, when that was asked for; each is ready again when this returns."""
    if not flags.reboot:
        return
    from benchwright.machine.devices import adb_facts

    for _, about in found:
        if about.kind == ANDROID:
            adb_facts.reboot(about.serial)


def list_doubts(flags: HarnessFlags) -> list[str]:
    """Returns what about the platform is not as it was asked for, as sentences."""
    expected = {"linux": "linux", "mac": "darwin"}
    rebooted = ["--reboot: this machine is not rebooted"] if flags.reboot and flags.platform.startswith(HOST) else []
    return rebooted + [
        f"--platform {flags.platform}: this machine's system is {sys.platform}"
        for name, system in expected.items()
        if flags.platform.startswith(name) and not sys.platform.startswith(system)
    ]


def check_platform(platform: str) -> None:
    """Refuses a platform on which nothing can be measured."""
    if platform.startswith("ios"):
        raise OptionError(f"--platform ios: {NO_IOS}", remedy=NO_IOS_REMEDY)
    if not platform.startswith((*HOST, ANDROID)):
        raise OptionError(f"--platform {platform!r} is unknown", remedy="known: host, linux, mac, android")


def _folder(flags: HarnessFlags) -> str:
    if flags.android_dir and not flags.android_dir.startswith("/"):
        raise OptionError(f"--android_dir {flags.android_dir}: a folder on the device is an absolute path")
    return flags.android_dir


def _mapping(flags: HarnessFlags, name: str) -> Mapping[str, str]:
    """The JSON file that a flag names."""
    path = flags.texts[name]
    if not path:
        return {}
    try:
        text = streams.read_text(Path(path))
    except OSError as error:
        raise OptionError(f"--{name} {path}: {error.strerror}") from None
    except ValueError as error:
        raise OptionError(f"--{name} {path}: {error}") from None
    return {key: str(value) for key, value in json_object(text, f"--{name} {path}").items()}
