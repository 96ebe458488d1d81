"""A project of asv as a target: its repository, its branch, and a run of its newest commit in every environment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright import config, vcs
from benchwright.errors import FetchError, OptionError, TargetError
from benchwright.events import Listener, Noted, nobody
from benchwright.execution.builds import BuiltRevision
from benchwright.execution.builds.matrix import MatrixBuilder, ProjectMatrix
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.hosts.matrix import ENVIRONMENT
from benchwright.records import Case, Revision
from benchwright.targets.asv.config import AsvFile, is_config, read_config
from benchwright.targets.asv.environments import EXISTING, AsvEnvironment, environments_of
from benchwright.targets.sources import Request
from benchwright.vcs.checkouts import Repository, checkout
from benchwright.vcs.history import open_repository
from benchwright.worker.runtimes.asv import CACHE_VARIABLE, NAME, SESSION_VARIABLE, SuiteWork

if TYPE_CHECKING:
    from benchwright.workflows.ab.run import BuildSpec

_CONDA = ("conda", "mamba", "rattler")  # kinds of environments whose packages are conda's
AS_IT_IS = "--environment here measures the working copy as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsvProject:
    """An asv project that was asked for: how its revisions are built, and the request that measures them."""

    matrix: ProjectMatrix
    request: Request

    @property
    def branch(self) -> str:
        """The first branch that the project names; "" where it names none."""
        return next(iter(self.matrix.file.config.branches), "")

    def builder(self, *, timeout: float | None = None, listener: Listener = nobody) -> MatrixBuilder:
        """Makes its revisions ready in every environment."""
        return MatrixBuilder(self.matrix, timeout=timeout, listener=listener)


def open_project(
    request: Request,
    *,
    surroundings: Surroundings | None = None,
    repo: Path = Path(),
    one_state: bool = False,
    listener: Listener = nobody,
) -> AsvProject | None:
    """The project whose `asv.conf.json` is a target of the request; None where no target is one.

    `repo` is another repository than the file names. With `one_state`, what is measured as it is needs none. What the
    file says that means nothing here is told.
    """
    named = [target for target in request.targets if is_config(target)]
    if not named:
        return None
    if len(request.targets) > 1 or request.command:
        raise OptionError(f"{named[0]} is measured alone", remedy="give what else there is a command of its own")
    file = read_config(named[0])
    file.check_suite()
    params = dict(request.params)
    only = tuple(map(str, params.pop(ENVIRONMENT, ())))
    matrix = ProjectMatrix(
        file=file, repository=repo.absolute(), surroundings=surroundings or Surroundings(), only=only
    )
    if one_state and matrix.is_existing:
        matrix = replace(matrix, repository=_find_working_copy(file))
    elif repo == Path():
        with _naming_what_needs_none(one_state):
            matrix = replace(matrix, repository=_find_repository(file, listener))
    if matrix.is_existing and not {*only} <= {EXISTING}:
        raise OptionError(f"{only[0]} is not built: this Python measures", remedy="leave out --param environment")
    for note in (*file.notes, *_remarks(matrix)):
        listener(Noted(text=note))
    _, separator, pattern = named[0].partition("::")
    return AsvProject(
        matrix=matrix, request=replace(request, targets=[f"{file.path}{separator}{pattern}"], params=params)
    )


def settle_project(request: Request, making: BuildSpec, listener: Listener) -> tuple[Request, BuildSpec]:
    """A request and how its revisions are built, as an asv project says where one is the target."""
    if not any(map(is_config, request.targets)):
        return request, making
    refuse(
        {
            "--host": making.host is not None,
            "--build": bool(making.command),
            "--targets-from": making.targets_from == "revision",
        }
    )
    project = open_project(request, surroundings=making.surroundings, repo=making.repo, listener=listener)
    assert project is not None
    return project.request, replace(making, project=project.matrix, repo=project.matrix.repository)


def refuse(given: dict[str, bool]) -> None:
    """Refuses what does not go together with an asv project."""
    remedies = {
        "--build": "asv.conf.json says how it is built: build_command and install_command",
        "--targets-from": "as in asv, the benchmarks of the present folder measure every commit",
    }
    for flag in (flag for flag, is_given in given.items() if is_given):
        raise OptionError(f"{flag} does not apply to an asv project", remedy=remedies.get(flag, "leave it out"))


def prepare_newest(project: AsvProject, listener: Listener, scratch: str = "") -> BuiltRevision:
    """The newest commit of the project's branch in every environment, or its working copy as it is.

    A `TargetError` says why it could be built in none. `scratch` is a folder for what `setup_cache` makes of a working
    copy, whose state has no name.
    """
    if project.matrix.is_existing:
        return _take_as_it_is(project, scratch)
    builder = project.builder(listener=listener)
    is_clone = project.matrix.repository.is_relative_to(config.cache_folder())
    with naming_branches(project.matrix.file):
        commit = newest_commit(builder, project.branch, fetches=is_clone)
    here = vcs.revision(builder.repository.root)
    if here is not None and here.dirty and here.id == commit.id:
        listener(Noted(text=f"changes that are not committed are not measured; {AS_IT_IS}"))
    built = builder.prepare(commit.id, retries=True)
    if built.failure is not None:
        raise TargetError(
            built.failure.message,
            remedy="\n  ".join(
                filter(None, (built.failure.remedy, built.failure.log_tail.rstrip(), f"or: {AS_IT_IS}"))
            ),
        )
    return replace(built, revision=commit)


@contextlib.contextmanager
def naming_branches(file: AsvFile) -> Iterator[None]:
    """Has an error about a branch that the file names, and the repository lacks, say where that is written."""
    try:
        yield
    except TargetError as error:
        if not file.config.branches:
            raise
        raise TargetError(
            f'{file.path.name}: "branches" begins with {file.config.branches[0]}, and {error.message}',
            remedy=error.remedy,
        ) from None


def newest_commit(builder: MatrixBuilder, branch: str, *, fetches: bool) -> Revision:
    """The newest commit of a branch, with `fetches` of the origin's; where none is named, of what is checked out."""
    repository = builder.repository
    if not branch:
        name = "HEAD" if repository.kind == "git" else "."
        here = vcs.revision(repository.root)
        return replace(repository.resolve(name).revision, branch=here.branch if here else "")
    found = repository.bring("origin", branch) if fetches else repository.resolve(branch)
    return replace(found.revision, branch=branch)


