"""A real Slurm with two nodes on this machine, in network and host names of its own: nothing of it can be reached."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMMANDS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
STARTING = 40.0  # seconds until both nodes are there
CONFIGURATION = """
ClusterName=benchwright
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=26817
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=20
JobRequeue=1
NodeName=fast NodeHostname=localhost NodeAddr=127.0.0.1 Port=26818 CPUs=2 Feature=fast State=UNKNOWN
NodeName=slow NodeHostname=localhost NodeAddr=127.0.0.1 Port=26819 CPUs=2 Feature=slow State=UNKNOWN
PartitionName=bench Nodes=fast,slow Default=YES MaxTime=60 State=UP OverSubscribe=EXCLUSIVE
"""
ENTER = ("unshare", "--net", "--uts", "--pid", "--mount-proc", "--fork", "--kill-child")
# The first process of the namespace must go on waiting: who else buries the orphans that Slurm wants to see gone?
# A namespace with nothing but `lo` has no address that Slurm would look up; a pair of cables that leads nowhere has.
START = """
hostname localhost
ip link set lo up
ip link add d0 type veth peer name d1 && ip addr add 10.99.0.1/24 dev d0 && ip link set d0 up && ip link set d1 up
cd {folder}
munged --key-file munge.key --socket munge.sock --pid-file munge.pid --log-file munge.log --seed-file munge.seed --force
sleep 0.5
slurmctld -c && slurmd -N fast -c && slurmd -N slow -c
sleep 3600 & wait
"""


# A prolog and a health check that find a node sick where somebody says so. Slurm tells neither which cluster it is of.
# Jobs of the partition `urgent` take nodes away: those of `bench` are started again, those of `spare` are ended.
PROLOG = """#!/bin/sh
test ! -e {folder}/prolog-fails-on-$SLURMD_NODENAME
"""
HEALTH = """#!/bin/sh
test -e {folder}/unhealthy-$SLURMD_NODENAME || exit 0
SLURM_CONF={folder}/slurm.conf exec {scontrol} update NodeName=$SLURMD_NODENAME State=DRAIN Reason="too hot"
"""
CHECKS = """
Prolog={folder}/prolog
HealthCheckProgram={folder}/health
HealthCheckInterval=3
HealthCheckNodeState=ANY
SchedulerParameters=bf_interval=3
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=spare Nodes=fast,slow MaxTime=60 State=UP OverSubscribe=EXCLUSIVE PreemptMode=CANCEL
PartitionName=urgent Nodes=fast,slow MaxTime=60 State=UP OverSubscribe=EXCLUSIVE PriorityTier=10 PreemptMode=OFF
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slurm:
    """A running cluster; its commands are in `commands`."""

    folder: Path
    pid: int  # of a process inside

    @property
    def commands(self) -> Path:
        """A folder for PATH, whose commands speak to this cluster."""
        return self.folder / "bin"

    def lose(self, node: str) -> None:
        """Ends Slurm's part of a node as a loss of power does; what it had started there goes on, as an orphan may."""
        jobs = self.ask("squeue", "-h", "-w", node, "-o", "%A").split()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                is_daemon = words.startswith("slurmd ") and f"-N {node}" in words
                if is_daemon or any(words.startswith(f"slurmstepd: [{job}.") for job in jobs):
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def restore(self, node: str) -> None:
        """Starts Slurm's part of a node again, and takes back what a check has said against it."""
        enter = ["nsenter", "--target", str(self.pid), "--net", "--uts", "--pid", "--", _find("slurmd"), "-N", node]
        subprocess.run(enter, env={**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}, check=True)
        deadline = time.monotonic() + STARTING
        while self.ask("sinfo", "-h", "-N", "-p", "bench", "-n", node, "-o", "%T").strip() != "idle":
            self.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
            assert time.monotonic() < deadline, self.ask("sinfo", "-N", "-l")
            time.sleep(0.5)

    def ask(self, *command: str) -> str:
        """What a command inside prints."""
        return subprocess.run(
            [str(self.commands / command[0]), *command[1:]], capture_output=True, text=True, check=False
        ).stdout


def missing() -> str:
    """What this machine lacks for it; "" where it has all."""
    if os.getuid():
        return "Slurm's daemons start as root only"
    absent = [
        name for name in (*COMMANDS, "slurmctld", "slurmd", "munged", "unshare", "nsenter", "ip") if not _find(name)
    ]
    return f"{', '.join(absent)} not installed" if absent else ""


@contextlib.contextmanager
def running(folder: Path, *, checked: bool = False) -> Iterator[Slurm]:
    """Starts a cluster and ends every process of it; `checked`, with a prolog and a health check."""
    folder.mkdir(mode=0o755, exist_ok=True)
    (folder / "state").mkdir()
    (folder / "bin").mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o600)
    checks = CHECKS.format(folder=folder) if checked else ""
    (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder) + checks)
    for name, script in (("prolog", PROLOG), ("health", HEALTH)):
        (folder / name).write_text(script.format(folder=folder, scontrol=_find("scontrol")))
        (folder / name).chmod(0o755)
    variables = {
        **os.environ,
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
    }
    with (folder / "start.log").open("wb") as log:
        inside = subprocess.Popen(
            [
                "unshare",
                "--net",
                "--uts",
                "--pid",
                "--fork",
                "--kill-child",
                "/bin/sh",
                "-c",
                START.format(folder=folder),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=variables,
            start_new_session=True,
        )
    try:
        for name in COMMANDS:
            wrapper = folder / "bin" / name
            enter = f"nsenter --target $(cat {folder}/slurmctld.pid.outer) --net --uts --"
            wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {enter} {_find(name)} "$@"\n')
            wrapper.chmod(0o755)
        child = _first_child(inside.pid)
        (folder / "slurmctld.pid.outer").write_text(str(child))
        cluster = Slurm(folder=folder, pid=child)
        deadline = time.monotonic() + STARTING
        while cluster.ask("sinfo", "-h", "-N", "-p", "bench", "-o", "%T").split() != ["idle", "idle"]:
            if time.monotonic() > deadline:
                raise RuntimeError((folder / "start.log").read_text() + cluster.ask("sinfo"))
            time.sleep(0.3)
        yield cluster
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(inside.pid, signal.SIGKILL)  # the kernel ends all that the namespace holds
        inside.wait()


def _first_child(parent: int) -> int:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.02)
    raise RuntimeError("the namespace has no process")


def _find(name: str) -> str:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or ""
