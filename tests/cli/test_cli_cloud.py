"""`benchwright cloud` against a real moto server, behind a proxy that can refuse and lose answers."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aws_faults import REGION, SECRET, SESSION, Call, Cloud, Faults, refusal, serving_aws
from benchwright.cloud import calls
from benchwright.cloud.ledger import CloudLedger, LedgerEvent
from benchwright.cloud.orders import EXPIRES_LABEL, TOKEN_LABEL
from benchwright.cloud.providers.aws import Aws, forget_clients
from benchwright.cloud.sweep import sweep
from benchwright.errors import CloudError

IMAGE = "ami-1e749f67"  # one of moto's; to look for the usual one takes longer
SPEC = f"aws/c7i.large?image={IMAGE}"
Inside = Callable[..., Any]


@pytest.fixture(scope="module")
def served() -> Iterator[Cloud]:
    """An account with one machine of somebody else, which must be there in the end."""
    forget_clients()
    with serving_aws() as cloud:
        stranger = _stranger(cloud)
        yield cloud
        assert stranger in cloud.machines()
    forget_clients()


@pytest.fixture
def cloud(served: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A ledger of its own; no wait takes time."""
    served.faults = Faults()
    for name, value in served.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("BENCHWRIGHT_CLOUD_LEDGER", str(tmp_path / "cloud.jsonl"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calls, "FIRST_WAIT", 0.001)
    yield served
    if CloudLedger().path.exists() and (left := [one["InstanceId"] for one in _ours(served)]):
        served.client.terminate_instances(InstanceIds=left)


def _stranger(cloud: Cloud, **tags: str) -> str:
    """A machine that was not ordered by us; with labels, by us elsewhere."""
    kind = [{"ResourceType": "instance", "Tags": [{"Key": name, "Value": value} for name, value in tags.items()]}]
    told = cloud.client.run_instances(
        ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType="t3.nano", **({"TagSpecifications": kind} if tags else {})
    )
    return str(told["Instances"][0]["InstanceId"])


def _ours(cloud: Cloud) -> list[dict[str, Any]]:
    return [one for one in cloud.machines().values() if TOKEN_LABEL in _tags(one)]


def _tags(machine: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in machine.get("Tags", ())}


def test_a_machine_comes_up_is_listed_stopped_started_and_ended_with_its_cost(cloud: Cloud, inside: Inside) -> None:
    told = inside("cloud", "up", "aws/c7i.large", "--until", "2h", "--machine-name", "mine", "--price", "0.36USD/h")
    assert told.returncode == 0, told.stderr
    assert "paid by AWS account 123456789012" in told.stdout and "at most 0.72 USD until" in told.stdout
    assert "benchwright cloud down mine" in told.stdout and " ec2-user@" in told.stdout
    (machine,) = _ours(cloud)
    assert machine["InstanceType"] == "c7i.large" and machine["State"]["Name"] == "running"
    assert _tags(machine)[EXPIRES_LABEL].startswith("20") and _tags(machine)["benchwright-name"] == "mine"

    listed = json.loads(inside("cloud", "list", "--json").stdout)
    assert listed["kind"] == "cloud-machines"
    (line,) = listed["data"]
    assert line["name"] == "mine" and line["state"] == "running" and line["price"]["amount"] == 0.36
    text = inside("cloud", "list").stdout
    assert "0.36 USD an hour" in text and "benchwright cloud down NAME" in text and "left)" in text
    status = inside("cloud", "status", "mine").stdout
    assert "paid by:" in status and "by itself" in status and "end it:" in status

    stopped = json.loads(inside("cloud", "stop", "mine", "--json").stdout)
    assert stopped["kind"] == "cloud-machine" and stopped["data"]["state"] == "stopped"
    text = inside("cloud", "status", "mine").stdout
    assert "by itself" not in text and "sign in:" not in text, "a machine that is stopped runs no timer"
    assert "benchwright cloud sweep" in text and "then `benchwright cloud sweep`)" in inside("cloud", "list").stdout
    assert json.loads(inside("cloud", "start", "mine", "--json").stdout)["data"]["state"] == "running"
    ended = json.loads(inside("cloud", "down", "mine", "--json").stdout)["data"][0]
    assert ended["state"] == "ended" and ended["currency"] == "USD"
    assert ended["cost"] == pytest.approx(0.36 * ended["seconds"] / 3600)
    assert _ours(cloud) == []
    assert "mine" in inside("cloud", "list", "--all").stdout and inside("cloud", "list").stdout == "no machine is up\n"
    swept = json.loads(inside("cloud", "sweep", "--json").stdout)
    assert swept["kind"] == "cloud-sweep" and swept["data"]["ended"] == []


def test_what_a_machine_is_told_and_how_it_is_ordered(cloud: Cloud, inside: Inside, tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0 ada@desk"
    (tmp_path / ".ssh" / "id_ed25519.pub").write_text(key + "\n")
    seen: list[str] = []

    def look(call: Call) -> None:
        if call.action == "RunInstances":  # the order is on the disk before the cloud hears of it
            seen.extend(line["event"] for line in _lines())

    cloud.faults.before = look  # type: ignore[assignment]
    spec = f"aws/c7g.large@{REGION}:spot?most=0.03&zone={REGION}b&disk=30"
    told = inside("cloud", "up", spec, "--package", "benchwright[onnx]", "--json")
    assert told.returncode == 0, told.stderr
    assert seen == ["ordered"]
    order = next(call.words for call in cloud.faults.calls if call.action == "RunInstances")
    assert order["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert order["InstanceMarketOptions.SpotOptions.MaxPrice"] == "0.030000"
    assert order["Placement.AvailabilityZone"] == f"{REGION}b" and order["ClientToken"] == _lines()[0]["token"]
    assert order["BlockDeviceMapping.1.Ebs.VolumeSize"] == "30"
    assert order["BlockDeviceMapping.1.Ebs.DeleteOnTermination"] == "true"
    assert order["MetadataOptions.HttpTokens"] == "required"
    assert {order[f"TagSpecification.{n}.ResourceType"] for n in (1, 2, 3)} == {
        "instance",
        "volume",
        "spot-instances-request",
    }
    data = base64.b64decode(order["UserData"]).decode()
    assert data.startswith("#cloud-config\n")
    config = json.loads(data.partition("\n")[2])
    assert [*config] == ["bootcmd", "ssh_authorized_keys", "runcmd"] and config["ssh_authorized_keys"][1:] == [key]
    assert "benchwright[onnx]" in config["runcmd"][0][2]
    (machine,) = _ours(cloud)
    assert machine["InstanceLifecycle"] == "spot" and machine["Architecture"] == "arm64"
    refused = inside("cloud", "stop", json.loads(told.stdout)["data"]["name"])
    assert refused.returncode == 2 and "spot machine" in refused.stderr


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CloudLedger().path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("spec", "said", "remedy"),
    [
        ("aws/c7i.lage", "no shape 'c7i.lage'", "c7i.large"),  # moto would take it
        ("aws/c7i.large@eu-centrl-1", "no region 'eu-centrl-1'", "eu-central-1"),
        ("aws/c7i.large?zone=eu-central-1z", "not offered in the zone", "eu-central-1a"),
        ("aws/c7i.large?imge=ami-1", "'imge' is not known", "image"),
        ("aws/c7i.large?image=ami-00000000000000000", "no image", "ami-0123"),
        ("aws/c7i.large?image=nonsense", "names no image", "ssm:"),
        ("aws/c7g.large?image=ami-1e749f67", "is for x86_64, c7g.large is arm64", "another image"),
        ("aws/c7i.large?disk=1", "the image needs", "disk="),
        ("aws/c7i.large?disk=much", "disk=much", "disk=50"),
        ("aws/c7i.large:reserved-1y", "reserved-1y cannot be ordered", "on demand"),
        ("c7i.large", "names no machine", "PROVIDER/SHAPE"),
        ("moon/c7i.large", "unknown cloud 'moon'", "aws"),
    ],
)
def test_a_wrong_order_is_refused_before_anything_is_ordered(
    cloud: Cloud, inside: Inside, spec: str, said: str, remedy: str
) -> None:
    told = inside("cloud", "up", spec)
    assert told.returncode == 2
    assert said in told.stderr and remedy in told.stderr
    assert "RunInstances" not in cloud.faults.actions() and not CloudLedger().path.exists()


def test_an_account_that_may_not_order_is_told_before_anything_is_written(cloud: Cloud, inside: Inside) -> None:
    cloud.faults.before = lambda call: refusal("UnauthorizedOperation") if call.action == "RunInstances?" else None
    told = inside("cloud", "up", SPEC)
    assert told.returncode == 2 and "this login was refused (UnauthorizedOperation)" in told.stderr
    assert "aws sso login" in told.stderr and not CloudLedger().path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--until", "1min"], "5 minutes to 30 days"),
        (["--until", "90d"], "5 minutes to 30 days"),
        (["--machine-name", "No Name"], "cannot be the name"),
        (["--server", "https://lab.example/"], "needs a token"),
        (["--public-key", "nowhere.pub"], "cannot be read"),
    ],
)
def test_a_wrong_flag_is_refused(cloud: Cloud, inside: Inside, words: list[str], said: str) -> None:
    told = inside("cloud", "up", SPEC, *words)
    assert told.returncode == 2 and said in told.stderr
    assert not CloudLedger().path.exists()


