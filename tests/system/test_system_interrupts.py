"""Signals that ask a process to end: what is inside is ended as by Ctrl-C, and what was there before comes back."""

from __future__ import annotations

import signal
from dataclasses import dataclass

import pytest

from benchwright.execution.plans import Plan
from benchwright.system.interrupts import Interrupt, end_as_ctrl_c
from benchwright.targets.sources import Request
from benchwright.workflows import arguments
from benchwright.workflows import run as api

SIGNALS = [signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_a_signal_ends_what_is_inside_and_names_itself(number: signal.Signals) -> None:
    def end() -> None:
        with end_as_ctrl_c():
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt, match=number.name):
        end()
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_between_two_watches_a_signal_still_ends_as_ctrl_c(number: signal.Signals) -> None:
    first, second = Interrupt(), Interrupt()

    def watch_twice() -> None:
        with end_as_ctrl_c():
            with first.watch():
                signal.raise_signal(number)  # noted: nothing may be ended here
            with second.watch():
                pass
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt, match=number.name):
        watch_twice()
    assert first.seen and not second.seen


@dataclass(slots=True)
class LeasedHost:
    """As much of a host as is closed; somebody asks to end while it is."""

    while_closing: list[signal.Signals]
    is_closed: bool = False

    def close(self) -> None:
        for number in self.while_closing:
            signal.raise_signal(number)
        self.is_closed = True


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_a_host_is_given_back_whenever_a_run_is_asked_to_end(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between its planning and its measuring, and a second time while the machine is given back."""
    host = LeasedHost([number])
    monkeypatch.setattr(api, "_measure", lambda *_, **__: signal.raise_signal(number))
    with pytest.raises(KeyboardInterrupt, match=number.name):
        api.measure(Request(targets=["fake:constant"]), Plan(host=host))  # type: ignore[arg-type]
    assert host.is_closed


def test_who_asks_twice_while_a_host_is_closed_does_not_wait() -> None:
    host = LeasedHost([signal.SIGINT, signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        arguments.close_host(host)  # type: ignore[arg-type]
    assert not host.is_closed
