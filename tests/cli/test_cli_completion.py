"""Completion: what is offered, how little that imports, and real shells that take it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.cli import VERBS
from benchwright.cli.completion import FILES, FOLDERS, complete
from benchwright.cli.verbs.completion import SCRIPTS

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def _words(*typed: str) -> list[str]:
    return [line.partition("\t")[0] for line in complete(typed)]


@pytest.fixture
def measured(inside: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with one run that has a tag, which is the present one; returns the run's id."""
    monkeypatch.chdir(tmp_path)
    ended = inside("run", "fake:constant?ms=1", "--rounds", "1", "--samples", "3", "--tag", "nightly", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    found = re.search(r"Run (\S+) saved", ended.stdout)
    assert found
    return found[1]


def test_every_verb_is_offered() -> None:
    assert _words("") == [*VERBS]


def test_verbs_flags_and_choices_are_offered() -> None:
    assert _words("comp") == ["completion", "compare"]
    assert _words("findings", "s") == ["show", "split"]
    assert _words("run", "model.onnx", "--batch") == ["--batch-size"]
    assert _words("run", "--arrivals", "p") == ["poisson"]
    assert _words("run", "--arrivals=p") == ["--arrivals=poisson"]
    assert _words("completion", "") == ["bash", "zsh", "fish"]
    assert _words("completion", "bash", "") == []  # it takes one
    assert _words("nonsense", "") == _words() == []


def test_the_shell_completes_files_and_folders_by_itself() -> None:
    assert _words("run", "mo") == _words("run", "--tag", "x", "mo") == _words("run", "--", "./prog", "a") == [FILES]
    assert _words("init", "") == [FOLDERS]


def test_runs_tags_and_cases_come_from_the_store(measured: str, tmp_path: Path) -> None:
    assert _words("show", "") == ["last", "last~1", "nightly", measured]
    assert _words("compare", "last", measured[:8]) == [measured]
    assert _words("run", "x.py", "--tag", "n") == ["nightly"]
    assert _words("history", "fake") == ["fake:constant?ms=1"]
    here = tmp_path / "elsewhere"
    here.mkdir()
    os.chdir(here)
    assert _words("show", "2") == []
    assert _words("show", "--store", str(tmp_path / ".benchwright/results.db"), "2") == [measured]
    assert _words("show", f"--store=sqlite:///{tmp_path}/.benchwright/results.db", "2") == [measured]
    (tmp_path / "benchwright.toml").write_text('store = ".benchwright/results.db"')
    assert _words("show", "2") == [measured]


@pytest.mark.parametrize("settings", ["store = [", "store = 3", 'store = "postgresql://x/y"', 'store = "https://x"'])
def test_a_store_that_cannot_be_read_at_once_offers_no_runs(benchwright: Call, tmp_path: Path, settings: str) -> None:
    (tmp_path / "benchwright.toml").write_text(settings)
    ended = benchwright("__complete", "show", "2")
    assert (ended.stdout, ended.stderr) == ("", "")


def test_a_file_that_is_no_store_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("hello")
    assert _words("show", "--store", str(tmp_path / "text.db"), "2") == []
    assert (tmp_path / "text.db").read_text() == "hello"
    assert _words("show", "--store", str(tmp_path / "none.db"), "2") == [] and not (tmp_path / "none.db").exists()


def test_an_answer_imports_nothing_that_is_slow(measured: str) -> None:
    slow = ("click", "sqlalchemy", "numpy", "benchwright.schema", "benchwright.store", "benchwright.records")
    script = (
        "import sys; from benchwright.cli import main; code = main(['__complete', 'show', '2'])\n"
        f"print([name for name in {slow} if name in sys.modules], code)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    lines = ended.stdout.splitlines()
    assert lines[0].startswith(measured) and lines[-1] == "[] 0"


# ---- real shells ----


@pytest.fixture
def shell_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)


def _need(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is missing: `scripts/need {shell} {shell}` installs it")
    return found


def _script(tmp_path: Path, inside: Call, shell: str) -> Path:
    ended = inside("completion", shell)
    assert ended.returncode == 0 and ended.stdout == SCRIPTS[shell]
    path = tmp_path / f"completion.{shell}"
    path.write_text(ended.stdout)
    return path


@pytest.mark.usefixtures("shell_path")
def test_bash_completes(measured: str, inside: Call, tmp_path: Path) -> None:
    script = _script(tmp_path, inside, "bash")
    (tmp_path / "my model.onnx").touch()
    asked = """
        source "$1"
        ask() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _benchwright 2>/dev/null
            printf '<%s>' "${COMPREPLY[@]}"; echo
        }
        complete -p benchwright
        ask benchwright comp
        ask benchwright run --batch
        ask benchwright show 20
        ask benchwright run --tag = n
        ask benchwright run my
        ask benchwright history fake : c
    """
    ended = subprocess.run(
        [_need("bash"), "--norc", "-c", asked, "bash", str(script)], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines() == [
        "complete -F _benchwright benchwright",
        "<completion><compare>",
        "<--batch-size>",
        f"<{measured}>",
        "<nightly>",
        "<my model.onnx>",
        "<constant?ms=1>",
    ]


@pytest.mark.usefixtures("shell_path")
def test_fish_completes(measured: str, inside: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fish = _need("fish")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    script = _script(tmp_path, inside, "fish")
    lines = ["benchwright comp", "benchwright run --batch", "benchwright show 20", "benchwright run comp"]
    asked = f"source {script}; " + "; ".join(f"complete -C '{line}'; echo %%" for line in lines)
    ended = subprocess.run([fish, "--no-config", "-c", asked], capture_output=True, text=True, check=True)
    answers = [part.split("\n") for part in ended.stdout.split("%%\n")]
    offered = [[line.partition("\t")[0] for line in part if line] for part in answers]
    assert offered[:4] == [["completion", "compare"], ["--batch-size"], [measured], ["completion.fish"]]
    assert "Items per call." in ended.stdout


@pytest.mark.usefixtures("shell_path")
def test_zsh_completes(measured: str, inside: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zsh = _need("zsh")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "dumb")
    script = _script(tmp_path, inside, "zsh")
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover - another program
        os.execv(zsh, [zsh, "-f", "-i"])
    try:
        start = (
            f"PS1='ready> '; autoload -Uz compinit; compinit -u -d {tmp_path}/dump; source {script}; echo lo''aded\n"
        )
        _type(terminal, start, "loaded")
        _type(terminal, "benchwright comple\t", "benchwright completion ")
        _type(terminal, "\x15benchwright run --batch\t", "--batch-size ")
        _type(terminal, "\x15benchwright show 20\t", measured)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def _type(terminal: int, keys: str, expected: str) -> None:
    """Types keys, and waits until the shell shows what is expected."""
    os.write(terminal, keys.encode())
    shown, until = "", time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x08]", "", shown)
        if expected in plain.replace("\n", ""):
            return
    pytest.fail(f"{expected!r} is not in {shown!r}")
