"""Tests for linear algebra on one thread."""

from __future__ import annotations

import numpy as np
import pytest

from benchwright.system.linear_algebra import count_threads, one_thread


def test_it_is_on_one_thread_and_afterwards_as_before() -> None:
    before = count_threads()
    if before is None:
        pytest.skip("numpy has another library here")
    with one_thread():
        assert count_threads() == 1
        assert np.allclose(np.linalg.solve(np.eye(200) * 2.0, np.ones(200)), 0.5)
    assert count_threads() == before


def test_a_failure_inside_gives_the_threads_back() -> None:
    before = count_threads()
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert count_threads() == before
