"""The text in which servers tell their figures (Prometheus' exposition format), read within bounds. Pure.

Of histograms and summaries their sums and counts are read, which is what a mean is made of; their buckets are not.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

MOST_SERIES = 500
MOST_NAME = 300  # characters of a name with its labels
# What a load is understood by, in the servers that many use; kept even where it did not change.
KNOWN = re.compile(
    r"vllm:(num_requests_(running|waiting|swapped)|(gpu_|kv_)?cache_usage_perc|num_preemptions|prompt_tokens|generation_tokens)"
    r"|llamacpp:(requests_(processing|deferred)|kv_cache_usage_ratio|prompt_tokens|predicted_tokens|tokens_predicted"
    r"|n_busy_slots_per_decode)"
    r"|tgi_(queue_size|batch_current_(size|max_tokens))"
    r"|sglang:(num_running_reqs|num_queue_reqs|token_usage|gen_throughput|cache_hit_rate|prompt_tokens|generation_tokens)"
    r"|nv_inference_(pending_request_count|count|queue_duration_us|compute_infer_duration_us)|nv_gpu_utilization"
)
_UNWANTED = re.compile(r"python_|go_|promhttp_|scrape_|process_start_time|.*_created(\{|$)")
_PARTS = ("_sum", "_count")  # of a histogram or a summary
_KINDS = frozenset({"counter", "gauge", "histogram", "summary", "untyped"})


@dataclass(slots=True)
class FigureSeries:
    """One series of figures: its value at every look, None where it had none."""

    name: str  # with its labels
    kind: str  # counter or gauge; sum and count of a histogram are one series each
    values: list[float | None] = field(default_factory=list)


class Figures:
    """What was read so far: the instants of the looks, and the series, each as long as there are looks."""

    def __init__(self) -> None:
        self.instants: list[int] = []  # ns
        self.series: dict[str, FigureSeries] = {}
        self.left_out = 0  # series beyond the bound, in the look that had most of them

    def add(self, at: int, text: str) -> int:
        """Adds a look; gives how many figures it held. Text without any is not taken for a look."""
        found = _read(text)
        if not found:
            return 0
        before = len(self.instants)
        self.instants.append(at)
        fresh = [key for key in found if key not in self.series]
        fresh.sort(key=lambda key: KNOWN.match(key) is None)  # those of known use first
        room = MOST_SERIES - len(self.series)
        self.left_out = max(self.left_out, len(fresh) - room)
        for key in fresh[:room]:
            self.series[key] = FigureSeries(key, found[key][1], [None] * before)
        for key, one in self.series.items():
            one.values.append(found[key][0] if key in found else None)
        return len(found)

    def thin(self) -> None:
        """Forgets every second look."""
        del self.instants[1::2]
        for one in self.series.values():
            del one.values[1::2]


def _read(text: str) -> dict[str, tuple[float, str]]:
    """Values by name and labels, each with its kind: counter, gauge, or part."""
    kinds: dict[str, str] = {}
    found: dict[str, tuple[float, str]] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            words = line.split(None, 4)
            if len(words) >= 4 and words[1] == "TYPE" and words[3] in _KINDS:
                kinds[words[2]] = words[3]
            continue
        key, value = _split(line)
        if not key or len(key) > MOST_NAME or _UNWANTED.match(key):
            continue
        kind = _kind(key.partition("{")[0], kinds)
        if kind and math.isfinite(value):
            found[key] = value, kind
    return found


def _split(line: str) -> tuple[str, float]:
    """Name with labels, and value; "" where the line is none. An instant behind the value is not read."""
    head, brace, tail = line.rpartition("}")
    words = tail.split(None, 2)
    if brace:
        key = head + brace
    elif len(words) > 1:
        key, words = words[0], words[1:]
    else:
        return "", 0.0
    try:
        return key.strip(), float(words[0])
    except (ValueError, IndexError):
        return "", 0.0


def _kind(name: str, kinds: dict[str, str]) -> str:
    """What a figure is: `counter`, `gauge`, `part` of a mean; "" for what is not read."""
    told = kinds.get(name) or kinds.get(name.removesuffix("_total"))  # as OpenMetrics names the type of a counter
    if told in ("counter", "gauge"):
        return told
    for end in _PARTS:
        if name.endswith(end) and kinds.get(name.removesuffix(end)) in ("histogram", "summary"):
            return "part"
    if told in ("histogram", "summary") or kinds.get(name.removesuffix("_bucket")) == "histogram":
        return ""  # quantiles and buckets
    return "counter" if name.endswith("_total") else "gauge"
