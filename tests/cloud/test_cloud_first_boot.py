"""The user data of a new machine, run by a real shell with programs that write down how they were called."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

import tiny_wheels
from benchwright.cloud.first_boot import FirstBoot, arming_script, cloud_config, setup_script, shell_script
from benchwright.errors import OptionError

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0 ada@desk"


def _boot(**told: object) -> FirstBoot:
    times = {"expires": (NOW + timedelta(hours=2)).isoformat(), "ordered": NOW.isoformat()}
    return FirstBoot(**{**times, **told})  # type: ignore[arg-type]


def _calls(script: str, folder: Path, clock: datetime, last: str, *, fails: tuple[str, ...] = ()) -> list[str]:
    """Runs a script with stand-ins for what would end this machine; returns how they were called up to `last`."""
    log = folder / "log"
    for name in ("sleep", "systemctl", "poweroff", "shutdown"):
        code = 1 if name in fails else 0
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\nexit {code}\n')
        (folder / name).chmod(0o755)
    (folder / "date").write_text(f"#!/bin/sh\necho {int(clock.timestamp())}\n")
    (folder / "date").chmod(0o755)
    etc = folder / "etc"
    etc.mkdir()
    text = script.replace("/etc/systemd/system", str(etc)).replace("/var/lib/benchwright", str(folder / "var"))
    subprocess.run(["/bin/sh", "-c", text], env={"PATH": f"{folder}:/usr/bin:/bin"}, check=True, timeout=30)
    deadline = time.monotonic() + 30
    while not (log.exists() and last in log.read_text().splitlines()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return log.read_text().splitlines()


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        (NOW + timedelta(minutes=3), 7020),
        (NOW - timedelta(days=3650), 7200),  # a clock that is wrong gives no more than what was ordered
        (NOW + timedelta(days=3650), 60),  # a machine that was started again after its end
    ],
)
def test_the_timer_is_armed_for_what_is_left(tmp_path: Path, clock: datetime, seconds: int) -> None:
    called = _calls(arming_script(_boot()), tmp_path, clock, "systemctl poweroff")
    assert f"sleep {seconds}" in called and "systemctl poweroff" in called
    assert "systemctl --no-block start benchwright-end.timer" in called
    timer = (tmp_path / "etc" / "benchwright-end.timer").read_text()
    assert "OnCalendar=2026-11-17 14:00:00 UTC\n" in timer and "Persistent=true" in timer
    assert "ExecStart=/bin/systemctl poweroff" in (tmp_path / "etc" / "benchwright-end.service").read_text()


def test_a_machine_without_systemd_is_switched_off_by_other_means(tmp_path: Path) -> None:
    called = _calls(arming_script(_boot()), tmp_path, NOW, "shutdown -P now", fails=("systemctl", "poweroff"))
    tried = [call.strip() for call in called if call.strip() in ("systemctl poweroff", "poweroff", "shutdown -P now")]
    assert tried == ["systemctl poweroff", "poweroff", "shutdown -P now"]


def test_what_follows_tells_people_and_leaves_a_mark(tmp_path: Path) -> None:
    said = "shutdown -P +121 this machine was leased until 2026-11-17 14:00 UTC"
    assert _calls(setup_script(_boot()), tmp_path, NOW, said) == [said]
    assert (tmp_path / "var" / "ready").exists()


def test_the_timer_comes_before_all_else() -> None:
    told = json.loads(cloud_config(_boot(public_key=KEY, packages=("benchwright[onnx]",))).partition("\n")[2])
    assert [*told] == ["bootcmd", "ssh_authorized_keys", "runcmd"]  # bootcmd is cloud-init's first stage
    assert told["bootcmd"] == [["/bin/sh", "-c", arming_script(_boot())]]
    assert yaml.safe_load(cloud_config(_boot(public_key=KEY, packages=("benchwright[onnx]",)))) == told
    script = shell_script(_boot(packages=("benchwright",)))
    assert script.startswith("#!/bin/sh\nleft=") and script.index("sleep") < script.index("pip install")


@pytest.mark.soak
def test_packages_are_installed_into_a_python_of_their_own(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    tiny_wheels.write(wheels, "9.9", name="benchwright")
    script = setup_script(_boot(packages=("benchwright",)))
    for place in ("/opt/benchwright", "/usr/local/bin", "/var/lib/benchwright"):
        script = script.replace(place, str(tmp_path / place.rpartition("/")[2]) + ("-opt" if "opt" in place else ""))
    (tmp_path / "bin").mkdir()
    (tmp_path / "shutdown").write_text("#!/bin/sh\n")
    (tmp_path / "shutdown").chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:/usr/bin:/bin"
    told = {"PATH": path, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "HOME": str(tmp_path)}
    subprocess.run(["/bin/sh", "-c", script], env=told, check=True, timeout=110)
    python = tmp_path / "benchwright-opt" / "bin" / "python"
    asked = [str(python), "-c", "from importlib.metadata import version; print(version('benchwright'))"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "9.9\n"
    assert (tmp_path / "benchwright" / "ready").exists() and (tmp_path / "bin" / "benchwright").is_symlink()


def test_an_agent_gets_its_token_in_a_file_of_its_own() -> None:
    boot = _boot(server="https://lab.example/", agent_token="t0ken", agent_name="m1")
    script = setup_script(boot)
    assert "umask 077" in script and "'%s\\n' t0ken > /var/lib/benchwright/agent-token" in script
    assert "--token-file /var/lib/benchwright/agent-token" in script and "t0ken" not in script.partition("printf")[0]
    subprocess.run(["/bin/sh", "-n", "-c", script], check=True)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"public_key": "-----BEGIN OPENSSH PRIVATE KEY-----"}, "no public key"),
        ({"public_key": KEY + "\nssh-rsa AAAA mallory"}, "no public key"),
        ({"server": "https://lab.example/; rm -rf /", "agent_token": "t"}, "no address"),
        ({"server": "https://lab.example/"}, "give both"),
        ({"commands": ("x" * 20000,)}, "16 KiB"),
    ],
)
def test_what_would_do_harm_is_refused(told: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said) as caught:
        cloud_config(_boot(**told))
    assert caught.value.remedy
