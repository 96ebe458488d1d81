"""One comment on a pull or merge request that is kept up to date: made once, changed by every later run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchwright.config import Project
from benchwright.errors import OptionError
from benchwright.notify.issues import ForgeEntry, open_tracker
from benchwright.records.code import clean_repository
from benchwright.vcs.forges import Projects

LONGEST = 60_000  # letters; GitHub takes 65,536
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MERGED = re.compile(r"refs/pull/(\d+)/(?:merge|head)")
_LARGEST_EVENT = 25 * 2**20  # bytes of the file in which a runner describes what happened


def keep_comment(projects: Projects, *, request: str, text: str, name: str) -> ForgeEntry:
    """Puts the text into the comment called `name` on a request: a number, or `auto` for the one that CI builds."""
    if not _NAME.fullmatch(name):
        raise OptionError(f"--comment-name {name!r} is not a name", remedy="letters, digits, dots and dashes")
    if not text.strip():
        raise OptionError("there is no text for the comment", remedy="benchwright ab --markdown writes one")
    number = request_number(request, os.environ)
    mark = f"<!-- benchwright:{name} -->"
    whole = f"{mark}\n{text.strip()}\n"
    if len(whole) > LONGEST:
        whole = f"{whole[:LONGEST]}\n\n... and more: the comment is cut here.\n"
    tracker = open_tracker(project_here(projects, os.environ))
    return tracker.keep_comment(number, whole, mark=mark)


def project_here(projects: Projects, environment: Mapping[str, str]) -> Project:
    """The project that continuous integration builds, else the one that is configured or checked out here."""
    url, forge = "", ""
    if environment.get("GITHUB_ACTIONS") and environment.get("GITHUB_REPOSITORY"):
        server = environment.get("GITHUB_SERVER_URL", "") or "https://github.com"
        url, forge = f"{server.rstrip('/')}/{environment['GITHUB_REPOSITORY']}", "github"
    elif environment.get("GITLAB_CI"):
        url, forge = environment.get("CI_PROJECT_URL", ""), "gitlab"
    if not url:
        return projects.project_of("")
    if not clean_repository(url):
        raise OptionError("the repository that is built here has no page", remedy="set `url` in [project]")
    found = projects.project_of(url)
    api = environment.get("CI_API_V4_URL", "") if forge == "gitlab" else ""
    # A Forgejo or Gitea runner sets GitHub's variables too, so what is configured goes first.
    return replace(found, forge=found.forge or forge, api=found.api or api)


def request_number(text: str, environment: Mapping[str, str]) -> int:
    """The number of a pull or merge request, from what was typed; `auto` reads what the runner says."""
    from benchwright.units import whole_number

    stated = text if text != "auto" else _number_in(environment)
    number = whole_number(stated.lstrip("#!"))
    if number is None or not 0 < number < 10**9:
        if text == "auto":
            raise OptionError("this is not the build of a pull or merge request", remedy="name it: --pull-request 12")
        raise OptionError(f"--pull-request {text!r} is not a number", remedy="for example --pull-request 12")
    return number


def _number_in(environment: Mapping[str, str]) -> str:
    if number := environment.get("CI_MERGE_REQUEST_IID", ""):
        return number
    if found := _MERGED.fullmatch(environment.get("GITHUB_REF", "")):
        return found[1]
    return _number_of_event(environment.get("GITHUB_EVENT_PATH", ""))


def _number_of_event(path: str) -> str:
    """The number in GitHub's description of the event: also where a comment or a label began the workflow."""
    from benchwright.errors import DecodeError
    from benchwright.schema.parsing import json_value

    try:
        with Path(path).open("rb") as file:
            event = json_value(file.read(_LARGEST_EVENT)) if path else None
    except (OSError, DecodeError):
        return ""
    for name in ("pull_request", "issue"):
        inner = event.get(name) if isinstance(event, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("number"), int):
            return str(inner["number"]) if name == "pull_request" or "pull_request" in inner else ""
    return ""
