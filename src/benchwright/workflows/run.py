"""The Python door: `benchwright.run(...)` and what it returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import config
from benchwright.errors import OptionError
from benchwright.events import Listener, nobody
from benchwright.execution.hosts import RemoteHost
from benchwright.execution.rounds import DEFAULT_ROUNDS, Plan
from benchwright.execution.rounds import execute as execute_plan
from benchwright.execution.saver import ResultSink
from benchwright.records import Case, Inputs, Load, Mode, Result, Run, Scalar, Status, Tolerance
from benchwright.records.prices import Price
from benchwright.targets import sources
from benchwright.targets.asv.config import is_config
from benchwright.targets.sources import GoldenRequest, ImportTimes, Request
from benchwright.workflows import arguments, rate_searches, validation
from benchwright.workflows.invocation import hold_hosts, refuse_nesting, target_text

if TYPE_CHECKING:
    import pandas

    from benchwright.execution.builds.surroundings import Surroundings
    from benchwright.workflows.lab.submission import LabRequest


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A finished run: prints as a table, in a terminal and in a notebook."""

    record: Run

    @property
    def results(self) -> tuple[Result, ...]:
        """Returns the results, one for each case and round."""
        return self.record.results

    @property
    def ok(self) -> bool:
        """Whether every case was measured."""
        return all(result.status is Status.OK for result in self.results)

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each result and metric. Needs pandas."""
        from benchwright.report.data_frames import to_pandas

        return to_pandas(self.record)

    def __str__(self) -> str:
        from benchwright.report.table import run_text

        return run_text(self.record)

    def __repr__(self) -> str:
        return f"<MeasuredRun {self.record.id}: {len(self.results)} results>"

    def _repr_html_(self) -> str:
        from benchwright.report.notebook import html_table

        return html_table(self.record)


def run(
    *targets: str | os.PathLike[str] | Callable[..., Any],
    runtime: str | Sequence[str] | None = None,
    device: str | Sequence[str] | None = None,
    numeric_precision: str | Sequence[str] | None = None,
    batch_size: int | Sequence[int] | None = None,
    workers: int | Sequence[int] | None = None,
    copies: int | str | Sequence[int | str] | None = None,
    rate: float | Sequence[float] | None = None,
    processes: int | Sequence[int] | None = None,
    launcher: str = "",
    params: Mapping[str, Sequence[Scalar]] | None = None,
    options: Mapping[str, Scalar] | None = None,
    inputs: Inputs | None = None,
    load: Load | None = None,
    duration: float | None = None,
    objective: str | Sequence[str] = (),
    rounds: int | None = None,
    tags: Sequence[str] = (),
    cost_per_hour: float | None = None,
    price: str | Price | Mapping[str, str | Price] = "",
    operators: bool = False,
    golden: str | os.PathLike[str] = "",
    tolerance: Tolerance | None = None,
    keep_outputs: bool = False,
    resume: str = "",
    fork: bool = False,
    host: str = "",
    where: str = "",
    environment: str | Surroundings = "",
    budget: str = "",
    lease: str = "",
    keep: str = "",
    instances: int = 1,
    lab: str | LabRequest | None = None,
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
) -> MeasuredRun:
    """Measures the targets and returns the run; a list in a keyword is a dimension of the matrix.

    `processes` of a task are started by its launcher, or by `launcher`. `load` says how calls are issued and when
    to stop (`benchwright.Load`), `inputs` what they are given (`benchwright.Inputs`). `objective` is a bound that
    must hold, such as `p99<20ms`, or several of them. `cost_per_hour` of the machine, or a `price` such as
    `0.34USD/h` (of several hosts one for each name), adds what a million items cost. `operators` records where the
    time of each model goes, in a pass of its own (`Result.operators`). `golden` is a runtime, a file or a folder
    whose outputs the models must give within `tolerance` (`benchwright.Tolerance`; by default what is usual for
    their type); `keep_outputs` leaves theirs among the run's files. `resume` names a run of the same request in the
    store: only what is not ok there is measured. `fork` imports a Python file once a round and forks for each of
    its cases. `host` is where it is measured, such as `ssh:rack7`, `slurm:bench` or `container:IMAGE`; of several
    (`ssh:rack7,rack8`) each measures every case, or with `where="any"` one of them. `environment` makes an
    environment there: a requirements file, `here` for the packages of this Python, `own` for those that the
    project's files ask for. Machines of clouds (`cloud:aws/c7i.large`) are leased for a `lease` such as `2h`,
    within a `budget` such as `5USD`, several `instances` of each shape, and stay under the name `keep`. `lab` has
    machines of the server's lab measure it: a selector such as `cpu=*EPYC*`, or a `benchwright.LabRequest`. The run
    is saved unless `save` is false.
    """
    refuse_nesting()
    if resume and not targets:
        raise OptionError(
            f"resume={resume!r} needs the targets of that run", remedy="benchwright run --resume RUN repeats them"
        )
    for name, given, kind in (("load", load, Load), ("inputs", inputs, Inputs)):
        if not (given is None or isinstance(given, kind)):
            raise OptionError(f"{name}: {given!r} is not a benchwright.{kind.__name__}")
    whole_load = load or Load()
    if duration is not None:
        whole_load = replace(whole_load, duration=duration)
    texts = [objective] if isinstance(objective, str) else objective
    bounds = [arguments.objective(text, what="objective") for text in texts]
    whole_load = replace(whole_load, objectives=(*whole_load.objectives, *bounds))
    request = Request(
        targets=[target_text(target) for target in targets],
        runtimes=arguments.one_or_many(runtime, ()),
        devices=arguments.one_or_many(device, ("cpu",)),
        precisions=arguments.one_or_many(numeric_precision, ("",)),
        batch_sizes=arguments.one_or_many(batch_size, (1,)),
        workers=arguments.one_or_many(workers, (whole_load.workers,)),
        copies=[arguments.copies(str(c)) for c in arguments.one_or_many(copies, (whole_load.copies,))],  # type: ignore[arg-type]
        rates=arguments.one_or_many(rate, (whole_load.rate,)),
        processes=[arguments.whole_number(one, "processes") for one in arguments.one_or_many(processes, ())],
        launcher=launcher,
        params=params or {},
        options=dict(options or {}),
        inputs=inputs or Inputs(),
        load=whole_load,
        tags=tags,
        elsewhere=lab is not None or host not in ("", "local"),
    )
    plan = arguments.priced(Plan(operators=operators, by_hand=True), price, cost_per_hour, host)
    excluded = {"host": host != "", "where": where != "", "fork": fork, "resume": resume != "", "save=False": not save}
    if any(map(is_config, request.targets)) and environment:
        plan, environment = replace(plan, surroundings=surroundings_from(environment)), ""
    asked = _read_lab(lab, excluded=excluded)
    if asked is not None and environment:
        asked, environment = replace(asked, environment=environment).check(), ""
    return measure(
        request,
        _place(plan, host, where, environment, fork=fork, leased=(budget, lease, keep, instances)),
        rounds=rounds,
        resume=resume,
        fork=fork,
        golden=GoldenRequest(source=os.fspath(golden), tolerance=tolerance, keep=keep_outputs),
        store=store,
        save=save,
        lab=asked,
        listener=listener,
    )


def measure(
    request: Request,
    plan: Plan | None = None,
    *,
    rounds: int | None = None,
    resume: str = "",
    fork: bool = False,
    golden: GoldenRequest | None = None,
    store: str | None = None,
    save: bool = True,
    lab: LabRequest | None = None,
    listener: Listener = nobody,
) -> MeasuredRun:
    """Plans a request, runs it, keeps it; with `resume`, goes on with that run; with `lab`, has a lab measure it.

    `plan` holds what the request does not say; its cases, rounds and tags are set here. With `fork`, cases of a Python
    file are measured in forks of a process that imports it once a round.
    """
    refuse_nesting()
    plan = plan or Plan()
    if lab is not None:
        from benchwright.workflows.lab.client import server_url

        server_url(store)  # before anything is planned
    with hold_hosts(plan):
        return _measure(
            request,
            plan,
            rounds=rounds,
            resume=resume,
            fork=fork,
            golden=golden,
            store=store,
            save=save,
            lab=lab,
            listener=listener,
        )


def _measure(
    request: Request,
    plan: Plan,
    *,
    rounds: int | None,
    resume: str,
    fork: bool,
    golden: GoldenRequest | None,
    store: str | None,
    save: bool,
    lab: LabRequest | None,
    listener: Listener,
) -> MeasuredRun:
    if any(map(is_config, request.targets)):
        from benchwright.workflows.asv_runs import RunTerms, measure_project

        refused = {"--lab": lab is not None, "--fork": fork, "--golden": bool(golden)}
        terms = RunTerms(rounds=rounds, resume=resume, store=store, save=save, refused=refused)
        return MeasuredRun(measure_project(request, plan, terms, listener))
    usual = config.load()
    usual_rounds = DEFAULT_ROUNDS if usual.rounds is None else usual.rounds
    validation.check(request, usual_rounds if rounds is None else rounds)
    tags = (*usual.tags, *request.tags)
    validation.check_tags(tags)
    imports = ImportTimes(listener)
    asked = replace(request, listener=imports.hear)
    cases = [with_usual_length(case, usual) for case in _plan_cases(asked, plan, lab, store, listener)]
    if rounds is None:  # what is called once or searched may take long, and says itself how often it repeats
        rounds = (
            1 if all(case.load.mode is Mode.SINGLE or rate_searches.is_one(case) for case in cases) else usual_rounds
        )
    validation.check_size(len(cases), rounds)
    validation.check_cases(cases)
    rate_searches.announce(cases, rounds, listener)
    if not fork:
        imports.tell(cases, rounds, "--fork imports it once a round: {once}")
    if any(case.target.runtime in sources.FED_BY_FILE for case in cases):
        from benchwright.targets.sources import model_inputs

        cases = model_inputs.settle_inputs(cases, replace(request, listener=listener), command=plan.command)
    whole = replace(plan, cases=cases, rounds=rounds, paths=plan.paths or (str(Path.cwd()),), tags=tags)
    validation.check_cost(whole)
    validation.check_profile(whole)
    if resume:
        from benchwright.workflows.resumption import resume_plan

        whole = resume_plan(whole, resume, store=store, save=save)
    if golden:
        from benchwright.execution import golden as answers

        whole = answers.apply(whole, request, golden, listener)
    if lab is not None:
        from benchwright.workflows.lab.submission import run_in_lab

        return MeasuredRun(run_in_lab(whole, lab, store=store, listener=listener))
    if fork:
        from benchwright.execution.hosts.forked import ForkingHost

        with ForkingHost(listener) as host:
            return MeasuredRun(execute(replace(whole, host=host), store=store, save=save, listener=listener))
    return MeasuredRun(execute(whole, store=store, save=save, listener=listener))


def _plan_cases(
    request: Request, plan: Plan, lab: LabRequest | None, store: str | None, listener: Listener
) -> list[Case]:
    if lab is not None:
        from benchwright.workflows.lab.plans import plan_in_lab

        return plan_in_lab(request, lab, store=store, listener=listener)
    if not (plan.hosts or isinstance(plan.host, RemoteHost)):
        return sources.plan(request)
    from benchwright.workflows.elsewhere import plan_cases

    return plan_cases(request, plan)


def _place(
    plan: Plan, host: str, where: str, environment: str | Surroundings, *, fork: bool, leased: tuple[Any, ...]
) -> Plan:
    """The plan on the hosts that were named; `leased` is on which terms machines of clouds are."""
    if not host and not where and not environment and leased == ("", "", "", 1):
        return plan
    if not isinstance(host, str):
        raise OptionError(f"host: {host!r} is not the name of a host", remedy='for example host="ssh:rack7"')
    if fork and host not in ("", "local"):
        raise OptionError("fork is for this machine", remedy="leave out host or fork")
    from benchwright.workflows import cloud_machines, elsewhere

    fleet = cloud_machines.fleet_of(host, **dict(zip(("budget", "lease", "keep", "instances"), leased, strict=True)))
    packages = surroundings_from(environment) if environment else None
    return elsewhere.place(plan, host, where=where, surroundings=packages, fleet=fleet)


def surroundings_from(environment: str | Surroundings) -> Surroundings:
    """The packages to measure with, named or said in full."""
    from benchwright.execution.builds.surroundings import Surroundings

    return Surroundings(environment=environment) if isinstance(environment, str) else environment


def _read_lab(lab: str | LabRequest | None, *, excluded: Mapping[str, bool]) -> LabRequest | None:
    """What is asked of a lab, with whatever machines a text means; None where none is."""
    if lab is None:
        return None
    from benchwright.units.selectors import Selector
    from benchwright.workflows.lab.submission import LabRequest

    for name in (name for name, is_given in excluded.items() if is_given):
        raise OptionError(f"{name} and lab exclude each other", remedy="leave one of them out")
    asked = LabRequest(selector=lab) if isinstance(lab, str) else lab
    if not isinstance(asked, LabRequest):
        raise OptionError(f"lab: {lab!r} is neither a selector nor a benchwright.LabRequest")
    return replace(asked, selector=Selector.parse(asked.selector).text).check()


def with_usual_length(case: Case, usual: config.Config) -> Case:
    """The case with the duration and the warm-up that are usual here, unless it says itself when to stop."""
    load = case.load
    if load.mode is Mode.SINGLE:
        return case
    if load.warmup is None:
        load = replace(load, warmup=usual.warmup)
    if not (load.samples or load.duration or load.once or load.precision or load.trace or rate_searches.is_one(case)):
        load = replace(load, duration=usual.duration)
    return replace(case, load=load)


def execute(plan: Plan, *, store: str | None = None, save: bool = True, listener: Listener = nobody) -> Run:
    """Measures a plan and keeps the run in the store that was named, or in the one that is set up here."""
    if not save:
        return execute_plan(plan, None, listener)
    from benchwright.store.sqlite_file import looks_ready
    from benchwright.workflows.live import LiveProgress

    url = config.store_url(store)
    with LiveProgress(url, listener) as teller:
        opened = teller.follow_store(lambda: _open(url))
        return execute_plan(plan, opened, teller, looks_ready=lambda: looks_ready(url))


def _open(url: str) -> ResultSink:
    from benchwright.store import open_sink

    return open_sink(url)
