"""The metrics of requests to served models: what each is called where people read it, and what it means.

`execution.endpoint_metrics` derives them; docs/endpoints.md has the formulas, and a test holds it against this table.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

ERRORS = "errors"
TTFT, ITL, TOKENS, PER_USER, GOODPUT = "ttft_p50", "itl_p50", "output_tokens_rate", "tokens_per_user", "goodput"
_STATISTIC = re.compile(r"(?P<of>[a-z]\w*?)(?:_(?P<which>p\d+(?:\.\d+)?|min|max))?")


def is_share_of_failures(metric: str, unit: str) -> bool:
    """Whether a metric is the share of requests that failed: zero where all is well, so told by difference, in points.

    The effect of a change in it is one plus the difference as a share: 1.05 where 5 % more of all requests fail.
    """
    return metric == ERRORS and unit == "%"


class MetricWords(NamedTuple):
    """A metric in words: the heading of its column, and one line about what it says."""

    title: str
    meaning: str


# Times, each as the mean under its name and as percentiles: `ttft`, `ttft_p50`, `ttft_p90`, `ttft_p99`.
TIMES = {
    "latency": MetricWords("latency", "from the scheduled instant to the end of the answer"),
    "service": MetricWords("service", "from the sent instant to the end of the answer"),
    "lateness": MetricWords("lateness", "from the scheduled instant until the request was sent"),
    "ttfb": MetricWords("first byte", "from the sent instant to the first byte of the answer"),
    "ttft": MetricWords("TTFT", "time to first token: from the sent instant to the first generated text"),
    "ttft_any": MetricWords("first event", "from the sent instant to the first event, text or not"),
    "ttft_answer": MetricWords("TTFT of the answer", "from the sent instant to the first text that is no reasoning"),
    "ttft_reasoning": MetricWords("TTFT of reasoning", "from the sent instant to the first reasoning"),
    "ttft_scheduled": MetricWords("TTFT from schedule", "from the scheduled instant to the first generated text"),
    "e2e": MetricWords("end to end", "from the sent instant to the last generated text"),
    "e2e_scheduled": MetricWords("end to end from schedule", "from the scheduled instant to the last generated text"),
    "tpot": MetricWords("time per token", "from the first to the last text, per token after the first"),
    "itl": MetricWords("ITL", "inter-token latency: between events that brought text, of all requests together"),
    "itl_token": MetricWords("ITL per token", "the same, shared out over the tokens that an event brought"),
}
AMOUNTS = {
    "throughput": MetricWords("throughput", "requests that succeeded, a second"),
    TOKENS: MetricWords("output tokens", "generated tokens of all requests together, a second"),
    "input_tokens_rate": MetricWords("input tokens", "tokens of prompts of all requests together, a second"),
    PER_USER: MetricWords("tokens per user", "generated tokens of one request, over its time end to end"),
    GOODPUT: MetricWords("goodput", "requests that succeeded and kept every objective, a second"),
    "output_tokens": MetricWords("output tokens of a request", "generated tokens of a request"),
    "input_tokens": MetricWords("input tokens of a request", "tokens of the prompt of a request"),
    "cached_tokens": MetricWords("cached tokens", "tokens of a prompt that the server took from its cache"),
    "reasoning_tokens": MetricWords("reasoning tokens", "generated tokens of a request that are reasoning"),
    ERRORS: MetricWords("errors", "requests that failed, of all that were made"),
}
# What a table of served models shows, in this order; of the errors only where there are any.
SHOWN = ("ttft_p50", "ttft_p99", "itl_p50", "itl_p99", "latency_p50", "latency_p99", TOKENS, PER_USER, "throughput")
# Where nothing has the first name: what other tools' files have in its place, counted in the way that their names say.
_INSTEAD = {
    "ttft": ("ttft_answer", "ttft_any"),
    "itl": ("tpot", "itl_any", "tpot_any", "tpot_answer", "itl_mean_per_request", "itl_token_weighted"),
    "latency": ("e2e", "e2e_close", "e2e_any"),
    PER_USER: (f"{PER_USER}_any", f"{PER_USER}_after_first"),
    GOODPUT: (f"{GOODPUT}_any",),
}
# What is judged beside the latency and the throughput, which every other measurement has as well.
JUDGED = (TTFT, ITL, TOKENS, GOODPUT, ERRORS)
_WITHOUT_BYTES = frozenset([ERRORS, "lateness"])  # of protocols that do not tell when an answer began, such as gRPC
_SIGNS = frozenset(  # what nothing else has
    [
        *("ttft", "ttft_p50", "ttfb", "ttfb_p50", "itl_p50", "tpot_p50"),
        *("ttft_any", "ttft_any_p50", "ttft_answer_p50", "itl_any_p50", "tpot_any_p50", "e2e_any_p50", "e2e_close_p50"),
    ]
)
_FAMILY = re.compile(
    r"(?:ttf[bt]|itl|tpot|e2e|lateness|latency|service|tokens_per_user|(?:output|input|cached|reasoning)_tokens|goodput"
    r"|client_queue|issue_delay)(?:_.+)?"
)


def words_of(metric: str) -> MetricWords | None:
    """A metric of requests in words, `ttft_p99` as `TTFT p99`; None for other metrics."""
    if metric in AMOUNTS:
        return AMOUNTS[metric]
    found = _STATISTIC.fullmatch(metric)
    if found is None or found["of"] not in TIMES:
        return None
    title, meaning = TIMES[found["of"]]
    which = found["which"]
    return MetricWords(f"{title} {which}", f"{meaning}: {_describe(which)}") if which else TIMES[found["of"]]


def shown_metrics(known: Container[str]) -> list[str]:
    """The metrics that a table of requests shows, in order; in the place of one that nothing has, its like."""
    found = []
    for name in (*SHOWN, GOODPUT, ERRORS):
        what, statistic = (name, "") if name in AMOUNTS else (name[:-4], name[-4:])
        others = [f"{other}{statistic}" for other in _INSTEAD.get(what, ())]
        found.append(next((each for each in (name, *others) if each in known), name))
    return found


def is_of_requests(metric: str) -> bool:
    """Whether a metric tells of requests to a served model, in whatever way it was counted."""
    return _FAMILY.fullmatch(metric) is not None


def are_of_requests(metrics: Iterable[str]) -> bool:
    """Whether these are the metrics of requests to a served model."""
    known = {*metrics}
    return not _SIGNS.isdisjoint(known) or known >= _WITHOUT_BYTES


def _describe(which: str) -> str:
    if which == "p50":
        return "the median"
    return {"min": "the smallest", "max": "the largest"}.get(which, f"{which[1:]} % are at or below")