@pytest.mark.parametrize(
    ("code", "said", "times"),
    [
        ("InsufficientInstanceCapacity", "another zone", 1),
        ("VcpuLimitExceeded", "Service Quotas", 1),
        ("ExpiredToken", "the login has expired", 1),
        ("RequestLimitExceeded", "asks too often", calls.TRIES),
    ],
)
def test_a_refused_order_names_the_remedy_and_leaves_nothing(
    cloud: Cloud, inside: Inside, code: str, said: str, times: int
) -> None:
    message = f"no, since x-amz-security-token:{SESSION}" if code == "ExpiredToken" else "not now"
    cloud.faults.before = lambda call: refusal(code, message) if call.action == "RunInstances" else None
    told = inside("cloud", "up", SPEC)
    assert told.returncode == 2 and said in told.stderr
    assert cloud.faults.actions().count("RunInstances") == times
    assert _ours(cloud) == [] and CloudLedger().open_machines() == []
    assert SESSION not in told.stderr + CloudLedger().path.read_text()


def test_a_throttled_order_is_sent_again(cloud: Cloud, inside: Inside) -> None:
    refusals = iter([refusal("RequestLimitExceeded")] * 3)
    cloud.faults.before = lambda call: next(refusals, None) if call.action == "RunInstances" else None
    assert inside("cloud", "up", SPEC).returncode == 0
    assert len(_ours(cloud)) == 1


