"""E-mail addresses of people: who is told them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openid_provider import SAME, WillingProvider, about, settings_of, sign_in, willing_provider


@pytest.fixture
def provider() -> Iterator[WillingProvider]:
    with willing_provider() as made:
        yield made


@pytest.fixture
def server(serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider) -> Iterator[Any]:
    """A server whose people sign in at `provider`."""
    with serving(tmp_path, sign_in=settings_of(provider)) as made:
        yield made


def test_the_addresses_of_people_are_for_those_who_triage(
    server: Any, provider: WillingProvider, filled: Callable[..., Any]
) -> None:
    filled(server.store)
    sign_in(server, provider)
    wish = {"state": "acknowledged", "assignee": "Grace Hopper <grace@example.com>", "comment": "mine"}
    assert server.patch("findings/f1", json=wish, headers=SAME).status_code == 200
    view = server.post("views", json={"name": "mine", "address": "findings"}, headers=SAME)
    assert view.status_code == 201 and view.json()["who"] == "Ada Lovelace <ada@example.com>"
    places = ("findings/f1", "findings", "causes", "overview", "views")

    def shown(headers: dict[str, str] | None = None) -> str:
        told = [server.get(place, headers=headers) for place in places]
        told.append(server.post("store/findings", json={}, headers={**SAME, **(headers or {})}))
        assert {one.status_code for one in told} == {200}
        return "".join(one.text for one in told)

    signed_in = shown()
    assert "<ada@example.com>" in signed_in and "<grace@example.com>" in signed_in
    assert server.delete("session", headers=SAME).status_code == 204
    for headers in ({}, server.token("reader", "read")):
        assert "example.com" not in shown(headers)
        assert "Ada Lovelace" in shown(headers) and "to Grace Hopper" in shown(headers)
    assert "<grace@example.com>" in shown(server.token("bot", "triage"))
    sign_in(server, provider, "eve")
    assert "example.com" not in shown() and "<" in about(server)["who"]  # of oneself everything is told
