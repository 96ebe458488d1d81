"""Settings: flag, then environment, then file, then default; a wrong key is named."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import config
from benchwright.errors import DecodeError, OptionError
from benchwright.store import open_store


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCHWRIGHT_STORE", raising=False)
    return tmp_path


def test_flag_beats_environment_beats_file_beats_default(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.store_url() == ".benchwright/results.db"
    (here / "benchwright.toml").write_text('store = "postgresql://from/file"')
    assert config.store_url() == "postgresql://from/file"
    monkeypatch.setenv("BENCHWRIGHT_STORE", "from-environment.db")
    assert config.store_url() == "from-environment.db"
    assert config.store_url("from-flag.db") == "from-flag.db"


def test_empty_settings_count_as_none(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_STORE", "")
    assert config.store_url() == config.DEFAULT_STORE


def test_an_empty_flag_is_a_mistake(here: Path) -> None:
    with pytest.raises(OptionError, match="--store is empty"):
        config.store_url("")


def test_the_file_is_found_from_a_folder_below_and_its_paths_count_from_it(here: Path) -> None:
    (here / "benchwright.toml").write_text('store = "kept/results.db"\ntags = ["nightly"]')
    below = here / "a" / "b"
    below.mkdir(parents=True)
    found = config.load(below)
    assert (found.store, found.tags) == (str(here / "kept" / "results.db"), ("nightly",))


def test_the_nearest_file_wins(here: Path) -> None:
    (here / "benchwright.toml").write_text('tags = ["far"]')
    below = here / "a"
    below.mkdir()
    (below / "benchwright.toml").write_text('tags = ["near"]')
    assert config.load(below).tags == ("near",)


def test_an_absolute_path_stays(here: Path) -> None:
    (here / "benchwright.toml").write_text('store = "/var/results.db"')
    assert config.load().store == "/var/results.db"


def test_an_unknown_key_names_the_file_and_the_nearest_key(here: Path) -> None:
    (here / "benchwright.toml").write_text('stroe = "x"')
    with pytest.raises(DecodeError) as caught:
        config.load()
    assert caught.value.message == f"{here / 'benchwright.toml'}: unknown key 'stroe'"
    assert caught.value.remedy == "did you mean 'store'?"


@pytest.mark.parametrize(
    "content",
    [b"store = ", b"\xff", b"store = 7", b'tags = "nightly"', b"rounds = 0", b"duration = -1.0", b"duration = inf"],
)
def test_a_broken_file_is_named(here: Path, content: bytes) -> None:
    (here / "benchwright.toml").write_bytes(content)
    with pytest.raises(DecodeError, match=r"benchwright\.toml"):
        config.load()


def test_a_broken_file_ends_a_verb_with_code_2(
    tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "benchwright.toml").write_text("stores = 'x'")
    ended = inside("list")
    assert ended.returncode == 2
    assert "unknown key 'stores'" in ended.stderr and "did you mean 'store'?" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_verb_uses_the_store_of_the_file(
    tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "benchwright.toml").write_text("store = 'kept/here.db'")
    open_store(tmp_path / "kept" / "here.db").close()
    ended = inside("list", "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["data"] == []
    (tmp_path / "benchwright.toml").write_text("store = 'elsewhere.db'")
    ended = inside("list", "--json")
    assert ended.returncode == 2
    assert str(tmp_path / "elsewhere.db") in ended.stderr
