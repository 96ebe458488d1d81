"""asv.conf.json: comments, the matrix, and commands that become one shell line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import DecodeError, TargetError
from benchwright.targets.asv.commands import build_line
from benchwright.targets.asv.config import AsvFile, is_config, read_config, split_target, strip_comments
from benchwright.targets.asv.environments import AsvEnvironment, environments_of


def _read(folder: Path, **keys: Any) -> AsvFile:
    (folder / "asv.conf.json").write_text(json.dumps({"repo": ".", **keys}))
    return read_config(str(folder / "asv.conf.json"))


def test_comments_and_trailing_commas_are_taken_out_and_texts_are_left() -> None:
    text = '{ // a "word"\n "a": "http://x,]", /* two\nlines */ "b": [1, 2, // last\n ], }'
    stripped = strip_comments(text)
    assert json.loads(stripped) == {"a": "http://x,]", "b": [1, 2]}
    assert stripped.count("\n") == text.count("\n")  # an error names the right line


def test_brackets_within_comments_close_nothing() -> None:
    text = '{"a": 1, // "pythons": ["3.6"],\n/* {x} */ "b": 2, /* } */ // ]\n}'
    assert json.loads(strip_comments(text)) == {"a": 1, "b": 2}


@pytest.mark.parametrize("part", ["/* ", '\\"', ",/* ", ", "])
def test_a_large_file_in_which_nothing_ends_is_read_through_once(part: str) -> None:
    text = part * 500_000
    assert len(strip_comments(text)) <= len(text)


def test_what_means_nothing_here_is_told(tmp_path: Path) -> None:
    file = _read(tmp_path, html_dir="html", conda_channels=["x"], benchmark_dirs="b", project=None)
    assert file.config.project == "project"
    assert [note.partition(": ")[2] for note in file.notes] == [
        "conda_channels is not used: packages come from pip",
        "unknown key 'benchmark_dirs' is left out; did you mean 'benchmark_dir'?",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is not a JSON object"),
        ("{", "not JSON"),
        ("{}", "there is no repo"),
        ('{"repo": 3}', "repo"),
        ('{"repo": ".", "pythons": "3.11"}', "pythons"),
        ('{"repo": ".", "default_benchmark_timeout": "long"}', "default_benchmark_timeout"),
        ('{"repo": "."' + ', "a": [' * 200, "asv.conf.json"),
        ("\udcff", "UTF-8"),
        ('{"repo": "\\u0000"}', "repo has a NUL character"),
        ('{"repo": ".", "benchmark_dir": "a\\u0000"}', "benchmark_dir has a NUL character"),
        ('{"repo": ".", "install_timeout": -1}', "install_timeout is -1"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "asv.conf.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DecodeError, match=said):
        read_config(str(tmp_path / "asv.conf.json"))


def test_a_target_may_hold_an_expression() -> None:
    assert is_config("a/asv.conf.json") and is_config("asv.conf.jsonc::x") and not is_config("conf.json")
    assert not is_config("https://host/asv.conf.json")
    path, pattern = split_target("asv.conf.json::time_.*")
    assert (path, pattern is not None and pattern.pattern) == ("asv.conf.json", "time_.*")
    for wrong in ("asv.conf.json::", "asv.conf.json::("):
        with pytest.raises(TargetError):
            split_target(wrong)


def test_the_matrix_is_crossed_and_environments_are_named_as_asv_names_them(tmp_path: Path) -> None:
    file = _read(
        tmp_path,
        pythons=["3.11", "3.12"],
        matrix={
            "req": {"numpy": ["1.26", ""], "six": ["", None], "pip+x": [">=2"]},
            "env": {"A": "1"},
            "env_nobuild": {"B": ["x"]},
        },
        exclude=[{"python": "3.12"}, {"req": {"six": None}}, {"req": {"numpy": r"1\..*"}, "sys_platform": "win32"}],
        include=[
            {"python": "3.13", "req": {"numpy": "2.0"}},
            {"python": "3.13", "req": {"numpy": "2.1"}, "sys_platform": "win32"},
        ],
    )
    found = environments_of(file)
    assert [each.name for each in found] == [
        "virtualenv-py3.11-numpy1.26-pip+x_=2-six-A1-Bx".replace("_=2", "_=2"),
        "virtualenv-py3.11-numpy-pip+x_=2-six-A1-Bx",
        "virtualenv-py3.13-numpy2.0",
    ]
    assert found[0].pip_requirements == ["numpy==1.26", "six", "x>=2"]
    assert (found[0].build_variables, found[0].run_variables) == ({"A": "1"}, {"B": "x"})


def test_the_older_form_of_a_matrix_is_packages_alone(tmp_path: Path) -> None:
    (only,) = environments_of(_read(tmp_path, pythons=["3.11"], matrix={"numpy": []}))
    assert only.name == "virtualenv-py3.11-numpy"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"matrix": {"req": {}, "numpy": ["1"]}}, "unknown key 'numpy'"),
        ({"matrix": {"req": ["numpy"]}}, "req is not an object"),
        ({"include": [{"req": {"numpy": "1"}}]}, "names no python"),
        ({"exclude": [{"python": "("}]}, "not a regular expression"),
        ({"matrix": {"req": {name: ["1", "2", "3", "4"] for name in "abcdef"}}}, "more than 1000"),
        ({"matrix": {"req": {name: ["1"] * 10 for name in "abcdefghij"}}}, "more than 100,000 combinations"),
    ],
)
def test_a_wrong_matrix_is_refused(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        environments_of(_read(tmp_path, **keys))


def _shell(tmp_path: Path, *commands: str, **keys: Any) -> subprocess.CompletedProcess[str]:
    """What the line of these commands does, in folders with spaces in their names."""
    work, home = tmp_path / "the work", tmp_path / "its env"
    for folder in (work, home):
        folder.mkdir()
    file = _read(tmp_path, build_command=[], install_command=list(commands), **keys)
    line = build_line(file, AsvEnvironment(python="3.11", build_variables={"A": "it's"}, run_variables={"B": "x"}))
    variables = {"BENCHWRIGHT_WORKTREE": str(work), "VIRTUAL_ENV": str(home), "BENCHWRIGHT_REVISION": "abc"}
    variables["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(["sh", "-c", line], env=variables, capture_output=True, text=True, check=False)


def test_commands_know_their_folders_and_nothing_of_them_is_read_by_the_shell(tmp_path: Path) -> None:
    tell = "import os, sys; print(os.getcwd(), sys.argv[1:], os.environ['A'], os.environ.get('B'), os.environ['C'])"
    done = _shell(
        tmp_path,
        f"in-dir={{env_dir}} C='$(id)' python -c \"{tell}\" {{build_dir}}/x '`id`;' {{project}} {{commit}}",
        project="p; q",
    )
    assert done.stdout.split("\n")[0] == (
        f"{tmp_path}/its env ['{tmp_path}/the work/x', '`id`;', 'p; q', 'abc'] it's None $(id)"
    ), done.stderr


def test_doubled_braces_stand_for_themselves(tmp_path: Path) -> None:
    done = _shell(tmp_path, "echo {{{project}}} {{x}} {{1}}{{", project="p")
    assert done.stdout == "{p} {x} {1}{\n", done.stderr


def test_exit_codes_may_be_others_than_zero(tmp_path: Path) -> None:
    done = _shell(tmp_path, "return-code=any false", "return-code=0,3 sh -c 'exit 3'", "echo reached")
    assert (done.returncode, done.stdout) == (0, "reached\n")


def test_a_command_that_fails_ends_the_build(tmp_path: Path) -> None:
    done = _shell(tmp_path, "return-code=1 sh -c 'exit 3'", "echo reached")
    assert (done.returncode != 0, done.stdout) == (True, "")


@pytest.mark.parametrize("command", ["python {nothing}", "python 'open", "in-dir={env_dir}"])
def test_a_wrong_command_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(DecodeError, match="install_command"):
        build_line(_read(tmp_path, install_command=[command]), AsvEnvironment(python="3.11"))


def test_without_commands_pip_installs_the_project_and_a_wheel_is_made_where_one_is_wanted(tmp_path: Path) -> None:
    made = AsvEnvironment(python="3.11")
    assert build_line(_read(tmp_path, repo_subdir="in ner"), made).endswith(
        '(cd "$ASV_ENV_DIR" && python -m pip install "$ASV_BUILD_DIR")'
    )
    line = build_line(_read(tmp_path, install_command="python -m pip install {wheel_file}"), made)
    assert "pip wheel --no-deps" in line and line.endswith('pip install "$ASV_BUILD_CACHE_DIR"/*.whl')
