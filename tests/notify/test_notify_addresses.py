"""Addresses: where secrets come from, and that nothing shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright import config
from benchwright.errors import DecodeError, OptionError
from benchwright.notify import addresses, sender_at


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("webhook+https://${S}@ci.example.com/hooks/deadbeef?x=1", "webhook+https://ci.example.com/***"),
        ("webhook+https://ci.example.com", "webhook+https://ci.example.com"),
        ("webhook+https://ci.example.com?key=deadbeef", "webhook+https://ci.example.com"),
        ("github://${S}@owner/name?pull=3", "github://owner/name?pull=3"),
        ("webhook+https://dead/beef@ci.example.com/hook", "webhook+https://***"),
        ("webhook+https://dead?beef@ci.example.com/hook", "webhook+https://***"),
        ("webhook+https://ci.example.com/hook?to=x@deadbeef", "webhook+https://***"),
        ("webhook+https://a:b@c@ci.example.com/hook", "webhook+https://ci.example.com/***"),
        ("github://dead#beef@owner/name", "github://***"),
        ("slack://deadbeef/deadbeef/deadbeef", "slack://***"),
        ("mailto://ann:deadbeef@example.com", "mailto://***"),
        ("${S}", "${S}"),
        ("deadbeef", "***"),
    ],
)
def test_no_secret_is_shown(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S", "x://deadbeef")
    assert addresses.mask_address(text) == shown
    if "://" in text or "$" in text:
        address = addresses.read_address(text)
        assert f"{address}" == shown and "deadbeef" not in repr(address)


def test_references_are_filled_in_from_the_environment_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("two/three\n")
    monkeypatch.setenv("ONE", "o@e")
    monkeypatch.setenv("WHOLE", "slack://a/b/c")
    text = f"mailto://${{ONE}}:${{file:{tmp_path / 'secret'}}}@example.com"
    assert addresses.read_address(text).url == "mailto://o%40e:two%2Fthree@example.com"
    assert addresses.read_address("${WHOLE}").url == "slack://a/b/c"


def test_a_target_keeps_its_name_when_its_secret_is_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for secret in ("first", "second"):
        monkeypatch.setenv("S", secret)
        keys.append(addresses.read_address("webhook+https://${S}@example.com").key)
    assert keys[0] == keys[1] != addresses.key_of("webhook+https://${S}@example.org")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slack://${UNSET_HERE}/x", "UNSET_HERE is not set"),
        ("slack://${file:/no/such/file}", "No such file"),
        ("https//x", "is not the address of a target"),
        ("webhook+https://deadbeef@example.com/", "written out"),
        ("github://deadbeef@owner/name", "written out"),
        ("webhook+https://dead/beef@example.com/", "written out"),
        ("github://dead/beef@owner/name", "written out"),
        ("${SLASHED}", "in front of an @"),
        ("webhook+ftp://example.com", "not an address of a server"),
        ("github://owner/name", "needs a token"),
        ("nosuchservice://deadbeef", "not an address that apprise understands"),
        ("https://example.com/deadbeef", "webhook\\+https://host/path"),
    ],
)
def test_a_wrong_address_says_what_to_do_and_no_secret(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLASHED", "webhook+https://dead/beef@example.com/")
    with pytest.raises(OptionError, match=message) as raised:
        sender_at(text)
    assert raised.value.remedy and not any(part in str(raised.value) for part in ("dead", "beef"))


def test_the_words_of_others_are_scrubbed() -> None:
    address = addresses.read_address("slack://T0KENA/T0KENB/%23general")
    said = "POST /services/T0KENA/T0KENB failed for #general"
    assert address.remove_secrets(said) == "POST /services/***/*** failed for ***"


def test_the_configuration_names_targets(tmp_path: Path) -> None:
    (tmp_path / config.FILE).write_text(
        '[notify]\ntargets = ["webhook+https://${file:secrets/hook}@example.com"]\nverdicts = ["worse", "better"]\n'
        'link = "https://example.com/{id}"\nper_hour = 5\ntogether = 2\n'
    )
    notify = config.load(tmp_path).notify
    assert notify.targets == (f"webhook+https://${{file:{tmp_path}/secrets/hook}}@example.com",)
    assert (notify.verdicts, notify.per_hour, notify.together) == (("worse", "better"), 5, 2)
    assert config.Config().notify.targets == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [("per_hour = 0", "per_hour = 0"), ('verdicts = ["bad"]', "known: worse, better"), ("target = 1", "targets")],
)
def test_a_wrong_setting_names_its_place(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / config.FILE).write_text(f"[notify]\n{line}\n")
    with pytest.raises(DecodeError, match=message):
        config.load(tmp_path)
