"""A node of a Slurm cluster, for itself: `slurm:PARTITION?constraint=FEATURE&time=MINUTES`; several with `nodes=4`.

A batch job holds the node, and a step inside of it runs the outpost, whose pipes `srun` carries. So the queue, limits,
requeueing and accounting are Slurm's own. When a node is lost, Slurm starts the job again; the step of before has lost
its line and can answer nobody, so no attempt gives two results. Several nodes are one job array: an element holds a
node each, and whichever has one measures.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from benchwright.errors import LinkError, OptionError
from benchwright.execution.outposts import launcher
from benchwright.execution.outposts.host import LINK, OutpostHost
from benchwright.execution.outposts.link import Link, Tell
from benchwright.records import ResultWarning, Value

PARAMETERS = ("constraint", "time", "account", "qos", "gres", "nodelist", "reservation")  # by sbatch's own names
MOST_NODES = 256
ANSWER = 60.0  # seconds for one of Slurm's commands
POLL = (1.0, 10.0)  # seconds between two looks at the queue: at first, and in the long run
SETTLING = 15.0  # seconds until Slurm says how a job ended
PATIENCE = 900.0  # seconds until Slurm has seen that a node is gone: its own limit is 300 unless somebody set it
IDLE = 6  # looks of ten seconds without an outpost after which the job ends
RUNNING, WAITING = "RUNNING", ("PENDING", "CONFIGURING", "REQUEUED", "RESIZING", "SUSPENDED", "COMPLETING")
# What ended a job from outside, and the kind of failure that it is for the attempt under way.
LOSSES = {
    "NODE_FAIL": ("node-lost", "Slurm lost the node"),
    "BOOT_FAIL": ("node-lost", "the node did not start"),
    "PREEMPTED": ("preempted", "another job was given the node"),
    "TIMEOUT": ("time-limit", "the job's time limit was over"),
    "DEADLINE": ("time-limit", "the job's deadline was over"),
    "CANCELLED": ("cancelled", "somebody cancelled the job"),
    "OUT_OF_MEMORY": ("memory", "the job ran out of memory"),
    "REVOKED": ("node-lost", "the job was revoked"),
}
HELD = ("held", "BadConstraints", "Prolog", "launch failed")  # reasons that waiting does not cure
_WORD = re.compile(r"[\w.@:/&|*()\[\],=+-]*")


class PilotArray:
    """A job array whose elements hold one node each; it is handed in when the first of them is wanted."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.mark = f"benchwright-{os.urandom(6).hex()}"
        self._job = ""
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self, number: int, order: Sequence[str]) -> str:
        """The name of an element, which `order` hands in with the others; "" when that element was taken before."""
        with self._lock:
            if number in self._taken:
                return ""
            if not self._job:
                self._job = _submit(order)
            self._taken.add(number)
            return f"{self._job}_{number}"


