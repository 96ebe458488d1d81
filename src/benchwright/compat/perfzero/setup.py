"""PerfZero's setup.py: a data drive, packages in the workspace, and the image to run in; how long each took.

Every step of an image is built anew on a base that is asked for again, as PerfZero does it, unless `--cache` is given.
Where PerfZero's own Dockerfiles are absent, most of which install what no longer exists, one of ours takes their
place: the one for NVIDIA's accelerators where their driver is, else the one for CPUs.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchwright.compat.perfzero import copies, drives, images
from benchwright.compat.perfzero.console import log, start_logging
from benchwright.compat.perfzero.flags import DEFAULT_KEY, ProgramParser
from benchwright.compat.perfzero.preparation import KEY_VARIABLE
from benchwright.compat.perfzero.workspace import Workspace
from benchwright.errors import BenchwrightError
from benchwright.fetch import downloads
from benchwright.system import addresses
from benchwright.system.masking import mask_url

DEFAULT_TAG = "perfzero/tensorflow"


def main(argv: Sequence[str], project: Path | None = None) -> int:
    """Sets up what the flags ask for; 1 when a flag is unknown or a step fails. `project` holds the workspace."""
    flags, unknown = _parser().parse_known_args(list(argv))
    start_logging(logging.DEBUG)
    if unknown:
        log.error("Arguments %s are not recognized", [mask_url(word) for word in unknown])
        raise SystemExit(1)
    steps = _SetupSteps(flags, project or Path.cwd())
    try:
        steps.run()
    except BenchwrightError as error:
        log.error("%s", error)
        return 1
    log.info("Setup time in seconds by operation:\n%s", json.dumps(steps.seconds, indent=2))
    return 0


class _SetupSteps:
    """What is done, in PerfZero's order, and how long each step took."""

    def __init__(self, flags: argparse.Namespace, project: Path) -> None:
        self._flags, self._project = flags, project
        self._workspace = Workspace(project=project, name=flags.workspace)
        self.seconds: dict[str, float] = {}

    def run(self) -> None:
        wanted = copies.parse(self._flags.site_package_downloads)
        with self._time_step("download_token"):
            self._get_key()
        with self._time_step("create_drive"):
            if self._flags.gce_nvme_raid:
                drives.mount_drives(Path(self._flags.root_data_dir or "/data"))
        for entry in wanted:
            copies.copy(entry, self._workspace.packages)
        if self._flags.dockerfile_path.endswith(".tar.gz"):
            self._load_image()
        elif self._flags.dockerfile_path:
            with self._time_step("build_docker"):
                images.build(self._request())

    def _load_image(self) -> None:
        fetched = images.fetch_image(self._flags.dockerfile_path, self._time_step("fetch_docker"))
        with fetched as archive, self._time_step("load_docker"):
            images.load(archive)

    def _get_key(self) -> None:
        """Fetches the key, if one is named; libraries are told of it only when something else comes from gs://."""
        url = self._flags.gcloud_key_file_url
        if not url or url == DEFAULT_KEY:
            return
        path = self._workspace.root / addresses.name_of(url)
        if not path.exists():
            log.debug("fetching the key to %s", path)
            downloads.fetch(url, path)
            path.chmod(0o600)
        if any(text.startswith("gs://") for text in (self._flags.dockerfile_path, self._flags.tensorflow_pip_spec)):
            os.environ[KEY_VARIABLE] = str(path)

    def _request(self) -> images.ImageRequest:
        flags = self._flags
        return images.ImageRequest(
            dockerfile=flags.dockerfile_path,
            project=self._project,
            resources=self._workspace.root / "resources",
            tag=flags.docker_tag or DEFAULT_TAG,
            tensorflow=flags.tensorflow_pip_spec,
            extra=tuple(spec.strip() for spec in flags.extra_pip_specs.split(";") if spec.strip()),
            arguments=tuple(argument for argument in flags.extra_docker_build_args if argument),
            cache=flags.cache,
        )

    @contextmanager
    def _time_step(self, step: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.seconds[step] = time.monotonic() - begin


def _parser() -> ProgramParser:
    parser = ProgramParser(prog="benchwright perfzero setup", description=__doc__)
    add = parser.add_argument
    add(
        "--dockerfile_path",
        default=images.DEFAULT,
        help="Dockerfile, here or in the project; or URL of an image.tar.gz.",
    )
    add("--docker_tag", default=DEFAULT_TAG, help="Name of the image.")
    add(
        "--tensorflow_pip_spec",
        default="",
        help="What pip installs as TensorFlow; gs:// or file:// wheels are fetched.",
    )
    add("--extra_pip_specs", default="", help="Further packages, separated by semicolons: a==1;b==2.")
    add("--extra_docker_build_args", nargs="*", default=[], metavar="NAME=VALUE", help="Further build arguments.")
    add("--site_package_downloads", default="", help="folder:name,... copied into the workspace's site-packages.")
    add("--workspace", default="workspace", help="Folder under the project for code, outputs and keys.")
    add("--gcloud_key_file_url", default="", help="Service account key to fetch.")
    add("--root_data_dir", default="/data", help="Where --gce_nvme_raid mounts the drive.")
    add("--gce_nvme_raid", default=None, help="If set: format the machine's empty NVMe drives as one and mount it.")
    own = parser.add_argument_group("Benchwright's own")
    own.add_argument(
        "--cache", action="store_true", help="Reuse steps of earlier builds, and a base image that is here already."
    )
    own.add_argument("--no_cache", action="store_false", dest="cache", help=argparse.SUPPRESS)  # once needed
    return parser
