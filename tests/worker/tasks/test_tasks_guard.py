from __future__ import annotations

import re
import signal
import threading

import pytest

from benchwright.worker.tasks import guard


def test_an_expression_that_never_ends_is_ended() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(guard.TooSlowError), guard.limit_cpu_time(0.05):
        re.search(r"(a+)+b", "a" * 60)
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_what_is_quick_is_left_alone() -> None:
    with guard.limit_cpu_time(5):
        assert re.search(r"b", "ab")
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_another_thread_goes_without_a_guard() -> None:
    found: list[bool] = []

    def work() -> None:
        with guard.limit_cpu_time(0.001):
            found.append(bool(re.search(r"b", "ab")))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]
