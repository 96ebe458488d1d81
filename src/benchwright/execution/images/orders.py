"""From an environment to an image: the recipe, its folder, the build."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchwright.errors import OptionError
from benchwright.execution.hosts import engines
from benchwright.execution.hosts.engines import Image
from benchwright.execution.images import builder, recipes
from benchwright.machine import environment as machine
from benchwright.records import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options of an image: its base, packages and build arguments."""

    base: str = ""  # an image with Python; "": the official one of the recorded version
    tag: str = ""  # "": made from the content
    packages: tuple[str, ...] | None = None  # None: all that were recorded
    arguments: Mapping[str, str] = field(default_factory=dict)
    cache: bool = True


def here() -> Environment:
    """Returns the environment of this interpreter, from which an image can be made."""
    return machine.collect(packages=machine.installed_packages())


def dockerfile(environment: Environment, wanted: Wanted) -> str:
    """The text of the Dockerfile."""
    return _recipe(environment, wanted).dockerfile


def write(environment: Environment, wanted: Wanted, folder: str) -> Path:
    """The Dockerfile's path, written into `folder` with what it copies."""
    try:
        return recipes.write(_recipe(environment, wanted), Path(folder))
    except OSError as error:
        raise OptionError(f"{error.filename}: cannot be written: {error.strerror}") from None


def build(environment: Environment, wanted: Wanted) -> Image:
    """Builds the image; its name is what `--host container:NAME` takes."""
    recipe = _recipe(environment, wanted)
    engine = engines.find()  # before anything is written
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        order = builder.ImageOrder(
            context=Path(folder),
            dockerfile=recipes.write(recipe, Path(folder)),
            tag=wanted.tag or recipe.tag,
            arguments=wanted.arguments,
            cache=wanted.cache,
            pull=not wanted.cache,
        )
        return builder.build(order, engine=engine)


def parse_packages(text: str | None) -> tuple[str, ...] | None:
    """The packages that a list names; none for `none`, all (None) when nothing is said."""
    if text is None:
        return None
    return () if text == "none" else tuple(name for name in map(str.strip, text.split(",")) if name)


def arguments(texts: Iterable[str], flag: str) -> dict[str, str]:
    """Build arguments, `NAME=VALUE` each."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise OptionError(f"{flag}: {text!r} is not NAME=VALUE")
        found[name] = value
    return found


def _recipe(environment: Environment, wanted: Wanted) -> recipes.Recipe:
    return recipes.recipe(environment, base=wanted.base, packages=wanted.packages, arguments=wanted.arguments)
