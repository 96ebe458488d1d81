"""The key with which this user signs in on machines of clouds, and how ssh is to treat a machine nobody has seen yet.

The key is made once and stays in the user's folder of states, beside the ledger. The host's own key cannot be known
before the machine is up: the first one that answers is taken and written down for that machine alone, so that another
machine that gets the same address later is not refused, and a second key of the same machine is.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchwright import config
from benchwright.errors import OptionError
from benchwright.system import locks

NAME = "cloud-key"
_SECONDS = 60.0  # to make a key


def key_path() -> Path:
    """Where the private key is, or will be."""
    return config.state_folder() / NAME


def own_key() -> Path:
    """The private key, which is made where there is none; the public one has `.pub` behind its name."""
    path = key_path()
    if _is_whole(path):
        return path
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locks.hold_lock(path.with_name(f"{NAME}.lock")):
        if not _is_whole(path):
            _make(path)
    return path


def public_key() -> str:
    """The public key as one line."""
    return own_key().with_suffix(".pub").read_text(encoding="ascii").strip()


def sign_in_options(token: str) -> list[str]:
    """What ssh is told to sign in on the machine of an order."""
    known = config.state_folder() / "cloud-hosts" / token
    known.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = ("StrictHostKeyChecking=accept-new", f"UserKnownHostsFile={known}", "UpdateHostKeys=no")
    return ["-i", str(own_key()), *(word for one in settings for word in ("-o", one))]


def forget_host(token: str) -> None:
    """Forgets the host key of a machine that is gone."""
    (config.state_folder() / "cloud-hosts" / token).unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    return path.is_file() and path.with_suffix(".pub").is_file()


def _make(path: Path) -> None:
    for left in (path, path.with_suffix(".pub")):  # of a process that was killed while it made one
        left.unlink(missing_ok=True)
    try:
        made = subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "benchwright", "-f", str(path)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise OptionError("ssh-keygen is not installed", remedy="install openssh-client") from None
    except subprocess.TimeoutExpired:
        raise OptionError(f"ssh-keygen made no key within {_SECONDS:g} s") from None
    if made.returncode:
        raise OptionError(f"ssh-keygen: {made.stderr.strip()[:200]}", remedy=f"is {path.parent} writable?")
