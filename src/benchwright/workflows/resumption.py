"""Going on with a run that is in the store: what began it, and the plan of what is left of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from benchwright import config
from benchwright.errors import OptionError, TargetError
from benchwright.execution.plans import Plan
from benchwright.records import Run
from benchwright.system.masking import HIDDEN

_MOST_SHOWN = 200  # letters of a command line


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunRun:
    """A run in the store, and the words that followed `benchwright run`, or another verb, when it was begun."""

    run: Run
    words: tuple[str, ...]
    verb: str = "run"

    @property
    def line(self) -> str:
        """The command line, for messages."""
        whole = shlex.join(("benchwright", self.verb, *self.words))
        return whole if len(whole) <= _MOST_SHOWN else f"{whole[:_MOST_SHOWN]} ..."

    @contextmanager
    def explain(self) -> Iterator[None]:
        """Says of an error within that it is the original command line that could not be repeated, and why."""
        try:
            yield
        except TargetError as error:
            raise TargetError(self._cannot(error.message), remedy=self._where(error.remedy)) from None
        except OptionError as error:
            remedy = error.remedy
            if self.line in remedy or shlex.join(self.run.command) in remedy:  # which was just done
                remedy = "what it measures, or how, has changed since: measure a new run, without --resume"
            raise OptionError(self._cannot(error.message), remedy=remedy) from None

    def _cannot(self, why: str) -> str:
        return f"run {self.run.id} was begun by `{self.line}`, which cannot be repeated here: {why}"

    def _where(self, remedy: str) -> str:
        """What to do about a target that is not here: go where it was."""
        measured = next((r.case.target.uri for r in self.run.results if r.case.target.uri.startswith("/")), "")
        told = f"go to the folder in which it was begun{f' (it measured {measured})' if measured else ''}"
        return f"{told}, or measure a new run, without --resume" + (f"; {remedy}" if remedy else "")


def find_begun(reference: str, store: str | None, verb: str = "run") -> BegunRun:
    """The run that a reference names and what began it; an `OptionError` where its command line is not known.

    `verb` is the one that goes on with it, and must have begun it.
    """
    from benchwright.store import open_store

    with closing(open_store(config.store_url(store), create=False)) as kept:
        run = kept.run(kept.find(reference), samples=False)
    anew = f"name what it measured: benchwright {verb} TARGET --resume {run.id}"
    other = "tune" if run.race is not None else "run"
    if other != verb:
        anew = f"benchwright {other} --resume {run.id} goes on with it"
    if not run.command:
        raise OptionError(
            f"run {run.id} keeps no command line: it was begun from Python, or another tool's file was read",
            remedy=f"repeat the call with resume={run.id!r}, or {anew}",
        )
    if run.command[:2] != ("benchwright", verb):
        shown = shlex.join(run.command[:2])
        raise OptionError(f"run {run.id} was begun by `{shown}`, which --resume does not repeat", remedy=anew)
    if any(HIDDEN in word for word in run.command):
        raise OptionError(
            f"the command line of run {run.id} held a secret, which was not kept: {shlex.join(run.command)}",
            remedy=f"write it once more with the secret, and --resume {run.id}",
        )
    return BegunRun(run=run, words=run.command[2:], verb=verb)


def resume_plan(plan: Plan, reference: str, *, store: str | None, save: bool) -> Plan:
    """The plan as the continuation of a run in the store, or an `OptionError` that says why it cannot be one."""
    if not save:
        raise OptionError("a resumed run is always saved in its store", remedy="leave out --no-save, or --resume")
    from benchwright.execution.resume import keep_prices, match_cases
    from benchwright.store import open_store

    with closing(open_store(config.store_url(store), create=False)) as kept:
        run = kept.run(kept.find(reference))
    cases = match_cases(run, plan.cases, plan.rounds, plan.directory)
    return keep_prices(replace(plan, cases=cases, resumed=run), run)
