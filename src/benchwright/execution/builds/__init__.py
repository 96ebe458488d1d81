"""Revisions made ready to be measured: a working copy and an environment of its own for each, built once.

The user's own working copy is never touched. What was built is kept and found again; what was cut off never looks
built; what failed by itself is remembered with the end of its log, and not tried again unless asked.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from benchwright import config, schema
from benchwright.errors import BenchwrightError, DecodeError
from benchwright.events import Listener, Noted, Staged, nobody
from benchwright.execution.builds.surroundings import HERE, RevisionNeeds, Surroundings, needs_of
from benchwright.execution.outposts.environment_desk import WorkTerms
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.outposts.revisions import RevisionThere
from benchwright.execution.venvs import commands, environments
from benchwright.machine import environment
from benchwright.records import Environment, Failure, Revision
from benchwright.schema.parsing import json_value
from benchwright.system import streams, whole_files
from benchwright.system.locks import hold_lock
from benchwright.vcs.history import History, open_repository

MARK = "built.json"  # written last: a folder without it was cut off
LOG = "build.log"
TIMEOUT = 3600.0  # seconds a build may take
_FORM = "2"  # of what is kept: another number, and nothing that was kept before is found


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRevision:
    """A revision that can be measured, or the reason why it cannot."""

    revision: Revision
    folder: Path  # its working copy
    python: str  # the interpreter to measure with
    log: Path
    failure: Failure | None = None
    seconds: float = 0.0
    cached: bool = False  # it was there from before
    last_paths: tuple[str, ...] = ()  # what goes behind `sys.path`: folders of the user's own benchmark files
    own: bool = False  # its environment holds nothing but its own packages
    warnings: tuple[str, ...] = ()  # what is not as its files say
    there: RevisionThere | None = None  # the machine that it is measured on, where that is not this one
    variables: Mapping[str, str] = field(default_factory=dict)  # more environment variables, for what is measured
    imports_copy: bool = True  # what is measured imports the project from its working copy; else as it was installed
    label: str = ""  # of several environments: the name of this one
    parts: tuple[BuiltRevision, ...] = ()  # the revision in each of several environments

    @property
    def ok(self) -> bool:
        """Whether the revision was built."""
        return self.failure is None

    @property
    def environment(self) -> dict[str, str]:
        """Returns the environment variables for every process that runs in the built revision."""
        told = environments.variables(Path(self.python), self.revision.id, self.folder, own=self.own)
        return {**told, **self.variables}

    @property
    def packages(self) -> dict[str, str]:
        """What is installed in an environment of its own, the project itself apart: name and version."""
        if self.there is not None:
            return dict(self.there.packages)
        return environments.packages(Path(self.python)) if self.own else {}

    @property
    def paths(self) -> tuple[str, ...]:
        """What goes in front of `sys.path`: the working copy, and its `src` where there is one; or nothing."""
        if not self.imports_copy:
            return ()
        source = self.folder / "src"
        return (str(self.folder), *([str(source)] if source.is_dir() else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BuildMark:
    """The note that a finished build leaves in its folder."""

    failure: Failure | None
    seconds: float
    python: str
    warnings: tuple[str, ...] = ()


class RevisionBuilder(Protocol):
    """Whatever makes revisions ready: in one environment, or in several."""

    host: OutpostHost | None

    @property
    def repository(self) -> History:
        """The repository whose revisions are built."""
        ...

    def prepare(self, name: str, *, rebuild: bool = False) -> BuiltRevision:
        """The revision that `name` means, built now or found as it was built."""
        ...

    def collect_environment(self) -> Environment:
        """The environment of the machine that measures."""
        ...

    def lend(self, folders: Sequence[str]) -> None:
        """Puts folders of the user's own behind `sys.path` of every revision that is prepared from now on."""
        ...


