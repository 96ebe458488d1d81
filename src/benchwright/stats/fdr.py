"""Many benchmarks at once: the share of false ones among those called stays below a stated rate.

Of a thousand unchanged benchmarks judged at 1 % each, ten are called. What matters to who reads the list is how many of
its entries are false, and that is what Benjamini and Hochberg control.

It may be applied to benchmarks that stopped at different times, because the p-values of `pairs` are valid when and
why ever a comparison stopped: at most a share x of unchanged ones ever shows a value of x or less. The coins that
order the pairs of one benchmark say nothing about those of another, so such values are independent.
"""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(p_values: Sequence[float], *, dependent: bool = False) -> list[float]:
    """The false-discovery rate at which each of the comparisons would just be called, in the order given.

    To call those at or below a rate keeps the expected share of false ones among them below it: Benjamini and Hochberg
    (JRSS B 57, 1995), for independent or positively dependent values. `dependent` allows for any dependence, as between
    several metrics of one benchmark: Benjamini and Yekutieli (Annals of Statistics 29, 2001).
    """
    if any(not 0.0 <= p <= 1.0 for p in p_values):
        raise ValueError("a p-value lies between 0 and 1")
    count = len(p_values)
    penalty = sum(1.0 / k for k in range(1, count + 1)) if dependent else 1.0
    rates = [1.0] * count
    smallest = 1.0
    for rank, place in sorted(enumerate(sorted(range(count), key=p_values.__getitem__), start=1), reverse=True):
        smallest = min(smallest, penalty * p_values[place] * count / rank)
        rates[place] = smallest
    return rates


def benjamini_hochberg(p_values: Sequence[float], rate: float = 0.05) -> list[bool]:
    """Which of many comparisons to call different so that at most `rate` of those called are false, on average.

    Holds for independent comparisons and for positively dependent ones.
    """
    return [adjusted_rate <= rate for adjusted_rate in adjusted(p_values)]


def verified(first_level: float, p_value: float) -> float:
    """The p-value of a second look with new pairs, made because a first one at `first_level` had called a change.

    Both must be fooled: of unchanged benchmarks at most `first_level` come to the second look, and of those at most a
    share x shows x or less. For one that was not called, or not called again, the p-value is 1.
    """
    return 1.0 if p_value >= 1.0 else first_level * p_value


def level(benchmarks: int, *, rate: float = 0.05, most: float = 0.01) -> float:
    """The false alarms to allow each of several benchmarks, so that even one alone is called at `rate` over all.

    A comparison stops as soon as it is sure enough. Sure enough for one of five is not so for one of a hundred: where
    no second look follows (`verified`), ask for this level.
    """
    if benchmarks < 1:
        raise ValueError(f"at least one benchmark is needed, not {benchmarks}")
    return min(most, rate / benchmarks)
