from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.machine.environment import cgroups, software

Tree = Callable[..., Path]


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2", "proc/cpuinfo": "flags : lm hypervisor"}, "Amazon EC2"),
        ({"sys/class/dmi/id/sys_vendor": "QEMU", "proc/cpuinfo": "flags : lm hypervisor"}, "KVM or QEMU"),
        ({"sys/class/dmi/id/sys_vendor": "Dell Inc.", "proc/cpuinfo": "flags : lm"}, "none"),
        ({"sys/hypervisor/type": "xen", "proc/cpuinfo": "flags : lm"}, "xen"),
        ({"proc/cpuinfo": "flags : lm hypervisor"}, "a hypervisor that does not name itself"),
        ({"proc/cpuinfo": "Features : asimd"}, "unavailable: neither CPU nor firmware tells"),
    ],
)
def test_virtualisation(tree: Tree, files: dict[str, str], answer: str) -> None:
    assert software.virtualisation(tree(files)) == answer


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "systemd-nspawn"}, "systemd-nspawn"),
        ({"proc/self/cgroup": "0::/kubepods.slice/pod1"}, "kubernetes"),
        ({"proc/self/cgroup": "0::/user.slice"}, "none"),
    ],
)
def test_container(tree: Tree, files: dict[str, str], answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert software.collect(tree(files))["container"] == answer


def test_the_tightest_limit_of_the_groups_above_counts(tree: Tree) -> None:
    group = "sys/fs/cgroup/a.slice"
    files = {
        "proc/self/cgroup": "0::/a.slice/b.scope",
        "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0",
        f"{group}/cpu.max": "150000 100000",
        f"{group}/memory.max": "max",
        f"{group}/b.scope/cpu.max": "400000 100000",
        f"{group}/b.scope/memory.max": "1073741824",
    }
    assert cgroups.limits(tree(files)) == {"version": "2", "cpu_quota": 1.5, "memory": 2**30}


def test_limits_of_version_one_seen_from_inside_a_container(tree: Tree) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n1:pids:/\n0::/",
        "proc/self/mounts": "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup ro,cpu,cpuacct 0 0\n"
        "cgroup /sys/fs/cgroup/memory cgroup ro,memory 0 0\n"
        "proc /proc proc rw 0 0",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    }
    assert cgroups.limits(tree(files)) == {"version": "1", "cpu_quota": 0.5, "memory": "unlimited"}
