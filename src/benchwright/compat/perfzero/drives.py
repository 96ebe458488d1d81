"""`--gce_nvme_raid`: the machine's empty NVMe drives as one file system. What holds anything is never formatted."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.compat.perfzero.console import log
from benchwright.errors import OptionError

MOST_ARRAYS = 128
NOTHING_FOUND = 2  # blkid's exit code for a device without any signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """An NVMe drive, and why it must be left alone ("" when it is empty)."""

    path: str
    held: str


def mount_drives(folder: Path) -> None:
    """Formats every empty NVMe drive, as one array if there are several, and mounts it at `folder`.

    Does nothing when something is mounted there already.
    """
    if folder.is_mount():
        log.info("%s is mounted already", folder)
        return
    found = list(drives())
    for drive in found:
        if drive.held:
            log.info("%s is left alone: %s", drive.path, drive.held)
    empty = [drive.path for drive in found if not drive.held]
    if not empty:
        held = "; ".join(f"{drive.path}: {drive.held}" for drive in found) or "there is no NVMe drive"
        raise OptionError(
            f"--gce_nvme_raid: no drive can be formatted ({held})",
            remedy=f"mount {folder} yourself, or leave --gce_nvme_raid out",
        )
    device = empty[0] if len(empty) == 1 else _array(empty)
    _run_or_refuse("mkfs.ext4", "-F", device)
    folder.mkdir(parents=True, exist_ok=True)
    _run_or_refuse("mount", device, str(folder))
    folder.chmod(folder.stat().st_mode | 0o222)
    log.info("%s is mounted at %s", device, folder)


def drives() -> Iterator[Drive]:
    """Every NVMe drive of this machine."""
    told = json.loads(_run_or_refuse("lsblk", "--json", "--paths", "--output", "NAME,TYPE,FSTYPE,PTTYPE,MOUNTPOINT"))
    for device in told["blockdevices"]:
        if device["type"] == "disk" and Path(device["name"]).name.startswith("nvme"):
            yield Drive(path=device["name"], held=_describe_content(device))


def _describe_content(device: dict[str, Any]) -> str:
    """Says what is on a drive. The kernel's view comes first; then its first blocks are read, which needs no udev."""
    for part in device.get("children", ()):
        inner = _describe_content(part)
        return f"it has {part['name']}{f', {inner}' if inner else ''}"
    if device.get("mountpoint"):
        return f"mounted at {device['mountpoint']}"
    for key, what in (("fstype", "file system"), ("pttype", "partition table")):
        if device.get(key):
            return f"it holds a {what}: {device[key]}"
    probed = _call_program(["blkid", "--probe", device["name"]])
    if probed.returncode == NOTHING_FOUND:
        return ""
    return f"blkid says {probed.stdout.strip() or probed.stderr.strip() or f'exit code {probed.returncode}'}"


def _array(members: list[str]) -> str:
    device = next(path for path in (f"/dev/md{n}" for n in range(MOST_ARRAYS)) if not os.path.lexists(path))
    _run_or_refuse("mdadm", "--create", device, "--run", "--level=0", f"--raid-devices={len(members)}", *members)
    return device


def _run_or_refuse(*command: str) -> str:
    """Runs a program and returns what it printed; one that fails ends the set-up."""
    log.debug("executing %s", command)
    ended = _call_program(list(command))
    if ended.returncode != 0:
        raise OptionError(f"{command[0]} failed with code {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout


def _call_program(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise OptionError(f"{command[0]} is not installed", remedy="install it, or mount the drive yourself") from None
