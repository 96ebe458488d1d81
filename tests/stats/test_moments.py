"""A few values are summed up without numpy, and come to the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.stats import moments

NUMBERS = st.lists(st.floats(1e-9, 1e3), min_size=2, max_size=moments.FEW - 1)


@given(NUMBERS)
def test_few_come_to_the_same_as_many(values: list[float]) -> None:
    few, many = moments._of_few(values), moments._of_many(moments.as_floats(values))
    scale = max(values)
    assert (few.values, few.smallest, few.largest) == (many.values, many.smallest, many.largest)
    assert few.mean == pytest.approx(many.mean)
    assert few.variance == pytest.approx(many.variance, rel=1e-6, abs=1e-12 * scale**2)
    assert few.batches == pytest.approx(many.batches, abs=1e-9 * scale)
    if few.variance > 1e-9 * scale**2:
        assert few.skewness == pytest.approx(many.skewness, rel=1e-6, abs=1e-6)
