from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import BenchwrightError
from benchwright.prices.lists import read_list
from benchwright.records.prices import Market
from price_lists import AWS, AWS_TABLE, AZURE, GET_PRODUCTS, GOOGLE, GPUHUNT, LIBCLOUD, ORACLE, SKYPILOT


@pytest.mark.parametrize(
    ("name", "content", "found", "unknown"),
    [
        (
            "pricing.json",
            LIBCLOUD,
            {
                ("aws", "c7i.large", "us-east-1", "on-demand"): 0.08925,
                ("azure", "d2sv5", "eastus", "on-demand"): 0.096,
                ("azure", "standardd2sv5", "eastus", "spot"): 0.0192,
                ("gcp", "n2-standard-4", "us-central1", "on-demand"): 0.194236,
            },
            1,
        ),
        (
            "index.json",
            AWS,
            {
                ("aws", "c7i.large", "us-east-1", "on-demand"): 0.08925,
                ("aws", "c7i.large", "us-east-1", "reserved-1y"): 0.059,
            },
            0,
        ),
        ("answer.json", GET_PRODUCTS, {("aws", "c7i.large", "us-east-1", "on-demand"): 0.08925}, 0),
        (
            "index.csv",
            AWS_TABLE,
            {
                ("aws", "c7i.large", "us-east-1", "on-demand"): 0.08925,
                ("aws", "c7i.large", "us-east-1", "reserved-3y"): 0.041,
            },
            0,
        ),
        (
            "azure.json",
            [AZURE],
            {
                ("azure", "Standard_D2s_v5", "eastus", "on-demand"): 0.096,
                ("azure", "Standard_D2s_v5", "eastus", "spot"): 0.0192,
                ("azure", "Standard_D2s_v5", "eastus", "reserved-3y"): 0.036,
            },
            0,
        ),
        ("skus.json", GOOGLE, {("gcp", "n2-highmem-8", "us-central1", "on-demand"): 8 * 0.031611 + 64 * 0.004237}, 0),
        ("oci.json", ORACLE, {("oci", "VM.Standard.E5.Flex.2.16", "", "on-demand"): 0.092}, 0),
        (
            "aws/vms.csv",
            SKYPILOT,
            {("aws", "c7i.large", "us-east-1", "on-demand"): 0.08925, ("aws", "c7i.large", "us-east-1", "spot"): 0.029},
            1,
        ),
        (
            "aws.csv",
            GPUHUNT,
            {("aws", "g6.xlarge", "us-east-1", "on-demand"): 0.8048, ("aws", "g6.xlarge", "us-east-1", "spot"): 0.31},
            0,
        ),
    ],
)
def test_each_list_is_known_by_what_is_in_it(
    tmp_path: Path, name: str, content: Any, found: dict[tuple[str, str, str, str], float], unknown: int
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    read = read_list(path, day="2026-11-17")
    prices = {(one.provider, one.shape, one.region, one.market.value): one for one in read.prices}
    assert len(prices) == len(read.prices)  # none twice
    for key, amount in found.items():
        assert prices[key].per_hour == pytest.approx(amount)
        assert read.form in prices[key].source
    by_parts = {"gcp", "oci"}  # of which all usual sizes are made
    assert {key for key in prices if key[0] not in by_parts} == {key for key in found if key[0] not in by_parts}
    assert read.unknown == unknown
    assert all(one.fetched_at and one.currency == "USD" and isinstance(one.market, Market) for one in read.prices)


def test_the_lists_own_day_counts(tmp_path: Path) -> None:
    path = tmp_path / "pricing.json"
    path.write_text(json.dumps(LIBCLOUD), encoding="utf-8")
    assert {price.fetched_at for price in read_list(path, day="2026-11-17").prices} == {"2025-03-02"}


def test_a_day_that_is_none_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "aws.csv"
    path.write_text(SKYPILOT, encoding="utf-8")
    with pytest.raises(BenchwrightError, match="--day: 'banana' is no day"):
        read_list(path, day="banana")
    offer = {"products": {"A": {"attributes": PRODUCT}}, "terms": {"OnDemand": {"A": TERM}}, "publicationDate": "soon"}
    path = tmp_path / "offer.json"
    path.write_text(json.dumps(offer), encoding="utf-8")
    assert [price.fetched_at for price in read_list(path, day="2026-11-17").prices] == ["2026-11-17"]


@pytest.mark.parametrize("wrong", [{"instanceType": 5}, {"regionCode": {"a": 1}}, {"instanceType": "x" * 1000}])
def test_a_list_that_could_not_be_read_back_is_not_kept(tmp_path: Path, wrong: dict[str, object]) -> None:
    offer = {"products": {"A": {"attributes": {**PRODUCT, **wrong}}}, "terms": {"OnDemand": {"A": TERM}}}
    path = tmp_path / "offer.json"
    path.write_text(json.dumps(offer), encoding="utf-8")
    with pytest.raises(BenchwrightError, match="not the list that it begins as"):
        read_list(path)


PRODUCT = {
    "instanceType": "c7i.large",
    "regionCode": "us-east-1",
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
TERM = {"t": {"priceDimensions": {"p": {"unit": "Hrs", "pricePerUnit": {"USD": "0.1"}}}}}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "not a price list"),
        ("{", "not JSON"),
        ("[]", "not a price list"),
        ('{"compute": {}, "updated": 0}', "no price is in it"),
        ('{"compute": {"ec2_linux": {"a": {"b": "c"}}}, "updated": 0}', "not the list that it begins as"),
        ('{"skus": [{}]}', "not the list that it begins as"),
        ('{"products": {"A": 1}, "terms": {}}', "not the list that it begins as"),
        ("a,b,c\n1,2,3\n", "not a price list"),
        (SKYPILOT, "--provider"),
        (SKYPILOT.replace("0.08925", "cheap"), "--provider|not the list"),
    ],
)
def test_what_is_no_list_is_refused_with_its_name(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "catalogue.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BenchwrightError, match=says) as caught:
        read_list(path)
    assert "catalogue.txt" in str(caught.value)
