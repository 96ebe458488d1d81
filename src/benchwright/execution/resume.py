"""Going on with a run that was cut off or that failed in part: whether it is the same run, and what of it stands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import OptionError
from benchwright.execution.attempt import INTERRUPTED
from benchwright.execution.plans import LOCAL, Plan
from benchwright.execution.pricing import price_of_result
from benchwright.records import Case, Environment, Failure, Result, Run, Status
from benchwright.records.prices import Price
from benchwright.units import whole_number

MOST_TOLD = 3  # differences
_ANEW = "measure a new run, without --resume"


class EarlierResults:
    """What a run held before it was resumed; a fresh run held nothing."""

    def __init__(self, run: Run | None = None) -> None:
        self._results = run.results if run else ()
        self._standing = {_pair(r.case, r.round) for r in self._results if r.status is Status.OK}
        self._bad = {_pair(r.case, r.round): r for r in self._results if r.status is not Status.OK}
        self._replaced: set[str] = set()
        numbers = (r.id.rpartition("-")[2] for r in self._results)
        taken = [number for number in map(whole_number, numbers) if number is not None]
        self.free = max(taken, default=-1) + 1  # no result's id ends so, or higher
        self.free = max(self.free, len(self._results))

    @property
    def results(self) -> list[Result]:
        """Returns the earlier results that were not measured again, in their old order."""
        return [result for result in self._results if result.id not in self._replaced]

    def has_numbers(self, case: Case, number: int) -> bool:
        """Whether the earlier results hold numbers for this case in this round."""
        return bool(self._standing) and _pair(case, number) in self._standing

    def failed_result(self, case: Case, number: int) -> Result | None:
        """Returns the earlier result that says why this case has no numbers in this round, if there is one."""
        return self._bad.get(_pair(case, number)) if self._bad else None

    def replace(self, result: Result) -> None:
        """Notes that an earlier result was measured again."""
        self._replaced.add(result.id)


def earlier_failures(result: Result | None) -> Iterator[Failure]:
    """Returns the failures of earlier attempts, without those where only the run was ended."""
    if result is not None and result.error is not None and result.error.kind != INTERRUPTED:
        yield result.error


def match_cases(run: Run, cases: Sequence[Case], rounds: int, directory: Path) -> list[Case]:
    """The cases as `run` has them; an `OptionError` says why these rounds of them are not what it began with."""
    from benchwright.machine import environment  # every run imports this module, few are resumed

    _refuse_another_harness(run)
    _refuse_another_machine(run, environment.collect())
    _refuse_another_revision(run, directory)
    _refuse_other_cases(run, cases)
    if run.planned and run.planned != len(cases) * rounds:
        raise OptionError(
            f"run {run.id} planned {run.planned} results; {len(cases)} cases in {rounds} rounds make "
            f"{len(cases) * rounds}",
            remedy=_resume_remedy(run),
        )
    return _restore_tags(run, cases)


def _restore_tags(run: Run, cases: Sequence[Case]) -> list[Case]:
    """The cases with the tags they have in `run`.

    One that has no result yet keeps its own, and gets those of the request as it was then: what all the others had and
    are not given now, instead of what they are given now and had not.
    """
    known = {_key(result.case): result.case.tags for result in run.results}
    recorded = [known.get(_key(case)) for case in cases]
    pairs = [(then, case.tags) for then, case in zip(recorded, cases, strict=True) if then is not None]
    first, now_first = pairs[0] if pairs else ((), ())
    typed = [tag for tag in first if all(tag in then and tag not in now for then, now in pairs)]
    dropped = {tag for tag in now_first if all(tag in now and tag not in then for then, now in pairs)}
    return [
        replace(case, tags=(*(tag for tag in case.tags if tag not in dropped), *typed) if then is None else then)
        for then, case in zip(recorded, cases, strict=True)
    ]


def _refuse_another_harness(run: Run) -> None:
    if run.harness != VERSION:
        raise OptionError(
            f"run {run.id} was measured by benchwright {run.harness or 'of unknown version'}; this is {VERSION}",
            remedy=f"continue with that version, or {_ANEW}",
        )


def _refuse_another_machine(run: Run, here: Environment) -> None:
    known = [result.environment for result in run.results if result.environment.machine]
    there = next((e for e in known if schema.environment_key(e) != schema.environment_key(here)), None)
    if there is not None:
        from benchwright.machine import environment

        differences = [
            f"{place} was {theirs!r} and is now {ours!r}"
            for place, theirs, ours in environment.difference(there, here)
            if place.startswith(("machine.", "accelerators.", "system.os", "system.architecture"))
        ]
        raise OptionError(
            f"run {run.id} was measured on another machine: {_list_some(differences)}",
            remedy=f"continue on that machine, or {_ANEW}",
        )


def _refuse_another_revision(run: Run, directory: Path) -> None:
    from benchwright import vcs

    here = vcs.revision(directory) if run.revision else None
    if run.revision and here and here.id != run.revision.id:
        raise OptionError(
            f"run {run.id} is of commit {run.revision.id[:12]}; the project is at {here.id[:12]}",
            remedy=f"continue at that commit, or {_ANEW}",
        )


def _refuse_other_cases(run: Run, cases: Sequence[Case]) -> None:
    wanted = {_key(case) for case in cases}
    recorded = {_key(result.case): result.case for result in run.results}
    strange = [case for key, case in recorded.items() if key not in wanted]
    if strange:
        unmatched = [case for case in cases if _key(case) not in recorded]
        differences = [_describe_difference(case, unmatched) for case in strange]
        raise OptionError(
            f"run {run.id} measured something else: {_list_some(differences)}",
            remedy=_resume_remedy(run),
        )


def _describe_difference(case: Case, others: Sequence[Case]) -> str:
    """How the case differs from the one of this request that it resembles most."""
    label = " ".join([case.name, *(f"{name}={value}" for name, value in case.params.items())])
    mine = dict(_leaves(schema.encode(replace(case, tags=()))))
    found = []
    for other in (each for each in others if each.name == case.name):
        theirs = dict(_leaves(schema.encode(replace(other, tags=()))))
        names = [name for name in dict.fromkeys([*mine, *theirs]) if mine.get(name) != theirs.get(name)]
        found.append([_describe_value(name, mine.get(name), theirs.get(name)) for name in names])
    if not found:
        return f"{label} is not among the cases now"
    return f"{label}: {_list_some(min(found, key=len))}"


def _resume_remedy(run: Run) -> str:
    begun = f" ({shlex.join(run.command)})" if run.command else ""
    return f"repeat the command line that began the run{begun}, or {_ANEW}"


def _describe_value(name: str, there: object, here: object) -> str:
    return "its content has changed" if name == "version" else f"{name} was {there!r} and is now {here!r}"


def _leaves(value: Any, prefix: str = "") -> Iterator[tuple[str, object]]:
    if not isinstance(value, dict):
        yield prefix, value
        return
    for name, item in value.items():
        yield from _leaves(item, f"{prefix}.{name}" if prefix else name)


def _list_some(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - MOST_TOLD} more" if len(texts) > MOST_TOLD else ""
    return "; ".join(texts[:MOST_TOLD]) + more


def _pair(case: Case, number: int) -> tuple[str, int]:
    return _key(case), number


def _key(case: Case) -> str:
    """Returns the identity of a case, without its expected outputs: golden outputs may lie elsewhere the next time."""
    return schema.fingerprint(replace(case, tags=(), expected=None))


def keep_prices(plan: Plan, run: Run) -> Plan:
    """The plan with the prices that the machines of `run` have, also when they are not said again."""
    prices = plan.prices or prices_of(run)
    if len({*prices.values()}) > 1:  # each machine at its own
        return replace(plan, prices=prices)
    return replace(plan, price=price_of(run, plan.price))


def price_of(run: Run, asked: Price | None) -> Price | None:
    """What the machine costs in `run`, also when it is not said again; another price is refused."""
    known = {*prices_of(run).values()}
    if asked is not None and known and known != {asked}:
        shown = "; ".join(sorted(price.basis for price in known))
        raise OptionError(
            f"run {run.id} was priced otherwise ({shown}), not by {asked.basis}",
            remedy="leave --price and --cost-per-hour out",
        )
    return asked if asked is not None or len(known) != 1 else known.pop()


def prices_of(run: Run) -> dict[str, Price]:
    """What each machine of `run` costs, by its name."""
    from benchwright.execution.lanes import host_name  # which measures with what is resumed here

    return {host_name(result) or LOCAL: price for result in run.results if (price := price_of_result(result))}
