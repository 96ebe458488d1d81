"""The image step of PerfZero's set-up: built from a Dockerfile with its build arguments, or loaded from a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchwright.compat.perfzero.console import log
from benchwright.config import shown_url
from benchwright.errors import OptionError
from benchwright.fetch import addresses, downloads
from benchwright.images import building, ordering, wheels

DEFAULT = "docker/Dockerfile_ubuntu_1804_tf_v1"  # PerfZero's; ours takes its place where it is absent
EMPTY = "EMPTY"  # stands for the wheel that nobody asked for: a Dockerfile cannot copy what may be absent
BUILTIN = f"""\
# The image of `benchwright perfzero setup`.
FROM python:3.12-slim
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG tensorflow_pip_spec="tensorflow"
ARG local_tensorflow_pip_spec="{EMPTY}"
ARG extra_pip_specs=""
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY {wheels.NAME} ${{local_tensorflow_pip_spec}} /tmp/
RUN python3 -m pip install --no-cache-dir /tmp/{wheels.NAME} absl-py
RUN cd /tmp && python3 -m pip install --no-cache-dir ${{tensorflow_pip_spec}}
RUN test -z "${{extra_pip_specs}}" || python3 -m pip install --no-cache-dir ${{extra_pip_specs}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the flags say about the image."""

    dockerfile: str
    project: Path
    resources: Path  # the folder that Dockerfiles copy from
    tag: str
    tensorflow: str
    extra: tuple[str, ...]
    arguments: tuple[str, ...]
    cache: bool


def build(request: Request) -> None:
    """Builds the image that PerfZero's own command line builds."""
    further = ordering.arguments(_valued(request.arguments), "--extra_docker_build_args")
    dockerfile = _dockerfile(request)
    request.resources.mkdir(parents=True, exist_ok=True)
    spec, wheel = _tensorflow(request)
    if dockerfile is None:
        log.info("%s is absent: the built-in Dockerfile is used", request.dockerfile)
        wheels.write(request.resources)
        dockerfile = request.resources / "Dockerfile"
        dockerfile.write_text(BUILTIN, encoding="utf-8")
    arguments = {**({"tensorflow_pip_spec": spec} if spec else {}), "local_tensorflow_pip_spec": wheel}
    order = building.Order(
        context=request.resources,
        dockerfile=dockerfile,
        tag=request.tag,
        arguments={**arguments, "extra_pip_specs": " ".join(request.extra), **further},
        cache=request.cache,
        pull=not request.cache,
    )
    image = building.build(order, show=lambda line: log.debug("%s", line.rstrip()))
    log.info("Built docker image with tag %s (%s)", request.tag, image.id)


@contextmanager
def fetched(url: str, timed: AbstractContextManager[None]) -> Iterator[Path]:
    """The saved image behind `url`, while it is needed; a file of this machine needs no fetching."""
    if not addresses.scheme_of(url):
        with timed:
            yield Path(url)
        return
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        with timed:
            log.info("fetching %s", shown_url(url))
            path = downloads.fetch(url, Path(folder) / addresses.name_of(url))
        yield path


def load(archive: Path) -> None:
    """Gives the engine a saved image."""
    for name in building.load(archive):
        log.info("Loaded docker image %s", name)


def _dockerfile(request: Request) -> Path | None:
    """The file as given, else in the project; None where PerfZero's default is in neither place."""
    for path in (Path(request.dockerfile), request.project / request.dockerfile):
        if path.is_file():
            return path.absolute()
    if request.dockerfile == DEFAULT:
        return None
    raise OptionError(
        f"--dockerfile_path: there is no {request.dockerfile}, neither here nor in {request.project}",
        remedy="leave it out for the built-in one, or '' for no image",
    )


def _tensorflow(request: Request) -> tuple[str, str]:
    """What pip is given, and the file that the Dockerfile copies."""
    if not request.tensorflow.startswith(("gs://", "file://")):
        (request.resources / EMPTY).touch()
        return request.tensorflow, EMPTY
    name = addresses.name_of(request.tensorflow)
    target = request.resources / name
    if request.tensorflow.startswith("file://"):  # it may have been built anew under its old name
        target.unlink(missing_ok=True)
    downloads.fetch(request.tensorflow, target)
    return name, name


def _valued(arguments: tuple[str, ...]) -> Iterator[str]:
    """A build argument without a value takes that of the variable, as docker does; one that is not set is left out."""
    for argument in arguments:
        if "=" in argument:
            yield argument
        elif argument in os.environ:
            yield f"{argument}={os.environ[argument]}"
