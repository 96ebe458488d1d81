"""The action for GitHub and the template for GitLab, step by step as a runner does it: real git, real shells, real
measurements, and a forge on the loopback.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import http_peer
from forge_peer import TOKEN, ForgePeer

ROOT = Path(__file__).parent.parent
BENCH = "import time\n\ndef bench_it():\n    time.sleep({})\n"
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@pytest.fixture
def peer() -> Iterator[http_peer.Peer]:
    with http_peer.Peer() as server, http_peer.serving_peer(server):
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone in which a branch that is four times as slow as main is checked out."""
    origin, clone = tmp_path / "origin.git", tmp_path / "clone"
    _git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    _git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    (clone / "bench_it.py").write_text(BENCH.format(0.002))
    (clone / "benchwright.toml").write_text('[run]\ntargets = ["bench_it.py::bench_it"]\n')
    (clone / ".gitignore").write_text(".benchwright/\npublic/\n")
    _commit(clone, "first")
    _git(clone, "push", "--quiet", "origin", "HEAD:main")
    _git(clone, "checkout", "--quiet", "-b", "slower")
    (clone / "bench_it.py").write_text(BENCH.format(0.008))
    _commit(clone, "slower")
    return clone


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def _commit(folder: Path, words: str) -> None:
    _git(folder, "add", "--all")
    _git(folder, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message", words)


class Runner:
    """Does the steps of a composite action, as far as this one needs it."""

    def __init__(self, folder: Path, temporary: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.temporary = folder, temporary
        self.action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        self.environment = _clean_environment() | {
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(temporary),
            **environment,
        }
        self.printed = ""
        self.summary = ""

    def use(self, **inputs: str) -> tuple[int, dict[str, str]]:
        """The code of the first step that fails, or 0, and the action's outputs."""
        known = {name: str(one.get("default", "")) for name, one in self.action["inputs"].items()}
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert {*given} <= {*known}
        values = {f"inputs.{name}": value for name, value in (known | given).items()}
        values["github.token"] = TOKEN
        values |= {name: TOKEN for name, value in values.items() if value == "${{ github.token }}"}
        code = 0
        for step in self.action["runs"]["steps"]:
            if code == 0 and _holds(step.get("if", "true"), values):
                code, outputs = self._do(step, values)
                values |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
        told = {name: _fill(one["value"], values) for name, one in self.action["outputs"].items()}
        return code, told

    def _do(self, step: Mapping[str, Any], values: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        assert step["shell"] == "bash" and "${{" not in step["run"]  # what others write never becomes shell
        outputs, summary = self.temporary / "outputs", self.temporary / "summary.md"
        outputs.write_text("")
        summary.write_text("")
        environment = {name: _fill(text, values) for name, text in step.get("env", {}).items()}
        folder = self.folder / _fill(step.get("working-directory", "."), values)
        files = {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
        ended = _bash(step["run"], folder, self.environment | files | environment)
        self.printed += ended.stdout + ended.stderr
        self.summary += summary.read_text()
        lines = [line.partition("=") for line in outputs.read_text().splitlines()]
        return ended.returncode, {name: value for name, _, value in lines}


def _bash(script: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(
        words, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False, timeout=110
    )


def _clean_environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "CI_", "GITLAB_", "BENCHWRIGHT_STORE"))}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: values.get(found[1], ""), str(text))


def _holds(condition: str, values: Mapping[str, str]) -> bool:
    """Whether `a == 'x' && b != ''` holds: all that the action's conditions are made of."""
    if condition == "true":
        return True
    for part in condition.split(" && "):
        found = re.fullmatch(r"([\w.-]+) (==|!=) '([^']*)'", part)
        assert found, f"a condition that this runner does not know: {part}"
        if (values.get(found[1], "") == found[3]) != (found[2] == "=="):
            return False
    return True


QUICK = "--environment here --pairs {} --samples 2 --warmup 0 --no-verify"


def test_a_pull_request_is_compared_commented_on_and_judged(project: Path, tmp_path: Path, peer: Any) -> None:
    forge = ForgePeer(peer, "github")
    (tmp_path / "event.json").write_text('{"pull_request": {"number": 7, "title": "$(touch /tmp/never) `x`"}}')
    runner = Runner(
        project,
        tmp_path,
        {
            "GITHUB_BASE_REF": "main",
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_SERVER_URL": f"http://{peer.host}",
            "GITHUB_API_URL": f"http://{peer.host}/api/v3",
        },
    )
    code, told = runner.use(install="", options=QUICK.format(12))
    assert (code, told["verdict"]) == (1, "worse"), runner.printed
    (comment,) = forge.comments["7"]
    assert (
        comment["body"].startswith("<!-- benchwright:comparison -->")
        and "against origin/main" in comment["body"]
        and ": 1 worse**" in comment["body"]
    )
    assert told["comment"] == comment["html_url"] and ": 1 worse**" in runner.summary
    # The same again after a push: the comment changes, and no second one is made.
    (project / "bench_it.py").write_text(BENCH.format(0.0021))
    _commit(project, "as before")
    code, told = runner.use(install="", options=QUICK.format(2), fail="false")
    assert (code, told["verdict"]) == (0, "same"), runner.printed
    assert len(forge.comments["7"]) == 1 and ": 1 worse**" not in forge.comments["7"][0]["body"]


@pytest.mark.soak
def test_a_build_that_may_not_comment_is_compared_all_the_same(project: Path, tmp_path: Path, peer: Any) -> None:
    forge = ForgePeer(peer, "github")
    shallow = tmp_path / "shallow"
    _git(project, "push", "--quiet", "origin", "slower")
    _git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=slower", f"file://{tmp_path}/origin.git", str(shallow))
    runner = Runner(
        shallow,
        tmp_path,
        {
            "GITHUB_BASE_REF": "main",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_SERVER_URL": f"http://{peer.host}",
            "GITHUB_API_URL": f"http://{peer.host}/api/v3",
        },
    )
    code, told = runner.use(install="", options=QUICK.format(1), token="wrong", fail="false")
    assert code == 0 and told["comment"] == "", runner.printed
    assert "::warning title=Benchwright::no comment:" in runner.printed and forge.comments == {}
    assert runner.summary


def test_the_address_of_a_comment_is_one_line_whatever_stands_before_it(tmp_path: Path) -> None:
    shown = tmp_path / "benchwright"
    shown.write_text("#!/bin/sh\necho 'a warning' >&2\necho 'http://x/7 was changed'\n")
    shown.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "BENCHWRIGHT_CI_MARKDOWN": "x.md",
        "GITHUB_OUTPUT": str(tmp_path / "out"),
    }
    _bash(str(ROOT / "scripts/ci/comment"), tmp_path, environment)
    assert (tmp_path / "out").read_text() == "comment=http://x/7\n"


