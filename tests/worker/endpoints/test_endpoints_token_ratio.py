"""The ratio of tokens to words is learnt from what a server counts, and nonsense is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.worker.endpoints.token_ratio import TokenRatio, fit_messages, fit_ratio
from hunting import examples


def test_two_prompts_tell_the_ratio_and_the_template() -> None:
    ratio = fit_ratio([(20, 37), (200, 237)])
    assert ratio.tokens_per_word == pytest.approx(200 / 180)
    assert ratio.overhead == pytest.approx(37 - 20 * 200 / 180)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.floats(0.3, 10),
    st.floats(0, 500),
    st.lists(st.integers(1, 5000), min_size=2, max_size=6, unique=True),
    st.integers(1, 10_000),
)
def test_what_was_counted_by_a_line_gives_the_line(slope: float, overhead: float, words: list[int], more: int) -> None:
    if max(words) - min(words) < 50:
        words = [*words, max(words) + 100]
    ratio = fit_ratio((each, round(slope * each + overhead)) for each in words)
    expected = slope * more + overhead
    fitted = ratio.tokens_per_word * more + ratio.overhead
    reach = max(words) - min(words)
    assert fitted == pytest.approx(expected, abs=3 + 3 * (max(words) + more) / reach)


def test_a_word_count_and_its_tokens_are_inverse() -> None:
    ratio = TokenRatio(tokens_per_word=1.3)
    assert abs(ratio.tokens(ratio.words(1000)) - 1000) <= 1
    assert ratio.words(0) == 1


def test_an_odd_count_does_not_bend_the_line() -> None:
    ratio = fit_ratio([(10, 15), (100, 105), (200, 205), (400, 405), (300, 308)])
    assert (ratio.tokens_per_word, ratio.overhead) == (1.0, 5.0)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([], "do not tell"),
        ([(10, 20)], "do not tell"),
        ([(10, 20), (10, 21)], "do not tell"),
        ([(10, 0), (100, 0)], "0 tokens for a word"),
        ([(10, 100), (100, 10)], "-1 tokens for a word"),
        ([(10, 20), (100, 200_000)], "tokens for a word"),
        ([(10, 2_000_000), (100, 2_000_090)], "1 tokens for a word and 2e+06 besides"),
        ([(10, 15), (100, 10), (200, 205), (300, 9)], "fit no line"),
    ],
)
def test_nonsense_is_refused(pairs: list[tuple[int, int]], said: str) -> None:
    with pytest.raises(OptionError, match="--tokenizer") as caught:
        fit_ratio(pairs)
    assert said in caught.value.message


def test_further_messages_have_their_template() -> None:
    ratio = fit_messages(fit_ratio([(10, 20), (100, 110)]), words=30, messages=3, tokens=48)
    assert (ratio.overhead, ratio.per_message) == (10.0, 4.0)
    with pytest.raises(OptionError, match="one message"):
        fit_messages(ratio, words=30, messages=1, tokens=48)
    with pytest.raises(OptionError, match="for each further message"):
        fit_messages(ratio, words=3000, messages=3, tokens=48)
