"""Every example in the documentation runs.

A block that begins with a comment naming a file (`# bench.py`) is written to that file. Other blocks of Python are
executed, each page's in one namespace; lines that begin with `$ ` in console blocks are run with bash and must end with
code 0, or with N where the line ends in `# exits N`; `exits 1 if worse` allows both. A command of ours that a shell
need not read is called in this process, which saves a second; not on a page that installs a package, which only a new
process finds.

Each page has a folder of its own, with the examples and a small model in it; what it installs with pip goes there too.
What is measured is measured in one round of 20 ms, whatever the page says: the examples must run, their
figures are of no use here. A block below `<!-- not executed: reason -->` is left out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
Call = Callable[..., "subprocess.CompletedProcess[str]"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FRONT = ROOT / "docs" / "index.md"  # tests/test_first_minutes.py walks it, from the built wheel
MOST_LEFT_OUT = 11
LONG = ("asv", "bisect", "lab", "tutorial-framework")  # pages that build or start much: `make soak` executes them

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.M | re.S)
_FILE = re.compile(r"# (\S+\.(?:py|toml|yaml))\n")
_ROUNDS = re.compile(r"(--rounds |\brounds=)\d+")
_DURATION = re.compile(r"(--duration |\bduration=)(?:[1-9]\d*(?:\.\d+)?|0?\.[1-9]\d*)(?=[s,)\s]|$)")
_WINDOW = re.compile(r"(?<=--profile )[1-9]\d*:[1-9]\d*(?=\s|$)")
_SETTING = re.compile(r"^(rounds|duration|warmup) = [\d.]+$", re.M)  # of a benchwright.toml
_SECONDS = re.compile(r"(?<=--seconds )\d+")  # in which a machine's noise is looked at
_PLAIN = re.compile(
    r"""(?P<ours>benchwright[ ](?:'[^']*'|"[^"$`\\]*"|[^'"|&;<>()$`\\*?\[~{])*)
    (?:>[ ](?P<file>[\w.]+)[ ]*)?
    (?P<rest>\|\|?[ ].*)?  # a shell's, with our exit code and our output
    """,
    re.VERBOSE,
)
_LEFT_OUT = re.compile(r"<!-- not executed: (?P<reason>.+?) -->\s*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    page: Path
    line: int
    language: str
    body: str
    left_out: str  # why it is not executed, or ""


def _blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()]
        reason = _LEFT_OUT.search(before)
        body = re.sub(rf"^{match['indent']}", "", match["body"], flags=re.M)
        blocks.append(
            Block(
                page=page,
                line=before.count("\n") + 2,
                language=match["language"],
                body=body,
                left_out=reason["reason"] if reason else "",
            )
        )
    return blocks


def _has_examples(page: Path) -> bool:
    return any(block.language in ("python", "console") and not block.left_out for block in _blocks(page))


def test_few_examples_are_left_out() -> None:
    left_out = [block for page in PAGES for block in _blocks(page) if block.left_out]
    assert len(left_out) <= MOST_LEFT_OUT, [f"{b.page.name}:{b.line}: {b.left_out}" for b in left_out]


def test_the_examples_are_found() -> None:
    languages = [block.language for page in PAGES for block in _blocks(page)]
    assert languages.count("console") >= 5 and languages.count("python") >= 5


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the pages assume it: the examples, and a small model."""
    folder = tmp_path_factory.mktemp("workshop")
    ignored = shutil.ignore_patterns("__pycache__")
    examples = shutil.copytree(ROOT / "examples", folder / "examples", ignore=ignored)
    for script in examples.glob("*.py"):  # pages name the examples without their folder, as a reader in it would
        shutil.copy(script, folder)
    subprocess.run([sys.executable, "examples/make_model.py", "tiny", "model.onnx"], cwd=folder, check=True)
    return folder


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.soak if page.stem in LONG else (), id=page.stem)
        for page in PAGES
        if page != FRONT and _has_examples(page)
    ],
)
def test_every_example_of_the_page_runs(
    page: Path, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Call
) -> None:
    with _surroundings(page, tmp_path, monkeypatch):
        _execute_page(page, workshop, tmp_path, monkeypatch, inside)


