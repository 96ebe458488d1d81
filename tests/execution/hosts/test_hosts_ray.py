"""A real Ray cluster of three nodes: a place by a resource, and another attempt on another node when one is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import benchwright
import ray_cluster
import tiny_wheels
from benchwright.errors import OptionError
from benchwright.events import Event, Reached
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.hosts.ray import RayHost
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Status, Target
from ray_cluster import Cluster

NODES = ("127.0.0.2", "127.0.0.3")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ray_cluster.running(tmp_path_factory.mktemp("ray")) as running:
        running.add("127.0.0.1")
        for address, labels in zip(NODES, ("", '{"kind": "edge"}'), strict=True):
            running.add(address, resources='{"bench": 1}', labels=labels)
        yield running


def host_of(cluster: Cluster, resource: str = "bench") -> RayHost:
    return RayHost.from_text(f"{cluster.address}?resources={resource}:1&driver={cluster.driver}")


@pytest.mark.soak
@pytest.mark.skipif(os.getuid() != 0, reason="a network of its own needs root")
def test_a_node_is_chosen_by_its_label(cluster: Cluster, tmp_path: Path) -> None:
    """Runs before a node is lost."""
    text = f"{cluster.address}?resources=bench:1&driver={cluster.driver}&labels=kind:"
    with pytest.raises(OptionError, match="no node of the cluster has the labels kind:none"):
        RayHost.from_text(f"{text}none")
    host = RayHost.from_text(f"{text}edge")
    case = Case(name="case", target=Target(runtime="fake", uri="fake:constant?ms=1"), load=Load(samples=5, warmup=0.0))
    try:
        (result,) = execute(Plan(cases=[case], rounds=1, host=host)).results
    finally:
        host.close()
    assert result.status is Status.OK
    assert result.environment.system["host"]["node"] == NODES[1]  # type: ignore[index,call-overload]


@pytest.mark.soak
@pytest.mark.skipif(os.getuid() != 0, reason="a network of its own needs root")
def test_a_node_has_the_environment_that_was_asked_for_and_measures_both_sides(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs before a node is lost. What the code imports is not here: it is planned there, too."""
    monkeypatch.chdir(tmp_path)
    wheel = tiny_wheels.write(tmp_path / "wheels", "2.0")
    Path("bench.py").write_text("import needed\ndef f():\n    assert needed.VERSION == '2.0'\n")
    text = f"ray:{cluster.address}?resources=bench:1&driver={cluster.driver}"
    packages = Surroundings(install=("needed==2.0",), wheels=wheel.parent)
    load = Load(samples=3, warmup=0.0, loops=1)
    run = benchwright.run("bench.py::f", host=text, environment=packages, load=load, rounds=1, save=False)
    (result,) = run.results
    assert result.status is Status.OK, result.error
    assert result.environment.system["host"]["node"] in NODES  # type: ignore[index,call-overload]
    for side in ("old", "new"):
        Path(side).mkdir()
        Path(side, "plain.py").write_text("def f():\n    return sum(range(100))\n")
    trial = benchwright.ab(
        "plain.py::f", control_dir="old", treatment_dir="new", host=text, load=load, pairs=2, verify=False, save=False
    )
    assert trial.record.machine.startswith("ray:")
    assert [pair.why for heat in trial.rows[0].heats for pair in heat.pairs] == ["", ""]


@pytest.mark.soak
@pytest.mark.skipif(os.getuid() != 0, reason="a network of its own needs root")
def test_a_node_is_taken_by_its_resource_and_another_one_when_it_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no node of the cluster has the resource 'nothing'"):
        host_of(cluster, "nothing")
    host = host_of(cluster)
    lost: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Reached) and event.phase == "measuring" and not lost:
            lost.append(_busy_node(cluster))
            threading.Timer(1.0, cluster.lose, [lost[0]]).start()

    case = Case(
        name="case", target=Target(runtime="fake", uri="fake:constant?ms=200"), load=Load(samples=60, warmup=0.0)
    )
    begin = time.monotonic()
    try:
        (result,) = execute(Plan(cases=[case], rounds=1, host=host), listener=listen).results
    finally:
        host.close()
    assert lost and lost[0] in NODES
    assert result.status is Status.OK
    (warning,) = [one for one in result.warnings if one.code == "retried"]
    assert f"Ray lost the node {lost[0]}" in warning.seen
    (other,) = {*NODES} - {*lost}
    assert result.environment.system["host"]["node"] == other  # type: ignore[index,call-overload]
    assert time.monotonic() - begin < 300


def test_what_cannot_be_meant_is_refused() -> None:
    for text, message in (
        ("auto?resource=x:1", "'resource' is not known"),
        ("auto?resources=x:many", "no number"),
        ("auto?labels=kind", "is not NAME:VALUE"),
    ):
        with pytest.raises(OptionError, match=message):
            RayHost.from_text(text)


def _busy_node(cluster: Cluster) -> str:
    """The node on which the outpost runs: the one of whose processes one is its ancestor."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = path.read_text().rpartition(")")[2]
        except OSError:
            continue
        parents[int(path.parent.name)] = int(rest.split()[1])
    for address in NODES:
        own = {*cluster.processes(address)}
        for pid in parents:
            words = _words(pid)
            if "base64.b64decode" in words and any(ancestor in own for ancestor in _ancestors(pid, parents)):
                return address
    raise AssertionError("no node runs an outpost")


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    found = []
    while pid := parents.get(pid, 0):
        found.append(pid)
    return found
