"""What a new machine does first: it arms the timer that ends it. Only then it lets somebody in and installs anything.

The text is cloud-init's, which the images of every cloud understand; `shell_script` is the same for an image that only
runs a start-up script. The timer is armed three times, each by other means, because each can fail on some image: a
process that sleeps, started in the first stage of every boot; a timer of systemd for the instant itself, which a
restart does not lose; and `shutdown`, which tells whoever is signed in.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchwright.errors import OptionError

READY = "/var/lib/benchwright/ready"  # is there when all is installed; before that the machine is busy
TOKEN_FILE = "/var/lib/benchwright/agent-token"  # noqa: S105 - a path
LARGEST = 16 << 10  # bytes of user data that every cloud takes
_LEAST = 60  # seconds that a machine is given in any case: it must be able to say why it ends
_KEY = re.compile(r"(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp\d+|sk-[\w@.-]+) [A-Za-z0-9+/=]+(?: [ -~]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBoot:
    """What a new machine is told."""

    expires: str  # the ISO instant at which it ends itself
    ordered: str  # the ISO instant of the order: a machine whose clock is wrong gets no more than the time between both
    public_key: str = ""  # who may sign in, beside what the cloud itself arranges
    further_keys: tuple[str, ...] = ()  # and who else
    packages: tuple[str, ...] = ()  # for pip: benchwright[onnx]; none: an ssh host needs nothing but Python
    server: str = ""  # of a lab, whose agent the machine becomes
    agent_token: str = ""
    agent_name: str = ""
    commands: tuple[str, ...] = ()  # lines of shell, after all else


def cloud_config(boot: FirstBoot) -> str:
    """The user data, as cloud-init reads it: YAML, of which JSON is a part."""
    _check(boot)
    told: dict[str, Any] = {"bootcmd": [["/bin/sh", "-c", arming_script(boot)]]}
    if keys := _keys(boot):
        told["ssh_authorized_keys"] = keys
    told["runcmd"] = [["/bin/sh", "-c", setup_script(boot)]]
    text = "#cloud-config\n" + json.dumps(told, indent=1) + "\n"
    if len(text.encode()) > LARGEST:
        raise OptionError(f"the user data is larger than {LARGEST >> 10} KiB", remedy="put the commands into an image")
    return text


def shell_script(boot: FirstBoot) -> str:
    """The same for an image without cloud-init; keys are then the cloud's part."""
    _check(boot)
    return f"#!/bin/sh\n{arming_script(boot)}\n[ -e {READY} ] || {{\n{setup_script(boot)}\n}}\n"


def arming_script(boot: FirstBoot) -> str:
    """Arms the timer; runs in every boot, before the network is asked for anything."""
    end = datetime.fromisoformat(boot.expires).astimezone(UTC)
    most = max(_LEAST, round((end - datetime.fromisoformat(boot.ordered)).total_seconds()))
    calendar = end.strftime("%Y-%m-%d %H:%M:%S UTC")
    off = "systemctl poweroff || poweroff || shutdown -P now || poweroff -f"
    return "\n".join(
        [
            f"left=$(( {int(end.timestamp())} - $(date +%s) ))",
            f'[ "$left" -le {most} ] || left={most}',
            f'[ "$left" -ge {_LEAST} ] || left={_LEAST}',
            f"( trap '' HUP; sleep \"$left\"; {off} ) </dev/null >/dev/null 2>&1 &",
            "d=/etc/systemd/system/benchwright-end",
            "if [ -d /etc/systemd/system ]; then",
            "printf '[Unit]\\nDescription=Ends this machine, which was leased until now\\n[Service]\\nType=oneshot\\n"
            "ExecStart=/bin/systemctl poweroff\\n' > $d.service",
            f"printf '[Timer]\\nOnCalendar={calendar}\\nPersistent=true\\nAccuracySec=1s\\n[Install]\\n"
            "WantedBy=timers.target\\n' > $d.timer",
            # Without --no-block it would wait for a stage of the boot that waits for this script.
            "systemctl daemon-reload; systemctl enable benchwright-end.timer; "
            "systemctl --no-block start benchwright-end.timer",
            "fi >/dev/null 2>&1",
            "true",
        ]
    )


