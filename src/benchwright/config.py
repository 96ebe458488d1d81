"""Settings from `benchwright.toml`, looked for here and in the folders above."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchwright.errors import DecodeError, OptionError

FILE = "benchwright.toml"
DEFAULT_STORE = ".benchwright/results.db"
QUARANTINES = ("proposed", "automatic", "never")
VERDICTS = ("worse", "better")  # of changes that people may want to be told of
FORGES = ("github", "gitlab", "gitea", "forgejo", "bitbucket", "bitbucket-server", "cgit", "sourcehut", "none")
_MARKS = {
    "commit": ("commit",),
    "compare": ("base", "head"),
    "pull_request": ("number",),
    "author": ("author",),
    "issue": ("title", "body"),
}
_REFERENCE = re.compile(r"\$\{[^}]+\}")
_SECRET_FILE = re.compile(r"\$\{file:([^}]+)\}")  # in a target or a secret: what that file holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """`[notify]`: who is told of findings, and how often."""

    targets: tuple[str, ...] = ()  # addresses; `${NAME}` and `${file:PATH}` stand for secrets
    verdicts: tuple[str, ...] = ("worse",)
    link: str = ""  # a page of yours: {id}, {case}, {metric}, {run} and {revision} are filled in
    per_hour: int = 20  # messages to one target
    together: int = 3  # more findings than this are told in one message


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """`[retention]`: how long a server keeps things, such as "90d" or "2y"; "" keeps everything."""

    samples: str = ""  # raw ones; their distributions and all points stay
    runs: str = ""  # whole runs, points included
    keep_tagged: bool = False  # runs with a tag keep everything


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRules:
    """`[machines]`: what becomes of a machine that is out of its usual, and when this one is fit to measure."""

    # Of a machine whose health is out of its usual; "automatic": it is put into quarantine by itself, and released
    # again. One whose control benchmark became slower is put there in either case, but for "never".
    quarantine: str = "proposed"
    control: str = "6h"  # how often machines of a lab run the control benchmark; "never"
    disk: str = "1GiB"  # that must be free where is measured
    temperature: float = 95.0  # degrees Celsius, up to which it is fit
    ignore: tuple[str, ...] = ()  # what makes it not unfit, by the code that `machines check` shows


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """`[server.sign_in]`: the OpenID Connect provider at which people sign in, and what their groups may do."""

    issuer: str
    client_id: str
    client_secret: str = ""  # `${NAME}` or `${file:PATH}`, never the secret itself; "" for a client that has none
    label: str = "Sign in"  # on the button
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"  # a claim, or the path of one within others: "realm_access.roles"
    groups: Mapping[str, str] = field(default_factory=dict)  # a group -> read, triage, write or admin
    # Of whoever is in none of these groups; "" lets nobody else in. None: read what everyone can read anyway; nothing
    # where reading needs a token, as with many a provider anybody in the world has an account.
    default_role: str | None = None
    idle: str = "12h"  # after which somebody who did nothing has to sign in again
    longest: str = "7d"  # after which everybody has to


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """`[server]`: how people reach `benchwright serve`, and where they sign in."""

    public_url: str = ""  # the address before the proxy
    sign_in: SignIn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """`[project]`: where the code that is measured can be looked at, and the token that may write there."""

    url: str = ""  # the repository's page: https://host/group/name
    forge: str = ""  # one of `vcs.forges.KINDS`, or "none"; as the host is called unless said
    remotes: tuple[str, ...] = ()  # other addresses of it, as runs name them; `*` stands for anything
    # Pages, where the forge's usual ones are not meant: {web} is `url`.
    commit: str = ""  # {commit}
    compare: str = ""  # {base} and {head}
    pull_request: str = ""  # {number}
    author: str = ""  # {author}
    issue: str = ""  # the form for a new issue: {title} and {body}
    api: str = ""  # the address of its interface for programs, where it is not the usual one
    token: str = ""  # `${NAME}` or `${file:PATH}`: what may open issues there


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """`[run]`: what is measured where a command line names no target, and with which options."""

    targets: tuple[str, ...] = ()  # paths count from the folder of the file
    # The flags of `benchwright run` without their dashes: a text, a number, true or false, or a list of these, which
    # is joined with commas where the flag is given once.
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What `benchwright.toml` may say."""

    store: str = ""
    tags: tuple[str, ...] = ()
    cache: str = ""
    rounds: int | None = None  # of a run that does not say how many
    duration: float | None = None  # seconds to measure, in a run that does not say when to stop
    warmup: float | None = None  # seconds of warm-up at most, in a run that does not say
    run: RunSettings = RunSettings()
    notify: Notify = Notify()
    retention: Retention = Retention()
    machines: MachineRules = MachineRules()
    server: ServerConfig = ServerConfig()
    project: Project = Project()
    projects: tuple[Project, ...] = ()  # `[[projects]]`: others whose results are in the same store


