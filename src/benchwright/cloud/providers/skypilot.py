"""SkyPilot's command line, for those who have it: it brings machines up in some twenty clouds.

A machine is a cluster of one, called `bw-TOKEN`, and no second one can have its name. SkyPilot takes it down by itself
at its expiry. It keeps books of its own: `sky status` lists the machines too, and `sky down` ends them.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchwright.cloud.orders import TOKEN_LABEL, Instance, InstanceState, MachineShape, Order, instant
from benchwright.errors import CloudError, NotInstalledError, OptionError
from benchwright.records.prices import Market
from benchwright.schema.parsing import TextError, json_value

ANYWHERE = "any"  # the region, where SkyPilot chooses
LAUNCH, ANSWER = 1800.0, 300.0  # seconds
EARLIER = 3  # minutes before the machine would switch itself off, and nobody would be left to end it
_PREFIX = "bw-"
_LARGEST = 8 << 20  # characters of an answer
_STATES = {"UP": InstanceState.RUNNING, "INIT": InstanceState.PENDING, "STOPPED": InstanceState.STOPPED}
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_KINDS = (  # the first that fits counts; SkyPilot tells by text alone
    ("login", r"sky check|cloud access is not set up|not authenticated|credentials|unauthorized|permission denied"),
    ("quota", r"quota"),
    ("throttled", r"too many requests|rate.?limit|throttl"),
    ("capacity", r"failed to acquire resources|resourcesunavailable|failed to provision|no launchable resource"),
    ("shape", r"invalid instance type|ambiguous instance type|instance type .*not found|invalid region|invalid zone"),
    ("lost", r"connection (?:refused|reset|aborted)|api server is not|timed out|remote end closed"),
)
_REMEDIES = {
    "login": "sky check",
    "quota": "have the quota raised at that cloud, or order a smaller shape",
    "throttled": "wait a minute",
    "capacity": "leave the region out, so that SkyPilot may look everywhere, or try later",
    "shape": "name the cloud with ?cloud=aws; shapes are called as that cloud calls them",
    "lost": "benchwright cloud sweep: it ends what may have been started",
}


class SkyPilot:
    """Machines that the program `sky` brings up."""

    name = "skypilot"
    options: Mapping[str, str] = {"cloud": "which cloud, as SkyPilot calls it: aws, gcp, azure, oci, lambda, runpod"}

    def default_region(self) -> str:
        return ANYWHERE

    def payer(self, region: str) -> str:
        told = _json(_sky(["check", "-o", "json"], "who is signed in"), "who is signed in")
        return f"SkyPilot's clouds: {', '.join(sorted(_words(told))) or 'those of `sky check`'}"

    def check(self, order: Order) -> MachineShape:
        if order.most_per_hour is not None:
            raise OptionError("skypilot: it takes no highest spot price", remedy="leave `most` out")
        try:
            told = _sky([*_launch(order), "--dryrun", "true"], f"a trial of ordering {order.shape}")
        except CloudError as error:
            if error.kind != "shape":
                raise
            raise OptionError(
                f"skypilot: there is no shape {order.shape!r}: {error.message}", remedy=error.remedy
            ) from None
        row = re.search(rf"{re.escape(order.shape)}(?:\[\w+\])?\s+(\d+)(?:\.\d+)?\s+(\d+(?:\.\d+)?|-)\s+(\S+)", told)
        if row is None:
            raise CloudError(f"skypilot: it does not say what {order.shape} is", remedy="sky launch --dryrun shows it")
        kind, _, count = row[3].partition(":")
        return MachineShape(
            provider="skypilot",
            name=order.shape,
            region=order.region,
            vcpus=int(row[1]),
            memory_bytes=None if row[2] == "-" else round(float(row[2]) * 2**30),
            accelerators=() if kind in ("-", "") else (kind,) * int(count or 1),
        )

    def create(self, order: Order) -> Instance:
        doing = f"ordering {order.shape}"
        found = self.get(_cluster(order.token), order.region)
        if found is not None and found.state is InstanceState.RUNNING:
            return found
        with tempfile.TemporaryDirectory() as folder:
            task = Path(folder) / "task.yaml"
            task.write_text(json.dumps(_task(order)), encoding="utf-8")  # JSON is YAML
            task.chmod(0o600)  # it may hold a token of a lab
            _sky([*_launch(order), "--detach-run", str(task)], doing, seconds=LAUNCH)
        if order.expires:  # bringing it up took minutes: the timer is set to what is left now
            _sky(["autostop", "-y", *_timer(order), _cluster(order.token)], doing)
        made = self.get(_cluster(order.token), order.region)
        if made is None:
            raise CloudError(f"skypilot: {doing}: no cluster came of it", kind="lost", remedy=_REMEDIES["lost"])
        return made

    def instances(self, region: str, token: str = "") -> list[Instance]:
        found = parse_clusters(_sky(["status", "--refresh", "-o", "json"], "which machines there are"))
        ours = [one for one in found if one.token and (not token or one.token == token)]
        return [one for one in ours if region in ("", ANYWHERE, one.region)]

    def get(self, instance_id: str, region: str) -> Instance | None:
        asked = ["status", "--refresh", "-o", "json", instance_id]
        try:
            found = parse_clusters(_sky(asked, f"how {instance_id} is"))
        except CloudError as error:
            if re.search(r"not found|does not exist", error.message):
                return None
            raise
        return next((one for one in found if one.id == instance_id), None)

    def start(self, instance_id: str, region: str) -> None:
        _sky(["start", "-y", instance_id], f"starting {instance_id}", seconds=LAUNCH)

    def stop(self, instance_id: str, region: str) -> None:
        _sky(["stop", "-y", instance_id], f"stopping {instance_id}", seconds=LAUNCH)

    def end(self, instance_id: str, region: str) -> None:
        if not _token(instance_id):
            raise CloudError(f"skypilot: {instance_id} was not ordered by Benchwright", remedy="it is left alone")
        if self.get(instance_id, region) is not None:
            _sky(["down", "-y", instance_id], f"ending {instance_id}", seconds=LAUNCH)

    def will_be_taken(self, instance: Instance) -> str:
        return ""  # it is seen when the machine is gone: SkyPilot tells no earlier


def parse_clusters(text: str) -> list[Instance]:
    """The clusters of `sky status -o json`; those whose names are not of ours have no token."""
    told = _json(text, "sky status")
    if not isinstance(told, list):
        raise CloudError("skypilot: sky status gave no list", remedy="SkyPilot 0.10 or newer is needed")
    return [_instance(one) for one in told if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _instance(told: Mapping[str, Any]) -> Instance:
    name = str(told["name"])
    token = _token(name)
    inner = told.get("labels")
    labels = {str(key): str(value) for key, value in inner.items()} if isinstance(inner, dict) else {}
    launched = told.get("launched_at")
    resources = str(told.get("resources_str_full") or told.get("resources_str") or "")
    parts = resources.partition("(")[2].removesuffix(")").split(", ")  # 1x[spot](cpus=4, mem=16, m6i.xlarge, disk=256)
    return Instance(
        provider="skypilot",
        id=name,
        region=str(told.get("region") or ANYWHERE),
        state=_STATES.get(str(told.get("status")), InstanceState.UNKNOWN),
        token=token,
        shape=next((part for part in parts if part and "=" not in part and part != "..."), ""),
        market=Market.SPOT if "[spot]" in resources.lower() else Market.ON_DEMAND,
        address=name if told.get("status") == "UP" else "",  # a name of ssh's configuration, which `sky status` keeps
        labels={**labels, TOKEN_LABEL: token} if token else labels,
        launched_at=_moment(launched),
        reason=str(told.get("init_status_reason") or ""),
    )


def _launch(order: Order) -> list[str]:
    where = [order.options.get("cloud", ""), "" if order.region == ANYWHERE else order.region, order.zone]
    command = ["launch", "-y", "-c", _cluster(order.token), "-t", order.shape]
    if any(where):
        command += ["--infra", "/".join(part or "*" for part in where).rstrip("/*")]
    command += ["--use-spot"] if order.market is Market.SPOT else ["--no-use-spot"]
    command += ["--image-id", order.image] if order.image else []
    command += ["--disk-size", str(order.disk_gb)] if order.disk_gb else []
    command += ["--gpus", order.accelerator] if order.accelerator else []
    return [*command, *_timer(order)]


def _timer(order: Order) -> list[str]:
    """SkyPilot's own timer: it ends the machine, whatever runs on it."""
    if not order.expires:
        return []
    left = (datetime.fromisoformat(order.expires) - datetime.now(UTC)).total_seconds()
    return ["-i", str(max(1, int(left // 60) - EARLIER)), "--down", "--wait-for", "none"]


def _task(order: Order) -> dict[str, Any]:
    """What SkyPilot does on the machine: the same as its first boot does at other clouds."""
    commands, keys = _first_boot(order.user_data)
    lines = [f"sudo {shlex.join(map(str, command))}" for command in commands]
    lines += [
        f"grep -qxF {key} ~/.ssh/authorized_keys || echo {key} >> ~/.ssh/authorized_keys"
        for key in map(shlex.quote, dict.fromkeys(filter(None, (order.public_key, *keys))))
    ]
    return {"resources": {"labels": order.labels}, "setup": "\n".join(lines), "run": "true"}


def _first_boot(user_data: str) -> tuple[list[list[str]], list[str]]:
    """Commands and keys of the user data, which SkyPilot cannot hand to cloud-init."""
    head, _, rest = user_data.partition("\n")
    if head.strip() != "#cloud-config":
        return ([["/bin/sh", "-c", user_data]] if user_data else []), []
    told = _json(rest, "the user data") or {}
    commands = [command for name in ("bootcmd", "runcmd") for command in told.get(name, ())]
    return commands, list(told.get("ssh_authorized_keys", ()))


def _cluster(token: str) -> str:
    return f"{_PREFIX}{token}"  # 35 characters: no cloud takes fewer


def _token(cluster: str) -> str:
    return cluster.removeprefix(_PREFIX) if re.fullmatch(rf"{_PREFIX}[0-9a-f]{{32}}", cluster) else ""


def _sky(arguments: list[str], doing: str, *, seconds: float = ANSWER) -> str:
    """What the program prints; a `CloudError` where it fails."""
    try:
        ended = subprocess.run(
            ["sky", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=seconds
        )
    except FileNotFoundError:
        raise NotInstalledError("SkyPilot", "'skypilot[aws]'") from None
    except subprocess.TimeoutExpired:
        raise _refusal(doing, f"sky {arguments[0]} timed out after {seconds:g} s") from None
    if ended.returncode != 0:
        raise _refusal(doing, ended.stderr.strip() or ended.stdout.strip())
    return _COLOURS.sub("", ended.stdout[:_LARGEST])


def _refusal(doing: str, said: str) -> CloudError:
    text = _COLOURS.sub("", said)
    kind = next((kind for kind, pattern in _KINDS if re.search(pattern, text, re.I)), "other")
    last = " ".join(text.split())[-400:]
    return CloudError(f"skypilot: {doing}: {last}", kind=kind, remedy=_REMEDIES.get(kind, ""))


def _json(text: str, doing: str) -> Any:
    start = min((place for sign in "[{" if (place := text.find(sign)) >= 0), default=0)  # notices come before it
    try:
        return json_value(text[start:])
    except TextError as error:
        raise CloudError(f"skypilot: {doing}: {error}", remedy="SkyPilot 0.10 or newer is needed") from None


def _words(told: Any) -> list[str]:
    """The clouds that `sky check` names, in whichever workspace."""
    if not isinstance(told, dict):
        return []
    return [str(one) for clouds in told.values() if isinstance(clouds, list) for one in clouds]


def _moment(value: Any) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 2**33:
        return ""
    return instant(datetime.fromtimestamp(value, UTC))
