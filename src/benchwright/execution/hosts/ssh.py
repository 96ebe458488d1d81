"""A machine that `ssh` reaches, with whatever its user has set up: jump hosts, keys, certificates, agents.

The connection is kept for a while, so that the next command finds it open. Signals do not travel over ssh to every
login, so nothing depends on them: the outpost ends when its line closes.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl

from benchwright.errors import LinkError, OptionError
from benchwright.execution.outposts import launcher
from benchwright.execution.outposts.host import PATIENCE, OutpostHost
from benchwright.execution.outposts.link import Link, Tell

OPTIONS = "BENCHWRIGHT_SSH_OPTIONS"
KEPT = "10m"  # a connection stays open after its last use
CONNECT = 15  # seconds until a machine that does not answer counts as away
ALIVE = (15, 10)  # seconds between two questions whether the other end is there, and how many may go unanswered
ANSWER = 30.0  # seconds for what ssh answers without the other machine
SIGN_IN = 120.0  # seconds to sign in, a person's typing included
MOST_PATH = 90  # bytes of a socket's path; the kernel takes 107, and ssh needs some itself


class SshHost(OutpostHost):
    """The machine that `ssh NAME` reaches; `python` is the interpreter there, by default the first that will do.

    `home` is the folder there in which files stay for the next run. `options` go to ssh as they are; by default those
    that BENCHWRIGHT_SSH_OPTIONS holds, quoted as in a shell.
    """

    def __init__(
        self,
        name: str,
        *,
        python: str = "",
        home: str = "",
        options: Sequence[str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        if not name or name.startswith("-"):
            raise OptionError(f"ssh:{name}: this is no name of a machine", remedy="write --host ssh:NAME")
        self._ssh = SshConnection(name, given_options() if options is None else options)
        self._python, self._home = python, home
        try:
            super().__init__(f"ssh:{name}", self._start, patience=patience)
        except LinkError as error:  # nothing was measured yet: the request is what is wrong
            raise OptionError(error.message, remedy=error.remedy) from None

    @classmethod
    def from_text(cls, text: str) -> SshHost:
        """The host of `ssh:TEXT`, which is NAME or NAME?python=PATH."""
        name, _, query = text.partition("?")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        python = asked.pop("python", "")
        if asked:
            raise OptionError(f"ssh:{text}: {next(iter(asked))!r} is not known", remedy="?python=PATH is")
        return cls(name, python=python)

    def _start(self, tell: Tell) -> Link:
        self._ssh.open()
        command = self._ssh.command(shlex.join(["exec", *launcher.command(self._python)]))
        return launcher.start(command, name=f"ssh:{self._ssh.name}", python=self._python, home=self._home)


class SshConnection:
    """One connection of ssh that several sessions share. What the user set up for sharing is left alone."""

    def __init__(self, name: str, options: Sequence[str]) -> None:
        self.name = name
        self._options = (*options, *_settings())
        self._shared: tuple[str, ...] = ()

    def command(self, line: str) -> list[str]:
        """The command that runs a line of shell over there."""
        return ["ssh", *self._options, *self._shared, "-T", "--", self.name, line]

    def open(self) -> None:
        """Signs in, unless the connection is there already; a person may be asked for a password or a code."""
        path = _control_path()
        if path is None:
            return
        shared = ("-o", f"ControlPath={path}", "-o", "ControlMaster=no")
        # Both are asked at once: each costs a process, and both are usually answered with what was hoped for.
        check = _begin(["ssh", *self._options, *shared, "-O", "check", "--", self.name])
        try:
            shares = self._shares_already()
        finally:
            is_open = _end(check).returncode == 0
        if shares:
            return
        self._shared = shared
        if is_open:
            return
        master = ["-o", f"ControlPath={path}", "-o", "ControlMaster=auto", "-o", f"ControlPersist={KEPT}"]
        with tempfile.TemporaryFile() as said:
            # Its pipes would stay open for as long as the connection does: a file does no harm.
            command = ["ssh", *self._options, *master, "-f", "-N", "--", self.name]
            try:
                code = subprocess.run(
                    command,
                    stdin=None if sys.stdin.isatty() else subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    timeout=SIGN_IN,
                    check=False,
                ).returncode
            except FileNotFoundError:
                raise OptionError("ssh is not installed", remedy="install openssh-client") from None
            except subprocess.TimeoutExpired:
                raise LinkError(f"ssh:{self.name}: no sign-in within {SIGN_IN:g} s") from None
            if code:
                said.seek(0)
                raise LinkError(
                    f"ssh:{self.name}: {_last_words(said.read().decode('utf-8', 'replace'))}",
                    remedy=f"`ssh {self.name} true` must work first",
                )

    def _shares_already(self) -> bool:
        """Whether the user's own configuration shares connections to that machine."""
        told = _ask(["ssh", *self._options, "-G", "--", self.name])
        if told.returncode:
            raise OptionError(f"ssh:{self.name}: {_last_words(told.stderr)}", remedy="see `man ssh_config`")
        found = dict(line.partition(" ")[::2] for line in told.stdout.splitlines())
        return found.get("controlmaster", "false") not in ("false", "no") and found.get("controlpath", "none") != "none"


def given_options() -> list[str]:
    """The options of ssh that BENCHWRIGHT_SSH_OPTIONS holds."""
    try:
        return shlex.split(os.environ.get(OPTIONS, ""))
    except ValueError as error:
        raise OptionError(f"{OPTIONS}: {error}", remedy="close the quotation mark") from None


def _settings() -> tuple[str, ...]:
    seconds, times = ALIVE
    batch = () if sys.stdin.isatty() else ("-o", "BatchMode=yes")
    return (
        *("-o", f"ConnectTimeout={CONNECT}", "-o", f"ServerAliveInterval={seconds}"),
        *("-o", f"ServerAliveCountMax={times}", *batch),
    )


def _control_path() -> str | None:
    """Where the connection's socket lies: in a folder that nobody else may enter; None where its path is too long."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(base, "benchwright") if base else Path(tempfile.gettempdir(), f"benchwright-{os.getuid()}")
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if found.st_uid == os.getuid() and not found.st_mode & 0o077 and len(f"{folder}/") + 40 <= MOST_PATH:
            return f"{folder}/%C"
    return None


def _ask(command: list[str]) -> subprocess.CompletedProcess[str]:
    return _end(_begin(command))


def _begin(command: list[str]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise OptionError("ssh is not installed", remedy="install openssh-client") from None


def _end(started: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """What a command answers that was begun before; one that says nothing for long is ended."""
    with started:
        try:
            out, errors = started.communicate(timeout=ANSWER)
        except subprocess.TimeoutExpired:
            started.kill()
            return subprocess.CompletedProcess(started.args, 255, "", "no answer")
    return subprocess.CompletedProcess(started.args, started.returncode, out, errors)


def _last_words(text: str) -> str:
    """What ssh said, without the frames that it draws around warnings."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not set(line.strip()) <= {"@", " "}]
    shown = [line.strip("@ ") for line in lines if "Permanently added" not in line]
    return "; ".join(shown[-4:])[-600:] or "ssh failed"
