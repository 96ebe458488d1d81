"""The metrics of requests to served models: what each is called where people read it, and what it means.

`execution.endpoint_metrics` derives them; docs/endpoints.md has the formulas, and a test holds it against this table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

ERRORS = "errors"
TTFT, ITL, TOKENS, PER_USER, GOODPUT = "ttft_p50", "itl_p50", "output_tokens_rate", "tokens_per_user", "goodput"
_STATISTIC = re.compile(r"(?P<of>[a-z]\w*?)(?:_(?P<which>p\d+(?:\.\d+)?|min|max))?")


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
# What is judged beside the latency and the throughput, which every other measurement has as well.
JUDGED = (TTFT, ITL, TOKENS, GOODPUT, ERRORS)
_WITHOUT_BYTES = frozenset([ERRORS, "lateness"])  # of protocols that do not tell when an answer began, such as gRPC
_SIGNS = frozenset(["ttft", "ttft_p50", "ttfb", "ttfb_p50", "itl_p50", "tpot_p50"])  # what nothing else has


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


def are_of_requests(metrics: Iterable[str]) -> bool:
    """Whether these are the metrics of requests to a served model."""
    known = {*metrics}
    return not _SIGNS.isdisjoint(known) or known >= _WITHOUT_BYTES


def _describe(which: str) -> str:
    if which == "p50":
        return "the median"
    return {"min": "the smallest", "max": "the largest"}.get(which, f"{which[1:]} % are at or below")