def test_a_push_is_measured_and_the_site_is_written(project: Path, tmp_path: Path) -> None:
    runner = Runner(project, tmp_path, {})
    code, told = runner.use(install="", options="--rounds 1 --samples 2 --warmup 0", site="public", store="kept.db")
    assert (code, told["verdict"], told["markdown"]) == (0, "same", ""), runner.printed
    assert (project / "public" / "index.html").is_file() and (project / "kept.db").is_file()


def test_a_wrong_request_fails_the_step(project: Path, tmp_path: Path) -> None:
    runner = Runner(project, tmp_path, {})
    code, told = runner.use(install="", options="--no-such-flag $(touch no) *")
    assert (code, told["verdict"]) == (2, "failed") and "--no-such-flag" in runner.printed
    assert not (project / "no").exists()


def test_the_words_that_are_installed_are_not_expanded(tmp_path: Path) -> None:
    shown = tmp_path / "python3"
    shown.write_text('#!/bin/sh\nfor word in "$@"; do echo "<$word>"; done\n')
    shown.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "BENCHWRIGHT_CI_INSTALL": "benchwright[onnx]\n * $(x)"}
    ended = _bash(str(ROOT / "scripts/ci/install"), tmp_path, environment)
    assert (
        ended.stdout.split()[-4:]
        == ["<--disable-pip-version-check>", "<-->", "<benchwright[onnx]>", "<*>", "<$(x)>"][-4:]
    )


def test_a_merge_request_of_gitlab(project: Path, tmp_path: Path, peer: Any) -> None:
    forge = ForgePeer(peer, "gitlab", path="group/name")
    template = yaml.safe_load((ROOT / "examples/ci/gitlab-template.yml").read_text(encoding="utf-8"))
    environment = _clean_environment() | {
        "GITLAB_CI": "true",
        "CI_PROJECT_URL": forge.url,
        "CI_API_V4_URL": f"http://{peer.host}/api/v4",
        "CI_MERGE_REQUEST_IID": "5",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "GITLAB_TOKEN": TOKEN,
        "BENCHWRIGHT_CI_TARGETS": "bench_it.py::bench_it",
        "BENCHWRIGHT_CI_OPTIONS": QUICK.format(1),
    }
    script = "\n".join(template["benchwright:compare"]["script"])
    ended = _bash(script, project, environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(forge.comments["5"]) == 1
    assert forge.comments["5"][0]["body"].endswith((project / "benchwright.md").read_text().strip() + "\n")
    ended = _bash(script, project, environment | {"BENCHWRIGHT_CI_OPTIONS": "--no-such-flag"})
    assert ended.returncode == 2 and len(forge.comments["5"]) == 1


@pytest.mark.soak
def test_the_pages_of_gitlab(project: Path) -> None:
    template = yaml.safe_load((ROOT / "examples/ci/gitlab-template.yml").read_text(encoding="utf-8"))
    (project / "benchwright.toml").write_text(
        "rounds = 1\nduration = 0.01\nwarmup = 0.0\n" + (project / "benchwright.toml").read_text()
    )
    ended = _bash("\n".join(template["pages"]["script"]), project, _clean_environment())
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (project / "public" / "index.html").is_file()


def test_every_input_is_documented() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert [name for name in (*action["inputs"], *action["outputs"]) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("script", sorted((ROOT / "scripts" / "ci").iterdir()), ids=lambda path: path.name)
def test_scripts_of_steps_pass_shellcheck(script: Path) -> None:
    program = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert program, "the extra `test` installs it"
    ended = subprocess.run([program, str(script)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
