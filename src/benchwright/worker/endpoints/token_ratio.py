"""How many tokens a server counts for so many words, learnt from what it counted. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from benchwright.errors import OptionError

_FEWEST, _MOST = 0.2, 20.0  # tokens that a word may have: from nearly none of them counted to one for each byte
_MOST_OVERHEAD = 100_000.0
_SLACK = 0.1  # of the tokens of a text: how far one may lie beside the line of all
_WHOLE_TOKENS = 3.0  # and so many in any case: a first word without its space, a border that merges
_REMEDY = "the server's usage cannot be used to make prompts: give --tokenizer FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRatio:
    """What a text of our words comes to in tokens."""

    tokens_per_word: float = 1.0
    overhead: float = 0.0  # tokens that a request with one message has besides its words: its template, its beginning
    per_message: float = 0.0  # tokens that each further message adds besides its words

    def words(self, tokens: float) -> int:
        """How many words make a text of about so many tokens; at least one."""
        return max(1, round(tokens / self.tokens_per_word))

    def tokens(self, words: int) -> int:
        """About how many tokens a text of so many words has, without what the template adds."""
        return max(1, round(words * self.tokens_per_word))


def fit_ratio(counted: Iterable[tuple[int, int]]) -> TokenRatio:
    """The ratio that fits what a server counted: (words, tokens) of requests with one message of our words each.

    The line is the median of the slopes of pairs (Theil and Sen), so that a single odd count does not bend it; of those
    that lie far apart, since tokens are whole numbers. An `OptionError` says what is wrong with counts that fit no
    line, or none that texts can have.
    """
    pairs = sorted(set(counted))
    reach = pairs[-1][0] - pairs[0][0] if pairs else 0
    if not reach:
        raise OptionError("prompts of one length do not tell how many tokens a word has", remedy=_REMEDY)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(pairs, 2) if 2 * (b[0] - a[0]) >= reach]
    slope = _median(slopes)
    overhead = _median([tokens - slope * words for words, tokens in pairs])
    for words, tokens in pairs:
        if abs(tokens - slope * words - overhead) > max(_WHOLE_TOKENS, _SLACK * max(tokens, slope * words)):
            raise OptionError(f"the server's counts fit no line: {_tell(pairs)}", remedy=_REMEDY)
    least = -_WHOLE_TOKENS * (1 + pairs[-1][0] / reach)  # the line is followed from the prompts down to no word
    if not _FEWEST <= slope <= _MOST or not least <= overhead <= _MOST_OVERHEAD:
        raise OptionError(
            f"the server's counts mean {slope:.3g} tokens for a word and {overhead:.4g} besides: {_tell(pairs)}",
            remedy=_REMEDY,
        )
    return TokenRatio(tokens_per_word=slope, overhead=max(0.0, overhead))


def fit_messages(ratio: TokenRatio, *, words: int, messages: int, tokens: int) -> TokenRatio:
    """The same ratio, with what each further message adds: learnt from one request of several messages.

    `words` are those of all its messages together.
    """
    if messages < 2:
        raise OptionError("a request of one message does not tell what further ones add", remedy=_REMEDY)
    added = (tokens - ratio.overhead - ratio.tokens_per_word * words) / (messages - 1)
    if not math.isfinite(added) or not -_WHOLE_TOKENS <= added <= _MOST_OVERHEAD:
        raise OptionError(f"the server's counts mean {added:.4g} tokens for each further message", remedy=_REMEDY)
    return replace(ratio, per_message=max(0.0, added))


def _median(values: Sequence[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _tell(pairs: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{words} words {tokens} tokens" for words, tokens in pairs[:4])
    return f"{shown}, ..." if len(pairs) > 4 else shown