@contextmanager
def _surroundings(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a page needs beside its folder: that of clouds, an account at one, and machines that can be measured on."""
    if page.stem != "cloud":
        yield
        return
    import leased_machine

    (folder / "cloud").mkdir()
    with leased_machine.running(folder / "cloud", day="2026-11-02") as rented:
        for name, value in rented.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("BENCHWRIGHT_PRICES")  # the page writes its own
        yield
        assert rented.alive() == []


def _execute_page(page: Path, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Call) -> None:
    here = shutil.copytree(workshop, tmp_path / "here")
    (tmp_path / "benchwright.toml").write_text("rounds = 1\nduration = 0.02\nwarmup = 0.02\n", encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    # A page's own pytest need not load the dozen plug-ins that these tests have installed.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "benchwright.pytest_plugin")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--benchmark-max-time=0.05")
    modules = set(sys.modules)
    namespace: dict[str, object] = {"__name__": "__example__"}
    executed = [block for block in _blocks(page) if not block.left_out]
    installs = any("pip install" in command for block in executed for command in _commands(block.body))
    call = None if installs else partial(inside, cwd=here)
    if installs:
        _install_into(here / "site", monkeypatch)
    try:
        for block in executed:
            _execute(block, namespace, call)
    finally:
        for name in set(sys.modules) - modules:  # the next page may have a module of the same name
            if str(here) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def _install_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page installs is built with what is here and seen by this page alone."""
    monkeypatch.setenv("PIP_TARGET", str(folder))
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "false")  # pip's way of saying: without isolation
    monkeypatch.setenv("PIP_NO_DEPS", "true")
    monkeypatch.setenv("PIP_QUIET", "2")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def _execute(block: Block, namespace: dict[str, object], call: Call | None) -> None:
    if named := _FILE.match(block.body):
        path = Path(named[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        short = path.name == "benchwright.toml"
        path.write_text(_SETTING.sub(_least, block.body) if short else block.body, encoding="utf-8")
    elif block.language == "python":
        exec(compile("\n" * (block.line - 1) + _shortly(block.body), str(block.page), "exec"), namespace)
    elif block.language == "console":
        for command in _commands(block.body):
            _run(_shortly(command), f"{block.page.name}:{block.line}", call)


def _commands(body: str) -> list[str]:
    """Commands after `$ `, continued over lines that end with a backslash."""
    joined = re.sub(r"\\\n(?:> )?\s*", " ", body)
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


def _shortly(text: str) -> str:
    text = _WINDOW.sub(lambda window: _tenths(*map(int, window[0].split(":"))), text)
    return _SECONDS.sub("1", _DURATION.sub(r"\g<1>0.02", _ROUNDS.sub(r"\g<1>1", text)))


def _least(setting: re.Match[str]) -> str:
    return f"{setting[1]} = {1 if setting[1] == 'rounds' else 0.02}"


def _tenths(begin: int, end: int) -> str:
    """A window that a profiler looks into, a tenth as late and as long."""
    return f"{begin / 10}:{end / 10}"


def _run(command: str, where: str, call: Call | None) -> None:
    stated = re.search(r"#\s*exits (\d+)\s*$", command)
    plain = _PLAIN.fullmatch(re.sub(r"\s+#.*", "", command))
    if call is not None and plain:
        ended = call(*shlex.split(plain["ours"])[1:])
        if plain["file"]:
            Path(plain["file"]).write_text(ended.stdout, encoding="utf-8")
        if plain["rest"]:
            shown = "" if plain["file"] else ended.stdout
            ended = _shell(f"(cat; exit {ended.returncode}) {plain['rest']}", shown)
    else:
        ended = _shell(command)
    expected = {int(stated[1]) if stated else 0, *([1] if command.endswith("exits 1 if worse") else [])}
    assert ended.returncode in expected, f"{where}: $ {command}\n{ended.stdout}\n{ended.stderr}"


def _shell(command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    told = ["bash", "-c", command]
    return subprocess.run(told, input=given, capture_output=True, text=True, timeout=170, check=False)