def test_a_lost_answer_makes_no_second_machine(cloud: Cloud, inside: Inside) -> None:
    cloud.faults.after = lambda call: call.action == "RunInstances"
    assert inside("cloud", "up", SPEC).returncode == 0
    assert cloud.faults.actions().count("RunInstances") == 1 and len(_ours(cloud)) == 1
    assert CloudLedger().open_machines()[0].id == _ours(cloud)[0]["InstanceId"]


@pytest.mark.parametrize("remembers", [True, False])
def test_a_machine_that_shows_late_after_a_lost_answer_is_the_only_one(
    cloud: Cloud, inside: Inside, remembers: bool
) -> None:
    """The order is sent again. Amazon answers with the same machine; moto makes a second one, which is ended."""
    cloud.faults.remembers_tokens = remembers
    lost: list[int] = []

    def lose(call: Call) -> bool:
        if call.action == "RunInstances":
            lost.append(call.number)
        return call.action == "RunInstances" and len(lost) == 1

    def hide(call: Call, answer: bytes) -> bytes:
        is_hidden = call.action == "DescribeInstances" and len(lost) == 1
        return answer.replace(TOKEN_LABEL.encode(), b"hidden") if is_hidden else answer

    cloud.faults.after, cloud.faults.change = lose, hide
    assert inside("cloud", "up", SPEC).returncode == 0
    assert cloud.faults.actions().count("RunInstances") == 2
    assert cloud.faults.actions().count("TerminateInstances") == (0 if remembers else 1)
    assert [one["InstanceId"] for one in _ours(cloud)] == [CloudLedger().open_machines()[0].id]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_what_was_ordered(cloud: Cloud, inside: Inside, number: signal.Signals) -> None:
    def interrupt(call: Call) -> bool:
        if call.action == "RunInstances":
            os.kill(os.getpid(), number)
        return False

    cloud.faults.after = interrupt
    assert inside("cloud", "up", SPEC).returncode == 130
    assert _ours(cloud) == [] and CloudLedger().open_machines() == []


