"""How right a model is: counts of a binary decision, errors of a number, the best k of many classes.

A metric sees one output and its target at a time (`process_record`) and keeps only counts and sums; `aggregate` makes
one figure of what several of its kind saw. A figure that the data leave undefined, such as a precision where nothing
was called positive, is None and never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often a binary decision was right and wrong, each way."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(tp=self.tp + other.tp, fp=self.fp + other.fp, fn=self.fn + other.fn, tn=self.tn + other.tn)


class AccuracyMetric(Protocol):
    """What every metric offers, built-in or the user's own."""

    def process_record(self, output: Any, target: Any) -> None:
        """Takes in one record: what the model gave and what would have been right."""
        ...

    @staticmethod
    def aggregate(metrics: Iterable[Any]) -> Any:
        """One figure of what these saw together."""
        ...


# ---- figures of a confusion ----


def accuracy(c: Confusion) -> float | None:
    """The share of right decisions."""
    return _ratio(c.tp + c.tn, c.tp + c.tn + c.fp + c.fn)


def sensitivity(c: Confusion) -> float | None:
    """The share of positives that were found; also recall, the true positive rate."""
    return _ratio(c.tp, c.tp + c.fn)


def specificity(c: Confusion) -> float | None:
    """The share of negatives that were left alone; the true negative rate."""
    return _ratio(c.tn, c.tn + c.fp)


def precision(c: Confusion) -> float | None:
    """The share of what was called positive that is; the positive predictive value."""
    return _ratio(c.tp, c.tp + c.fp)


def negative_predictive_value(c: Confusion) -> float | None:
    """The share of what was called negative that is."""
    return _ratio(c.tn, c.tn + c.fn)


def miss_rate(c: Confusion) -> float | None:
    """The share of positives that were missed."""
    return _ratio(c.fn, c.fn + c.tp)


def fall_out(c: Confusion) -> float | None:
    """The share of negatives that were called positive."""
    return _ratio(c.fp, c.fp + c.tn)


def false_discovery_rate(c: Confusion) -> float | None:
    """The share of what was called positive that is not."""
    return _ratio(c.fp, c.fp + c.tp)


def false_omission_rate(c: Confusion) -> float | None:
    """The share of what was called negative that is not."""
    return _ratio(c.fn, c.fn + c.tn)


def positive_likelihood_ratio(c: Confusion) -> float | None:
    """Sensitivity over fall-out."""
    return _quotient(sensitivity(c), fall_out(c))


def negative_likelihood_ratio(c: Confusion) -> float | None:
    """Miss rate over specificity."""
    return _quotient(miss_rate(c), specificity(c))


def prevalence_threshold(c: Confusion) -> float | None:
    """The prevalence below which what is called positive is more often not (Balayla, PLoS ONE 15, 2020)."""
    found, fell = sensitivity(c), fall_out(c)
    if found is None or fell is None:
        return None
    return _quotient(math.sqrt(fell), math.sqrt(found) + math.sqrt(fell))


def threat_score(c: Confusion) -> float | None:
    """True positives among all that were positive or called so; also the critical success index."""
    return _ratio(c.tp, c.tp + c.fn + c.fp)


def f1_score(c: Confusion) -> float | None:
    """The harmonic mean of precision and recall."""
    return _ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn)


FIGURES: Mapping[str, Callable[[Confusion], float | None]] = {
    "accuracy": accuracy,
    "tpr": sensitivity,
    "sensitivity": sensitivity,
    "recall": sensitivity,
    "tnr": specificity,
    "specificity": specificity,
    "ppv": precision,
    "precision": precision,
    "npv": negative_predictive_value,
    "fnr": miss_rate,
    "fpr": fall_out,
    "fdr": false_discovery_rate,
    "for": false_omission_rate,
    "lr+": positive_likelihood_ratio,
    "lr-": negative_likelihood_ratio,
    "prevalencethreshold": prevalence_threshold,
    "threatscore": threat_score,
    "f1score": f1_score,
}


# ---- metrics that see one record at a time ----


