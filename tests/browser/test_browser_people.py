"""People sign in at a real provider, in a real Chromium: what they do bears their names, and what they may not do is
not offered."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from benchwright.server.settings import ServerSettings, SignInSettings
from benchwright.store.sql import SqlStore
from http_peer import Peer, serving_peer
from page_server import PATIENCE

CLIENT, SECRET = "benchwright", "a secret of a test, long enough for a provider"
PEOPLE = {
    "ada": {"name": "Ada Lovelace", "email": "ada@example.com", "email_verified": True, "groups": ["perf-team"]},
    "eve": {"name": "Eve", "email": "eve@example.com", "email_verified": True, "groups": ["sales"]},
    "root": {"name": "Grace Hopper", "email": "grace@example.com", "email_verified": True, "groups": ["perf-admins"]},
}


@pytest.fixture(scope="module")
def issuer(root: Path) -> Iterator[str]:
    """The address of oidc-provider, a certified OpenID Connect provider that the dashboard's packages hold."""
    module = root / "dashboard" / "node_modules" / "oidc-provider" / "lib" / "index.js"
    settings = {
        "module": module.as_uri(),
        "client": CLIENT,
        "secret": SECRET,
        "redirect": "http://127.0.0.1/sign-in/callback",
        "people": PEOPLE,
    }
    script = root / "tests" / "support" / "openid_provider.mjs"
    command = ["node", str(script), json.dumps(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), "node could not start the provider: make dashboard"
            yield address
        finally:
            process.kill()


@pytest.fixture(scope="module")
def place(issuer: str, store_file: Path, serve: Callable[[ServerSettings], Iterator[str]]) -> Iterator[str]:
    """The address of a server whose people sign in there."""
    sign_in = SignInSettings(
        issuer=issuer,
        client_id=CLIENT,
        client_secret=SECRET,
        label="Sign in with Example",
        scopes=("openid", "profile", "email", "groups"),
        groups={"perf-team": "triage", "perf-admins": "admin"},
    )
    yield from serve(
        ServerSettings(store_url=f"sqlite:///{store_file}", artifacts=store_file.parent / "artifacts", sign_in=sign_in)
    )


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, timezone_id="UTC", locale="en-GB")
    made = context.new_page()
    made.set_default_timeout(PATIENCE * 1000)
    yield made
    context.close()


def sign_in_as(page: Any, who: str, within: str = "main") -> None:
    """Follows the link of the present page to the provider, and answers what it asks."""
    page.get_by_role(within).get_by_role("link", name="Sign in with Example").first.click()
    page.get_by_placeholder("Enter any login").fill(who)
    page.get_by_placeholder("and password").fill("whatever")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def open_finding(store_file: Path) -> str:
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        return next(one.id for one in store.findings() if one.state == "open")


def test_somebody_signs_in_acknowledges_and_signs_out(page: Any, place: str, store_file: Path) -> None:
    finding = open_finding(store_file)
    page.goto(f"{place}#/findings/{finding}")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)  # not offered to somebody unknown
    sign_in_as(page, "ada")
    expect(page).to_have_url(f"{place}#/findings/{finding}")  # back where it began
    page.get_by_text("Account: Ada Lovelace <ada@example.com>").locator("..").click()
    expect(page.locator(".account-menu")).to_contain_text("may look and triage")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Acknowledge").first.click()
    expect(page.get_by_role("main")).to_contain_text(re.compile(r"Ada Lovelace <ada@example\.com>\s*acknowledged"))
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        last = store.finding(finding).remarks[-1]
    assert (last.who, last.what) == ("Ada Lovelace <ada@example.com>", "acknowledged")
    assert page.evaluate("document.cookie") == ""  # no script can read the session
    page.get_by_role("link", name="Mute this case, or set a threshold").click()  # a rule, from where it is wanted
    muting = page.get_by_role("form", name="Mute")
    expect(muting.get_by_label("Cases, or the key of a series")).not_to_have_value("")
    expect(muting.get_by_role("status")).to_contain_text("In the last 90 days people were told of")
    expect(page.get_by_role("navigation", name="Settings")).to_have_count(0)  # the rest is for admins
    page.go_back()
    page.get_by_text("Account: Ada Lovelace <ada@example.com>").locator("..").click()
    page.locator(".account-menu").get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("contentinfo").get_by_role("link", name="Sign in with Example")).to_be_visible()
    expect(page.get_by_role("button", name="Resolve")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("contentinfo").get_by_role("link", name="Sign in with Example")).to_be_visible()


