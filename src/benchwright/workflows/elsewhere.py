"""What a run does with other machines before it measures: which environment they have, and what there is to measure.

Python code is planned on the machine that will measure it: what it imports need not be installed here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import schema
from benchwright.errors import BenchwrightError, LinkError, MeasureError, OptionError, TargetError
from benchwright.execution import plan_elsewhere
from benchwright.execution.builds.elsewhere import order_environment
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.outposts.host import ENVIRONMENT_REMEDY, OutpostHost
from benchwright.execution.outposts.revisions import StageTeller
from benchwright.execution.rounds import Plan
from benchwright.records import Case
from benchwright.system.interrupts import Interrupt
from benchwright.targets import sources
from benchwright.targets.sources import Request
from benchwright.workflows import arguments

if TYPE_CHECKING:
    from benchwright.execution.hosts.cloud_fleet import CloudFleet

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_][\w.]*)?")
_CODE = ("callables", "classes")  # sources that import what they are about


def use_environment(plan: Plan, surroundings: Surroundings) -> None:
    """Has every machine of the plan measure in an environment that is made there; a `OptionError` where one cannot."""
    hosts = [host for host in (plan.host, *plan.hosts) if host is not None]
    if not hosts or not all(isinstance(host, OutpostHost) for host in hosts):
        raise OptionError(
            "--environment is for machines that ssh, Slurm or Ray reach or a cloud has, and for `--host local`",
            remedy="leave it out; what is measured here or in an image has the packages that are there",
        )
    order = order_environment(surroundings, Path.cwd())
    for host in hosts:
        assert isinstance(host, OutpostHost)
        host.use_environment(order)


def place(
    plan: Plan,
    text: str,
    *,
    where: str = "",
    surroundings: Surroundings | None = None,
    fleet: CloudFleet | None = None,
) -> Plan:
    """The plan on the hosts that a text names, such as `ssh:a,b`, each ready to measure.

    With `where="any"` each case is measured on one of them. `surroundings` are the packages that they are to have,
    `fleet` the terms on which machines of clouds are leased.
    """
    if where not in ("", "any", "each"):
        raise OptionError(f"where: {where!r} is neither any nor each")
    if arguments.is_several(text) or fleet is not None:
        plan = replace(plan, hosts=arguments.hosts(text, fleet))
    elif text:
        plan = replace(plan, host=arguments.host(text))
    plan = replace(plan, spread=where == "any")
    return plan if surroundings is None else place_in_environment(plan, text, surroundings)


def place_in_environment(plan: Plan, text: str, surroundings: Surroundings) -> Plan:
    """The plan with an environment on each of its hosts; they are left where that cannot be."""
    if text == "local":
        from benchwright.execution.outposts.here import HereHost

        plan = replace(plan, host=HereHost())
    try:
        use_environment(plan, surroundings)
    except BaseException:
        for one in (plan.host, *plan.hosts):
            arguments.close_host(one)
        raise
    return plan


def plan_cases(request: Request, plan: Plan) -> list[Case]:
    """Every case of the request; those of Python code as the machine sees them that will measure them.

    Of several machines the first one is asked that can be reached.
    """
    hosts = [one for one in (plan.host, *plan.hosts) if one is not None]
    outposts = [one for one in hosts if isinstance(one, OutpostHost)]
    if not hosts or hosts[0] not in outposts:
        return sources.plan(request)
    interrupt = Interrupt()
    with interrupt.watch(), interrupt.allow():  # a machine may be leased for it: SIGTERM must not leave that behind
        return plan_parts(request, lambda part: _plan_on_one(outposts, part))


def plan_parts(request: Request, plan_there: Callable[[Request], Sequence[Case]]) -> list[Case]:
    """Every case of the request; `plan_there` has its Python code planned by the machine that will measure it."""
    found: dict[str, Case] = {}
    for there, part in _parts(request):
        for case in plan_there(part) if there else sources.plan(part):
            found.setdefault(schema.fingerprint(case), case)
    if not found:
        return sources.plan(request)  # which says what is wrong with it
    return list(found.values())


def _parts(request: Request) -> Iterator[tuple[bool, Request]]:
    """The request in parts that are planned in one place each, in the order of its targets; whether that is there."""
    for is_code, targets in itertools.groupby(request.targets, key=_is_code):
        yield is_code, replace(request, targets=list(targets), command=())
    if request.command:
        yield False, replace(request, targets=[])


def _is_code(target: str) -> bool:
    """Whether a target is Python code: by its looks where no module of that name is here."""
    if target.partition("::")[0].endswith(".py"):
        return True
    try:
        return sources.source_of(target).name in _CODE
    except TargetError:
        return _MODULE.fullmatch(target) is not None and not Path(target).exists()


def _plan_on_one(hosts: Sequence[OutpostHost], request: Request) -> list[Case]:
    """What there is on the first machine that can be reached: one that is not there must not stop the others."""
    for host in hosts[:-1]:
        try:
            return _plan_on(host, request)
        except _UnreachableError:
            continue  # what it was to measure becomes records that say so
    return _plan_on(hosts[-1], request)


class _UnreachableError(OptionError):
    """No plan, because the machine cannot be reached."""


def check_files(request: Request) -> None:
    """Refuses a file that is not here, with what is near it: no other machine is needed to say so."""
    for target in request.targets:
        file = target.partition("::")[0]
        if file.endswith(".py"):
            sources.find_file(file)


def read_plan(plan: Mapping[str, Any], request: Request, where: str) -> list[Case]:
    """The cases that another machine found; what is wrong there is wrong with the request."""
    plan_elsewhere.tell_imports(plan, request)
    if "error" in plan:
        absent = plan_elsewhere.absent_package(plan)
        remedy = f"{absent} is not installed there: {ENVIRONMENT_REMEDY}" if absent else str(plan["remedy"])
        plan_elsewhere.raise_error(plan, where, remedy)
    return [schema.decode(Case, each, where="plan") for each in plan.get("cases", ())]


def _plan_on(host: OutpostHost, request: Request) -> list[Case]:
    """What there is on that machine."""
    check_files(request)
    try:
        plan = host.plan(
            plan_elsewhere.encode(replace(request, elsewhere=False)),
            paths=(str(Path.cwd()),),
            tell=StageTeller(host.name, request.listener),
            seconds=plan_elsewhere.TIMEOUT,
        )
    except LinkError as error:
        raise _UnreachableError(error.message, remedy=error.remedy) from None
    except MeasureError as error:
        raise OptionError(error.message, remedy=_explain(error)) from None
    return read_plan(plan, request, host.name)


def _explain(error: BenchwrightError) -> str:
    failure = getattr(error, "failure", None)
    tail = failure.log_tail.strip() if failure is not None else ""
    return "\n".join(part for part in (tail, error.remedy) if part)