KILLS = [
    ("up", "RunInstances", "after"),
    ("down", "DescribeInstances", "before"),
]
UP = (
    *("DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "GetParameter", "DescribeImages"),
    *("DescribeSecurityGroups", "RunInstances?", "GetCallerIdentity", "RunInstances", "DescribeInstances"),
)
DOWN = ("DescribeInstances", "TerminateInstances")
ALL = [
    *(("up", action, when) for action in UP for when in ("before", "after")),
    *(("down", action, when) for action in DOWN for when in ("before", "after")),
]


@pytest.mark.parametrize(
    ("verb", "action", "when"),
    [*KILLS, *(pytest.param(*kill, marks=pytest.mark.soak) for kill in ALL if kill not in KILLS)],
)
def test_after_kill_9_the_sweep_leaves_no_machine(
    cloud: Cloud, inside: Inside, verb: str, action: str, when: str
) -> None:
    """The process is killed before the cloud hears of a question, or after it has done it and before the answer."""
    if verb == "down":
        assert inside("cloud", "up", SPEC, "--machine-name", "mine").returncode == 0
    is_started, victims = threading.Event(), []

    def kill(call: Call) -> bool:
        if call.action == action:
            is_started.wait()
            victims[0].kill()
            victims[0].wait()
        return call.action == action

    if when == "after":
        cloud.faults.after = kill
    else:
        cloud.faults.before = lambda call: refusal("Killed") if kill(call) else None
    words = ["aws/c7i.large"] if verb == "up" else ["mine"]
    command = [sys.executable, "-m", "benchwright", "cloud", verb, *words]
    victims.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    is_started.set()
    assert victims[0].wait() == -signal.SIGKILL
    cloud.faults = Faults()
    sweep(CloudLedger())  # at once, as the next command does; and when an order that nobody saw has had its time
    report = sweep(CloudLedger(), now=datetime.now(UTC) + timedelta(minutes=6))
    assert report.is_clean and report.left == []
    assert _ours(cloud) == [] and CloudLedger().open_machines() == []


@pytest.mark.parametrize("verb", ["list", "status", "sweep"])
def test_a_machine_that_ended_without_us_is_written_off_and_costs_no_more(
    cloud: Cloud, inside: Inside, verb: str
) -> None:
    assert (
        inside("cloud", "up", SPEC.replace("?", ":spot?"), "--machine-name", "fleeting", "--price", "1USD/h").returncode
        == 0
    )
    cloud.client.terminate_instances(InstanceIds=[_ours(cloud)[0]["InstanceId"]])
    told = inside("cloud", verb, *(["fleeting"] if verb == "status" else []))
    assert told.returncode == 0 and "fleeting" in told.stdout and ("ended" in told.stdout or "gone" in told.stdout)
    (machine,) = CloudLedger().machines()
    cost = machine.cost(datetime.now(UTC) + timedelta(days=9)).amount
    assert not machine.is_open and cost is not None and cost < 0.1


def test_the_sweep_ends_what_expired_and_touches_nothing_else(cloud: Cloud, inside: Inside) -> None:
    inside("cloud", "up", SPEC, "--until", "2h", "--machine-name", "kept")
    past = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dt%H-%M-%Sz")
    later = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dt%H-%M-%Sz")
    forgotten = _stranger(cloud, **{TOKEN_LABEL: "a" * 32, EXPIRES_LABEL: past})
    colleague = _stranger(cloud, **{TOKEN_LABEL: "b" * 32, EXPIRES_LABEL: later})
    unclear = _stranger(cloud, **{TOKEN_LABEL: "c" * 32})
    assert "ordered elsewhere" in inside("cloud", "list").stdout
    assert f"would be ended: {forgotten}" in inside("cloud", "sweep", "--dry-run").stdout
    assert forgotten in cloud.machines()
    told = inside("cloud", "sweep")
    assert told.returncode == 0 and f"ended: {forgotten}" in told.stdout and "left: kept" in told.stdout
    assert forgotten not in cloud.machines() and {colleague, unclear} < {*cloud.machines()}
    assert inside("cloud", "down", "--all").returncode == 0
    assert {colleague, unclear} < {*cloud.machines()}


def test_a_cloud_that_cannot_be_asked_is_said_and_not_forgotten(cloud: Cloud, inside: Inside) -> None:
    inside("cloud", "up", SPEC, "--machine-name", "kept")
    cloud.faults.before = lambda call: refusal("AuthFailure", SECRET, 401)
    swept = inside("cloud", "sweep")
    assert swept.returncode == 1 and "could not be looked at" in swept.stdout and SECRET not in swept.stdout
    assert "could not be asked" in inside("cloud", "list").stdout
    assert inside("cloud", "down", "kept").returncode == 1
    assert CloudLedger().open_machines()[0].order.name == "kept"


def test_a_machine_of_an_order_that_nobody_looks_after_is_swept_up(cloud: Cloud, inside: Inside) -> None:
    inside("cloud", "up", SPEC, "--machine-name", "orphan")
    path = CloudLedger().path
    kept = [line for line in path.read_text().splitlines() if json.loads(line)["event"] == LedgerEvent.ORDERED]
    path.write_text("\n".join(kept) + '\n{"event": "creat')  # as after a kill -9 in the middle of a line
    assert "the process that ordered it is gone" in inside("cloud", "sweep").stdout
    assert _ours(cloud) == []
    assert [line["event"] for line in _lines()] == ["ordered", "created", "ending", "ended"]


def test_a_machine_without_our_label_is_not_ended_whatever_the_ledger_says(cloud: Cloud, inside: Inside) -> None:
    inside("cloud", "up", SPEC, "--machine-name", "mine")
    path, foreign = CloudLedger().path, next(one for one in cloud.machines() if one != CloudLedger().find("mine").id)
    path.write_text(path.read_text().replace(CloudLedger().find("mine").id, foreign))
    assert Aws().end(_ours(cloud)[0]["InstanceId"], REGION) is None
    with pytest.raises(CloudError, match="not ordered by Benchwright"):
        Aws().end(foreign, REGION)
    inside("cloud", "down", "mine")
    assert foreign in cloud.machines() and _ours(cloud) == []


def test_what_cannot_be_named_is_refused(cloud: Cloud, inside: Inside) -> None:
    inside("cloud", "up", SPEC, "--machine-name", "kept")
    for words, said in (
        (["status", "kpt"], "did you mean 'kept'"),
        (["down"], "name the machines"),
        (["down", "kept", "--all"], "name the machines"),
        (["sweep", "aws"], "aws@eu-central-1"),
        (["up", SPEC, "--machine-name", "kept"], "is up already"),
    ):
        told = inside("cloud", *words)
        assert told.returncode == 2 and said in told.stderr
