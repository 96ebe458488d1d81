"""Forges: which one a repository lies on, and where it shows commits, ranges, pull requests, authors and forms.

The pages are those that each forge documents for links from elsewhere. What it does not have is "".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from benchwright.config import Project
from benchwright.records.code import CodeLinks, clean_repository
from benchwright.records.findings import matches

# `{web}`, `{site}` and `{path}` are filled in here: the repository's page, its server, its path there.
_GITEA = CodeLinks(
    forge="Gitea",
    web="{web}",
    commit="{web}/commit/{commit}",
    compare="{web}/compare/{base}...{head}",
    request="{web}/pulls/{number}",
    issue="{web}/issues/new?title={title}&body={body}",
)
KINDS = {
    "github": CodeLinks(
        forge="GitHub",
        web="{web}",
        commit="{web}/commit/{commit}",
        compare="{web}/compare/{base}...{head}",
        request="{web}/pull/{number}",
        author="{site}/search?type=commits&q=repo%3A{path}+author-name%3A%22{author}%22",
        issue="{web}/issues/new?title={title}&body={body}",
    ),
    "gitlab": CodeLinks(
        forge="GitLab",
        web="{web}",
        commit="{web}/-/commit/{commit}",
        compare="{web}/-/compare/{base}...{head}",
        request="{web}/-/merge_requests/{number}",
        author="{web}/-/commits/HEAD?author={author}",
        issue="{web}/-/issues/new?issue%5Btitle%5D={title}&issue%5Bdescription%5D={body}",
        request_word="merge request",
        hash_is_request=False,
    ),
    "gitea": _GITEA,
    "forgejo": replace(_GITEA, forge="Forgejo"),
    "bitbucket": CodeLinks(
        forge="Bitbucket",
        web="{web}",
        commit="{web}/commits/{commit}",
        compare="{web}/branches/compare/{head}%0D{base}",
        request="{web}/pull-requests/{number}",
    ),
    "bitbucket-server": CodeLinks(
        forge="Bitbucket",
        web="{web}",
        commit="{web}/commits/{commit}",
        compare="{web}/compare/diff?sourceBranch={head}&targetBranch={base}",
        request="{web}/pull-requests/{number}",
    ),
    "cgit": CodeLinks(
        forge="cgit",
        web="{web}",
        commit="{web}/commit/?id={commit}",
        compare="{web}/diff/?id={head}&id2={base}",
        author="{web}/log/?qt=author&q={author}",
        hash_is_request=False,
    ),
    "sourcehut": CodeLinks(forge="SourceHut", web="{web}", commit="{web}/commit/{commit}", hash_is_request=False),
}
NONE = "none"  # in `[project]`: nothing is linked
_HOSTS = {
    "github.com": "github",
    "gitlab.com": "gitlab",
    "codeberg.org": "forgejo",
    "gitea.com": "gitea",
    "bitbucket.org": "bitbucket",
    "git.sr.ht": "sourcehut",
}
_NAMED = {**dict.fromkeys(("github", "gitlab", "gitea", "forgejo", "cgit")), "bitbucket": "bitbucket-server"}
_SERVER_PATH = re.compile(r"(?:scm/)?(~?[^/]+)/([^/]+)")  # of a clone from Bitbucket Data Center
_TEMPLATES = {"commit": "commit", "compare": "compare", "pull_request": "request", "author": "author", "issue": "issue"}


@dataclass(frozen=True, slots=True)
class Projects:
    """The projects that are configured, and the repository to assume of what names none."""

    configured: tuple[Project, ...] = ()
    default: str = ""  # the web address of the working copy that the results lie in

    def project_of(self, repository: str) -> Project:
        """The project of a repository, with its address filled in; one without a forge where none is known.

        What is configured wins: for the repository that it names, for its `remotes`, and for what names no repository.
        A token is for the repository that its project names, or for the working copy's own: a run may name any other.
        """
        given = clean_repository(repository)
        named = [one for one in self.configured if one.url]
        if not given and named:
            return _completed(named[0])
        known = given or self.default
        for one in named:
            if _is_same(one.url, known) or any(matches(pattern, known) for pattern in one.remotes):
                return _completed(one)
        general = next((one for one in self.configured if not one.url), Project())
        if known == self.default:
            return _completed(replace(general, url=known))
        return replace(general, url=known, forge=self._forge_at(known, general.forge), token="", api="")

    def is_ours(self, repository: str) -> bool:
        """Whether whoever runs this named the repository: a project that is configured, or the working copy's own."""
        given = clean_repository(repository)
        known = given or self.default
        return known == self.default or any(
            _is_same(one.url, known) or any(matches(pattern, known) for pattern in one.remotes)
            for one in self.configured
            if one.url
        )

    def links(self, repository: str) -> CodeLinks | None:
        """The pages of a repository; None where nothing is known of them."""
        found = links_of(self.project_of(repository))
        return found if found and (found.web or found.commit) else None

    def _forge_at(self, repository: str, general: str) -> str:
        """The forge of a server: well-known, or as some project there says, or as is said of all, or by its name."""
        parts = urlsplit(repository)
        there = (one.forge for one in self.configured if one.forge and urlsplit(one.url).netloc == parts.netloc)
        return _HOSTS.get(parts.hostname or "", "") or next(there, "") or general or _kind_of(repository)


