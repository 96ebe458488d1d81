"""The flags of FAI-PEP's repo_driver.py. What it does not know goes to the harness, which knows or refuses it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from benchwright.errors import OptionError

KINDS = ("git", "hg")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFlags:
    """The flags of the repository driver, as somebody gave them."""

    framework: str
    platforms: tuple[str, ...]
    exec_dir: Path
    repo_dir: Path
    frameworks_dir: Path | None = None
    kind: str = "git"
    remote: str = "origin"
    branch: str = "master"
    commit: str = ""  # "": the branch's newest
    commit_file: Path | None = None
    base_commit: str = ""
    interval: float | None = None  # seconds; None: until nothing is left
    regression: bool = False
    ab_testing: bool = False
    same_host: bool = False
    status_file: Path | None = None
    step: int = 1
    env: dict[str, str] = field(default_factory=dict)
    timeout: float = 3600.0  # seconds for a build
    rest: tuple[str, ...] = ()  # for the harness

    @property
    def single(self) -> bool:
        """Whether the working copy is measured as it is, once."""
        return self.interval is None and not self.regression and not self.ab_testing

    def words(self, platform: str) -> list[str]:
        """The harness's command line for one platform, but for `--info`, which tells what was built."""
        env = [f"{name}={value}" for name, value in self.env.items()]
        named = ["--framework", self.framework, "--platform", platform]
        return [*self.rest, *named, *(["--env", *env] if env else [])]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(message, remedy="benchwright repo-driver --help lists the flags")


def parse(arguments: Sequence[str]) -> DriverFlags:
    """The flags in `arguments`; an `OptionError` says what is wrong with them."""
    found, rest = _flags(_Parser(prog="benchwright repo-driver", add_help=False)).parse_known_args([*arguments])
    platforms = tuple(filter(None, (name.strip() for name in found.platforms.split(","))))
    if not platforms or any(".." in Path(name).parts or Path(name).is_absolute() for name in platforms):
        raise OptionError(f"--platforms {found.platforms!r} names no platform", remedy="write host, or android,host")
    return DriverFlags(
        framework=found.framework,
        platforms=platforms,
        exec_dir=Path(found.exec_dir).absolute(),
        repo_dir=Path(found.repo_dir).absolute(),
        frameworks_dir=Path(found.frameworks_dir).absolute() if found.frameworks_dir else None,
        kind=found.repo,
        remote=found.remote_repository,
        branch=found.branch,
        commit=found.commit or "",
        commit_file=Path(found.commit_file).absolute() if found.commit_file else None,
        base_commit=found.base_commit or "",
        interval=_number(found.interval, "--interval", 0) if found.interval is not None else None,
        regression=found.regression,
        ab_testing=found.ab_testing,
        same_host=found.same_host,
        status_file=Path(found.status_file).absolute() if found.status_file else None,
        step=int(_number(found.step, "--step", 1)),
        env=dict(_pairs(found.env or "")),
        timeout=_number(found.build_timeout, "--build-timeout", 1e-3),
        rest=tuple(rest),
    )


def help_text() -> str:
    """Every flag with what it does."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False)
    _flags(parser)
    return parser.format_help()


def _flags(parser: Any) -> Any:
    add = parser.add_argument
    add("--framework", required=True, metavar="NAME", help="What is built and measured.")
    add("--platforms", required=True, metavar="A,B", help="Platforms to build for; android/clang has its own script.")
    add("--exec_dir", required=True, metavar="DIR", help="Where builds are kept, by commit.")
    add("--repo_dir", required=True, metavar="DIR", help="A working copy of the repository; it is left as it is.")
    add("--frameworks_dir", metavar="DIR", help="Where <framework>/<platform>/build.sh is.")
    add("--repo", choices=KINDS, default="git", help="The kind of repository. Default: git.")
    add("--remote_repository", default="origin", metavar="NAME", help="What new commits are fetched from.")
    add("--branch", default="master", metavar="NAME", help="The branch that is followed. Default: master.")
    add("--commit", metavar="REV", help="Where to begin. Default: the branch's newest commit.")
    add("--commit_file", metavar="FILE", help="Holds the last commit that was finished; goes before --commit.")
    add("--base_commit", metavar="REV", help="The control, if it is of the treatment's week or later.")
    add("--interval", metavar="SECONDS", help="Go on for ever, looking for new commits so often.")
    add("--regression", action="store_true", help="Compare with a control, and look for regressions.")
    add("--ab_testing", action="store_true", help="Compare with a control.")
    add("--same_host", action="store_true", help="Take turns with every other driver or watch on this machine.")
    add("--status_file", metavar="FILE", help="Stops at the next check when this file holds 0.")
    add("--step", default="1", metavar="N", help="Take every N-th commit.")
    add("--env", metavar="'K=V K=V'", help="For builds and programs.")
    add("--build-timeout", default="3600", metavar="SECONDS", help="Longest build (a flag of ours). Default: 3600.")
    return parser


def _number(text: str, flag: str, least: float) -> float:
    try:
        number = float(text)
    except ValueError:
        raise OptionError(f"{flag}: {text!r} is not a number") from None
    if not least <= number < float("inf"):
        raise OptionError(f"{flag}: {text} is below {least:g}, or infinite")
    return number


def _pairs(text: str) -> list[tuple[str, str]]:
    found = []
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise OptionError(f"--env {word!r} is not NAME=VALUE")
        found.append((name, value))
    return found
