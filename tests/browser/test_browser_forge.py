"""From a finding to the code and to the forge, in a real Chromium; the forge is played on the loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from benchwright.config import Project
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore
from benchwright.vcs.forges import Projects
from forge_peer import TOKEN, ForgePeer, unquoted_query
from http_peer import Peer, serving_peer
from page_widths import check_width

Pages = Callable[..., Any]
Serve = Callable[[ServerSettings], Iterator[str]]


@pytest.fixture(scope="module")
def forge() -> Iterator[ForgePeer]:
    with pytest.MonkeyPatch.context() as patch, Peer() as peer, serving_peer(peer):
        patch.setenv("NO_PROXY", "*")
        patch.setenv("FORGE_TOKEN", TOKEN)
        yield ForgePeer(peer, "github")


def settings_of(store: Path, **project: str) -> ServerSettings:
    projects = Projects((Project(**project),))  # type: ignore[arg-type]
    return ServerSettings(store_url=f"sqlite:///{store}", artifacts=store.parent / "artifacts", projects=projects)


@pytest.fixture(scope="module")
def server(store_file: Path, serve: Serve, forge: ForgePeer) -> Iterator[str]:
    """A server that may write at the forge."""
    yield from serve(settings_of(store_file, url=forge.url, forge="github", token="${FORGE_TOKEN}"))


@pytest.fixture(scope="module")
def plain(store_file: Path, serve: Serve) -> Iterator[str]:
    """A server that knows the forge and has no token for it."""
    yield from serve(settings_of(store_file, url="https://gitlab.example.com/group/sub/name"))


@pytest.fixture(scope="module")
def found(server: str) -> dict[str, Any]:
    """The newest open finding that is worse, of a commit."""
    with urlopen(f"{server}api/v1/findings") as answer:
        lines = json.load(answer)["findings"]
    return next(one for one in lines if one["state"] == "open" and one["verdict"] == "worse" and one["culprit"])


def test_from_a_finding_to_its_commit_its_range_and_an_issue_once(
    page_of: Pages, forge: ForgePeer, found: dict[str, Any], store_file: Path
) -> None:
    commit = found["culprit"]["revision"]
    page = page_of(f"#/findings/{found['id']}")
    culprit = page.get_by_role("region", name="Culprit")
    link = culprit.get_by_role("listitem").first.get_by_role("link", name=commit[:10])
    expect(link).to_have_attribute("href", f"{forge.url}/commit/{commit}")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        known = store.finding(found["id"]).revisions
    expect(culprit.get_by_role("link", name="what changed")).to_have_attribute(
        "href", f"{forge.url}/compare/{known[0]}...{known[-1]}"
    )
    panel = page.get_by_role("region", name="On GitHub")
    form = panel.get_by_role("link", name="Fill in the form instead").get_attribute("href")
    assert form.startswith(f"{forge.url}/issues/new?") and found["id"] in unquoted_query(form)["body"]
    panel.get_by_role("button", name="Open an issue").click()
    expect(panel.get_by_role("link", name="The issue about it")).to_have_attribute("href", f"{forge.url}/issues/1")
    expect(panel.get_by_role("button", name="Open an issue")).to_have_count(0)
    story = page.get_by_role("region", name="Story")
    expect(story.get_by_role("link", name=f"{forge.url}/issues/1")).to_be_visible()
    panel.get_by_label("Number of the pull request").fill("#12")
    panel.get_by_role("button", name="Comment on it").press("Enter")
    commented = f"{forge.url}/pull/12#issuecomment-500"
    expect(panel.get_by_role("link", name="The comment on the pull request")).to_have_attribute("href", commented)
    assert len(forge.issues) == 1 and [*forge.comments] == ["12"]
    assert found["case"] in forge.issues[0]["title"] and f"/commit/{commit}" in forge.issues[0]["body"]
    page.reload()
    expect(panel.get_by_role("link", name="The issue about it")).to_be_visible()


def test_lists_charts_and_runs_lead_to_the_code_too(
    page_of: Pages, forge: ForgePeer, found: dict[str, Any], store_file: Path
) -> None:
    commit = found["culprit"]["revision"]
    href = f"{forge.url}/commit/{commit}"
    for address in ("#/", "#/findings"):
        page = page_of(address)
        expect(page.locator(f'main a[href="{href}"]').first).to_be_visible()
    page = page_of(f"#/runs?revision={commit}")
    expect(page.locator(f'main a[href="{href}"]').first).to_be_visible()
    page = page_of(f"#/findings/{found['cause']}")
    expect(page.get_by_role("region", name="On GitHub").get_by_role("button", name="Open an issue")).to_be_visible()
    expect(page.locator(f'main a[href="{href}"]').first).to_be_visible()
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        runs = store.finding(found["id"]).runs
    page = page_of(f"#/compare?a=run:{runs[0]}&b=run:{runs[-1]}")
    expect(page.get_by_role("link", name="what changed")).to_have_attribute(
        "href", re.compile(f"^{re.escape(forge.url)}/compare/[0-9a-f]+\\.\\.\\.[0-9a-f]+$")
    )
    page = page_of(f"#/series/{found['series']}")
    chart = page.get_by_role("application").first
    chart.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")  # keeps the point, so that its links can be followed
    expect(page.locator(f'a[href^="{forge.url}/commit/"]').first).to_be_visible()


def test_without_a_token_the_form_is_the_way_and_nothing_breaks_on_a_phone(
    page_of: Pages, plain: str, found: dict[str, Any], store_file: Path
) -> None:
    evil = "</a><img src=x onerror=alert(1)> javascript:alert(1) (#12)"
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        before = store.finding(found["id"])
        first = replace(before.suspects[0], subject=evil, author=evil, pull_request=7)
        store.update_finding(before.id, suspects=(first, *before.suspects[1:]))
    try:
        page = page_of(f"#/findings/{found['id']}", base=plain, width=360, dark=True)
        panel = page.get_by_role("region", name="On GitLab")
        expect(panel.get_by_role("link", name="The issue about it")).to_be_visible()  # the story tells of it
        expect(panel.get_by_role("button", name=re.compile("Comment"))).to_have_count(0)
        culprit = page.get_by_role("region", name="Culprit")
        expect(culprit.get_by_role("link", name="!7")).to_have_attribute(
            "href", "https://gitlab.example.com/group/sub/name/-/merge_requests/7"
        )
        check_width(page)
        for link in page.locator("main a").all():
            assert re.match(r"#|https?://", link.get_attribute("href") or "#")
        assert page.locator("img").count() == 0
    finally:
        with closing(SqlStore(f"sqlite:///{store_file}")) as store:
            store.update_finding(before.id, suspects=before.suspects)
    other = next(one for one in _lines(plain) if one["id"] != found["id"])
    page = page_of(f"#/findings/{other['id']}", base=plain)
    form = page.get_by_role("region", name="On GitLab").get_by_role("link", name="Open an issue")
    fields = unquoted_query(form.get_attribute("href"))
    assert other["case"] in fields["issue[title]"] and other["id"] in fields["issue[description]"]


def _lines(server: str) -> list[dict[str, Any]]:
    with urlopen(f"{server}api/v1/findings") as answer:
        return list(json.load(answer)["findings"])
