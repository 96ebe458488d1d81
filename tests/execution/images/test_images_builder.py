"""Images built, loaded and listed by a real engine."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import containers
from benchwright.errors import NotInstalledError, OptionError
from benchwright.execution.hosts.container import ContainerHost
from benchwright.execution.images import builder, orders
from benchwright.execution.images.builder import ImageOrder
from benchwright.execution.images.orders import Wanted
from benchwright.records import Environment

engine, python_image = containers.engine, containers.python_image


@pytest.fixture
def tag(engine: str) -> Iterator[str]:
    """A name for what a test builds, which is removed afterwards."""
    name = f"localhost/benchwright-tests/{uuid.uuid4()}:one"
    yield name
    containers.remove(engine, name)


def _order(folder: Path, tag: str, text: str, **fields: object) -> ImageOrder:
    path = folder / "Dockerfile"
    path.write_text(text, encoding="utf-8")
    whole: dict[str, object] = {"context": folder, "dockerfile": path, "tag": tag, "arguments": {}, **fields}
    return ImageOrder(**whole)  # type: ignore[arg-type]


@pytest.mark.soak  # installs a package; tests/cli/test_cli_image.py builds, lists and measures without
def test_an_environment_becomes_an_image_to_measure_in(python_image: str, tag: str, engine: str) -> None:
    environment = Environment(machine={}, system={"python": "3.11.0"}, packages={"numpy": "2.4.6"})
    image = orders.build(environment, Wanted(base=python_image, tag=tag, packages=()))
    assert image.name == tag and image.id.startswith("sha256:")
    host = ContainerHost(tag)
    assert host.system["image"] == {**host.system["image"], "name": tag, "id": image.id}  # type: ignore[dict-item]
    inside = containers.ask(engine, "run", "--rm", tag, "python3", "-m", "pip", "list")
    assert "benchwright" in inside.stdout, inside.stderr
    (row,) = [row for row in builder.list_images() if tag in row.tags]
    assert row.version and row.size > 1_000_000 and row.id == image.id


@pytest.mark.soak
def test_steps_are_cached_unless_they_must_not_be(tmp_path: Path, python_image: str, tag: str, engine: str) -> None:
    text = f"FROM {python_image}\nRUN echo done > /marker\n"
    builder.build(_order(tmp_path, tag, text), show=lambda line: None)
    lines: list[str] = []
    builder.build(_order(tmp_path, tag, text), show=lines.append)
    assert any("using cache" in line.lower() for line in lines)
    lines.clear()
    containers.remove(engine, tag)  # else it would stay, without a name
    builder.build(_order(tmp_path, tag, text, cache=False), show=lines.append)
    assert lines and not any("using cache" in line.lower() for line in lines)


def test_build_arguments_are_passed_as_they_are(tmp_path: Path, python_image: str, tag: str, engine: str) -> None:
    text = f'FROM {python_image}\nARG words\nRUN printf %s "$words" > /words\n'
    builder.build(_order(tmp_path, tag, text, arguments={"words": "a b; $(c) 'd'"}), show=lambda line: None)
    told = containers.ask(engine, "run", "--rm", tag, "python3", "-c", "print(open('/words').read())")
    assert told.stdout == "a b; $(c) 'd'\n"


@pytest.mark.soak
def test_a_build_that_fails_says_why(tmp_path: Path, python_image: str, tag: str) -> None:
    with pytest.raises(OptionError, match="no-such-program"):
        builder.build(_order(tmp_path, tag, f"FROM {python_image}\nRUN no-such-program\n"), show=lambda line: None)
    text = f"FROM {python_image}\nRUN python3 -m pip install --no-index nothing-of-that-name\n"
    with pytest.raises(OptionError, match="nothing-of-that-name") as failed:
        builder.build(_order(tmp_path, tag, text), show=lambda line: None)
    assert "PIP_EXTRA_INDEX_URL" in failed.value.remedy


@pytest.mark.soak
def test_a_saved_image_is_loaded(tmp_path: Path, tag: str, engine: str) -> None:
    builder.build(_order(tmp_path, tag, "FROM scratch\nCOPY Dockerfile /\n"), show=lambda line: None)
    saved = tmp_path / "saved.tar"
    assert containers.ask(engine, "save", "--output", str(saved), tag).returncode == 0
    containers.remove(engine, tag)
    assert builder.load(saved) == [tag]
    assert containers.ask(engine, "image", "inspect", tag).returncode == 0
    (tmp_path / "rubbish.tar").write_bytes(b"rubbish")
    with pytest.raises(OptionError, match=r"rubbish\.tar could not be loaded"):
        builder.load(tmp_path / "rubbish.tar")
    (tmp_path / "cut.tar.gz").write_bytes(gzip.compress(saved.read_bytes())[:-20])
    with pytest.raises(OptionError, match=r"cut\.tar\.gz could not be loaded"):
        builder.load(tmp_path / "cut.tar.gz")
    with pytest.raises(OptionError, match="No such file"):
        builder.load(tmp_path / "absent.tar")


def test_without_the_extra_the_remedy_is_named(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "python_on_whales", None)
    with pytest.raises(NotInstalledError, match=r"benchwright\[container\]"):
        builder.list_images()
