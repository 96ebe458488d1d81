from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import BenchwrightError, DecodeError, OptionError
from benchwright.prices import shelf
from benchwright.prices.amounts import parse_money, parse_price
from benchwright.prices.book import PriceBook, parse_wanted
from benchwright.prices.own import load_own
from benchwright.records.prices import Market, Price
from price_lists import OWN


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    return path


@pytest.mark.parametrize(
    ("text", "per_hour", "currency"),
    [
        ("0.34USD/h", 0.34, "USD"),
        ("0.34 usd / hour", 0.34, "USD"),
        ("1.2", 1.2, ""),
        ("$3", 3.0, "USD"),
        ("€73/month", 0.1, "EUR"),
        ("36 CHF/s", 129600.0, "CHF"),
    ],
)
def test_amounts_as_people_type_them(text: str, per_hour: float, currency: str) -> None:
    price = parse_price(text, what="--price")
    assert (price.per_hour, price.currency) == (pytest.approx(per_hour), currency)


@pytest.mark.parametrize("text", ["0", "-1", "1 dollar", "3USD/lunch", "¥3", "$3USD", "1e999", "", "nan"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--price"):
        parse_price(text, what="--price")


def test_a_sum_of_money_has_no_time() -> None:
    assert parse_money("5USD", what="--budget") == (5.0, "USD")
    with pytest.raises(OptionError, match="per hour"):
        parse_money("5USD/h", what="--budget")


def test_the_nearest_file_counts_and_a_machine_is_paid_off_over_its_use(own: Path) -> None:
    found = load_own()
    assert found.path == own
    assert [(price.provider, price.market) for price in found.prices] == [
        ("aws", Market.ON_DEMAND),
        ("aws", Market.SPOT),
        ("gcp", Market.ON_DEMAND),
    ]
    assert found.prices[2].per_hour == pytest.approx(140 / 730)
    desk = found.machines["desk"]
    assert (desk.per_hour, desk.currency) == (pytest.approx(2400 / (4 * 8760 * 0.5) + 0.06), "EUR")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prices:\n  - {provider: aws, shape: x, amount: 0}", r":2:5: the amount must be more than 0"),
        ("prices:\n  - {provider: aws, shape: x, amount: .nan}", "amount"),
        ("prices:\n  - {provider: aws, amount: 1}", "shape"),
        ("prices:\n  - {provider: aws, shape: x, amount: 1, currency: dollars}", "no currency"),
        ("prices:\n  - {provider: aws, shape: x, amount: 1, fetched_at: yesterday}", "no day"),
        ("prices:\n  - {provider: aws, shape: x, amount: 1, market: black}", "not known"),
        ("machines:\n  desk: {price: 2400 EUR, lifetime: '4'}", "may mean"),
        ("machines:\n  desk: {price: 2400 EUR, lifetime: 0s}", "lifetime"),
        ("machines:\n  desk: {price: 2400 EUR, lifetime: 4y, watts: 100}", "belong together"),
        ("machines:\n  desk: {price: 2400 EUR, lifetime: 4y, watts: -100}", "belong together"),
        ("machines:\n  desk: {price: 2400 EUR, lifetime: 4y, watts: -100, kilowatt_hour: -3}", "more than 0"),
        ("machines:\n  desk: {price: 2400 EUR, lifetime: 1e-300s}", "comes to an amount"),
        ("prices:\n  - {provider: aws, shape: x, amount: 1e308, per: second}", "amount must be"),
        ("machine: {}", "machine"),
        ("[" * 100_000, "deep"),  # which would overflow the stack of the parser
        ("a: " + "{b: " * 5_000, "deep"),
        ("- 1", "mapping"),
    ],
)
def test_what_is_wrong_is_named_at_its_line(own: Path, text: str, says: str) -> None:
    own.write_text(text, encoding="utf-8")
    with pytest.raises(DecodeError, match=says) as caught:
        load_own()
    assert "prices.yaml" in str(caught.value)


@pytest.mark.parametrize("name", ["3090-box", "here", "2 sockets"])
def test_a_machine_may_be_called_what_it_likes(own: Path, name: str) -> None:
    own.write_text(f"machines:\n  {name}: {{price: 2400 EUR, lifetime: 4y}}\n", encoding="utf-8")
    assert shelf.find_price(name).shape == name


def test_prices_are_found_by_what_is_named(own: Path) -> None:
    assert shelf.find_price("desk").market is Market.OWN
    assert shelf.find_price("aws/c7i.large").amount == 0.1019
    assert shelf.find_price("AWS/C7i.large@eu-central-1:spot").amount == 0.04
    assert shelf.find_price("3USD").per_hour == 3
    for text, says in [
        ("aws/c7i.lage", "nearest that is known: aws/c7i.large"),
        ("aws/c7i.large@us-east-1", "name one of: eu-central-1"),
        ("aws/c7i.large:reserved-1y", "known: on-demand, spot"),
        ("aws/c7i.large:spott", "did you mean 'spot'"),
        ("dusk", "desk"),
        ("aws/", "PROVIDER/SHAPE"),
    ]:
        with pytest.raises(BenchwrightError, match=says):
            shelf.find_price(text)


def test_regions_that_differ_are_not_guessed_between() -> None:
    cheap, dear = (
        Price(provider="aws", shape="m", region=region, amount=amount) for region, amount in (("a", 1), ("b", 2))
    )
    wanted = parse_wanted("aws/m", what="x")
    assert PriceBook(listed=[cheap, dear]).find(wanted) is None
    assert PriceBook(own=[cheap], listed=[dear]).find(wanted) == cheap
    everywhere = Price(provider="aws", shape="m", amount=3)
    assert PriceBook(listed=[cheap, everywhere]).find(parse_wanted("aws/m@c", what="x")) == everywhere


def test_of_several_prices_the_newest_counts() -> None:
    days = [
        Price(provider="a", shape="m", amount=amount, fetched_at=day)
        for amount, day in ((1, "2026-01-01"), (2, "2026-02-01"))
    ]
    assert PriceBook(listed=days).find(parse_wanted("a/m", what="x")) == days[1]
    assert PriceBook(listed=days[::-1]).find(parse_wanted("a/m", what="x")) == days[1]


def test_a_list_that_is_imported_is_asked_after_one_s_own(own: Path) -> None:
    shelf.keep_list(
        "mine", [Price(provider="aws", shape="c7i.large", amount=9), Price(provider="oci", shape="E5", amount=0.05)]
    )
    assert shelf.find_price("aws/c7i.large").amount == 0.1019
    assert shelf.find_price("oci/E5").amount == 0.05
    shelf.remove_list("mine")
    with pytest.raises(OptionError, match="oci/E5"):
        shelf.find_price("oci/E5")
    with pytest.raises(OptionError, match="no list 'mine'"):
        shelf.remove_list("mine")
    for name in ("../up", ".hidden", ""):
        with pytest.raises(OptionError, match="no name"):
            shelf.keep_list(name, [])
