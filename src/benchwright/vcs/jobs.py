"""The branch that a job of continuous integration works on: such a job checks out a commit, and git knows no branch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

OWN = "BENCHWRIGHT_BRANCH"  # says it wherever a benchmark runs
_PREFIXES = ("refs/heads/", "refs/remotes/origin/", "origin/")


@dataclass(frozen=True, slots=True)
class JobVariables:
    """What one service sets in the environment of its jobs."""

    folder: str  # the variable of the folder that it checked the repository out to; "" where it sets none
    branches: tuple[str, ...]  # variables of the branch; of a pull request its own branch first


SERVICES = {
    "GITHUB_ACTIONS": JobVariables("GITHUB_WORKSPACE", ("GITHUB_HEAD_REF", "GITHUB_REF")),  # Gitea and Forgejo as well
    "GITLAB_CI": JobVariables("CI_PROJECT_DIR", ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH")),
    "JENKINS_URL": JobVariables("WORKSPACE", ("CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH")),
    "BUILDKITE": JobVariables("BUILDKITE_BUILD_CHECKOUT_PATH", ("BUILDKITE_BRANCH",)),
    "CIRCLECI": JobVariables("", ("CIRCLE_BRANCH",)),
    "TRAVIS": JobVariables("TRAVIS_BUILD_DIR", ("TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH")),
    "TF_BUILD": JobVariables("BUILD_SOURCESDIRECTORY", ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH")),
    "BITBUCKET_BUILD_NUMBER": JobVariables("BITBUCKET_CLONE_DIR", ("BITBUCKET_BRANCH",)),
    "DRONE": JobVariables("DRONE_WORKSPACE", ("DRONE_SOURCE_BRANCH", "DRONE_BRANCH")),
    "APPVEYOR": JobVariables(
        "APPVEYOR_BUILD_FOLDER", ("APPVEYOR_PULL_REQUEST_HEAD_REPO_BRANCH", "APPVEYOR_REPO_BRANCH")
    ),
}


def branch_of_job(folder: Path) -> str:
    """The branch that the job says it works on; "" outside of a job, and for a repository that is not the job's own."""
    if own := os.environ.get(OWN, ""):
        return own
    for service, said in SERVICES.items():
        if service in os.environ and _is_inside(folder, os.environ.get(said.folder, "")):
            return next((name for one in said.branches if (name := _branch_name(os.environ.get(one, "")))), "")
    return ""


def _is_inside(folder: Path, checkout: str) -> bool:
    """Whether the repository lies in the job's checkout: a working copy that is elsewhere is of another commit."""
    return not checkout or folder.resolve().is_relative_to(Path(checkout).resolve())


def _branch_name(said: str) -> str:
    """A branch without what stands before its name; "" for a tag or the merge of a pull request."""
    for prefix in _PREFIXES:
        if said.startswith(prefix):
            return said.removeprefix(prefix)
    return "" if said.startswith("refs/") else said
