"""Machines as text, orders made of it, and labels that every cloud takes."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.cloud.orders import EXPIRES_LABEL, TOKEN_LABEL, label_expiry, label_value, make_order
from benchwright.errors import OptionError
from benchwright.prices.machine_text import WantedMachine, parse_machine, parse_machines
from benchwright.records.prices import Market

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
_WORD = st.from_regex(r"[a-z][a-z0-9.-]{0,10}", fullmatch=True)


@given(
    st.builds(
        WantedMachine,
        provider=st.sampled_from(["aws", "gcp", "oci"]),
        shape=st.sampled_from(["c7i.large", "VM.Standard.E5.Flex.2.16", "Standard_D2s_v5", "n1-standard-8"]),
        region=st.sampled_from(["", "eu-central-1"]),
        market=st.sampled_from(Market),
        options=st.dictionaries(_WORD, st.text(max_size=10), max_size=3),
    )
)
def test_the_text_of_a_machine_is_read_back(machine: WantedMachine) -> None:
    assert parse_machine(str(machine), what="SPEC") == machine


def test_several_machines_stand_between_commas() -> None:
    found = parse_machines("aws/a,gcp/b@west:spot?accelerator=t4:2", what="--host")
    assert [str(one) for one in found] == ["aws/a", "gcp/b@west:spot?accelerator=t4:2"]


@pytest.mark.parametrize(
    "text", ["", "aws", "aws/", "/a", "aws/a b", "aws/a@", "aws/a:", "aws/a:spott", "aws/a?x=1&x=2"]
)
def test_a_text_that_names_no_machine_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="SPEC"):
        parse_machine(text, what="SPEC")


def test_an_order_has_a_token_an_end_and_labels() -> None:
    wanted = parse_machine("oci/E5:spot?zone=Uocm:PHX-AD-1&disk=50GB&most=0.05&login=opc&net=blue", what="SPEC")
    order = make_order(
        wanted, region="phx", seconds=7200, known={"net": ""}, now=NOON, name="mine", owner="Ada Lovelace", run="r/1"
    )
    again = make_order(wanted, region="phx", seconds=7200, known={"net": ""}, now=NOON)
    assert re.fullmatch(r"[0-9a-f]{32}", order.token) and order.token != again.token
    assert (order.region, order.zone, order.disk_gb, order.most_per_hour) == ("phx", "Uocm:PHX-AD-1", 50, 0.05)
    assert (order.login, dict(order.options), order.expires) == ("opc", {"net": "blue"}, "2026-11-17T14:00:00+00:00")
    assert order.labels == {
        TOKEN_LABEL: order.token,
        EXPIRES_LABEL: "2026-11-17t14-00-00z",
        "benchwright-run": "r-1",
        "benchwright-owner": "ada-lovelace",
        "benchwright-name": "mine",
    }
    assert label_expiry(order.labels) == order.expires


@given(st.text())
def test_a_label_holds_only_what_every_cloud_takes(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9_-]{0,63}", label_value(text))


@pytest.mark.parametrize("text", ["", "soon", "2026-11-17T14:00:00", "2026-99-99t00-00-00z"])
def test_a_label_that_is_no_instant_is_no_expiry(text: str) -> None:
    assert label_expiry({EXPIRES_LABEL: text}) == ""
