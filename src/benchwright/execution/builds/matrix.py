"""A revision in several environments: one `Builder` for each environment of an asv project's matrix.

What comes of it looks like one built revision, so that everything that measures revisions measures these. An
environment that cannot be had, or in which the revision cannot be built, is told; the others are measured.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchwright.errors import TargetError, did_you_mean
from benchwright.events import Listener, Noted, nobody
from benchwright.execution.builds import Builder, BuiltRevision
from benchwright.execution.builds.surroundings import HERE, Surroundings
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.venvs import commands
from benchwright.execution.venvs.pythons import find_python
from benchwright.machine import environment
from benchwright.records import Environment
from benchwright.targets.asv.commands import asv_variables, build_line
from benchwright.targets.asv.config import AsvFile
from benchwright.targets.asv.environments import EXISTING, AsvEnvironment, environments_of
from benchwright.vcs.history import History
from benchwright.worker.runtimes.asv import CACHE_VARIABLE, SESSION_VARIABLE

CACHES = "setup_cache"  # beside a revision's working copy: what `setup_cache` made


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectMatrix:
    """An asv project as revisions of it are to be built."""

    file: AsvFile
    repository: Path
    surroundings: Surroundings = field(default_factory=Surroundings)
    only: tuple[str, ...] = ()  # the names of the environments that are wanted; none: all

    @property
    def is_existing(self) -> bool:
        """Whether benchmarks run in the environment that this program runs in, and nothing is installed."""
        return self.file.config.environment_type == EXISTING or self.surroundings.environment == HERE


class MatrixBuilder:
    """Makes revisions ready in every environment of the project; it offers what a `Builder` does."""

    host: OutpostHost | None = None

    def __init__(
        self,
        project: ProjectMatrix,
        *,
        timeout: float | None = None,
        root: Path | None = None,
        listener: Listener = nobody,
    ) -> None:
        self._project, self._listener = project, listener
        self._session = os.urandom(8).hex()
        limit = timeout or project.file.config.install_timeout
        self._builders = [(made, self._builder_of(made, python, limit, root)) for made, python in self._environments()]

    @property
    def repository(self) -> History:
        """The repository whose revisions are built."""
        return self._builders[0][1].repository

    @property
    def names(self) -> list[str]:
        """The names of the environments."""
        return [_name_of(made) for made, _ in self._builders]

    def prepare(self, name: str, *, rebuild: bool = False, retries: bool = False) -> BuiltRevision:
        """The revision in every environment; its own failure where it could be built in none.

        With `retries`, what could not be built earlier is built again.
        """
        parts = tuple(
            self._finish(made, _prepare(builder, name, rebuild=rebuild, retries=retries))
            for made, builder in self._builders
        )
        for part in parts:
            if part.failure is not None and any(other.ok for other in parts):
                self._listener(Noted(text=f"{part.label}: {part.failure.message}; {part.failure.remedy}"))
        first = next((part for part in parts if part.ok), parts[0])
        return replace(first, parts=parts)

    def collect_environment(self) -> Environment:
        """The environment of the machine that measures."""
        return environment.collect()

    def lend(self, folders: Sequence[str]) -> None:
        """Puts folders of the user's own behind `sys.path` of every revision that is prepared from now on."""
        for _, builder in self._builders:
            builder.lend(folders)

    def drop(self, name: str) -> None:
        """Forgets a revision with all that was built of it."""
        for _, builder in self._builders:
            builder.drop(name)

    def _environments(self) -> list[tuple[AsvEnvironment | None, str]]:
        """Every environment with its interpreter; those that have none are told and left out."""
        if self._project.is_existing:
            return [(None, "")]
        found: list[tuple[AsvEnvironment | None, str]] = []
        reasons: dict[str, None] = {}
        for made in self._wanted(environments_of(self._project.file)):
            python = find_python(made.python)
            if python.path:
                found.append((made, python.path))
            else:
                reasons[python.why] = None
        for why in reasons:
            self._listener(Noted(text=f"{self._project.file.path.name}: left out: {why}"))
        name = self._project.file.path.name
        if not found:
            raise TargetError(
                f"{name}: no environment can be made: {'; '.join(reasons) or 'all are excluded'}",
                remedy="--environment here measures with the packages of this Python",
            )
        return found

    def _wanted(self, known: Sequence[AsvEnvironment]) -> list[AsvEnvironment]:
        """The environments that were asked for by name; a name that none has is refused."""
        names = [made.name for made in known]
        for name in self._project.only:
            if name not in names:
                raise TargetError(
                    f"{self._project.file.path.name}: there is no environment {name!r}",
                    remedy=did_you_mean(name, names),
                )
        return [made for made in known if not self._project.only or made.name in self._project.only]

    def _builder_of(self, made: AsvEnvironment | None, python: str, timeout: float, root: Path | None) -> Builder:
        around = self._project.surroundings
        if made is None:
            around = replace(around, environment=HERE)
            return Builder(
                self._project.repository, timeout=timeout, root=root, surroundings=around, listener=self._listener
            )
        around = replace(around, install=(*made.pip_requirements, *around.install))
        return Builder(
            self._project.repository,
            command=build_line(self._project.file, made),
            timeout=timeout,
            root=root,
            python=python,
            surroundings=around,
            listener=self._listener,
            title=f" for {replace(made, run_variables={}).name}",
        )

    def _finish(self, made: AsvEnvironment | None, built: BuiltRevision) -> BuiltRevision:
        if built.failure is not None and built.failure.kind == commands.LATE:
            remedy = f'give more seconds as "install_timeout" in {self._project.file.path.name}'
            built = replace(built, failure=replace(built.failure, remedy=remedy))
        caches = built.folder.parent / CACHES
        variables = {CACHE_VARIABLE: str(caches), SESSION_VARIABLE: self._session}
        if made is not None:
            variables |= {**asv_variables(self._project.file, made), "ASV_COMMIT": built.revision.id}
        return replace(
            built,
            label=_name_of(made),
            variables=variables,
            imports_copy=made is None,
        )


def _prepare(builder: Builder, name: str, *, rebuild: bool, retries: bool) -> BuiltRevision:
    built = builder.prepare(name, rebuild=rebuild)
    is_old_failure = built.cached and not built.ok
    return builder.prepare(name, rebuild=True) if retries and is_old_failure else built


def _name_of(made: AsvEnvironment | None) -> str:
    return EXISTING if made is None else made.name