def without_rounds(cases: Sequence[Case]) -> list[Case]:
    """The cases, of which none says itself how many rounds it gets: somebody asked for a number."""
    return [_without_rounds(case) if case.target.runtime == NAME else case for case in cases]


def _without_rounds(case: Case) -> Case:
    work = replace(SuiteWork.of(case), rounds=None)
    return replace(case, target=replace(case.target, work=work.text()))


def _remarks(project: ProjectMatrix) -> list[str]:
    """What is done otherwise than the file says, where that makes a difference."""
    said, name = project.file.config, project.file.path.name
    if project.is_existing:
        return []
    found = []
    if said.environment_type in _CONDA and any(map(_names_packages, environments_of(project.file))):
        found.append(f"{name}: packages of the matrix come from pip, not from conda as {said.environment_type} has it")
    if len(said.branches) > 1:
        others = ", ".join(said.branches[1:])
        found.append(f"{name}: {said.branches[0]} is measured; --branch of `watch` follows the others: {others}")
    return found


def _names_packages(environment: AsvEnvironment) -> bool:
    """Whether an environment has packages that asv would get from conda."""
    return any(not name.startswith("pip+") for name in environment.requirements)


def _find_repository(file: AsvFile, listener: Listener) -> Path:
    """The repository of the project: around a folder, or a clone of what has no working copy here."""
    repo = file.config.repo
    folder = (file.folder / Path(repo).expanduser()).resolve()
    is_bare = _is_bare(folder)
    if folder.is_dir() and not is_bare:
        return open_repository(folder).root
    if not is_bare and "://" not in repo and ":" not in repo:
        raise TargetError(
            f"{file.path.name}: there is no repository {folder}", remedy='see "repo", which starts from the file'
        )
    if file.config.dvcs not in ("", "git"):
        raise TargetError(
            f"{file.path.name}: {repo} is cloned with git alone, and dvcs is {file.config.dvcs}",
            remedy="clone it by hand, and name the clone with --repo FOLDER",
        )
    wanted = Repository(url=str(folder) if is_bare else repo)
    digest = hashlib.sha256(wanted.url.encode()).hexdigest()[:12]
    clone = config.cache_folder() / "repositories" / f"{wanted.name}-{digest}"
    listener(Noted(text=f"{file.path.name}: measuring a clone of {wanted.name} in {clone}"))
    checkout(wanted, clone)
    return clone


def _find_working_copy(file: AsvFile) -> Path:
    """What is measured as it is: the project around the file, in a repository or unpacked from an archive."""
    named = (file.folder / Path(file.config.repo).expanduser()).resolve()
    folder = named if named.is_dir() and not _is_bare(named) else file.folder
    try:
        return open_repository(folder).root
    except TargetError:
        return folder


@contextlib.contextmanager
def _naming_what_needs_none(one_state: bool) -> Iterator[None]:
    """Has an error about the repository say that `--environment here` needs none, where that is so."""
    try:
        yield
    except (TargetError, FetchError) as error:
        if not one_state:
            raise
        raise type(error)(error.message, remedy=f"{AS_IT_IS}, without a repository") from None


def _is_bare(folder: Path) -> bool:
    return (folder / "objects").is_dir() and (folder / "HEAD").is_file()


def _take_as_it_is(project: AsvProject, scratch: str) -> BuiltRevision:
    root = project.matrix.repository
    revision = vcs.revision(root) or Revision(vcs="", id=root.name)
    bare = BuiltRevision(revision=revision, folder=root, python=sys.executable, log=Path(os.devnull), label=EXISTING)
    whole = replace(bare, variables={CACHE_VARIABLE: scratch, SESSION_VARIABLE: os.urandom(8).hex()})
    return replace(whole, parts=(whole,))