def setup_script(boot: FirstBoot) -> str:
    """What comes after the timer, once in a machine's life: shutdown told to people, packages, the agent."""
    end = datetime.fromisoformat(boot.expires).astimezone(UTC)
    lines = [
        f"shutdown -P +$(( ( {int(end.timestamp())} - $(date +%s) ) / 60 + 1 )) "
        f"'this machine was leased until {end:%Y-%m-%d %H:%M} UTC' || true",
        "mkdir -p /var/lib/benchwright",
    ]
    lines += _FIND_PYTHON
    if boot.packages or boot.server:
        lines += _install(boot.packages or ("benchwright",))
    if boot.server:
        lines += _become_agent(boot)
    lines += boot.commands
    lines.append(f"touch {READY}")
    return "\n".join(lines)


# Workers need Python 3.11 or newer, also where nothing of ours is installed; some images have only an older one.
_FIND_PYTHON = [
    "find_python() { for p in python3.13 python3.12 python3.11 python3; do command -v $p >/dev/null 2>&1 && "
    "$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && { echo $p; return; }; done; return 1; }",
    "export DEBIAN_FRONTEND=noninteractive",
    "find_python >/dev/null || (apt-get update && apt-get install -y python3.11 || dnf install -y python3.11) "
    ">/dev/null 2>&1",
    "p=$(find_python)",
]


def _install(packages: tuple[str, ...]) -> list[str]:
    """A Python of its own for Benchwright, so that nothing of the image's is changed."""
    return [
        '"$p" -m venv /opt/benchwright 2>/dev/null || { (apt-get update; apt-get install -y python3-venv) '
        '>/dev/null 2>&1; "$p" -m venv /opt/benchwright; }',
        f"/opt/benchwright/bin/pip install -q {shlex.join(packages)} || exit 1",
        "ln -sf /opt/benchwright/bin/benchwright /usr/local/bin/benchwright",
    ]


def _become_agent(boot: FirstBoot) -> list[str]:
    """The agent of a lab as a service; its token lies in a file that only root reads."""
    words = ["/opt/benchwright/bin/benchwright", "agent", "--server", boot.server]
    words += ["--token-file", TOKEN_FILE, *(("--agent-name", boot.agent_name) if boot.agent_name else ())]
    unit = (
        "[Unit]\\nDescription=Benchwright agent\\nAfter=network-online.target\\n[Service]\\n"
        f"ExecStart={shlex.join(words)}\\nRestart=on-failure\\n[Install]\\nWantedBy=multi-user.target\\n"
    )
    return [
        f"( umask 077; printf '%s\\n' {shlex.quote(boot.agent_token)} > {TOKEN_FILE} )",
        f"printf {shlex.quote(unit)} > /etc/systemd/system/benchwright-agent.service",
        "systemctl daemon-reload; systemctl enable --now --no-block benchwright-agent.service",
    ]


def _keys(boot: FirstBoot) -> list[str]:
    return [key for key in (boot.public_key, *boot.further_keys) if key]


def _check(boot: FirstBoot) -> None:
    if any(not _KEY.fullmatch(key) for key in _keys(boot)):
        raise OptionError("the key is no public key of ssh", remedy="give the file that ends in .pub")
    if boot.server and not re.fullmatch(r"https?://[\w.:/\[\]-]+", boot.server):
        raise OptionError(f"{boot.server}: this is no address of a server", remedy="write https://bench.example/")
    if bool(boot.server) != bool(boot.agent_token):
        raise OptionError("a lab's agent needs the server and a token", remedy="give both, or neither")
