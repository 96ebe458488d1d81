"""A run of an asv project: its newest commit, built and measured in every environment of its matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from benchwright import config
from benchwright.events import Listener
from benchwright.execution.builds.surroundings import OWN, Surroundings
from benchwright.execution.hosts.local import LocalHost
from benchwright.execution.hosts.matrix import MatrixHost
from benchwright.execution.plan_elsewhere import plan_in
from benchwright.execution.plans import DEFAULT_ROUNDS, Plan
from benchwright.records import Case, Mode, Run
from benchwright.system import temporary_folder
from benchwright.targets.sources import CaseDescription, ImportTimes, Request
from benchwright.workflows import validation
from benchwright.workflows.asv_projects import AsvProject, open_project, prepare_newest, refuse, without_rounds
from benchwright.workflows.resumption import resume_plan
from benchwright.workflows.run import execute, with_usual_length

if TYPE_CHECKING:
    from benchwright.execution.builds import BuiltRevision


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """How often a project's suite is measured, where the run is kept, and which flags were given in vain."""

    rounds: int | None = None
    resume: str = ""
    store: str | None = None
    save: bool = True
    refused: Mapping[str, bool] = field(default_factory=dict)


def measure_project(request: Request, plan: Plan, terms: RunTerms, listener: Listener) -> Run:
    """Builds the project that is the target of the request, measures its suite and keeps the run."""
    elsewhere = bool(plan.hosts) or not isinstance(plan.host, LocalHost | None)
    refuse({**terms.refused, "--host": elsewhere, "--operators": plan.operators})
    with temporary_folder.folder() as scratch:
        return _measure(request, plan, terms, listener, scratch)


def _measure(request: Request, plan: Plan, terms: RunTerms, listener: Listener, scratch: str) -> Run:
    rounds = terms.rounds
    usual = config.load()
    tags = (*usual.tags, *request.tags)
    validation.check_tags(tags)
    imports = ImportTimes(listener)
    project, built = _prepare(request, plan, listener, scratch)
    found = plan_in(built, replace(project.request, listener=imports.hear))
    cases = [with_usual_length(case, usual) for case in found]
    if rounds is not None:
        cases = without_rounds(cases)
    else:
        usual_rounds = DEFAULT_ROUNDS if usual.rounds is None else usual.rounds
        rounds = 1 if all(case.load.mode is Mode.SINGLE for case in cases) else usual_rounds
    validation.check_size(len(cases), rounds)
    validation.check_cases(cases)
    imports.tell(cases, rounds, "fewer --rounds or benchmarks take less")
    whole = replace(
        plan,
        cases=cases,
        rounds=rounds,
        host=MatrixHost(built.parts),
        paths=built.paths,
        last_paths=built.last_paths,
        revision=built.revision if built.revision.vcs else None,
        tags=tags,
    )
    validation.check_cost(whole)
    validation.check_profile(whole)
    if terms.resume:
        whole = resume_plan(whole, terms.resume, store=terms.store, save=terms.save)
    return execute(whole, store=terms.store, save=terms.save, listener=listener)


def list_project(
    request: Request, listener: Listener, environment: str = ""
) -> tuple[list[tuple[Case, CaseDescription]], list[tuple[str, str]]]:
    """The cases that a run of the project would measure; modules that cannot be imported are told to the listener."""
    surroundings = Surroundings(environment=environment or OWN)
    surroundings.check()
    project, built = _prepare(request, Plan(surroundings=surroundings), listener)
    return [(case, CaseDescription()) for case in plan_in(built, replace(project.request, listener=listener))], []


def _prepare(request: Request, plan: Plan, listener: Listener, scratch: str = "") -> tuple[AsvProject, BuiltRevision]:
    project = open_project(request, surroundings=plan.surroundings, one_state=True, listener=listener)
    assert project is not None
    return project, prepare_newest(project, listener, scratch)
