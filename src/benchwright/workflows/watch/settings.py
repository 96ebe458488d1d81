"""The settings of a watch: which repository, what to measure, how to build and judge; and where its journal lies."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from benchwright import schema
from benchwright.analysis.comparison import SMALLEST
from benchwright.errors import FetchError
from benchwright.events import Listener
from benchwright.execution.builds import TIMEOUT, targets
from benchwright.execution.builds.matrix import ProjectMatrix
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.outposts.host import OutpostHost
from benchwright.records import Case, Target
from benchwright.targets.sources import Request
from benchwright.vcs.history import History, open_repository
from benchwright.workflows.ab.run import BuildSpec
from benchwright.workflows.asv_projects import naming_branches
from benchwright.workflows.asv_projects import settle_project as settle_build
from benchwright.workflows.watch.commits import FollowedBranch
from benchwright.workflows.watch.pairs import PAIRS

FOLDER = Path(".benchwright", "watch")  # below the present folder, one for each watch
BACKFILL = 16  # commits of a gap that are measured at most, for one finding
# Of a request: not what tells watches apart.
_ASIDE = ("inputs", "load", "tags", "listener", "elsewhere", "fetching", "last_paths")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The settings of a watch: which repository, what to measure, how to build and judge."""

    repo: Path
    request: Request
    following: FollowedBranch = field(default_factory=FollowedBranch)
    build: str = ""  # a shell line of the user's own
    build_timeout: float = TIMEOUT
    rebuild: bool = False  # also what was built, or could not be built, before
    surroundings: Surroundings = field(default_factory=Surroundings)
    targets_from: str = targets.AUTO
    rounds: int | None = None
    smallest: float = SMALLEST  # changes below this are none, where no threshold is set
    backfill: int = BACKFILL
    pairs: int = PAIRS  # of both sides of a suspected change, before anybody is told; 0: none
    cpus: Sequence[int] = ()
    status_file: Path | None = None
    same_host: bool = False  # take turns with every other watch on this machine
    store: str | None = None
    command: Sequence[str] = ()  # kept with each run
    host: OutpostHost | None = None  # the machine that builds and measures; None: this one
    others: Sequence[OutpostHost] = ()  # equal machines: all of them share the cases of each commit out
    project: ProjectMatrix | None = None  # of asv: its file says how revisions are built
    falls_back: bool = False  # what a machine that is away would measure is measured on the others


def settle_project(watched: Watched, listener: Listener) -> Watched:
    """The settings as an asv project says where one is watched: its repository, and the first branch that it names."""
    request, making = settle_build(watched.request, build_spec(watched, watched.host), listener)
    if making.project is None:
        return watched
    following = watched.following
    if not following.branch and making.project.file.config.branches:
        following = replace(following, branch=making.project.file.config.branches[0])
        # A server that is away is told, and waited for, by whoever follows the branch.
        with naming_branches(making.project.file), contextlib.suppress(FetchError):
            open_repository(making.repo).bring(following.remote, following.branch)
    return replace(watched, request=request, project=making.project, repo=making.repo, following=following)


def build_spec(watched: Watched, host: OutpostHost | None) -> BuildSpec:
    """How the watch builds revisions on one of its machines."""
    return BuildSpec(
        repo=watched.repo,
        command=watched.build,
        timeout=watched.build_timeout,
        surroundings=watched.surroundings,
        host=host,
        project=watched.project,
        targets_from=watched.targets_from,
    )


def journal_folder(watched: Watched, repository: History, url: str) -> Path:
    """One for each combination of repository, branch, build, store and all that makes a series of its own."""
    place = url if "://" in url else str(Path(url).absolute())
    told = [
        str(repository.root),
        watched.following.branch,
        watched.build,
        _identify_request(watched.request),
        place,
    ]
    told += [name] if (name := watched.surroundings.name) else []
    told += sorted(host.name for host in (watched.host, *watched.others) if host is not None)
    key = hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]
    return FOLDER / f"{repository.root.name}-{key}"


def _identify_request(request: Request) -> str:
    """A text that names what a request measures. How long is no part of it: a watch that is given more time goes on."""
    how = schema.case_key(Case(name="", target=Target(uri="", runtime=""), inputs=request.inputs, load=request.load))
    crossed = {each.name: getattr(request, each.name) for each in fields(request) if each.name not in _ASIDE}
    return json.dumps(schema.encode({**crossed, "how": how}), sort_keys=True)