class SlurmHost(OutpostHost):
    """A node of `partition` that nobody else uses meanwhile; `parameters` are those of sbatch.

    `pool` is the array that it is an element of, `lane` its number there.
    """

    def __init__(
        self,
        partition: str,
        *,
        parameters: Mapping[str, str] | None = None,
        python: str = "",
        pool: PilotArray | None = None,
        lane: int = 0,
    ) -> None:
        self._partition, self._parameters, self._python = partition, dict(parameters or {}), python
        self.pool, self.lane = pool, lane
        self._mark = f"{pool.mark}-{lane}x" if pool else f"benchwright-{os.urandom(6).hex()}"
        self._job = ""
        self._number = ""  # of the job, or of the element while it has one
        self._node = ""
        self._restarts = 0
        if not lane:
            self._check()
        told = "&".join(f"{name}={value}" for name, value in sorted(self._parameters.items()) if name != "time")
        name = f"slurm:{partition}{'?' if told else ''}{told}"
        self._drained: list[str] = []  # nodes that Slurm gave up while this waited or measured, with its reasons
        super().__init__(name, self._start, eager=False, patience=PATIENCE)

    @classmethod
    def from_text(cls, text: str) -> SlurmHost:
        """The host of `slurm:TEXT`, which is PARTITION or PARTITION?constraint=FEATURE&time=30&python=PATH."""
        found = cls.several_from_text(text)
        if len(found) > 1:
            raise OptionError(f"slurm:{text}: one machine is needed here", remedy="leave out nodes=")
        return found[0]

    @classmethod
    def several_from_text(cls, text: str) -> list[SlurmHost]:
        """The hosts of `slurm:TEXT`: as many as `nodes=` says, which share their cases out; one unless said."""
        partition, _, query = text.partition("?")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        python, nodes = asked.pop("python", ""), asked.pop("nodes", "1")
        if unknown := [name for name in asked if name not in PARAMETERS]:
            known = ", ".join((*PARAMETERS, "nodes", "python"))
            raise OptionError(f"slurm:{text}: {unknown[0]!r} is not known", remedy=f"known: {known}")
        for value in (partition, *asked.values()):
            if not _WORD.fullmatch(value):
                raise OptionError(f"slurm:{text}: {value!r} cannot be meant")
        if not re.fullmatch(r"[0-9]{1,4}", nodes) or not 1 <= int(nodes) <= MOST_NODES:
            raise OptionError(f"slurm:{text}: {nodes!r} is no number of nodes", remedy=f"write 1 to {MOST_NODES}")
        pool = PilotArray(int(nodes)) if int(nodes) > 1 else None
        return [cls(partition, parameters=asked, python=python, pool=pool, lane=lane) for lane in range(int(nodes))]

    @property
    def system(self) -> Mapping[str, Value]:
        """Which nodes it may be, which is its identity; and which it is, which is not."""
        return {"host": {"name": self.name, "node": self._node}}

    def close(self) -> None:
        """Ends the outpost and gives the node back."""
        super().close()
        self._give_back()

    def remark(self, case: object) -> ResultWarning | None:
        """What is to be said of the last attempt: a node that a prolog or a health check took out of use."""
        if why := _drain_reason(self._node):
            self._drained.append(f"{self._node} is drained: {why}")
        told, self._drained = list(dict.fromkeys(self._drained)), []
        if not told:
            return super().remark(case)
        return ResultWarning(
            code="node-drained",
            seen=f"Slurm gives a node of {self.name} no more work: {'; '.join(told)}; measured on {self._node}",
            remedy="ask who keeps the cluster before you trust numbers of that node: `sinfo -R`",
        )

    def explain_loss(self, error: LinkError) -> tuple[str, str]:
        """What Slurm says of the job whose line broke: a lost node is not a failed benchmark."""
        told, deadline = self._look(), time.monotonic() + SETTLING
        while told is not None and _state(told) == "COMPLETING" and time.monotonic() < deadline:
            time.sleep(POLL[0])
            told = self._look()
        while told is not None and _state(told) == RUNNING and time.monotonic() < deadline:
            if _is_silent(self._node):  # Slurm will say so later, and start the job again later still
                node, job = self._node, self._job
                self._give_back()
                return "node-lost", f"{node} does not answer Slurm (job {job})"
            time.sleep(POLL[0])
            told = self._look()
        if told is None:
            return LINK, ""
        state, reason = _state(told), str(told.get("state_reason", ""))
        drained = _drain_reason(self._node)
        also = f"; {self._node} is drained: {drained}" if drained else ""
        if _number(told.get("restart_cnt")) > self._restarts:
            return (
                "requeued",
                f"Slurm started job {self._job} again ({reason or state}) after {self._node} was lost{also}",
            )
        kind, why = LOSSES.get(state, (LINK, f"job {self._job} is {state}"))
        return kind, f"{why} (job {self._job} on {self._node}){also}"

    # ---- the job ----

    def _check(self) -> None:
        """Asks Slurm whether it would take the job at all, before anything is planned."""
        told = _ask([*self._order(array=True), "--test-only"])
        if told.returncode:
            raise OptionError(f"slurm:{self._partition}: {_last_words(told.stderr)}", remedy="see `sinfo -o '%P %f'`")

    def _order(self, *, array: bool = False) -> list[str]:
        """The job that holds a node until nobody has used it for a minute; with `array`, all those of its pool."""
        pool = self.pool if array else None
        mark = f"{pool.mark}-${{SLURM_ARRAY_TASK_ID}}x" if pool else self._mark
        look = f'grep -qs "{mark[0]}[{mark[1]}]{mark[2:]}" /proc/[0-9]*/cmdline'
        several = [f"--array=0-{pool.size - 1}"] if pool else []
        hold = (
            f"idle=0; while [ $idle -lt {IDLE} ]; do sleep 10; if {look}; then idle=0; else idle=$((idle+1)); fi; done"
        )
        partition = ["--partition", self._partition] if self._partition else []
        asked = [f"--{name}={value}" for name, value in self._parameters.items()]
        return [
            *("sbatch", "--parsable", "--job-name=benchwright", "--exclusive", "--nodes=1", "--requeue", *partition),
            *("--output=/dev/null", "--error=/dev/null", *asked, *several, f"--wrap={hold}"),
        ]

    def _start(self, tell: Tell) -> Link:
        if not self._job:
            # An element that was cancelled does not come back: what follows it is a job of its own.
            self._job = (self.pool.take(self.lane, self._order(array=True)) if self.pool else "") or _submit(
                self._order()
            )
        self._await(tell)
        step = ["srun", f"--jobid={self._number}", "--overlap", "--nodes=1", "--ntasks=1", "--unbuffered", "--quiet"]
        words = [*step, *launcher.command(self._python, mark=self._mark)]
        return launcher.start(words, name=f"{self.name} on {self._node}", python=self._python)

    def _give_back(self) -> None:
        job, self._job = self._job, ""
        if job:
            _ask(["scancel", "--quiet", job])

    def _await(self, tell: Tell) -> None:
        """Waits until the job runs, and says where it stands in the queue."""
        pause, most = POLL
        while True:
            told = self._look()
            state = _state(told) if told else "gone"
            if told and state == RUNNING:
                self._number = str(told["job_id"])
                self._node = str(told.get("batch_host") or told.get("nodes") or "")
                self._restarts = _number(told.get("restart_cnt"))
                if _is_silent(self._node):
                    self._give_back()
                    raise LinkError(f"{self.name}: {self._node} does not answer Slurm")
                return
            # Of a job that could not be started the reason says who held it, the description why.
            reason = str(told.get("state_description") or told.get("state_reason") or "") if told else ""
            if state not in WAITING or any(word in reason for word in HELD):
                job = self._job
                self._give_back()
                self._drained += _drained_nodes(self._in_partition())
                also = f"; {'; '.join(self._drained)}" if self._drained else ""
                raise LinkError(f"{self.name}: job {job} is {state.lower()}{': ' if reason else ''}{reason}{also}")
            tell(f"queued{self._place(told or {})}")
            time.sleep(pause)
            pause = min(most, 1.5 * pause)

    def _place(self, told: Mapping[str, Any]) -> str:
        """Its place in the queue, and when Slurm thinks that it will start."""
        listed = _jobs(["--states=PENDING", *self._in_partition()])  # which some versions do not heed
        waiting = [one for one in listed if _state(one) == "PENDING" and "job_id" in one]
        waiting.sort(key=lambda one: (-_number(one.get("priority")), _number(one.get("job_id"))))
        places = [place for place, one in enumerate(waiting, 1) if _is_job(one, self._job)]
        place = f", {places[0]} of {len(waiting)}" if places else ""
        left = _number(told.get("start_time")) - time.time()
        soon = f", about {_minutes(left)}" if left > 0 else ""
        reason = str(told.get("state_reason") or "")
        return f"{place}{soon}{f' ({reason})' if reason not in ('', 'None', 'Priority', 'Resources') else ''}"

    def _in_partition(self) -> list[str]:
        return [f"--partition={self._partition}"] if self._partition else []

    def _look(self) -> Mapping[str, Any] | None:
        """What Slurm says of the job; None when it has forgotten it."""
        found = _jobs([f"--jobs={self._job}", "--states=all"]) if self._job else []
        return next((one for one in found if _is_job(one, self._job)), None)