def load(start: Path | None = None) -> Config:
    """The nearest `benchwright.toml`, or the defaults."""
    path = nearest_file(start)
    return Config() if path is None else _read_config(path)


def nearest_file(start: Path | None = None) -> Path | None:
    """The `benchwright.toml` here or in the nearest folder above that has one; None where none has."""
    here = (start or Path.cwd()).resolve()
    return next((path for folder in (here, *here.parents) if (path := folder / FILE).is_file()), None)


def store_url(flag: str | None = None) -> str:
    """Which store to use: the flag, else BENCHWRIGHT_STORE, else `benchwright.toml`, else a file here."""
    if flag is not None and not flag.strip():
        raise OptionError("--store is empty", remedy="give a file or a database URL, or leave it out")
    return flag or os.environ.get("BENCHWRIGHT_STORE") or load().store or DEFAULT_STORE


def cache_folder(flag: str | None = None) -> Path:
    """Where fetched models are kept: the flag, else BENCHWRIGHT_CACHE, else `benchwright.toml`, else the user's."""
    if flag is not None and not flag.strip():
        raise OptionError("--cache is empty", remedy="give a folder, or leave it out")
    named = flag or os.environ.get("BENCHWRIGHT_CACHE") or load().cache
    return Path(named).expanduser().absolute() if named else _user_cache() / "benchwright"


def _user_cache() -> Path:
    """Where this platform keeps what can be fetched again."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if Path(stated).is_absolute():  # the standard says to ignore any other
        return Path(stated)
    try:
        home = Path.home()
    except RuntimeError:
        raise OptionError("there is no home folder to keep a cache in", remedy="set BENCHWRIGHT_CACHE") from None
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def state_folder() -> Path:
    """Where this platform keeps what cannot be fetched again: agents' files, the ledger of machines in clouds."""
    stated = os.environ.get("XDG_STATE_HOME", "")
    if Path(stated).is_absolute():
        return Path(stated) / "benchwright"
    try:
        return Path.home() / ".local" / "state" / "benchwright"
    except RuntimeError:
        raise OptionError("there is no home folder to keep a ledger in", remedy="set XDG_STATE_HOME") from None


def _read_config(path: Path) -> Config:
    # The command line's help reads this module, and needs none of these.
    from benchwright import schema
    from benchwright.schema import parsing

    data = parsing.toml_file(path)
    config = schema.decode(Config, data, where=str(path))
    for name, least in (("rounds", 1), ("duration", 1e-9), ("warmup", 0)):
        given = getattr(config, name)
        if given is not None and not least <= given < math.inf:
            raise DecodeError(f"{path}: {name} = {given}", remedy="give a larger number, or leave it out")
    # A relative path counts from the file that states it.
    if config.store and "://" not in config.store:
        config = replace(config, store=str(path.parent / config.store))
    if config.cache:
        config = replace(config, cache=str(path.parent / Path(config.cache).expanduser()))
    config = replace(config, run=_check_run(config.run, path))
    if config.machines.quarantine not in QUARANTINES:
        raise DecodeError(
            f"{path}: machines.quarantine: {config.machines.quarantine!r}", remedy=f"known: {', '.join(QUARANTINES)}"
        )
    project = _check_project(config.project, path, "project")
    others = tuple(_check_project(one, path, f"projects[{i}]") for i, one in enumerate(config.projects))
    server = _find_secret(config.server, path)
    notify = _check_notify(config.notify, path)
    return replace(config, notify=notify, server=server, project=project, projects=others)


