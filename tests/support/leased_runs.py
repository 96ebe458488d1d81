"""Runs on machines of clouds, within the process of a test: what is measured is a fake that takes a known time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from benchwright.events import Event
from benchwright.execution.hosts.cloud_fleet import CloudFleet
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Result, Run, Target
from benchwright.workflows import arguments


def case(name: str = "case", ms: int = 1, samples: int = 3) -> Case:
    target = Target(runtime="fake", uri=f"fake:constant?ms={ms}")
    return Case(name=name, target=target, load=Load(samples=samples, warmup=0.0))


def measure(
    text: str,
    *cases: Case,
    fleet: CloudFleet | None = None,
    listener: Callable[[Event], None] | None = None,
    **plan: Any,
) -> Run:
    hosts = arguments.hosts(f"{text.partition('?')[0]}?python={sys.executable}&{text.partition('?')[2]}", fleet)
    try:
        return execute(Plan(cases=cases or (case(),), hosts=hosts, **plan), None, listener or (lambda event: None))
    finally:
        for host in hosts:
            arguments.close_host(host)


def instance(result: Result) -> dict[str, Any]:
    told = result.environment.system["instance"]
    assert isinstance(told, dict)
    return told
