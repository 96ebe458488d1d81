"""The Python door of tuning: `benchwright.tune(...)`, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import config
from benchwright.analysis.races import RacedCell, RaceStory, tell_standing
from benchwright.errors import OptionError
from benchwright.events import Listener, Noted, nobody
from benchwright.execution.hosts import RemoteHost
from benchwright.execution.session import Measuring, Plan
from benchwright.records import Case, Inputs, Load, Mode, Run, Scalar
from benchwright.records.prices import Price
from benchwright.records.races import RaceTerms
from benchwright.targets import sources
from benchwright.targets.sources import ImportTimes, Request
from benchwright.workflows import arguments, invocation, validation
from benchwright.workflows.tune import ranges, repeat
from benchwright.workflows.tune.goals import RaceRequest, parse_budget, parse_share
from benchwright.workflows.tune.race import FinishedRace, RaceRunner
from benchwright.workflows.tune.space import Options, TuneSpace, check_size, plan_space

if TYPE_CHECKING:
    import pandas

LENGTH = 0.5  # seconds that each process measures: many short ones tell more than few long ones
WARMUP = 1.0  # seconds at most


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedRace:
    """A finished race: the winner, the front, and everything that was measured. It prints as the command line does."""

    story: RaceStory

    @property
    def is_out_of_time(self) -> bool:
        """Whether the budget ended before the race was decided."""
        return self.story.is_out_of_time

    @property
    def run(self) -> Run:
        """The run that keeps all results."""
        return self.story.run

    @property
    def winner(self) -> RacedCell | None:
        """The configuration to use; None where none is feasible."""
        return self.story.winner

    @property
    def front(self) -> tuple[RacedCell, ...]:
        """Of several goals, the configurations that nothing beats in all of them."""
        return self.story.front

    @property
    def probability(self) -> float:
        """The probability that the winner is within `within` of the best."""
        return self.story.standing.overall

    @property
    def ok(self) -> bool:
        """Whether there is a winner, or a front."""
        return bool(self.front)

    @property
    def command(self) -> tuple[str, ...]:
        """The command line that measures the winner again; empty where there is none."""
        return () if self.winner is None else self.story.terms.repeat(self.winner.number)

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Writes the winner's settings: `.toml` for `benchwright.toml`, `.yaml` or `.json` as a spec."""
        file = Path(path)
        repeat.check_export(file)
        if self.winner is None:
            raise OptionError("there is no winner to export", remedy="loosen an objective, or widen the space")
        repeat.write_export(file, self.story, self.winner)
        return file

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each configuration. Needs pandas."""
        from benchwright.report.data_frames import race_frame

        return race_frame(self.story)

    def __str__(self) -> str:
        from benchwright.report.race_text import print_race
        from benchwright.report.table import plain_text

        return plain_text(lambda file: print_race(self.story, file=file)).rstrip("\n")

    def __repr__(self) -> str:
        return f"<TunedRace {self.run.id}: {len(self.story.cells)} configurations, {len(self.run.results)} results>"

    def _repr_html_(self) -> str:
        from benchwright.report.race_html import race_fragment

        return race_fragment(self.story)


def tune(
    *targets: str | os.PathLike[str] | Callable[..., Any],
    runtime: str | Sequence[str] | None = None,
    device: str | Sequence[str] | None = None,
    numeric_precision: str | Sequence[str] | None = None,
    batch_size: int | str | Sequence[int] | None = None,
    workers: int | str | Sequence[int] | None = None,
    copies: int | str | Sequence[int | str] | None = None,
    rate: float | Sequence[float] | None = None,
    params: Mapping[str, Sequence[Scalar]] | None = None,
    options: Mapping[str, Scalar | Sequence[Scalar]] | None = None,
    inputs: Inputs | None = None,
    load: Load | None = None,
    duration: float | None = None,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    objective: str | Sequence[str] = (),
    within: str | float = 0.02,
    confidence: str | float = 0.99,
    budget: str | float | None = None,
    rounds: int = 5,
    seed: int = 0,
    tags: Sequence[str] = (),
    cost_per_hour: float | None = None,
    price: str | Price | Mapping[str, str | Price] = "",
    host: str = "",
    resume: str = "",
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
) -> TunedRace:
    """Finds the best of many configurations in a race of short fresh processes, and says how sure that is.

    A list in a keyword is a dimension; so is a list in `options`, and a text such as `"1..64"` (which doubles) or
    `"1..max"`. `maximize` and `minimize` name metrics, such as `throughput` and `latency_p99`: one is a goal, several
    give a front. `objective` is a bound that must hold, such as `p99<20ms`. The winner is within `within` of the best
    with the probability `confidence`, unless the `budget` ends first: seconds, or a text such as `"10m"`. No more is
    measured than all configurations `rounds` times. `host` names several machines, which are then a dimension too;
    `price` is what the machine costs. `resume` goes on with a race of the same question in the store.
    """
    bounds = [arguments.objective(text, what="objective") for text in _several(objective)]
    whole = load or Load()
    seconds = parse_budget(budget)[0] if isinstance(budget, str) else budget
    lists = {name: _values(name, value) for name, value in (options or {}).items()}
    request = Request(
        targets=[invocation.target_text(target) for target in targets],
        runtimes=arguments.one_or_many(runtime, ()),
        devices=arguments.one_or_many(device, ("cpu",)),
        precisions=arguments.one_or_many(numeric_precision, ("",)),
        batch_sizes=_counts(batch_size, "batch_size"),
        workers=_counts(workers, "workers"),
        copies=_counts(copies, "copies"),
        rates=arguments.one_or_many(rate, (whole.rate,)),
        params=params or {},
        inputs=inputs or Inputs(),
        load=whole if duration is None else replace(whole, duration=duration),
        tags=tags,
        elsewhere=host not in ("", "local"),
    )
    asked = RaceRequest(
        maximize=_several(maximize),
        minimize=_several(minimize),
        objectives=bounds,
        within=parse_share(within, "within"),
        confidence=parse_share(confidence, "confidence"),
        rounds=rounds,
        budget=seconds,
        seed=seed,
    )
    plan = arguments.priced(Plan(), price, cost_per_hour, host)
    if host:
        from benchwright.workflows import elsewhere

        plan = elsewhere.place(plan, host)
    return race(request, lists, asked, plan, resume=resume, store=store, save=save, listener=listener)


def race(
    request: Request,
    options: Options,
    asked: RaceRequest,
    plan: Plan,
    *,
    more: Sequence[str] = (),
    resume: str = "",
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
) -> TunedRace:
    """Plans the space, runs the race, keeps everything that was measured.

    `more` are arguments of `benchwright run` that the request does not hold. With `resume`, goes on with that run.
    """
    invocation.refuse_nesting()
    with invocation.hold_hosts(plan):
        return _race(request, options, asked, plan, more=more, resume=resume, store=store, save=save, listener=listener)


def _race(
    request: Request,
    options: Options,
    asked: RaceRequest,
    plan: Plan,
    *,
    more: Sequence[str],
    resume: str,
    store: str | None,
    save: bool,
    listener: Listener,
) -> TunedRace:
    validation.check(request, asked.rounds)
    if any(sources.source_of(target).name == "endpoints" for target in request.targets):
        # A server's goodput counts the requests that keep them; elsewhere they would only make series of their own.
        request = replace(request, load=replace(request.load, objectives=tuple(asked.objectives)))
    hosts = [getattr(host, "name", "") for host in plan.hosts]
    asked.check(is_priced=bool(plan.price or plan.prices) or any(getattr(one, "price", None) for one in plan.hosts))
    tags = (*config.load().tags, *request.tags)
    validation.check_tags(tags)
    check_size(request, options, hosts)
    imports = ImportTimes(listener)
    space = _plan(replace(request, listener=imports.hear), options, plan, hosts, listener)
    cases = [cell.case for cell in space.cells]
    if not (asked.maximize or asked.minimize) and all(case.load.mode is Mode.SINGLE for case in cases):
        asked = replace(asked, minimize=("wall_time",))
    imports.tell(cases, asked.rounds, "fewer values make fewer processes", most=True)
    command = repeat.shared_arguments(request, options, request.load.objectives, more)
    terms = RaceTerms(
        axes=space.axes,
        goals=asked.goals,
        bounds=asked.bounds,
        places=space.places,
        within=asked.within,
        confidence=asked.confidence,
        rounds=asked.rounds,
        budget=asked.budget,
        seed=asked.seed,
        command=(*_only_target(space), *command),
    )
    whole = replace(plan, rounds=asked.rounds, paths=plan.paths or (str(Path.cwd()),), tags=tags, race=terms, cases=())
    validation.check_cost(replace(whole, cases=cases))
    if resume:
        whole, space = _resume(whole, space, resume, store=store, save=save)
    done = _run(whole, terms, space, store=store, save=save, listener=listener)
    return TunedRace(story=tell_standing(done.run, terms, done.standing, is_out_of_time=done.is_out_of_time))


def _only_target(space: TuneSpace) -> tuple[str, ...]:
    """The target that all cells have; none where they have several, or a command."""
    found = {cell.target for cell in space.cells}
    return tuple(found) if len(found) == 1 and found != {""} else ()


def _run(
    plan: Plan, terms: RaceTerms, space: TuneSpace, *, store: str | None, save: bool, listener: Listener
) -> FinishedRace:
    if not save:
        return RaceRunner(plan, terms, space.cells, None, listener).run()
    from benchwright.store import open_sink
    from benchwright.store.sqlite_file import looks_ready
    from benchwright.workflows.live import LiveProgress

    url = config.store_url(store)
    with LiveProgress(url, listener) as teller:
        opened = teller.follow_store(lambda: open_sink(url))
        return RaceRunner(plan, terms, space.cells, opened, teller, looks_ready=lambda: looks_ready(url)).run()


# ---- the space ----


def _plan(request: Request, options: Options, plan: Plan, hosts: Sequence[str], listener: Listener) -> TuneSpace:
    """The space, with cases that are ready to be measured."""

    def plan_cases(part: Request) -> list[Case]:
        if plan.hosts or isinstance(plan.host, RemoteHost):
            from benchwright.workflows.elsewhere import plan_cases

            return plan_cases(part, plan)
        return sources.plan(part)

    space = _settle(plan_space(request, options, plan_cases, hosts=hosts), request, plan, listener)
    if without := _find_unknown_options(space, {*options, *request.options}, plan, listener):
        space = plan_space(request, options, plan_cases, hosts=hosts, without=without)
        space = _settle(space, request, plan, nobody)
    return space


def _settle(space: TuneSpace, request: Request, plan: Plan, listener: Listener) -> TuneSpace:
    """The space with short processes, and with inputs for models that leave some of them open."""
    cases = [_shorten(cell.case) for cell in space.cells]
    validation.check_cases(cases)
    if any(case.target.runtime in sources.FED_BY_FILE for case in cases):
        from benchwright.targets.sources import model_inputs

        cases = model_inputs.settle_inputs(cases, replace(request, listener=listener), command=plan.command)
    cells = tuple(replace(cell, case=case) for cell, case in zip(space.cells, cases, strict=True))
    return replace(space, cells=cells)


def _shorten(case: Case) -> Case:
    """The case with the length that processes of a race have, unless it says itself when to stop."""
    load = case.load
    if load.mode is Mode.SINGLE:
        return case
    if load.warmup is None:
        load = replace(load, warmup=WARMUP)
    if not (load.samples or load.duration or load.once or load.precision or load.trace):
        load = replace(load, duration=LENGTH)
    return replace(case, load=load)


def _find_unknown_options(space: TuneSpace, names: set[str], plan: Plan, listener: Listener) -> dict[str, list[str]]:
    """Options that some of several runtimes do not know, by runtime: those are measured without them.

    One process of each runtime tells. An option that none of them knows stays, so that the race says what is wrong.
    """
    first = {cell.case.target.runtime: cell.case for cell in reversed(space.cells)}
    if len(first) < 2 or not any("." not in name for name in names):
        return {}
    found: dict[str, list[str]] = {}
    with Measuring(replace(plan, host=plan.host or next(iter(plan.hosts), None), hosts=()), None) as measuring:
        for runtime, case in first.items():
            while (name := _refused_option(measuring, case, names)) is not None:
                found.setdefault(runtime, []).append(name)
                kept = {key: value for key, value in case.target.options.items() if key != name}
                case = replace(case, target=replace(case.target, options=kept))
    for runtime, refused in found.items():
        for name in [name for name in refused if all(name in found.get(other, ()) for other in first)]:
            refused.remove(name)  # nobody knows it
        if refused:
            listener(Noted(text=f"{runtime} has no option {', '.join(refused)}: it is measured without"))
    return {runtime: refused for runtime, refused in found.items() if refused}


def _refused_option(measuring: Measuring, case: Case, names: set[str]) -> str | None:
    """The option that the runtime of a case refuses, if that is what keeps the case from being measured."""
    if measuring.interrupted:
        return None
    load = replace(case.load, duration=None, samples=1, warmup=0.0)
    error = measuring.measure(replace(case, load=load), 0).error
    if error is None or error.kind != "RequestError" or "has no option" not in error.message:
        return None
    told = error.message.lower()
    return next((name for name in case.target.options if name in names and repr(name.lower()) in told), None)


# ---- going on ----


def _resume(plan: Plan, space: TuneSpace, reference: str, *, store: str | None, save: bool) -> tuple[Plan, TuneSpace]:
    """The plan as the continuation of a race in the store, or an `OptionError` that says why it cannot be one."""
    if not save:
        raise OptionError("a resumed race is always saved in its store", remedy="leave out --no-save, or --resume")
    from benchwright.execution.resume import keep_prices, match_cases
    from benchwright.store import open_store

    with closing(open_store(config.store_url(store), create=False)) as kept:
        run = kept.run(kept.find(reference))
    if run.race is None:
        raise OptionError(f"run {run.id} was no race", remedy=f"benchwright run --resume {run.id} goes on with it")
    assert plan.race is not None
    if replace(run.race, budget=None, command=()) != replace(plan.race, budget=None, command=()):
        raise OptionError(
            f"run {run.id} was a race of another question",
            remedy=f"benchwright tune --resume {run.id} alone repeats its command line",
        )
    matched = match_cases(replace(run, planned=0), [cell.case for cell in space.cells], plan.rounds, plan.directory)
    cells = tuple(replace(cell, case=case) for cell, case in zip(space.cells, matched, strict=True))
    return keep_prices(replace(plan, resumed=run), run), replace(space, cells=cells)


# ---- what Python gives ----


def _several(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) and given else list(given)


def _values(name: str, given: Scalar | Sequence[Scalar]) -> Sequence[Scalar]:
    if isinstance(given, str):
        return ranges.expand_values(name, given, "options") if ".." in given else [given]
    return list(given) if isinstance(given, Sequence) else [given]


def _counts(given: int | str | Sequence[int | str] | None, what: str) -> Sequence[int]:
    if given is None:
        return (1,)
    items = [given] if isinstance(given, int | str) else list(given)
    words = ranges.expand(",".join(map(str, items)), what).split(",")
    return [arguments.available_cpus() if word == "max" else arguments.whole(what)(word) for word in words]
