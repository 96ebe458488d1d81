"""How right a model is: figures of a confusion, errors, the best k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.stats import accuracy
from benchwright.stats.accuracy import BUILT_IN, FIGURES, Confusion

KNOWN = Confusion(tp=40, fp=10, fn=20, tn=30)


def seen(name: str, pairs: Sequence[tuple[Any, Any]], **init: Any) -> Any:
    metric = BUILT_IN[name](**init)
    for output, target in pairs:
        metric.process_record(output, target)
    return metric.aggregate([metric])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 0.7),
        ("precision", 0.8),
        ("recall", 0.6667),
        ("specificity", 0.75),
        ("npv", 0.6),
        ("fdr", 0.2),
        ("for", 0.4),
        ("lr+", 2.6667),
        ("lr-", 0.4444),
        ("threatscore", 0.5714),
        ("f1score", 0.7273),
        ("fnr", 0.3333),
        ("fpr", 0.25),
        ("prevalencethreshold", math.sqrt(0.25) / (math.sqrt(2 / 3) + math.sqrt(0.25))),
    ],
)
def test_figures_of_a_known_confusion(name: str, expected: float) -> None:
    assert FIGURES[name](KNOWN) == pytest.approx(expected, abs=5e-5)


def test_synonyms_are_the_same_figure() -> None:
    assert FIGURES["tpr"](KNOWN) == FIGURES["sensitivity"](KNOWN) == FIGURES["recall"](KNOWN)
    assert FIGURES["tnr"](KNOWN) == FIGURES["specificity"](KNOWN)
    assert FIGURES["ppv"](KNOWN) == FIGURES["precision"](KNOWN)


@given(*(st.integers(0, 50) for _ in range(4)))
def test_figures_are_finite_or_none_and_agree_with_each_other(tp: int, fp: int, fn: int, tn: int) -> None:
    confusion = Confusion(tp=tp, fp=fp, fn=fn, tn=tn)
    found = {name: figure(confusion) for name, figure in FIGURES.items()}
    assert all(value is None or math.isfinite(value) for value in found.values())
    for one, other in (("tpr", "fnr"), ("tnr", "fpr"), ("ppv", "fdr"), ("npv", "for")):
        a, b = found[one], found[other]
        assert (a is None and b is None) or (a is not None and b is not None and a + b == pytest.approx(1))


def test_scores_become_decisions_and_counts() -> None:
    scores = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    assert seen("accuracy", [(scores, np.array([1, 0, 0, 1]))]) == 0.5
    assert seen("precision", [(scores, [1, 0, 0, 1])]) == 0.5
    assert seen("recall", [(0.4, 1), (0.6, 1)]) == 0.5  # one score each, against the threshold
    assert seen("recall", [(0.4, 1), (0.6, 1)], threshold=0.3) == 1.0


def test_accuracy_knows_more_than_two_classes() -> None:
    assert seen("accuracy", [([0, 0, 1], 2), ([0, 1, 0], 2), ([1, 0, 0], 0), ([1, 0, 0], 2)]) == 0.5


def test_copies_of_a_metric_are_aggregated_together() -> None:
    one, other = BUILT_IN["accuracy"](), BUILT_IN["accuracy"]()
    one.process_record(0.9, 1)
    for _ in range(3):
        other.process_record(0.9, 0)
    assert one.aggregate([one, other]) == 0.25


def test_errors_of_numbers() -> None:
    pairs = [(np.array([1.0, 2.0]), np.array([2.0, 4.0])), ([0.0, 0.0], [0.0, 3.0])]
    assert seen("mae", pairs) == 1.5
    assert seen("mse", pairs) == (1 + 4 + 9) / 4


def test_top_k() -> None:
    scores = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    assert seen("topk", [(scores, [2, 2])], k=1) == 0.5
    assert seen("topk", [(scores, [1, 2])], k=2) == 0.5
    assert seen("topk", [(scores, [1, 2])], k=3) == 1.0


def test_the_first_of_several_outputs_counts() -> None:
    scores, other = np.array([[0.1, 0.9]]), np.zeros((1, 7))
    for output in ((scores, other), [scores, other], {"scores": scores, "other": other}):
        assert seen("accuracy", [(output, 1)]) == 1.0
    assert seen("accuracy", [((0.1, 0.9), 1)]) == 1.0  # a tuple of numbers is one output


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="3 numbers for 2 targets"):
        seen("accuracy", [([0.1, 0.2, 0.3], [0, 1])])
    with pytest.raises(ValueError, match="2 numbers for a target of 1"):
        seen("mae", [([0.1, 0.2], [0.0])])


def test_nothing_seen_is_no_figure() -> None:
    for name in BUILT_IN:
        assert seen(name, []) is None
    assert accuracy.accuracy(Confusion()) is None