def load_projects(store_url: str = "") -> Projects:
    """The projects of `benchwright.toml`. Results in a file inside a working copy are of its repository by default."""
    from benchwright import config
    from benchwright.vcs.remotes import local_repository

    settings = config.load()
    configured = tuple(one for one in (settings.project, *settings.projects) if one != Project())
    path = store_url.removeprefix("sqlite:///")
    here = local_repository(Path(path).absolute().parent) if store_url and "://" not in path else None
    return Projects(configured, here[1] if here else "")


def links_of(project: Project) -> CodeLinks | None:
    """The pages of a project: what its forge has, with the templates that are configured in front."""
    if project.forge == NONE:
        return None
    base = KINDS.get(project.forge) if project.url else None
    found = base or CodeLinks(forge="", web="{web}")
    given = {name: getattr(project, key) for key, name in _TEMPLATES.items() if getattr(project, key)}
    if base is None and not given and not project.url:
        return None
    return _with_address(replace(found, **given), web_page(project))


def web_page(project: Project) -> str:
    """The page of a project. Bitbucket Data Center shows a repository elsewhere than it is cloned from."""
    parts = urlsplit(project.url)
    found = _SERVER_PATH.fullmatch(parts.path.strip("/")) if project.forge == "bitbucket-server" else None
    if not found:
        return project.url
    owner = f"users/{found[1][1:]}" if found[1].startswith("~") else f"projects/{found[1]}"
    return f"{parts.scheme}://{parts.netloc}/{owner}/repos/{found[2]}"


def _with_address(links: CodeLinks, web: str) -> CodeLinks:
    parts = urlsplit(web)
    values = {
        "{web}": web,
        "{site}": f"{parts.scheme}://{parts.netloc}" if web else "",
        "{path}": quote(parts.path.strip("/"), safe=""),
    }
    filled: dict[str, Any] = {}
    for name in ("web", *_TEMPLATES.values()):
        template = getattr(links, name)
        for mark, value in values.items():
            template = template.replace(mark, value)
        filled[name] = template if template.startswith(("http://", "https://")) else ""
    return replace(links, **filled)


def _completed(project: Project) -> Project:
    """The project with its forge, as the name of its server tells where nobody says it."""
    return project if project.forge else replace(project, forge=_kind_of(project.url))


def _kind_of(repository: str) -> str:
    """The forge that a host name stands for: one of the well-known, or one that it names (`gitlab.example.com`)."""
    host = urlsplit(repository).hostname or ""
    if host in _HOSTS:
        return _HOSTS[host]
    parts = [part for label in host.split(".") for part in label.split("-")]
    return next((_NAMED[part] or part for part in parts if part in _NAMED), "")


def _is_same(url: str, repository: str) -> bool:
    """Whether two addresses are one repository: over http or https, in large letters or small."""
    return bool(url) and url.partition("://")[2].lower() == repository.partition("://")[2].lower()
