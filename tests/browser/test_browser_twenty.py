"""A commit made twenty series slower: seen, grouped, linked, an issue opened, acknowledged, resolved after the fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import series_of_runs as made
from benchwright.config import Project
from benchwright.records.findings import State
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore
from benchwright.vcs.forges import Projects
from benchwright.workflows.judgement import judge_arrivals
from forge_peer import TOKEN, ForgePeer
from http_peer import Peer, serving_peer

SERIES, BEFORE, AFTER = 20, 20, 12


@pytest.fixture
def forge() -> Iterator[ForgePeer]:
    with pytest.MonkeyPatch.context() as patch, Peer() as peer, serving_peer(peer):
        patch.setenv("NO_PROXY", "*")
        patch.setenv("FORGE_TOKEN", TOKEN)
        yield ForgePeer(peer, "github")


def _measure(path: Path, numbers: range, factor: float) -> None:
    """Runs of twenty cases, and what they show is judged."""
    cases = [replace(made.CASE, name=f"suite/{i:02d}.py::encode") for i in range(SERIES)]
    with closing(SqlStore(f"sqlite:///{path}")) as store:
        for i in numbers:
            runs = [
                made.run_of(i, made.levels((0.01 * factor, 1), seed=100 * i + j)[0], case=one)
                for j, one in enumerate(cases)
            ]
            store.add_run(replace(runs[0], results=tuple(result for run in runs for result in run.results)))
        assert all(not batch.troubles for batch in judge_arrivals(store))


def _press(page: Any, thing: Any, by: str) -> None:
    """With the mouse, or with Tab and Enter."""
    thing.wait_for()
    if by == "mouse":
        thing.click()
        return
    for _ in range(120):
        page.keyboard.press("Tab")
        if thing.evaluate("(one) => one === document.activeElement"):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"Tab does not reach {thing}")


@pytest.mark.parametrize("by", [pytest.param("mouse", marks=pytest.mark.soak), "keyboard"])
def test_one_bad_commit_from_the_overview_to_its_fix(
    page_of: Callable[..., Any],
    serve: Callable[[ServerSettings], Iterator[str]],
    forge: ForgePeer,
    tmp_path: Path,
    by: str,
) -> None:
    path = tmp_path / "results.db"
    _measure(path, range(BEFORE), 1.0)
    _measure(path, range(BEFORE, BEFORE + AFTER), 1.2)
    projects = Projects((Project(url=forge.url, forge="github", token="${FORGE_TOKEN}"),))
    for server in serve(ServerSettings(store_url=f"sqlite:///{path}", artifacts=tmp_path, projects=projects)):
        page = page_of(base=server)
        card = page.get_by_role("region", name="Regressions").get_by_role("listitem")
        expect(card).to_have_count(1)
        expect(card).to_contain_text(re.compile("Change 20.*20 series of 20 cases.*slower", re.S))
        _press(page, card.get_by_role("link", name="Change 20"), by)
        commit = page.locator(".finding-head").get_by_role("link", name=made.commit(BEFORE)[:10]).first
        expect(commit).to_have_attribute("href", f"{forge.url}/commit/{made.commit(BEFORE)}")
        panel = page.get_by_role("region", name="On GitHub")
        _press(page, panel.get_by_role("button", name="Open an issue"), by)
        expect(panel.get_by_role("link", name="The issue about it")).to_have_attribute("href", f"{forge.url}/issues/1")
        _press(page, page.get_by_role("button", name="Acknowledge"), by)
        expect(page.locator(".finding-head")).to_contain_text("acknowledged")
        assert len(forge.issues) == 1
        _measure(path, range(BEFORE + AFTER, BEFORE + 2 * AFTER), 1.0)  # the fix
        page.reload()
        expect(page.locator(".finding-head")).to_contain_text("resolved")
        with closing(SqlStore(f"sqlite:///{path}")) as store:
            worse = [one for one in store.findings() if one.verdict == "worse"]
            assert len(worse) == SERIES and {one.state for one in worse} == {State.RESOLVED}
            assert len({one.cause for one in worse}) == 1