class Builder:
    """Makes working copies of the repository around `repo` ready, each with an environment.

    `command`, a shell line of the user's own, builds in an environment of the revision's own, first in PATH, so that
    `pip install -e .` goes there. Without one, what the revision's files say that it needs is installed; revisions that
    need the same share an environment. `root` is where all of it is kept. `listener` hears what
    takes long, and once of each thing that is not as a revision's files say. With `host`, working copies are made here
    and sent to that machine; environments are made there, and the build line is run there. `title` is what people read
    behind the name of a revision while it is built, instead of the line.
    """

    def __init__(
        self,
        repo: Path,
        *,
        command: str = "",
        root: Path | None = None,
        timeout: float = TIMEOUT,
        python: str = "",
        surroundings: Surroundings | None = None,
        listener: Listener = nobody,
        host: OutpostHost | None = None,
        title: str = "",
    ) -> None:
        self._repository = open_repository(repo)
        self.host = host
        self._command, self._timeout, self._listener = command, timeout, listener
        self._told: set[str] = set()
        self._title = title or f": {command}"
        self._lent: tuple[str, ...] = ()
        self._around = surroundings or Surroundings()
        self._around.check()
        self._python = python or sys.executable
        version = ".".join(map(str, sys.version_info[:3]))
        told = [_FORM, str(self.repository.root)]
        # Of what is measured elsewhere only the working copy is kept here, and that is the same for every machine.
        told += (
            [command, self._python, version, *self._around.key()] if host is None else ["sent", self._around.submodules]
        )
        key = hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]
        self._root = (root or config.cache_folder() / "builds") / f"{self.repository.root.name}-{key}"
        self._made: set[str] = set()  # shared environments that this object has made: --rebuild makes each once

    @property
    def repository(self) -> History:
        """The repository whose revisions are built."""
        return self._repository

    def prepare(self, name: str, *, rebuild: bool = False) -> BuiltRevision:
        """The revision that `name` means, built now or found as it was built; of several processes one builds.

        A build that fails is an answer, not an exception; a name that means nothing is a `TargetError`.
        """
        revision = self.repository.resolve(name).revision
        place = self._root / revision.id
        place.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(place.with_name(f".{revision.id}.lock")):
            built = self._find_built(place, revision)
            if built is None or rebuild:
                self._clear(place)
                built = self._build(place, revision, rebuild=rebuild)
        self._warn(built)
        return self._send(built, self.host, rebuild=rebuild) if self.host is not None and built.ok else built

    def collect_environment(self) -> Environment:
        """The environment of the machine that measures."""
        return environment.collect() if self.host is None else self.host.environment()

    def lend(self, folders: Sequence[str]) -> None:
        """Puts folders of the user's own behind `sys.path` of every revision that is prepared from now on."""
        self._lent = tuple(folders)

    def drop(self, name: str) -> None:
        """Forgets a revision with all that was built of it."""
        revision = self.repository.resolve(name).revision
        with hold_lock((self._root / revision.id).with_name(f".{revision.id}.lock")):
            self._clear(self._root / revision.id)

    def _find_built(self, place: Path, revision: Revision) -> BuiltRevision | None:
        try:
            told = schema.decode(_BuildMark, json_value(streams.read_text(place / MARK)), where=MARK)
            if not (place / "work").is_dir() or not Path(told.python).exists():
                return None
        except (OSError, ValueError, DecodeError):
            return None
        failure = told.failure
        if failure is not None:
            failure = replace(failure, message=f"{failure.message} earlier; --rebuild builds it again")
        built = self._answer(place, revision, told.python)
        return replace(built, cached=True, failure=failure, seconds=told.seconds, warnings=told.warnings)

    def _build(self, place: Path, revision: Revision, *, rebuild: bool) -> BuiltRevision:
        begin = time.monotonic()
        short = revision.id[:12]
        builds = bool(self._command) and self.host is None
        doing = f"building {short}{self._title}" if builds else f"making a working copy of {short}"
        self._listener(Staged(text=doing))
        (place / "tmp").mkdir(parents=True)
        built = self._answer(place, revision, self._python)
        try:
            left_out = self.repository.work_copy(revision.id, built.folder, submodules=self._around.submodules)
            built = replace(built, warnings=tuple(left_out))
            built = self._in_environment(place, built, rebuild=rebuild)
        except (BenchwrightError, OSError) as error:
            remedy = getattr(error, "remedy", "")
            message = f"no working copy of {revision.id[:12]}: {error}"
            built = replace(built, failure=Failure(kind="copy", message=message, remedy=remedy))
        built = replace(built, seconds=time.monotonic() - begin)
        failure = built.failure
        if failure is None or failure.kind == commands.OWN_FAULT:  # others may not happen again
            told = {"failure": schema.encode(failure), "seconds": built.seconds}
            noted = {**told, "python": built.python, "warnings": built.warnings}
            whole_files.write_text(place / MARK, json.dumps(noted), durable=True)
        return built

    def _in_environment(self, place: Path, built: BuiltRevision, *, rebuild: bool) -> BuiltRevision:
        """The revision with the environment that it is measured in, and with why it has none, if so."""
        needs = RevisionNeeds() if self._command else needs_of(built.folder)
        if needs.unread:
            unread = f"what {needs.unread} asks for is not installed; --build 'pip install -e .' installs it"
            built = replace(built, warnings=(*built.warnings, unread))
        if not self._command and self._around.environment == HERE and not self._around.install:
            return built  # as everything that is installed here, so is what it needs
        if self.host is not None:
            return built
        if self._command:
            return self._build_with_command(place, built)
        if self._around.lock is not None:
            needs = RevisionNeeds(file=str(self._around.lock), content=self._around.lock.read_text(encoding="utf-8"))
        elif self._around.environment == HERE:
            needs = RevisionNeeds()
        return self._sharing(place, built, needs, rebuild=rebuild)

    def _send(self, built: BuiltRevision, host: OutpostHost, *, rebuild: bool) -> BuiltRevision:
        """The revision on the machine that measures it, with why it cannot be measured there, if so."""
        from benchwright.execution.builds.elsewhere import order_environment

        order = order_environment(
            self._around,
            built.folder,
            command=self._command,
            revision=built.revision.id,
            timeout=self._timeout,
            again=rebuild,
        )
        terms = WorkTerms(order=order, folder=str(built.folder), revision=built.revision.id, own=True)
        there = RevisionThere(host, terms, self._listener)
        made = there.prepare(built.paths)
        return replace(
            built,
            there=there,
            own=True,
            python=made.python,
            failure=made.failure,
            cached=made.cached,
            seconds=built.seconds + made.seconds,
        )

    def _build_with_command(self, place: Path, built: BuiltRevision) -> BuiltRevision:
        folder = place / "environment"
        environments.make(folder, self._python, sees_here=self._around.environment == HERE)
        built = replace(built, python=str(environments.interpreter(folder)))
        failure = self._install(folder, built, RevisionNeeds(), log=built.log)
        if failure is None:
            variables = {**built.environment, **self._around.variables}
            what = built.revision.id[:12]
            failure = commands.run(
                self._command, built.folder, variables, log=built.log, timeout=self._timeout, what=what
            )
        return replace(built, failure=failure)

    def _sharing(self, place: Path, built: BuiltRevision, needs: RevisionNeeds, *, rebuild: bool) -> BuiltRevision:
        """The revision in an environment that all share who need the same; made where there is none yet."""
        told = [*needs.pip_arguments, needs.content, *([] if needs.can_be_shared else [built.revision.id])]
        key = hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]
        shared = self._root / "environments" / key
        folder = shared / "environment"
        built = replace(built, python=str(environments.interpreter(folder)))
        shared.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(shared.with_name(f".{key}.lock")):
            if (shared / MARK).is_file() and not (rebuild and key not in self._made):
                return built
            (shared / MARK).unlink(missing_ok=True)
            commands.end_left_over(shared / LOG)
            environments.remove(shared)
            shared.mkdir()
            environments.make(folder, self._python, sees_here=self._around.environment == HERE)
            failure = self._install(folder, built, needs, log=shared / LOG)
            if failure is None:
                noted = json.dumps({"needs": needs.pip_arguments})
                whole_files.write_text(shared / MARK, noted, durable=True)
                self._made.add(key)
        return replace(built, failure=failure)

    def _install(self, folder: Path, built: BuiltRevision, needs: RevisionNeeds, *, log: Path) -> Failure | None:
        """Installs the packages that the revision needs, and those that `--install` names."""
        wanted = [*needs.pip_arguments, *self._around.install]
        if not wanted:
            return None
        self._listener(Staged(text=f"installing {' '.join(wanted)}"))
        command = environments.install_command(folder, [*self._around.pip_arguments, *wanted])
        what = built.revision.id[:12]
        failed = commands.run(command, built.folder, built.environment, log=log, timeout=self._timeout, what=what)
        if failed is None or failed.kind != commands.OWN_FAULT:
            return failed
        remedy = f"see {log}; without a network, --environment here takes what is installed here"
        message = f"what {what} needs could not be installed: {' '.join(wanted)}"
        return replace(failed, kind="packages", message=message, remedy=remedy)

    def _answer(self, place: Path, revision: Revision, python: str) -> BuiltRevision:
        own = self._around.environment != HERE
        bare = BuiltRevision(revision=revision, folder=place / "work", python=python, log=place / LOG)
        return replace(bare, own=own, last_paths=self._lent)

    def _warn(self, built: BuiltRevision) -> None:
        for text in built.warnings:
            if text not in self._told:
                self._told.add(text)
                self._listener(Noted(text=f"{built.revision.id[:12]}: {text}"))

    def _clear(self, place: Path) -> None:
        (place / MARK).unlink(missing_ok=True)  # first: what is half gone does not look built
        commands.end_left_over(place / LOG)
        self.repository.drop(place / "work")
        environments.remove(place)