class Decision:
    """A figure of a binary decision. Of several scores the largest decides; of one, whether it reaches `threshold`.

    `positive` is the class that counts as positive; accuracy alone knows any number of classes.
    """

    figure: ClassVar[str]

    def __init__(self, *, positive: int = 1, threshold: float = 0.5) -> None:
        self.positive, self.threshold = positive, threshold
        self.confusion = Confusion()

    def process_record(self, output: Any, target: Any) -> None:
        truths = _flat(target)
        decided = _decisions(output, len(truths), self.threshold)
        for truth, decision in zip(truths, decided, strict=True):
            self.confusion += self._count(decision, int(truth))

    def _count(self, decision: int, truth: int) -> Confusion:
        is_so, called_so = truth == self.positive, decision == self.positive
        if self.figure == "accuracy" and not is_so and not called_so and decision != truth:
            return Confusion(fp=1)  # neither is the positive class, and yet it is wrong
        return Confusion(
            tp=int(is_so and called_so),
            fp=int(not is_so and called_so),
            fn=int(is_so and not called_so),
            tn=int(not is_so and not called_so),
        )

    @staticmethod
    def aggregate(metrics: Iterable[Any]) -> float | None:
        seen = list(metrics)
        return FIGURES[seen[0].figure](sum((m.confusion for m in seen), Confusion())) if seen else None


class MeanError:
    """The mean over all numbers of an output of how far they are from the target's, to the power of `power`."""

    power: ClassVar[int]

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def process_record(self, output: Any, target: Any) -> None:
        given, right = _flat(_only(output)), _flat(target)
        if len(given) != len(right):
            raise ValueError(f"an output of {len(given)} numbers for a target of {len(right)}")
        self.total += math.fsum(abs(a - b) ** self.power for a, b in zip(given, right, strict=True))
        self.count += len(right)

    @staticmethod
    def aggregate(metrics: Iterable[Any]) -> float | None:
        seen = list(metrics)
        return _ratio(math.fsum(m.total for m in seen), sum(m.count for m in seen))


class MeanAbsoluteError(MeanError):
    """MAE."""

    power = 1


class MeanSquaredError(MeanError):
    """MSE."""

    power = 2


class TopK:
    """The share of records whose right class is among the `k` with the highest scores."""

    def __init__(self, *, k: int = 5) -> None:
        self.k, self.hits, self.count = k, 0, 0

    def process_record(self, output: Any, target: Any) -> None:
        truths = _flat(target)
        for scores, truth in zip(_rows(output, len(truths)), truths, strict=True):
            best = sorted(range(len(scores)), key=lambda i: scores[i], reverse=True)[: self.k]
            self.hits += int(truth) in best
            self.count += 1

    @staticmethod
    def aggregate(metrics: Iterable[Any]) -> float | None:
        seen = list(metrics)
        return _ratio(sum(m.hits for m in seen), sum(m.count for m in seen))


def _decision(name: str) -> type[Decision]:
    return type(f"Decision_{name}", (Decision,), {"figure": name, "__doc__": FIGURES[name].__doc__})


BUILT_IN: Mapping[str, type] = {
    **{name: _decision(name) for name in FIGURES},
    "mae": MeanAbsoluteError,
    "mse": MeanSquaredError,
    "topk": TopK,
}


# ---- numbers out of whatever a model gives: anything with `tolist`, lists, numbers ----


def _decisions(output: Any, count: int, threshold: float) -> list[int]:
    return [
        int(row[0] >= threshold) if len(row) == 1 else max(range(len(row)), key=lambda i: row[i])
        for row in _rows(output, count)
    ]


def _rows(output: Any, count: int) -> list[list[float]]:
    """The scores of each of `count` records."""
    numbers = _flat(_only(output))
    if not count or not numbers or len(numbers) % count:
        raise ValueError(f"an output of {len(numbers)} numbers for {count} targets")
    width = len(numbers) // count
    return [numbers[i : i + width] for i in range(0, len(numbers), width)]


def _only(output: Any) -> Any:
    """The first of several outputs, where a library gives its outputs as a tuple, a list or a mapping of arrays."""
    if isinstance(output, Mapping):
        return next(iter(output.values()))
    if isinstance(output, list | tuple) and output:
        several = bool(getattr(output[0], "shape", ()))  # arrays; single numbers have none
        if several or (isinstance(output, tuple) and isinstance(output[0], list | tuple)):
            return output[0]
    return output


def _flat(value: Any) -> list[float]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [number for part in value for number in _flat(part)]
    return [float(value)]


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _quotient(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below
