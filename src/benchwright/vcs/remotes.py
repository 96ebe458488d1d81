"""Where a working copy came from, as the web address of its repository; and the pull request that it is built for.

An address may hold a login. Nothing of that is handed on: what cannot be read as a host and a path is no address.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from benchwright.errors import UserError
from benchwright.records.code import clean_repository

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WEB = ("http", "https")
_SSH = ("ssh", "git+ssh", "ssh+git", "git")  # their ports say nothing of the web server's
_SHORT = re.compile(
    r"(?:[^@/:\s]*@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]+):(?!//)([^\\\s]+)"
)  # user@host:path
_PROXIES = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}
_SETTINGS = r"^(remote\..*\.url|branch\..*\.remote|url\..*\.insteadof)$"
_MOST_HGRC = 1 << 20  # bytes


def web_address(remote: str) -> str:
    """The web address of the repository that a remote names: `git@host:group/name.git` is `https://host/group/name`.

    Logins, queries and the ports of ssh are left out. A path on a disk, and anything else, is "".
    """
    text = remote.strip()
    found = _SCHEME.match(text)
    if not found:
        short = _SHORT.fullmatch(text)
        return _address("https", short[1], "", short[2]) if short else ""
    scheme = found[1].lower()
    if scheme not in (*_WEB, *_SSH):
        return ""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = f"[{host}]" if ":" in host else host
    kept = f":{port}" if port is not None and scheme in _WEB else ""
    return _address(scheme if scheme in _WEB else "https", host, kept, parts.path)


def _address(scheme: str, host: str, port: str, path: str) -> str:
    name = _PROXIES.get(host.lower(), host.lower())
    inner = re.sub("/{2,}", "/", path.split("?")[0].split("#")[0]).strip("/")
    return clean_repository(f"{scheme}://{name}{port}/{quote(inner, safe='/~%+:!$&()*,;=')}") if inner else ""


def git_repository(settings: str, branch: str = "") -> str:
    """The web address of a git repository, from what `git config -z --get-regexp` prints of `git_question`.

    The remote that the branch follows counts, else `origin`, else the only one there is.
    """
    entries = [entry.partition("\n") for entry in settings.split("\0") if entry]
    urls = {key[len("remote.") : -len(".url")]: value for key, _, value in reversed(entries) if key.endswith(".url")}
    followed = [value for key, _, value in entries if key == f"branch.{branch}.remote"]
    others = [*urls] if len(urls) == 1 else []
    name = next((name for name in (*followed[-1:], "origin", *others) if name in urls), "")
    written = urls.get(name, "")
    rules = [(value, key[len("url.") : -len(".insteadof")]) for key, _, value in entries if key.endswith(".insteadof")]
    return _choose(written, _replace_beginning(written, rules))


def git_question() -> list[str]:
    """The arguments with which git prints what `git_repository` reads; it exits with 1 when there is nothing."""
    return ["config", "-z", "--get-regexp", _SETTINGS]


def _replace_beginning(url: str, rules: list[tuple[str, str]]) -> str:
    """What git makes of an address by `url.<base>.insteadOf`: the longest beginning that fits is replaced."""
    fitting = max(
        (rule for rule in rules if rule[0] and url.startswith(rule[0])), key=lambda rule: len(rule[0]), default=None
    )
    return fitting[1] + url[len(fitting[0]) :] if fitting else url


def _choose(written: str, replaced: str) -> str:
    """The address as it is written where it names a server, since it may be replaced by a mirror; else the replaced.

    `gh:owner/name` looks like a server named `gh`: such a name without a dot counts only where nothing replaces it.
    """
    if written == replaced:
        return web_address(written)
    short = None if _SCHEME.match(written) else _SHORT.fullmatch(written)
    is_abbreviation = short is not None and "." not in short[1]
    return (not is_abbreviation and web_address(written)) or web_address(replaced)


def hg_repository(folder: Path) -> str:
    """The web address of the default path of a Mercurial repository, as its own `hgrc` tells."""
    inner = folder / ".hg"
    try:
        if (shared := inner / "sharedpath").is_file():
            inner = Path(shared.read_text(encoding="utf-8").strip())
        with (inner / "hgrc").open(encoding="utf-8") as file:
            text = file.read(_MOST_HGRC)
        reader = configparser.RawConfigParser(strict=False)
        reader.read_string(text)
        return web_address(reader.get("paths", "default", fallback=""))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return ""


def local_repository(folder: str | Path) -> tuple[Path, str] | None:
    """The root of the working copy around `folder` and the web address of its repository; None where there is none."""
    from benchwright.vcs import answer

    here = Path(folder).absolute()
    for above in (here, *here.parents):
        if (above / ".git").exists():
            try:
                return above, git_repository(answer(["git", "-C", str(above), *git_question()]))
            except UserError:
                return above, ""
        if (above / ".hg").exists():
            return above, hg_repository(above)
    return None


# ---- pull requests ----


_NUMBER = re.compile("[1-9][0-9]{0,8}")
_REF = re.compile(r"refs/pull/([1-9][0-9]{0,8})/")
# variable -> the variable that names the repository whose request it is; "" where none does
_VARIABLES = {
    "CI_MERGE_REQUEST_IID": "CI_MERGE_REQUEST_PROJECT_PATH",  # GitLab
    "BITBUCKET_PR_ID": "BITBUCKET_REPO_FULL_NAME",
    "CI_COMMIT_PULL_REQUEST": "CI_REPO",  # Woodpecker
    "DRONE_PULL_REQUEST": "DRONE_REPO",
    "BUILDKITE_PULL_REQUEST": "",
    "CHANGE_ID": "",  # Jenkins
    "TRAVIS_PULL_REQUEST": "TRAVIS_REPO_SLUG",
}
_SURE = (
    re.compile(r"\AMerge pull request (?:'.*' \(#|#)([1-9][0-9]{0,8})\b"),  # GitHub, Bitbucket; Gitea with the title
    re.compile(r"\AMerged in .* \(pull request #([1-9][0-9]{0,8})\)"),  # Bitbucket Cloud
    re.compile(r"^See merge request (?:[\w./-]*)!([1-9][0-9]{0,8})$", re.MULTILINE),  # GitLab, in the text
)


def built_request(repository: str, environment: Mapping[str, str] = os.environ) -> int:
    """The number of the pull or merge request that continuous integration builds here; 0 outside of one.

    A number of another repository than the one that was checked out is none of ours.
    """
    if (found := _REF.match(environment.get("GITHUB_REF", ""))) and _is_of(
        repository, environment, "GITHUB_REPOSITORY"
    ):
        return int(found[1])  # Gitea's and Forgejo's actions set it too
    for name, whose in _VARIABLES.items():
        if _NUMBER.fullmatch(number := environment.get(name, "")) and _is_of(repository, environment, whose):
            return int(number)
    return 0


def merged_request(message: str) -> int:
    """The number of the request that a commit merged, where its message says so beyond doubt; else 0."""
    found = next((match for pattern in _SURE if (match := pattern.search(message))), None)
    return int(found[1]) if found else 0


def _is_of(repository: str, environment: Mapping[str, str], name: str) -> bool:
    whose = environment.get(name, "").strip("/").lower() if name else ""
    return not whose or not repository or repository.lower().endswith(f"/{whose}")