def _check_run(run: RunSettings, path: Path) -> RunSettings:
    """The settings whose targets can be given to a command that is called here, wherever the file lies."""
    for name, value in run.options.items():
        if not all(isinstance(one, str | int | float) for one in (value if isinstance(value, list) else [value])):
            raise DecodeError(
                f"{path}: run.options.{name} is neither a text nor a number nor a list of these",
                remedy="write what follows the flag on the command line",
            )
    here = Path.cwd().resolve()
    if not run.targets or here == path.parent:
        return run
    return replace(run, targets=tuple(_path_from(path.parent, target, here) for target in run.targets))


def _path_from(folder: Path, target: str, here: Path) -> str:
    """A target of a file in `folder` as it is called from here; the name of a module or an address stays as it is."""
    file, separator, name = target.partition("::")
    try:
        if Path(file).is_absolute() or not (folder / file).exists():
            return target
    except (OSError, ValueError):  # a name that no file can have: whoever measures it says so
        return target
    return f"{os.path.relpath(folder / file, here)}{separator}{name}"


def _check_notify(notify: Notify, path: Path) -> Notify:
    for name in ("per_hour", "together"):
        if getattr(notify, name) < 1:
            raise DecodeError(f"{path}: notify.{name} = {getattr(notify, name)}", remedy="give a number above 0")
    if unknown := [word for word in notify.verdicts if word not in VERDICTS]:
        raise DecodeError(f"{path}: notify.verdicts: {unknown[0]!r}", remedy=f"known: {', '.join(VERDICTS)}")

    return replace(notify, targets=tuple(_secret_from(path, target) for target in notify.targets))


def _find_secret(server: ServerConfig, path: Path) -> ServerConfig:
    if server.sign_in is None:
        return server
    secret = _secret_from(path, server.sign_in.client_secret)
    return replace(server, sign_in=replace(server.sign_in, client_secret=secret))


def _secret_from(path: Path, text: str) -> str:
    """Returns the text in which a file with a secret is named from the folder of the file at `path`."""
    return _SECRET_FILE.sub(lambda found: f"${{file:{path.parent / Path(found[1]).expanduser()}}}", text)


def _check_project(project: Project, path: Path, where: str) -> Project:
    from benchwright.errors import did_you_mean
    from benchwright.records.code import clean_repository, safe_link

    place = f"{path}: {where}"
    url = clean_repository(project.url)
    if project.url and not url:  # which is not repeated: it may hold a login
        raise DecodeError(f"{place}.url is not the page of a repository", remedy="write https://host/group/name")
    if project.remotes and not url:
        raise DecodeError(f"{place}.remotes needs a url", remedy="write the page that those repositories are shown as")
    if project.forge and project.forge not in FORGES:
        raise DecodeError(f"{place}.forge: {project.forge!r}", remedy=did_you_mean(project.forge, FORGES))
    for name, marks in _MARKS.items():
        template = getattr(project, name)
        _check_template(template, (*marks, "web"), f"{place}.{name}")
    if project.api and not safe_link(project.api):
        raise DecodeError(f"{place}.api is not an address", remedy="write https://host/api/v4, without a login")
    if project.token and not _REFERENCE.fullmatch(project.token.strip()):
        raise DecodeError(
            f"{place}.token is written out",
            remedy="put it into a variable and write ${NAME}, or into a file and write ${file:PATH}",
        )
    return replace(project, url=url, token=_secret_from(path, project.token.strip()))


def _check_template(template: str, marks: tuple[str, ...], place: str) -> None:
    if not template:
        return
    if not template.startswith(("https://", "http://", "{web}")):
        raise DecodeError(f"{place} is not an address", remedy="it starts with https:// or with {web}")
    if unknown := [name for name in re.findall(r"{([^}]*)}", template) if name not in marks]:
        raise DecodeError(f"{place}: {{{unknown[0]}}}", remedy=f"known: {', '.join(f'{{{name}}}' for name in marks)}")
