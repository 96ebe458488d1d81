"""The image step of PerfZero's set-up: built from a Dockerfile with its build arguments, or loaded from a file."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchwright.compat.perfzero.console import log
from benchwright.errors import OptionError
from benchwright.execution.images import builder, orders, recipes
from benchwright.fetch import downloads
from benchwright.system import addresses
from benchwright.system.masking import mask_url

DEFAULT = "docker/Dockerfile_ubuntu_1804_tf_v1"  # PerfZero's
NVIDIA_SMI = "nvidia-smi"  # its driver's program: a machine that has it gets the image with CUDA
EMPTY = "EMPTY"  # stands for the wheel that nobody asked for: a Dockerfile cannot copy what may be absent
_PERFZEROS = re.compile(r"docker/Dockerfile(_ubuntu_\w+[\w.]*)?")  # the names of the files that PerfZero brings
_NO_BASE = re.compile(r"registry|initializing source|manifest unknown|failed to resolve|pull access denied")
_HEAD = """\
# The image of `benchwright perfzero setup`, {kind}.
FROM python:3.12-slim
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG tensorflow_pip_spec="{tensorflow}"
ARG local_tensorflow_pip_spec="{empty}"
ARG extra_pip_specs=""
"""
_BODY = f"""\
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY {recipes.WHEEL} ${{local_tensorflow_pip_spec}} /tmp/
RUN python3 -m pip install --no-cache-dir /tmp/{recipes.WHEEL} absl-py
RUN cd /tmp && python3 -m pip install --no-cache-dir ${{tensorflow_pip_spec}}
RUN test -z "${{extra_pip_specs}}" || python3 -m pip install --no-cache-dir ${{extra_pip_specs}}
"""
CPU = _HEAD.format(kind="for machines without an accelerator", tensorflow="tensorflow", empty=EMPTY) + _BODY
# CUDA and cuDNN come with TensorFlow's own extra, in the versions it was built for, which no base image promises. The
# driver comes from the machine: NVIDIA's container toolkit reads the two variables and mounts it.
NVIDIA = (
    _HEAD.format(kind="for machines with NVIDIA's accelerators", tensorflow="tensorflow[and-cuda]", empty=EMPTY)
    + "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility\n"
    + _BODY
)
OURS = {"cpu": "docker/Dockerfile_cpu", "nvidia": "docker/Dockerfile_nvidia"}  # what --dockerfile_path may name


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRequest:
    """What the flags say about the image."""

    dockerfile: str
    project: Path
    resources: Path  # the folder that Dockerfiles copy from
    tag: str
    tensorflow: str
    extra: tuple[str, ...]
    arguments: tuple[str, ...]
    cache: bool


def build(request: ImageRequest) -> None:
    """Builds the image that PerfZero's own command line builds."""
    further = orders.arguments(_fill_in_values(request.arguments), "--extra_docker_build_args")
    dockerfile = _dockerfile(request)
    request.resources.mkdir(parents=True, exist_ok=True)
    spec, wheel = _tensorflow(request)
    if dockerfile is None:
        dockerfile = _write_built_in(request)
    arguments = {**({"tensorflow_pip_spec": spec} if spec else {}), "local_tensorflow_pip_spec": wheel}
    order = builder.ImageOrder(
        context=request.resources,
        dockerfile=dockerfile,
        tag=request.tag,
        arguments={**arguments, "extra_pip_specs": " ".join(request.extra), **further},
        cache=request.cache,
        pull=not request.cache,
    )
    try:
        image = builder.build(order, show=lambda line: log.debug("%s", line.rstrip()))
    except OptionError as error:
        is_base = not request.cache and _NO_BASE.search(error.message)
        local = "a base image that is on this machine alone needs --cache" if is_base else ""
        raise OptionError(error.message, remedy=error.remedy or local) from None
    log.info("Built docker image with tag %s", request.tag)
    log.debug("its id is %s", image.id)


@contextmanager
def fetch_image(url: str, timed: AbstractContextManager[None]) -> Iterator[Path]:
    """The saved image behind `url`, while it is needed; a file of this machine needs no fetching."""
    if not addresses.scheme_of(url):
        with timed:
            yield Path(url)
        return
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        with timed:
            log.info("fetching %s", mask_url(url))
            path = downloads.fetch(url, Path(folder) / addresses.name_of(url))
        yield path


def load(archive: Path) -> None:
    """Gives the engine a saved image."""
    for name in builder.load(archive):
        log.info("Loaded docker image %s", name)


def _dockerfile(request: ImageRequest) -> Path | None:
    """The file as given, else in the project; None for a name that a built-in one stands in for."""
    for path in (Path(request.dockerfile), request.project / request.dockerfile):
        if path.is_file():
            return path.absolute()
    if request.dockerfile in OURS.values() or _PERFZEROS.fullmatch(request.dockerfile):
        return None
    raise OptionError(
        f"--dockerfile_path: there is no {request.dockerfile}, neither here nor in {request.project}",
        remedy=f"leave it out for a built-in one, or name it: {', '.join(OURS.values())}; '' for no image",
    )


def _write_built_in(request: ImageRequest) -> Path:
    """The path of the built-in Dockerfile that was named; for one of PerfZero's, of the one that suits this machine."""
    kind = next((kind for kind, name in OURS.items() if name == request.dockerfile), "")
    if not kind:
        has_driver = shutil.which(NVIDIA_SMI) is not None
        kind, why = ("nvidia", f"{NVIDIA_SMI} is here") if has_driver else ("cpu", f"{NVIDIA_SMI} is not here")
        log.info("%s is absent: the built-in %s is used, because %s", request.dockerfile, OURS[kind], why)
    recipes.write_wheel(request.resources)
    path = request.resources / "Dockerfile"
    path.write_text(NVIDIA if kind == "nvidia" else CPU, encoding="utf-8")
    return path


def _tensorflow(request: ImageRequest) -> tuple[str, str]:
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


def _fill_in_values(arguments: tuple[str, ...]) -> Iterator[str]:
    """A build argument without a value takes that of the variable, as docker does; one that is not set is left out."""
    for argument in arguments:
        if "=" in argument:
            yield argument
        elif argument in os.environ:
            yield f"{argument}={os.environ[argument]}"
