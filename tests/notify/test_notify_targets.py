"""Targets of the file and targets that people keep at a server: who is told of what, and what may not be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.config import Notify
from benchwright.errors import OptionError, StoreError
from benchwright.notify import DeliveryOutcome, Notifier, all_targets
from benchwright.notify.addresses import identity_of
from benchwright.notify.targets import check_kept_target, wants
from benchwright.records import Verdict
from benchwright.records.findings import Finding
from benchwright.store.archive import NotifyTarget
from benchwright.store.sql import SqlStore

Make = Callable[..., Finding]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as made:
        yield made


def test_kept_targets_are_told_beside_those_of_the_file(
    peer: Any, tmp_path: Path, found: Make, store: SqlStore
) -> None:
    named = f"webhook+http://{peer.host}/named"
    store.put_notify_target(NotifyTarget(address=f"webhook+http://{peer.host}/kept", cases="vision*"))
    store.put_notify_target(NotifyTarget(address=named, cases="nothing"))  # the file's word counts
    settings = Notify(targets=(named,))
    assert [target.address.rpartition("/")[2] for target in all_targets(settings, store)] == ["named", "kept"]
    notifier = Notifier(settings, journal=tmp_path / "notified.jsonl")
    findings = [found("a", case="vision/resnet"), found("b", case="text/bert")]
    told = notifier.tell(findings, store)
    assert all(one.outcome is DeliveryOutcome.SENT for one in told)
    heard = [(r.path, [each["finding"]["data"]["id"] for each in r.json()["findings"]]) for r in peer.requests]
    assert sorted(heard) == [("/kept", ["a"]), ("/named", ["a"]), ("/named", ["b"])]
    assert notifier.tell(findings, store) == []
    alone = Notifier(Notify(), journal=tmp_path / "other.jsonl", kept=False)
    assert alone.tell(findings, store) == []


def test_a_target_wants_what_it_says(found: Make) -> None:
    slower = found("a", case="vision/resnet")  # 10 % slower
    assert wants(NotifyTarget(address="x"), slower)
    assert not wants(NotifyTarget(address="x", verdicts=("better",)), slower)
    assert not wants(NotifyTarget(address="x", cases="text*"), slower)
    size = slower.effect.point - 1
    assert wants(NotifyTarget(address="x", smallest=size), slower)
    assert not wants(NotifyTarget(address="x", smallest=size + 0.001), slower)
    faster = replace(slower, verdict=Verdict.BETTER, effect=replace(slower.effect, point=1 / slower.effect.point))
    assert wants(NotifyTarget(address="x", verdicts=("better",), smallest=size), faster)


def test_a_store_that_is_away_does_not_silence_the_file() -> None:
    class Away:
        def notify_targets(self) -> list[NotifyTarget]:
            raise StoreError("away")

    assert [one.address for one in all_targets(Notify(targets=("a", "a", "b")), Away())] == ["a", "b"]
    assert all_targets(Notify(), object()) == ()


def test_one_place_under_two_names_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Keeping:
        def notify_targets(self) -> list[NotifyTarget]:
            return [NotifyTarget(address="${BENCHWRIGHT_NOTIFY_CHAT}", id=1), NotifyTarget(address="${UNSET}", id=2)]

    for name in ("CHAT", "BENCHWRIGHT_NOTIFY_CHAT"):
        monkeypatch.setenv(name, "webhook+https://chat.example/secret")
    monkeypatch.delenv("UNSET", raising=False)
    named = Notify(targets=("${CHAT}", "webhook+https://chat.example/secret", "${UNSET}"))
    assert [one.address for one in all_targets(named, Keeping())] == ["${CHAT}", "${UNSET}"]
    assert "secret" not in identity_of("${CHAT}")


@pytest.mark.parametrize(
    "address",
    [
        "github://owner/name",
        "gitlab://group/name?merge_request=12",
        "webhook+https://${BENCHWRIGHT_NOTIFY_HOOK}@ci.example/hooks",
        "${BENCHWRIGHT_NOTIFY_SLACK}",
        "github://${BENCHWRIGHT_NOTIFY_TOKEN}@owner/name?api=https://git.example/api/v3",
    ],
)
def test_addresses_that_a_server_keeps(address: str) -> None:
    check_kept_target(NotifyTarget(address=address))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("webhook+https://sesame@ci.example/hooks", "written out"),
        ("slack://TokenA/TokenB/TokenC", "a secret as a whole"),
        ("mailto://me:${BENCHWRIGHT_NOTIFY_MAIL}@example.com", "a secret as a whole"),
        ("${HOME}", "cannot use HOME"),
        ("webhook+https://ci.example/${AWS_SECRET_ACCESS_KEY}", "cannot use AWS_SECRET_ACCESS_KEY"),
        ("webhook+https://${file:/etc/passwd}@ci.example/", "cannot use file:/etc/passwd"),
        ("${file:/etc/passwd}", "cannot use file:"),
        ("github://owner/name?api=https://evil.example", "another server"),
        ("gitlab://group/name?status=no&api=https://evil.example", "another server"),
        ("nonsense", "secret as a whole"),
        ("", "cannot be read"),
        (" github://owner/name", "cannot be read"),
        ("github://owner/na\nme", "cannot be read"),
        ("github://owner/" + "x" * 2000, "cannot be read"),
    ],
)
def test_addresses_that_a_server_must_not_keep(address: str, why: str) -> None:
    with pytest.raises(OptionError, match=why) as caught:
        check_kept_target(NotifyTarget(address=address))
    assert caught.value.remedy and "sesame" not in str(caught.value) and "TokenB" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [{"verdicts": ()}, {"verdicts": ("same",)}, {"smallest": -0.1}, {"smallest": float("nan")}, {"cases": " "}],
)
def test_rules_of_a_target_that_mean_nothing(changes: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        check_kept_target(replace(NotifyTarget(address="github://owner/name"), **changes))
