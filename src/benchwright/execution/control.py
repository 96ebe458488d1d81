"""A machine's control benchmark: which cases it is made of, and how they are measured.

It is measured as everything else is, in fresh processes and on any host, so that its series are judged as all are. No
revision belongs to it: what changes here is the machine. The version of Python is part of its series, because another
one runs the same work at another speed.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from benchwright.execution.hosts import AnyHost, RemoteHost
from benchwright.execution.plans import Plan
from benchwright.records import CONTROL, CONTROL_TAG, Case, Environment, Load, Target
from benchwright.worker.runtimes.control import KERNELS, SCHEME, VERSION, Control

ROUNDS = 3
LOAD = Load(warmup=0.05, duration=0.25)  # of one part in one process: about four seconds in all


def control_cases(python: str = "") -> list[Case]:
    """The parts of the control benchmark, for an interpreter of that version; by default for this one."""
    release = ".".join((python or platform.python_version()).split(".")[:2])
    return [
        Case(
            name=f"{CONTROL}{name}",
            target=Target(runtime=Control.name, uri=f"{SCHEME}{name}"),
            params={"version": VERSION, "python": release},
            load=LOAD,
            tags=("control",),
        )
        for name in KERNELS
    ]


def control_plan(host: AnyHost | None = None, *, command: Sequence[str] = ()) -> Plan:
    """What to measure on a host, by default on this machine, to know how fast it is."""
    there = host.environment() if isinstance(host, RemoteHost) else None
    return Plan(
        cases=control_cases(python_of(there) if there else ""),
        rounds=ROUNDS,
        host=host,
        reason="control",
        tags=(CONTROL_TAG,),
        command=tuple(command),
        directory=Path(os.sep),  # whatever folder this is called in: no revision is measured
    )


def python_of(environment: Environment) -> str:
    """The version of Python in an environment; "" where it is not told."""
    return str(environment.system.get("python") or "")


def is_control(case_name: str) -> bool:
    """Whether a case is part of a machine's control benchmark."""
    return case_name.startswith(CONTROL)
