from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import StoreError
from benchwright.store.remote import address

FILE = '"https://bench.example/" = "general"\n"https://bench.example/team" = "special"\n'


@pytest.mark.parametrize(
    ("url", "place", "token"),
    [
        ("https://bench.example", "https://bench.example/", ""),
        ("HTTPS://Bench.Example:8443/a//", "https://bench.example:8443/a/", ""),
        ("https://bw_1@bench.example/", "https://bench.example/", "bw_1"),
        ("https://ci:bw%5F2@bench.example/", "https://bench.example/", "bw_2"),
        ("http://[::1]:8/", "http://[::1]:8/", ""),
    ],
)
def test_a_url_names_a_server_and_may_bear_a_token(url: str, place: str, token: str) -> None:
    found = address.parse(url)
    assert (found.url, found.token) == (place, token)
    assert not token or token not in repr(found)


@pytest.mark.parametrize(
    "url",
    [
        "https://",
        "http:///x",
        "https://a.example/?x=secret",
        "https://a.example/#secret",
        "http://a:b:c/",
        "https://a.example/ x",
    ],
)
def test_what_is_no_address_of_a_store_is_said_without_its_secrets(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        address.parse(url)
    assert "secret" not in str(caught.value)


def test_the_url_comes_before_the_variable_and_that_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _write_tokens()
    assert address.parse("https://bench.example/").token == "general"
    assert address.parse("https://bench.example/team/").token == "special"
    assert address.parse("https://bench.example/teams/").token == "general"
    assert address.parse("https://bench.example.evil/").token == ""
    monkeypatch.setenv("BENCHWRIGHT_TOKEN", " from-the-variable\n")
    assert address.parse("https://bench.example/").token == "from-the-variable"
    assert address.parse("https://mine@bench.example/").token == "mine"


def test_a_file_of_tokens_that_others_can_read_is_not_used() -> None:
    _write_tokens().chmod(0o640)
    with pytest.raises(StoreError, match="others can read") as caught:
        address.parse("https://bench.example/")
    assert "chmod 600" in caught.value.remedy


@pytest.mark.parametrize(
    "text", ["bw_secret", '"https://bench.example/" = ["bw_secret"]', '"https://bench.example/" = "bw_secret\\n"']
)
def test_a_file_of_tokens_that_holds_something_else_is_told_without_quoting_it(text: str) -> None:
    _write_tokens(text)
    with pytest.raises(StoreError) as caught:
        address.parse("https://bench.example/")
    assert "bw_secret" not in str(caught.value)


def test_this_machine_is_reached_without_a_proxy() -> None:
    near = ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]/", "http://a.localhost/"]
    assert [address.parse(url).is_near for url in near] == [True] * 4
    assert not address.parse("http://localhost.example/").is_near


def _write_tokens(text: str = FILE) -> Path:
    path = address.token_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path
