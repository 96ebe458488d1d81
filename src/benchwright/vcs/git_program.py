"""The `git` program, asked in one repository: with argument lists, without prompts, and never for longer than allowed.

No message repeats the credentials that an address may hold.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import FetchError
from benchwright.system.masking import mask_message
from benchwright.system.process import signal_group

# Set by git itself inside hooks, where they would override the folder that we mean.
_MISLEADING = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
)
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C.UTF-8"}
# An address may name a helper program that git would start; these start none but git's own.
_PROTOCOLS = {"GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}
_SETTINGS = (
    "advice.detachedHead=false",
    "core.fsmonitor=false",  # a repository may name a program here
    "gc.auto=0",  # tidying would go on in the background, beside the measurement
    "maintenance.auto=false",
)

_WORK = ("hint:", "Cloning into", "Failed to clone", "Submodule ", "Preparing worktree", "From ")  # not what is wrong
_LONGEST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Asks git in `folder`; `url` is the address whose secrets must not be shown."""

    folder: Path
    url: str = ""
    timeout: float = 1800.0

    def ask(self, *arguments: str) -> str:
        """Returns what git prints, without the last newline. A refusal is a `FetchError` in git's own words."""
        code, printed, complaint = self._run(arguments)
        if code != 0:
            said = mask_message(readable(complaint), self.url) or f"exit code {code}"
            raise FetchError(f"git {arguments[0]}: {said}")
        return printed.rstrip("\n")

    def look(self, *arguments: str) -> str | None:
        """Returns what git prints, or None when it refuses."""
        code, printed, _ = self._run(arguments)
        return printed.rstrip("\n") if code == 0 else None

    def commit(self, name: str) -> str | None:
        """The hash of the commit that a name means here, if it means one."""
        return self.look("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")

    def _run(self, arguments: tuple[str, ...]) -> tuple[int, str, str]:
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        environment = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
        try:
            # In a session of its own: no terminal to ask a password on, and its helpers end with it.
            process = subprocess.Popen(
                ["git", *settings, *arguments],
                cwd=self.folder,
                env=_PROTOCOLS | environment | _QUIET,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise FetchError("git is not installed", remedy="install git") from None
        with process:
            try:
                printed, complaint = process.communicate(timeout=self.timeout)
            except subprocess.TimeoutExpired:
                _end(process)
                raise FetchError(f"git {arguments[0]} took longer than {self.timeout:g} s") from None
            except BaseException:
                _end(process)
                raise
        return process.returncode, printed.decode("utf-8", "replace"), complaint.decode("utf-8", "replace")


def readable(complaint: str) -> str:
    """What git says is wrong, in one line: without what it did before, and nothing twice."""
    lines = [line.strip() for line in complaint.splitlines()]
    telling = dict.fromkeys(line for line in lines if line and not line.startswith(_WORK))
    said = "; ".join(telling).replace(":; ", ": ")
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."


def _end(process: subprocess.Popen[bytes]) -> None:
    signal_group(process.pid, signal.SIGKILL)
    process.wait()
