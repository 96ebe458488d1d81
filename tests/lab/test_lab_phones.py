"""Phones on an agent's cables: offered with what is known of them, and measured through the agent's machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import phones
from benchwright import schema
from benchwright.lab.machines import PhoneFinder
from benchwright.machine import environment
from benchwright.records import Status
from lab_server import command_case, lab_agent, lab_server, python_case

adb_server, plug_in = phones.adb_server, phones.plug_in
# Ends well when two of it run at the same time.
MEET = (
    "touch {place}/$$; n=0; while [ $(ls {place} | wc -l) -lt 2 ]; do"
    " sleep 0.1; n=$((n+1)); [ $n -gt 300 ] && exit 1; done; exit 0"
)


def test_a_phone_measures_for_the_lab(plug_in: Callable[..., Any], tmp_path: Path) -> None:
    phone = plug_in(*phones.MODERN)
    [offer] = PhoneFinder("rack", {"team": "mobile"}, environment.collect()).find()
    assert offer.machine.kind == "phone" and offer.machine.facts["serial"] == phone.serial
    assert offer.refusal(python_case("a", "m:f")) == "runtime python cannot run on a phone"
    with lab_server(tmp_path) as server, lab_agent(server, "rack", "--devices") as agent:
        server.await_machine("rack", offer.machine.name)
        phone.warm(31.0)
        hello = [command_case("hello", "echo hello")]
        server.submit("r1", hello, selector="kind=phone", phone="cool=30C&cool_timeout=0s&screen=off")
        run = server.wait_for("r1", 1)
        with pytest.raises(AssertionError, match="known: cool, cool_timeout"):
            server.submit("r2", hello, selector="kind=phone", phone="cold=1C")
        assert agent.end() == 0
    [result] = run.results
    assert result.status is Status.OK, result.error
    assert schema.environment_key(result.environment) == offer.machine.key
    device: Any = result.environment.system["device"]
    assert device["serial"] == phone.serial
    state: Any = result.details["phone"]
    assert (state["screen"], state["temperature"]) == ("off", 31.0)
    assert [one.code for one in result.warnings if one.code.startswith("phone")] == ["phone-warm"]
    assert (phone.root / "keys").read_text() == "keyevent 223\n"


@pytest.mark.soak
def test_phones_come_and_go_while_the_agent_works(plug_in: Callable[..., Any], tmp_path: Path) -> None:
    def is_offered(name: str) -> bool:
        return server.store_do(lambda store: any(one.name == name and one.is_offered for one in store.lab.machines()))

    with lab_server(tmp_path) as server, lab_agent(server, "drawer", "--devices") as agent:
        server.await_machine("drawer")
        phone, other = plug_in(*phones.MODERN), plug_in(*phones.MODERN)
        server.await_machine(f"drawer.{phone.serial}", f"drawer.{other.serial}")
        meeting = tmp_path / "meeting"
        meeting.mkdir()
        both = command_case("both", f"sh -c '{MEET.format(place=meeting)}'")
        server.submit("r1", [both], selector=f"serial={phone.serial}|{other.serial}", where="each")
        run = server.wait_for("r1", 2)
        assert [result.status for result in run.results] == [Status.OK] * 2, [result.error for result in run.results]
        phone.unplug()
        deadline = time.monotonic() + 60
        while is_offered(f"drawer.{phone.serial}"):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert is_offered("drawer") and agent.process is not None and agent.process.poll() is None
        assert agent.end() == 0
    assert f"drawer.{phone.serial} is gone" in agent.log.read_text()
