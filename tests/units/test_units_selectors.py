"""Which machines a selector means, and what one lacks that it does not mean."""

from __future__ import annotations

import pytest

from benchwright.errors import OptionError
from benchwright.units.selectors import Selector, nearest

RACK = {"machine": "rack7", "cpu": "AMD EPYC 7B13", "cores": "64", "team": "vision"}
PHONE = {"machine": "drawer.R58", "kind": "phone", "device": "pixel 8"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [RACK, PHONE]),
        ("*", [RACK, PHONE]),
        ("cpu=*epyc*", [RACK]),
        ("CPU=AMD*, cores=64", [RACK]),
        ("team", [RACK]),
        ("device=pixel*,kind=phone", [PHONE]),
        ("cpu=*EPYC*,device=pixel*", []),
        ("cores=6", []),
        ("device=SM-*|pixel*", [PHONE]),
        ("machine=rack7|drawer.*", [RACK, PHONE]),
    ],
)
def test_all_conditions_hold(text: str, found: list[dict[str, str]]) -> None:
    selector = Selector.parse(text)
    assert [one for one in (RACK, PHONE) if selector.matches(one)] == found
    assert Selector.parse(selector.text) == selector


@pytest.mark.parametrize("text", ["cpu=", "a b", "=x", "cpu=a\nb", "x" * 1001, ",".join(f"a{i}" for i in range(21))])
def test_what_nobody_can_mean_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        Selector.parse(text)


def test_the_nearest_machine_and_what_it_lacks() -> None:
    asked = Selector.parse("cpu=*EPYC*,cores=128")
    named = [(one["machine"], one) for one in (PHONE, RACK)]
    assert nearest(asked, named) == "rack7, but for cores=128 (it is 64)"
    assert nearest(Selector.parse("gpu"), [("rack7", RACK)]) == "rack7, but for gpu=* (it has none)"
    assert nearest(asked, []) == ""


def test_of_machines_that_lack_as_much_the_one_that_looks_like_it_comes_first() -> None:
    epyc, xeon = {"cpu": "AMD EPYC 9654"}, {"cpu": "Intel Xeon 8480"}
    told = nearest(Selector.parse("cpu=*EPCY*"), [("a", xeon), ("b", {}), ("c", epyc)])
    assert [one.partition(",")[0] for one in told.split("; ")] == ["c", "a", "b"]