def test_somebody_of_another_group_may_only_look(page: Any, place: str, store_file: Path) -> None:
    page.goto(f"{place}#/findings/{open_finding(store_file)}")
    sign_in_as(page, "eve")
    expect(page.get_by_role("main")).to_contain_text("Eve <eve@example.com> may view findings, but not change them.")
    expect(page.get_by_role("button", name="Resolve")).to_have_count(0)
    page.get_by_text("Account: Eve <eve@example.com>").locator("..").click()
    expect(page.locator(".account-menu").get_by_role("link", name="Settings")).to_have_count(0)


def test_an_admin_sets_rules_where_people_are(
    page: Any, place: str, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        today = datetime.now(UTC).isoformat(timespec="seconds")
        known = store.findings()[0]
        store.keep_finding(replace(known, id="f5e54", series="fresh", runs=("fresh",), found_at=today))
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"{place}#/settings/rules")
    expect(page.get_by_role("main")).to_contain_text("Rules needs the role triage.")
    sign_in_as(page, "root", within="contentinfo")
    expect(page).to_have_url(f"{place}#/settings/rules")

    form = page.get_by_role("form", name="Threshold")
    form.get_by_label("Cases").fill("vision*")
    form.get_by_label("Smallest change, per cent").fill("50")
    expect(form.get_by_role("status")).to_contain_text("In the last 90 days people were told of")
    form.get_by_role("button", name="Add").click()
    row = page.get_by_role("table", name="Thresholds").get_by_role("row", name="vision*")
    expect(row).to_contain_text("50 %")
    row.get_by_role("button", name="Change").click()
    form.get_by_label("Smallest change, per cent").fill("20")
    expect(form.get_by_role("status")).to_contain_text("Changes below 50 % were not kept")
    form.get_by_role("button", name="Keep the change").click()
    expect(row).to_contain_text("20 %")
    mute = page.get_by_role("form", name="Mute")
    mute.get_by_label("Cases, or the key of a series").fill("*")
    expect(mute.get_by_role("status")).to_contain_text("This would have silenced all of them.")
    mute.get_by_label("Cases, or the key of a series").fill("text*")
    mute.get_by_label("Why").fill("moves every day")
    mute.get_by_role("button", name="Mute").click()
    mutes = page.get_by_role("table", name="Mutes")
    expect(mutes).to_contain_text("Grace Hopper <grace@example.com>")
    page.get_by_role("button", name="Change the mute of text*").click()
    mute.get_by_label("Why").fill("until the new tokenizer is in")
    mute.get_by_role("button", name="Keep the change").click()
    expect(mutes).to_contain_text("until the new tokenizer is in")

    parts = page.get_by_role("navigation", name="Settings")
    parts.get_by_role("link", name="Notifications").click()
    with Peer() as peer, serving_peer(peer):
        form = page.get_by_role("form", name="Target")
        form.get_by_label("Address").fill(f"webhook+http://secret@{peer.host}/hidden")
        expect(form.get_by_role("status")).to_contain_text("This would have told you")
        form.get_by_role("button", name="Add").click()
        expect(page.get_by_role("alert")).to_contain_text("has its secret written out")
        form.get_by_label("Address").fill(f"webhook+http://{peer.host}/hidden")
        form.get_by_role("button", name="Add").click()
        table = page.get_by_role("table", name="Targets")
        expect(table).to_contain_text("worse in every case")
        table.get_by_role("button", name="Send a test message").click()
        expect(table.get_by_role("status")).to_contain_text("Sent: 200", timeout=30_000)
        assert peer.requests[-1].json()["type"] == "benchwright.test"
        expect(page.get_by_role("main")).not_to_contain_text("hidden")
        table.get_by_role("button", name="Remove").click()
        expect(page.get_by_role("main")).to_contain_text("No notification targets yet.")

    parts.get_by_role("link", name="Tokens").click()
    form = page.get_by_role("form", name="New token")
    form.get_by_label("Name of the program or machine").fill("nightly")
    form.get_by_label("Scope").select_option("write")
    form.get_by_role("button", name="Create").click()
    token = page.get_by_role("status").get_by_text("bw_").inner_text()
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        found = store.token_find(token)
    assert found is not None and (found.name, found.scope) == ("nightly", "write")
    page.get_by_role("button", name="Revoke nightly").click()
    expect(page.get_by_role("main")).to_contain_text("No tokens yet.")

    parts.get_by_role("link", name="People").click()
    expect(page.get_by_role("table", name="People who are signed in")).to_contain_text("this browser")
    parts.get_by_role("link", name="Audit log").click()
    log = page.get_by_role("table", name="Audit log, the newest first")
    expect(log).to_contain_text("vision* every metric: 50 % -> 20 %")
    page.get_by_label("What was done").fill("token revoked")
    page.get_by_label("What was done").press("Enter")
    expect(log.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(f"{place}#/settings/audit?action=token+revoked")