def _submit(order: Sequence[str]) -> str:
    """Hands a job in; its number."""
    told = _ask(order)
    if told.returncode:
        raise LinkError(_last_words(told.stderr))
    return told.stdout.strip().partition(";")[0]


def _is_job(told: Mapping[str, Any], name: str) -> bool:
    """Whether Slurm speaks of this job, or of this element of an array: those that wait come as one, with a list."""
    array, _, number = name.partition("_")
    if not number:
        return str(told.get("job_id")) == name
    if str(_number(told.get("array_job_id"))) != array:
        return False
    own = told.get("array_task_id")
    listed = str(told.get("array_task_string") or "")
    if listed:
        return any(_covers(part, int(number)) for part in listed.partition("%")[0].split(","))
    return own is not None and _number(own) == int(number)


def _covers(part: str, number: int) -> bool:
    """Whether `'2-5'`, `'2-8:2'` or `'3'` holds the number."""
    ends, _, step = part.partition(":")
    low, _, high = ends.partition("-")
    if not (low.isdigit() and (not high or high.isdigit()) and (not step or step.isdigit())):
        return False
    return number in range(int(low), int(high or low) + 1, max(1, int(step or 1)))


def _minutes(seconds: float) -> str:
    return "a minute" if seconds < 90 else f"{seconds / 60:.0f} min"


