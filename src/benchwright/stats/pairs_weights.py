"""How much each pair says about a change, decided without looking at which of its two processes is which.

On a busy machine most processes are clean and some are slowed by anything. A ratio is clean only if both of its
processes are, but a single process that is among the fastest of its time says something, whatever became of its
neighbour. So four scores stand beside each other:

- differences: that of the logarithms, bounded by one and a half times their median size, and less the farther it lies
  beyond three times that (a redescending score after Hampel, JASA 69, 1974). Best where the machine changes slowly and
  slows both processes of a pair alike.
- fast ones: a process's share of slower ones among all processes of about twelve pairs around, to the fourth power; a
  pair scores the difference of its two. Best where one process in three or so is disturbed.
- fastest ones: the same to the eighth power, among some twenty-four pairs. Best where most are disturbed.
- usual ones: where a process lies in the shortest range that holds half of the processes of some twenty-four pairs,
  from -1 to 1; outside of it less and less. Best where most are alike and the others slower or faster by anything.

How much each of them counts is told by its *response*: by how much it would rise over its own scatter if either
process of each pair, picked by fixed patterns, were slower by a median difference. All of that depends on the two
values of a pair but not on which is the control's. So the labels may still be exchanged, and a test by exchanging
them stays exact, however the scores are weighed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_CUT = 1.5  # times the median size: the most that a single difference can weigh
_FAR = 3.0  # times the median size: beyond, it weighs less and less
_FAST = ((12, 4.0), (24, 8.0))  # about how many pairs are ranked together, and the power of the share
_USUAL = 24  # about how many pairs are looked at together for the shortest range that holds half of their processes
_SLOPE = (1.5, 4.0)  # half-widths of that range: from here to there a process weighs less and less
_SHARPNESS = 16.0  # power of a response; the best score has nearly all the say, and near ones share it
_LEAST = 0.05  # what differences always have to say, so that no pair goes without a weight
_PATTERNS = 4  # by which processes are picked; their opposites come on top
_LEARNT = (8, 10, 12, 16, 20, 24, 32, 40, 56, 80, 112, 160, 224)  # pairs after which the say is worked out anew
_HALVINGS = 20  # of the range of the differences, to find where they balance


def signed_weights(controls: Floats, treatments: Floats, looks: Sequence[int]) -> Floats:
    """What each pair weighs at each look, above zero where the treatment is slower; zero for pairs that came later.

    Takes logarithms, one of each side for each pair, in the order in which they were measured; a look is the number of
    pairs that it sees. Exchanging the two values of a pair turns the signs of its weights and changes no other.
    """
    found = np.zeros((len(looks), len(controls)))
    says: dict[int, Floats] = {}
    for row, look in enumerate(looks):
        learnt = max((count for count in _LEARNT if count <= look), default=look)
        if learnt not in says:
            says[learnt] = _weigh_scores(controls[:learnt], treatments[:learnt])
        found[row, :look] = says[learnt] @ _scores(controls[:look], treatments[:look])
    return found


def centre(controls: Floats, treatments: Floats) -> float:
    """The change at which the weights of both signs balance: what the pairs say without regard to their scatter."""
    differences = treatments - controls
    low, high = float(differences.min()), float(differences.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        balance = float(signed_weights(*halfway(controls, treatments, middle), [len(controls)]).sum())
        if balance == 0.0:
            return middle
        low, high = (middle, high) if balance > 0.0 else (low, middle)
    return (low + high) / 2


def halfway(controls: Floats, treatments: Floats, change: float) -> tuple[Floats, Floats]:
    """Both sides moved towards each other until a change of this size is gone; each by half, so that rounding treats
    them alike and sides that are swapped give the mirrored answer."""
    return controls + change / 2, treatments - change / 2


def _weigh_scores(controls: Floats, treatments: Floats) -> Floats:
    """How much each score counts; they add up to one."""
    low, high = np.minimum(controls, treatments), np.maximum(controls, treatments)
    step = float(_median(high - low)[0]) or float((high - low).max())
    if step == 0.0:
        return np.array([1.0, *([0.0] * (len(_FAST) + 1))])
    picked = _pick_patterns(len(controls))
    scores = _scores(np.where(picked, low, high), np.where(picked, high, low) + step)
    responses = np.maximum(scores.sum(axis=-1).mean(axis=-1), 1e-3)
    shares = (responses / responses.max()) ** _SHARPNESS
    shares /= shares.sum()
    shares *= 1.0 - _LEAST
    shares[0] += _LEAST
    return np.asarray(shares)


@lru_cache(maxsize=64)
def _pick_patterns(pairs: int) -> npt.NDArray[np.bool_]:
    """Patterns by which the higher process of a pair is taken for the treatment, and their opposites."""
    drawn = np.random.default_rng(pairs).random((_PATTERNS, pairs)) < 0.5
    return np.concatenate([drawn, ~drawn])


def _scores(controls: Floats, treatments: Floats) -> Floats:
    """The scores of each pair, each of length one over all pairs: first axis the score, last one the pair."""
    fast = [_apart(controls, treatments, together, _fast_to(power)) for together, power in _FAST]
    usual = _apart(controls, treatments, _USUAL, _places)
    found = np.stack([_differences(treatments - controls), *fast, usual])
    return np.asarray(found / np.maximum(np.sqrt((found * found).sum(axis=-1, keepdims=True)), 1e-300))


def _differences(differences: Floats) -> Floats:
    sizes = np.abs(differences)
    unit = _median(sizes)
    if not unit.all():  # half of the pairs or more show no difference
        unit = np.where(unit > 0.0, unit, sizes.max(axis=-1, keepdims=True))
        unit = np.where(unit > 0.0, unit, 1.0)
    bounded = np.minimum(sizes, _CUT * unit) * np.minimum(1.0, _FAR * unit / np.maximum(sizes, unit)) / (_CUT * unit)
    return np.copysign(bounded, differences)


def _apart(controls: Floats, treatments: Floats, together: int, score: Callable[[Floats], Floats]) -> Floats:
    """The score of the treatment less that of the control; all processes of about so many pairs are scored at once."""
    count = controls.shape[-1]
    blocks = max(1, round(count / together))
    edges = [round(block * count / blocks) for block in range(blocks + 1)]
    parts = []
    for begin, end in pairwise(edges):
        scored = score(np.concatenate([controls[..., begin:end], treatments[..., begin:end]], axis=-1))
        parts.append(scored[..., end - begin :] - scored[..., : end - begin])
    return np.concatenate(parts, axis=-1)


def _fast_to(power: float) -> Callable[[Floats], Floats]:
    return lambda values: -(_slower(values) ** power)


def _slower(values: Floats) -> Floats:
    """Which share of the values is above each one; half of those that equal it counts."""
    above = np.sign(values[..., None, :] - values[..., :, None]).sum(axis=-1)
    return np.asarray(above / (2.0 * values.shape[-1]) + 0.5)


def _places(values: Floats) -> Floats:
    """Where each value lies in the shortest range that holds half of them: -1 and 1 are its ends, 0 is far outside."""
    ordered, half = np.sort(values, axis=-1), (values.shape[-1] + 1) // 2
    widths = ordered[..., half - 1 :] - ordered[..., : values.shape[-1] - half + 1]
    begin = widths.argmin(axis=-1)[..., None]
    width = np.take_along_axis(widths, begin, axis=-1)
    middle = np.take_along_axis(ordered, begin, axis=-1) + width / 2
    places = (values - middle) / np.where(width > 0.0, width / 2, 1.0)
    sizes, (near, far) = np.abs(places), _SLOPE
    return np.asarray(np.sign(places) * np.minimum(sizes, 1.0) * np.clip((far - sizes) / (far - near), 0.0, 1.0))


def _median(sizes: Floats) -> Floats:
    """The median along the last axis, which stays; much faster than numpy's for the few values that there are."""
    ordered, count = np.sort(sizes, axis=-1), sizes.shape[-1]
    return np.asarray((ordered[..., [(count - 1) // 2]] + ordered[..., [count // 2]]) / 2)
