"""The ledger: whole lines from many processes, a torn one, what machines cost, no secrets."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchwright.cloud.ledger import CloudLedger, LedgerEvent
from benchwright.cloud.orders import Instance, InstanceState, Order
from benchwright.cloud.sweep import sweep
from benchwright.errors import OptionError
from benchwright.records.prices import Price
from fake_cloud import FakeCloud

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
PRICE = Price(provider="aws", shape="m", region="r", amount=7.2, currency="EUR", fetched_at="2026-11-02")


def _order(token: str = "a" * 32, name: str = "") -> Order:
    return Order(
        token=token,
        provider="aws",
        shape="m",
        region="r",
        name=name,
        expires="2026-11-17T14:00:00+00:00",
        options={"subnet": "s"},
        user_data="the lab's token",
        public_key="ssh-ed25519 AAAA",
    )


def _instance(token: str = "a" * 32) -> Instance:
    return Instance(provider="aws", id="i-1", region="r", state=InstanceState.RUNNING, token=token, address="192.0.2.1")


@pytest.fixture
def ledger(tmp_path: Path) -> CloudLedger:
    return CloudLedger(tmp_path / "state" / "cloud.jsonl")


def test_the_life_of_a_machine_is_read_back_with_what_it_cost(ledger: CloudLedger) -> None:
    order = _order(name="mine")
    ledger.ordered(order, PRICE, payer="me", now=NOON)
    ledger.created(replace(_instance(), login="ubuntu"), now=NOON)
    ledger.running(_instance(), now=NOON + timedelta(minutes=1))
    machine = ledger.find("mine")
    assert machine.order == replace(order, user_data="", public_key="") and machine.price == PRICE
    assert (machine.payer, machine.login, machine.address) == ("me", "ubuntu", "192.0.2.1")
    assert machine.cost(NOON + timedelta(minutes=30)).amount == pytest.approx(3.6)
    ledger.note(LedgerEvent.STOPPED, order.token, now=NOON + timedelta(minutes=30))
    ledger.note(LedgerEvent.STARTED, order.token, now=NOON + timedelta(minutes=60))
    ledger.note(LedgerEvent.ENDED, order.token, reason="done", now=NOON + timedelta(minutes=75))
    machine = ledger.find("i-1")
    cost = machine.cost(NOON + timedelta(days=1))
    assert (cost.seconds, cost.currency, cost.price) == (45 * 60, "EUR", PRICE)
    assert cost.amount == pytest.approx(7.2 * 0.75)
    assert not machine.is_open and machine.reason == "done" and ledger.open_machines() == []


def test_an_end_that_was_not_seen_counts_from_when_it_happened(ledger: CloudLedger) -> None:
    ledger.ordered(_order(), PRICE, now=NOON)
    ledger.created(_instance(), now=NOON)
    ledger.note(LedgerEvent.ENDED, "a" * 32, at="2026-11-17T13:00:00+00:00", now=NOON + timedelta(days=3))
    assert ledger.machines()[0].cost(NOON + timedelta(days=4)).amount == pytest.approx(7.2)


def test_secrets_are_not_written_and_nobody_else_reads_it(ledger: CloudLedger) -> None:
    ledger.ordered(_order(), None)
    assert "the lab's token" not in ledger.path.read_text() and "AAAA" not in ledger.path.read_text()
    assert ledger.path.stat().st_mode & 0o077 == 0
    assert "the lab's token" not in repr(_order())


@pytest.mark.parametrize("rest", ['{"v": 1, "at": "2026', "\x00\x00\x00", '{"event": "ended"'])
def test_a_torn_line_is_passed_by_and_mended_by_the_next(ledger: CloudLedger, rest: str) -> None:
    ledger.ordered(_order(), PRICE)
    with ledger.path.open("a") as file:
        file.write(rest)
    assert len(ledger.open_machines()) == 1
    ledger.created(_instance())
    assert [json.loads(line)["event"] for line in ledger.path.read_text().splitlines()] == ["ordered", "created"]


def test_lines_that_make_no_sense_are_passed_by(ledger: CloudLedger) -> None:
    ledger.ordered(_order(), PRICE, now=NOON)
    lines = [
        {"v": 1, "at": "now", "event": "ended", "token": "a" * 32},
        {"v": 1, "at": "2026-11-17T12:00:00+00:00", "event": "sold", "token": "a" * 32},
        {"v": 1, "at": "2026-11-17T12:00:00+00:00", "event": "ordered", "token": "b" * 32, "order": {"shape": 7}},
        {"v": 1, "at": "2026-11-17T12:00:00+00:00", "event": "ordered", "token": "c" * 32},
        {"v": 1, "at": "2026-11-17T12:00:00+00:00", "event": "ended", "token": "d" * 32},
        [1],
        "text",
    ]
    with ledger.path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
        file.write("no JSON\n")
    assert [machine.token for machine in ledger.open_machines()] == ["a" * 32]


def test_a_line_of_a_newer_version_is_understood_as_far_as_it_goes(ledger: CloudLedger) -> None:
    ledger.ordered(_order(), PRICE)
    line = json.loads(ledger.path.read_text())
    line["order"]["colour"], line["weather"] = "green", "fine"
    ledger.path.write_text(json.dumps(line) + "\n")
    assert ledger.open_machines()[0].order.shape == "m"


def test_many_processes_write_whole_lines(ledger: CloudLedger) -> None:
    script = (
        "import sys; from pathlib import Path; from benchwright.cloud.ledger import CloudLedger, LedgerEvent\n"
        "for n in range(20): CloudLedger(Path(sys.argv[1])).note(LedgerEvent.KEPT, sys.argv[2], reason='x' * 3000)\n"
    )
    command = [sys.executable, "-c", script, str(ledger.path)]
    writers = [subprocess.Popen([*command, str(number) * 32]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    tokens = [json.loads(line)["token"] for line in ledger.path.read_text().splitlines()]
    assert sorted(tokens) == sorted(str(number) * 32 for number in range(3) for _ in range(20))


def test_a_ledger_that_cannot_be_written_stops_the_order(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="nothing is ordered without it"):
        CloudLedger(tmp_path / "file" / "cloud.jsonl").ordered(_order(), None)


def test_who_holds_an_order_is_known_until_its_process_ends(ledger: CloudLedger) -> None:
    token = "a" * 32
    assert not ledger.is_held(token)
    script = (
        "import sys, time; from pathlib import Path; from benchwright.cloud.ledger import CloudLedger\n"
        "with CloudLedger(Path(sys.argv[1])).hold(sys.argv[2]): print('held', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(ledger.path), token], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    assert ledger.is_held(token)
    process.kill()
    process.wait()
    process.stdout.close()
    assert not ledger.is_held(token)


def test_a_machine_is_found_by_name_id_and_the_beginning_of_its_token(ledger: CloudLedger) -> None:
    ledger.ordered(_order("a" * 32, "twice"), None)
    ledger.created(_instance("a" * 32))
    ledger.note(LedgerEvent.ENDED, "a" * 32)
    ledger.ordered(_order("b" * 32, "twice"), None)
    assert ledger.find("twice").token == "b" * 32 and ledger.find("i-1").token == "a" * 32
    assert ledger.find("bbbbbb").token == "b" * 32
    with pytest.raises(OptionError, match="did you mean 'twice'"):
        ledger.find("twise")


def test_lines_that_may_have_been_orders_and_cannot_be_read_are_told(ledger: CloudLedger) -> None:
    assert ledger.unread_lines() == []
    ledger.ordered(_order(), PRICE, now=NOON)
    with ledger.path.open("a") as file:
        file.write('\x00\x00\x00\n{"v": 1, "at": "2026-11-17T12:00:00+00:00", "event": "ordered", "token": "b"}\n')
    ledger.note(LedgerEvent.KEPT, "a" * 32)
    with ledger.path.open("a") as file:
        file.write('{"v": 1, "at": "2026-11-17T12:00:00+00:00", "event": "sold", "token": "' + "a" * 32 + '"}\n')
        file.write('{"v": 1, "at": "2026-')  # cut off: so nothing was ordered
    assert ledger.unread_lines() == [2, 3]
    report = sweep(ledger, load=lambda _: FakeCloud())
    assert report.unread == [2, 3] and not report.is_clean


def test_an_order_with_a_price_that_cannot_be_one_is_an_order_all_the_same(ledger: CloudLedger) -> None:
    ledger.ordered(_order(), PRICE, now=NOON)
    line = json.loads(ledger.path.read_text())
    for price in ({**line["price"], "per": "fortnight"}, {**line["price"], "amount": -1.0}, {"amount": "x"}):
        ledger.path.write_text(json.dumps({**line, "price": price}) + "\n")
        [machine] = ledger.open_machines()
        assert machine.price is None and machine.cost(NOON).amount is None


def test_a_token_that_would_name_another_file_is_none_of_ours(ledger: CloudLedger) -> None:
    ledger.ordered(_order(), PRICE, now=NOON)
    with ledger.hold("a" * 32):
        stranger = ledger.path.with_name("stranger")
        stranger.write_text("not ours")
    text = ledger.path.read_text()
    ledger.path.write_text(text + text.replace("a" * 32, "../stranger"))
    sweep(ledger, load=lambda _: FakeCloud())
    assert [one.token for one in ledger.machines()] == ["a" * 32]
    assert stranger.read_text() == "not ours"
