"""A history that is imported while the server runs: its regression appears, and the page says how far it is judged."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import series_of_runs as made
from benchwright import schema
from benchwright.server.settings import ServerSettings
from benchwright.store.archive import Progress
from benchwright.store.arrivals import JudgingTrouble
from benchwright.store.sql import SqlStore
from page_widths import check_width

PATIENCE = 60.0  # seconds
HISTORY = made.levels((0.010, 45), (0.0114, 15))  # 14 % slower, fifteen runs ago


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judging")


@pytest.fixture(scope="module")
def judging_server(folder: Path, serve: Callable[[ServerSettings], Iterator[str]]) -> Iterator[str]:
    """A server that judges what arrives in its store."""
    url = f"sqlite:///{folder / 'results.db'}"
    yield from serve(ServerSettings(store_url=url, artifacts=folder / "artifacts", judges=True, quiet=0.2))


def test_an_imported_regression_appears_and_the_page_says_how_far_it_is_judged(
    page_of: Callable[..., Any], judging_server: str, folder: Path
) -> None:
    page = page_of("", base=judging_server)
    expect(page.get_by_role("heading", name="Nothing has been measured yet")).to_be_visible()
    lines = "".join(f"{schema.dumps(made.run_of(i, value))}\n" for i, value in enumerate(HISTORY))
    (folder / "history.jsonl").write_text(lines)
    command = [sys.executable, "-m", "benchwright", "import", "history.jsonl", "--store", "results.db"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with closing(SqlStore(f"sqlite:///{folder / 'results.db'}")) as store:
        deadline = time.monotonic() + PATIENCE
        while store.judging().until != "run-0059" and time.monotonic() < deadline:
            time.sleep(0.1)
        page.reload()
        said = page.locator(".judging")
        expect(said).to_have_text("Judged until run run-0059")
        expect(page.get_by_role("link", name="bench.py::encode").first).to_be_visible()
        store.tell_progress(Progress(run="run-0060", started_at="", planned=9, done=0, phase="measuring"))
        store.add_run(made.run_of(60, 0.0114))  # it is still being measured, so it waits
        page.reload()
        expect(said).to_have_text("Judged until run run-0059 · 2 results wait")
    page.get_by_role("link", name="run-0059").click()
    expect(page).to_have_url(f"{judging_server}#/runs/run-0059")


@pytest.fixture(scope="module")
def troubled_server(
    sample: Path, tmp_path_factory: pytest.TempPathFactory, serve: Callable[[ServerSettings], Iterator[str]]
) -> Iterator[str]:
    """A server whose store has everything to tell of judging that can go wrong."""
    file = Path(shutil.copy(sample, tmp_path_factory.mktemp("troubled") / "results.db"))
    with closing(SqlStore(f"sqlite:///{file}")) as store:
        store.add_run(made.run_of(1, 0.01))
        batch = store.arrived()
        assert batch is not None
        store.settle_arrivals(batch, [JudgingTrouble(series="5e1e5", run="run-0001", why="result r1 is damaged")])
        store.add_run(made.run_of(2, 0.01))
        store.note_judge_failure("the process that judges was ended by SIGKILL")
        with store._writing() as connection:
            row = "('older', 1234, 0, '')"
            connection.exec_driver_sql(f"INSERT INTO judging (name, number, at, document) VALUES {row}")
    yield from serve(ServerSettings(store_url=f"sqlite:///{file}", artifacts=file.parent / "artifacts"))


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 360)])
def test_what_goes_wrong_is_named(
    page_of: Callable[..., Any], troubled_server: str, dark: bool, width: int, tmp_path: Path
) -> None:
    page = page_of("", base=troubled_server, dark=dark, width=width)
    said = page.locator(".judging")
    expect(said).to_contain_text("· 2 results wait")
    expect(page.get_by_role("alert")).to_contain_text("the process that judges was ended by SIGKILL")
    expect(said).to_contain_text("1 series could not be judged: result r1 is damaged")
    expect(said).to_contain_text("1,234 older results were kept before the store noted what is judged")
    check_width(page)
    page.screenshot(path=tmp_path / "overview.png")
