"""The commands of an `asv.conf.json` as one line for a shell, every word quoted.

Folders are known only when a revision is built, so they stay variables of that line: `{build_dir}` becomes
`"$ASV_BUILD_DIR"`. Each commit has an environment of its own. So nothing is ever uninstalled.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from benchwright.errors import DecodeError
from benchwright.targets.asv.config import AsvConfig, AsvFile
from benchwright.targets.asv.environments import TOOL, AsvEnvironment

# What asv's braces stand for: a variable of the build, which a line of ours sets first.
_BRACES = ("build_dir", "env_dir", "build_cache_dir", "conf_dir", "project", "commit", "env_name", "env_type")
_WHEEL = '"$ASV_BUILD_CACHE_DIR"/*.whl'
_BRACE = re.compile(r"(\{\{|\}\})|\{(\w+)\}")  # one that is doubled stands for itself
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_CODES = re.compile(r"return-code=(any|\d+(?:,\d+)*)")
_PIP = "python -m pip"


def build_line(file: AsvFile, environment: AsvEnvironment) -> str:
    """The shell line that builds and installs the project into the environment that is first in PATH."""
    # Variables of the benchmarks alone need no build of their own.
    steps = [*_define_variables(file, replace(environment, run_variables={}))]
    for what, command in _commands(file.config):
        steps += [_translate(words, f"{file.path.name}: {what}") for words in command]
    return " && ".join(steps)


def asv_variables(file: AsvFile, environment: AsvEnvironment) -> dict[str, str]:
    """The variables by which a benchmark, too, learns where it is: as asv names them."""
    return {
        "ASV": "true",
        "ASV_PROJECT": file.config.project,
        "ASV_CONF_DIR": str(file.folder),
        "ASV_ENV_NAME": environment.name,
        "ASV_ENV_TYPE": TOOL,
        **environment.variables,
    }


def _define_variables(file: AsvFile, environment: AsvEnvironment) -> Iterator[str]:
    yield _export(asv_variables(file, environment))
    inner = f"/{shlex.quote(file.config.repo_subdir)}" if file.config.repo_subdir else ""
    yield (
        f'export ASV_BUILD_DIR="$BENCHWRIGHT_WORKTREE"{inner} ASV_ENV_DIR="$VIRTUAL_ENV" '
        'ASV_COMMIT="$BENCHWRIGHT_REVISION" ASV_BUILD_CACHE_DIR="$VIRTUAL_ENV"/wheels'
    )
    yield 'mkdir -p "$ASV_BUILD_CACHE_DIR"'
    yield 'cd "$ASV_BUILD_DIR"'


def _export(variables: Mapping[str, str]) -> str:
    for name in variables:
        if not _VARIABLE.fullmatch(f"{name}="):
            raise DecodeError(f"matrix: {name!r} is not the name of an environment variable")
    return "export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())


def _commands(config: AsvConfig) -> Iterator[tuple[str, Sequence[str]]]:
    """What is run, in order; without commands of the project's own, pip builds and installs it."""
    build, install = config.build_command, config.install_command
    if install is None and build is None:
        yield "install_command", [f"in-dir={{env_dir}} {_PIP} install {{build_dir}}"]
        return
    if build is not None:
        yield "build_command", build
    elif install is not None and any("{wheel_file}" in each for each in install):
        yield "build_command", [f"{_PIP} wheel --no-deps -w {{build_cache_dir}} {{build_dir}}"]
    yield (
        "install_command",
        [f"in-dir={{env_dir}} {_PIP} install --force-reinstall {{wheel_file}}"] if install is None else install,
    )


def _translate(command: str, where: str) -> str:
    """One command in the words of a shell: variables, folder and exit codes that asv lets stand before it."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise DecodeError(f"{where}: {command!r}: {error}") from None
    variables, folder, codes = "", "", "0"
    while words:
        if named := _VARIABLE.fullmatch(words[0]):
            variables += f"{named[1]}={_quote(named[2], where)} "
        elif told := _CODES.fullmatch(words[0]):
            codes = told[1]
        elif words[0].startswith("in-dir="):
            folder = _quote(words[0].removeprefix("in-dir="), where)
        else:
            break
        words.pop(0)
    if not words:
        raise DecodeError(f"{where}: {command!r} runs nothing")
    line = variables + " ".join(_quote(word, where) for word in words)
    if folder:
        line = f"(cd {folder} && {line})"
    if codes == "0":
        return line
    if codes == "any":
        return f"{{ {line} || true; }}"
    return f"{{ {line}; case $? in {codes.replace(',', '|')}) true;; *) false;; esac; }}"


def _quote(word: str, where: str) -> str:
    """A word of a command; what stands in braces is a variable of the build."""
    parts, end = [], 0
    for brace in _BRACE.finditer(word):
        if brace[1]:
            known = shlex.quote(brace[1][0])
        elif brace[2] == "wheel_file":
            known = _WHEEL
        elif brace[2] in _BRACES:
            known = f'"$ASV_{brace[2].upper()}"'
        else:
            told = ", ".join((*_BRACES, "wheel_file"))
            raise DecodeError(f"{where}: {{{brace[2]}}} is not known", remedy=f"known are {told}")
        parts += [shlex.quote(word[end : brace.start()]) if word[end : brace.start()] else "", known]
        end = brace.end()
    rest = word[end:]
    return "".join(parts) + (shlex.quote(rest) if rest or not parts else "")
