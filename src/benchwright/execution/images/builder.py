"""Images built, loaded and listed by docker or podman, through python-on-whales (extra `container`).

Measuring in an image does not pass through here: it needs the engine's process itself (`execution.hosts.container`).
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright.errors import NotInstalledError, OptionError
from benchwright.execution.hosts import engines
from benchwright.execution.hosts.engines import Engine, Image
from benchwright.execution.images.recipes import LABEL

if TYPE_CHECKING:
    from python_on_whales import DockerClient

_GZIP = b"\x1f\x8b"
_TAIL = 5  # lines of a failed build that an error repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOrder:
    """What to build: a folder that holds what the Dockerfile copies, and how."""

    context: Path
    dockerfile: Path
    tag: str
    arguments: Mapping[str, str]  # --build-arg
    cache: bool = True
    pull: bool = False  # ask the registry for a newer base


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedImage:
    """An image that we built, as a list shows it."""

    tags: tuple[str, ...]
    id: str
    created: str
    size: int
    version: str  # of the Benchwright inside


def build(order: ImageOrder, *, show: Callable[[str], object] | None = None, engine: Engine | None = None) -> Image:
    """Builds an image and returns it; `show` gets every line of the engine's output, stderr by default."""
    engine = engine or engines.find()
    show = show or sys.stderr.write
    said: list[str] = []

    def build_image(client: DockerClient) -> None:
        lines: Any = client.buildx.build(
            order.context,
            file=order.dockerfile,
            tags=[order.tag],
            build_args=dict(order.arguments),
            cache=order.cache,
            pull=order.pull,
            load=engine.kind == "docker",  # podman keeps what it builds by itself
            stream_logs=True,
        )
        for line in lines:
            said.append(line.rstrip())
            show(line)

    _with_client(engine, build_image, f"{order.tag} could not be built", said)
    return engine.image(order.tag)


def load(archive: Path, *, engine: Engine | None = None) -> list[str]:
    """Loads the images of a file that `docker save` wrote, packed or not, and returns their names."""
    engine = engine or engines.find()
    what = f"{archive.name} could not be loaded"
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        plain = _unpack(archive, Path(folder) / "image.tar", what)
        names: list[str] = _with_client(engine, lambda client: client.image.load(plain, quiet=True), what, [])
    return names


def list_images(*, engine: Engine | None = None) -> list[ListedImage]:
    """The images on this machine that we built, the newest first."""
    engine = engine or engines.find()

    def find_images(client: DockerClient) -> list[ListedImage]:
        images = client.image.list(filters=[("label", LABEL)])
        return [row for image in images if (row := _listed_image(image)) is not None]

    rows: list[ListedImage] = _with_client(engine, find_images, "images could not be listed", [])
    return sorted(rows, key=lambda row: row.created, reverse=True)


def _unpack(archive: Path, target: Path, what: str) -> Path:
    """The file itself, or what is packed in it: not every engine unpacks by itself."""
    try:
        with archive.open("rb") as file:
            if file.read(2) != _GZIP:
                return archive
        with gzip.open(archive) as packed, target.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    except (OSError, EOFError, zlib.error) as error:
        raise OptionError(f"{what}: {error}") from None
    return target


def _listed_image(image: Any) -> ListedImage | None:
    """What is told of an image; None when it has been removed since it was listed."""
    from python_on_whales import DockerException

    try:
        labels = image.config.labels or {}
    except DockerException:
        return None
    return ListedImage(
        tags=tuple(image.repo_tags or ()),
        id=str(image.id),
        created=image.created.isoformat(timespec="seconds"),
        size=int(image.size),
        version=str(labels.get(LABEL, "")),
    )


def _with_client(engine: Engine, do: Callable[[DockerClient], Any], what: str, said: list[str]) -> Any:
    try:
        from python_on_whales import DockerClient, DockerException
    except ImportError:
        raise NotInstalledError("python-on-whales", "'benchwright[container]'") from None
    client = DockerClient(client_call=[engine.path], client_type=engine.kind)
    try:
        return do(client)
    except DockerException as error:
        lines = [line for line in said or (error.stderr or "").splitlines() if line.strip()][-_TAIL:]
        reason = "\n".join(lines) or f"{engine.kind} ended with code {error.return_code}"
        raise OptionError(f"{what}:\n{reason}", remedy=_remedy(reason)) from None


def _remedy(reason: str) -> str:
    if "buildx" in reason and "not a docker command" in reason:
        return "install docker's buildx plugin, or use podman"
    if "No matching distribution" in reason or "Could not find a version" in reason:
        return "name where it is: --build-arg PIP_EXTRA_INDEX_URL=URL; or choose: --packages A,B"
    return ""