def _jobs(which: Sequence[str]) -> list[dict[str, Any]]:
    told = _ask(["squeue", "--json", *which])
    try:
        jobs = json.loads(told.stdout)["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [one for one in jobs if isinstance(one, dict)] if isinstance(jobs, list) else []


def _state(job: Mapping[str, Any]) -> str:
    """The job's state; newer versions of Slurm give a list, with flags behind the state itself."""
    state = job.get("job_state")
    return str(state[0] if isinstance(state, list) and state else state or "")


def _number(value: Any) -> int:
    """A number, which newer versions of Slurm wrap with whether it is set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else 0
    return int(value) if isinstance(value, int | float) else 0


def _drain_reason(node: str) -> str:
    """Why Slurm gives the node no more work; "" where it does."""
    if not node:
        return ""
    told = _ask(["sinfo", "--noheader", f"--nodes={node}", "--states=drain,drained,draining,down,fail", "--format=%E"])
    found = told.stdout.strip().partition("\n")[0] if told.returncode == 0 else ""
    return "" if found == "none" else found


def _is_silent(node: str) -> bool:
    """Whether the node has not answered Slurm for a while; Slurm marks such a state with a star."""
    told = _ask(["sinfo", "--noheader", "--Node", f"--nodes={node}", "--format=%T"]) if node else None
    return told is not None and told.returncode == 0 and any(line.endswith("*") for line in told.stdout.split())


def _drained_nodes(which: Sequence[str]) -> list[str]:
    """The nodes that Slurm gives no more work, each with the reason that it was given."""
    told = _ask(["sinfo", "--noheader", "--Node", *which, "--states=drain", "--format=%N %E"])
    lines = told.stdout.splitlines()[:MOST_NODES] if told.returncode == 0 else []
    split = [line.strip().partition(" ") for line in lines]
    return [f"{node} is drained: {why[:200]}" for node, _, why in split if node and why and why != "none"]


def _ask(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise OptionError(
            f"{command[0]} is not installed", remedy="measure from a machine of the cluster, where Slurm's commands are"
        ) from None
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"{shlex.join(command[:2])}: no answer within {ANSWER:g} s")


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(line.partition("error: ")[2] or line for line in lines[-2:])[-400:] or "Slurm refused the job"
