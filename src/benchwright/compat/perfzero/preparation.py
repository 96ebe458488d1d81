"""What a run needs before the first method: key, data, repositories. An error here ends it with nothing run."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchwright.compat.perfzero.console import log
from benchwright.compat.perfzero.flags import PerfZeroFlags
from benchwright.compat.perfzero.workspace import DATA, Workspace
from benchwright.errors import OptionError
from benchwright.fetch import archives, downloads
from benchwright.system import addresses
from benchwright.system.masking import HIDDEN, mask_url
from benchwright.vcs import checkouts

KEY_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
SCHEMES = ("http", "https", "gs", "s3", "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One entry of `--data_downloads`: what, and where it goes below the data folder."""

    url: str
    path: str

    @property
    def is_packed(self) -> bool:
        """PerfZero unpacks what ends in .gz, and nothing else."""
        return self.url.endswith(".gz")


def activate_key(flags: PerfZeroFlags, workspace: Workspace) -> None:
    """Fetches the key unless it is there, tells Google's libraries of it, and `gcloud` if there is one."""
    if not flags.key_url:
        return
    path = workspace.root / addresses.name_of(flags.key_url)
    if not path.exists():
        workspace.root.mkdir(parents=True, exist_ok=True)
        downloads.fetch(flags.key_url, path, before_done=lambda file: file.chmod(0o600))
    _use_key(path)


def reuse_key(flags: PerfZeroFlags, workspace: Workspace) -> None:
    """The key that an earlier run was given, whose address is not kept: the one file in the workspace itself."""
    if flags.key_url != HIDDEN or os.environ.get(KEY_VARIABLE):
        return
    files = [path for path in workspace.root.iterdir() if path.is_file() and not path.name.startswith(".")]
    if len(files) != 1:
        raise OptionError(f"{workspace.root}: which key this run had is not known", remedy=f"set {KEY_VARIABLE}")
    _use_key(files[0])


def _use_key(path: Path) -> None:
    os.environ[KEY_VARIABLE] = str(path)
    command = ["gcloud", "auth", "activate-service-account", "--key-file", str(path)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        log.warning("gcloud is not installed: only %s is set", KEY_VARIABLE)
        return
    if done.returncode != 0:
        raise OptionError(f"gcloud does not take the key {path.name}: {done.stderr.strip()}", remedy="check the key")
    log.info("Activated gcloud service account credential")


def download_data(flags: PerfZeroFlags) -> None:
    """Everything that `--gcs_downloads` and then `--data_downloads` name; what is there already stays as it is."""
    root = Path(flags.texts["root_data_dir"] or DATA)
    entries = [*parse_downloads(flags.split("gcs_downloads")), *parse_downloads(flags.split("data_downloads"))]
    for entry in entries:
        target = root / entry.path
        if target.exists():
            log.info("%s is there: not fetched again", target)
            continue
        log.info("Downloading data from %s to %s", mask_url(entry.url), target)
        is_unpacked = _get(entry, target)
        log.info("Downloaded data from %s to %s", mask_url(entry.url), target)
        if is_unpacked:
            log.info("Decompressed file %s", target)


def parse_downloads(parts: list[str]) -> list[Download]:
    """The entries of one flag. Every scheme is checked before anything is fetched."""
    return [*map(_download, parts)]


def checkout_repositories(flags: PerfZeroFlags, workspace: Workspace) -> dict[str, dict[str, str]]:
    """Clones or updates every repository; what is recorded of each. Local edits are never lost."""
    found = {}
    for repository in map(checkouts.Repository.parse, flags.split("git_repos")):
        folder = workspace.packages / repository.name
        folder.parent.mkdir(parents=True, exist_ok=True)
        log.info("Checking out repository from %s to %s", mask_url(repository.url), folder)
        pull = not flags.cached or bool(repository.revision)
        got = checkouts.checkout(repository, folder, pull=pull)
        found[repository.name] = {"url": mask_url(got.url), "branch": got.branch, "hash": got.revision}
        log.info("Checked-out repository from %s to %s", mask_url(repository.url), folder)
        log.info("%s is at %s", folder, got.revision)
    return found


def _download(text: str) -> Download:
    url, _, path = (part.strip() for part in text.partition(";"))
    scheme = addresses.scheme_of(url)
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        named = f"prefix {scheme}" if scheme else "no prefix"
        raise OptionError(f"Url {mask_url(url)} with {named} is not supported.", remedy=f"known: {known}")
    url = url.removesuffix("*").removesuffix("/")  # a folder
    return Download(url=url, path=path or addresses.name_of(url))


def _get(entry: Download, target: Path) -> bool:
    """Fetches an entry; returns whether it was unpacked. Unpacking comes before the archive gets its name: what has its
    name is unpacked to its end.
    """
    unpacked: list[Path] = []

    def unpack(file: Path) -> None:
        if archives.is_archive(file):
            archives.unpack(file, target.parent, name=target.name)
            unpacked.append(target)
        else:
            log.warning("%s is not packed, whatever its name says", target)

    downloads.fetch(entry.url, target, before_done=unpack if entry.is_packed else None)
    return bool(unpacked)
